"""How many features change."""

import numpy as np

from skcf._measures._ruler import Ruler, check_pairs, summary


def sparsity(
    X,
    X_cf,
    *,
    reference=None,
    constraints=(),
    categorical_features="from_dtype",
    sample_wise=False,
):
    r"""Return how many features change.

    .. math::

        \mathrm{sparsity}(x, x') = \sum_j [x'_j \neq x_j]

    A missing value that appears or disappears is a change, one that stays is none.
    Columns that are taken together count once. Fewer is better.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    reference : {array-like, DataFrame} of shape (n_samples, n_features), default=None
        The training rows: they have the kinds of the columns. By default, `X`.
    constraints : rule, str or list of these, default=()
        The rules of the explainer. Only those matter here that take columns together
        (:func:`~skcf.constraints.together`, :func:`~skcf.constraints.one_hot`).
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    sample_wise : bool, default=False
        Whether to return the number of each pair, and not their mean.

    Returns
    -------
    n_changed : float, or ndarray of shape (n_pairs,)
        nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or the columns are not those of `reference`.

    See Also
    --------
    skcf.Explanation : Has the same number as `n_changed`.

    References
    ----------
    .. [1] Mothilal, R. K., Sharma, A., Tan, C. (2020). Explaining machine learning
       classifiers through diverse counterfactual explanations. FAT*, 607-617.
       doi:10.1145/3351095.3372850
    .. [2] Yang, W., Li, J., Xiong, C., Hoi, S. C. H. (2022). MACE: An efficient
       model-agnostic framework for counterfactual explanation. arXiv:2205.15540

    Examples
    --------
    >>> from skcf.metrics import sparsity
    >>> X, X_cf = [[30.0, 1.0], [40.0, 2.0]], [[29.0, 2.0], [41.0, 2.0]]
    >>> sparsity(X, X_cf)
    1.5
    """
    X, X_cf = check_pairs(X, X_cf)
    reference = X if reference is None else reference
    ruler = Ruler.of(reference, constraints, categorical_features)
    changed = ruler.changed(*ruler.read(X, X_cf))
    return summary(changed.sum(axis=1).astype(np.float64), sample_wise)
