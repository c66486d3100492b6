"""Compiled loops over a forest on lines and boxes of series.

A forest is a tuple of arrays:

- `root` (n_trees,), `feature` (n_nodes,; -1 at a leaf), `threshold`, `above`,
  `left`, `right` (n_nodes,): a row goes left where ``x[feature] <= threshold``; `above`
  is the least number that goes right;
- `value` (n_goals, n_nodes): what a leaf adds to each of the linear goals of the
  scores, and `offset` (n_goals,) where their sums start;
- `several`: whether one positive goal is enough, or all of them have to be;
- `single`: whether series are written in single precision, so that a cell is rounded
  before it is compared.

A quadratic is a tuple (`up`, `down`, `mid`, `const`): the cost of a series ``x`` is
``const`` plus the sum of ``up * (x - mid) ** 2`` where ``x`` is above ``mid`` and of
``down * (x - mid) ** 2`` where it is below.
"""

import numpy as np

from skcf._jit import jit

SLACK = 1e-12


@jit
def seen(v, single):
    """Return a number as it is written."""
    if single:
        return np.float64(np.float32(v))
    return v


@jit
def combine(sums, several):
    """Return the margin of the goals: the largest of several, or the least of all."""
    out = sums[0]
    for r in range(1, len(sums)):
        if (sums[r] > out) == several:
            out = sums[r]
    return out


@jit
def leaf_of(forest, node, x):
    """Return the leaf that a series reaches from a node."""
    _, feature, threshold, _, left, right, _, _, _, single = forest
    while feature[node] >= 0:
        if seen(x[feature[node]], single) <= threshold[node]:
            node = left[node]
        else:
            node = right[node]
    return node


@jit
def margin_at(forest, x):
    """Return the margin of one series."""
    root, _, _, _, _, _, value, offset, several, _ = forest
    sums = offset.copy()
    for t in range(len(root)):
        leaf = leaf_of(forest, root[t], x)
        for r in range(len(sums)):
            sums[r] += value[r, leaf]
    return combine(sums, several)


@jit
def margins_at(forest, X):
    """Return the margins of series."""
    out = np.empty(len(X))
    for i in range(len(X)):
        out[i] = margin_at(forest, X[i])
    return out


@jit
def bound_box(forest, lo, hi, best, stack):
    """Return an upper bound of the margin of the series between `lo` and `hi`."""
    root, feature, threshold, _, left, right, value, offset, several, single = forest
    sums = offset.copy()
    for t in range(len(root)):
        best[:] = -np.inf
        stack[0] = root[t]
        n = 1
        while n > 0:
            n -= 1
            node = stack[n]
            f = feature[node]
            if f < 0:
                for r in range(len(sums)):
                    best[r] = max(best[r], value[r, node])
                continue
            if seen(lo[f], single) <= threshold[node]:
                stack[n] = left[node]
                n += 1
            if seen(hi[f], single) > threshold[node]:
                stack[n] = right[node]
                n += 1
        for r in range(len(sums)):
            sums[r] += best[r]
    return combine(sums, several)


@jit
def settled(forest, node, lo, hi):
    """Return the first node that series between `lo` and `hi` decide differently."""
    _, feature, threshold, _, left, right, _, _, _, single = forest
    while feature[node] >= 0:
        f = feature[node]
        if seen(lo[f], single) > threshold[node]:
            node = right[node]
        elif seen(hi[f], single) <= threshold[node]:
            node = left[node]
        else:
            break
    return node


@jit
def prune_forest(forest, lo, hi):
    """Return the forest with the tests alone that series between `lo` and `hi` need."""
    root, feature, threshold, above, left, right, value, offset, several, single = (
        forest
    )
    offset = offset.copy()
    kept = np.empty(len(feature), dtype=np.int32)
    child = np.full((2, len(feature)), -1, dtype=np.int32)
    roots = np.empty(len(root), dtype=np.int32)
    n, n_roots = 0, 0
    for t in range(len(root)):
        node = settled(forest, root[t], lo, hi)
        if feature[node] < 0:
            for r in range(len(offset)):
                offset[r] += value[r, node]
            continue
        roots[n_roots] = n
        n_roots += 1
        kept[n] = node
        begin = n
        n += 1
        while begin < n:
            at = kept[begin]
            if feature[at] >= 0:
                kept[n] = settled(forest, left[at], lo, hi)
                kept[n + 1] = settled(forest, right[at], lo, hi)
                child[0, begin], child[1, begin] = n, n + 1
                n += 2
            begin += 1
    kept = kept[:n]
    return (
        roots[:n_roots].copy(),
        feature[kept],
        threshold[kept],
        above[kept],
        child[0, :n].copy(),
        child[1, :n].copy(),
        np.ascontiguousarray(value[:, kept]),
        offset,
        several,
        single,
    )


@jit
def cost_of(quadratic, x):
    """Return the cost of a series."""
    up, down, mid, const = quadratic
    out = const
    for i in range(len(x)):
        d = x[i] - mid[i]
        out += (up[i] if d > 0 else down[i]) * d * d
    return out


@jit
def line_terms(quadratic, x, d):
    """Return (h, g, c): along x + mu * d the cost is h mu^2 + 2 g mu + c.

    Where prices of up and down differ this holds for lines that start at the query.
    """
    up, down, mid, const = quadratic
    h, g, c = 0.0, 0.0, const
    for i in range(len(x)):
        e = x[i] - mid[i]
        price = up[i] if e > 0 or (e == 0 and d[i] > 0) else down[i]
        h += price * d[i] * d[i]
        g += price * d[i] * e
        c += price * e * e
    return h, g, c


@jit
def _crossings(forest, x, d, top, at, tree):
    """Write where on a line tests are decided anew, and in which tree; their number."""
    root, feature, threshold, above, left, right, _, _, _, single = forest
    stack = np.empty(256, dtype=np.int32)
    n = 0
    for t in range(len(root)):
        stack[0] = root[t]
        m = 1
        while m > 0:
            m -= 1
            node = stack[m]
            f = feature[node]
            if f < 0:
                continue
            start = seen(x[f], single)
            end = seen(x[f] + top * d[f], single)
            is_left = start <= threshold[node]
            if min(start, end) <= threshold[node]:
                stack[m] = left[node]
                m += 1
            if max(start, end) > threshold[node]:
                stack[m] = right[node]
                m += 1
            if is_left == (end <= threshold[node]):
                continue
            if is_left:
                goal = above[node]
            else:
                goal = threshold[node] if single else 2 * threshold[node] - above[node]
            mu = (goal - x[f]) / d[f]
            at[n] = min(max(mu, 0.0), top)
            tree[n] = t
            n += 1
    return n


@jit
def _leaf_on_line(forest, node, x, d, mu):
    """Return the leaf that a point of a line reaches from a node."""
    _, feature, threshold, _, left, right, _, _, _, single = forest
    while feature[node] >= 0:
        f = feature[node]
        if seen(x[f] + mu * d[f], single) <= threshold[node]:
            node = left[node]
        else:
            node = right[node]
    return node


@jit
def _reach(h, g, c, limit, top):
    """Return the end of the part of [0, top] that may cost less than `limit`."""
    if h <= 0 or not np.isfinite(limit):
        return top
    inside = g * g - h * (c - limit)
    if inside <= 0:
        return 0.0
    return min(top, max(0.0, (np.sqrt(inside) - g) / h * (1 + 1e-9)))


@jit
def sweep_line(forest, quadratic, x, d, top, limit, floor):
    """Return (mu, cost) of the cheapest point of a line that is in the target.

    The line is ``x + mu * d`` for ``mu`` in [0, top]. The margin is constant between
    the crossings of tests; each piece is looked at once. (-1, inf) if there is no
    point with a margin above `floor` that costs less than `limit`.
    """
    root, feature, _, _, _, _, value, offset, several, _ = forest
    h, g, c = line_terms(quadratic, x, d)
    best_mu, best = -1.0, limit
    top = _reach(h, g, c, limit, top)
    at = np.empty(len(feature))
    tree = np.empty(len(feature), dtype=np.int32)
    n = _crossings(forest, x, d, top, at, tree)
    order = np.argsort(at[:n], kind="mergesort")
    y, leaf, sums = x.copy(), np.empty(len(root), dtype=np.int32), offset.copy()
    for t in range(len(root)):
        leaf[t] = leaf_of(forest, root[t], x)
        for r in range(len(sums)):
            sums[r] += value[r, leaf[t]]
    k, begin = 0, 0.0
    while True:
        end = at[order[k]] if k < n else top
        if combine(sums, several) > floor - 1e-9 and (end > begin or k == n):
            mu = begin if h <= 0 else min(max(-g / h, begin), end)
            # The end of a piece belongs to the next one.
            if mu >= end and k < n:
                mu = begin + (end - begin) * (1 - 1e-9)
            if h * mu * mu + 2 * g * mu + c < best * (1 + SLACK):
                # Sums of floats drift: what counts is a fresh walk at the point.
                for step in (0.0, 1e-12, 1e-9, 1e-6, 0.5):
                    nu = mu + step * (end - mu)
                    for i in range(len(x)):
                        y[i] = x[i] + nu * d[i]
                    if margin_at(forest, y) > floor:
                        cost = cost_of(quadratic, y)
                        if cost < best:
                            best_mu, best = nu, cost
                        break
        if k == n:
            break
        begin = end
        rising = h * begin * begin + 2 * g * begin + c >= best
        if rising and (h * begin + g >= 0):
            break
        while k < n and at[order[k]] <= begin:
            t = tree[order[k]]
            # A little further on, so that rounding cannot hide the crossing.
            new = _leaf_on_line(forest, root[t], x, d, begin + SLACK * (1 + begin))
            if new != leaf[t]:
                for r in range(len(sums)):
                    sums[r] += value[r, new] - value[r, leaf[t]]
                leaf[t] = new
            k += 1
    return (best_mu, best) if best_mu >= 0 else (-1.0, np.inf)


@jit
def sweep_lines(forest, quadratic, x, D, order, slack, limit, floor):
    """Sweep the lines from `x` in the directions `D` up to their ends.

    Returns (mu, cost) of each, -1 and inf where a line has no point that costs less
    than `limit`, or less than `slack` times the best one.
    """
    mu, cost = np.full(len(D), -1.0), np.full(len(D), np.inf)
    best = limit
    for i in order:
        bar = min(limit, slack * best)
        mu[i], cost[i] = sweep_line(forest, quadratic, x, D[i], 1.0, bar, floor)
        best = min(best, cost[i])
    return mu, cost
