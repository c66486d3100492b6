"""Which changes were not needed."""

import numpy as np

from skcf._measures._judge import Judge
from skcf._measures._ruler import Ruler, check_pairs, summary
from skcf._measures._violations import broken_rules
from skcf._space import container_of

MAX_ROWS = 20_000


def redundancy(
    X,
    X_cf,
    *,
    estimator,
    target="opposite",
    threshold=None,
    reference=None,
    constraints=(),
    categorical_features="from_dtype",
    sample_wise=False,
):
    r"""Return the share of changes that were not needed.

    A change is redundant if the counterfactual reaches the target and still does when
    this feature alone goes back to the value of the query, without breaking a rule that
    was kept before. With the changed features :math:`\Delta_i`,

    .. math::

        \mathrm{redundancy} = \frac{1}{n} \sum_i \frac{1}{|\Delta_i|}
            \left|\{ j \in \Delta_i : f(x'_{i, j \leftarrow x_{ij}}) \in T_i \}\right|

    Columns that are taken together go back together, and count once. A pair without
    changes counts 0.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    estimator : object
        The fitted model. It is asked once for each change.
    target : label, "opposite", (low, high), or array-like of one a row
        What each row was to become; see :func:`validity`.
    threshold : float in (0, 1], default=None
        The least probability of the target, on top of the prediction.
    reference : {array-like, DataFrame} of shape (n_samples, n_features), default=None
        The training rows: they have the kinds of the columns, and the combinations of
        columns that go together. By default, `X`.
    constraints : rule, str or list of these, default=()
        The rules of the explainer: a change that they ask for is not redundant.
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    sample_wise : bool, default=False
        Whether to return the share of each pair, and not their mean.

    Returns
    -------
    redundancy : float, or ndarray of shape (n_pairs,)
        From 0 to 1, the lower the better; nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or `target` or `threshold` do not suit the model.

    Notes
    -----
    The source [1]_ counts the redundant changes; a share does not reward methods that
    change few features twice. Both look at single changes: two of them may be redundant
    one by one and not together, or together and not one by one.

    References
    ----------
    .. [1] Pawelczyk, M., Bielawski, S., van den Heuvel, J., Richter, T., Kasneci, G.
       (2021). CARLA: A Python library to benchmark algorithmic recourse and
       counterfactual explanation algorithms. doi:10.48550/arXiv.2108.00783

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skcf.metrics import redundancy
    >>> X_train, y_train = [[1.0, 5.0], [2.0, 4.0], [3.0, 5.0]], ["no", "no", "yes"]
    >>> model = DecisionTreeClassifier(random_state=1).fit(X_train, y_train)
    >>> redundancy([[1.0, 4.0]], [[3.0, 5.0]], estimator=model)
    0.5
    """
    X, X_cf = check_pairs(X, X_cf)
    reference = X if reference is None else reference
    ruler = Ruler.of(reference, constraints, categorical_features)
    judge = Judge(estimator, X, target, threshold)
    codes = ruler.read(X, X_cf)
    values = redundant_share(ruler, X, X_cf, codes, judge.reached)
    return summary(values, sample_wise)


def redundant_share(ruler, X, X_cf, codes, reached):
    """Return the share of redundant changes of each pair.

    Parameters
    ----------
    ruler : Ruler
    X, X_cf : tables of shape (n_pairs, n_features)
    codes : (before, after)
        The same as codes.
    reached : callable
        Given a table and the pair of each of its rows, tells which are in the target.
    """
    before, after = codes
    changed = ruler.changed(before, after)
    pair, group = np.nonzero(changed)
    kept = np.zeros(len(pair), dtype=bool)
    for begin in range(0, len(pair), MAX_ROWS):
        lot = slice(begin, begin + MAX_ROWS)
        back = _columns(ruler.space, group[lot])
        trial = reverted(X, X_cf, pair[lot], back)
        kept[lot] = reached(trial, pair[lot])
        if ruler.rules:
            x, cf = before[pair[lot]], after[pair[lot]]
            had = broken_rules(ruler, x, cf)
            has = broken_rules(ruler, x, np.where(back, x, cf))
            kept[lot] &= ~(has & ~had).any(axis=1)
    if len(pair):
        kept &= reached(X_cf, np.arange(len(after)))[pair]
    n_changed = changed.sum(axis=1)
    return np.bincount(pair, kept, minlength=len(after)) / np.maximum(n_changed, 1)


def reverted(X, X_cf, pair, back):
    """Return counterfactuals with some cells of their queries, as those are stored.

    Parameters
    ----------
    X, X_cf : tables of shape (n_pairs, n_features)
    pair : ndarray of shape (n_rows,)
    back : ndarray of bool of shape (n_rows, n_features)
    """
    own, base = container_of(X), container_of(X_cf)
    taken = base.take(X_cf, pair)
    columns = []
    for j, dtype in enumerate(base.dtypes):
        column = base.column(taken, j)
        if back[:, j].any():
            types = own.types[j], base.types[j]
            if types[0] != types[1] and all(type_.is_numeric() for type_ in types):
                # Whole numbers would not hold a missing value or a fraction.
                dtype = base.wider(dtype, None, False)
                column = base.cast(column, dtype)
            old = base.adopt(own, own.gather(own.column(X, j), pair), dtype)
            column = base.where(back[:, j], old, column)
        columns.append(column)
    return base.build(columns, like=taken)


def _columns(space, group):
    """Return the columns of each group as a mask."""
    return space.group_of[None, :] == group[:, None]
