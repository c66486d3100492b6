"""Best-first search for the cheapest point of many triangles, with a bound.

A triangle has the query and two other series as its corners: the points
``x + a * D[i] + b * D[k]`` with ``a, b >= 0`` and ``a + b <= 1`` (two sides of a
rectangle if not `simplex`). Boxes in (a, b) are split, the one with the lowest bound of
its cost first, and dropped where the forest cannot reach the target.
"""

import numpy as np

from skcf._jit import jit
from skcf._series._kernels import bound_box, cost_of, margin_at

NARROW = 1e-7


@jit
def _edge(h, g, c, lo, hi):
    """Return (least of h t^2 + 2 g t + c in [lo, hi], where)."""
    t = lo
    if h > 0:
        t = min(max(-g / h, lo), hi)
    elif g < 0:
        t = hi
    return h * t * t + 2 * g * t + c, t


@jit
def least_in_box(h_aa, h_ab, h_bb, ga, gb, c, box):
    """Return (least, a, b) of a convex quadratic in a box."""
    a0, a1, b0, b1 = box[0], box[1], box[2], box[3]
    det = h_aa * h_bb - h_ab * h_ab
    if det > 1e-12 * h_aa * h_bb:
        a, b = (h_ab * gb - h_bb * ga) / det, (h_ab * ga - h_aa * gb) / det
        if a0 <= a <= a1 and b0 <= b <= b1:
            return c + ga * a + gb * b, a, b
    best, best_a, best_b = np.inf, a0, b0
    for side in range(2):
        a = a1 if side else a0
        value, t = _edge(h_bb, gb + h_ab * a, c + a * (h_aa * a + 2 * ga), b0, b1)
        if value < best:
            best, best_a, best_b = value, a, t
        b = b1 if side else b0
        value, t = _edge(h_aa, ga + h_ab * b, c + b * (h_bb * b + 2 * gb), a0, a1)
        if value < best:
            best, best_a, best_b = value, t, b
    return best, best_a, best_b


@jit
def _tangent(quadratic, x, da, db, box):
    """Return a bound of the cost in a box by its tangent at the centre."""
    up, down, mid, const = quadratic
    a, b = (box[0] + box[1]) / 2, (box[2] + box[3]) / 2
    out, slope_a, slope_b = const, 0.0, 0.0
    for i in range(len(x)):
        e = x[i] + a * da[i] + b * db[i] - mid[i]
        pull = (up[i] if e > 0 else down[i]) * e
        out += pull * e
        slope_a += 2 * pull * da[i]
        slope_b += 2 * pull * db[i]
    return (
        out
        - abs(slope_a) * (box[1] - box[0]) / 2
        - abs(slope_b) * (box[3] - box[2]) / 2
    )


@jit
def _fill(x, da, db, box, low, high, lo, hi):
    """Write what the cells of the series in a box lie between."""
    for i in range(len(x)):
        a0, a1 = box[0] * da[i], box[1] * da[i]
        b0, b1 = box[2] * db[i], box[3] * db[i]
        slack = 1e-13 * (abs(x[i]) + abs(da[i]) + abs(db[i]))
        lo[i] = max(x[i] + min(a0, a1) + min(b0, b1) - slack, low[i])
        hi[i] = min(x[i] + max(a0, a1) + max(b0, b1) + slack, high[i])


@jit
def _extent(h_aa, h_ab, h_bb, ga, gb, c, limit):
    """Return the most that a may be where the quadratic is at most `limit`."""
    if h_bb <= 0:
        return 1.0
    # With b at its best, what is left is a quadratic in a.
    h, g, rest = h_aa - h_ab * h_ab / h_bb, ga - h_ab * gb / h_bb, c - gb * gb / h_bb
    if h <= 1e-9 * h_aa:
        return 1.0
    inside = g * g - h * (rest - limit)
    if inside <= 0:
        return 0.0
    return min(1.0, (np.sqrt(inside) - g) / h * (1 + 1e-9))


@jit
def _push(heap_key, heap_box, heap_pair, size, key, box, i, k):
    at = size
    while at > 0:
        up = (at - 1) // 2
        if heap_key[up] <= key:
            break
        heap_key[at], heap_pair[at] = heap_key[up], heap_pair[up]
        heap_box[at] = heap_box[up]
        at = up
    heap_key[at] = key
    heap_box[at] = box
    heap_pair[at, 0], heap_pair[at, 1] = i, k
    return size + 1


@jit
def _pop(heap_key, heap_box, heap_pair, size):
    """Take the last box to the place of the first, and sink it; return the size."""
    size -= 1
    key = heap_key[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        if down + 1 < size and heap_key[down + 1] < heap_key[down]:
            down += 1
        if heap_key[down] >= key:
            break
        heap_key[at], heap_pair[at] = heap_key[down], heap_pair[down]
        heap_box[at] = heap_box[down]
        at = down
    heap_key[at], heap_pair[at] = key, heap_pair[size]
    heap_box[at] = heap_box[size]
    return size


@jit
def _terms(gram, slope, i, k):
    return gram[i, i], gram[i, k], gram[k, k], slope[i], slope[k]


@jit
def seed_boxes(forest, x, D, gram, slope, const, pairs, ranges, limit, floor, heap):
    """Put the triangles that may reach the target below `limit` on an empty heap.

    Returns the size of the heap. It has room for as many boxes as there are pairs.
    """
    heap_key, heap_box, heap_pair = heap
    low, high = ranges
    lo, hi = np.empty(len(x)), np.empty(len(x))
    best, stack = np.empty(len(forest[7])), np.empty(256, dtype=np.int32)
    box, size = np.zeros(4), 0
    for j in range(len(pairs)):
        i, k = pairs[j, 0], pairs[j, 1]
        h_aa, h_ab, h_bb, ga, gb = _terms(gram, slope, i, k)
        box[1] = _extent(h_aa, h_ab, h_bb, ga, gb, const, limit)
        box[3] = _extent(h_bb, h_ab, h_aa, gb, ga, const, limit)
        _fill(x, D[i], D[k], box, low, high, lo, hi)
        if bound_box(forest, lo, hi, best, stack) <= floor:
            continue
        key = least_in_box(h_aa, h_ab, h_bb, ga, gb, const, box)[0]
        if key < limit:
            size = _push(heap_key, heap_box, heap_pair, size, key, box, i, k)
    return size


@jit
def _probe(forest, quadratic, x, da, db, a, b, floor, limit, y):
    """Return the cost of a point, infinite if it is not a hit below `limit`."""
    for j in range(len(x)):
        y[j] = x[j] + a * da[j] + b * db[j]
    cost = cost_of(quadratic, y)
    if cost < limit and margin_at(forest, y) > floor:
        return cost
    return np.inf


@jit
def search_boxes(
    forest, quadratic, x, D, gram, slope, const, ranges, floor, heap, state, point,
    simplex, uneven, tol, n_steps,
):  # fmt: skip
    """Split boxes until the best point is proved, the heap is full or steps are over.

    `state` holds (size of the heap, cost of the best point, least bound of the boxes
    given up); `point` holds (i, k, a, b) of the best point. Both are updated. `gram`,
    `slope` and `const` are the quadratic along `D`, a lower one where prices are
    `uneven`. Returns whether the search is over.
    """
    heap_key, heap_box, heap_pair = heap
    low, high = ranges
    size, best_cost, given_up = int(state[0]), state[1], state[2]
    lo, hi, y = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    best, stack = np.empty(len(forest[7])), np.empty(256, dtype=np.int32)
    box, half = np.empty(4), np.empty(4)
    over = False
    for _ in range(n_steps):
        if size == 0 or heap_key[0] >= best_cost * (1 - tol):
            over = True
            break
        if size + 2 > len(heap_key):
            break
        box[:] = heap_box[0]
        i, k = heap_pair[0, 0], heap_pair[0, 1]
        key = heap_key[0]
        size = _pop(heap_key, heap_box, heap_pair, size)
        h_aa, h_ab, h_bb, ga, gb = _terms(gram, slope, i, k)
        wide = (box[1] - box[0]) ** 2 * h_aa >= (box[3] - box[2]) ** 2 * h_bb
        axis = 0 if wide else 2
        if box[axis + 1] - box[axis] < NARROW:
            given_up = min(given_up, key)
            continue
        for side in range(2):
            half[:] = box
            half[axis + 1 - side] = (box[axis] + box[axis + 1]) / 2
            if simplex and half[0] + half[2] >= 1.0:
                continue
            key, a, b = least_in_box(h_aa, h_ab, h_bb, ga, gb, const, half)
            if uneven:
                key = max(key, _tangent(quadratic, x, D[i], D[k], half))
            if key >= best_cost * (1 - tol):
                given_up = min(given_up, key)
                continue
            _fill(x, D[i], D[k], half, low, high, lo, hi)
            if bound_box(forest, lo, hi, best, stack) <= floor:
                continue
            for probe in range(2):
                if probe:
                    a, b = (half[0] + half[1]) / 2, (half[2] + half[3]) / 2
                if simplex and a + b > 1.0:
                    continue
                cost = _probe(
                    forest, quadratic, x, D[i], D[k], a, b, floor, best_cost, y
                )
                if cost < best_cost:
                    best_cost = cost
                    point[0], point[1], point[2], point[3] = i, k, a, b
            size = _push(heap_key, heap_box, heap_pair, size, key, half, i, k)
    state[0], state[1], state[2] = size, best_cost, given_up
    return over
