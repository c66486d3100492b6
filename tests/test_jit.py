"""Functions compiled at their first call, and what the log says of it."""

import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from skcf._jit import jit


@jit
def double(x):
    """Return twice a number."""
    return 2 * x


@jit
def double_all(values):
    total = 0.0
    for value in values:
        total += double(value)
    return total


def test_jit_calls_and_keeps_the_face_of_a_function():
    assert "compiled" not in vars(double_all)
    assert double_all(np.arange(4.0)) == 12.0
    assert double.__doc__ == "Return twice a number."
    assert double.__name__ == "double"


def test_jit_pickles_by_name():
    again = pickle.loads(pickle.dumps(sys.modules[double.__module__].double))
    assert again is double


def test_jit_without_a_folder_for_the_cache(monkeypatch, caplog):
    from numba.core import caching

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr("numba.core.config.CACHE_LOCATOR_CLASSES", "", raising=False)

    @jit
    def triple(x):
        return 3 * x

    with caplog.at_level(logging.INFO, logger="skcf"):
        assert triple(2) == 6
        assert triple(3) == 9
    assert triple.compiled.stats.cache_path is None
    (message,) = caplog.messages
    assert "triple was compiled in" in message and "NUMBA_CACHE_DIR" in message


CODE = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(message)s")
logging.getLogger("numba").setLevel(logging.WARNING)
import numpy as np
from skcf._model._tree_kernels import _in_set
_in_set(0, 1.0, np.zeros(2, np.int64))
"""


def test_the_second_process_loads_what_the_first_one_compiled(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    root = Path(__file__).parents[1]
    told = [
        subprocess.run(
            [sys.executable, "-c", CODE],
            env=env,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert "_in_set was compiled in" in told[0] and str(tmp_path) in told[0]
    assert "_in_set was loaded in" in told[1]


CALLEE = """
from skcf._jit import jit
STEP = {step}

@jit
def inner(x):
    return {factor} * x + STEP
"""
CALLER = """
from skcf._jit import jit
from callee import inner

@jit
def outer(x):
    return inner(x)
"""


def test_what_is_cached_is_compiled_anew_when_what_it_calls_changes(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    env["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), str(tmp_path)])
    (tmp_path / "caller.py").write_text(CALLER)

    def told(step, factor):
        (tmp_path / "callee.py").write_text(CALLEE.format(step=step, factor=factor))
        command = [sys.executable, "-B", "-c", "import caller; print(caller.outer(3))"]
        run = subprocess.run(command, env=env, capture_output=True, text=True)
        return run.stdout.strip() or run.stderr

    assert told(0, 2) == "6"
    # Another function, and another constant of as many letters, in the other file.
    assert told(0, 5) == "15"
    assert told(1, 5) == "16"
    assert told(0, 2) == "6"
