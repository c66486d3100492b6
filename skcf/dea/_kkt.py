"""The cheapest plan of a wanted efficiency as a mixed-integer program.

For technologies whose facets are too many to be enumerated. The plan, shrunk or
stretched by the wanted efficiency, is on the frontier or beyond: there is a point of
the frontier that it dominates, the weights of units that make up this point, and
prices that support it. Of every slack and its price one is 0, which takes a binary.
"""

import time

import numpy as np
from scipy.optimize import linprog

from skcf._mip._adapter import Mip
from skcf.dea._coupled import UnprovedError, coupled_step
from skcf.dea._nearest import Found

# The prices that count are at least this share of all prices and profits, so that
# facets on which the measure has no effect are left out, and with them the steepest.
SMALLEST = 1e-6
# Solutions this near to what is proved are optimal.
GAP = 1e-6
MAX_ROUNDS = 40
TIGHT, LOOSE = 1e-8, 1e-6
N_TANGENTS = 6
EFFICIENT = 1e-9


class Complementary:
    """The search by complementary slackness.

    Parameters are those of `Nearest`; the technology needs no facets.

    Notes
    -----
    Prices, profits and their slacks are scaled to a sum of 1, so that 1 bounds each
    of them; weights and slacks of quantities are bounded by the largest plan that is
    in question. So the binaries need no constant that could be too small. With
    constant returns nothing is lost by `SMALLEST`; with other returns to scale it may
    leave out facets that are all but vertical, and so no proof is claimed there.
    """

    def __init__(self, technology, free, measure):
        self.technology, self.free, self.measure = technology, free, measure
        efficient = technology.programmed(technology.units, "input")
        at = np.flatnonzero(efficient >= 1 - EFFICIENT)
        units = np.unique(np.hstack([technology.x[at], technology.y[at]]), axis=0)
        self.x, self.y = np.split(units, [technology.n_inputs], axis=1)
        self.exact = technology.returns_to_scale == "crs"

    def search(self, plan, wanted, rooms, prices, k=1, limit=None, deadline=None):
        """Return (found, bound) as `Nearest.search` does.

        Sets of columns that contain one of a cheaper plan are left out.
        """
        found, bounds, taken = [], [], []
        for _ in range(k):
            best, bound = None, np.inf
            for number, room in enumerate(rooms):
                if (room.low > room.high).any():
                    continue
                top = np.inf if best is None else best.cost
                given = (plan, wanted, room, prices, limit, taken, k > 1)
                one, low = _Model(self, *given).solve(number, top, deadline)
                if one is None and not np.isfinite(top):
                    # HiGHS 1.16 calls programs impossible that are not: ask again.
                    model = _Model(self, *given, tolerance=LOOSE)
                    one, other = model.solve(number, top, deadline)
                    low = _least(low, other) if one is None else np.nan
                bound = _least(bound, low)
                if one is not None and one.cost < top:
                    best = one
            bounds.append(bound)
            if best is None:
                break
            found.append(best)
            taken.append(best.steps != 0)
        at_home = any(_holds_home(room) for room in rooms)
        bound = bounds[0]
        if not found and not (self.exact and at_home):
            bound = np.nan
        elif found and not self.exact:
            bound = np.nan
        return found, bound


def _least(one, other):
    return np.nan if np.isnan(one) or np.isnan(other) else min(one, other)


def _holds_home(room):
    """Tell whether the unit itself keeps the rules, so that none forces a change."""
    inside = (room.low <= 0).all() and (room.high >= 0).all()
    return bool(inside and (room.at_most >= 0).all())


class _Model:
    """The program of one unit in one room."""

    def __init__(
        self,
        search,
        plan,
        wanted,
        room,
        prices,
        limit,
        taken,
        named,
        tolerance=TIGHT,
    ):
        self.search, self.wanted, self.room, self.prices = search, wanted, room, prices
        self.start = np.concatenate(search.technology.split(plan))
        # With presolving, or tighter tolerances, HiGHS 1.16 loses solutions.
        self.mip = Mip(presolve=False, tolerance=tolerance)
        n = int(search.free.sum())
        farthest = np.maximum(self.start[search.free], 1.0)
        largest = np.hstack([search.x, search.y]).max(axis=0)[search.free]
        reach = np.maximum(farthest, largest) * 4 / wanted
        self.high = np.minimum(room.high, reach)
        self.low = np.maximum(room.low, -reach)
        var = self.mip.variable
        self.down = [var("d", 0, max(-b, 0.0)) for b in self.low]
        self.up = [var("u", 0, max(b, 0.0)) for b in self.high]
        step = [
            self.mip.total([(u, 1.0), (d, -1.0)])
            for u, d in zip(self.up, self.down, strict=True)
        ]
        for s, low, high in zip(step, self.low, self.high, strict=True):
            self.mip.require(s >= low)
            self.mip.require(s <= high)
        for row, top in zip(room.rows, room.at_most, strict=True):
            self.mip.require(self.mip.total(zip(step, row, strict=True)) <= top)
        self.step = step
        self.changed = None
        if prices.entry.any() or named or limit is not None and limit < n:
            self._count(limit, taken)
        self._frontier()
        self._price()

    # -- the parts of the program -------------------------------------------------

    def _count(self, limit, taken):
        """Add binaries for columns that change."""
        mip = self.mip
        self.changed = [mip.binary("c") for _ in self.step]
        for c, d, u, low, high in zip(
            self.changed, self.down, self.up, self.low, self.high, strict=True
        ):
            mip.require(mip.total([(d, 1.0), (c, -max(-low, 0.0))]) <= 0)
            mip.require(mip.total([(u, 1.0), (c, -max(high, 0.0))]) <= 0)
        if limit is not None:
            mip.require(mip.total([(c, 1.0) for c in self.changed]) <= limit)
        for one in taken:
            pairs = [(c, 1.0) for c, t in zip(self.changed, one, strict=True) if t]
            mip.require(mip.total(pairs) <= len(pairs) - 1)

    def _frontier(self):
        """Add a point of the frontier, its weights and prices, and their either-or."""
        search, mip, wanted = self.search, self.mip, self.wanted
        x, y, technology = search.x, search.y, search.technology
        n_inputs, n = technology.n_inputs, len(self.start)
        at = np.flatnonzero(search.free)
        top = self.start.copy()
        top[at] += np.maximum(self.high, 0.0)
        plan = [mip.total([], c) for c in self.start]
        for j, s in zip(at, self.step, strict=True):
            plan[j] = mip.total([(s, 1.0)], self.start[j])
        weight_top, output_top = self._largest(top[:n_inputs])
        weights = [mip.variable("w", 0, b) for b in weight_top]
        prices = [mip.variable("p", 0, 1) for _ in range(n)]
        fixed = {"crs": (0, 0), "vrs": (-1, 1), "drs": (-1, 0), "irs": (0, 1)}
        low, high = fixed[technology.returns_to_scale]
        size = 1 + x.sum(axis=1).max() + y.sum(axis=1).max()
        constant = mip.variable("k", low * size, high * size)
        profits = [
            mip.total([*zip(prices, [*xk, *-yk], strict=True), (constant, -1.0)])
            for xk, yk in zip(x, y, strict=True)
        ]
        mip.require(mip.total([(p, 1.0) for p in [*prices, *profits]]) == 1)
        counted = prices[:n_inputs] if search.measure == "input" else prices[n_inputs:]
        mip.require(mip.total([(p, 1.0) for p in counted]) >= SMALLEST)
        for j in range(n):
            column = (x if j < n_inputs else y)[
                :, j - (0 if j < n_inputs else n_inputs)
            ]
            made = mip.total(zip(weights, column, strict=True))
            point = self._point(plan[j], j, top[j], output_top)
            if j < n_inputs:
                slack, largest = mip.total([(point, 1.0), (made, -1.0)]), top[j]
            else:
                slack = mip.total([(made, 1.0), (point, -1.0)])
                largest = output_top[j - n_inputs]
            self._either(prices[j], 1.0, slack, largest)
        for weight, most, profit in zip(weights, weight_top, profits, strict=True):
            self._either(profit, 1.0, weight, most)
        self._scale(weights, weight_top, constant, size)
        self.duals = prices, constant
        self.wanted = wanted

    def _point(self, plan, j, top, output_top):
        """Return coordinate j of the point of the frontier that the plan dominates."""
        mip, technology = self.mip, self.search.technology
        if self.search.measure == "input" and j < technology.n_inputs:
            point = mip.variable("q", 0, top)
            mip.require(mip.total([(point, 1.0), (plan, -self.wanted)]) >= 0)
        elif self.search.measure == "output" and j >= technology.n_inputs:
            point = mip.variable("q", 0, output_top[j - technology.n_inputs])
            mip.require(mip.total([(point, self.wanted), (plan, -1.0)]) <= 0)
        else:
            point = plan
        return point

    def _largest(self, inputs):
        """Return the largest weights, and outputs, that inputs suffice for."""
        x, y = self.search.x, self.search.y
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.where(x > 0, inputs / x, np.inf).min(axis=1)
        most = np.nan_to_num(most, nan=0.0, posinf=1.0)
        rows, bounds = x.T, inputs
        if self.search.technology.returns_to_scale in ("vrs", "drs"):
            most = np.minimum(most, 1.0)
            rows = np.vstack([rows, np.ones(len(x))])
            bounds = np.r_[inputs, 1.0]
        out = []
        for column in y.T:
            result = linprog(-column, A_ub=rows, b_ub=bounds)
            out.append(-result.fun if result.status == 0 else column.max() * len(x))
        return most, np.array(out) + 1e-9

    def _either(self, one, one_top, other, other_top):
        """Require two expressions to be at least 0 and one of them to be 0."""
        mip = self.mip
        switch = mip.binary("z")
        mip.require(mip.total([(one, 1.0)]) >= 0)
        mip.require(mip.total([(other, 1.0)]) >= 0)
        mip.require(mip.total([(one, 1.0), (switch, -one_top)]) <= 0)
        mip.require(mip.total([(other, 1.0), (switch, other_top)]) <= other_top)

    def _scale(self, weights, tops, constant, size):
        """Require what the returns to scale say of the sum of the weights."""
        mip, kind = self.mip, self.search.technology.returns_to_scale
        total = [(w, 1.0) for w in weights]
        if kind == "vrs":
            mip.require(mip.total(total) == 1)
        elif kind == "drs":
            slack = mip.total([(w, -1.0) for w in weights], 1.0)
            self._either(mip.total([(constant, -1.0)]), size, slack, 1.0)
        elif kind == "irs":
            slack = mip.total(total, -1.0)
            self._either(constant, size, slack, max(float(tops.sum()), 1.0))

    def _price(self):
        """Set the objective: squares by tangents, of which more come later."""
        mip, prices = self.mip, self.prices
        pairs, self.squares = [], []
        for direction, moves in enumerate((self.down, self.up)):
            for j, move in enumerate(moves):
                # At no price at all, steps would be arbitrary.
                pairs.append((move, prices.slope[direction, j] + 1e-9))
                if prices.curve[direction, j] and move.upBound:
                    square = mip.variable("s", 0, None)
                    pairs.append((square, prices.curve[direction, j]))
                    self.squares.append((move, square))
                    for part in np.geomspace(
                        move.upBound * 1e-3, move.upBound, N_TANGENTS
                    ):
                        self._tangent(move, square, part)
        if prices.most:
            longest = mip.variable("m", 0, None)
            pairs.append((longest, prices.most))
            for moves, reach in zip((self.down, self.up), prices.reach, strict=True):
                for move, r in zip(moves, reach, strict=True):
                    mip.require(mip.total([(move, r), (longest, -1.0)]) <= 0)
        if self.changed is not None:
            pairs.extend(zip(self.changed, prices.entry, strict=True))
        mip.minimize(mip.total(pairs))

    def _tangent(self, move, square, at):
        self.mip.require(self.mip.total([(square, 1.0), (move, -2.0 * at)]) >= -at * at)

    # -- solving ------------------------------------------------------------------

    def solve(self, number, top, deadline):
        """Return (Found or None, bound): nothing in this room costs less."""
        best, bound = None, -np.inf
        for _ in range(MAX_ROUNDS):
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return best, np.nan
            outcome = self.mip.solve(time_limit=left, gap=GAP / 10)
            if outcome.values is None:
                none = outcome.status == "infeasible" and best is None
                return best, np.inf if none else np.nan
            bound = max(bound, np.nan_to_num(outcome.bound, nan=-np.inf))
            for steps in self._candidates(outcome.values):
                cost = float(self.prices.of_steps(steps))
                if best is None or cost < best.cost:
                    best = Found(cost, steps, -1, number)
            if outcome.status != "optimal":
                return best, np.nan
            least = min(best.cost if best else np.inf, top)
            if least - bound <= GAP * max(abs(bound), 1e-6):
                return best, least
            if not self.squares:
                return best, np.nan
            for move, square in self.squares:
                at = self.mip.value(move, outcome.values)
                self._tangent(move, square, at)
        return best, np.nan

    def _candidates(self, values):
        """Yield the steps of a solution, and the cheapest ones at its prices."""
        steps = np.array([self.mip.value(s, values) for s in self.step])
        if self.changed is not None:
            kept = np.array([self.mip.value(c, values) > 0.5 for c in self.changed])
        else:
            kept = np.ones(len(steps), dtype=bool)
        steps[~kept | (np.abs(steps) < 1e-9)] = 0.0
        room, n_inputs = self.room, self.search.technology.n_inputs
        if self._reaches(steps):
            yield np.clip(steps, room.low, room.high)
        prices, constant = self.duals
        u_v = np.array([self.mip.value(p, values) for p in prices])
        w = self.mip.value(constant, values)
        u_v[u_v < 1e-9] = 0.0
        sign = np.where(np.arange(len(u_v)) < n_inputs, -self.wanted, 1.0)
        have = (u_v * sign) @ self.start
        have += w if self.search.measure == "input" else self.wanted * w
        a = (u_v * sign)[self.search.free]
        size = np.abs(a).max(initial=0.0)
        if not size:
            return
        low, high = np.where(kept, room.low, 0.0), np.where(kept, room.high, 0.0)
        try:
            better = coupled_step(
                np.vstack([-a / size, room.rows]),
                np.r_[have / size, room.at_most],
                low,
                high,
                self.prices,
            )
        except UnprovedError:
            return
        if better is not None:
            better[np.abs(better) < 1e-9] = 0.0
            if self._reaches(better):
                yield better

    def _reaches(self, steps):
        """Tell whether steps lead to a plan of the wanted efficiency."""
        plan = self.start.copy()
        plan[self.search.free] += steps
        technology = self.search.technology
        program = technology.program(self.search.measure)
        efficiency = program.efficiency(*np.split(plan, [technology.n_inputs]))
        return np.isfinite(efficiency) and efficiency >= self.wanted - 5e-8
