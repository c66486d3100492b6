"""Values of feasible sets that cost less than something.

Those of a single column are a stretch of its list, so that only few have to be priced.
Lists of values of several columns, and what a list has on top, are looked through.
"""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import price_of
from skcf._search._stretch import column_of, place_of, scale_of, span_of, step_price
from skcf.constraints._lists import count_of, part_of


class CheaperValues:
    """The values of all groups that cost less than a limit as an only change.

    Parameters
    ----------
    problem : Problem
    rows, limit : ndarray of shape (n,)
        Queries and their limits.
    most : int
        Of a list that has to be looked through so many entries are, evenly spaced.
    observed : bool, default=False
        Whether values are left out that lists have on top of observed ones.

    Attributes
    ----------
    count : ndarray of shape (n,)
        How many there are for each query.
    """

    def __init__(self, problem, rows, limit, most, observed=False):
        self._lists, self._rows = problem.ground.lists, rows
        self.priced = problem.priced
        args = self._lists, rows, limit, most, not observed, *self.priced
        self._found = count_cheaper(*args)
        self.count = self._found[0].sum(axis=0)

    def listed(self, most):
        """Return (row, value, cost) of `most` values of each query, by cost.

        They are evenly spaced in the lists, where there are more.
        """
        some = np.minimum(self.count, most)
        begin = np.concatenate([[0], np.cumsum(some)])
        args = self._lists, self._rows, self._found, self.count, begin, *self.priced
        return np.repeat(self._rows, some), *list_cheaper(*args)


@jit
def longer(array, n):
    """Return an array with room for `n` entries and as many more."""
    out = np.empty(2 * n, array.dtype)
    out[: len(array)] = array
    return out


@jit
def _look_at(part, r, rest, total, most, limit, cells, group, ruler, ids, cost, n):
    """Put the cheaper ones of the entries from `rest` on behind the `n` known.

    Of more than `most` entries so many are looked at, evenly spaced.
    """
    key, rank, count, _, _, _, ptr, start, counts, _, _, first, more, more_ptr = part
    run = rank[r], ptr[key[r]], ptr[key[r] + 1]
    some = min(total - rest, most)
    if n + some > len(ids):
        ids, cost = longer(ids, n + some), longer(cost, n + some)
    for k in range(some):
        at = rest + k * (total - rest) // some
        if at < count[r]:
            v = first + place_of(at, run, start, counts)
        else:
            v = more[more_ptr[r] + at - count[r]]
        price = price_of(r, v, cells, group, ruler)
        if price < limit:
            ids[n], cost[n] = v, price
            n += 1
    return ids, cost, n


@jit
def count_cheaper(lists, rows, limit, most, extra, cells, group, ruler):
    """Return where the values of each group are that cost less than a limit.

    Parameters
    ----------
    lists : the feasible sets of all groups
    rows, limit : queries and their limits
    most : int
        Of a list that has to be looked through so many entries are, evenly spaced.
    extra : bool
        Whether what lists have on top counts.
    cells, group, ruler : what values are priced with

    Returns
    -------
    size : ndarray of shape (n_groups, n)
        The number of cheaper values.
    span : ndarray of shape (n_groups, n, 3)
        The stretch of the list that is cheaper; where further ones begin in `others`.
    others : (value, cost)
    """
    x, norms = cells[0], ruler[2]
    n_groups = len(lists[3])
    size = np.zeros((n_groups, len(rows)), np.int64)
    span = np.zeros((n_groups, len(rows), 3), np.int64)
    ids, cost, n = np.empty(64, np.int64), np.empty(64), 0
    for g in range(n_groups):
        part = part_of(lists, g)
        key, rank, count, _, _, _, ptr, start, counts, _, running, first, _, _ = part
        j, codes = column_of(first, len(running) - 1, cells)
        scale = scale_of(j, g, ruler)
        for i in range(len(rows)):
            r, low, high, rest, held = rows[i], 0, 0, 0, n
            total = count_of(part, r) if extra else count[r]
            if j >= 0:
                low, _, high, rest = span_of(
                    limit[i], count[r], total, (rank[r], ptr[key[r]], ptr[key[r] + 1]),
                    start, counts, codes, x[r, j], scale, norms,
                )  # fmt: skip
            if rest < total:
                ids, cost, n = _look_at(
                    part, r, rest, total, most, limit[i], cells, group, ruler,
                    ids, cost, n,
                )  # fmt: skip
            size[g, i] = high - low + n - held
            span[g, i, 0], span[g, i, 1], span[g, i, 2] = low, high, held
    return size, span, (ids, cost)


@jit
def list_cheaper(lists, rows, found, total, begin, cells, group, ruler):
    """Return (value, cost) of what `count_cheaper` has found, query by query, by cost.

    Those of query ``rows[i]`` have the places ``begin[i] : begin[i + 1]``. Where these
    are fewer than the ``total[i]`` values, values are taken evenly from the lists.
    """
    x, norms = cells[0], ruler[2]
    size, span, (others, prices) = found
    ids, cost = np.empty(begin[-1], np.int64), np.empty(begin[-1])
    passed = np.zeros(len(rows), np.int64)
    for g in range(len(size)):
        part = part_of(lists, g)
        key, rank, count, _, _, _, ptr, start, counts, _, running = part[:11]
        first, more, more_ptr = part[11:]
        j, codes = column_of(first, len(running) - 1, cells)
        unit, up, down, weight, categorical = scale_of(j, g, ruler)
        for i in range(len(rows)):
            some = begin[i + 1] - begin[i]
            if size[g, i] == 0 or some == 0:
                continue
            r, before = rows[i], passed[i]
            own = x[r, j]
            flat = categorical or own != own
            run = rank[r], ptr[key[r]], ptr[key[r] + 1]
            passed[i] += size[g, i]
            done, todo = before * some // total[i], passed[i] * some // total[i]
            for k in range(done, todo):
                # The k-th is where (n + 1) * some // total first exceeds k.
                n = ((k + 1) * total[i] - 1) // some - before
                at = span[g, i, 0] + n
                if at >= span[g, i, 1]:
                    v = span[g, i, 2] + at - span[g, i, 1]
                    ids[begin[i] + k], cost[begin[i] + k] = others[v], prices[v]
                    continue
                if at < count[r]:
                    v = first + place_of(at, run, start, counts)
                else:
                    v = more[more_ptr[r] + at - count[r]]
                if flat:
                    price = step_price(1.0, 1.0, 1.0, weight, norms)
                else:
                    step = (codes[v - first] - own) / unit
                    price = step_price(step, up, down, weight, norms)
                ids[begin[i] + k], cost[begin[i] + k] = v, price
    for i in range(len(rows)):
        part = slice(begin[i], begin[i + 1])
        ids[part], cost[part] = _sorted(ids[part], cost[part])
    return ids, cost


@jit
def _sorted(ids, keys):
    """Return values and their keys in the order of the keys, equal ones as they come.

    What was given is used up.
    """
    n, step = len(ids), 1
    new_ids, new_keys = np.empty(n, np.int64), np.empty(n)
    while step < n:
        for low in range(0, n, 2 * step):
            middle, high = min(low + step, n), min(low + 2 * step, n)
            a, b = low, middle
            for t in range(low, high):
                if b >= high or (a < middle and keys[a] <= keys[b]):
                    new_ids[t], new_keys[t], a = ids[a], keys[a], a + 1
                else:
                    new_ids[t], new_keys[t], b = ids[b], keys[b], b + 1
        ids, keys, new_ids, new_keys = new_ids, new_keys, ids, keys
        step *= 2
    return ids, keys


@jit
def _dearest_first(begin, turn, end, run, start, counts, codes, own, scale, norms, out):
    """Write the places of a stretch of numbers by falling cost.

    It is merged from both ends.
    """
    unit, up, down, weight, _ = scale
    left, right, k = begin, end - 1, 0
    low = high = 0
    cost_low = cost_high = np.inf
    while left < turn <= right:
        if cost_low == np.inf:
            low = place_of(left, run, start, counts)
            cost_low = step_price((codes[low] - own) / unit, up, down, weight, norms)
        if cost_high == np.inf:
            high = place_of(right, run, start, counts)
            cost_high = step_price((codes[high] - own) / unit, up, down, weight, norms)
        if cost_low >= cost_high:
            out[k], left, cost_low = low, left + 1, np.inf
        else:
            out[k], right, cost_high = high, right - 1, np.inf
        k += 1
    for n in range(left, turn):
        out[k] = place_of(n, run, start, counts)
        k += 1
    for n in range(right, turn - 1, -1):
        out[k] = place_of(n, run, start, counts)
        k += 1


@jit
def nearer_values(lists, rows, groups, limit, longest, n_even, cells, group, ruler):
    """Return (position, value) of some values that cost less than a limit.

    All of them where there are few; else every so many-th by cost, `n_even` of them,
    and some that lie ever closer to the limit.
    """
    x, norms = cells[0], ruler[2]
    n, size = 0, 8 * len(rows)
    who, ids = np.empty(size, np.int64), np.empty(size, np.int64)
    room, cost = np.empty(longest, np.int64), np.empty(longest)
    g = -1
    for i in range(len(rows)):
        r = rows[i]
        if groups[i] != g:
            g = groups[i]
            part = part_of(lists, g)
            key, rank, count, _, _, _, ptr, start, counts, _, running, first = part[:12]
            j, codes = column_of(first, len(running) - 1, cells)
            scale = scale_of(j, g, ruler)
        near = rest = 0
        if j >= 0 and not scale[4] and x[r, j] == x[r, j]:
            run = rank[r], ptr[key[r]], ptr[key[r] + 1]
            args = run, start, counts, codes, x[r, j], scale, norms
            begin, turn, end, rest = span_of(limit[i], count[r], count[r], *args)
            near = end - begin
            _dearest_first(begin, turn, end, *args, room)
            room[:near] += first
        total = count_of(part, r)
        if rest < total:
            for k in range(near):
                cost[k] = price_of(r, room[k], cells, group, ruler)
            _, _, near = _look_at(
                part, r, rest, total, total, limit[i], cells, group, ruler,
                room, cost, near,
            )  # fmt: skip
            room[:near], _ = _sorted(room[:near].copy(), -cost[:near])
        even = max(near // n_even, 1)
        if n + near > len(who):
            who, ids = longer(who, n + near), longer(ids, n + near)
        k, nth, power = 0, 0, 1
        while k < near:
            who[n], ids[n] = i, room[k]
            n += 1
            nth += even if k == nth else 0
            power *= 2 if k == power - 1 else 1
            k = min(nth, power - 1)
    return who[:n].copy(), ids[:n].copy()
