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
def note(lot, scored, n, new, start, size):
    """Put the candidates of a lot behind the `n` scored before; return their number.

    What changes nothing sets the strength of its query. What has values from `size` on
    is left out.

    Parameters
    ----------
    lot : (row, value, strength)
    scored : (follow, begin, ids, strength)
        Candidates in a row, with room for more: the values of candidate i are
        ``ids[begin[i] : begin[i + 1]]``, and ``follow[i]`` is the next one of its
        query, -1 for none.
    new : ndarray of shape (n_queries,)
        The first one of each query of which no gain was fitted so far.
    """
    row, value, told = lot
    follow, begin, ids, strength = scored
    for i in range(len(row)):
        end = begin[n]
        usual = True
        for s in range(value.shape[1]):
            v = value[i, s]
            if v >= size:
                usual = False
                break
            if v != PAD:
                ids[end] = v
                end += 1
        if usual and end == begin[n]:
            start[row[i]] = told[i]
        elif usual:
            begin[n + 1], strength[n] = end, told[i]
            follow[n], new[row[i]] = new[row[i]], n
            n += 1
    return n


@jit
def fit_gains(scored, chains, start, table, spread, mark, group, rule, room):
    """Return the table as fitted anew for the queries of which something is new.

    Parameters
    ----------
    scored : (follow, begin, ids, strength)
    chains : (new, several)
        The first candidate of each query that is new, and the first one that changes
        several values. The former become some of the latter.
    start : ndarray of shape (n_queries,)
        The strengths of the queries themselves.
    table : (start, value, gain, alone, hold)
        Of the values known of each query, sorted: their gains, what they do alone (NaN
        where that is not known), and what holds them there.
    spread : ndarray of shape (n_queries,)
        Set in place.
    mark : ndarray of shape (size,)
        Any numbers; they are lost.
    rule : (near, ridge, n_sweeps)
    room : int
        At least the number of values of what is new.
    """
    new, several = chains
    table = _with_new_values(scored, new, table, mark, room)
    ptr, value, gain, alone, hold = table
    for r in range(len(start)):
        if new[r] < 0:
            continue
        p, q = ptr[r], ptr[r + 1]
        mine = value[p:q], gain[p:q], alone[p:q], hold[p:q]
        for k in range(p, q):
            mark[value[k]] = k - p
        _sort_out(r, scored, chains, start[r], mine, mark, rule[0])
        spread[r] = _fit_one(several[r], scored, start[r], mine, mark, group, rule)
    return table


@jit
def _with_new_values(scored, new, table, mark, room):
    """Return the table with the values that only new candidates have.

    Where there are none it is the same one.
    """
    ptr, value, gain, alone, hold = table
    n = len(new)
    fresh, first = np.empty(room, np.int64), np.zeros(n + 1, np.int64)
    for r in range(n):
        first[r + 1] = first[r]
        if new[r] >= 0:
            old = value[ptr[r] : ptr[r + 1]]
            first[r + 1] += _new_values(new[r], scored, old, mark, fresh[first[r] :])
    if first[n] == 0:
        return table
    size = len(value) + first[n]
    values, gains = np.empty(size, np.int64), np.empty(size)
    alones, holds = np.empty(size), np.empty(size)
    for r in range(n):
        a, b, k = ptr[r], first[r], ptr[r] + first[r]
        while a < ptr[r + 1] or b < first[r + 1]:
            if b == first[r + 1] or (a < ptr[r + 1] and value[a] < fresh[b]):
                values[k], gains[k] = value[a], gain[a]
                alones[k], holds[k] = alone[a], hold[a]
                a += 1
            else:
                values[k], gains[k], alones[k], holds[k] = fresh[b], 0.0, np.nan, 0.0
                b += 1
            k += 1
    return ptr + first, values, gains, alones, holds


@jit
def _new_values(i, scored, old, mark, fresh):
    """Put what is not among the `old` values into `fresh`, sorted; return the number.

    It is looked for in candidate `i` and those that follow. A value has its place among
    the old and the fresh ones as its mark.
    """
    follow, begin, ids, _ = scored
    n = 0
    for k in range(len(old)):
        mark[old[k]] = k
    while i >= 0:
        for e in range(begin[i], begin[i + 1]):
            v = ids[e]
            k = mark[v]
            if 0 <= k < len(old) and old[k] == v:
                continue
            k -= len(old)
            if 0 <= k < n and fresh[k] == v:
                continue
            fresh[n], mark[v] = v, len(old) + n
            n += 1
        i = follow[i]
    fresh[:n].sort()
    return n


@jit
def _sort_out(r, scored, chains, base, mine, mark, near):
    """Take note of what is new: single values, and candidates that have several.

    A value that was scored alone has its gain, which it is held to by its weight.
    """
    follow, begin, ids, strength = scored
    new, several = chains
    _, _, alone, hold = mine
    i = new[r]
    while i >= 0:
        after = follow[i]
        if begin[i + 1] - begin[i] == 1:
            k = mark[ids[begin[i]]]
            alone[k] = strength[i] - base
            hold[k] += 1.0 / (near + abs(strength[i]))
        else:
            follow[i], several[r] = several[r], i
        i = after
    new[r] = PAD


@jit
def _priors(value, alone, group):
    """Return what each value, or the nearest one of its group, does alone, 0 if none.

    Of two that are as near, the higher one counts.
    """
    out = alone.copy()
    n = end = len(value)
    for k in range(n):
        if alone[k] == alone[k]:
            continue
        if k == 0 or end <= k or alone[k - 1] == alone[k - 1]:
            # The next ones of which it is known, on both sides of this and others.
            low, end = k - 1, k + 1
            while end < n and alone[end] != alone[end]:
                end += 1
        out[k], gap = 0.0, -1
        for near in (end, low):
            if near < 0 or near == n or group[value[near]] != group[value[k]]:
                continue
            apart = abs(value[near] - value[k])
            if gap < 0 or apart < gap:
                out[k], gap = alone[near], apart
    return out


@jit
def _fit_one(head, scored, base, mine, mark, group, rule):
    """Fit the gains of a query; return the spread of the residuals.

    Candidates of single values are told by what holds their gains.
    """
    follow, begin, ids, strength = scored
    value, gain, alone, hold = mine
    near, ridge, n_sweeps = rule
    prior = _priors(value, alone, group)
    gain[:] = prior
    n, n_keys = 0, len(value)
    first = np.zeros(n_keys + 2, np.int64)
    i = head
    while i >= 0:
        for e in range(begin[i], begin[i + 1]):
            first[mark[ids[e]] + 2] += 1
        n += 1
        i = follow[i]
    for k in range(n_keys):
        first[k + 2] += first[k + 1]
    # The candidates of value k are who[first[k] : first[k + 1]]: once they are in,
    # the numbers that say where the next one goes have moved on to these.
    who = np.empty(first[n_keys + 1], np.int64)
    weight, left = np.empty(n), np.empty(n)
    i, c = head, 0
    while i >= 0:
        total = 0.0
        for e in range(begin[i], begin[i + 1]):
            k = mark[ids[e]]
            who[first[k + 1]] = c
            first[k + 1] += 1
            total += prior[k]
        weight[c] = 1.0 / (near + abs(strength[i]))
        left[c] = strength[i] - base - total
        c += 1
        i = follow[i]
    _sweep(gain, prior, hold, first, who, weight, left, ridge, n_sweeps)
    total = square = 0.0
    for c in range(n):
        total += weight[c]
        square += weight[c] * left[c] ** 2
    for k in range(n_keys):
        total += hold[k]
        square += hold[k] * (gain[k] - prior[k]) ** 2
    return np.sqrt(square / max(total, 1e-12))


@jit
def _sweep(gain, prior, hold, first, who, weight, left, ridge, n_sweeps):
    """Fit the gains by ridge regression; `left` becomes the residuals.

    Gauss-Seidel, value by value: those of a group do not meet in a candidate.
    """
    n = len(gain)
    busy, mass, m = np.empty(n, np.int64), np.empty(n), 0
    for k in range(n):
        if first[k] < first[k + 1]:
            busy[m], mass[k] = k, ridge + hold[k]
            for e in range(first[k], first[k + 1]):
                mass[k] += weight[who[e]]
            m += 1
    for _ in range(n_sweeps):
        for k in busy[:m]:
            step = (ridge + hold[k]) * (prior[k] - gain[k])
            for e in range(first[k], first[k + 1]):
                step += weight[who[e]] * left[who[e]]
            move = step / mass[k]
            gain[k] += move
            for e in range(first[k], first[k + 1]):
                left[who[e]] -= move
