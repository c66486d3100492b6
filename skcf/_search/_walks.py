"""Walks from a query to the target: one group of columns after another."""

import numpy as np

from skcf._search._problem import Pool, rank_in_row
from skcf._space import PAD, Candidates, mix, uniform

EPSILON = 1e-6
N_MORE = 10


def walk_randomly(problem, rows, n_samples):
    """Return what random walks scored: groups in random order, each set once.

    At each step some values of the group are drawn by frequency; the fittest becomes
    the new position if it is fitter than the present one. A walk stops in the target.
    """
    order = _shuffled(problem, rows)
    here = problem.score(Candidates.unchanged(rows))
    pools = [here.take(slice(0))]
    for turn in range(order.shape[1]):
        if not len(here) or problem.meter.expired:
            break
        group = order[np.searchsorted(rows, here.row), turn]
        who, ids = _samples(problem, here.row, group, turn, n_samples)
        cands = here.cands.take(who).put(ids, problem.values)
        cands, _ = problem.ground.cascade(cands, problem.seed, group[who])
        tried = problem.score(cands)
        pools.append(tried)
        best = problem.best(Pool.concat([here, tried]), 1)
        here = best.take(~best.valid)
    return Pool.concat(pools)


def _shuffled(problem, rows):
    """Return the groups in a random order for each query."""
    group = np.arange(len(problem.values.single))
    bits = mix(problem.seed[rows, None] ^ mix(group.astype(np.uint64)))
    return np.argsort(bits, axis=1)


def _samples(problem, rows, group, turn, n_samples):
    """Return (position in rows, value): values of each query's own group."""
    nth = np.arange(n_samples)
    places, drawn = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    for g in np.unique(group):
        feasible = problem.ground.sets[g]
        at = np.flatnonzero((group == g) & (feasible.count[rows] > 0))
        if len(at):
            salt = mix(mix(np.uint64(turn)) ^ nth.astype(np.uint64))
            u = uniform(mix(problem.seed[rows[at], None] ^ salt))
            ids = feasible.draw(rows[at], (nth + u) / n_samples)
            places.append(np.repeat(at, n_samples))
            drawn.append(ids.ravel())
    return np.concatenate(places), np.concatenate(drawn)


def walk_greedily(problem, ends, reward):
    """Return the steps of greedy walks towards other rows.

    Each step takes one more value of the end, the one of the highest reward. A walk is
    over when a step is in the target.

    Parameters
    ----------
    problem : Problem
    ends : Candidates
        Where each walk goes.
    reward : callable
        Returns the reward of steps from the pools before and after.
    """
    here = problem.score(Candidates.unchanged(ends.row))
    pools = [here.take(slice(0))]
    left = ends.value
    while len(here) and not problem.meter.expired:
        who, slot = np.nonzero(left != PAD)
        cands = here.cands.take(who).put(left[who, slot], problem.values)
        tried = _judged(problem, cands)
        gain = np.round(reward(here.take(who), tried), 12)
        order = np.lexsort((slot, -gain, who))
        first = order[np.flatnonzero(np.diff(who[order], prepend=-1))]
        pools.append(tried.take(first))
        live = first[~tried.valid[first]]
        left = left[who[live]].copy()
        left[np.arange(len(live)), slot[live]] = PAD
        here = tried.take(live)
        more = (left != PAD).any(axis=1)
        here, left = here.take(more), left[more]
    return Pool.concat(pools)


def walk_in_order(problem, ends, order):
    """Return what walks that take the values of other rows in a given order scored.

    `order` has the groups of each walk, first to last. All steps of all walks are
    scored together; of each walk the first one in the target is kept.
    """
    n, width = ends.value.shape
    place = np.argsort(order, axis=1)
    groups = np.minimum(ends.groups(problem.values), place.shape[1] - 1)
    turn = np.take_along_axis(place, groups, axis=1)
    turn = np.where(ends.value == PAD, place.shape[1], turn)
    rank = np.argsort(np.argsort(turn, axis=1, kind="stable"), axis=1)
    who = np.repeat(np.arange(n), width)
    size = np.tile(np.arange(1, width + 1), n)
    real = size <= ends.n_changed[who]
    who, size = who[real], size[real]
    value = np.where(rank[who] < size[:, None], ends.value[who], PAD)
    tried = _judged(problem, Candidates(ends.row[who], value).tidy(problem.values))
    valid = np.flatnonzero(tried.valid)
    return tried.take(valid[np.diff(who[valid], prepend=-1) != 0])


def _judged(problem, cands):
    """Return scored candidates; those that break a rule are not valid."""
    tried = problem.score(cands)
    lawful = problem.ground.mask(cands) & problem.ground.filtered(cands)
    return Pool(tried.cands, tried.cost, tried.margin, tried.valid & lawful)


def starts_of(problem, training, rows, k):
    """Return for each query the `k` nearest training rows in the target.

    As candidates: those that keep all rules or, where there is none, the nearest ones
    with what rules on single groups allow to copy.
    """
    goal, ground = problem.goal, problem.ground
    lifted = None if ground.lifted is None else ground.lifted[rows]
    who, at = training.nearest(
        problem.x[rows], goal.take(rows), problem.cost, k, ground.rules, lifted
    )
    lawful = ground.towards(rows[who], training.codes[at])
    rest = np.setdiff1d(rows, rows[who])
    who, at = training.nearest(problem.x[rest], goal.take(rest), problem.cost, k)
    other = ground.towards(rest[who], training.codes[at])
    both = Candidates.concat([lawful, other])
    return both.take(np.argsort(both.row, kind="stable"))


def ends_of(problem, training, rows, k):
    """Return where each query walks first and, for several answers, other ends.

    Two lots of candidates: the nearest of `starts_of`, and the next ones.
    """
    ends = starts_of(problem, training, rows, 1 if k == 1 else k + N_MORE)
    first = rank_in_row(ends.row) == 0
    return ends.take(first), ends.take(~first)
