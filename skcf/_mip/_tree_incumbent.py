"""A first good point: single changes, pairs, and local search from several starts."""

from math import prod

import numpy as np

from skcf._mip._tree_climb import best_pair, cheapen, price_of, repair
from skcf._mip._tree_kernels import n_broken, pair_gains, score_points, sweep

MAX_PAIRED = 700
MAX_CHANGES = 60


class Arrays:
    """Cells as the compiled loops take them.

    Attributes
    ----------
    leaves, offsets, base, prices, rules, home
        What the kernels are given.
    """

    def __init__(self, cells, limits=()):
        trees = cells.leaves
        self.leaves = (
            trees.tree,
            trees.weight,
            trees.first,
            trees.group,
            trees.begin,
            trees.mask,
        )
        self.offsets, self.base = cells.offsets, cells.base
        self.prices = cells.cost, cells.peak, float(cells.linf)
        self.home = cells.home
        self.rules = _packed(cells, (*cells.limits, *limits))
        self.group_of = np.repeat(np.arange(len(cells.groups)), np.diff(cells.offsets))

    def score(self, points):
        """Return the score rows of points."""
        points = np.ascontiguousarray(np.atleast_2d(points))
        return score_points(self.leaves, self.offsets, self.base, points)

    def keeps_rules(self, point):
        """Return whether a point breaks no limit and no coupling."""
        return n_broken(self.rules, self.home, self.offsets, point) == 0

    def price(self, point):
        """Return the cost of a point."""
        return float(price_of(self.prices, point))


def _packed(cells, limits):
    """Return limits and couplings as flat arrays."""
    n = len(cells.groups)
    mask = np.array([m for m, _ in limits], dtype=bool).reshape(-1, n)
    most = np.array([k for _, k in limits], dtype=np.int64)
    first, groups, strides, starts, tables = [0], [], [], [], []
    for members, table in cells.couplings:
        starts.append(sum(map(len, tables)))
        tables.append(table.ravel())
        groups += list(members)
        strides += [prod(table.shape[i + 1 :]) for i in range(table.ndim)]
        first.append(len(groups))
    return (
        mask,
        most,
        *(np.array(v, dtype=np.int64) for v in (first, groups, strides, starts)),
        np.concatenate(tables) if tables else np.zeros(0, dtype=bool),
    )


class Climber:
    """Local search over the alive values of one query."""

    def __init__(self, arrays, need, alive):
        self.a, self.need, self.alive = arrays, need, alive
        self.best, self.point = np.inf, None
        cost = np.where(alive, arrays.prices[0], np.inf)
        self.home = np.array(
            [
                begin + int(np.argmin(cost[begin:end]))
                for begin, end in zip(
                    arrays.offsets[:-1], arrays.offsets[1:], strict=True
                )
            ]
        )
        score = arrays.score(self.home)[0]
        with np.errstate(invalid="ignore"):
            gap = need - score
        self.scale = np.where(np.isfinite(gap), np.maximum(np.abs(gap), 1e-9), 1.0)

    def run(self, starts):
        """Search from home and from `starts`."""
        if not np.isfinite(self.need[self.need != -np.inf]).all():
            return self.best, self.point
        self._singles_and_pairs()
        self.climb(self.home.copy())
        for start in starts:
            self.climb(np.array(start))
        self._ruin()
        return self.best, self.point

    def climb(self, point, without=()):
        """Repair a point, not by the values `without`, and cheapen it."""
        a, alive = self.a, self.alive
        if not alive[point].all():
            point = np.where(alive[point], point, self.home)
        if len(without):
            alive = alive.copy()
            alive[without] = False
        rest = a.offsets, a.base, self.need, a.prices, a.rules, a.home, alive
        if repair(a.leaves, *rest, point, self.scale, MAX_CHANGES):
            cheapen(a.leaves, *rest, point)
            self.keep(point)

    def keep(self, point):
        """Remember a point in the target if it is the best one."""
        cost = self.a.price(point)
        if cost < self.best:
            self.best, self.point = cost, point.copy()

    def _singles_and_pairs(self):
        a, home = self.a, self.home
        score, gain = sweep(a.leaves, a.offsets, a.base, home)
        inside = self.alive & (score + gain >= self.need).all(axis=1)
        cost = a.prices[0]
        for v in np.flatnonzero(inside)[np.argsort(cost[inside], kind="stable")]:
            point = home.copy()
            point[a.group_of[v]] = v
            if a.keeps_rules(point) and a.price(point) < self.best:
                self.keep(point)
                break
        other = self.alive & (cost < self.best)
        other[home] = False
        values = np.flatnonzero(other)
        values = values[np.argsort(cost[values], kind="stable")][:MAX_PAIRED]
        place = np.full(len(cost), -1)
        place[values] = np.arange(len(values))
        more = pair_gains(a.leaves, a.offsets, a.base, home, place, len(values))
        u, v = best_pair(
            a.offsets,
            a.prices,
            a.rules,
            a.home,
            self.need,
            score,
            gain,
            more,
            values,
            a.group_of[values],
            home.copy(),
            self.best,
        )
        if u >= 0:
            point = home.copy()
            point[a.group_of[[u, v]]] = u, v
            self.keep(point)

    def _ruin(self):
        """Undo each change, and each two, of the best point, and repair it again."""
        if self.point is None:
            return
        for _ in range(3):
            before = self.best
            start = self.point
            changed = np.flatnonzero(start != self.home)
            if len(changed) < 2:
                return
            pairs = [(g,) for g in changed]
            pairs += [(g, h) for g in changed for h in changed if g < h][:20]
            for some in pairs:
                point = start.copy()
                point[list(some)] = self.home[list(some)]
                self.climb(point, start[list(some)])
            if self.best >= before:
                return
