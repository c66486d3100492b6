"""Values of feasible sets that cost less than something, as compiled loops.

Only few values of a list have to be priced. Those of a number are sorted: towards the
query's own number they cost less and less, beyond it more and more, so that the ones
below a limit are one stretch, of which the ends are found by bisection. Those of a
category cost all the same, and so do numbers where the query's own is missing. Only
lists of values of several columns, and what a list has on top, are looked through.
"""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import price_of
from skcf.constraints._lists import count_of, last_at_most, part_of


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
        self._priced = problem._priced
        args = self._lists, rows, limit, most, not observed, *self._priced
        self._found = count_cheaper(*args)
        self.count = self._found[0].sum(axis=0)

    def listed(self, most):
        """Return (row, value, cost) of `most` values of each query, by cost.

        They are evenly spaced in the lists, where there are more.
        """
        most = np.minimum(self.count, most)
        args = self._lists, self._rows, self._found, most, *self._priced
        return np.repeat(self._rows, most), *list_cheaper(*args)


@jit
def _price(step, up, down, weight, norms):
    """Return what `price_of` does for a number that is `step` units away."""
    l0, l1, l2, linf = norms
    d = abs(step)
    g = d * (up if step > 0 else down)
    total = 0.0
    if l0 != 0 and d > 0:
        total += l0 * weight
    if l1 != 0:
        total += l1 * (weight * g)
    if l2 != 0:
        total += l2 * (weight * (g * g))
    if linf != 0:
        total += linf * (weight * g)
    return total


@jit
def _nth(n, run, start, counts):
    """Return the place in its group of the n-th value of a list, as `nth_of` does."""
    rank, begin, end = run
    at = counts[begin] + n
    if 0 <= rank <= n:
        at += 1
    run = last_at_most(counts, at, begin, end)
    return start[run] + at - counts[run]


@jit
def _stretch(limit, n, run, start, counts, codes, own, scale, norms):
    """Return (begin, turn, end) of the numbers in a list that cost less than a limit.

    Those before the turn are less than the query's own. The first `n` entries of the
    list are numbers.
    """
    unit, up, down, weight, _ = scale
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if codes[_nth(middle, run, start, counts)] < own:
            low = middle + 1
        else:
            high = middle
    turn, low = low, 0
    while low < high:
        middle = (low + high) // 2
        step = (codes[_nth(middle, run, start, counts)] - own) / unit
        if _price(step, up, down, weight, norms) < limit:
            high = middle
        else:
            low = middle + 1
    begin, low, high = low, turn, n
    while low < high:
        middle = (low + high) // 2
        step = (codes[_nth(middle, run, start, counts)] - own) / unit
        if _price(step, up, down, weight, norms) < limit:
            low = middle + 1
        else:
            high = middle
    return begin, turn, low


@jit
def _column_of(first, size, cells):
    """Return the column of a group and the codes of its values, -1 for several."""
    _, ptr, col, code = cells
    begin = ptr[first]
    if ptr[first + 1] - begin > 1:
        return -1, code[:0]
    return col[begin], code[begin : begin + size]


@jit
def _scale_of(j, g, ruler):
    """Return (unit, up, down, weight, categorical) of a group of one column."""
    (unit, up, down, categorical), weight, _ = ruler
    return unit[j], up[j], down[j], weight[g], categorical[j]


@jit
def _span(limit, count, total, run, start, counts, codes, own, scale, norms):
    """Return (begin, turn, end, rest) for the list of one column of a query.

    Entries from `begin` to `end` cost less than the limit; those from `rest` on are
    still to be looked at.
    """
    weight, categorical = scale[3], scale[4]
    if categorical or own != own:
        end = total if _price(1.0, 1.0, 1.0, weight, norms) < limit else 0
        return 0, end, end, total
    # A missing value comes last.
    if count and np.isnan(codes[_nth(count - 1, run, start, counts)]):
        count -= 1
    begin, turn, end = _stretch(
        limit, count, run, start, counts, codes, own, scale, norms
    )
    return begin, turn, end, count


@jit
def _longer(array, n):
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
        ids, cost = _longer(ids, n + some), _longer(cost, n + some)
    for k in range(some):
        at = rest + k * (total - rest) // some
        if at < count[r]:
            v = first + _nth(at, run, start, counts)
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
        j, codes = _column_of(first, len(running) - 1, cells)
        scale = _scale_of(j, g, ruler)
        for i in range(len(rows)):
            r, low, high, rest, held = rows[i], 0, 0, 0, n
            total = count_of(part, r) if extra else count[r]
            if j >= 0:
                low, _, high, rest = _span(
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
def list_cheaper(lists, rows, found, some, cells, group, ruler):
    """Return (value, cost) of ``some[i]`` values of query ``rows[i]``, by cost.

    They are evenly spaced among those that `count_cheaper` has found.
    """
    x, norms = cells[0], ruler[2]
    size, span, (others, prices) = found
    total, begin = size.sum(axis=0), np.zeros(len(rows) + 1, np.int64)
    begin[1:] = np.cumsum(some)
    ids, cost = np.empty(begin[-1], np.int64), np.empty(begin[-1])
    passed = np.zeros(len(rows), np.int64)
    for g in range(len(size)):
        part = part_of(lists, g)
        key, rank, count, _, _, _, ptr, start, counts, _, running = part[:11]
        first, more, more_ptr = part[11:]
        j, codes = _column_of(first, len(running) - 1, cells)
        unit, up, down, weight, categorical = _scale_of(j, g, ruler)
        for i in range(len(rows)):
            if size[g, i] == 0 or some[i] == 0:
                continue
            r, before = rows[i], passed[i]
            own = x[r, j]
            flat = categorical or own != own
            run = rank[r], ptr[key[r]], ptr[key[r] + 1]
            passed[i] += size[g, i]
            done, todo = before * some[i] // total[i], passed[i] * some[i] // total[i]
            for k in range(done, todo):
                # The k-th is where (n + 1) * some // total first exceeds k.
                n = ((k + 1) * total[i] - 1) // some[i] - before
                at = span[g, i, 0] + n
                if at >= span[g, i, 1]:
                    v = span[g, i, 2] + at - span[g, i, 1]
                    ids[begin[i] + k], cost[begin[i] + k] = others[v], prices[v]
                    continue
                if at < count[r]:
                    v = first + _nth(at, run, start, counts)
                else:
                    v = more[more_ptr[r] + at - count[r]]
                if flat:
                    price = _price(1.0, 1.0, 1.0, weight, norms)
                else:
                    step = (codes[v - first] - own) / unit
                    price = _price(step, up, down, weight, norms)
                ids[begin[i] + k], cost[begin[i] + k] = v, price
    _sort_by_cost(begin, ids, cost)
    return ids, cost


@jit
def _sort_by_cost(begin, ids, cost):
    """Sort the values of each query by cost, equal ones as they come."""
    for i in range(len(begin) - 1):
        part = slice(begin[i], begin[i + 1])
        order = np.argsort(cost[part], kind="mergesort")
        ids[part], cost[part] = ids[part][order], cost[part][order]


@jit
def _dearest_first(begin, turn, end, run, start, counts, codes, own, scale, norms, out):
    """Write the places of a stretch of numbers by falling cost.

    It is merged from both ends.
    """
    unit, up, down, weight, _ = scale
    left, right, low, high = begin, end - 1, 0, 0
    cost_low = cost_high = -np.inf
    for k in range(-1, end - begin):
        ahead = cost_low >= cost_high
        if k >= 0 and ahead:
            out[k], left, cost_low = low, left + 1, -np.inf
        elif k >= 0:
            out[k], right, cost_high = high, right - 1, -np.inf
        if left < turn and (ahead or k < 0):
            low = _nth(left, run, start, counts)
            cost_low = _price((codes[low] - own) / unit, up, down, weight, norms)
        if right >= turn and (not ahead or k < 0):
            high = _nth(right, run, start, counts)
            cost_high = _price((codes[high] - own) / unit, up, down, weight, norms)


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
            j, codes = _column_of(first, len(running) - 1, cells)
            scale = _scale_of(j, g, ruler)
        near = rest = 0
        if j >= 0 and not scale[4] and x[r, j] == x[r, j]:
            run = rank[r], ptr[key[r]], ptr[key[r] + 1]
            args = run, start, counts, codes, x[r, j], scale, norms
            begin, turn, end, rest = _span(limit[i], count[r], count[r], *args)
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
            order = np.argsort(-cost[:near], kind="mergesort")
            room[:near] = room[:near][order]
        even = max(near // n_even, 1)
        if n + near > len(who):
            who, ids = _longer(who, n + near), _longer(ids, n + near)
        for k in range(near):
            if k % even == 0 or (k + 1) & k == 0:
                who[n], ids[n] = i, room[k]
                n += 1
    return who[:n].copy(), ids[:n].copy()


@jit
def cheaper_values(lists, rows, groups, limit, longest, most, cells, group, ruler):
    """Return (position, value, cost) of values that cost less than a limit.

    Those of group ``groups[i]`` that query ``rows[i]`` may take, in the order of the
    list; of a longer list `most` values, evenly thinned, are looked at. No list is
    longer than `longest`.
    """
    who, ids, cost = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    n = 0
    for i in range(len(rows)):
        part = part_of(lists, groups[i])
        total = count_of(part, rows[i])
        held = n
        ids, cost, n = _look_at(
            part, rows[i], 0, total, most, limit[i], cells, group, ruler, ids, cost, n,
        )  # fmt: skip
        if len(who) < len(ids):
            who = np.concatenate((who, np.empty(len(ids) - len(who), np.int64)))
        who[held:n] = i
    return who[:n].copy(), ids[:n].copy(), cost[:n].copy()
