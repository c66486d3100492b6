"""The genetic operators, as compiled loops: each returns the children worth a look.

Parents are (row, value, cost, strength, bits), sorted by query; `bits` are random ones
of each. Children come as (row, value, keep, guess): the group that was just changed, -1
for none, and the strength that is expected. What the operators read:

offers : (lists, even, least)
    The values that queries may take, the groups of one number that is never missing,
    and the least that a change of each group of each query may cost.
priced : what costs are worked out from
known : ((start, value, gain), size)
    What single values do to each query, and how many may be among them.
"""

import numpy as np

from skcf._jit import jit
from skcf._search._draws import draws_below
from skcf._search._gains import nearest_gains
from skcf._search._kernels import own_costs
from skcf._search._selection import by_row, promising
from skcf._space import PAD
from skcf._space._kernels import hash_values, mixed

HALF = np.uint64(1 << 63)


@jit
def bits_of(row, value, mark, seed, turn):
    """Return random bits that hang on query, candidate and generation alone."""
    out = hash_values(value, mark)
    for i in range(len(row)):
        out[i] = mixed(out[i] ^ seed[row[i]] ^ turn)
    return out


@jit
def _open(parents, of_query, group, least):
    """Return what may change as entries to draw for, and the parent of each.

    A query in need may also take another value where it has changed already.
    """
    row, value, cost, _, bits = parents
    bound, limit, count, urgent = of_query
    n_groups = count.shape[1]
    changed = np.zeros((len(row), n_groups), np.bool_)
    room = np.empty(len(row), np.bool_)
    for i in range(len(row)):
        n = 0
        for s in range(value.shape[1]):
            if value[i, s] != PAD:
                changed[i, group[value[i, s]]] = True
                n += 1
        room[i] = n < limit[row[i]]
    of = np.empty(n_groups * len(row), np.int64)
    at, n = np.empty_like(of), 0
    for g in range(n_groups):
        for i in range(len(row)):
            r = row[i]
            free = urgent[r] if changed[i, g] else room[i]
            if free and count[r, g] > 0 and cost[i] + least[r, g] < bound[r]:
                of[n], at[n] = g, i
                n += 1
    at = at[:n]
    # What adds up to the bound is left for exact costs to tell.
    return (
        of[:n].copy(),
        row[at],
        bits[at],
        (bound[row] - cost + 1e-12)[at],
    ), at.copy()


@jit
def _put_each(value, whose, ids, group):
    """Return candidates with one more value each, in place of that of its group.

    Their values are sorted by group.
    """
    width = 0
    for t in range(len(ids)):
        n = 1
        for s in range(value.shape[1]):
            w = value[whose[t], s]
            n += w != PAD and group[w] != group[ids[t]]
        width = max(width, n)
    out = np.full((len(ids), width), PAD)
    for t in range(len(ids)):
        v, n, put = ids[t], 0, False
        for s in range(value.shape[1]):
            w = value[whose[t], s]
            if w == PAD:
                break
            if not put and group[w] >= group[v]:
                out[t, n], put = v, True
                n += 1
            if group[w] != group[v]:
                out[t, n] = w
                n += 1
        if not put:
            out[t, n] = v
    return out


def mutants(parents, of_query, offers, priced, known, m, most):
    """Change each group that a parent left alone to `m` values drawn for it.

    Of the children of each query that cost less than its bound, the `most` of which
    most is expected are returned, sorted by parent. `of_query` is (bound, limit of
    changes, number of values of each group, urgent).
    """
    lists, even, least = offers
    entries, at = _open(parents, of_query, priced[1], least)
    drawn = draws_below(lists, entries, m, priced, even, False)
    return _mutated(parents, at, drawn, of_query[3], priced[1], known, most)


@jit
def _mutated(parents, at, drawn, urgent, group, known, most):
    """Return the most promising children of parents that take drawn values."""
    row, value, cost, strength, _ = parents
    who, ids, price = drawn
    whose = at[who]
    rows = row[whose]
    guess = strength[whose] + nearest_gains(known[0], rows, ids, group, known[1])
    no_ties = np.empty(0, np.uint64)
    kept = promising(rows, cost[whose] + price, guess, no_ties, urgent, most)
    order = np.flatnonzero(kept)
    order = order[by_row(whose[order], len(row))[0]]
    whose, ids = whose[order], ids[order]
    value = _put_each(value, whose, ids, group)
    return row[whose], value, group[ids], guess[order]


@jit
def _pairs(parents, start, urgent, most):
    """Return (left, right, guess) of the most promising pairs of parents of a query.

    As if there were no clashes.
    """
    row, _, cost, strength, _ = parents
    n = begin = 0
    for i in range(len(row)):
        begin = i if row[i] != row[begin] else begin
        n += i - begin
    left, right = np.empty(n, np.int64), np.empty(n, np.int64)
    guess, total = np.empty(n), np.empty(n)
    n = 0
    for i in range(len(row)):
        for j in range(i + 1, len(row)):
            if row[j] != row[i]:
                break
            left[n], right[n], total[n] = i, j, cost[i] + cost[j]
            guess[n] = strength[i] + strength[j] - start[row[i]]
            n += 1
    no_ties = np.empty(0, np.uint64)
    kept = promising(row[left], total, guess, no_ties, urgent, most)
    kept = np.flatnonzero(kept)
    return left[kept], right[kept], guess[kept]


@jit
def crosses(parents, of_query, mark, priced, most):
    """Join every two parents of a query; toss for which one has its way in a clash.

    Of the `most` pairs of each query of which most is expected, those are returned that
    cost less than its bound as far as costs add up. `of_query` is (strength, bound,
    urgent) of each.
    """
    row, value, _, _, bits = parents
    cells, group, (scale, weight, (l0, l1, l2, _)) = priced
    width, (start, bound, urgent) = value.shape[1], of_query
    left, right, guess = _pairs(parents, start, urgent, most)
    ruler, rows = (scale, weight, (l0, l1, l2, 0.0)), np.repeat(row, width)
    price = own_costs(rows, value.ravel(), (cells, group, ruler))
    marks = hash_values(value, mark)
    out = np.empty((len(left), 2 * width), np.int64)
    n = widest = 0
    for t in range(len(left)):
        i, j = left[t], right[t]
        coin = mixed(bits[i] ^ mixed(marks[j])) < HALF
        total, size, a, b = 0.0, 0, 0, 0
        while True:
            v = value[i, a] if a < width else PAD
            w = value[j, b] if b < width else PAD
            if v == PAD and w == PAD:
                break
            clash = v != PAD and w != PAD and group[v] == group[w]
            first = w == PAD or (v != PAD and group[v] < group[w])
            k, s = (i, a) if first or (clash and not coin) else (j, b)
            out[n, size] = value[k, s]
            total += price[k * width + s]
            a, b = a + (first or clash), b + (not first or clash)
            size += 1
        # What adds up to the bound is left for exact costs to tell.
        if total < bound[row[i]] + 1e-12:
            out[n, size:] = PAD
            left[n], guess[n], widest = i, guess[t], max(widest, size)
            n += 1
    return row[left[:n]], out[:n, :widest].copy(), np.full(n, PAD), guess[:n]


def nearer(parents, bound, offers, priced, known, tries):
    """Move each changed number or rank nearer: one child a group, one for all.

    Those are returned that cost less than the bound as far as costs add up.
    """
    lists, even, least = offers
    entries, at, now = _changed(parents, priced, least)
    drawn = draws_below(lists, entries, tries, priced, even, True)
    return _moved(parents, at, now, drawn, bound, priced[1], known)


@jit
def _changed(parents, priced, least):
    """Return the values of parents that may move as entries to draw for.

    And where each stands, and what all values cost now.
    """
    row, value, _, _, bits = parents
    group, width = priced[1], value.shape[1]
    old, rows = value.ravel(), np.repeat(row, width)
    now = own_costs(rows, old, priced)
    of, free = np.zeros(len(old), np.int64), np.zeros(len(old), np.bool_)
    for e in range(len(old)):
        if old[e] != PAD:
            of[e] = group[old[e]]
            free[e] = least[rows[e], of[e]] < now[e] - 1e-12
    at = np.flatnonzero(free)
    at = at[by_row(of[at], least.shape[1])[0]]
    fresh = np.empty(len(at), np.uint64)
    for t in range(len(at)):
        fresh[t] = mixed(bits[at[t] // width])
    return (of[at], rows[at], fresh, now[at] - 1e-12), at, now


@jit
def _moves(shape, at, now, drawn):
    """Return a nearer value for each slot of each parent, if any, and what it saves.

    It is the first of a few drawn ones that costs less.
    """
    who, ids, price = drawn
    out, saved = np.full(len(now), PAD), np.zeros(len(now))
    for t in range(len(who)):
        e = at[who[t]]
        if out[e] == PAD:
            out[e], saved[e] = ids[t], now[e] - price[t]
    return out.reshape(shape), saved.reshape(shape)


@jit
def _moved(parents, at, now, drawn, bound, group, known):
    """Return the children of parents that take nearer values."""
    row, value, cost, strength, _ = parents
    n, width = value.shape
    moved, saved = _moves(value.shape, at, now, drawn)
    rows = np.repeat(row, width)
    gain = nearest_gains(known[0], rows, moved.ravel(), group, known[1])
    gain -= nearest_gains(known[0], rows, value.ravel(), group, known[1])
    gain = gain.reshape(value.shape)
    room = (moved != PAD).sum() + n
    whose, keep = np.empty(room, np.int64), np.full(room, PAD)
    out, guess = np.empty((room, width), np.int64), np.empty(room)
    k = 0
    for i in range(n):
        for s in range(width):
            spare = cost[i] - bound[row[i]] - 1e-12
            if moved[i, s] == PAD or not saved[i, s] > spare:
                continue
            for t in range(width):
                out[k, t] = moved[i, t] if t == s else value[i, t]
            whose[k], keep[k] = i, group[value[i, s]]
            guess[k] = strength[i] + gain[i, s]
            k += 1
    for i in range(n):
        size, total, change = 0, 0.0, 0.0
        for s in range(width):
            if moved[i, s] != PAD:
                size += 1
                total += saved[i, s]
                change += gain[i, s]
        if size > 1 and total > cost[i] - bound[row[i]] - 1e-12:
            for t in range(width):
                out[k, t] = moved[i, t] if moved[i, t] != PAD else value[i, t]
            whose[k], guess[k] = i, strength[i] + change
            k += 1
    return row[whose[:k]], out[:k], keep[:k], guess[:k]
