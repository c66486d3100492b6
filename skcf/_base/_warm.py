"""Compiling ahead of the first call."""

import numpy as np
from sklearn.frozen import FrozenEstimator

from skcf._index import costs

_WARM = set()


def warm_up(kind):
    """Have what an explainer of a class needs compiled, or loaded, in fit.

    A search over a made table calls every compiled function. It is done once a process,
    so that the first `transform` keeps its time limit; on a machine where this was
    never done before it takes as long as compiling does, afterwards a fraction of a
    second.
    """
    if kind in _WARM:
        return
    from sklearn.tree import DecisionTreeClassifier

    _WARM.add(kind)
    X = np.array([(a, b, (a * b) % 3) for a in range(9) for b in range(9)], dtype=float)
    y = X[:, 0] + X[:, 1] * X[:, 2] > 9
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    explainer = kind(FrozenEstimator(model), random_state=0).fit(X, y)
    explainer.explain(X[:2], n_counterfactuals=2)
    # A table as small as this one is compared without it.
    codes = explainer._space.encode(X)
    costs(explainer._cost, codes, codes)
