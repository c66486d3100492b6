"""Gradient-less descent on the numbers of counterfactuals."""

import numpy as np
from scipy.special import ndtri

from skcf._search._diversity import change_sets
from skcf._search._finish import _lawful, sharpen
from skcf._search._problem import Pool
from skcf._space import PAD, Candidates, mix, uniform

N_TOGETHER = 4
GAIN = 0.01


def bisect(problem, pool):
    """Return valid candidates with each changed number at the boundary."""
    return sharpen(problem, pool.take(pool.valid), problem.best_of_each)


def move_together(problem, pool, *, n_steps, radius, min_radius):
    """Return valid candidates with all of their changed numbers moved nearer.

    A step tries one point in each of some balls around the present one, of radii (in
    ranges of the columns) that halve from `radius` down to `min_radius`, and moves to
    the cheapest that keeps the target and the rules. The points of four steps are tried
    together. Candidates with one changed number stay as they are, and so do those that
    four steps brought no nearer by more than a hundredth of their distance.
    """
    radii = radius * 0.5 ** np.arange(1 + int(np.ceil(np.log2(radius / min_radius))))
    numeric = np.append(_numeric(problem), False)
    patience = _Patience()
    for turn in range(0, n_steps, N_TOGETHER):
        idle = patience.idle(_set_keys(problem, pool.cands), _distances(problem, pool))
        moves = numeric[pool.cands.groups(problem.values)].sum(axis=1) > 1
        moves &= idle == 0
        if not moves.any() or problem.meter.expired:
            break
        points = np.tile(radii, min(N_TOGETHER, n_steps - turn))
        cands = _around(problem, pool.take(moves), points, turn)
        cands = cands.take(_lawful(problem, cands))
        cands = cands.take(problem.unseen(cands))
        cost = problem.cost_of(cands)
        near = cost < _limit(problem, pool, cands)
        cands, cost = cands.take(near), cost[near]
        problem.remember(cands)
        tried = problem.score(cands, cost)
        pool = problem.best_of_each(Pool.concat([pool, tried.take(tried.valid)]))
    return pool


def _distances(problem, pool):
    """Return how far candidates are, whatever their number of changes costs."""
    if problem.ruler is None:
        return pool.cost
    codes = pool.cands.codes(problem.x, problem.values)
    return problem.ruler.rows(problem.x[pool.row], codes)


class _Patience:
    """How long it is since change sets came nearer by more than a hundredth."""

    def __init__(self):
        self._key, self._turns = np.empty(0, np.uint64), np.empty(0, np.intp)
        self._best = np.empty(0)

    def idle(self, key, distance):
        """Return for how many calls each set was at about its distance."""
        order = np.argsort(key)
        key, distance = key[order], distance[order]
        turns, best = np.zeros(len(key), np.intp), distance.copy()
        if len(self._key):
            at = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
            near = distance >= (1 - GAIN) * self._best[at]
            same = near & (self._key[at] == key)
            turns[same], best[same] = self._turns[at[same]] + 1, self._best[at[same]]
        self._key, self._turns, self._best = key, turns, best
        out = np.empty(len(key), np.intp)
        out[order] = turns
        return out


def _set_keys(problem, cands):
    """Return 64 bits that stand for the query and the change set of candidates."""
    groups = cands.groups(problem.values).astype(np.uint64)
    bits = np.where(cands.value == PAD, np.uint64(0), mix(groups))
    with np.errstate(over="ignore"):
        return mix(bits.sum(axis=1, dtype=np.uint64) ^ mix(cands.row.astype(np.uint64)))


def _numeric(problem):
    """Return which groups are single numbers."""
    single = problem.values.single
    return (single >= 0) & problem.space.numeric[single]


def _limit(problem, pool, cands):
    """Return the cost of the pool's candidate with the same change set."""
    known, kind = change_sets(problem, pool.cands, cands)
    cost = np.full(max(known.max(initial=-1), kind.max(initial=-1)) + 1, np.inf)
    np.minimum.at(cost, known, pool.cost)
    return cost[kind]


def _around(problem, pool, radii, turn):
    """Return points around candidates, one for each radius, that change numbers less.

    What counts is the sum of the changes of numbers, in ranges of their columns.
    """
    values, space = problem.values, problem.space
    owner = np.repeat(np.arange(len(pool)), len(radii))
    cands = pool.cands.take(owner)
    bits = mix(cands.hash(values) ^ problem.seed[cands.row] ^ mix(np.uint64(turn)))
    bits ^= np.tile(np.arange(len(radii), dtype=np.uint64), len(pool))
    groups = cands.groups(values)
    single = np.append(values.single, -1)[groups]
    who, slot = np.nonzero((single >= 0) & space.numeric[single])
    column, row = single[who, slot], cands.row[who]
    u = uniform(mix(mix(bits[who]) ^ mix(column.astype(np.uint64))))
    step = radii[who % len(radii)] * ndtri(np.clip(u, 1e-12, 1 - 1e-12))
    now, x = values.code_of(cands.value[who, slot]), problem.x[row, column]
    code, unit = now.copy(), np.ones(len(who))
    for j in np.unique(column):
        mine = column == j
        grid = space.columns[j]
        unit[mine] = grid.scales["range"]
        moved = grid.snap(now[mine] + step[mine] * unit[mine])
        inside = (moved >= space.low[j]) & (moved <= space.high[j])
        code[mine] = np.where(inside, moved, now[mine])
    saved = np.where(np.isnan(x), 0.0, np.abs(now - x) - np.abs(code - x)) / unit
    total = np.bincount(who, saved, minlength=len(cands))
    keep = total > 1e-12
    at = np.flatnonzero(keep[who])
    place = np.cumsum(keep) - 1
    ids = values.add(groups[who[at], slot[at]], code[at])
    out = cands.value[keep]
    # Back at the query's own number, the change is undone.
    out[place[who[at]], slot[at]] = np.where(code[at] == x[at], PAD, ids)
    return Candidates(cands.row[keep], out).tidy(values)
