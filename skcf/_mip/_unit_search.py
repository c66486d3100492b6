"""The cheapest counterfactual of a network over numbers, by branch and bound."""

import heapq
from dataclasses import dataclass, replace

import numpy as np

from skcf._mip._goal_rows import goal_rows, margins_of
from skcf._mip._interior import Relaxation
from skcf._mip._net import Net, Price
from skcf._mip._program import ABSOLUTE, RELATIVE
from skcf._mip._unit_bounds import UnitBounds
from skcf._mip._variables import MAX_STEPS
from skcf._mip._water import fill

# How many relaxations are solved at a time, and how many entries their systems have.
MOST, ENTRIES = 64, 8_000_000
# Tangents of the network that are followed from the query, from a point of a node.
N_WALK, N_SHORT_WALK, N_WALKS = 16, 3, 4


@dataclass(frozen=True, eq=False)
class Numbers:
    """What may move in a query, all of it single numbers.

    Attributes
    ----------
    columns : ndarray of shape (n_numbers,)
    low, high : ndarray of shape (n_numbers,)
        Ends, as codes.
    net : Net
    price : Price
    """

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    net: Net
    price: Price

    @classmethod
    def read(cls, solver, case, rows):
        """Return the numbers of a case, None where it is about more than numbers.

        That is where a value is a category or on a grid, where rules tie columns
        together, or where the cost is no sum of squares (and of lines).
        """
        rules, cost, c = solver.rules, solver.cost, solver.cost.cost
        limit = rules.limit(1, np.array([case.lifted]))[0]
        tied = any(p.rule != case.lifted for p in (*rules.joint, *rules.facts))
        if c.l0 or c.linf or not c.l2 or limit < len(case.pieces) or tied:
            return None
        if rows.nu is not None or case.excluded or getattr(cost, "causal", ()):
            return None
        first, own = solver.inputs.own(case.encoded)
        columns, low, high, slopes = [], [], [], []
        for g, pieces in enumerate(case.pieces):
            if _still(solver, g, pieces, own[g]):
                first = first + own[g]
                continue
            if not _is_number(solver, g, pieces, own[g]):
                return None
            first = first + own[g]
            columns.append(pieces.columns[0])
            low.append(pieces.low.min())
            high.append(pieces.high.max())
            slopes.append(solver.inputs.table(g, pieces, own[g])[1])
        j = np.array(columns, dtype=np.intp)
        price = np.stack([cost.up[j], cost.down[j]]) / cost.unit[j]
        share = cost.weight[solver.space.group_of[j]] / cost.divisor
        square = c.l2 * share * price**2
        if not len(j) or not (square > 0).all():
            return None
        low, high, own = np.array(low), np.array(high), case.x[j]
        cap = np.maximum(np.stack([high - own, own - low]), 0.0)
        layers = solver.layers
        net = Net(
            np.array(slopes),
            list(layers.weights[1:]),
            [first, *layers.biases[1:]],
            rows.factors,
            rows.least,
        )
        return cls(j, low, high, net, Price(c.l1 * share * price, square, cap))

    def scaled(self, top):
        """Return (numbers in units of what costs `top`, the units)."""
        price = self.price
        unit = np.sqrt(top / price.square.min(axis=0))
        unit = np.minimum(unit, price.cap.max(axis=0))
        unit = np.where(unit > 0, unit, 1.0)
        cap = np.minimum(price.cap / unit, 1.0)
        scaled = Price(price.line * unit / top, price.square * unit**2 / top, cap)
        net = replace(self.net, slopes=self.net.slopes * unit[:, None])
        return replace(self, net=net, price=scaled), unit

    def codes(self, x, steps, space):
        """Return the row of codes that steps lead to."""
        out = x.copy()
        for j, low, high, step in zip(
            self.columns, self.low, self.high, steps, strict=True
        ):
            if step:
                moved = float(space.columns[j].snap(np.array(x[j] + step)))
                out[j] = min(max(moved, low), high)
        return out


def _still(solver, g, pieces, own):
    """Tell whether a group stays as it is, or the network does not read it."""
    if pieces.home < 0:
        return False
    if len(pieces) == 1 and not pieces.interval.any():
        return True
    low, slope = solver.inputs.table(g, pieces, own)
    return not np.ptp(low, axis=0).any() and (slope is None or not slope.any())


def _is_number(solver, g, pieces, own):
    """Tell whether a group is a number without a grid that matters."""
    if not pieces.plain or not solver.inputs.straight(g):
        return False
    if solver.inputs.bends(g, pieces, own):
        return False
    span = float(pieces.high.max() - pieces.low.min())
    return pieces.step is None or span / pieces.step > MAX_STEPS


class UnitSearch:
    r"""Branch and bound over which units are on.

    A node says of some units that they are on or off. Its bounds of all sums follow,
    within what the best answer so far costs, and its relaxation has a bound of the
    cost. The unit whose upper line the bound hangs on most is branched on. Where no
    unit is left that matters the relaxation is the network itself.

    Parameters
    ----------
    solver : ReluSolver
    case : Case
    rows : GoalRows
    numbers : Numbers
    matters : ndarray of bool of shape (n_units,)
        Which units must not be larger than they are.
    top : float
        Only what costs less is wanted.

    References
    ----------
    .. [1] Bunel, R., Lu, J., Turkaslan, I., Torr, P. H. S., Kohli, P., Kumar, M. P.
       (2020). Branch and bound for piecewise linear neural network verification.
       Journal of Machine Learning Research, 21(42), 1-39.
       doi:10.48550/arXiv.1909.06588
    """

    def __init__(self, solver, case, rows, numbers, matters, top):
        self.solver, self.case, self.rows = solver, case, rows
        self.numbers, self.matters = numbers, matters
        self.codes, self.best, self.top = None, top, top
        self.left_open = np.inf
        self.heap, self.count = [], 0

    def run(self):
        """Return (codes or None, bound, whether there is none)."""
        numbers = self.numbers
        self._walk(np.zeros(len(numbers.columns)), N_WALK)
        # Nothing costs more than to go to all ends.
        self.scale = float(numbers.price.of(numbers.price.cap)) * (1.0 + 1e-6)
        self._rescale()
        m = self.relaxation.m
        self._push(0.0, np.full(m, -np.inf), np.full(m, np.inf))
        limit = int(np.clip(ENTRIES // (m + self.relaxation.r) ** 3, 1, MOST))
        while self.heap and not self.case.expired:
            self._expand(limit)
            if self.best < 0.7 * self.scale:
                self._rescale()
        if self.codes is None and np.isinf(self.top):
            none = not self.heap and np.isinf(self.left_open)
            return None, np.inf if none else self._proved(), none
        return self.codes, self._proved(), False

    def _rescale(self):
        """Take the cost of the best answer for a unit: tolerances are absolute."""
        self.scale = min(self.best, self.scale)
        scaled, self.unit = self.numbers.scaled(self.scale)
        self.relaxation = Relaxation(scaled.net, scaled.price)
        self.bounds = UnitBounds(scaled.net, scaled.price)

    def _proved(self):
        """Return what nothing is cheaper than."""
        ahead = self.heap[0][0] if self.heap else np.inf
        return min(ahead, self._cut, self.left_open)

    @property
    def _cut(self):
        """What a bound has to reach."""
        if np.isinf(self.best):
            return self.scale
        return self.best - 0.5 * (RELATIVE * self.best + ABSOLUTE)

    def _expired(self):
        return self.case.expired

    def _push(self, bound, low, high):
        heapq.heappush(self.heap, (bound, self.count, low, high))
        self.count += 1

    # -- nodes ------------------------------------------------------------------------

    def _expand(self, limit):
        """Bound the most promising nodes, and branch where that is not enough."""
        nodes = [heapq.heappop(self.heap) for _ in range(min(limit, len(self.heap)))]
        nodes = [node for node in nodes if node[0] < self._cut]
        if not nodes:
            return
        known = np.array([node[0] for node in nodes])
        low, high = (np.array([node[i] for node in nodes]) for i in (2, 3))
        top = min(self.best / self.scale, 1.0)
        low, high = self.bounds.tightened(low, high, top)
        some = (low <= high).all(axis=1)
        known, low, high = known[some], low[some], high[some]
        if not len(known):
            return
        open_ = (low < 0) & (high > 0) & self.matters
        leaf = ~open_.any(axis=1)
        said = self.relaxation.solve(
            low, high, self._cut / self.scale, leaf, expired=self._expired
        )
        bound = np.maximum(known, said.bound * self.scale)
        steps = said.steps * self.unit
        for i in np.argsort(bound)[:N_WALKS]:
            if bound[i] < self._cut and not leaf[i]:
                self._walk(steps[i], N_SHORT_WALK)
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.where(open_, 1.0 / (1.0 / high - 1.0 / low), -1.0)
        # Nothing hangs on a unit that is narrow, whatever its multiplier.
        branch = np.where(open_, (said.strain + 1e-12) * width, -1.0).argmax(axis=1)
        for i in np.flatnonzero(leaf & (bound < self._cut)):
            self._close(bound[i], low[i], high[i], steps[i])
        for i in np.flatnonzero(~leaf & (bound < self._cut)):
            for ends, value in ((low, 0.0), (high, 0.0)):
                child = ends[i].copy()
                child[branch[i]] = value
                pair = (child, high[i]) if ends is low else (low[i], child)
                self._push(bound[i], *pair)
        self._tell()

    def _close(self, bound, low, high, steps):
        """Make an answer of a node without a unit left that matters."""
        goal = self.case.goal
        self._try(self._onto(steps, 0.0))
        for margin in margins_of(goal)[1:]:
            if bound < self._cut and not self.case.expired:
                rows = goal_rows(self.solver.model, goal, margin)[self.case.which]
                more = float((rows.least - self.rows.least).max())
                said = self.relaxation.solve(
                    low[None], high[None], 2.0, np.ones(1, dtype=bool), more
                )
                self._try(self._onto(said.steps[0] * self.unit, more))
        if bound < self._cut:
            self.left_open = min(self.left_open, bound)

    def _tell(self):
        if self.case.tell is not None:
            self.case.tell(self.best, self._proved())

    # -- answers ----------------------------------------------------------------------

    def _try(self, steps):
        """Keep the answer that steps lead to if it is the cheapest so far."""
        codes = self.numbers.codes(self.case.x, steps, self.solver.space)
        cost = self.solver._cost_of(self.case, codes)
        if cost < self.best and self.solver._accepted(self.case, codes):
            self.codes, self.best = codes, cost

    def _onto(self, steps, more):
        """Return steps that make up for the last digits of the target, and `more`."""
        net = self.numbers.net
        for _ in range(3):
            lack = net.shortage(steps) + more
            row = int(lack.argmax())
            if not 0.0 < lack[row] < 1e-5:
                break
            slope = net.tangent(steps, row)
            way = slope * self.unit**2
            if not slope @ way > 0:
                break
            steps = steps + way * (lack[row] / (slope @ way))
        return steps

    def _walk(self, steps, n):
        """Follow tangents of the network to answers.

        Each leads to the cheapest point at which it has what is missing. Where they
        lead round in circles, more is asked of them than is needed.
        """
        net, price = self.numbers.net, self.numbers.price
        seen, more = set(), 0.0
        for _ in range(n):
            lack = net.shortage(steps)
            row = int(lack.argmax())
            slope = net.tangent(steps, row)
            read = slope != 0
            way = np.where(slope > 0, 0, 1)
            line, square, cap = (
                np.take_along_axis(part, way[None], 0)[0][read]
                for part in (price.line, price.square, price.cap)
            )
            need = lack[row] + slope @ steps + more
            done = fill(np.abs(slope[read]), line, square, cap, need)
            if done is None:
                return
            steps = np.zeros(len(slope))
            steps[read] = np.sign(slope[read]) * done
            lack = net.shortage(steps)
            if lack.max() <= 1e-9:
                self._try(steps)
            if steps.tobytes() in seen:
                if lack.max() <= 1e-9:
                    return
                more = 2.0 * more + max(lack.max(), 0.0)
            seen.add(steps.tobytes())
