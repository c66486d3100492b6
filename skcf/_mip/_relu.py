"""The cheapest counterfactual of a network of rectified linear units."""

import time
from dataclasses import dataclass

import numpy as np

from skcf._mip._layered import LayeredSolver
from skcf._mip._program import ABSOLUTE, RELATIVE

# How often a network is replaced by its tangent to find a first answer.
N_STEPS = 16
# Lines under each square up to what the first answer costs.
N_LINES = 12
# Bounds are tightened once more as long as that settles this part of the open units.
N_ROUNDS, SETTLED = 4, 0.15
# It is not worth while where the bound is this near to the answer from the start.
LOOSE = 0.9


class ReluSolver(LayeredSolver):
    r"""Least cost for a network with rectified linear units.

    A unit with the sum :math:`a \in [l, u]` and the output :math:`h` is written with
    one binary variable :math:`s`:

    .. math::

        h \ge 0, \quad h \ge a, \quad h \le a - l (1 - s), \quad h \le u s

    Only units with :math:`l < 0 < u` need it, and of these only such as help the target
    by being larger: nothing makes the others so. The bounds are those of intervals,
    tightened by linear programs over all that is at most as dear as an answer found
    before, so that most units are settled near the query; and once more with the target
    among the rows, for as long as that settles units.

    Parameters
    ----------
    model : BlackBox
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost

    Raises
    ------
    ValueError
        If the activation is neither "relu" nor "identity".
    UnsupportedConstraintError
        For a rule that is no set of linear rows.

    References
    ----------
    .. [1] Fischetti, M., Jo, J. (2018). Deep neural networks and mixed integer linear
       optimization. Constraints, 23, 296-309. doi:10.1007/s10601-018-9285-6
    """

    def _read(self, layers):
        if layers.activation != "relu":
            raise ValueError(
                f"A network with the activation {layers.activation!r} is no "
                "mixed-integer program; it has to be 'relu' or 'identity'."
            )
        return layers

    def _add_model(self, parts, case):
        mip, program, rows = parts.program.mip, parts.program, parts.rows
        case.known = self._first_answer(case, parts)
        if case.known is not None:
            parts.top = self._cost_of(case, case.known)
        if np.isfinite(parts.top):
            # Dearer points are of no interest, which bounds every unit.
            mip.require(program.spending <= parts.top * (1 + 1e-9) + ABSOLUTE)
            program.narrow(parts.top * (1 + 1e-9) + ABSOLUTE, N_LINES)
            parts.top -= 0.5 * (RELATIVE * parts.top + ABSOLUTE)
        units = Units(self.layers, parts, self.inputs, case)
        outputs = units.add()
        for factors, least, clear in zip(
            rows.factors, rows.least, parts.clear, strict=True
        ):
            row = mip.total([*zip(outputs, factors, strict=True), (clear, -1.0)])
            mip.require(row >= float(least))
        mip.minimize(program.spending)
        capped = np.isfinite(parts.top) and not case.home
        if units.open and capped and self._is_loose(parts, case):
            for _ in range(N_ROUNDS):
                if units.narrowed() < SETTLED:
                    break
            mip.minimize(program.spending)
        if rows.nu is None:
            return None

        def bend(values):
            said = np.array([mip.value(out, values) for out in outputs])
            if rows.gap(said) >= -1e-10:
                return False
            factors, least = rows.tangent(said)
            mip.require(mip.total(zip(outputs, factors, strict=True)) >= least)
            return True

        return bend

    def _is_loose(self, parts, case):
        """Tell whether a program is far from what it becomes by relaxing it."""
        left = None if case.deadline is None else case.deadline - time.monotonic()
        said = parts.program.mip.solve(time_limit=left, relax=True)
        return said.status == "optimal" and said.objective < LOOSE * parts.top

    def _kept(self, case, parts, said, bound):
        _, bound, none = super()._kept(case, parts, said, bound)
        codes, case.known = case.known, None
        return codes, bound, none

    # -- a first answer ---------------------------------------------------------------

    def _first_answer(self, case, parts):
        """Return the cheapest answer that tangents of the network lead to, or None.

        Where they lead round in circles, more is asked of them than is needed.
        """
        best, top = None, parts.top
        here, seen, more = case.x, set(), 0.0
        rows = parts.rows
        for _ in range(N_STEPS):
            if case.expired:
                break
            here = self._step(case, parts, here, more)
            if here is None:
                break
            cost = self._cost_of(case, here)
            if cost < top and self._accepted(case, here):
                best, top = here, cost
            if here.tobytes() in seen:
                if best is not None:
                    break
                short = (rows.least - rows.factors @ self.outputs(here)).max()
                more = 2 * more + max(short, 0.0)
            seen.add(here.tobytes())
        return best

    def _step(self, case, parts, here, more):
        """Return the answer for the tangent of the network at a row of codes."""
        program = self._program(case)
        mip, rows = program.mip, parts.rows
        first, outputs, slopes = self._tangent(case, parts, here)
        for slope, least, value in zip(
            slopes, rows.least + more, rows.factors @ outputs, strict=True
        ):
            row = self.inputs.sums(
                mip, program.groups, parts.tables, parts.constant, slope
            )
            mip.require(row >= float(least - value + slope @ first))
        return program.solve(deadline=case.deadline)[1]

    def _tangent(self, case, parts, here):
        """Return (sums of the first layer, outputs, slopes) at a row of codes.

        The slopes are those of the rows of the target in the sums of the first layer.
        """
        weights, biases = self.layers.weights, self.layers.biases
        first = self.inputs.at(here, case.pieces, parts.tables, parts.constant)
        sums, open_ = first, []
        for w, b in zip(weights[1:], biases[1:], strict=True):
            open_.append(sums > 0)
            sums = np.maximum(sums, 0.0) @ w + b
        slopes = parts.rows.factors
        for w, on in zip(weights[:0:-1], open_[::-1], strict=True):
            slopes = (slopes @ w.T) * on
        return first, sums, slopes


@dataclass(eq=False)
class Unit:
    """A unit inside a program: its sum, its output, whether it is on, its bounds.

    `on` is None where nothing is needed to keep the output from being larger.
    """

    total: object
    out: object
    on: object
    low: float
    high: float


class Units:
    """The units of a network inside a program."""

    def __init__(self, layers, parts, inputs, case):
        self.layers, self.parts, self.inputs, self.case = layers, parts, inputs, case
        self.mip = parts.program.mip
        self.open = []

    def add(self):
        """Add all units; return the expressions of the outputs."""
        parts, mip = self.parts, self.mip
        constant = parts.constant
        sums = [
            self.inputs.sums(mip, parts.program.groups, parts.tables, constant, row)
            for row in np.eye(len(constant))
        ]
        low, high = self._first_bounds()
        capped = np.isfinite(parts.top)
        held = held_units(self.layers, parts.rows)
        for depth, (w, b) in enumerate(
            zip(self.layers.weights[1:], self.layers.biases[1:], strict=True)
        ):
            if capped or depth:
                low, high = self._tightened(sums, low, high)
            units = [
                self._unit(*args)
                for args in zip(sums, low, high, held[depth], strict=True)
            ]
            sums = [
                mip.total(zip(units, column, strict=True), bias)
                for column, bias in zip(w.T, b, strict=True)
            ]
            on, off = np.maximum(w, 0.0), np.minimum(w, 0.0)
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
            low, high = low @ on + high @ off + b, high @ on + low @ off + b
        return sums

    def _first_bounds(self):
        """Return the least and the greatest sums of the first layer."""
        parts = self.parts
        low, high = parts.constant.copy(), parts.constant.copy()
        for group, (table, slope) in zip(
            parts.program.groups, parts.tables, strict=True
        ):
            ends = [table]
            if slope is not None:
                width = (group.pieces.high - group.pieces.low)[:, :1]
                ends.append(table + np.nan_to_num(width) * slope)
            ends = np.concatenate(ends)
            low, high = low + ends.min(axis=0), high + ends.max(axis=0)
        return low, high

    def _tightened(self, sums, low, high):
        """Return bounds by linear programs, for units that are not settled."""
        low, high = low.copy(), high.copy()
        for i, total in enumerate(sums):
            for sign, ends in ((1.0, low), (-1.0, high)):
                if low[i] >= 0 or high[i] <= 0 or self.case.expired:
                    continue
                self.mip.minimize(self.mip.total([(total, sign)]))
                said = self.mip.solve(relax=True)
                if said.status == "optimal":
                    slack = 1e-7 * (1.0 + abs(said.objective))
                    end = sign * (said.objective - slack)
                    ends[i] = max(ends[i], end) if sign > 0 else min(ends[i], end)
        return low, high

    def _unit(self, total, low, high, held):
        """Return the expression of the output of a unit."""
        mip = self.mip
        if high <= 0:
            return mip.total([])
        low, high = float(low), float(high)
        out = mip.variable("h", 0.0, high)
        if low >= 0:
            mip.require(total - out == 0)
            return mip.total([(out, 1.0)])
        mip.require(total - out <= 0)
        unit = Unit(total, out, mip.binary("s") if held else None, low, high)
        self.open.append(unit)
        self._write(unit)
        return mip.total([(out, 1.0)])

    def _write(self, unit):
        """Add the rows that the bounds of a unit allow for."""
        mip, out, total, on = self.mip, unit.out, unit.total, unit.on
        low, high = unit.low, unit.high
        if high <= 0:
            mip.require(mip.total([(out, 1.0)]) <= 0)
        elif low >= 0:
            mip.require(mip.total([(out, 1.0), (total, -1.0)]) <= 0)
        elif on is None:
            # The line above both pieces: it cuts off nothing, and bounds what follows.
            line = [(out, high - low), (total, -high)]
            mip.require(mip.total(line) <= -high * low)
        else:
            mip.require(mip.total([(out, 1.0), (total, -1.0), (on, -low)]) <= -low)
            mip.require(out - high * on <= 0)

    def narrowed(self):
        """Tighten the bounds of open units; return what part of them is settled.

        By now the target is a row of the program.
        """
        count = len(self.open)
        for unit in self.open:
            low, high = np.array([unit.low]), np.array([unit.high])
            low, high = self._tightened([unit.total], low, high)
            if (low[0], high[0]) != (unit.low, unit.high):
                unit.low, unit.high = float(low[0]), float(high[0])
                self._write(unit)
        self.open = [unit for unit in self.open if unit.low < 0 < unit.high]
        return 1.0 - len(self.open) / max(count, 1)


def held_units(layers, rows):
    """Return which units of each hidden layer must not be larger than they are.

    Where a larger output of a unit can only be a hindrance for the target, there is no
    use for one, and nothing is needed to forbid it.

    Parameters
    ----------
    layers : Layers
    rows : GoalRows
    """
    wanted = rows.factors
    if rows.nu is not None:
        wanted = -np.eye(wanted.shape[1])
        wanted[rows.label] *= -1.0
    more, less = (wanted > 0).any(axis=0), (wanted < 0).any(axis=0)
    held = []
    for w in layers.weights[:0:-1]:
        up = ((w > 0) & more).any(axis=1) | ((w < 0) & less).any(axis=1)
        down = ((w < 0) & more).any(axis=1) | ((w > 0) & less).any(axis=1)
        held.append(up)
        more, less = up, down
    return held[::-1]
