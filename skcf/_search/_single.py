"""Candidates with a single change: all of them, as far as they are cheaper."""

import numpy as np

from skcf._search._cheaper import CheaperValues
from skcf._search._problem import Pool
from skcf._space import Candidates

N_SINGLE = 400


def single_changes(problem, pool, rows, bound=None):
    """Return a pool with the cheaper single changes to observed values added.

    Those that cost less than the `bound` of their query (by default the cost of its
    best candidate) are scored, the cheapest first: all of them, or 400, evenly spaced
    among the values of each feature. A change that rules do not allow alone brings
    along the changes that it calls for.
    """
    if problem.meter.expired:
        return pool
    bound = problem.least_cost(pool) if bound is None else bound
    cheaper = CheaperValues(problem, rows, bound[rows], N_SINGLE * 4)
    row, ids, cost = cheaper.listed(N_SINGLE)
    cands, at = problem.ground.cascade(Candidates(row, ids[:, None]), problem.seed)
    new = problem.unseen(cands)
    cands, at = cands.take(new), at[new]
    cost = cost[at]
    repaired = (cands.value[:, :1] != ids[at, None]).ravel() | (cands.n_changed > 1)
    repaired = np.flatnonzero(repaired)
    cost[repaired] = problem.cost_of(cands.take(repaired))
    cheap = cost < bound[cands.row]
    cands = cands.take(cheap)
    problem.remember(cands)
    return Pool.concat([pool, problem.score(cands, cost[cheap])])
