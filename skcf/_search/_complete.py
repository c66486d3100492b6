"""All changes of one and of two features that are cheaper than the answer."""

import numpy as np

from skcf._jit import jit
from skcf._search._cheaper import CheaperValues, longer
from skcf._search._finish import refine
from skcf._search._kernels import costs
from skcf._search._problem import Pool
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
        singles, few = _singles(problem, lot, bound)
        row, ids, cost = singles
        scored, done = _try(problem, Candidates(row, ids[:, None]), few, cost)
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
    """Return (row, value, cost) of single changes that are cheap enough, by cost.

    They are all observed ones of the queries that are returned with them. The others
    have so many that too many are left, whatever was scored before.
    """
    cheaper = CheaperValues(problem, rows, bound[rows], MAX_VALUES, observed=True)
    most = _most(problem)[rows] + problem.n_scored[rows]
    # Rules may leave few of many.
    ground = problem.ground
    few = (cheaper.count <= most) | ground.must[rows].any(axis=1)
    if ground.rules.joint:
        few[:] = True
    return cheaper.listed(np.where(few, cheaper.count, 0)), rows[few]


def _most(problem):
    """Return how many changes each query may have scored in one go."""
    most = MAX_ASKED if problem.session.asks else MAX_CHANGES
    if problem.max_evaluations is None:
        return np.full(len(problem), most)
    return np.minimum(most, problem.max_evaluations - problem.n_scored)


def _try(problem, cands, rows, cost=None):
    """Score what was not scored; return the pool, and the queries of which all was."""
    ok = problem.ground.mask(cands)
    at = np.arange(len(cands)) if ok.all() else np.flatnonzero(ok)
    at = at[problem.unseen(cands if ok.all() else cands.take(at))]
    row = cands.row[at]
    few = np.bincount(row, minlength=len(problem)) <= _most(problem)
    at = at[few[row]]
    cands = cands.take(at)
    problem.remember(cands)
    scored = problem.score(cands, None if cost is None else cost[at])
    few[scored.row[scored.margin == -np.inf]] = False
    few &= ~problem.cut
    return scored, rows[few[rows]]


def _pairs(problem, singles, rows, bound):
    """Return all cheap pairs of changes, and the queries that have few of them."""
    chosen = np.zeros(len(problem), dtype=bool)
    chosen[rows] = True
    row, ids, cost = (part[chosen[singles[0]]] for part in singles)
    begin = np.flatnonzero(np.diff(row, prepend=-1, append=-1))
    whose = row[begin[:-1]]
    size, values = cheap_pairs(
        begin,
        ids,
        cost,
        _largest_part(problem, row, ids),
        problem.values.group,
        bound[whose],
        2 * MAX_CHANGES,
    )
    chosen[whose[size < 0]] = False
    row = np.repeat(whose, np.maximum(size, 0))
    return Candidates(row, values.reshape(-1, 2)), rows[chosen[rows]]


def _largest_part(problem, row, ids):
    """Return what each single change adds to the cost by being the largest."""
    cost, values = problem.cost, problem.values
    if not cost.norms[3]:
        return np.zeros(len(row))
    cells = values.ptr, values.col, values.code, values.group
    norms = (0.0, 0.0, 0.0, cost.norms[3])
    return costs(row, ids[:, None], problem.x, *cells, cost.ruler, cost.weight, norms)


@jit
def cheap_pairs(begin, ids, cost, largest, group, limit, most):
    """Return how many pairs of values of each lot cost less than its limit, and them.

    Lot ``r`` is the values ``begin[r] : begin[r + 1]``, sorted by cost. A pair costs
    what both do, less the smaller of what they add by being the largest. Of a lot with
    more than `most` pairs the number is -1, and none is returned.
    """
    size, n = np.zeros(len(limit), np.int64), 0
    out = np.empty(2 * len(ids) + 2 * most, np.int64)
    for r in range(len(limit)):
        before = n
        if len(out) < 2 * (n + most):
            out = longer(out, 2 * (n + most))
        for i in range(begin[r], begin[r + 1]):
            g = group[ids[i]]
            for j in range(i + 1, begin[r + 1]):
                dear = cost[i] + cost[j] - largest[i] >= limit[r]
                if dear or n - before > most:
                    break
                h = group[ids[j]]
                cheap = cost[i] + cost[j] - min(largest[i], largest[j]) < limit[r]
                if g == h or not cheap:
                    continue
                if n - before < most:
                    # Values of a candidate are sorted by group.
                    out[2 * n] = ids[i if g < h else j]
                    out[2 * n + 1] = ids[j if g < h else i]
                n += 1
        size[r] = n - before
        if size[r] > most:
            size[r], n = -1, before
    return size, out[: 2 * n]


def _joined(problem, found, k):
    """Return the pool with what was found, brought to the boundary where new."""
    more = Pool.concat(found[1:]) if len(found) > 1 else found[0].take(slice(0))
    if not len(more):
        return found[0]
    again = np.isin(found[0].row, more.row)
    mine = Pool.concat([found[0].take(again), more])
    done = refine(problem, problem.best(problem.best_of_each(mine), k), k)
    return Pool.concat([found[0].take(~again), done])
