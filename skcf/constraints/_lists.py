"""Compiled reading of lists that are kept as runs of consecutive values.

List ``k`` is the runs ``ptr[k] : ptr[k + 1]``. Run ``t`` begins at value ``start[t]``
of the group. `counts` and `weights` are the sums of the sizes and of the weights of all
runs so far, `running` those of the weights of the group's values.
"""

import numpy as np

from skcf._jit import jit


@jit
def _last_at_most(sums, number, begin, end):
    """Return the last position from `begin` on whose entry is at most a number."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if sums[middle] <= number:
            low = middle + 1
        else:
            high = middle
    return low - 1


@jit
def places_of_own(own, key, runs, running):
    """Return where the queries' own values are in their lists, and what is left.

    Parameters
    ----------
    own : position of each query's own value in the group, negative if unseen
    key : the list of each query
    runs : (ptr, start, counts, weights)
    running : ndarray

    Returns
    -------
    rank : the place of the own value in the list, -1 if it is not in it
    before : the weight of what stands before it, inf if it is not in it
    own_weight, count, weight : its own weight; the number and the weight of the others
    """
    ptr, start, counts, weights = runs
    n = len(own)
    rank, count = np.full(n, -1), np.empty(n, np.int64)
    before, own_weight, weight = np.full(n, np.inf), np.zeros(n), np.empty(n)
    for i in range(n):
        begin, end = ptr[key[i]], ptr[key[i] + 1]
        count[i] = counts[end] - counts[begin]
        weight[i] = weights[end] - weights[begin]
        if own[i] < 0:
            continue
        run = _last_at_most(start, own[i], begin, end)
        if run < begin or own[i] - start[run] >= counts[run + 1] - counts[run]:
            continue
        rank[i] = counts[run] - counts[begin] + own[i] - start[run]
        before[i] = weights[run] - weights[begin]
        before[i] += running[own[i]] - running[start[run]]
        own_weight[i] = running[own[i] + 1] - running[own[i]]
        count[i] -= 1
        weight[i] -= own_weight[i]
    return rank, before, own_weight, count, weight


@jit
def nth_values(rows, n, key, own, runs, extra):
    """Return the n-th value of each query's list, its own left out.

    `own` is (rank, count) by query, `extra` is (first number of the group, values that
    single queries have on top, where those of each begin).
    """
    ptr, start, counts, _ = runs
    rank, count = own
    first, more, more_ptr = extra
    out = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        r = rows[i]
        if n[i] >= count[r]:
            out[i] = more[more_ptr[r] + n[i] - count[r]]
            continue
        at = counts[ptr[key[r]]] + n[i]
        if rank[r] >= 0 and n[i] >= rank[r]:
            at += 1
        run = _last_at_most(counts, at, 0, len(counts))
        out[i] = first + start[run] + at - counts[run]
    return out


@jit
def drawn_values(rows, u, key, own, runs, running, extra):
    """Return values by frequency for `u` in [0, 1), of shape (len(rows), m).

    `own` is (before, own_weight, weight) by query; what a query has on top weighs 1.
    Weights are whole numbers: rounded down, sums of them stay exact.
    """
    ptr, start, _, weights = runs
    before, own_weight, weight = own
    first, more, more_ptr = extra
    out = np.empty(u.shape, np.int64)
    for i in range(len(rows)):
        r = rows[i]
        n_more = more_ptr[r + 1] - more_ptr[r]
        total = weight[r] + n_more
        for s in range(u.shape[1]):
            at = min(np.floor(u[i, s] * total), total - 1)
            if at >= weight[r]:
                beyond = min(int(at - weight[r]), n_more - 1)
                out[i, s] = more[more_ptr[r] + beyond]
                continue
            if at >= before[r]:
                at += own_weight[r]
            at += weights[ptr[key[r]]]
            run = _last_at_most(weights, at, 0, len(weights))
            at += running[start[run]] - weights[run]
            out[i, s] = first + _last_at_most(running, at, 0, len(running))
    return out
