"""The least cost of a point that several rows share: a program to add a model to."""

import numpy as np

from skcf._mip._adapter import Mip
from skcf._mip._program import Program
from skcf._mip._rule_rows import RuleRows
from skcf._mip._variables import MAX_STEPS, GroupVariables

# Lines under each sum that are there from the beginning.
N_LINES = 9
NEAR = 1e-12


class SharedProgram(Program):
    """Variables of all groups of a shared point, their summed cost, and the rules.

    Parameters
    ----------
    rules : RuleSet
        Rules between groups do not read the rows' own values.
    shared : SharedCosts
    x : ndarray of shape (n_features,)
        Some point, at which the search begins.
    pieces : list of Pieces
        Of all groups.
    turn : int, default=0
        How often an answer was turned down: rows of rules get tighter.
    """

    def __init__(self, rules, shared, x, pieces, turn=0):
        self.rules, self.cost, self.x = rules, shared.cost, x
        self.shared, self.space = shared, rules.space
        self.mip, self.causal = Mip(), ()
        self.impossible = any(len(p) == 0 for p in pieces)
        self.groups, self.curves = [], []
        if self.impossible:
            return
        self.groups = [
            SharedGroup(self.mip, p, shared, x, g) for g, p in enumerate(pieces)
        ]
        self.curves = [c for group in self.groups for c in group.curves]
        self.exact = all(group.exact for group in self.groups)
        rows = RuleRows(self.mip, self.groups, rules, x, turn)
        for part in rules.joint:
            rows.require(part)
        self._add_cost()

    def narrow(self, top, n):
        """Draw `n` lines under each sum where the whole costs less than `top`."""
        spare = top - sum(group.floor for group in self.groups)
        for group in self.groups:
            for curve in group.curves:
                curve.narrow(group.floor + max(spare, 0.0), n)

    def cost_of(self, codes):
        """Return the cost of a row of codes."""
        return self.shared.total(codes)


class SharedGroup(GroupVariables):
    """The choice of a value of a group, and what it costs all rows.

    The cost of a number is a convex function, which lines bound from below. Numbers
    that save a jump are pieces of their own.

    Attributes
    ----------
    floor : float
        What the group costs at least.
    """

    def __init__(self, mip, pieces, shared, x, g):
        space, own = shared.space, shared.number(g)
        super().__init__(
            mip, pieces, shared.cost, x, space, g, home=False, charged=False
        )
        cost = shared.of(g, pieces.low)
        self.floor = float(cost.min())
        if not pieces.interval.any():
            self.spending = mip.total(zip(self.choice, cost, strict=True))
            return
        present = ~np.isnan(pieces.low[:, 0])
        low = float(pieces.low[present, 0].min())
        high = float(pieces.high[present, 0].max())
        least = own.least(low, high)
        step = pieces.step if self._whole else None
        if step is not None and (high - low) / step > MAX_STEPS:
            step = None
        self.floor = float(own.smooth(np.array([least]))[0]) + _deepest(own, pieces)
        if not present.all():
            # All rows lack the number, so that any costs the same.
            there = self.where(present)
            self.spending = mip.total([(there, float(cost[present][0]))])
            self.floor = 0.0
            return
        curve = SumCurve(mip, self.number, own, low, high, step, f"q{g}")
        self.curves.append(curve)
        terms = [(curve.value, 1.0)]
        if self.choice is not None:
            saved = np.where(pieces.interval, 0.0, 1.0).astype(bool)
            jump = np.where(saved[:, None], own.jump(pieces.low), 0.0)[:, 0]
            terms += [(b, v) for b, v in zip(self.choice, jump, strict=True) if v]
        self.spending = mip.total(terms)

    def _make_free(self):
        """Make one number from the low end upwards."""
        low, high = self.pieces.low[0, 0], self.pieces.high[-1, 0]
        reach = self._new_reach(float(high - low))
        self.choice = self.changed = None
        self.number = self.mip.total([(reach, 1.0)], float(low))
        self._reach = [(reach, low, 1.0)]


def _deepest(own, pieces):
    return float(own.jump(pieces.low[:, 0]).min(initial=0.0))


class SumCurve:
    """A convex function of a number from below, by lines added where needed.

    On a grid the lines are chords between neighbours, elsewhere tangents.
    """

    def __init__(self, mip, number, own, low, high, step, name):
        self.mip, self.number, self.own = mip, number, own
        self.low, self.high, self.step = low, high, step
        self.value = mip.variable(name, 0, None)
        self._known = set()
        inside = own.kinks[(own.kinks >= low) & (own.kinks <= high)]
        marks = [low, own.least(low, high), high]
        if len(inside):
            marks += np.quantile(inside, np.linspace(0, 1, N_LINES)).tolist()
        for at in marks:
            self.touch(at)

    def touch(self, at):
        """Add the line next to a number; return whether there is a new one."""
        at = min(max(at, self.low), self.high)
        if self.step is None:
            slope = float(self.own.slope(np.array([at]))[0])
            value = float(self.own.smooth(np.array([at]))[0])
        else:
            n = np.floor((at - self.low) / self.step + 1e-9)
            at = max(self.low, min(self.low + n * self.step, self.high - self.step))
            value, after = self.own.smooth(np.array([at, at + self.step]))
            slope, value = float((after - value) / self.step), float(value)
        key = round(at, 12), round(slope, 12)
        if key in self._known:
            return False
        self._known.add(key)
        row = self.mip.total([(self.value, 1.0), (self.number, -slope)])
        self.mip.require(row >= value - slope * at)
        return True

    def narrow(self, most, n):
        """Keep the function below `most`, and add `n` lines where it is."""
        low, high = self._below(most)
        if low > self.low:
            self.mip.require(self.number >= low)
        if high < self.high:
            self.mip.require(self.number <= high)
        for at in np.linspace(low, high, n):
            self.touch(at)

    def _below(self, most):
        """Return a range outside of which the function is above `most`."""
        middle, ends = self.own.least(self.low, self.high), []
        for end in (self.low, self.high):
            near, far = middle, end
            if self.own.smooth(np.array([far]))[0] > most:
                for _ in range(40):
                    half = (near + far) / 2
                    over = self.own.smooth(np.array([half]))[0] > most
                    near, far = (near, half) if over else (half, far)
            ends.append(far)
        return ends

    def refine(self, values):
        """Add a line at the values of an Outcome; return whether there is a new one."""
        at = self.mip.value(self.number, values)
        at = min(max(at, self.low), self.high)
        known = self.mip.value(self.value, values)
        true = float(self.own.smooth(np.array([at]))[0])
        if true <= known + NEAR * (1.0 + abs(true)):
            return False
        return self.touch(at)
