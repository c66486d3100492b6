"""Scorers for searches over the parameters of an explainer."""

import numpy as np

from skcf._base import TabularExplainer
from skcf.metrics._measured import Measured, unwrap

NAMES = ("neg_proximity", "neg_redundancy", "neg_sparsity", "validity")


def counterfactual_scorer(explainer, X, y=None):
    r"""Score an explainer by several metrics, from one call of `explain`.

    To be the `scoring` of :class:`~sklearn.model_selection.GridSearchCV` and its like,
    with ``refit="validity"``, or another of the names. The rows of a fold that are in
    the target as they come do not count. All others do: one without a counterfactual
    has the worst value of each metric, so that no explainer gains by giving up on hard
    rows, and no score is nan.

    Parameters
    ----------
    explainer : object
        A fitted explainer of rows of a table, or a Pipeline or a search that ends in
        one.
    X : {array-like, DataFrame} of shape (n_samples, n_features)
        The rows to explain.
    y : None
        Ignored.

    Returns
    -------
    scores : dict of str to float
        The higher the better:

        - `validity`: the share of rows with a counterfactual that reaches the target;
        - `neg_sparsity`: less the mean number of changed features, all of them where
          there is no counterfactual;
        - `neg_proximity`: less the mean Gower distance, which counts as 1 from 1 on and
          where there is no counterfactual. One less than the `score` of the explainer;
        - `neg_redundancy`: less the mean share of changes that were not needed, 1 where
          there is no counterfactual.

    Raises
    ------
    TypeError
        If it is not an explainer of rows of a table.

    See Also
    --------
    get_scorer : One of these scores alone.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skcf.metrics import counterfactual_scorer
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(
    ...     NearestUnlikeExplainer(LogisticRegression(max_iter=1000)),
    ...     {"cost": ["gower", "sparse"]},
    ...     scoring=counterfactual_scorer,
    ...     refit="neg_sparsity",
    ... ).fit(X, y)
    >>> search.best_params_
    {'cost': 'sparse'}
    """
    return _scores(explainer, X, NAMES)


def get_scorer_names():
    """Return the names of the scorers.

    Returns
    -------
    names : list of str
        What :func:`get_scorer` takes, sorted.

    Examples
    --------
    >>> from skcf.metrics import get_scorer_names
    >>> get_scorer_names()
    ['neg_proximity', 'neg_redundancy', 'neg_sparsity', 'validity']
    """
    return list(NAMES)


def get_scorer(name):
    """Return the scorer of a name.

    Parameters
    ----------
    name : str
        One of :func:`get_scorer_names`.

    Returns
    -------
    scorer : callable
        Called as `scorer(explainer, X, y=None)`, it returns a float, the higher the
        better. To be the `scoring` of :class:`~sklearn.model_selection.GridSearchCV`;
        for several at a time, :func:`counterfactual_scorer` explains only once.

    Raises
    ------
    ValueError
        If there is no scorer of that name.

    Examples
    --------
    >>> from skcf.metrics import get_scorer
    >>> get_scorer("neg_sparsity")
    get_scorer('neg_sparsity')
    """
    if name not in NAMES:
        raise ValueError(f"There is no scorer {name!r}; expected one of {list(NAMES)}.")
    return _Scorer(name)


class _Scorer:
    """One of the scores of `counterfactual_scorer`."""

    def __init__(self, name):
        self.name = name

    def __call__(self, explainer, X, y=None):
        return _scores(explainer, X, (self.name,))[self.name]

    def __repr__(self):
        return f"get_scorer({self.name!r})"


def _scores(explainer, X, names):
    explainer, X = unwrap(explainer, X)
    if not isinstance(explainer, TabularExplainer):
        raise TypeError(
            "The scorers are for explainers of rows of a table, got "
            f"{type(explainer).__name__}; its score method scores any explainer."
        )
    explanation = explainer.explain(X)
    measured = Measured(explainer, explanation)
    needed = explanation.status != "already"
    return {name: _score(name, measured, needed) for name in names}


def _score(name, measured, needed):
    explanation = measured.explanation
    if not needed.any():
        return 1.0 if name == "validity" else 0.0
    if name == "validity":
        values, worst, sign = measured.valid(), 0.0, 1.0
    elif name == "neg_sparsity":
        values, worst, sign = explanation.n_changed, measured.n_features, -1.0
    elif name == "neg_proximity":
        values, worst, sign = np.minimum(1.0, measured.distance("gower")), 1.0, -1.0
    else:
        values, worst, sign = measured.redundancy(), 1.0, -1.0
    scores = np.full(len(needed), float(worst))
    scores[explanation.row] = values
    return sign * float(scores[needed].mean())
