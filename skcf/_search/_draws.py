"""Draws of values that cost less than a budget, as a compiled loop."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import cell_of, charge
from skcf._space import PAD
from skcf._space._kernels import mixed
from skcf.constraints._lists import last_at_most, part_of

TURN, SHIFT, UNIT = np.uint64(1 << 20), np.uint64(11), 2.0**-53


@jit
def _next(a, b, low, high):
    """Return the stratum to draw from next, -1 if none is left.

    Those from `a` to `b` may be affordable, those from `low` to `high` are known to be
    (-1 for none): by bisection to find one, then one after the other on both sides.
    """
    if high < 0:
        return (a + b) // 2 if a < b else -1
    if high < b:
        return high
    return low - 1 if low > a else -1


@jit
def _narrowed(a, b, low, high, c, fits, above):
    """Return what `_next` goes by, knowing whether a draw from stratum `c` fits.

    `above` is whether it is above the query's own value.
    """
    if fits:
        low = c if high < 0 or c < low else low
        return a, b, low, max(high, c + 1)
    if high < 0:
        return (a, c, low, high) if above else (c + 1, b, low, high)
    return (a, c, low, high) if c == high else (low, b, low, high)


@jit
def _below(part, span, entries, salt, priced, even, first_only, out, n):
    """Do what `draws_below` does for entries of one group; return how many there are.

    Of an even group the values ascend with the strata, and cost more and more to both
    sides of the query's own, so that not all strata need be drawn from.
    """
    key, rank, count, before, own, weight, ptr, start, counts = part[:9]
    weights, running, first, more, more_ptr = part[9:]
    (x, cell, col, code), group, ((unit, up, down, flat), worth, norms) = priced
    _, rows, bits, budget = entries
    m, w = len(salt), worth[group[first]]
    # The cells of the observed values of one column follow one another.
    alone = cell[first + 1] == cell[first] + 1
    column, shift = col[cell[first]], cell[first] - first
    last = first + len(running) - 1 if alone else first
    drawn, price = np.empty(m, np.int64), np.empty(m)
    for i in range(span[0], span[1]):
        r, n_more = rows[i], more_ptr[rows[i] + 1] - more_ptr[rows[i]]
        size, total = count[r] + n_more, weight[r] + n_more
        walk = even and n_more == 0
        a, b, low, high = 0, min(m, size), -1 if walk else 0, -1 if walk else 0
        c = _next(a, b, low, high)
        while c >= 0:
            u = (mixed(bits[i] ^ salt[c]) >> SHIFT) * UNIT
            at = min(np.floor((c + u) / m * total), total - 1)
            extra = c - count[r] if size <= m else min(int(at - weight[r]), n_more - 1)
            run, end = ptr[key[r]], ptr[key[r] + 1]
            if extra >= 0:
                v = more[more_ptr[r] + extra]
            elif size <= m:
                nth = counts[run] + c + (1 if 0 <= rank[r] <= c else 0)
                t = last_at_most(counts, nth, run, end)
                v = first + start[t] + nth - counts[t]
            else:
                at += weights[run] + (own[r] if at >= before[r] else 0.0)
                t = last_at_most(weights, at, run, end)
                at += running[start[t]] - weights[t]
                stop = start[t] + counts[t + 1] - counts[t]
                v = first + last_at_most(running, at, start[t], stop)
            d = g = 0.0
            begin = v + shift if v < last else cell[v]
            for k in range(begin, begin + 1 if v < last else cell[v + 1]):
                j = column if alone else col[k]
                one = cell_of(x[r, j], code[k], unit[j], up[j], down[j], flat[j])
                d, g = max(d, one[0]), max(g, one[1])
            price[c] = charge(d, g, w, norms)
            fits = price[c] < budget[i]
            drawn[c] = v if fits else PAD
            b = c + 1 if fits and first_only else b
            above = code[begin] > x[r, column]
            a, b, low, high = _narrowed(a, b, low, high, c, fits or not walk, above)
            c = _next(a, b, low, high)
        for c in range(low, high):
            if drawn[c] != PAD:
                out[0][n], out[1][n], out[2][n] = i, drawn[c], price[c]
                n += 1
    return n


@jit
def draws_below(lists, entries, m, priced, even, first_only):
    """Return (entry, value, price) of drawn values that cost less than a budget.

    `m` values of a group are drawn for a query, by frequency, one out of each m-th of
    the weight; all of them if there are no more.

    Parameters
    ----------
    entries : (group, query, bits, budget)
        Sorted by group. The bits are random ones; the budget is what a value has to
        stay below as the only change of its query.
    priced : what prices are worked out from
    even : ndarray of bool of shape (n_groups,)
        Groups of one number, never missing.
    first_only : bool
        Whether only the first of the draws of an entry is wanted; others may be there.
    """
    of, room = entries[0], len(entries[0]) * m
    out = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
    salt = np.empty(m, np.uint64)
    n = begin = 0
    while begin < len(of):
        g, end = of[begin], begin
        while end < len(of) and of[end] == g:
            end += 1
        for c in range(m):
            salt[c] = mixed(np.uint64(g + 1) * TURN + np.uint64(c))
        part, span = part_of(lists, g), (begin, end)
        args = entries, salt, priced, even[g], first_only, out
        n = _below(part, span, *args, n)
        begin = end
    return out[0][:n], out[1][:n], out[2][:n]


def offers_of(problem):
    """Return (lists, even, least): the values on offer, as the operators read them.

    The feasible sets, which groups are one number that is never missing, and the least
    that a change of each group of each query may cost; 0 where that is not known.
    """
    values, lists = problem.values, problem.ground.lists
    alone, flat = values.single >= 0, problem.space.categorical[values.single]
    begin, end = values.offsets[:-1], values.offsets[1:]
    # Missing values come last in the table of their column.
    even = alone & ~flat & ~np.isnan(values.code[values.ptr[end - 1]])
    # The nearest observed values cost least; some queries have others of their own.
    known = (problem.ground.own >= 0) & (even | (alone & flat)) & (end > begin + 1)
    known &= (np.diff(lists[4], axis=1) == 0).T
    least = np.where(known, np.inf, 0.0)
    who, group = np.nonzero(known)
    for step in (-1, 1):
        ids = problem.ground.own[who, group] + step
        at = np.flatnonzero((ids >= begin[group]) & (ids < end[group]))
        place = who[at], group[at]
        least[place] = np.minimum(least[place], problem.own_cost(who[at], ids[at]))
    return lists, even, least
