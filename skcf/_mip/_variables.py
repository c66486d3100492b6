"""The variables of one group of columns in a program, and what their values cost."""

import numpy as np

# Longer grids are relaxed to numbers: their steps are smaller than any tolerance.
MAX_STEPS = 1_000_000
# Tangents of a square that are there from the beginning.
N_TANGENTS = 5


class GroupVariables:
    """The choice of a piece, and of a number inside it where that is needed.

    A number in an interval piece is the end that is nearer to the query plus a
    `reach` above zero; on a grid the reach is a whole number of steps.

    Parameters
    ----------
    mip : Mip
    pieces : Pieces
    cost : BoundCost
    x : ndarray of shape (n_features,)
        Codes of the query.
    space : FeatureSpace
    g : int
        The group.
    home : bool
        Whether it matters if the group is changed. If not, and nothing else tells the
        pieces apart, they are one interval without a binary variable.
    ordered : bool, default=False
        Whether the binary variables say how many pieces, in their order, the choice is
        beyond. Runs of pieces are then differences of two of them.
    charged : bool, default=True
        Whether a change costs anything by itself.

    Attributes
    ----------
    choice : list of expressions
        For each piece 1 where it is chosen, 0 elsewhere.
    curves : list of Curve
        The squares in the cost.
    peak : expression
        What counts in the largest single difference.
    spending : expression
        The separable cost, squares included.
    exact : bool
        Whether numbers on a grid are kept to it.
    """

    def __init__(
        self, mip, pieces, cost, x, space, g, home, ordered=False, charged=True
    ):
        self.mip, self.pieces, self.cost, self.g = mip, pieces, cost, g
        self.x, self.columns = x, pieces.columns
        self.curves, self.exact = [], True
        self._weight = float(cost.weight[g]) if charged else 0.0
        self._charged = charged
        self._whole = pieces.step is not None and all(
            space.columns[j].kind == "numeric" for j in self.columns
        )
        self.free = pieces.plain and not home and pieces.interval.any()
        self.spending = mip.total([])
        self.peak = mip.total([])
        if self.free:
            self._make_free()
        else:
            self.choice = self._new_choice(len(pieces), ordered)
            self._make_choice()

    # -- shape ----------------------------------------------------------------------

    def _make_free(self):
        """Make one number around the query's own, up or down."""
        mip, p = self.mip, self.pieces
        own = self.x[self.columns[0]]
        one = mip.total([], 1.0)
        self.choice = None
        number, self._reach = [], []
        for low, high, sign in (
            (own, p.high[-1, 0], 1.0),
            (own, p.low[0, 0], -1.0),
        ):
            size = float(abs(high - low))
            reach = self._new_reach(size) if size > 0 else mip.total([])
            number.append((reach, sign))
            self._reach.append((reach, low, sign))
            if size > 0:
                self._charge(reach, one, 0.0, size, sign)
        self.number = mip.total(number, own)
        self.changed = None

    def _new_choice(self, n, ordered):
        """Return an expression for each piece, of which one is 1."""
        mip = self.mip
        if n == 1:
            return [mip.total([], 1.0)]
        if not ordered:
            taken = [mip.binary(f"g{self.g}") for _ in range(n)]
            mip.require(mip.total([(b, 1.0) for b in taken]) == 1.0)
            return [mip.total([(b, 1.0)]) for b in taken]
        beyond = [mip.binary(f"g{self.g}") for _ in range(n - 1)]
        for one, two in zip(beyond, beyond[1:], strict=False):
            mip.require(two - one <= 0)
        ends = [mip.total([], 1.0), *beyond, mip.total([])]
        return [
            mip.total([(one, 1.0), (two, -1.0)])
            for one, two in zip(ends, ends[1:], strict=False)
        ]

    def _make_choice(self):
        """Let one piece be chosen, and a number in it."""
        mip, p = self.mip, self.pieces
        n = len(p)
        home = self.choice[p.home] if p.home >= 0 else mip.total([])
        self.changed = mip.total([(home, -1.0)], 1.0)
        d, charge = self._point_costs(p.low)
        inner = p.interval
        at = np.flatnonzero(~inner)
        self.spending = mip.total([(self.choice[i], charge[i]) for i in at])
        self.peak = mip.total([(self.choice[i], d[i]) for i in at])
        own = self.x[self.columns[0]]
        number = [
            (b, v)
            for b, v, i in zip(self.choice, p.low[:, 0], inner, strict=True)
            if not i and not np.isnan(v)
        ]
        self._reach = [None] * n
        for k in np.flatnonzero(inner):
            near, far, sign = p.low[k, 0], p.high[k, 0], 1.0
            if not np.isnan(own) and far < own:
                near, far, sign = far, near, -1.0
            size = float(abs(far - near))
            reach = self._new_reach(size)
            mip.require(reach - size * self.choice[k] <= 0)
            self._reach[k] = (reach, near, sign)
            number += [(self.choice[k], near), (reach, sign)]
            if np.isnan(own):
                self.spending = mip.total(
                    [(self.spending, 1.0), (self.choice[k], charge[k])]
                )
                self.peak = mip.total([(self.peak, 1.0), (self.choice[k], d[k])])
            else:
                self._charge(reach, self.choice[k], abs(near - own), size, sign)
        self.number = mip.total(number)

    def _new_reach(self, size):
        """Return a new variable between 0 and a size, on the grid if there is one."""
        step = self.pieces.step
        if self._whole and step is not None:
            steps = round(size / step)
            self.exact &= steps <= MAX_STEPS
            if steps <= MAX_STEPS:
                count = self.mip.variable(f"n{self.g}", 0, steps, integer=True)
                return self.mip.total([(count, size / steps)])
        return self.mip.total([(self.mip.variable(f"x{self.g}", 0, size), 1.0)])

    # -- cost -----------------------------------------------------------------------

    def _point_costs(self, codes):
        """Return (peak, separable cost) of rows of codes of the group."""
        c = self.cost
        own = self.x[list(self.columns)]
        parts = [
            c.cells(np.full(len(codes), j), own[i], codes[:, i])
            for i, j in enumerate(self.columns)
        ]
        d = np.max([part[0] for part in parts], axis=0)
        g = np.max([part[1] for part in parts], axis=0)
        n = c.cost
        total = n.l0 * (d > 0) + n.l1 * g + n.l2 * g**2
        return self._weight * g, self._weight / c.divisor * total

    def _charge(self, reach, taken, offset, size, sign):
        """Add what a number at `offset` plus `reach` from the query costs."""
        if not self._charged:
            return
        mip, c, j = self.mip, self.cost, self.columns[0]
        price = (c.up if sign > 0 else c.down)[j] / c.unit[j]
        amount = mip.total([(reach, price), (taken, offset * price)])
        share = self._weight / c.divisor
        terms = [(self.spending, 1.0), (amount, share * c.cost.l1)]
        if not self.free:
            terms.append((taken, share * c.cost.l0))
        if c.cost.l2 and price > 0:
            grid = None
            if self._whole and size / self.pieces.step <= MAX_STEPS:
                grid = self.pieces.step * price
            low, high = offset * price, (offset + size) * price
            curve = Curve(mip, amount, taken, low, high, grid, f"q{self.g}")
            self.curves.append(curve)
            terms.append((curve.value, share * c.cost.l2))
        self.spending = mip.total(terms)
        self.peak = mip.total([(self.peak, 1.0), (amount, self._weight)])

    # -- reading --------------------------------------------------------------------

    def where(self, mask):
        """Return the expression that is 1 where a piece of a mask is chosen."""
        if self.free:
            return self.mip.total([], float(mask[0]))
        return self.mip.total(
            [(b, 1.0) for b, m in zip(self.choice, mask, strict=True) if m]
        )

    def reaches(self, slope):
        """Return (term, factor) pairs: a line through the low ends, less these ends."""
        pairs = []
        for k, known in enumerate(self._reach):
            if known is not None:
                reach, near, sign = known
                pairs.append((reach, sign * slope))
                offset = near - self.pieces.low[k, 0]
                if offset:
                    pairs.append((self.choice[k], offset * slope))
        return pairs

    def chosen(self, values):
        """Return the number of the chosen piece, -1 where they are one interval."""
        if self.free:
            return -1
        return int(np.argmax([self.mip.value(b, values) for b in self.choice]))

    def codes(self, values, column):
        """Return the codes of the group at the values of an Outcome."""
        p, mip = self.pieces, self.mip
        own = self.x[list(self.columns)]
        if self.free:
            number = mip.value(self.number, values)
            if abs(number - own[0]) <= 1e-9 * max(1.0, abs(own[0])):
                return own
            low, high = p.low[0, 0], p.high[-1, 0]
            return np.array([_inside(column, number, low, high)])
        k = self.chosen(values)
        if self._reach[k] is None:
            return p.low[k]
        reach, near, sign = self._reach[k]
        number = near + sign * mip.value(reach, values)
        return np.array([_inside(column, number, p.low[k, 0], p.high[k, 0])])


def _inside(column, number, low, high):
    """Return a possible value of a column next to a number, between two others."""
    return float(np.clip(column.snap(np.array(number)), low, high))


class Curve:
    """The square of an amount from below, by lines that are added where needed.

    Where the amount is on a grid the lines are chords between neighbours, which meet
    the square at both; elsewhere they are tangents. They are scaled by the choice of
    the piece, so that they are tight where it is only partly chosen (perspective
    cuts).

    References
    ----------
    .. [1] Frangioni, A., Gentile, C. (2006). Perspective cuts for a class of convex
       0-1 mixed integer programs. Mathematical Programming, 106, 225-236.
       doi:10.1007/s10107-005-0594-3
    """

    def __init__(self, mip, amount, taken, low, high, grid, name):
        self.mip, self.amount, self.taken = mip, amount, taken
        self.low, self.high, self.grid = low, high, grid
        self.value = mip.variable(name, 0, high * high)
        self._known = set()
        n = N_TANGENTS
        if grid is not None:
            n = min(n, round((high - low) / grid) + 1)
        for at in np.linspace(low, high, n):
            self.touch(at)

    def narrow(self, most, n):
        """Keep the amount below `most`, and add `n` lines up to there."""
        if most < self.high:
            pairs = [(self.amount, 1.0), (self.taken, -float(most))]
            self.mip.require(self.mip.total(pairs) <= 0)
        for at in np.linspace(self.low, min(most, self.high), n):
            self.touch(at)

    def touch(self, at):
        """Add the line next to an amount; return whether there is a new one."""
        at = min(max(at, self.low), self.high)
        if self.grid is None:
            slope, offset = 2 * at, -at * at
        else:
            left = self.low + np.floor((at - self.low) / self.grid + 1e-9) * self.grid
            left = max(self.low, min(left, self.high - self.grid))
            right = left + self.grid
            slope, offset = left + right, -left * right
        key = round(slope / max(self.high, 1e-300), 12)
        if key in self._known:
            return False
        self._known.add(key)
        mip = self.mip
        pairs = [(self.value, 1.0), (self.amount, -slope), (self.taken, -offset)]
        mip.require(mip.total(pairs) >= 0)
        return True

    def refine(self, values):
        """Add a line at the values of an Outcome; return whether there is a new one."""
        at = self.mip.value(self.amount, values)
        known = max(self.mip.value(self.value, values), 0.0)
        if at <= known**0.5 + 1e-12:
            return False
        return self.touch(at)
