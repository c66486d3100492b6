"""Which features counterfactuals change, beside those that matter to the model."""

from numbers import Integral

import numpy as np
from scipy.stats import spearmanr
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from skcf._explanation._cells import feature_names
from skcf._explanation._changed import changed_columns
from skcf._measures._ruler import as_table
from skcf._space import container_of
from skcf.metrics._stability import check_repeats
from skcf.metrics._table import table_like


def feature_importance(explanation, *, row=None):
    r"""Return how often counterfactuals change each feature.

    Of one query with the answers :math:`x'_1, \ldots, x'_k`, and of all queries that
    have any,

    .. math::

        I_j(x) = \frac{1}{k} \sum_{r=1}^{k} [x'_{rj} \neq x_j], \qquad
        I_j = \frac{1}{n} \sum_i I_j(x_i)

    The first is local: the features that decide on this query. The second is global,
    and can be held against other importances of the model, as in [1]_.

    Parameters
    ----------
    explanation : Explanation
        What an explainer found; with several answers a query, local importances say
        more.
    row : int, default=None
        The position of one query, for its local importances. By default, the global
        ones are returned.

    Returns
    -------
    importance : DataFrame or Bunch
        The columns `feature` and `importance`, from 0 to 1, in the order of the
        features; all 0 where there is no counterfactual. A frame of the library of the
        queries; for arrays a Bunch of one array for each column, which any library
        makes a frame of.

    Raises
    ------
    ValueError
        If `row` is not the position of a query.

    See Also
    --------
    compare_importance : Beside the permutation importance of the model.
    skcf.Explanation.feature_frequency : Of the best answers, the most frequent first.

    References
    ----------
    .. [1] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An efficient
       model-agnostic framework for counterfactual explanation. arXiv:2205.15540

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.metrics import feature_importance
    >>> from skcf.tabular import GeCoExplainer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> explainer = GeCoExplainer(LogisticRegression(max_iter=1000), random_state=0)
    >>> feature_importance(explainer.fit(X, y).explain(X))["feature"].tolist()[:2]
    ['sepal length (cm)', 'sepal width (cm)']
    """
    names = [str(name) for name in feature_names(explanation.queries)]
    columns = {"feature": names, "importance": _importances(explanation, row)}
    return table_like(explanation.queries, columns)


def compare_importance(
    explanation, estimator, X, y, *, scoring=None, n_repeats=5, random_state=None
):
    """Return how often each feature changes, beside its permutation importance.

    A feature that the model relies on is one whose change changes predictions: the two
    rankings should be alike, as in Figure 2 of [1]_, which has mean SHAP values in the
    place of permutation importances. Rules tear them apart: what is fixed never
    changes, however important it is.

    Parameters
    ----------
    explanation : Explanation
        What an explainer of the model found.
    estimator : object
        The fitted model.
    X : {array-like, DataFrame} of shape (n_samples, n_features)
        Rows, held out from training if possible, in the columns of the explanation.
    y : array-like of shape (n_samples,)
        Their target.
    scoring : str or callable, default=None
        A scorer of scikit-learn; by default, the `score` of the model.
    n_repeats : int, default=5
        How often each feature is shuffled.
    random_state : int, RandomState instance or None, default=None
        The shuffles.

    Returns
    -------
    result : Bunch
        - `table`: the columns `feature`, `importance` and `permutation_importance`, in
          the form that :func:`feature_importance` has;
        - `rank_correlation`: Spearman's correlation of the two importances, nan where
          all features have the same one.

    Raises
    ------
    ValueError
        If `X` has not the features of the explanation.

    Notes
    -----
    Permutation importances are those of
    :func:`sklearn.inspection.permutation_importance`, shuffle by shuffle, for polars as
    well. Features are shuffled one by one; columns that only matter together look
    less important than they are.

    References
    ----------
    .. [1] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An efficient
       model-agnostic framework for counterfactual explanation. arXiv:2205.15540
    .. [2] Breiman, L. (2001). Random forests. Machine Learning, 45, 5-32.
       doi:10.1023/A:1010933404324

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.metrics import compare_importance
    >>> from skcf.tabular import GeCoExplainer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=3, random_state=0)
    >>> explainer = GeCoExplainer(model, random_state=0).fit(X, y)
    >>> result = compare_importance(
    ...     explainer.explain(X), explainer.estimator_, X, y, random_state=0
    ... )
    >>> result.rank_correlation > 0.9
    True
    """
    check_repeats(n_repeats)
    X, names = as_table(X, "X"), [str(n) for n in feature_names(explanation.queries)]
    if [str(name) for name in feature_names(X)] != names:
        raise ValueError(
            "X must have the features of the explanation, in their order: "
            f"{', '.join(names[:8])}{' ...' if len(names) > 8 else ''}."
        )
    own = _importances(explanation, None)
    scorer, random = check_scoring(estimator, scoring), check_random_state(random_state)
    permuted = _permutation(estimator, X, y, scorer, n_repeats, random)
    same = np.ptp(own) == 0 or np.ptp(permuted) == 0
    columns = {"feature": names, "importance": own, "permutation_importance": permuted}
    return Bunch(
        table=table_like(explanation.queries, columns),
        rank_correlation=np.nan if same else float(spearmanr(own, permuted).statistic),
    )


def _importances(explanation, row):
    n = len(explanation.status)
    at = np.arange(len(explanation.row))
    if row is not None:
        if not isinstance(row, Integral) or not 0 <= row < n:
            raise ValueError(
                f"row must be the position of one of the {n} queries, got {row!r}."
            )
        at = np.flatnonzero(explanation.row == row)
    counts = np.bincount(explanation.row, minlength=n)[explanation.row[at]]
    n_found = len(np.unique(explanation.row[at]))
    return np.array(
        [
            (mask / counts).sum() / max(n_found, 1)
            for _, _, mask in changed_columns(explanation, at)
        ]
    )


def _permutation(estimator, X, y, scorer, n_repeats, random):
    """Return by how much the score falls when a column is shuffled, by column."""
    container, seed = container_of(X), random.randint(np.iinfo(np.int32).max + 1)
    whole = [container.column(X, j) for j in range(X.shape[1])]
    score, out = scorer(estimator, X, y), np.zeros(len(whole))
    for j in range(len(whole)):
        stream, shuffle = check_random_state(seed), np.arange(len(X))
        order = np.arange(len(X))
        for _ in range(n_repeats):
            stream.shuffle(shuffle)
            order = order[shuffle]
            columns = list(whole)
            columns[j] = container.gather(whole[j], order)
            out[j] += score - scorer(estimator, container.build(columns, like=X), y)
    return out / n_repeats
