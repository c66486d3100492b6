"""Whether a counterfactual lies where the data lie."""

from numbers import Integral

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils import check_random_state

from skcf._measures._ruler import Ruler, check_pairs, summary

N_NEIGHBORS = {"knn": 5, "lof": 20, "iforest": None}
MAX_SAMPLES = 2000


def plausibility(
    X,
    X_cf,
    *,
    reference,
    method="knn",
    n_neighbors=None,
    max_samples=MAX_SAMPLES,
    constraints=(),
    categorical_features="from_dtype",
    random_state=None,
    sample_wise=False,
):
    r"""Return how far counterfactuals are from where the training rows lie.

    - `"knn"`: the mean Gower distance to the nearest training rows,
      :math:`\tfrac{1}{k} \sum_{i \in N_k(x')} \mathrm{gower}(x', x_i)`;
    - `"lof"`: the local outlier factor [1]_ by Gower distance: near 1 inside a cloud of
      training rows however dense it is, more outside;
    - `"iforest"`: the anomaly score of an isolation forest [2]_, from 0 to 1, about 0.5
      for rows like the training rows.

    The lower, the more plausible.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_pairs, n_features)
        The queries. They are not looked at, but for the pairing.
    X_cf : {array-like, DataFrame} of shape (n_pairs, n_features)
        Their counterfactuals, row by row.
    reference : {array-like, DataFrame} of shape (n_samples, n_features)
        The training rows.
    method : {"knn", "lof", "iforest"}, default="knn"
        What is measured.
    n_neighbors : int, default=None
        The number of nearest rows :math:`k`, at most those that there are: 5 for "knn"
        and 20 for "lof" by default. "iforest" has none.
    max_samples : int, default=2000
        "lof" compares all rows of `reference` with one another. Where it has more, so
        many are drawn. The other methods always use all rows.
    constraints : rule, str or list of these, default=()
        The rules of the explainer. Only those matter here that take columns together.
    categorical_features : "from_dtype", or names, positions or a mask
        Which columns are categories, as given to the explainer.
    random_state : int, RandomState instance or None, default=None
        The rows drawn by "lof" and the trees of "iforest".
    sample_wise : bool, default=False
        Whether to return the value of each pair, and not their mean.

    Returns
    -------
    plausibility : float, or ndarray of shape (n_pairs,)
        nan if there are no pairs.

    Raises
    ------
    ValueError
        If the rows are not paired, or `method` or `n_neighbors` are none.

    Notes
    -----
    A training row has distance 0 to itself: a method that returns training rows is at
    an advantage by "knn". An isolation forest splits numbers; a category enters it as
    the share of training rows that have it, so that rare ones are easy to isolate.

    References
    ----------
    .. [1] Breunig, M. M., Kriegel, H.-P., Ng, R. T., Sander, J. (2000). LOF:
       identifying density-based local outliers. SIGMOD, 93-104.
       doi:10.1145/342009.335388
    .. [2] Liu, F. T., Ting, K. M., Zhou, Z.-H. (2008). Isolation forest. ICDM, 413-422.
       doi:10.1109/ICDM.2008.17

    Examples
    --------
    >>> from skcf.metrics import plausibility
    >>> X_train = [[0.0], [1.0], [2.0], [10.0]]
    >>> plausibility([[0.0]], [[1.0]], reference=X_train, n_neighbors=3)
    0.0666...
    """
    X, X_cf = check_pairs(X, X_cf)
    if method not in N_NEIGHBORS:
        raise ValueError(f"method must be one of {(*N_NEIGHBORS,)}, got {method!r}.")
    k = N_NEIGHBORS[method] if n_neighbors is None else n_neighbors
    if k is not None and (isinstance(k, bool) or not isinstance(k, Integral) or k < 1):
        raise ValueError(f"n_neighbors must be an integer >= 1, got {k!r}.")
    ruler = Ruler.of(reference, constraints, categorical_features)
    known, after = ruler.read_one(reference, "reference"), ruler.read_one(X_cf, "X_cf")
    if method == "knn":
        values = nearest(ruler, after, known, k)
    elif method == "lof":
        random = check_random_state(random_state)
        values = outlier_factor(ruler, after, known, k, max_samples, random)
    else:
        values = _isolation(ruler, after, known, random_state)
    return summary(values, sample_wise)


def nearest(ruler, after, known, k):
    """Return the mean distance of rows to the `k` nearest of the known ones."""
    out, k = np.empty(len(after)), min(k, len(known))
    for lot in ruler.blocks(len(after), len(known)):
        near = ruler.distances(after[lot], known)
        out[lot] = np.partition(near, k - 1, axis=1)[:, :k].mean(axis=1)
    return out


def outlier_factor(ruler, after, known, k, max_samples, random):
    """Return the local outlier factor of rows among the known ones."""
    if not len(after):
        return np.empty(0)
    if len(known) > max_samples:
        known = known[np.sort(random.permutation(len(known))[:max_samples])]
    if len(known) == 1:
        return np.ones(len(after))
    k = min(k, len(known) - 1)
    factor = LocalOutlierFactor(n_neighbors=k, metric="precomputed", novelty=True)
    factor.fit(ruler.distances(known, known))
    return -factor.score_samples(ruler.distances(after, known))


def _isolation(ruler, after, known, random_state):
    if not len(after):
        return np.empty(0)
    known, after = known.copy(), after.copy()
    for j in np.flatnonzero(ruler.space.categorical):
        size = int(np.nanmax([*known[:, j], *after[:, j], 0.0])) + 1
        held = known[~np.isnan(known[:, j]), j].astype(np.intp)
        share = np.append(np.bincount(held, minlength=size) / len(known), np.nan)
        for table in (known, after):
            at = np.where(np.isnan(table[:, j]), size, table[:, j])
            table[:, j] = share[at.astype(np.intp)]
    forest = IsolationForest(random_state=random_state).fit(known)
    return -forest.score_samples(after)
