"""Compiling is seen to in fit, so that the first call is as fast as the second."""

import subprocess
import sys

SCRIPT = """
import logging
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from skcf.constraints import increasing
from skcf.tabular import GeCoExplainer, MACEExplainer, NearestUnlikeExplainer

told = []
handler = logging.Handler()
handler.emit = lambda record: told.append(record.getMessage())
logger = logging.getLogger("skcf")
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)
random = np.random.default_rng(0)
X = random.normal(size=(3000, 5)).round(1)
y = X[:, 0] + X[:, 1] * X[:, 2] > 1
model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
queries = X[model.predict(X) == 0][:20]
for kind in (NearestUnlikeExplainer, MACEExplainer, GeCoExplainer):
    explainer = kind(
        FrozenEstimator(model), constraints=[increasing(0)], random_state=0
    ).fit(X)
    assert told, "fit compiles or loads nothing"
    told.clear()
    explainer.transform(queries)
    late = [text for text in told if "compiled" in text or "loaded" in text]
    assert not late, (kind, late)
    told[:] = ["the next one may need nothing more"]
"""


def test_the_first_call_finds_everything_compiled():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
