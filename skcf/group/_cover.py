"""Set covering: the fewest clusters that hold all rows."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from skcf._mip._adapter import Mip

# What sums of rounded numbers may be off by.
ROOM = 1e-6
# How often the local search takes a set out, for a look and for the best.
N_SWAPS = 1000, 4000
# The local search holds a table of sets by rows; larger ones are left to the program.
MAX_TABLE = 100_000_000


def fewest(members, n_rows, time_limit=None, prove=True):
    """Return the fewest sets that together hold every row, and a bound.

    The linear program of the cover gives a bound, and a local search a cover. Where
    they do not meet, an integer program looks for a smaller cover among the sets that
    the prices of the linear program leave.

    Parameters
    ----------
    members : list of ndarray of int
        The rows of each set; every row is in one at least.
    n_rows : int
    time_limit : float, default=None
        Seconds.
    prove : bool, default=True
        Whether to go on to the integer program.

    Returns
    -------
    chosen : ndarray of int
        Positions of the chosen sets.
    bound : int
        No fewer than this many sets will do; the number of chosen ones if proved.
    """
    holds = membership(members, n_rows)
    worth = prices(holds)
    value = bound_of(worth, holds)
    least = max(1, int(np.ceil(value - ROOM)))
    chosen = _swapped(holds, greedily(holds), least, N_SWAPS[int(prove)])
    if not prove or len(chosen) <= least:
        return chosen, min(least, len(chosen))
    # A set that is worth so little is in no cover that is smaller.
    spared = 1.0 - holds @ worth
    some = np.flatnonzero(spared <= len(chosen) - 1 - value + ROOM)
    better, bound = _smaller(holds[some], len(chosen), time_limit)
    if better is not None:
        chosen = some[better]
    return chosen, min(max(bound, least), len(chosen))


def membership(members, n_rows):
    """Return which sets hold which rows, a sparse array of shape (n_sets, n_rows)."""
    size = [len(rows) for rows in members]
    start = np.concatenate([[0], np.cumsum(size)])
    rows = np.concatenate([np.asarray(m, dtype=np.intp) for m in members])
    return csr_array((np.ones(len(rows)), rows, start), shape=(len(members), n_rows))


def prices(holds):
    """Return what each row is worth when fractions of sets cover the rows."""
    n_sets, n_rows = holds.shape
    said = linprog(
        np.ones(n_sets), A_ub=-holds.T.tocsr(), b_ub=-np.ones(n_rows), method="highs"
    )
    return np.maximum(-said.ineqlin.marginals, 0.0)


def bound_of(worth, holds):
    """Return what prices prove, however exact they are."""
    most = (holds @ worth).max(initial=1.0)
    return float(worth.sum() / most)


def greedily(holds):
    """Return a cover found by taking the set with most rows that are still open."""
    left, chosen = np.ones(holds.shape[1]), []
    while left.any():
        best = int((holds @ left).argmax())
        chosen.append(best)
        left[holds.indices[holds.indptr[best] : holds.indptr[best + 1]]] = 0.0
    return np.array(chosen, dtype=np.intp)


def _smaller(holds, size, time_limit):
    """Return (a cover of less than `size` sets or None, a bound of such covers)."""
    mip = Mip()
    take = [mip.binary("take") for _ in range(holds.shape[0])]
    by_row = holds.T.tocsr()
    for i in range(holds.shape[1]):
        held = by_row.indices[by_row.indptr[i] : by_row.indptr[i + 1]]
        mip.require(mip.total((take[c], 1.0) for c in held) >= 1)
    total = mip.total((t, 1.0) for t in take)
    mip.require(total <= float(size - 1))
    mip.minimize(total)
    # Without a point to begin with: with one, HiGHS 1.16 was seen to call 27 sets
    # optimal where no fewer than 28 will do.
    outcome = mip.solve(time_limit=time_limit)
    if outcome.status == "infeasible":
        return None, size
    bound = int(np.ceil(outcome.bound - ROOM)) if np.isfinite(outcome.bound) else 1
    if outcome.values is None:
        return None, bound
    chosen = np.flatnonzero(outcome.values > 0.5)
    if len(chosen) >= size or (holds[chosen].sum(axis=0) < 1).any():
        return None, bound
    return chosen, bound


def _swapped(holds, chosen, least, n_swaps):
    """Return a cover that is no larger, by taking sets out and putting others in.

    A set is taken out and the rows that are open then are covered again; rows that are
    open often weigh more. This is the search of [1]_ with a fixed number of steps.

    References
    ----------
    .. [1] Gao, C., Yao, X., Weise, T., Li, J. (2015). An efficient local search
       heuristic with row weighting for the unicost set covering problem. European
       Journal of Operational Research, 246(3), 750-761.
       doi:10.1016/j.ejor.2015.05.038
    """
    n_sets, n_rows = holds.shape
    if len(chosen) <= least or n_sets * n_rows > MAX_TABLE:
        return chosen
    table = np.zeros((n_rows, n_sets), dtype=bool)
    owner = np.repeat(np.arange(n_sets), np.diff(holds.indptr))
    table[holds.indices, owner] = True
    able = [np.flatnonzero(line) for line in table]
    random, taken, best = np.random.default_rng(0), list(chosen), chosen
    times, weight = table[:, taken].sum(axis=1), np.ones(n_rows)
    stamp, last = np.zeros(n_sets), -1
    for step in range(n_swaps):
        while (times > 0).all():
            best = np.array(taken, dtype=np.intp)
            if len(best) <= least:
                return best
            _take_out(table, taken, times, weight, stamp, -1)
        out = _take_out(table, taken, times, weight, stamp, last)
        stamp[out] = step
        open_rows = np.flatnonzero(times == 0)
        row = open_rows[random.integers(len(open_rows))]
        others = able[row][able[row] != out]
        if not len(others):
            others = able[row]
        gain = weight[open_rows] @ table[np.ix_(open_rows, others)]
        top = others[gain == gain.max()]
        last = int(top[stamp[top].argmin()])
        stamp[last] = step
        taken.append(last)
        times += table[:, last]
        weight[times == 0] += 1.0
    return best


def _take_out(table, taken, times, weight, stamp, kept):
    """Take out of `taken` the set that leaves least open, but not the set `kept`."""
    loss = (weight * (times == 1)) @ table[:, taken]
    if kept in taken and len(taken) > 1:
        loss[taken.index(kept)] = np.inf
    at = np.lexsort((stamp[taken], loss))[0]
    out = taken.pop(int(at))
    times -= table[:, out]
    return out
