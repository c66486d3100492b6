"""Points inside and outside of a few boxes."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

STEP = 0.01


def make_boxes(
    n_samples=300, n_features=4, *, n_boxes=3, n_queries=20, random_state=None
):
    r"""Make points of a grid, a model of boxes, and the nearest counterfactuals.

    Points lie in :math:`[0, 1]^p`, with two decimals. The model says 1 inside of any of
    some closed boxes, each of which bounds two features: the features interact, and the
    nearest box is not always the one that one feature leads to. The nearest point of
    a box is the projection on it:

    .. math::

        \mathrm{cost}(x) = \min_{b} \tfrac{1}{p} \sum_j
            \max(l_{bj} - x_j, \; 0, \; x_j - u_{bj})

    Parameters
    ----------
    n_samples : int, default=300
        The number of points, at least 2. Two of them are the corners 0 and 1, so that
        every feature has the range 1.
    n_features : int, default=4
        The number of features, at least 2.
    n_boxes : int, default=3
        The number of boxes.
    n_queries : int, default=20
        The number of points to explain, at most.
    random_state : int, RandomState instance or None, default=None
        The points and the boxes.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        - `data`: ndarray of shape (n_samples, n_features);
        - `target`: ndarray of shape (n_samples,), what the model says of them;
        - `model`: the fitted model, frozen, to be the `estimator` of an explainer. Its
          decision function falls with the distance to the nearest box;
        - `queries`: ndarray of shape (n_queries, n_features), points that it says 0 of;
        - `nearest`: ndarray of shape (n_queries, n_features), the nearest points that
          it says 1 of; another box may be as near;
        - `cost`: ndarray of shape (n_queries,), their Gower distances.

    See Also
    --------
    make_scorecard : A table with categories.

    Examples
    --------
    >>> from skcf.datasets import make_boxes
    >>> from skcf.tabular import GeCoExplainer
    >>> known = make_boxes(random_state=0)
    >>> explainer = GeCoExplainer(known.model, random_state=0).fit(known.data)
    >>> explanation = explainer.explain(known.queries)
    >>> bool((explanation.cost > known.cost - 1e-9).all())
    True
    """
    random = check_random_state(random_state)
    X = random.uniform(size=(n_samples, n_features)).round(2)
    X[0], X[1] = 0.0, 1.0
    low, high = np.zeros((n_boxes, n_features)), np.ones((n_boxes, n_features))
    for box in range(n_boxes):
        bounded = random.permutation(n_features)[:2]
        low[box, bounded] = random.randint(0, 75, size=2) / 100
        high[box, bounded] = (low[box, bounded] + 0.25).round(2)
    model = BoxClassifier(low, high).fit(X)
    y = model.predict(X)
    queries = X[y == 0][:n_queries]
    points = np.clip(queries[:, None, :], low, high)
    gaps = np.abs(points - queries[:, None, :]).mean(axis=2)
    best = gaps.round(9).argmin(axis=1)
    every = np.arange(len(queries))
    return Bunch(
        data=X,
        target=y,
        model=FrozenEstimator(model),
        queries=queries,
        nearest=points[every, best],
        cost=gaps[every, best],
    )


class BoxClassifier(ClassifierMixin, BaseEstimator):
    """Says 1 inside of any of some closed boxes.

    Parameters
    ----------
    low, high : ndarray of shape (n_boxes, n_features)
    """

    def __init__(self, low, high):
        self.low = low
        self.high = high

    def fit(self, X, y=None):
        """Take note of the number of features."""
        validate_data(self, X)
        self.classes_ = np.array([0, 1])
        return self

    def decision_function(self, X):
        """Return half a step, less the distance to the nearest box."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)[:, None, :]
        out = np.maximum(0.0, np.maximum(self.low - X, X - self.high))
        return STEP / 2 - out.sum(axis=2).min(axis=1)

    def predict(self, X):
        """Return 1 inside of a box, else 0."""
        return (self.decision_function(X) > 0).astype(np.intp)
