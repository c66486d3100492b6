"""Where lines and triangles of series enter the target, exactly, for one query."""

import numpy as np

from skcf._series._kernels import margins_at, prune_forest, sweep_lines
from skcf._series._linear import nearest_in_triangles, nearest_on_lines
from skcf._series._triangles import search_boxes, seed_boxes

MAX_BOXES = 3_000_000
N_STEPS = 2_000
# Lines that cost more than this times the best are not worth knowing.
SLACK = 9.0


class ForestGauge:
    """A forest with the goal of one query."""

    def __init__(self, forest, floor):
        self.forest, self.floor = forest, floor

    def holds(self, codes):
        """Return which series are in the target."""
        return self.margins(codes) > self.floor

    def margins(self, codes):
        """Return the margins of series."""
        return margins_at(self.forest, np.ascontiguousarray(codes))

    def lines(self, quadratic, x, D, limit=np.inf):
        """Return (mu, cost) of the cheapest point of each line from `x`, along `D`.

        mu is -1 and the cost infinite for lines without a point below `limit` or of
        much more than the best cost.
        """
        order = np.argsort(_squares(quadratic, D), kind="stable")
        return sweep_lines(
            self.forest, quadratic, x, D, order, SLACK, float(limit), self.floor
        )

    def triangles(
        self, quadratic, x, D, pairs, limit, meter, tol, *, simplex=True, most=None
    ):
        """Return (point, cost, bound) of the cheapest point of triangles from `x`.

        `point` is (i, k, a, b), None if nothing below `limit` was found; `bound` is
        proved to be no more than the cost of any point in these triangles, or of
        `limit` where they have none below it.
        """
        quadratic = tuple(quadratic)
        gram, slope, const = _lower_terms(quadratic, x, D)
        ranges = self._ranges(quadratic, x, D, limit)
        forest = prune_forest(self.forest, *ranges)
        heap = _heap(len(pairs) + N_STEPS)
        pairs = np.ascontiguousarray(pairs, dtype=np.int32)
        size = seed_boxes(
            forest, x, D, gram, slope, const, pairs, ranges, limit, self.floor, heap
        )
        state, point = np.array([size, limit, np.inf]), np.full(4, -1.0)
        uneven = bool((quadratic[0] != quadratic[1]).any())
        over, n_steps = False, 0
        while not over and not meter.expired and (most is None or n_steps < most):
            if state[0] + 2 * N_STEPS > len(heap[0]):
                if len(heap[0]) >= MAX_BOXES:
                    break
                heap = _grown(heap)
            over = search_boxes(
                forest, quadratic, x, D, gram, slope, const, ranges, self.floor, heap,
                state, point, simplex, uneven, tol, N_STEPS,
            )  # fmt: skip
            n_steps += N_STEPS
        cost = state[1]
        bound = min(cost * (1 - tol) if over else heap[0][0], state[2], cost)
        if over and not state[0] and not np.isfinite(state[2]):
            bound = cost
        if point[0] < 0:
            return None, np.inf, bound
        at = (int(point[0]), int(point[1]), point[2], point[3])
        return at, cost, bound

    def _ranges(self, quadratic, x, D, limit):
        """Return what cells lie between in points that cost less than `limit`."""
        up, down, mid, const = quadratic
        low = x + np.minimum(D.min(axis=0), 0.0)
        high = x + np.maximum(D.max(axis=0), 0.0)
        if np.isfinite(limit):
            reach = max(limit - const, 0.0)
            low = np.maximum(low, mid - np.sqrt(reach / down))
            high = np.minimum(high, mid + np.sqrt(reach / up))
        slack = 1e-9 * (1.0 + np.abs(x))
        return low - slack, high + slack


class LinearGauge:
    """Linear goals of one query: all is in closed form."""

    def __init__(self, weight, offset, several):
        self.weight, self.offset, self.several = weight, offset, several

    def holds(self, codes):
        """Return which series are in the target."""
        return self.margins(codes) > 0

    def margins(self, codes):
        """Return the margins of series."""
        scores = _dot(codes, self.weight) + self.offset
        return scores.max(axis=1) if self.several else scores.min(axis=1)

    def lines(self, quadratic, x, D, limit=np.inf):
        """Return (mu, cost) of the cheapest point of each line, as of a forest."""
        terms = _line_terms(quadratic, x, D)
        starts = _dot(x[None], self.weight)[0] + self.offset
        slopes = _dot(D, self.weight)
        mu, cost = np.full(len(D), -1.0), np.full(len(D), np.inf)
        for goals in self._sets():
            got, price = nearest_on_lines(terms, slopes[:, goals], starts[goals])
            better = price < cost
            mu, cost = np.where(better, got, mu), np.where(better, price, cost)
        dear = cost >= limit
        return np.where(dear, -1.0, mu), np.where(dear, np.inf, cost)

    def triangles(
        self, quadratic, x, D, pairs, limit, meter, tol, *, simplex=True, most=None
    ):
        """Return (point, cost, bound) of triangles, as of a forest."""
        uneven = (quadratic[0] != quadratic[1]).any()
        gram, slope, const = _lower_terms(quadratic, x, D)
        i, k = pairs.T
        terms = gram[i, i], gram[i, k], gram[k, k], slope[i], slope[k], const
        starts = _dot(x[None], self.weight)[0] + self.offset
        slopes = _dot(D, self.weight)
        best, least = None, np.inf
        for goals in self._sets():
            sides = slopes[i][:, goals], slopes[k][:, goals]
            a, b, cost = nearest_in_triangles(terms, sides, starts[goals], simplex)
            if not len(cost):
                continue
            at = int(np.argmin(cost))
            if cost[at] < least:
                best, least = (int(i[at]), int(k[at]), a[at], b[at]), cost[at]
        bound = min(least, limit)
        if best is None or least >= limit:
            return None, np.inf, bound
        if uneven:
            # The lower quadratic gave a bound; the point has its own cost.
            j, k, a, b = best
            y = x + a * D[j] + b * D[k]
            least = float(cost_rows(quadratic, y[None])[0])
            if least >= limit:
                return None, np.inf, bound
        return best, least, bound

    def _sets(self):
        """Yield the sets of goals that have to hold together."""
        n = len(self.offset)
        if self.several:
            yield from ([r] for r in range(n))
        else:
            yield list(range(n))


def gauge_of(reader, model, goal):
    """Return the gauge of a model that was read and the goal of one row, or None."""
    if reader is None:
        return None
    if reader.compiled:
        forest = reader.forest(model, goal)
        return None if forest is None else ForestGauge(forest, reader.floor)
    goals = reader.goals(model, goal)
    return None if goals is None else LinearGauge(*goals)


def cost_rows(quadratic, codes):
    """Return the cost of series."""
    up, down, mid, const = quadratic
    d = codes - mid
    return (np.where(d > 0, up, down) * d * d).sum(axis=1) + const


def _dot(rows, weight):
    """Return rows @ weight.T, each row for itself whatever else is in the call."""
    return np.stack([(rows * w).sum(axis=1) for w in weight], axis=1)


def _squares(quadratic, D):
    return (D * D * np.minimum(quadratic[0], quadratic[1])).sum(axis=1)


def _line_terms(quadratic, x, D):
    """Return (h, g, c): the costs h mu^2 + 2 g mu + c along the lines from `x`."""
    up, down, mid, const = quadratic
    e = x - mid
    price = np.where((e > 0) | ((e == 0) & (D > 0)), up, down)
    own = np.where(e > 0, up, down)
    h, g = (price * D * D).sum(axis=1), (price * D * e).sum(axis=1)
    return h, g, const + float((own * e * e).sum())


def _lower_terms(quadratic, x, D):
    """Return (gram, slope, const) of the quadratic along `D`, by the lower prices."""
    up, down, mid, const = quadratic
    price, e = np.minimum(up, down), x - mid
    gram = np.einsum("ip,kp->ik", D * price, D)
    slope = (D * (price * e)).sum(axis=1)
    return gram, slope, const + float((price * e * e).sum())


def _heap(room):
    return np.empty(room), np.empty((room, 4)), np.empty((room, 2), dtype=np.int32)


def _grown(heap):
    room = 2 * len(heap[0]) + 4 * N_STEPS
    new = _heap(room)
    for old, into in zip(heap, new, strict=True):
        into[: len(old)] = old
    return new
