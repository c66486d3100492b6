"""Children of drafts: every one with every option, as a compiled loop."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import rise, sink
from skcf._space import PAD


@jit
def _rounded(number):
    """Return a number to nine digits, as numpy rounds it."""
    return np.rint(number * 1e9) / 1e9


@jit
def _children(base, slots, options, group, row_of, n_short):
    """Return what `breed` does, in arrays with room to spare."""
    row, value, cost, guess = base
    ids, gains, prices, start, size = options
    bound, bias, price, floor = row_of
    n, room = 0, 0
    for i in range(len(row)):
        room += size[row[i]]
    who, new = np.empty(room, np.int64), np.empty(room, np.int64)
    told = np.empty((room, 2))
    # What falls short: a heap of places a query, the worst of those kept on top.
    held = np.zeros(len(bound), np.int64)
    heap = np.empty((len(bound), n_short), np.int64)
    places = len(bound) * n_short
    s_who, s_new = np.empty(places, np.int64), np.empty(places, np.int64)
    s_told, s_fit = np.empty((places, 2)), np.empty(places)
    s_turn = np.full(places, -1)
    turn = 0
    for i in range(len(row)):
        r = row[i]
        for t in range(start[r], start[r] + size[r]):
            v = ids[t]
            c, e = cost[i] + prices[t], guess[i] + gains[t]
            same = False
            for s in range(value.shape[1]):
                old = value[i, s]
                if old != PAD and group[old] == group[v]:
                    same = old == v
                    c -= slots[0][i, s]
                    e -= slots[1][i, s]
                    break
            if same or not c < bound[r]:
                continue
            turn += 1
            if e + bias[r] > floor[r]:
                who[n], new[n], told[n, 0], told[n, 1] = i, v, c, e
                n += 1
            lack = -e - bias[r]
            if not lack > 0:
                continue
            fit = _rounded(c + price[r] * lack)
            if held[r] == n_short:
                at = heap[r, 0]
                if fit >= s_fit[at]:
                    continue
            else:
                at = r * n_short + held[r]
            s_who[at], s_new[at], s_turn[at] = i, v, turn
            s_told[at, 0], s_told[at, 1], s_fit[at] = c, e, fit
            if held[r] == n_short:
                sink(heap[r], at, s_fit, s_turn, s_fit[:0])
            else:
                rise(heap[r], held[r], at, s_fit, s_turn, s_fit[:0])
                held[r] += 1
    return (who, new, told, n), (s_who, s_new, s_told, s_fit, s_turn)


def breed(base, slots, options, group, row_of, n_short):
    """Return the children of drafts that are worth a look, in two lots.

    Every draft with every option of its query that costs less than the bound. The first
    lot is what has a chance, the second what falls short, the `n_short` of each query
    that would cost least with the strength bought that they lack.

    Parameters
    ----------
    base : (row, value, cost, guess) of the drafts
    slots : (cost, gain) of each single value of the drafts
    options : (id, gain, cost, start, size)
    row_of : (bound, bias, price, floor) of each query; a chance has what is expected
        to be stronger than the floor

    Returns
    -------
    likely, short : (parent, value, (cost, guess)) of the children
    fit : ndarray
        The cost of the second lot with the strength bought.
    """
    likely, short = _children(base, slots, options, group, row_of, n_short)
    n, turn = likely[3], short[4]
    taken = np.flatnonzero(turn >= 0)
    taken = taken[np.argsort(turn[taken])]
    likely = tuple(part[:n] for part in likely[:3])
    return likely, tuple(part[taken] for part in short[:3]), short[3][taken]
