"""What a fresh process pays: importing, and compiling at the first call.

    python benchmarks/imports.py [--repeats 5]

Importing is set against importing the scikit-learn modules that skcf uses, each in new
processes by turns; the least time counts. Then an explainer is fitted and called in
processes with an empty numba cache and with the cache that the first one left.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from _common import report

ROOMS = ("skcf", "skcf.tabular")
IMPORT = """
import json, sys, time
begin = time.perf_counter()
for name in {names}:
    __import__(name)
spent = time.perf_counter() - begin
print(json.dumps([spent, [m for m in sys.modules if m.partition(".")[0] == "sklearn"]]))
"""
FIRST = """
import json, logging, time
import numpy as np
import skcf.tabular
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

class Count(logging.Handler):
    n = 0
    def emit(self, record):
        Count.n += "was compiled in" in record.getMessage()

logger = logging.getLogger("skcf")
logger.setLevel(logging.INFO)
logger.addHandler(Count())
random = np.random.RandomState(0)
X = random.normal(size=(1000, 8)).round(2)
y = X[:, 0] + X[:, 1] ** 2 > 0.5
model = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
explainer = skcf.tabular.GeCoExplainer(FrozenEstimator(model), random_state=0)
told = []
for work in (lambda: explainer.fit(X, y), *2 * [lambda: explainer.transform(X[:5])]):
    begin, Count.n = time.perf_counter(), 0
    work()
    told.append([time.perf_counter() - begin, Count.n])
print(json.dumps(told))
"""


def fresh(code, **env):
    """Return what code prints as JSON in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def imports(repeats):
    """Return the seconds of importing rooms of skcf, and what they use."""
    rows = []
    for room in ROOMS:
        own = IMPORT.format(names=[room])
        used = fresh(own)[1]
        theirs = IMPORT.format(names=sorted(used))
        times = [(fresh(own)[0], fresh(theirs)[0]) for _ in range(repeats)]
        mine, base = np.min(times, axis=0)
        rows.append(row(f"import {room}", mine, base, mine / base))
    return rows


def row(what, spent, base="", ratio="", n_compiled=""):
    return {
        "what": what,
        "seconds": spent,
        "scikit-learn alone": base,
        "ratio": ratio,
        "functions compiled": n_compiled,
    }


def first_calls():
    """Return the seconds of a first fit and call, without and with a cache."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("empty", "filled"):
            told = fresh(FIRST, NUMBA_CACHE_DIR=folder)
            names = ("fit", "first transform", "second transform")
            for name, (spent, n) in zip(names, told, strict=True):
                rows.append(row(f"{name}, {cache} cache", spent, n_compiled=n))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    report("imports", imports(parser.parse_args().repeats) + first_calls())


if __name__ == "__main__":
    main()
