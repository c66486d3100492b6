import ast
from pathlib import Path

import pytest

import skcf

ROOT = Path(skcf.__file__).parent
# A room may import from rooms of a lower level only, and from itself.
LEVEL = {
    "exceptions": 0,
    "_jit": 0,
    "_show_versions": 0,
    "_space": 1,
    "costs": 2,
    "constraints": 2,
    "_model": 2,
    "_index": 3,
    "_measures": 3,
    "_search": 4,
    "_series": 4,
    "_explanation": 4,
    "_mip": 4,
    "_base": 5,
    "dea": 6,
    "group": 6,
    "tabular": 6,
    "timeseries": 6,
    "display": 6,
    "metrics": 6,
    "datasets": 6,
    "testing": 7,
}
FILES = sorted(p.relative_to(ROOT) for p in ROOT.rglob("*.py") if p.parent != ROOT)
FILES += [Path("costs.py"), Path("exceptions.py")]


def imported_rooms(path):
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
        for name in names:
            if name.startswith("skcf."):
                yield name.split(".")[1]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_point_down(path):
    room = path.parts[0].removesuffix(".py")
    for other in imported_rooms(path):
        assert other == room or LEVEL[other] < LEVEL[room], f"{room} imports {other}"
