"""The cheapest point that several rows may share, in an ensemble of trees."""

import numpy as np

from skcf._mip._tree_cells import CellMaker, turns_of
from skcf._mip._tree_solver import TreeSolver


class SharedTreeSolver(TreeSolver):
    """Finds the point of least total cost for rows that all become that point.

    An ensemble is constant on the cells of its thresholds, and a cost that is a sum
    over features stays one when it is summed over rows. So the problem is that of a
    single query whose values cost what they cost all rows together; the cheapest point
    of a cell is the least of that sum, which is not where the least of its terms is.

    Parameters
    ----------
    model, space, rules, cost, boxes : as of TreeSolver
    base : ndarray of shape (n_features,)
        Codes of a training row: its values are among those that can be proposed.
    """

    def __init__(self, model, space, rules, cost, base, boxes=None):
        super().__init__(model, space, rules, cost, boxes)
        self.base = base

    def with_rules(self, rules):
        """Return the solver for another rule set."""
        same = np.array_equal(rules.low, self.rules.low)
        same &= np.array_equal(rules.high, self.rules.high)
        boxes = self.boxes if same else None
        return type(self)(self.model, self.space, rules, self.cost, self.base, boxes)

    def locate(self, x, weight, goal, *, deadline=None, accept=None):
        """Return (codes or None, bound) of the cheapest point for some rows.

        Parameters
        ----------
        x : ndarray of shape (n_rows, n_features)
        weight : ndarray of shape (n_rows,)
        goal : Goal
            Of one row, which all share.
        deadline : float, default=None
        accept : callable, default=None
            Asks the model about rows of codes.
        """
        # A maker of its own, so that calls may run side by side.
        self = self._copy(SharedCellMaker(self.boxes, self.rules, self.cost, x, weight))
        # Whatever all rows have they can keep, also where training rows never had it.
        base = self.base.copy()
        for members in map(list, self.space.groups):
            own = x[:, members]
            if ((own == own[0]) | (np.isnan(own) & np.isnan(own[0]))).all():
                base[members] = own[0]
        found = self.solve(base, goal, deadline=deadline, accept=accept)
        return (found.codes[0] if len(found) else None), found.lower_bound

    def _copy(self, maker):
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, maker=maker)
        return copy


class SharedCellMaker(CellMaker):
    """Makes the cells of a point that some rows share."""

    def __init__(self, boxes, rules, cost, x, weight):
        super().__init__(boxes, rules, cost)
        self.x, self.weight = x, weight

    def _passes(self, g, x, codes, lifted):
        ok = np.ones(codes.shape[:-1], dtype=bool)
        columns = {j for p in self._filters(g, lifted) for j in p.x_columns}
        # Rows that the rules cannot tell apart say the same.
        for row in _distinct(self.x, columns):
            ok &= super()._passes(g, row, codes, lifted)
        return ok

    def _nearest(self, g, j, x, low, high, at, lifted):
        if not len(low):
            return np.empty((0, 1))
        column, own = self.space.columns[j], self.x[:, j]
        marks = [own, self._stationary(g, j)]
        for part in self._filters(g, lifted):
            for row in _distinct(self.x, part.x_columns):
                marks.append(np.array(turns_of(part.node, j, row)))
        marks = np.concatenate(marks)
        marks = np.unique(column.beside(np.unique(marks[np.isfinite(marks)])))
        cell = np.searchsorted(low, marks, side="right") - 1
        inside = (cell >= 0) & (marks <= high[cell])
        ends = np.arange(len(low))
        # The base's own number may be off the grid, or beyond what training rows had.
        mine = np.full(len(at), x[j])
        cell = np.concatenate([at, cell[inside], ends, ends])
        points = np.concatenate([mine, marks[inside], low, high])
        total, _ = self._costs(g, None, points[:, None])
        total[~self._passes(g, x, points[:, None], lifted)] = np.inf
        order = np.lexsort((points, total, cell))
        first = np.searchsorted(cell[order], ends)
        return points[order[first]][:, None]

    def _stationary(self, g, j):
        """Return the numbers at which a sum of squares and prices may be least."""
        c, bound = self.cost.cost, self.cost
        known = ~np.isnan(self.x[:, j])
        if not c.l2 or not known.any():
            return np.empty(0)
        order = np.argsort(self.x[known, j])
        own, weight = self.x[known, j][order], self.weight[known][order]
        up, down = bound.up[j] / bound.unit[j], bound.down[j] / bound.unit[j]
        # With the first k rows below and the others above.
        square = _split(weight, up**2, down**2)
        pull = _split(weight * own, up**2, down**2)
        slope = _split(weight, up, -down)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (2 * c.l2 * pull - c.l1 * slope) / (2 * c.l2 * square)

    def _costs(self, g, own, code):
        members = np.array(self.space.groups[g])
        c, bound = self.cost.cost, self.cost
        total = np.zeros(len(code))
        for row, weight in zip(self.x[:, members], self.weight, strict=True):
            d, gauge = bound.cells(members, row[None, :], code)
            d, gauge = d.max(axis=1, initial=0.0), gauge.max(axis=1, initial=0.0)
            total += weight * (c.l0 * (d > 0) + c.l1 * gauge + c.l2 * gauge**2)
        # A missing value is nobody's aim where not all rows lack it.
        lacking = np.isnan(self.x[:, members]).all(axis=0)
        total[(np.isnan(code[:, : len(members)]) & ~lacking).any(axis=1)] = np.inf
        return bound.weight[g] * total / bound.divisor, np.zeros(len(code))


def _split(values, below, above):
    """Return sums where the first k values count `below` and the others `above`."""
    head = np.concatenate([[0.0], np.cumsum(values)])
    return head * below + (head[-1] - head) * above


def _distinct(x, columns):
    """Return rows, one for each combination of values in some columns."""
    if not columns:
        return x[:1]
    _, first = np.unique(x[:, sorted(columns)], axis=0, return_index=True)
    return x[first]
