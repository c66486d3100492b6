"""Candidates with few changes: all single ones, and the pairs that look likely."""

import numpy as np

from skcf._search._problem import Pool, rank_in_row
from skcf._space import PAD, Candidates

N_SINGLE = 400
N_PAIR = 200


def few_changes(problem, pool, rows):
    """Return a pool with cheaper candidates of one and two changes added.

    Every single change over observed values that is cheaper than the best candidate
    of its query is scored (evenly spaced ones by cost if there are more than 400), then
    the 200 pairs of which most is expected among those that are cheaper still.
    """
    for propose in (_singles, _pairs):
        if problem.meter.expired:
            break
        bound = problem.least_cost(pool)
        cands = propose(problem, rows, bound)
        cands, _ = problem.ground.cascade(cands, problem.seed)
        cands = cands.take(problem.unseen(cands))
        cost = problem.cost_of(cands)
        cheap = cost < bound[cands.row]
        cands = cands.take(cheap)
        problem.remember(cands)
        pool = Pool.concat([pool, problem.score(cands, cost[cheap])])
    return pool


def _singles(problem, rows, bound):
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


def _pairs(problem, rows, bound):
    """Join values that gain most for their cost, one of each of two groups."""
    row, ids, gain = problem.effects.known()
    cost = problem.own_cost(row, ids)
    useful = np.isfinite(bound[row]) & (cost < bound[row]) & (gain > 0)
    row, ids, gain, cost = row[useful], ids[useful], gain[useful], cost[useful]
    front = _front(row, problem.values.group[ids], cost, gain)
    row, ids, gain, cost = row[front], ids[front], gain[front], cost[front]
    size = np.bincount(row, minlength=len(problem))
    first = np.cumsum(size) - size
    lots = []
    for i in np.flatnonzero(size > 1):
        at = slice(first[i], first[i] + size[i])
        group, total = problem.values.group[ids[at]], cost[at]
        one, two = np.triu_indices(size[i], 1)
        fits = group[one] != group[two]
        one, two = one[fits], two[fits]
        fits = total[one] + total[two] < bound[i] * 1.5
        one, two = one[fits] + first[i], two[fits] + first[i]
        guess = problem.effects.start[i] + gain[one] + gain[two]
        best = np.lexsort((ids[two], ids[one], cost[one] + cost[two], -guess))[:N_PAIR]
        lots.append(
            Candidates(
                np.full(len(best), i), np.column_stack([ids[one[best]], ids[two[best]]])
            )
        )
    if not lots:
        return Candidates(rows[:0], np.full((0, 1), PAD))
    return Candidates.concat(lots).tidy(problem.values)


def _front(row, group, cost, gain):
    """Return the values of each group that gain more than any cheaper one."""
    order = np.lexsort((-gain, cost, group, row))
    owner = row[order] * (group.max(initial=0) + 1) + group[order]
    start = np.flatnonzero(np.diff(owner, prepend=-1))
    keep = []
    for lot in np.split(order, start[1:]) if len(order) else []:
        best = np.maximum.accumulate(gain[lot])
        keep.append(lot[np.diff(best, prepend=-np.inf) > 0])
    return np.sort(np.concatenate(keep)) if keep else order
