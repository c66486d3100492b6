"""What values of a point cost all rows together that become that point."""

import numpy as np


class SharedCosts:
    """The separable cost of a point, summed over weighted rows.

    Parameters
    ----------
    cost : BoundCost
        Without a part that is no sum over features.
    space : FeatureSpace
    x : ndarray of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,)
    """

    def __init__(self, cost, space, x, weight):
        self.cost, self.space, self.x, self.weight = cost, space, x, weight
        self._numbers = {}

    def number(self, g):
        """Return the SharedNumber of a numeric group, None for another one."""
        members = self.space.groups[g]
        if len(members) > 1 or not self.space.numeric[members[0]]:
            return None
        if g not in self._numbers:
            own = self.x[:, members[0]]
            self._numbers[g] = SharedNumber(self.cost, members[0], g, own, self.weight)
        return self._numbers[g]

    def of(self, g, codes):
        """Return the cost of rows of codes of a group, of shape (n,)."""
        number = self.number(g)
        if number is not None:
            gone = np.isnan(codes[:, 0])
            out = number.smooth(codes[:, 0]) + number.jump(codes[:, 0])
            return np.where(gone, number.gone, out)
        members = np.array(self.space.groups[g])
        own, back = np.unique(self.x[:, members], axis=0, return_inverse=True)
        share = np.bincount(back.ravel(), self.weight, len(own))
        c, bound = self.cost.cost, self.cost
        d, gauge = bound.cells(members, own[:, None, :], codes[None, :, :])
        d, gauge = d.max(axis=2, initial=0.0), gauge.max(axis=2, initial=0.0)
        total = c.l0 * (d > 0) + c.l1 * gauge + c.l2 * gauge**2
        return bound.weight[g] / bound.divisor * (share @ total)

    def total(self, codes):
        """Return the cost of a row of codes."""
        return float(self.weight @ self.cost.rows(self.x, codes[None, :]))


class SharedNumber:
    """The cost of a number, summed over rows: a convex function, less some jumps.

    Sums of what the sorted rows below and above a number weigh give value and slope at
    once. With prices that are equal up and down, squares add up to one square around
    the weighted mean.

    Parameters
    ----------
    cost : BoundCost
    j, g : int
        The column, and its group.
    own : ndarray of shape (n_rows,)
    weight : ndarray of shape (n_rows,)

    Attributes
    ----------
    kinks : ndarray
        The distinct numbers of the rows, in order.
    gone : float
        The cost of a missing value.
    """

    def __init__(self, cost, j, g, own, weight):
        c = cost.cost
        share = cost.weight[g] / cost.divisor
        known = ~np.isnan(own)
        one = share * (c.l0 + c.l1 + c.l2)
        self.gone = one * float(weight[known].sum())
        self._base = one * float(weight[~known].sum())
        self.kinks, back = np.unique(own[known], return_inverse=True)
        mass = np.bincount(back.ravel(), weight[known], len(self.kinks))
        self._mass, self._l0 = mass, share * c.l0
        # Around the middle, where sums of squares do not cancel.
        whole = mass.sum()
        self._middle = float(mass @ self.kinks / whole) if whole > 0 else 0.0
        at = self.kinks - self._middle
        self._sums = [
            np.concatenate([[0.0], np.cumsum(mass * at**k)]) for k in range(3)
        ]
        up, down = cost.up[j] / cost.unit[j], cost.down[j] / cost.unit[j]
        self._line = share * c.l1 * up, share * c.l1 * down
        self._square = share * c.l2 * up**2, share * c.l2 * down**2

    def _parts(self, k):
        """Return the three coefficients where `k` distinct rows are below."""
        (w, wa, waa), (lu, ld), (su, sd) = self._sums, self._line, self._square
        above = w[-1] - w[k], wa[-1] - wa[k], waa[-1] - waa[k]
        square = su * w[k] + sd * above[0]
        line = lu * w[k] - ld * above[0] - 2 * (su * wa[k] + sd * above[1])
        constant = su * waa[k] + sd * above[2] - lu * wa[k] + ld * above[1]
        return square, line, constant

    def smooth(self, numbers):
        """Return the convex part of the cost of numbers."""
        square, line, constant = self._parts(np.searchsorted(self.kinks, numbers))
        at = numbers - self._middle
        out = np.maximum(square * at**2 + line * at + constant, 0.0)
        return out + self._l0 * self._sums[0][-1] + self._base

    def slope(self, numbers, side="right"):
        """Return the slope to the right, or to the left, of numbers."""
        k = np.searchsorted(self.kinks, numbers, side=side)
        square, line, _ = self._parts(k)
        return 2 * square * (numbers - self._middle) + line

    def jump(self, numbers):
        """Return what numbers save that some rows have, not above 0."""
        if not self._l0 or not len(self.kinks):
            return np.zeros(len(numbers))
        k = np.minimum(np.searchsorted(self.kinks, numbers), len(self.kinks) - 1)
        return np.where(self.kinks[k] == numbers, -self._l0 * self._mass[k], 0.0)

    def least(self, low, high):
        """Return where the convex part is least between two numbers."""
        below, above = low, high
        if not self.slope(np.array([low]))[0] < 0:
            return low
        marks = self.kinks[(self.kinks > low) & (self.kinks < high)]
        left = self.slope(marks, "left")
        k = int(np.searchsorted(left, 0.0, side="left"))
        if k < len(marks):
            above = marks[k]
        if k:
            below = marks[k - 1]
            if self.slope(marks[k - 1 : k])[0] >= 0:
                return float(below)
        # Between two kinks the slope is a straight line.
        square, line, _ = self._parts(
            np.searchsorted(self.kinks, np.array([below]), side="right")
        )
        if square[0] <= 0:
            return float(above)
        return float(np.clip(self._middle - line[0] / (2 * square[0]), below, above))
