"""Candidates with a single change: all of them, as far as they are cheaper."""

import numpy as np

from skcf._search._problem import Pool, rank_in_row
from skcf._space import Candidates

N_SINGLE = 400


def single_changes(problem, pool, rows):
    """Return a pool with the cheaper single changes to observed values added.

    All those that cost less than the best candidate of their query are scored, or 400
    of them, evenly spaced by cost. A change that rules do not allow alone brings along
    the changes that it calls for.
    """
    if problem.meter.expired:
        return pool
    bound = problem.least_cost(pool)
    cands = _cheaper(problem, rows, bound)
    cands, _ = problem.ground.cascade(cands, problem.seed)
    cands = cands.take(problem.unseen(cands))
    cost = problem.cost_of(cands)
    cheap = cost < bound[cands.row]
    cands = cands.take(cheap)
    problem.remember(cands)
    return Pool.concat([pool, problem.score(cands, cost[cheap])])


def _cheaper(problem, rows, bound):
    """Return single changes cheaper than the bound, before rules are looked at."""
    whose, ids, costs = [], [], []
    for values in problem.ground.sets:
        who, value = values.spread(rows, N_SINGLE * 4)
        cost = problem.own_cost(rows[who], value)
        near = cost < bound[rows[who]]
        whose.append(rows[who[near]])
        ids.append(value[near])
        costs.append(cost[near])
    whose, ids, costs = map(np.concatenate, (whose, ids, costs))
    order = np.lexsort((ids, costs, whose))
    whose, ids = whose[order], ids[order]
    size = np.bincount(whose, minlength=len(problem))[whose]
    rank = rank_in_row(whose)
    keep = (rank + 1) * N_SINGLE // size > rank * N_SINGLE // size
    keep |= size <= N_SINGLE
    return Candidates(whose[keep], ids[keep][:, None])
