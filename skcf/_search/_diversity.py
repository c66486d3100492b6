"""Which of many counterfactuals to give, so that they are different ways out."""

import numpy as np

from skcf._search._finish import _single_undos
from skcf._search._problem import Pool, rank_in_row

N_SPARE = 4
# Less than what costs are told apart by does not change an order by cost.
AHEAD = 2e-9


def diverse(row, kind, k, distance=None, apart=None):
    """Return the positions of `k` counterfactuals of each query, in order.

    First the best of each kind, then the others, each in the order given; with `apart`
    only those that are at least so far from all that were taken before.

    Parameters
    ----------
    row : ndarray of shape (m,)
        The query of each, sorted; those of a query in order of preference.
    kind : ndarray of shape (m,)
        What makes two of them the same way out, such as the set of changes.
    k : int
    distance : callable, default=None
        Returns the distances between counterfactuals at two arrays of positions.
    apart : float, default=None

    Returns
    -------
    at : ndarray of shape (n_taken,)
    """
    again = np.ones(len(row), dtype=bool)
    key = np.column_stack([row, kind])
    again[np.unique(key, axis=0, return_index=True)[1]] = False
    if apart is None:
        order = np.lexsort((np.arange(len(row)), again, row))
        return order[rank_in_row(row[order]) < k]
    taken, open_ = [np.empty(0, dtype=np.intp)], np.ones(len(row), dtype=bool)
    used = np.zeros(len(row), dtype=bool)
    for _ in range(k):
        # A kind that was taken already has to wait until there is no other.
        order = np.lexsort((np.arange(len(row)), used, row))
        order = order[open_[order]]
        first = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
        if not len(first):
            break
        taken.append(first)
        open_[first] = False
        last = np.full(int(row.max()) + 1, -1)
        last[row[first]] = first
        mine = np.flatnonzero(open_ & (last[row] >= 0))
        used[mine] |= kind[mine] == kind[last[row[mine]]]
        open_[mine] = distance(mine, last[row[mine]]) >= apart
    taken = np.concatenate(taken)
    return taken[np.argsort(row[taken], kind="stable")]


def distinct(problem, pool, k):
    """Return valid candidates of each query to answer with, different ways first.

    There are a few more than `k`, in case a judge turns one down.
    """
    pool = pool.take(pool.valid)
    pool = pool.take(problem.order(pool))
    key = np.column_stack([pool.row, pool.cands.value])
    pool = pool.take(np.sort(np.unique(key, axis=0, return_index=True)[1]))
    (kind,) = change_sets(problem, pool.cands)
    at = diverse(pool.row, kind, k + N_SPARE, _distance(problem, pool), problem.apart)
    return pool.take(at)


def spares(problem, pool):
    """Return what to fall back upon: the best of each query, and the best off an edge.

    Numbers at the boundary are the first to be turned down. Whether a point on a closed
    edge of the target is in it hangs on the last digit of what the model adds up.
    """
    valid = pool.take(pool.valid)
    clear = valid.take(problem.model.off_edge(valid.margin))
    return Pool.concat([problem.best(valid, 1), problem.best(clear, 1)])


def dearer(problem, best, others):
    """Return the valid ones of others that come behind the best of a pool, and it.

    What a query gets first does not hang on how many answers are wanted: nothing that
    was looked at for the sake of more answers is put before it, or stands in for it.
    """
    bound = problem.least_cost(best)
    others = others.take(others.valid & (others.cost >= bound[others.row]))
    # The one that was there first wins a tie.
    others.cost = np.maximum(others.cost, bound[others.row] + AHEAD)
    return Pool.concat([best, others])


def further(problem, best, pool, k):
    """Return the candidates `best` and dearer ones of `pool` with the same change sets.

    They are for those who want more answers than there are change sets. None of them
    has a needless change, none is cheaper than the best.
    """
    bound = problem.least_cost(best)
    more = pool.take(pool.valid & (pool.cost >= bound[pool.row]))
    known, kind = change_sets(problem, best.cands, more.cands)
    same = np.isin(kind, known)
    more = more.take(same)
    more = more.take(problem.order(more))
    (kind,) = change_sets(problem, more.cands)
    some = N_SPARE * (k + N_SPARE)
    if problem.apart is None:
        more = more.take(rank_in_row(more.row) < some)
    else:
        at = diverse(more.row, kind, some, _distance(problem, more), problem.apart)
        more = more.take(at)
    single, owner, _ = _single_undos(problem, more)
    tried = problem.score(single)
    needless = np.zeros(len(more), dtype=bool)
    needless[owner[tried.valid]] = True
    return Pool.concat([best, more.take(~needless)])


def change_sets(problem, *lots):
    """Return, for each lot of candidates, a number of the query and the change set."""
    width = max(cands.value.shape[1] for cands in lots)
    keys = []
    for cands in lots:
        groups = np.full((len(cands), 1 + width), len(problem.values.single))
        groups[:, 0] = cands.row
        groups[:, 1 : 1 + cands.value.shape[1]] = cands.groups(problem.values)
        keys.append(groups)
    _, back = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    return np.split(back.ravel(), np.cumsum([len(cands) for cands in lots])[:-1])


def _distance(problem, pool):
    """Return the function that tells the distances between candidates."""
    if problem.apart is None:
        return None
    codes = pool.cands.codes(problem.x, problem.values)
    return lambda a, b: problem.ruler.rows(codes[a], codes[b])


def spread_columns(problem, pool, k, most):
    """Return `k` candidates of each query of which at most `most` change a group.

    The best of each change set come in order; one is skipped if a group that it changes
    was changed by `most` of those that were kept.
    """
    pool = problem.best_of_each(pool)
    turn = rank_in_row(pool.row)
    changed = pool.cands.changed(problem.values)
    count = np.zeros((len(problem), changed.shape[1]), dtype=np.intp)
    size = np.zeros(len(problem), dtype=np.intp)
    kept = [np.empty(0, dtype=np.intp)]
    for r in range(int(turn.max(initial=-1)) + 1):
        at = np.flatnonzero(turn == r)
        row = pool.row[at]
        fits = (size[row] < k) & ~(changed[at] & (count[row] >= most)).any(axis=1)
        at, row = at[fits], row[fits]
        count[row] += changed[at]
        size[row] += 1
        kept.append(at)
    return pool.take(np.sort(np.concatenate(kept)))


def fill(problem, few, pool, k):
    """Return a pool with the best of each change set of another added, up to `k`."""
    more = problem.best_of_each(Pool.concat([few, pool]))
    known, kind = change_sets(problem, few.cands, more.cands)
    both = Pool.concat([few, more.take(~np.isin(kind, known))])
    return both.take(rank_in_row(both.row) < k)
