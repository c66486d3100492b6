"""Finishers: what every search does to the candidates it has found."""

from itertools import count

import numpy as np

from skcf._search._explore import explore
from skcf._search._problem import Pool
from skcf._search._single import single_changes
from skcf._space import PAD, Candidates

N_SWEEP = 8
N_SECTION = 15
MAX_PASSES = 3
MANY = 3
MAX_SWEEPS = 6


def finish(problem, pool, rows, k):
    """Bring the `k` best change sets of each query nearer to it.

    Needless changes are undone, each changed group is moved to nearer observed
    values, then numbers are brought to the boundary on the grid of their column.
    Only what keeps the rules and the model's answer is kept.
    """
    pool = single_changes(problem, pool, rows)
    pool = explore(problem, pool)
    pool = shrink(problem, pool, k)
    return refine(problem, sweep(problem, pool, k), k)


def refine(problem, pool, k):
    """Bring numbers to the boundary, and drop what has a needless change."""

    def best(some):
        return problem.best(problem.best_of_each(some), k)

    return minimal(problem, sharpen(problem, pool, best))


def sharpen(problem, pool, best):
    """Return the `best` of a pool and of what its numbers at the boundary make.

    Only numbers that were moved are moved again: how often that is done must not hang
    on the other queries.
    """
    moved = pool
    for _ in range(MAX_PASSES):
        nearer = _section(problem, moved)
        if not len(nearer):
            break
        pool = best(Pool.concat([pool, nearer]))
        new = np.isin(problem.key_of(pool.cands), problem.key_of(nearer.cands))
        moved = pool.take(new)
    return pool


def minimal(problem, pool):
    """Return the candidates without a needless change.

    A change is needless if the candidate is as valid and lawful without it. Such a
    candidate is dropped; what it becomes takes its place if it is the cheapest now.
    """
    done, bound = [pool.take(slice(0))], problem.least_cost(pool)
    while len(pool):
        single, who, _ = _single_undos(problem, pool)
        tried = problem.score(single)
        needless = np.zeros(len(pool), dtype=bool)
        needless[who[tried.valid]] = True
        done.append(pool.take(~needless))
        fewer = tried.take(tried.valid)
        pool = problem.best(fewer.take(fewer.cost < bound[fewer.row]), 1)
        bound = np.minimum(bound, problem.least_cost(pool))
    return problem.best_of_each(Pool.concat(done))


def _single_undos(problem, pool):
    """Return the lawful candidates with one change undone, their owners and slots."""
    who, slot = np.nonzero(pool.cands.value != PAD)
    mask = np.arange(pool.cands.value.shape[1]) == slot[:, None]
    single = pool.cands.take(who).drop(mask, problem.values)
    # What is left of it passes the filters as it did before.
    at = np.flatnonzero(problem.ground.mask(single))
    return single.take(at), who[at], slot[at]


def shrink(problem, pool, k):
    """Return the `k` best change sets of each query after undoing needless changes."""
    pool = pool.take(pool.valid)
    pool = problem.best(problem.best_of_each(pool), k)
    return _improved(problem, pool, k, _undone, count())


def sweep(problem, pool, k):
    """Try nearer observed values until nothing gets cheaper."""
    return _improved(problem, pool, k, _nearer, range(MAX_SWEEPS))


def _improved(problem, pool, k, propose, turns):
    """Return the `k` best change sets of each query, as long as proposals help.

    A query is through when they did not: what is proposed next hangs on what is known
    by then, and must not hang on what the other queries find.
    """
    done = []
    for _ in turns:
        if not len(pool) or problem.meter.expired:
            break
        found = _score_new(problem, propose(problem, pool))
        found = found.take(found.valid)
        more = np.zeros(len(problem), dtype=bool)
        more[found.row] = True
        done.append(pool.take(~more[pool.row]))
        both = Pool.concat([pool.take(more[pool.row]), found])
        pool = problem.best(problem.best_of_each(both), k)
    pool = Pool.concat([*done, pool])
    return pool.take(np.argsort(pool.row, kind="stable"))


def _score_new(problem, cands):
    """Return the pool of those candidates that are lawful and new.

    Their values pass the filters.
    """
    cands = cands.take(problem.ground.mask(cands))
    cands = cands.take(problem.unseen(cands))
    problem.remember(cands)
    return problem.score(cands)


def _undone(problem, pool):
    """Return candidates with changes undone: each alone, then more and more.

    The second lot undoes changes in the order of what they are thought to gain, so that
    a candidate with many needless changes is not undone one by one.
    """
    single, _, _ = _single_undos(problem, pool)
    some = pool.take(pool.cands.n_changed > MANY).cands
    rows = np.broadcast_to(some.row[:, None], some.value.shape)
    gain = problem.effects.of(rows.ravel(), some.value.ravel()).reshape(rows.shape)
    gain = np.where(some.value == PAD, np.inf, gain)
    rank = np.argsort(np.argsort(gain, axis=1, kind="stable"), axis=1)
    n_drop = np.arange(2, some.value.shape[1])
    owner = np.repeat(np.arange(len(some)), len(n_drop))
    mask = rank[owner] < np.tile(n_drop, len(some))[:, None]
    mask &= some.value[owner] != PAD
    fewer = some.take(owner).drop(mask, problem.values)
    return Candidates.concat([single, fewer])


def _nearer(problem, pool):
    """Return each candidate with one value moved to a nearer observed one.

    All nearer values where there are few; else evenly spaced ones, and some that
    lie ever closer to the present one.
    """
    cands, values = pool.cands, problem.values
    groups = cands.groups(values)
    rigid = np.append(problem.space.categorical, False)[values.single]
    who, slot = np.nonzero(~np.append(rigid, True)[groups])
    rows, now = cands.row[who], cands.value[who, slot]
    limit = problem.own_cost(rows, now) - 1e-12
    at, ids = problem.nearer(rows, groups[who, slot], limit, N_SWEEP)
    return cands.take(who[at]).put(ids, values)


def _section(problem, pool):
    """Return the candidates with their best number moved to the boundary.

    A number lies between the value that flips the model and the nearest one closer
    to the query that did not, or the query's own. That interval is cut in sixteen
    until it is as fine as the column's grid. Of the numbers of a candidate, the one
    that saves most is moved.
    """
    values, space = problem.values, problem.space
    groups = pool.cands.groups(values)
    single = np.append(values.single, -1)[groups]
    who, slot = np.nonzero((single >= 0) & space.numeric[single])
    column, group = single[who, slot], groups[who, slot]
    rows = pool.row[who]
    x = problem.x[rows, column]
    high = values.code_of(pool.cands.value[who, slot])
    low = _next_nearer(values, group, high, x)
    open_ = ~np.isnan(x)
    found = [pool.take(slice(0))]
    while open_.any() and not problem.meter.expired:
        at = np.flatnonzero(open_)
        points = _points(space, column[at], low[at], high[at])
        task, which = np.nonzero(~np.isnan(points))
        open_[np.setdiff1d(at, at[task])] = False
        if not len(task):
            break
        ids = values.add(group[at[task]], points[task, which])
        cands = pool.cands.take(who[at[task]]).put(ids, values)
        ok = np.flatnonzero(_lawful(problem, cands))
        ok = ok[problem.unseen(cands.take(ok))]
        problem.remember(cands.take(ok))
        tried = problem.score(cands.take(ok))
        hit = np.zeros(points.shape, dtype=bool)
        hit[task[ok], which[ok]] = tried.valid
        # Points run from the query outwards: the first hit is the nearest.
        first = np.where(hit.any(axis=1), hit.argmax(axis=1), points.shape[1])
        edge = np.column_stack([low[at], points, high[at]])
        n_points = (~np.isnan(points)).sum(axis=1)
        first = np.minimum(first, n_points)
        rank = np.arange(len(at))
        low[at] = edge[rank, first]
        moved = first < n_points
        high[at] = np.where(moved, edge[rank, first + 1], high[at])
        found.append(tried.take(tried.valid))
    return problem.best_of_each(Pool.concat(found))


def _lawful(problem, cands):
    """Return which candidates keep every rule."""
    return problem.ground.mask(cands) & problem.ground.filtered(cands)


def _next_nearer(values, group, code, x):
    """Return the observed value next to `code` on the way to `x`, at most `x`."""
    out = x.copy()
    for g in np.unique(group):
        at = np.flatnonzero(group == g)
        table = values.table(g)[:, 0]
        below = table[np.maximum(np.searchsorted(table, code[at]) - 1, 0)]
        after = np.searchsorted(table, code[at], side="right")
        above = table[np.minimum(after, len(table) - 1)]
        up = code[at] > x[at]
        out[at] = np.where(up, np.maximum(below, x[at]), np.minimum(above, x[at]))
    return out


def _points(space, columns, low, high):
    """Return up to fifteen grid points strictly between, from `low` on; NaN pads."""
    out = np.full((len(columns), N_SECTION), np.nan)
    fraction = np.arange(1, N_SECTION + 1) / (N_SECTION + 1)
    for j in np.unique(columns):
        at = np.flatnonzero(columns == j)
        a, b = low[at, None], high[at, None]
        points = space.columns[j].snap(a + (b - a) * fraction)
        inside = (points > np.minimum(a, b)) & (points < np.maximum(a, b))
        inside &= (points >= space.low[j]) & (points <= space.high[j])
        inside[:, 1:] &= points[:, 1:] != points[:, :-1]
        unit = space.columns[j].scales["range"]
        inside &= np.abs(b - a) > 1e-9 * unit
        points[~inside] = np.nan
        order = np.argsort(~inside, axis=1, kind="stable")
        out[at] = np.take_along_axis(points, order, axis=1)
    return out
