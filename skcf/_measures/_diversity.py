"""How much the answers to one query differ."""

import numpy as np

from skcf._measures._ruler import Ruler, check_pairs, summary

METHODS = ("features", "changes", "distance")


def diversity(
    X,
    X_cf,
    *,
    row=None,
    method="features",
    cost="gower",
    reference=None,
    constraints=(),
    categorical_features="from_dtype",
    sample_wise=False,
):
    r"""Return how much several counterfactuals of a query differ from one another.

    The mean over all pairs :math:`(x', x'')` of answers to the same query, of

    - `"features"`: the share of features in which they differ, after [1]_ and [2]_,
      :math:`\tfrac{1}{p} \sum_j [x'_j \neq x''_j]`;
    - `"changes"`: the Jaccard distance of the sets of features that they change,
      :math:`1 - |\Delta' \cap \Delta''| / |\Delta' \cup \Delta''|`. 1 where all answers
      change other features, 0 where all change the same ones to other values;
    - `"distance"`: their distance by `cost`.

    More is better.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The query of each counterfactual; a query with three answers is there thrice.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        The counterfactuals.
    row : array-like of int of shape (n_pairs,), default=None
        Which query each counterfactual belongs to, such as
        :attr:`Explanation.row <skcf.Explanation>`. By default, all to one.
    method : {"features", "changes", "distance"}, default="features"
        What is averaged.
    cost : Cost or {"gower", "mace", "geco", "sparse"}, default="gower"
        The distance of `method="distance"`.
    reference : {array-like, DataFrame} of shape (n_samples, n_features), default=None
        The training rows: they have the kinds and units of the columns. By default,
        `X`; `method="distance"` needs them.
    constraints : rule, str or list of these, default=()
        The rules of the explainer. Only those matter here that take columns together.
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    sample_wise : bool, default=False
        Whether to return a value for each query, in the order of `row`; nan for a query
        with a single answer.

    Returns
    -------
    diversity : float, or ndarray of shape (n_queries,)
        The mean over the queries with at least two answers; nan if there are none.

    Raises
    ------
    ValueError
        If the rows are not paired, `row` has another length, `method` is unknown, or
        "distance" is asked for without `reference`.

    References
    ----------
    .. [1] Mothilal, R. K., Sharma, A., Tan, C. (2020). Explaining machine learning
       classifiers through diverse counterfactual explanations. FAT*, 607-617.
       doi:10.1145/3351095.3372850
    .. [2] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An efficient
       model-agnostic framework for counterfactual explanation. arXiv:2205.15540

    Examples
    --------
    >>> from skcf.metrics import diversity
    >>> X, X_cf = [[1.0, 1.0], [1.0, 1.0]], [[2.0, 1.0], [3.0, 1.0]]
    >>> diversity(X, X_cf)
    0.5
    >>> diversity(X, X_cf, method="changes")
    0.0
    """
    X, X_cf = check_pairs(X, X_cf)
    if method not in METHODS:
        raise ValueError(f"method must be one of {METHODS}, got {method!r}.")
    if method == "distance" and reference is None:
        raise ValueError('method="distance" needs reference: it has the units.')
    row = np.zeros(len(X), dtype=np.intp) if row is None else np.asarray(row)
    if row.shape != (len(X),):
        raise ValueError(
            f"row must have one value for each of the {len(X)} pairs, got an array of "
            f"shape {row.shape}."
        )
    reference = X if reference is None else reference
    ruler = Ruler.of(reference, constraints, categorical_features)
    each = spread(ruler, *ruler.read(X, X_cf), row, method, ruler.cost(cost))
    _, query = np.unique(row, return_inverse=True)
    counts = np.bincount(query)
    return summary(np.bincount(query, each) / np.maximum(counts, 1), sample_wise)


def spread(ruler, before, after, row, method="features", cost=None):
    """Return how much each answer differs from the others of its query, on average.

    The mean over the answers of a query is that over its pairs. nan where an answer is
    the only one.
    """
    order = np.argsort(row, kind="stable")
    changed = ruler.changed(before, after)
    total, counts = np.zeros(len(row)), np.zeros(len(row))
    largest = np.unique(row, return_counts=True)[1].max(initial=0)
    for lag in range(1, largest):
        one, other = order[:-lag], order[lag:]
        same = row[one] == row[other]
        one, other = one[same], other[same]
        if method == "features":
            gap = ruler.changed(after[one], after[other]).mean(axis=1)
        elif method == "changes":
            both = (changed[one] & changed[other]).sum(axis=1)
            any_ = (changed[one] | changed[other]).sum(axis=1)
            gap = np.where(any_ > 0, 1.0 - both / np.maximum(any_, 1), 0.0)
        else:
            gap = cost.rows(after[one], after[other])
        for end in (one, other):
            total[end] += gap
            counts[end] += 1
    with np.errstate(invalid="ignore"):
        return total / counts
