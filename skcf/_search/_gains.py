"""Gains of values as compiled loops: fitted query by query, and looked up."""

import numpy as np

from skcf._jit import jit
from skcf._space import PAD


@jit
def gain_of(ids, gains, begin, end, v, group, size):
    """Return the gain of the nearest of sorted values of the same group, 0 if none.

    Those of a query are ``begin : end``; values from `size` on are not among them.
    """
    low, high, place = begin, end, min(v, size - 1)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < place:
            low = middle + 1
        else:
            high = middle
    out, gap = 0.0, -1
    for near in (low, low - 1):
        if near < begin or near >= end or group[ids[near]] != group[v]:
            continue
        distance = abs(ids[near] - place)
        if gap < 0 or distance < gap:
            out, gap = gains[near], distance
    return out


@jit
def nearest_gains(known, rows, ids, group, size):
    """Return the gains of the nearest values of the same group, 0 if none.

    `known` is (start, value, gain): those of query i are ``start[i] : start[i + 1]``,
    sorted. Values from `size` on are not among them.
    """
    start, value, gain = known
    out = np.zeros(len(ids))
    for i in range(len(ids)):
        if ids[i] != PAD:
            r = rows[i]
            out[i] = gain_of(value, gain, start[r], start[r + 1], ids[i], group, size)
    return out


@jit
def correct(entries, n_groups, weight, left, ridge, n_sweeps):
    """Return what ridge regression adds to gains; `left` becomes the residuals.

    Gauss-Seidel, a group at a time: a candidate has one value of a group at most.
    `entries` says whose each entry is and which value, then the group of each value.
    """
    who, at, group = entries
    n_keys = len(group)
    extra, mass = np.zeros(n_keys), np.zeros(n_keys)
    first = np.zeros(n_groups + 1, np.int64)
    for e in range(len(who)):
        mass[at[e]] += weight[who[e]]
        first[group[at[e]] + 1] += 1
    for g in range(n_groups):
        first[g + 1] += first[g]
    free = first[:-1].copy()
    order = np.empty(len(who), np.int64)
    for e in range(len(who)):
        order[free[group[at[e]]]] = e
        free[group[at[e]]] += 1
    mass += ridge
    step, move = np.zeros(n_keys), np.zeros(n_keys)
    turn = np.full(n_keys, -1)
    for sweep in range(n_sweeps):
        for g in range(n_groups):
            lot = order[first[g] : first[g + 1]]
            for e in lot:
                step[at[e]] += weight[who[e]] * left[who[e]]
            for e in lot:
                k = at[e]
                if turn[k] != sweep:
                    move[k] = (step[k] - ridge * extra[k]) / mass[k]
                    extra[k] += move[k]
                    step[k], turn[k] = 0.0, sweep
                left[who[e]] -= move[k]
    return extra


@jit
def _fit_one(lot, cands, base, alone, begin, end, group, rule):
    """Return (values, gains, spread of the residuals) of the candidates of a query."""
    value, strength = cands
    size, n_groups, near, ridge, n_sweeps = rule
    n, room = len(lot), 0
    for i in lot:
        for s in range(value.shape[1]):
            room += value[i, s] != PAD
    who, ids = np.empty(room, np.int64), np.empty(room, np.int64)
    e = 0
    for i in range(n):
        for s in range(value.shape[1]):
            if value[lot[i], s] != PAD:
                who[e], ids[e] = i, value[lot[i], s]
                e += 1
    known = np.unique(ids)
    at = np.searchsorted(known, ids)
    prior = np.empty(len(known))
    for k in range(len(known)):
        prior[k] = gain_of(alone[0], alone[1], begin, end, known[k], group, size)
    sums, weight, left = np.zeros(n), np.empty(n), np.empty(n)
    for e in range(room):
        sums[who[e]] += prior[at[e]]
    for i in range(n):
        weight[i] = 1.0 / (near + abs(strength[lot[i]]))
        left[i] = strength[lot[i]] - base - sums[i]
    entries = who, at, group[known]
    gain = prior + correct(entries, n_groups, weight, left, ridge, n_sweeps)
    total = square = 0.0
    for i in range(n):
        total += weight[i]
        square += weight[i] * left[i] ** 2
    return known, gain, np.sqrt(square / max(total, 1e-12))


@jit
def fit_gains(dirty, row, cands, start, alone, known, spread, group, rule):
    """Return (start, value, gain) as fitted anew for the queries that are `dirty`.

    The others keep what they have; `spread` is set in place.

    Parameters
    ----------
    row, cands : the query of each scored candidate; its (value, strength)
    start : ndarray of shape (n_queries,)
        The strengths of the queries themselves.
    alone : (start, value, gain) of what single values do alone
    known : (start, value, gain) so far
    rule : (size, n_groups, near, ridge, n_sweeps)
    """
    n = len(dirty)
    first = np.zeros(n + 1, np.int64)
    room = len(known[1])
    for i in range(len(row)):
        if dirty[row[i]]:
            first[row[i] + 1] += 1
            for s in range(cands[0].shape[1]):
                room += cands[0][i, s] != PAD
    for r in range(n):
        first[r + 1] += first[r]
    free = first[:-1].copy()
    order = np.empty(first[-1], np.int64)
    for i in range(len(row)):
        if dirty[row[i]]:
            order[free[row[i]]] = i
            free[row[i]] += 1
    ptr = np.zeros(n + 1, np.int64)
    ids, gains = np.empty(room, np.int64), np.empty(room)
    for r in range(n):
        begin = ptr[r]
        if dirty[r]:
            value, gain, spread[r] = _fit_one(
                order[first[r] : first[r + 1]],
                cands,
                start[r],
                alone[1:],
                alone[0][r],
                alone[0][r + 1],
                group,
                rule,
            )
        else:
            value = known[1][known[0][r] : known[0][r + 1]]
            gain = known[2][known[0][r] : known[0][r + 1]]
        ptr[r + 1] = begin + len(value)
        ids[begin : ptr[r + 1]], gains[begin : ptr[r + 1]] = value, gain
    return ptr, ids[: ptr[n]].copy(), gains[: ptr[n]].copy()
