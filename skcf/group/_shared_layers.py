"""The cheapest point that several rows may share, in a model that is read as layers."""

from dataclasses import dataclass

import numpy as np

from skcf._mip._layered import PROVED, Case, LayeredSolver
from skcf._mip._linear import LinearSolver
from skcf._mip._pieces import Pieces
from skcf._mip._program import meets
from skcf._mip._relu import ReluSolver
from skcf._mip._variables import MAX_STEPS
from skcf._model._dense import Layers
from skcf.constraints._bind import holds
from skcf.group._shared_costs import SharedCosts
from skcf.group._shared_fill import Range, Values, cheapest
from skcf.group._shared_pieces import MAX_LISTED, SharedPieces
from skcf.group._shared_program import SharedProgram


def shared_layers(model, space, rules, cost):
    """Return what locates shared points of a layered model, None where nothing does."""
    kernel = getattr(model.view, "kernel", None)
    if not isinstance(kernel, Layers):
        return None
    if len(kernel.weights) == 1 or kernel.activation == "identity":
        return SharedLinearSolver(model, space, rules, cost)
    if kernel.activation == "relu":
        return SharedReluSolver(model, space, rules, cost)
    return None


class SharedLayers(LayeredSolver):
    """Finds the point of least total cost for rows that all become that point.

    The cost of a sum over features stays one when it is summed over rows: each value
    of a feature costs what it costs all rows together, and of a number that is a convex
    function (with equal prices up and down, squares are one square around the weighted
    mean). So one program, as for a single query, answers for all of them.

    Parameters
    ----------
    model, space, rules, cost : as of LayeredSolver
        The cost is a sum over features. Rules between features do not read the row's
        own values.

    Raises
    ------
    ValueError
        For a number that is not encoded by a straight line, if it has too many values
        to be listed.
    """

    def __init__(self, model, space, rules, cost):
        super().__init__(model, space, rules, cost)
        self.makes = SharedPieces(rules)
        self._listed = [self._to_list(g) for g in range(len(space.groups))]

    def _to_list(self, g):
        """Tell whether a number is taken value by value."""
        members, straight = self.space.groups[g], self.inputs.straight(g)
        j = members[0]
        if len(members) > 1 or not self.space.numeric[j]:
            return False
        short = self.makes.listable(j)
        if not short and not straight:
            raise ValueError(
                f"Column {self.space.names[j]!r} is not encoded by a straight line, "
                "and it has too many values to try them all. Set a coarser "
                f"resolution for it (at most {MAX_LISTED} numbers)."
            )
        return short and (self.cost.cost.l0 > 0 or not straight)

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
        if not self._facts(x):
            return None, np.inf
        case = self._case(x, weight, goal, deadline, accept)
        if case is None:
            return None, np.inf
        codes, bound, none = self._next(case)
        if codes is None:
            return None, np.inf if none else np.nan
        cost = self._cost_of(case, codes)
        if meets(cost, bound, PROVED):
            # Solver and sums differ in the last digits.
            bound = cost
        return codes, bound

    def _facts(self, x):
        """Tell whether the rules that read the rows alone hold for all of them."""
        return all(
            np.all(holds(part.node, lambda table, j: x[:, j]))
            for part in self.rules.facts
        )

    def _case(self, x, weight, goal, deadline, accept):
        """Return the Case of some rows, None where the rules leave nothing."""
        shared = SharedCosts(self.cost, self.space, x, weight)
        pieces = [
            self._with_jumps(self.makes.of(g, x, listed), g, shared)
            for g, listed in enumerate(self._listed)
        ]
        if any(not len(p) for p in pieces):
            return None
        start = self._start(pieces, shared)
        return SharedCase(
            x=start,
            encoded=self.inputs.encode(start[None, :])[0],
            goal=goal,
            pieces=pieces,
            lifted=-1,
            home=False,
            deadline=deadline,
            callback=None,
            accept=accept,
            rows=x,
            shared=shared,
        )

    def _with_jumps(self, pieces, g, shared):
        """Return pieces with the numbers of the rows as points, if they save a fee."""
        if not self.cost.cost.l0 or not pieces.interval.any():
            return pieces
        own = shared.number(g).kinks
        low, high = pieces.low[:, 0], pieces.high[:, 0]
        inside = (own[:, None] >= low) & (own[:, None] <= high) & pieces.interval
        snapped = self.space.columns[pieces.columns[0]].snap(own)
        own = own[inside.any(axis=1) & (snapped == own)]
        if not len(own):
            return pieces
        low, high = np.append(low, own)[:, None], np.append(high, own)[:, None]
        return Pieces(pieces.columns, low, high, pieces.home, pieces.step)

    def _start(self, pieces, shared):
        """Return the cheapest point that there is without a target."""
        start = np.empty(self.space.n_features)
        for g, p in enumerate(pieces):
            if p.home >= 0:
                start[list(p.columns)] = p.low[p.home]
                continue
            codes = p.low
            if p.interval.any():
                own, column = shared.number(g), self.space.columns[p.columns[0]]
                ends = zip(p.low[:, 0], p.high[:, 0], strict=True)
                near = column.snap(np.array([own.least(*e) for e in ends]))
                near = np.clip(near[:, None], p.low, p.high)
                codes = np.concatenate([codes, near])
            start[list(p.columns)] = codes[shared.of(g, codes).argmin()]
        return start

    # -- what a case asks for ---------------------------------------------------------

    def _program(self, case, turn=0):
        return SharedProgram(self.rules, case.shared, case.x, case.pieces, turn)

    def _cost_of(self, case, codes):
        return case.shared.total(codes)

    def _accepted(self, case, codes):
        x = case.rows
        if not self.rules.holds(x, np.broadcast_to(codes, x.shape)).all():
            return False
        return case.accept is None or bool(case.accept(codes[None, :])[0])


@dataclass
class SharedCase(Case):
    """A case of several rows, and what they cost together."""

    rows: np.ndarray | None = None
    shared: SharedCosts | None = None


class SharedLinearSolver(SharedLayers, LinearSolver):
    """Shared points of linear models."""

    def _closed_form(self, case, rows):
        """Find the values of one row that reach it most cheaply."""
        if len(rows.least) != 1 or rows.nu is not None or self.rules.joint:
            return None
        constant, own = self.inputs.own(case.encoded)
        factors = rows.factors[0]
        parts = [
            self._part(g, p, own[g], factors, case) for g, p in enumerate(case.pieces)
        ]
        if any(part is None for part in parts):
            return None
        found = cheapest(parts, float(rows.least[0] - constant @ factors))
        if found is None or found[0] is None:
            return found
        codes, choices = case.x.copy(), found[0]
        for p, (part, *_), choice in zip(case.pieces, parts, choices, strict=True):
            if isinstance(part, Range):
                column = self.space.columns[p.columns[0]]
                number = column.snap(np.array(choice))
                codes[p.columns[0]] = np.clip(number, part.low, part.high)
            else:
                codes[list(p.columns)] = p.low[choice]
        return codes, *found[1:]

    def _part(self, g, pieces, own, factors, case):
        """Return a group as a part of a row, None where it is not simple enough."""
        low, slope = self.inputs.table(g, pieces, own)
        if not pieces.interval.any():
            return Values(low @ factors, case.shared.of(g, pieces.low)), None, None
        if not pieces.plain:
            return None
        number, steep = case.shared.number(g), float(slope @ factors)
        bottom, top = float(pieces.low[0, 0]), float(pieces.high[0, 0])
        base = float(low[0] @ factors) - steep * bottom
        if steep == 0.0:
            # Of no use for the row: as it is cheapest.
            at = float(case.x[pieces.columns[0]])
            return Range(number, at, at, base - at, 1.0), None, None
        step = pieces.step
        if step is not None and (top - bottom) / step > MAX_STEPS:
            step = None
        snap = None if step is None else self.space.columns[pieces.columns[0]].snap
        return Range(number, bottom, top, base, steep), snap, step


class SharedReluSolver(SharedLayers, ReluSolver):
    """Shared points of networks of rectified linear units."""
