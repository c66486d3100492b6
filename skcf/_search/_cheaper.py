"""Values of feasible sets that cost less than something, as compiled loops."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import price_of
from skcf.constraints._lists import all_of, count_of, nth_of, part_of


@jit
def _prices(r, ids, cells, group, ruler, out):
    """Write the costs of values as the only changes of query `r`."""
    for k in range(len(ids)):
        out[k] = price_of(r, ids[k], cells, group, ruler)


@jit
def _longer(array, n):
    """Return an array with more room behind its first `n` entries."""
    out = np.empty(2 * n + 64, array.dtype)
    out[:n] = array[:n]
    return out


@jit
def _listed(part, r, most, room):
    """Return the values of a list, evenly thinned to `most`, in an array for these."""
    count = count_of(part, r)
    if count <= most:
        return room[: all_of(part, r, room)]
    for k in range(most):
        room[k] = nth_of(part, r, k * count // most)
    return room[:most]


@jit
def cheaper_values(lists, rows, groups, limit, longest, most, cells, group, ruler):
    """Return (position, value, cost) of values that cost less than a limit.

    Those of group ``groups[i]`` that query ``rows[i]`` may take, in the order of the
    list; of a longer list `most` values, evenly thinned, are looked at. No list is
    longer than `longest`.
    """
    who, ids, cost = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    room, price = np.empty(longest, np.int64), np.empty(longest)
    n, held, part = 0, -1, part_of(lists, 0)
    for i in range(len(rows)):
        r = rows[i]
        if groups[i] != held:
            part, held = part_of(lists, groups[i]), groups[i]
        some = _listed(part, r, most, room)
        _prices(r, some, cells, group, ruler, price)
        for k in range(len(some)):
            if not price[k] < limit[i]:
                continue
            if n == len(who):
                who, ids, cost = _longer(who, n), _longer(ids, n), _longer(cost, n)
            who[n], ids[n], cost[n] = i, some[k], price[k]
            n += 1
    return who[:n].copy(), ids[:n].copy(), cost[:n].copy()


@jit
def _ascending(keys):
    """Return the order of keys, equal ones as they come.

    Numbers around that of a query cost less and less, then more and more: such keys are
    merged from both ends.
    """
    out = np.empty(len(keys), np.int64)
    left, right = 0, len(keys) - 1
    for t in range(len(keys)):
        if keys[left] <= keys[right]:
            out[t] = left
            left += 1
        else:
            out[t] = right
            right -= 1
        if t > 0 and not (
            keys[out[t - 1]] < keys[out[t]]
            or (keys[out[t - 1]] == keys[out[t]] and out[t - 1] < out[t])
        ):
            return np.argsort(keys, kind="mergesort")
    return out


@jit
def nearer_values(lists, rows, groups, limit, longest, n_even, cells, group, ruler):
    """Return (position, value) of some values that cost less than a limit.

    All of them where there are few; else every so many-th by cost, `n_even` of them,
    and some that lie ever closer to the limit.
    """
    who, ids = np.empty(64, np.int64), np.empty(64, np.int64)
    room = np.empty(longest, np.int64)
    price, cost = np.empty(longest), np.empty(longest)
    n, held, part = 0, -1, part_of(lists, 0)
    for i in range(len(rows)):
        r = rows[i]
        if groups[i] != held:
            part, held = part_of(lists, groups[i]), groups[i]
        near, some = 0, _listed(part, r, longest, room)
        _prices(r, some, cells, group, ruler, price)
        for k in range(len(some)):
            if price[k] < limit[i]:
                room[near], cost[near] = some[k], -price[k]
                near += 1
        order = _ascending(cost[:near])
        even = max(near // n_even, 1)
        for k in range(near):
            if k % even == 0 or (k + 1) & k == 0:
                if n == len(who):
                    who, ids = _longer(who, n), _longer(ids, n)
                who[n], ids[n] = i, room[order[k]]
                n += 1
    return who[:n].copy(), ids[:n].copy()
