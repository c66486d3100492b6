"""A beam search on the gains of values, query by query, as compiled loops."""

from math import erfc, sqrt

import numpy as np
from scipy.special import ndtri

from skcf._jit import jit
from skcf._search._gains import gain_of
from skcf._search._kernels import costs, own_costs
from skcf._search._options import options_of
from skcf._space import PAD
from skcf._space._kernels import NONE, spot

DEPTH = 5
N_BEAM = 16
# Of these many are known already, or break rules.
N_LIKELY = 100
UNLIKELY = 0.02
UNLIKELY_Z = float(ndtri(UNLIKELY))
# Room for what is found of a query, a power of two.
ROOM = 1024
ROOT = sqrt(2.0)
# Room for the rounding of what is compared before it is worked out.
SLACK = 1e-8
# The turn of a child is the place of the draft and, in so many bits, of the option.
SHIFT = 24


@jit
def leading(row, n, k, fitness):
    """Return the positions of the `k` fittest of each of `n` rows, equals included."""
    fits = np.full((n, k), np.inf)
    for i in range(len(row)):
        best, t = fits[row[i]], k - 1
        if not fitness[i] < best[t]:
            continue
        while t > 0 and best[t - 1] > fitness[i]:
            best[t] = best[t - 1]
            t -= 1
        best[t] = fitness[i]
    out, n = np.empty(len(row), np.int64), 0
    for i in range(len(row)):
        out[n] = i
        n += fitness[i] <= fits[row[i], k - 1]
    return out[:n].copy()


@jit
def compose(parents, known, row_of, cells, group, ruler, mark, size):
    """Return combinations of values that may be valid and cost less than a bound.

    For each query, the parents, each of them without one value, and nothing are put
    together with every value that is worth trying. Those children with the most to hope
    for are found; what falls short, and would cost least with the strength bought that
    it lacks, is the base of the next level.

    Parameters
    ----------
    parents : (row, value, cost, strength), sorted by row
    known : (row, value, gain), sorted by row and value
    row_of : (bound, bias, spread, price, step, start) of each query
        What candidates have to cost less than, how far guesses are off on average and
        spread around that, the price of a unit of strength, the steps in which gains
        are told apart, and the strength of the query itself.
    cells, group, ruler : what values cost
    mark : the bits that stand for each value
    size : the number of observed values

    Returns
    -------
    found : (row, value, cost, guess) of the children, sorted by row
    """
    row, value, cost, strength = parents
    whose, ids, gain = known
    bounds, biases, spreads, prices, steps, starts = row_of
    width = value.shape[1] + DEPTH
    found = _roomy(N_LIKELY, width)
    j = end = 0
    while j < len(row):
        r = row[j]
        i, j = _span(row, r, j)
        begin, end = _span(whose, r, end)
        limits = bounds[r], biases[r], spreads[r], prices[r]
        gains = ids[begin:end], gain[begin:end]
        options, lots = options_of(
            r, gains, bounds[r], prices[r], steps[r], cells, group, ruler
        )
        own = value[i:j]
        table = _table(r, options, own, gains, cells, group, ruler, mark, size)
        start = cost[i:j], strength[i:j], starts[r]
        drafts = _base(r, own, len(options[0]), start, table, cells, group, ruler)
        met = np.zeros(ROOM, np.uint64)
        for level in range(DEPTH):
            # Nothing is built upon what falls short of the last level.
            most = np.inf if level < DEPTH - 1 else -np.inf
            likely, short = _children(drafts, table, lots, limits, most)
            found = _noted(found, r, likely, drafts, table, met)
            drafts = _beam(short, drafts, table)
            if not len(drafts[1]):
                break
    n = found[4][0]
    return found[0][:n], found[1][:n], found[2][:n], found[3][:n]


@jit
def _span(row, r, begin):
    """Return where the entries of row `r` begin and end, from some place before on."""
    while begin < len(row) and row[begin] < r:
        begin += 1
    end = begin
    while end < len(row) and row[end] == r:
        end += 1
    return begin, end


@jit
def _roomy(n, width):
    """Return arrays for the row, the values, the cost and the guess of candidates.

    The last one has the number of those that there are.
    """
    value, size = np.empty((n, width), np.int64), np.zeros(1, np.int64)
    return np.empty(n, np.int64), value, np.empty(n), np.empty(n), size


@jit
def _table(r, options, own, gains, cells, group, ruler, mark, size):
    """Return (value, group, mark, gain, cost) of the values that drafts are made of.

    The options, and behind them those of the parents, line after line. Drafts hold
    places in this table, so that all there is to know of a value is close at hand.
    """
    own = own.ravel()
    more = np.zeros(len(own))
    for s in range(len(own)):
        if own[s] != PAD:
            v, end = own[s], len(gains[0])
            more[s] = gain_of(gains[0], gains[1], 0, end, v, group, size)
    ids = np.concatenate((options[0], own))
    gain = np.concatenate((options[1], more))
    price = own_costs(np.full(len(own), r), own, (cells, group, ruler))
    return ids, group[ids], mark[ids], gain, np.concatenate((options[2], price))


@jit
def _base(r, own, first, start, table, cells, group, ruler):
    """Return what to build upon: the parents, each without one value, nothing."""
    cost, strength, alone = start
    n, width = own.shape
    room = n * (width + 1) + 1
    value = np.full((room, width + DEPTH), PAD)
    ids, key = np.full((room, width), PAD), np.zeros(room, np.uint64)
    guess = np.empty(room)
    k = 0
    # Without any of its values first, that is, with all of them.
    for out in range(-1, width):
        for i in range(n):
            if out >= 0 and own[i, out] == PAD:
                continue
            place = 0
            for s in range(width):
                at = first + i * width + s
                if s == out or own[i, s] == PAD:
                    continue
                value[k, place], ids[k, place] = at, own[i, s]
                key[k] ^= table[2][at]
                place += 1
            guess[k] = strength[i]
            if out >= 0:
                guess[k] -= table[3][first + i * width + out]
            k += 1
    guess[k] = alone
    k += 1
    rows = np.full(k, r)
    x, ptr, col, code = cells
    scale, weight, norms = ruler
    price = costs(rows, ids[:k], x, ptr, col, code, group, scale, weight, norms)
    for i in range(n):
        price[i] = cost[i]
    return value[:k], price, guess[:k], key[:k]


@jit
def enter(fits, turns, keys, n, fit, turn, key):
    """Put an entry into a list of the least fits; return how many it has now.

    The list is sorted by fit and, of equals, as they came.
    """
    t = min(n, len(fits) - 1)
    while t > 0 and fits[t - 1] > fit:
        fits[t], turns[t], keys[t] = fits[t - 1], turns[t - 1], keys[t - 1]
        t -= 1
    fits[t], turns[t], keys[t] = fit, turn, key
    return min(n + 1, len(fits))


@jit
def _list(k, worst):
    """Return (fits, turns, keys) for a list of the `k` entries that fit best."""
    return np.full(k, worst), np.empty(k, np.int64), np.empty(k, np.uint64)


@jit
def _children(drafts, table, lots, limits, most):
    """Return the children with the most to hope for, and the best of what falls short.

    They are among those of every draft with every option that costs less than the
    bound. Each lot is (turn, key): the turn is the place of the draft and, in the lower
    bits, that of the option. What falls short is sorted by its cost with the strength
    bought that it lacks, below `most`; of equal ones the first counts.
    """
    value, cost, guess, keys = drafts
    ids, group, mark, gain, price = table
    of, first, best = lots
    bound, bias, spread, unit = limits
    floor = UNLIKELY_Z * spread - 1e-9
    hopes, l_turns, l_keys = _list(N_LIKELY, 0.0)
    fits, s_turns, s_keys = _list(N_BEAM, most)
    n_likely = n_short = 0
    for i in range(len(cost)):
        s = 0
        for k in range(len(of)):
            # Values and options are both sorted by group.
            while value[i, s] != PAD and group[value[i, s]] < of[k]:
                s += 1
            old, less, loss, rest = PAD, 0.0, 0.0, keys[i]
            if value[i, s] != PAD and group[value[i, s]] == of[k]:
                old = value[i, s]
                less, loss, rest = price[old], gain[old], rest ^ mark[old]
            # Most groups have nothing that would come into full lists.
            saved = bound - (cost[i] + best[k, 0] - less)
            lack = best[k, 1] - guess[i] + loss - bias
            fit = cost[i] - less + best[k, 2] + unit * (lack - best[k, 1])
            good = (lack < SLACK - floor) & (saved > -hopes[-1] - SLACK)
            if not (saved > 0) & (good | (fit < fits[-1] + SLACK)):
                continue
            for t in range(first[k], first[k + 1]):
                c, e = cost[i] + price[t] - less, guess[i] + gain[t] - loss
                if not c < bound or (old != PAD and ids[old] == ids[t]):
                    continue
                turn, key, lack = i << SHIFT | t, rest ^ mark[t], -e - bias
                if -lack > floor and bound - c > -hopes[-1]:
                    chance = 0.5 * erfc(lack / spread / ROOT)
                    hope = np.rint(chance * (bound - c) * 1e12) / 1e12
                    if chance > UNLIKELY and hope > -hopes[-1]:
                        args = n_likely, -hope, turn, key
                        n_likely = enter(hopes, l_turns, l_keys, *args)
                fit = np.rint((c + unit * lack) * 1e9) / 1e9
                if lack > 0 and fit < fits[-1] and not _among(s_keys, n_short, key):
                    n_short = enter(fits, s_turns, s_keys, n_short, fit, turn, key)
    likely = l_turns[:n_likely], l_keys[:n_likely]
    return likely, (s_turns[:n_short], s_keys[:n_short])


@jit
def _among(keys, n, key):
    """Tell whether a key is among the first `n`."""
    out = False
    for k in range(n):
        out |= keys[k] == key
    return out


@jit
def _born(turns, drafts, table):
    """Return (draft, option, cost, guess) of children, given their turns."""
    value, cost, guess, _ = drafts
    _, group, _, gain, price = table
    n = len(turns)
    parent, option = turns >> SHIFT, turns & (1 << SHIFT) - 1
    c, e = np.empty(n), np.empty(n)
    for k in range(n):
        i, t = parent[k], option[k]
        c[k], e[k] = cost[i] + price[t], guess[i] + gain[t]
        for v in value[i]:
            if v == PAD:
                break
            if group[v] == group[t]:
                c[k] -= price[v]
                e[k] -= gain[v]
    return parent, option, c, e


@jit
def _put(value, i, v, group, out, n):
    """Write draft `i` with a value more, in place of that of its group, to line `n`."""
    at, placed = 0, False
    for s in range(value.shape[1]):
        w = value[i, s]
        if w == PAD:
            break
        if group[w] == group[v]:
            continue
        if not placed and group[w] > group[v]:
            out[n, at], placed = v, True
            at += 1
        out[n, at] = w
        at += 1
    if not placed:
        out[n, at] = v
        at += 1
    for s in range(at, out.shape[1]):
        out[n, s] = PAD


@jit
def _noted(found, r, likely, drafts, table, met):
    """Return what was found with some children behind it.

    Of equal ones the first counts; `met` has the keys of those of this query.
    """
    turns, keys = likely
    new = np.empty(len(turns), np.int64)
    n_new = 0
    for k in range(len(turns)):
        at = spot(met, keys[k])
        if met[at] == NONE:
            met[at], new[n_new] = keys[k], turns[k]
            n_new += 1
    parent, option, c, e = _born(new[:n_new], drafts, table)
    n = found[4][0]
    if n + n_new > len(found[0]):
        found = _moved(found, 2 * n + n_new)
    row, value, cost, guess, size = found
    for k in range(n_new):
        row[n], cost[n], guess[n] = r, c[k], e[k]
        _put(drafts[0], parent[k], option[k], table[1], value, n)
        for s in range(value.shape[1]):
            if value[n, s] == PAD:
                break
            value[n, s] = table[0][value[n, s]]
        n += 1
    size[0] = n
    return found


@jit
def _moved(found, room):
    """Return what was found in arrays with more room."""
    old = found[1]
    new = _roomy(room, old.shape[1])
    for i in range(found[4][0]):
        new[0][i], new[2][i], new[3][i] = found[0][i], found[2][i], found[3][i]
        for s in range(old.shape[1]):
            new[1][i, s] = old[i, s]
    return new


@jit
def _beam(short, drafts, table):
    """Return what falls short as the drafts of the next level."""
    turns, keys = short
    parent, option, cost, guess = _born(turns, drafts, table)
    value = np.empty((len(turns), drafts[0].shape[1]), np.int64)
    for i in range(len(turns)):
        _put(drafts[0], parent[i], option[i], table[1], value, i)
    return value, cost, guess, keys
