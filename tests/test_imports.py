import subprocess
import sys

import pytest

OPTIONAL = ["matplotlib", "hnswlib", "xgboost", "lightgbm", "tslearn", "shap"]
# Required, but slow to import.
LATE = ["numba", "pulp", "highspy"]
ROOMS = ["skcf", "skcf.tabular", "skcf.constraints", "skcf.costs", "skcf.display"]
ROOMS += ["skcf.metrics", "skcf.datasets", "skcf.timeseries", "skcf.dea", "skcf.group"]


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("room", ROOMS)
def test_import_loads_nothing_optional(room):
    late = [*OPTIONAL, *LATE]
    code = f"import sys, {room}; print([m for m in {late} if m in sys.modules])"
    assert run(code).strip() == "[]"


def block(names):
    """Return code that makes some packages impossible to import."""
    return f"""
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {names}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
"""


def test_arrays_need_nothing_optional():
    hidden = [*OPTIONAL, "pandas", "polars", "pyarrow", "tqdm", "pulp", "highspy"]
    code = """
import numpy as np
from sklearn.linear_model import LogisticRegression
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
import skcf.constraints, skcf.costs, skcf.display, skcf.exceptions
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
for explainer in (GeCoExplainer, NearestUnlikeExplainer):
    fitted = explainer(LogisticRegression(), random_state=0).fit(X, [0, 0, 1, 1])
    print(fitted.explain(X).status.tolist())
"""
    assert run(block(hidden) + code).splitlines() == [str(["found"] * 4)] * 2


def test_missing_extra_is_named():
    code = """
from skcf.display import ChangesDisplay
try:
    ChangesDisplay(changes=[], groups=[], ranges={}).plot()
except ImportError as error:
    print(error)
"""
    assert "skcf[plot]" in run(block(["matplotlib"]) + code)
