"""Compiled reading of lists that are kept as runs of consecutive values.

List ``k`` is the runs ``ptr[k] : ptr[k + 1]``. Run ``t`` begins at value ``start[t]``
of the group. `counts` and `weights` are the sums of the sizes and of the weights of all
runs so far, `running` those of the weights of the group's values.
"""

import numpy as np

from skcf._jit import jit


@jit
def last_at_most(sums, number, begin, end):
    """Return the last position from `begin` on whose entry is at most a number.

    How often the loop turns hangs on the length alone, which processors foresee.
    """
    at, left = begin - 1, end - begin
    while left > 0:
        half = (left + 1) // 2
        at += half if sums[at + half] <= number else 0
        left -= half
    return at


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
        run = last_at_most(start, own[i], begin, end)
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
def nth_of(part, r, n):
    """Return the n-th value of the list of query `r`, its own left out.

    `part` is what `FeasibleSet.part` holds, or `part_of` of several of these.
    """
    key, rank, count, _, _, _, ptr, start, counts, _, _, first, more, more_ptr = part
    if n >= count[r]:
        return more[more_ptr[r] + n - count[r]]
    at = counts[ptr[key[r]]] + n
    if rank[r] >= 0 and n >= rank[r]:
        at += 1
    run = last_at_most(counts, at, 0, len(counts))
    return first + start[run] + at - counts[run]


@jit
def count_of(part, r):
    """Return the number of values in the list of query `r`."""
    return part[2][r] + part[13][r + 1] - part[13][r]


@jit
def drawn_of(part, r, u):
    """Return a value of the list of query `r` by frequency for `u` in [0, 1).

    What a query has on top weighs 1. Weights are whole numbers: rounded down, sums of
    them stay exact.
    """
    key, _, _, before, own_weight, weight, ptr, start = part[:8]
    _, weights, running, first, more, more_ptr = part[8:]
    n_more = more_ptr[r + 1] - more_ptr[r]
    total = weight[r] + n_more
    at = min(np.floor(u * total), total - 1)
    if at >= weight[r]:
        return more[more_ptr[r] + min(int(at - weight[r]), n_more - 1)]
    if at >= before[r]:
        at += own_weight[r]
    at += weights[ptr[key[r]]]
    run = last_at_most(weights, at, 0, len(weights))
    at += running[start[run]] - weights[run]
    return first + last_at_most(running, at, 0, len(running))


@jit
def nth_values(part, rows, n):
    """Return the n-th value of each query's list, its own left out."""
    out = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        out[i] = nth_of(part, rows[i], n[i])
    return out


@jit
def drawn_values(part, rows, u):
    """Return values by frequency for `u` in [0, 1), of shape (len(rows), m)."""
    out = np.empty(u.shape, np.int64)
    for i in range(len(rows)):
        for s in range(u.shape[1]):
            out[i, s] = drawn_of(part, rows[i], u[i, s])
    return out


def joined(parts):
    """Return the parts of all groups as one, for `part_of` to take apart again."""
    by_name = list(zip(*parts, strict=True))
    table = len(parts), -1
    by_query = tuple(np.concatenate(arrays).reshape(table) for arrays in by_name[:6])
    flat, begin = [], []
    for arrays in (*by_name[6:11], by_name[12]):
        flat.append(np.concatenate(arrays))
        begin.append(np.cumsum([0, *map(len, arrays)]))
    first, more_ptr = np.array(by_name[11]), np.concatenate(by_name[13]).reshape(table)
    return by_query, tuple(flat), np.stack(begin), first, more_ptr


@jit
def part_of(lists, g):
    """Return the part of a group out of joined ones."""
    (key, rank, count, before, own_weight, weight), flat, begin, first, more_ptr = lists
    ptr, start, counts, weights, running, more = flat
    return (
        key[g],
        rank[g],
        count[g],
        before[g],
        own_weight[g],
        weight[g],
        ptr[begin[0, g] : begin[0, g + 1]],
        start[begin[1, g] : begin[1, g + 1]],
        counts[begin[2, g] : begin[2, g + 1]],
        weights[begin[3, g] : begin[3, g + 1]],
        running[begin[4, g] : begin[4, g + 1]],
        first[g],
        more[begin[5, g] : begin[5, g + 1]],
        more_ptr[g],
    )
