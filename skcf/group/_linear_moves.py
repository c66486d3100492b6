"""The moves of rows under a linear model, for the search of feature sets."""

import numpy as np

from skcf._mip._goal_rows import goal_rows
from skcf._mip._linear import LinearSolver
from skcf._mip._variables import MAX_STEPS
from skcf.group._feature_sets import Moves

MAX_OPTIONS = 8


def moves_of(solver, x, encoded, goals, margin=1.0):
    """Return (Moves, Writer) of rows, None where they are more than that.

    They are so for a target of one linear row, costs that are sums of lines and
    squares over features, rules on single features, and numbers without a grid (or one
    that is finer than any tolerance) or with few values. `margin` is that of
    `goal_rows`.
    """
    c = solver.cost.cost
    plain = isinstance(solver, LinearSolver) and not (c.l0 or c.linf)
    if not plain or solver.rules.joint or solver.rules.max_changes is not None:
        return None
    rows = [goal_rows(solver.model, goal, margin) for goal in goals]
    if any(len(r) != 1 or len(r[0].least) != 1 or r[0].nu for r in rows):
        return None
    n, p = len(x), len(solver.space.groups)
    names = ("gain", "line", "square", "cap", "sign")
    out = {name: np.zeros((n, p)) for name in names}
    need, listed = np.empty(n), {}
    for i, ((goal,), row, seen) in enumerate(zip(rows, x, encoded, strict=True)):
        constant, own = solver.inputs.own(seen)
        factors = goal.factors[0]
        need[i] = goal.least[0] - float(constant @ factors)
        for g, pieces in enumerate(solver.inputs.pieces(row)):
            if pieces.home < 0:
                return None
            need[i] -= float(own[g] @ factors)
            number = _number(solver, g, pieces, own[g], factors)
            if number is not None:
                _note(solver, out, i, g, row, pieces, number)
                continue
            options = _options(solver, g, pieces, own[g], factors, row)
            if options is None:
                return None
            listed.setdefault(g, [None] * n)[i] = options
    sign = out.pop("sign")
    moves = Moves(need, **out, listed=_padded(listed, n))
    return moves, Writer(solver.space, sign, listed)


class Writer:
    """Writes moves into rows of codes."""

    def __init__(self, space, sign, listed):
        self.space, self.sign, self.listed = space, sign, listed

    def write(self, x, amounts, taken):
        """Return rows of codes after moves; the parameters are those of `choice`."""
        out = x.copy()
        for g in np.flatnonzero((amounts > 0).any(axis=0)):
            j = self.space.groups[g][0]
            at = np.flatnonzero(amounts[:, g] > 0)
            moved = x[at, j] + self.sign[at, g] * amounts[at, g]
            out[at, j] = self.space.columns[j].snap(moved)
        for g, picks in taken.items():
            members = list(self.space.groups[g])
            for i in np.flatnonzero(picks > 0):
                out[i, members] = self.listed[g][i][2][picks[i]]
        return out


def _number(solver, g, pieces, own, factors):
    """Return the slope of a group that is a number without a coarse grid, else None."""
    if not pieces.plain or solver.inputs.bends(g, pieces, own):
        return None
    span = float(pieces.high.max() - pieces.low.min())
    if pieces.step is not None and span / pieces.step <= MAX_STEPS:
        return None
    _, slope = solver.inputs.table(g, pieces, own)
    return None if slope is None else float(slope @ factors)


def _note(solver, out, i, g, row, pieces, slope):
    """Note how far a number may move in the direction that helps."""
    if slope == 0:
        return
    cost, j = solver.cost, pieces.columns[0]
    end = pieces.high.max() if slope > 0 else pieces.low.min()
    price = (cost.up if slope > 0 else cost.down)[j] / cost.unit[j]
    share = cost.weight[g] / cost.divisor
    out["gain"][i, g], out["sign"][i, g] = abs(slope), np.sign(slope)
    out["cap"][i, g] = max(0.0, abs(float(end) - row[j]))
    out["line"][i, g] = share * cost.cost.l1 * price
    out["square"][i, g] = share * cost.cost.l2 * price**2


def _options(solver, g, pieces, own, factors, row):
    """Return (gains, costs, codes) of what a group may become, None if too many.

    Of several options none gains less at a higher cost.
    """
    space = solver.space
    points = pieces.points(space.columns[pieces.columns[0]], 5_000)
    if points is None:
        return None
    table, _ = solver.inputs.table(g, points, own)
    gains = table @ factors - float(own @ factors)
    after = np.tile(row, (len(points), 1))
    after[:, list(points.columns)] = points.low
    costs = solver.cost.rows(row[None, :], after)
    order = np.lexsort((-gains, costs))
    order = order[order != points.home]
    keep, most = [points.home], 0.0
    for k in order:
        if gains[k] > most:
            keep.append(k)
            most = gains[k]
    if len(keep) > MAX_OPTIONS:
        return None
    gains[points.home] = costs[points.home] = 0.0
    return gains[keep], costs[keep], points.low[keep]


def _padded(listed, n):
    """Return the options of all rows in arrays of one width."""
    out = {}
    for g, rows in listed.items():
        width = max(len(r[0]) for r in rows if r is not None)
        gains, costs = np.zeros((n, width)), np.full((n, width), np.inf)
        costs[:, 0] = 0.0
        for i, options in enumerate(rows):
            if options is not None:
                gains[i, : len(options[0])] = options[0]
                costs[i, : len(options[1])] = options[1]
        out[g] = gains, costs
    return out
