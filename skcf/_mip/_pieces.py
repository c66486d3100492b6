"""What one group of columns may become, as points and intervals.

On a piece every clause of the rules that reads this group alone is either true or
false throughout. The query's own value is a piece of its own.
"""

from dataclasses import dataclass

import numpy as np

from skcf.constraints._bind import cells_of, holds, leaves
from skcf.constraints._edges import turning_points


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of one group for one query.

    Attributes
    ----------
    columns : tuple of column positions
    low, high : ndarray of shape (n_pieces, n_columns)
        Ends of the intervals, as codes; equal for points.
    home : int
        The piece that is the query's own value, -1 where the rules forbid it.
    step : float or None
        The grid of the numbers inside intervals, None for any float.
    plain : bool
        Whether no clause tells the pieces apart and they join without a hole, so that
        they may be taken as one interval.
    """

    columns: tuple
    low: np.ndarray
    high: np.ndarray
    home: int
    step: float | None = None
    plain: bool = False

    def __len__(self):
        return len(self.low)

    @property
    def interval(self):
        """Which pieces are more than a point."""
        return (self.high > self.low).any(axis=1)

    def points(self, column, most):
        """Return the pieces with every grid value on its own, None if too many."""
        if not self.interval.any():
            return self
        if self.step is None:
            return None
        size = np.rint((self.high - self.low)[:, 0] / self.step) + 1
        size[~self.interval] = 1
        if size.sum() > most:
            return None
        codes = []
        for low, n in zip(self.low[:, 0], size.astype(int), strict=True):
            codes.append(low + self.step * np.arange(n) if n > 1 else np.array([low]))
            if n > 1:
                codes[-1] = column.snap(codes[-1])
        home = self.home
        if home >= 0:
            home = int(size[:home].sum())
        codes = np.concatenate(codes)[:, None]
        return Pieces(self.columns, codes, codes, home, self.step)


def clauses_of(parts, g, space):
    """Return the clauses of rules that read the counterfactual in one group alone."""
    out = []
    for part in parts:
        for leaf in leaves(part.node):
            if groups_of(leaf, space) == {g}:
                out.append(leaf)
    return out


def groups_of(leaf, space):
    """Return the groups whose counterfactual cells a clause reads."""
    return {int(space.group_of[j]) for table, j in cells_of(leaf) if table == "cf"}


def pieces_of(rules, x, g, lifted=-1):
    """Return the Pieces of group `g` for a query `x` under its rules."""
    space = rules.space
    columns = tuple(space.groups[g])
    filters = [p.node for p in rules.filters.get(g, ()) if p.rule != lifted]
    joint = [p for p in rules.touching.get(g, ()) if p.rule != lifted]
    clauses = clauses_of(joint, g, space)
    own = x[list(columns)]
    j = columns[0]
    if len(columns) == 1 and space.numeric[j]:
        return _of_number(rules, x, j, filters, clauses)
    ids = np.arange(space.values.offsets[g], space.values.offsets[g + 1])
    rows = space.values.table(g)[space.values.weight[ids] > 0]
    same = (rows == own).all(axis=1)
    rows = np.vstack([own, rows[~same]])
    ok = _mask(filters, columns, rows, x)
    home = 0 if ok[0] else -1
    return Pieces(columns, rows[ok], rows[ok], home)


def _mask(nodes, columns, rows, x):
    """Return which rows of values of a group satisfy clauses about it."""
    place = {j: i for i, j in enumerate(columns)}

    def get(table, j):
        if table == "cf":
            return rows[:, place[j]]
        return np.broadcast_to(x[j], len(rows))

    out = np.ones(len(rows), dtype=bool)
    for node in nodes:
        out &= holds(node, get)
    return out


def _of_number(rules, x, j, filters, clauses):
    """Return the pieces of a numeric column."""
    column, own = rules.space.columns[j], x[j]
    low, high = rules.low[j], rules.high[j]
    marks = [low, high]
    for node in (*filters, *clauses):
        marks += _turns(node, j, x)
    if not np.isnan(own):
        marks.append(own)
    ends = column.beside(np.array(marks)).ravel()
    ends = np.unique(ends[(ends >= low) & (ends <= high)])
    first, last, point = _atoms(column, ends)
    if not np.isnan(own):
        # A query's own value may be off the grid, or out of range.
        at = point & (first == own)
        first, last = first[~at], last[~at]
    first, last = np.append(first, own), np.append(last, own)
    order = np.argsort(first, kind="stable")  # NaN comes last
    first, last = first[order], last[order]
    home = int(np.flatnonzero(order == len(order) - 1)[0])
    # Of an open interval either end tells what holds on it.
    ok = _mask(filters, (j,), first[:, None], x)
    truth = [_mask([node], (j,), first[:, None], x) for node in clauses]
    kind = np.column_stack([ok, *truth])
    low, high, home, plain = _merged(first, last, home, kind, column.step)
    return Pieces((j,), low, high, home, column.step, plain)


def _turns(node, j, x):
    """Return the numbers at which a clause about one column may turn over."""
    out = []
    for leaf in leaves(node):
        out += turning_points(leaf, j, lambda table, k: x[k])
    return [float(t) for t in out if np.isfinite(t)]


def _atoms(column, ends):
    """Return (first, last, is a point) of the ends and of what is between them."""
    if not len(ends):
        return (np.empty(0),) * 2 + (np.empty(0, dtype=bool),)
    sides = column.beside(ends)
    inner_low, inner_high = sides[:-1, 2], sides[1:, 0]
    some = inner_low <= inner_high
    first = np.concatenate([ends, inner_low[some]])
    last = np.concatenate([ends, inner_high[some]])
    point = np.arange(len(first)) < len(ends)
    order = np.argsort(first, kind="stable")
    return first[order], last[order], point[order]


def _merged(first, last, home, kind, step):
    """Join neighbours of one kind on one side of the query's own value."""
    kept = np.flatnonzero(kind[:, 0])
    lows, highs, at, previous = [], [], -1, None
    for i in kept:
        joined = previous is not None and previous + 1 == i and i != home
        if joined and (kind[i] == kind[previous]).all():
            highs[-1] = last[i]
        else:
            at = len(lows) if i == home else at
            lows.append(first[i])
            highs.append(last[i])
        previous = None if i == home else i
    low, high = np.array(lows), np.array(highs)
    plain = at >= 0 and not np.isnan(first[home])
    plain = plain and kept[-1] - kept[0] + 1 == len(kept)
    plain = plain and bool((kind[kept] == kind[home]).all())
    plain = plain and _touching(low, high, at, step)
    return low.reshape(-1, 1), high.reshape(-1, 1), at, plain


def _touching(low, high, at, step):
    """Tell whether what is beside the own value begins one step from it."""
    width = 0.0 if step is None else step
    gap = low[1:] - high[:-1]
    near = 1e-9 * (1.0 + np.abs(low[1:]))
    return len(low) <= 3 and bool((np.abs(gap - width) <= near).all())
