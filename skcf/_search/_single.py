"""Candidates with a single change: all of them, as far as they are cheaper."""

import numpy as np

from skcf._search._problem import Pool, rank_in_row
from skcf._space import Candidates

N_SINGLE = 400


def single_changes(problem, pool, rows, bound=None):
    """Return a pool with the cheaper single changes to observed values added.

    All those that cost less than the `bound` of their query (by default the cost of its
    best candidate) are scored, or 400 of them, evenly spaced by cost. A change that
    rules do not allow alone brings along the changes that it calls for.
    """
    if problem.meter.expired:
        return pool
    bound = problem.least_cost(pool) if bound is None else bound
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
    n_groups = len(problem.values.single)
    each = np.repeat(rows, n_groups)
    groups = np.tile(np.arange(n_groups), len(rows))
    at, ids, costs = problem.cheaper(each, groups, bound[each], N_SINGLE * 4)
    whose = each[at]
    ids = ids[_by_cost(whose, costs)]
    size = np.bincount(whose, minlength=len(problem))[whose]
    rank = rank_in_row(whose)
    keep = (rank + 1) * N_SINGLE // size > rank * N_SINGLE // size
    keep |= size <= N_SINGLE
    return Candidates(whose[keep], ids[keep][:, None])


def _by_cost(row, cost):
    """Return the order by cost within each row, equal ones as they come.

    Costs come in long runs that rise or fall, which a sort of single rows makes use of.
    """
    out = np.empty(len(row), dtype=np.intp)
    cut = np.flatnonzero(np.diff(row, prepend=-1, append=-1))
    for begin, end in zip(cut[:-1], cut[1:], strict=True):
        out[begin:end] = begin + np.argsort(cost[begin:end], kind="stable")
    return out
