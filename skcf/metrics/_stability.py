"""Whether near queries get near answers."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state

from skcf._measures._judge import Judge
from skcf._measures._ruler import Ruler, check_pairs, summary


def stability(
    X,
    X_cf,
    *,
    explainer,
    reference,
    noise=0.01,
    n_repeats=5,
    target=None,
    random_state=None,
    sample_wise=False,
):
    r"""Return how near the answers to slightly different queries are.

    Each query is moved a little, :math:`\tilde x_j = x_j + u_j`, with :math:`u_j`
    uniform within `noise` times the range of a numeric feature and rounded to the
    decimals of its column, and explained again:

    .. math::

        \mathrm{stability} = \frac{1}{n r} \sum_i \sum_{t=1}^{r}
            1 - \min(1, \mathrm{gower}(x'_i, \tilde x'_{it}))

    A moved query without an answer counts 0; one that is in the target of its query by
    itself, such as the opposite of its class, is its own answer. Categories, and
    columns that are taken together, are not moved, and no number leaves the range of
    the training rows, unless it is outside of it already.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals by `explainer`, row by row.
    explainer : object
        The fitted explainer of rows of a table.
    reference : {array-like, DataFrame} of shape (n_samples, n_features)
        The training rows, of which the units of the columns are.
    noise : float, default=0.01
        The largest move, in ranges of the feature.
    n_repeats : int, default=5
        The number of moves of each query. All are explained in one call.
    target : label, array-like of shape (n_pairs,) or (n_pairs, 2), default=None
        Passed to the `explain` of the explainer.
    random_state : int, RandomState instance or None, default=None
        The moves.
    sample_wise : bool, default=False
        Whether to return the value of each pair, and not their mean.

    Returns
    -------
    stability : float, or ndarray of shape (n_pairs,)
        From 0 to 1, the higher the better; nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or `noise` or `n_repeats` are not positive.

    See Also
    --------
    refit_stability : Whether answers outlive another fit of the model.

    Notes
    -----
    A column of integers moves only where `noise` times its range is at least a half.

    References
    ----------
    .. [1] Guidotti, R. (2022). Counterfactual explanations and how to find them:
       literature review and benchmarking. Data Mining and Knowledge Discovery.
       doi:10.1007/s10618-022-00831-6

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.metrics import stability
    >>> from skcf.tabular import NearestUnlikeExplainer
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> explainer = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    >>> stability(X, explainer.transform(X), explainer=explainer, reference=X)
    1.0
    """
    X, X_cf = check_pairs(X, X_cf)
    if not (isinstance(noise, Real) and 0 < noise < np.inf):
        raise ValueError(f"noise must be a positive number, got {noise!r}.")
    check_repeats(n_repeats)
    if not len(X):
        return summary(np.empty(0), sample_wise)
    ruler = Ruler.of(reference, explainer.constraints, explainer.categorical_features)
    before, after = ruler.read(X, X_cf)
    row = np.repeat(np.arange(len(X)), n_repeats)
    moved = _moved(ruler.space, before[row], noise, check_random_state(random_state))
    noisy = ruler.space.emit(X, row, moved)
    target = explainer.target if target is None else target
    restore = explainer._space.restore
    judge = Judge(explainer.estimator_, restore(X), target, explainer.threshold)
    inside = judge.reached(restore(noisy), row)
    if by_row(target, explainer):
        target = [target[i] for i in row]
    explanation = explainer.explain(noisy, target=target)
    best = np.flatnonzero((explanation.rank == 0) & ~inside[explanation.row])
    again = moved.copy()
    again[explanation.row[best]] = ruler.read_one(
        explanation.counterfactuals, "the counterfactuals"
    )[best]
    near = 1.0 - np.minimum(1.0, ruler.gower.rows(after[row], again))
    near[~inside & (explanation.status != "found")] = 0.0
    return summary(near.reshape(len(X), n_repeats).mean(axis=1), sample_wise)


def by_row(target, explainer):
    """Tell whether a target is given row by row, and not one for all."""
    n_axes = 2 if is_regressor(explainer.estimator_) else 1
    return target is not None and len(np.shape(target)) == n_axes


def check_repeats(n_repeats):
    """Raise if a number of repeats is none."""
    whole = isinstance(n_repeats, Integral) and not isinstance(n_repeats, bool)
    if not whole or n_repeats < 1:
        raise ValueError(f"n_repeats must be an integer >= 1, got {n_repeats!r}.")


def _moved(space, codes, noise, random):
    """Return codes with numbers moved a little, on their grids and in their ranges."""
    out = codes.copy()
    for members in space.groups:
        j = members[0]
        if len(members) > 1 or not space.numeric[j]:
            continue
        column = space.columns[j]
        reach = noise * column.scales["range"]
        if not len(column.domain) or column.domain[0] == column.domain[-1]:
            continue
        step = random.uniform(-reach, reach, len(codes))
        low = np.minimum(column.domain[0], codes[:, j])
        high = np.maximum(column.domain[-1], codes[:, j])
        out[:, j] = np.clip(column.snap(codes[:, j] + step), low, high)
    return out
