"""Compiled loops of the searches: costs, ranks, sets of keys.

They say what numpy could say as well, in one pass in place of many; the tests hold them
against numpy.
"""

import numpy as np

from skcf._jit import jit
from skcf._space import PAD
from skcf._space._kernels import NONE, ONE, mixed, numbered, spot


@jit
def cell_of(before, after, unit, up, down, categorical):
    """Return (difference, difference times price) of one cell.

    Its arguments are numbers: a call that gets arrays is not inlined.
    """
    if before != before or after != after:
        apart = (before != before) != (after != after)
        return (1.0, 1.0) if apart else (0.0, 0.0)
    step = (after - before) / unit
    if categorical:
        d = 1.0 if step != 0.0 else 0.0
        return d, d
    d = abs(step)
    return d, d * (up if step > 0 else down)


@jit
def charge(d, g, weight, norms):
    """Return what a difference of one group, and its priced size, cost alone."""
    l0, l1, l2, linf = norms
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
def price_of(r, v, cells, group, ruler):
    """Return the cost of a value as the only change of query `r`."""
    x, ptr, col, code = cells
    (unit, up, down, rigid), weight, norms = ruler
    d, g = 0.0, 0.0
    for c in range(ptr[v], ptr[v + 1]):
        j = col[c]
        one = cell_of(x[r, j], code[c], unit[j], up[j], down[j], rigid[j])
        d, g = max(d, one[0]), max(g, one[1])
    return charge(d, g, weight[group[v]], norms)


@jit
def costs(row, value, x, ptr, col, code, group, ruler, weight, norms):
    """Return the cost of each candidate, added up value after value."""
    out = np.empty(len(row))
    unit, up, down, rigid = ruler
    l0, l1, l2, linf = norms
    for i in range(len(row)):
        r = row[i]
        n0, n1, n2, top = 0.0, 0.0, 0.0, 0.0
        for s in range(value.shape[1]):
            v = value[i, s]
            if v == PAD:
                continue
            d, g = 0.0, 0.0
            for c in range(ptr[v], ptr[v + 1]):
                j = col[c]
                one = cell_of(x[r, j], code[c], unit[j], up[j], down[j], rigid[j])
                d, g = max(d, one[0]), max(g, one[1])
            w = weight[group[v]]
            n0 += w if d > 0 else 0.0
            n1 += w * g
            n2 += w * (g * g)
            top = max(top, w * g)
        total = 0.0
        if l0 != 0:
            total += l0 * n0
        if l1 != 0:
            total += l1 * n1
        if l2 != 0:
            total += l2 * n2
        if linf != 0:
            total += linf * top
        out[i] = total
    return out


@jit
def own_costs(row, ids, priced):
    """Return the cost of each single value as the only change of its query."""
    (x, ptr, col, code), group, (ruler, weight, norms) = priced
    value = ids.reshape(-1, 1)
    return costs(row, value, x, ptr, col, code, group, ruler, weight, norms)


@jit
def ranks(row, n):
    """Return the rank of each entry among those of its row, in the order given."""
    seen = np.zeros(n, np.int64)
    out = np.empty(len(row), np.int64)
    for i in range(len(row)):
        out[i] = seen[row[i]]
        seen[row[i]] += 1
    return out


@jit
def insert(table, keys):
    """Put keys into a table that has room; return how many were new."""
    new = 0
    for key in keys:
        key = key if key != NONE else ONE
        at = spot(table, key)
        if table[at] == NONE:
            table[at] = key
            new += 1
    return new


@jit
def first_unseen(table, keys):
    """Return the positions of keys that are not in a table, each once."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    met = np.zeros(size, np.uint64)
    out = np.empty(len(keys), np.int64)
    n = 0
    for i in range(len(keys)):
        key = keys[i] if keys[i] != NONE else ONE
        at = spot(met, key)
        if met[at] != NONE:
            continue
        met[at] = key
        if table[spot(table, key)] == NONE:
            out[n] = i
            n += 1
    return out[:n].copy()


@jit
def _ahead(i, j, first, second, third):
    """Tell whether entry `i` comes before `j`; of equals the earlier one does."""
    if first[i] != first[j]:
        return first[i] < first[j]
    if len(second) and second[i] != second[j]:
        return second[i] < second[j]
    if len(third) and third[i] != third[j]:
        return third[i] < third[j]
    return i < j


@jit
def top_of_each(row, n, k, first, second, third):
    """Return the mask of the `k` first entries of each of `n` rows.

    They are sorted by the keys in turn, and by position; an empty key is none. The
    last of those kept so far stands on top of a heap.
    """
    out = np.ones(len(row), np.bool_)
    size = np.zeros(n, np.int64)
    for r in row:
        size[r] += 1
    room = np.zeros(n + 1, np.int64)
    for r in range(n):
        room[r + 1] = room[r] + (k if size[r] > k else 0)
    heap = np.empty(room[n], np.int64)
    held = np.zeros(n, np.int64)
    for i in range(len(row)):
        r = row[i]
        if size[r] <= k:
            continue
        part = heap[room[r] : room[r + 1]]
        if held[r] < k:
            rise(part, held[r], i, first, second, third)
            held[r] += 1
            continue
        if k == 0 or _ahead(part[0], i, first, second, third):
            out[i] = False
            continue
        out[part[0]] = False
        sink(part, i, first, second, third)
    return out


@jit
def rise(heap, t, i, first, second, third):
    """Add entry `i` to a heap of `t` entries."""
    while t > 0 and _ahead(heap[(t - 1) // 2], i, first, second, third):
        heap[t] = heap[(t - 1) // 2]
        t = (t - 1) // 2
    heap[t] = i


@jit
def sink(heap, i, first, second, third):
    """Replace the top of a heap by entry `i`."""
    t = 0
    while True:
        below = 2 * t + 1
        if below >= len(heap):
            break
        if below + 1 < len(heap) and _ahead(
            heap[below], heap[below + 1], first, second, third
        ):
            below += 1
        if _ahead(heap[below], i, first, second, third):
            break
        heap[t] = heap[below]
        t = below
    heap[t] = i


@jit
def _fitter(i, j, valid, fitness, n_changed, value, group, ptr, code):
    """Tell whether candidate `i` of a query stands before `j`."""
    if valid[i] != valid[j]:
        return valid[i]
    if fitness[i] != fitness[j]:
        return fitness[i] < fitness[j]
    if n_changed[i] != n_changed[j]:
        return n_changed[i] < n_changed[j]
    for s in range(value.shape[1]):
        v, w = value[i, s], value[j, s]
        if v == PAD or w == PAD:
            if v != w:
                return w == PAD
            continue
        if group[v] != group[w]:
            return group[v] < group[w]
        a, b = code[ptr[v]], code[ptr[w]]
        if a != b and (a == a or b == b):
            return a < b or b != b
    return i < j


@jit
def sort_pool(row, n, k, valid, fitness, value, group, ptr, code):
    """Return the positions that sort candidates by row, the fittest `k` of each."""
    size = np.zeros(n + 1, np.int64)
    n_changed = np.zeros(len(row), np.int64)
    for i in range(len(row)):
        size[row[i] + 1] += 1
        for s in range(value.shape[1]):
            n_changed[i] += value[i, s] != PAD
    for r in range(n):
        size[r + 1] += size[r]
    free = size[:-1].copy()
    order = np.empty(len(row), np.int64)
    for i in range(len(row)):
        order[free[row[i]]] = i
        free[row[i]] += 1
    spare = np.empty(len(row), np.int64)
    for r in range(n):
        begin, end = size[r], size[r + 1]
        step = 1
        while step < end - begin:
            for low in range(begin, end, 2 * step):
                middle, high = min(low + step, end), min(low + 2 * step, end)
                a, b = low, middle
                for t in range(low, high):
                    left = b >= high
                    if not left and a < middle:
                        left = not _fitter(
                            order[b], order[a], valid, fitness, n_changed,
                            value, group, ptr, code,
                        )  # fmt: skip
                    if left:
                        spare[t] = order[a]
                        a += 1
                    else:
                        spare[t] = order[b]
                        b += 1
            order[begin:end] = spare[begin:end]
            step *= 2
    kept = 0
    for r in range(n):
        for t in range(size[r], min(size[r] + k, size[r + 1])):
            order[kept] = order[t]
            kept += 1
    return order[:kept].copy()


@jit
def set_keys(at, row, value, group):
    """Return 64 bits for the row and the set of groups of candidates, tidy ones."""
    keys = np.empty(len(at), np.uint64)
    for k in range(len(at)):
        i = at[k]
        keys[k] = mixed(np.uint64(row[i]))
        for s in range(value.shape[1]):
            if value[i, s] != PAD:
                keys[k] = mixed(keys[k] ^ np.uint64(group[value[i, s]]))
    return keys


@jit
def once(keys):
    """Return the positions of the first of equal keys."""
    return first_unseen(np.zeros(1, np.uint64), keys)


@jit
def first_of_each(at, row, value, group):
    """Return the positions in `at` of the first of each set of groups of each row."""
    return once(set_keys(at, row, value, group))


@jit
def alike_of(row, value, group):
    """Return a number for each set of groups of each row, from 0 on."""
    return numbered(set_keys(np.arange(len(row)), row, value, group))
