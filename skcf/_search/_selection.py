"""Selection as compiled loops: what is worth scoring, and how the fittest stand."""

import numpy as np

from skcf._jit import jit
from skcf._search._kernels import costs
from skcf._space._kernels import count_changes, hash_values, mixed


@jit
def by_row(row, n):
    """Return the positions sorted by row, as they come, and where each row begins."""
    start = np.zeros(n + 1, np.int64)
    for r in row:
        start[r + 1] += 1
    for r in range(n):
        start[r + 1] += start[r]
    free, order = start[:-1].copy(), np.empty(len(row), np.int64)
    for i in range(len(row)):
        order[free[row[i]]] = i
        free[row[i]] += 1
    return order, start


@jit
def promising(row, cost, guess, ties, urgent, most):
    """Return the mask of the `most` children of each query to expect most of.

    First those that should be valid, by cost, then the others by what they cost and
    lack, or by what they lack alone where a query is urgent. Equal ones go by `ties`,
    if there are any, and as they come. `guess` is the strength that is expected.
    """
    out = np.ones(len(row), np.bool_)
    order, start = by_row(row, len(urgent))
    key = np.empty(len(row))
    for r in range(len(urgent)):
        lot = order[start[r] : start[r + 1]]
        if len(lot) <= most:
            continue
        n, n_likely = 0, (guess[lot] > 0).sum()
        enough = n_likely >= most
        for i in lot:
            likely = guess[i] > 0
            out[i] = likely and not enough
            if likely != enough:
                continue
            fitness = cost[i]
            if not likely:
                short = 1.0 / (1.0 + np.exp(guess[i]))
                fitness = short if urgent[r] else cost[i] + short
            lot[n], key[n] = i, np.rint(fitness * 1e9) / 1e9
            n += 1
        left = most if enough else most - n_likely
        if left > 0:
            _take_first(out, lot[:n], key[:n], ties, left)
    return out


@jit
def _before(i, key, j, other, ties):
    """Tell whether entry `i` comes before `j` by keys, then ties, then as they come."""
    if key != other:
        return key < other
    if len(ties) and ties[i] != ties[j]:
        return ties[i] < ties[j]
    return i < j


@jit
def _take_first(out, lot, key, ties, n):
    """Mark the `n` first entries of a lot; quickselect, in place."""
    low, high = 0, len(lot) - 1
    while low < high:
        i, mid = lot[(low + high) // 2], key[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while _before(lot[left], key[left], i, mid, ties):
                left += 1
            while _before(i, mid, lot[right], key[right], ties):
                right -= 1
            if left <= right:
                lot[left], lot[right] = lot[right], lot[left]
                key[left], key[right] = key[right], key[left]
                left, right = left + 1, right - 1
        if right < n <= left:
            break
        low, high = (low, right) if n <= right else (left, high)
    for t in range(n):
        out[lot[t]] = True


@jit
def worthwhile(row, value, guess, new, mark, priced, of_query, most):
    """Return (position, cost) of the candidates to score, out of those at `new`.

    The `most` of each query of which most is expected, of those that cost less than the
    bound and do not change too much. `of_query` is (bound, limit of changes, urgent).
    """
    (x, ptr, col, code), group, (ruler, weight, norms) = priced
    bound, limit, urgent = of_query
    row, value, guess = row[new], value[new], guess[new]
    cost = costs(row, value, x, ptr, col, code, group, ruler, weight, norms)
    few = count_changes(value) <= limit[row]
    near = np.flatnonzero((cost < bound[row]) & few)
    cost, ties = cost[near], hash_values(value[near], mark)
    best = promising(row[near], cost, guess[near], ties, urgent, most)
    return new[near[best]], cost[best]


@jit
def standing(row, value, cost, valid, mark, n, n_top, k):
    """Return what the search goes by of a population that is sorted.

    For each of `n` queries: 64 bits that stand for its `n_top` fittest, whether all of
    these are valid, and the cost of its `k`-th valid one, inf if there are fewer.
    """
    rank = np.zeros(n, np.int64)
    bits = np.zeros(n, np.uint64)
    certain = np.ones(n, np.bool_)
    bound = np.full(n, np.inf)
    top = np.empty(min(len(row), n * n_top), np.int64)
    n_held = 0
    for i in range(len(row)):
        r = row[i]
        if rank[r] < n_top:
            top[n_held] = i
            n_held += 1
        if valid[i] and rank[r] == k - 1:
            bound[r] = cost[i]
        rank[r] += 1
    top = top[:n_held]
    marks = hash_values(value[top], mark)
    for t in range(n_held):
        r = row[top[t]]
        bits[r] ^= mixed(marks[t])
        certain[r] = certain[r] and valid[top[t]]
    return bits, certain, bound
