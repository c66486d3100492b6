"""Points on either side of a plane."""

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Bunch, check_random_state


def make_halfspace(n_samples=200, n_features=4, *, n_queries=20, random_state=None):
    r"""Make points of a cube, a linear model, and the nearest counterfactuals.

    Points are uniform in :math:`[0, 1]^p`, and the model says 1 where
    :math:`w^\top x > b`. By Gower distance it is cheapest to change the features of the
    largest :math:`|w_j|` first, each as far as the cube goes:

    .. math::

        \min_{x'} \tfrac{1}{p} \|x' - x\|_1
        \quad \text{such that} \quad w^\top x' = b, \; x' \in [0, 1]^p

    Parameters
    ----------
    n_samples : int, default=200
        The number of points, at least 2. Two of them are the corners 0 and 1, so that
        every feature has the range 1.
    n_features : int, default=4
        The number of features.
    n_queries : int, default=20
        The number of points to explain, at most.
    random_state : int, RandomState instance or None, default=None
        The points and the weights.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        - `data`: ndarray of shape (n_samples, n_features);
        - `target`: ndarray of shape (n_samples,), what the model says of them;
        - `model`: the fitted model, frozen, to be the `estimator` of an explainer;
        - `queries`: ndarray of shape (n_queries, n_features), points that it says 0 of;
        - `nearest`: ndarray of shape (n_queries, n_features), the nearest points of the
          boundary. The model says 1 just beyond it, so no counterfactual is as near,
          and some are as nearly as near as one likes (with ``resolution=None``);
        - `cost`: ndarray of shape (n_queries,), their Gower distances.

    See Also
    --------
    make_boxes : A model that is not linear.

    Examples
    --------
    >>> from skcf.datasets import make_halfspace
    >>> from skcf.tabular import GeCoExplainer
    >>> known = make_halfspace(random_state=0)
    >>> explainer = GeCoExplainer(known.model, resolution=None, random_state=0)
    >>> explanation = explainer.fit(known.data).explain(known.queries)
    >>> bool((explanation.cost > known.cost).all())
    True
    """
    random = check_random_state(random_state)
    X = random.uniform(size=(n_samples, n_features))
    X[0], X[1] = 0.0, 1.0
    weights = random.normal(size=n_features)
    cut = np.median(X @ weights)
    y = (X @ weights > cut).astype(np.intp)
    model = LogisticRegression().fit(X, y)
    # A steep slope: probabilities far from one half say how sure the model is.
    model.coef_, model.intercept_ = 10.0 * weights[None, :], np.array([-10.0 * cut])
    queries = X[y == 0][:n_queries]
    nearest = _projected(queries, weights, cut)
    return Bunch(
        data=X,
        target=y,
        model=FrozenEstimator(model),
        queries=queries,
        nearest=nearest,
        cost=np.abs(nearest - queries).mean(axis=1),
    )


def _projected(X, weights, cut):
    """Return the points of the boundary that are nearest by absolute differences."""
    out, lacking = X.copy(), cut - X @ weights
    for j in np.argsort(-np.abs(weights), kind="stable"):
        end = 1.0 if weights[j] > 0 else 0.0
        room = np.abs(weights[j]) * np.abs(end - X[:, j])
        used = np.minimum(room, lacking)
        out[:, j] += used / weights[j]
        lacking = lacking - used
    return np.clip(out, 0.0, 1.0)
