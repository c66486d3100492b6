"""Values worth trying on a query, as compiled loops: dearer ones have to gain more."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import own_costs

N_VALUES = 8


@jit
def _keep(lot, cost, level, worth, keep):
    """Mark the values of a group that are kept; `lot` says where they are.

    They are sorted by cost; of those that gain more than all cheaper ones the
    `N_VALUES` worth most are kept, and of the others the one worth most.
    """
    for i in range(1, len(lot)):
        at, t = lot[i], i
        while t > 0:
            other = lot[t - 1]
            if cost[other] < cost[at]:
                break
            if cost[other] == cost[at] and level[other] >= level[at]:
                break
            lot[t] = other
            t -= 1
        lot[t] = at
    top, n_front, second = -np.inf, 0, -1
    for at in lot:
        if level[at] > top:
            top, keep[at] = level[at], True
            n_front += 1
        elif second < 0 or (worth[at], at) < (worth[second], second):
            second = at
    while n_front > N_VALUES:
        last = -1
        for at in lot:
            if keep[at] and (last < 0 or (worth[at], at) > (worth[last], last)):
                last = at
        keep[last] = False
        n_front -= 1
    if second >= 0:
        keep[second] = True


@jit
def options_of(r, gains, bound, price, step, cells, group, ruler):
    """Return the values worth trying on query `r`, a group behind the other.

    Gains are told apart in steps. The best of those that a cheaper value outdoes comes
    along: gains are guesses, and rules may ask for another value.

    Parameters
    ----------
    gains : (value, gain) of what is known of the query, sorted
    bound : what values have to cost less than
    price : what a unit of gain is worth
    step : the steps of gains
    cells, group, ruler : what values cost

    Returns
    -------
    options : (value, gain, cost)
    lots : (group, begin, best) of the options of each group
        With the end of the last one behind the others. The best is the least cost, the
        least loss of strength, and the least cost with the strength bought back.
    """
    ids, gain = gains
    n = len(ids)
    cost = own_costs(np.full(n, r), ids, (cells, group, ruler))
    worth, level = np.empty(n), np.empty(n)
    keep, lot = np.zeros(n, np.bool_), np.empty(n, np.int64)
    value, gains_of, costs_of = np.empty(n, np.int64), np.empty(n), np.empty(n)
    of, first = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    best = np.full((n, 3), np.inf)
    # The values of a group are numbered one after another.
    begin = k = m = 0
    while begin < n:
        of[k] = group[ids[begin]]
        end, size = begin, 0
        while end < n and group[ids[end]] == of[k]:
            if cost[end] < bound:
                worth[end] = cost[end] - price * gain[end]
                level[end] = np.rint(gain[end] / step)
                lot[size] = end
                size += 1
            end += 1
        _keep(lot[:size], cost, level, worth, keep)
        for at in range(begin, end):
            if keep[at]:
                value[m], gains_of[m], costs_of[m] = ids[at], gain[at], cost[at]
                best[k, 0] = min(best[k, 0], cost[at])
                best[k, 1] = min(best[k, 1], -gain[at])
                best[k, 2] = min(best[k, 2], worth[at])
                m += 1
        if size:
            k += 1
            first[k] = m
        begin = end
    return (value[:m], gains_of[:m], costs_of[:m]), (of[:k], first[: k + 1], best[:k])
