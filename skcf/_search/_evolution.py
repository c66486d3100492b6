"""A population of counterfactuals that gets nearer, after CERTIFAI."""

import numpy as np

from skcf._search._problem import Pool
from skcf._space import PAD, Candidates, mix, uniform

PATIENCE = 10


def evolve(problem, start, *, q, p_mutate, p_cross, max_generations):
    """Return the last population of counterfactuals of each query.

    Only candidates in the target that keep all rules ever enter the population.

    Parameters
    ----------
    problem : Problem
    start : Candidates
        Candidates to begin with; those in the target make the first population.
    q : int
        Size of the population of a query.
    p_mutate, p_cross : float
        The chance of a member to be mutated, and to exchange values with the next one.
    max_generations : int
        A query stops earlier if its cheapest member is the same for ten generations.
    """
    pool = _valid(problem, start)
    pool = problem.best(pool, q)
    stale, bound = np.zeros(len(problem), dtype=np.intp), problem.least_cost(pool)
    for turn in range(max_generations):
        live = pool.take(stale[pool.row] < PATIENCE)
        if not len(live) or problem.meter.expired:
            break
        bits = mix(problem.seed[live.row] ^ live.cands.hash(problem.values))
        bits = mix(bits ^ mix(np.uint64(turn)))
        mutant = uniform(bits) < p_mutate
        cross = uniform(mix(bits)) < p_cross
        children = Candidates.concat(
            [
                _mutated(problem, live.cands.take(mutant), bits[mutant]),
                _crossed(problem, live.cands, cross, bits),
            ]
        )
        pool = problem.best(Pool.concat([pool, _valid(problem, children)]), q)
        least = problem.least_cost(pool)
        stale = np.where(least < bound - 1e-12, 0, stale + 1)
        bound = least
    return pool


def _valid(problem, cands):
    """Return the pool of those repaired, new candidates that are in the target."""
    cands, _ = problem.ground.cascade(cands, problem.seed)
    cands = cands.take(problem.unseen(cands))
    problem.remember(cands)
    pool = problem.score(cands)
    return pool.take(pool.valid)


def _mutated(problem, cands, bits):
    """Return candidates with one random group set to a random value.

    Half of the time that is the query's own value.
    """
    count = problem.ground.count[cands.row]
    group = np.floor(uniform(mix(bits ^ np.uint64(1))) * count.shape[1]).astype(int)
    ids = np.full(len(cands), PAD)
    back = uniform(mix(bits ^ np.uint64(2))) < 0.5
    u = uniform(mix(bits ^ np.uint64(3)))
    for g in np.unique(group):
        at = np.flatnonzero((group == g) & ~back & (count[:, g] > 0))
        if len(at):
            drawn = problem.ground.sets[g].draw(cands.row[at], u[at, None])
            ids[at] = drawn[:, 0]
    same = cands.groups(problem.values) == group[:, None]
    return cands.drop(same, problem.values).put(ids, problem.values)


def _crossed(problem, cands, cross, bits):
    """Return children that take each group from either of two neighbours."""
    one = np.flatnonzero(cross[:-1] & (cands.row[:-1] == cands.row[1:]))
    mother, father = cands.take(one), cands.take(one + 1)
    n_groups = len(problem.values.single)
    salt = mix(np.arange(n_groups + 1, dtype=np.uint64))
    coin = uniform(mix(bits[one, None] ^ salt)) < 0.5
    of_mother = np.take_along_axis(coin, mother.groups(problem.values), axis=1)
    of_father = ~np.take_along_axis(coin, father.groups(problem.values), axis=1)
    value = np.column_stack(
        [
            np.where(of_mother, mother.value, PAD),
            np.where(of_father, father.value, PAD),
        ]
    )
    return Candidates(mother.row, value).tidy(problem.values)
