"""Whatever a search calls is compiled in fit, so that a time limit can be kept."""

import subprocess
import sys
from pathlib import Path

CODE = """
import logging, sys
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from skcf.tabular import GeCoExplainer

X = np.random.RandomState(0).normal(size=(200, 4)).round(2)
model = FrozenEstimator(LogisticRegression().fit(X, X.sum(axis=1) > 0))
explainer = GeCoExplainer(model, constraints="cf[0] >= x[0]", random_state=0)
explainer.fit(X)
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format="%(message)s")
logging.getLogger("numba").setLevel(logging.WARNING)
print(explainer.explain(X[:9], n_counterfactuals=2).status.tolist())
"""


def test_a_call_after_fit_has_nothing_to_compile():
    told = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert told.splitlines() == [str(["found"] * 9)]
