"""All changes of one and of two features that are cheaper than the answer."""

import numpy as np

from skcf._jit import jit
from skcf._search._finish import refine
from skcf._search._kernels import costs
from skcf._search._problem import Pool, rank_in_row
from skcf._space import Candidates

# A group of more values, or more changes left to try, is more than a claim is worth:
# views are cheap to ask, a model that is asked itself is not.
MAX_VALUES = 5000
MAX_CHANGES = 2000
MAX_ASKED = 50
# How many values are looked at in one go.
LOT = 2_000_000


def complete(problem, pool, rows, k):
    """Try every change of one and two features that costs less than the answer.

    Values are those that were observed. What turns up is finished like the rest of the
    pool, of which the `k` best change sets of a query are kept.

    Returns
    -------
    pool : Pool
    level : ndarray of shape (n_queries,)
        Of how many features every cheaper change was tried: 2, 1 or 0. Without an
        answer every change is a cheaper one.
    """
    level = np.zeros(len(problem), dtype=np.intp)
    bound = problem.least_cost(pool) - 1e-9
    found = [pool]
    for lot in _lots(problem, rows):
        if problem.meter.expired:
            break
        singles = _singles(problem, lot, bound)
        scored, done = _try(problem, singles, lot)
        found.append(scored.take(scored.valid))
        level[done] = 1
        pairs, few = _pairs(problem, singles, done[np.isfinite(bound[done])], bound)
        scored, done = _try(problem, pairs, few)
        found.append(scored.take(scored.valid))
        level[done] = 2
    return _joined(problem, found, k), level


def _lots(problem, rows):
    """Yield the queries of which all values can be looked at, some at a time."""
    sets = problem.ground.sets
    most = np.max([values.count for values in sets], axis=0)
    rows = rows[most[rows] <= MAX_VALUES]
    size = max(1, LOT // max(1, sum(int(s.count.max(initial=0)) for s in sets)))
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]


def _singles(problem, rows, bound):
    """Return all observed single changes that are cheap enough, sorted by query."""
    n_groups = len(problem.values.single)
    each = np.repeat(rows, n_groups)
    groups = np.tile(np.arange(n_groups), len(rows))
    at, ids, _ = problem.cheaper(each, groups, bound[each], MAX_VALUES)
    seen = ids < problem.values.n_observed
    return Candidates(each[at[seen]], ids[seen][:, None])


def _try(problem, cands, rows):
    """Score what was not scored; return the pool, and the queries of which all was."""
    most = MAX_ASKED if problem.session.asks else MAX_CHANGES
    cands = cands.take(problem.ground.mask(cands))
    cands = cands.take(problem.unseen(cands))
    left = np.bincount(cands.row, minlength=len(problem))
    if problem.max_evaluations is not None:
        most = np.minimum(most, problem.max_evaluations - problem.n_scored)
    few = left <= most
    cands = cands.take(few[cands.row])
    problem.remember(cands)
    scored = problem.score(cands)
    few[scored.row[scored.margin == -np.inf]] = False
    few &= ~problem.cut
    return scored, rows[few[rows]]


def _pairs(problem, singles, rows, bound):
    """Return all cheap pairs of changes, and the queries that have few of them."""
    chosen = np.zeros(len(problem), dtype=bool)
    chosen[rows] = True
    singles = singles.take(chosen[singles.row])
    cost = problem.cost_of(singles)
    largest = _largest_part(problem, singles)
    order = np.lexsort((cost, singles.row))
    row, ids = singles.row[order], singles.value[order, 0]
    start = np.flatnonzero(rank_in_row(row) == 0)
    end = np.append(start[1:], len(row))
    most = 2 * MAX_CHANGES
    args = start, end, cost[order], largest[order], problem.values.group[ids]
    limit = bound[row[start]]
    none = np.empty((0, 2), dtype=np.int64)
    size = cheap_pairs(*args, limit, most, none, np.zeros(len(start), dtype=np.int64))
    few = size <= most
    chosen[row[start[~few]]] = False
    size = np.where(few, size, 0)
    at = np.empty((int(size.sum()), 2), dtype=np.int64)
    cheap_pairs(*args, np.where(few, limit, -1.0), most, at, np.cumsum(size) - size)
    pair = ids[at]
    swap = problem.values.group[pair[:, 0]] > problem.values.group[pair[:, 1]]
    pair[swap] = pair[swap][:, ::-1]
    cands = Candidates(row[at[:, 0]], pair)
    near = problem.cost_of(cands) < bound[cands.row]
    return cands.take(near), rows[chosen[rows]]


def _largest_part(problem, singles):
    """Return what each single change adds to the cost by being the largest."""
    cost, values = problem.cost, problem.values
    cells = values.ptr, values.col, values.code, values.group
    norms = (0.0, 0.0, 0.0, cost.norms[3])
    x, weight = problem.x, cost.weight
    return costs(singles.row, singles.value, x, *cells, cost.ruler, weight, norms)


@jit
def cheap_pairs(start, end, cost, largest, group, limit, most, out, place):
    """Write the pairs of entries of each lot that cost less than its limit.

    The entries of a lot are sorted by cost. A pair costs what both do, less the smaller
    of what they add by being the largest. Return how many there are, counted up to one
    more than `most`; nothing is written where `out` has no room.
    """
    size = np.zeros(len(start), np.int64)
    for r in range(len(start)):
        for i in range(start[r], end[r]):
            for j in range(i + 1, end[r]):
                if cost[i] + cost[j] - largest[i] >= limit[r]:
                    break
                if group[i] == group[j]:
                    continue
                if cost[i] + cost[j] - min(largest[i], largest[j]) >= limit[r]:
                    continue
                if len(out):
                    out[place[r] + size[r], 0] = i
                    out[place[r] + size[r], 1] = j
                size[r] += 1
                if size[r] > most:
                    break
            if size[r] > most:
                break
    return size


def _joined(problem, found, k):
    """Return the pool with what was found, brought to the boundary where new."""
    more = Pool.concat(found[1:]) if len(found) > 1 else found[0].take(slice(0))
    if not len(more):
        return found[0]
    again = np.isin(found[0].row, more.row)
    mine = Pool.concat([found[0].take(again), more])
    done = refine(problem, problem.best(problem.best_of_each(mine), k), k)
    return Pool.concat([found[0].take(~again), done])
