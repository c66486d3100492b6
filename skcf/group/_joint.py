"""One program for the rows of a group that share features, or keep their distances."""

import time
from dataclasses import dataclass

import numpy as np

from skcf._mip._adapter import Mip
from skcf._mip._goal_rows import goal_rows
from skcf._mip._interval import IntervalSolver
from skcf._mip._layered import MARGINS, Case, Parts
from skcf._mip._program import Program
from skcf._mip._tree_program import CellPieces, add_trees

MAX_ROUNDS = 60
NEAR = 1e-6
GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Joint:
    """The answer of a joint program.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_features) or None
    served : ndarray of bool of shape (n_rows,)
    total, bound : float
    """

    codes: np.ndarray | None
    served: np.ndarray
    total: float
    bound: float


class JointProgram:
    """The programs of all rows of a group in one, with what ties them together.

    Parameters
    ----------
    solver : IntervalSolver or LayeredSolver
    x, encoded : ndarray of shape (n_rows, n_features) and (n_rows, n_encoded)
    goals : list of Goal
        Of one row each.
    weight : ndarray of shape (n_rows,)
    price : float
        Of each feature that changes in some row.
    most : int, default=None
        The most features that change in some row.
    n_served : int, default=None
        How many rows have to reach their target; None for all.
    """

    def __init__(
        self, solver, x, encoded, goals, weight, price=0.0, most=None, n_served=None
    ):
        self.solver, self.x, self.weight = solver, x, weight
        self.mip = Mip()
        optional = n_served is not None and n_served < len(x)
        block = _TreeBlock if isinstance(solver, IntervalSolver) else _LayeredBlock
        parts = zip(x, encoded, goals, strict=True)
        self.blocks = [block(solver, self.mip, *part, optional) for part in parts]
        self.impossible = any(b.program.impossible for b in self.blocks)
        self.touched = []
        if self.impossible:
            return
        if optional:
            out = self.mip.total([(b.out, 1.0) for b in self.blocks])
            self.mip.require(out <= float(len(x) - n_served))
        if price or most is not None:
            self._touch(most)
        self.price = price
        spent = [
            (b.program.spending, w) for b, w in zip(self.blocks, weight, strict=True)
        ]
        shared = [(t, price) for t in self.touched]
        self.mip.minimize(self.mip.total([*spent, *shared]))

    def _touch(self, most):
        """Mark the features that change in some row."""
        for g in range(len(self.blocks[0].program.groups)):
            one = self.mip.variable("touched", 0, 1, integer=True)
            self.touched.append(one)
            for block in self.blocks:
                changed = block.program.groups[g].changed
                self.mip.require(self.mip.total([(changed, 1.0), (one, -1.0)]) <= 0)
        if most is not None:
            total = self.mip.total([(t, 1.0) for t in self.touched])
            self.mip.require(total <= float(most))

    def keep_near(self, i, k, most):
        """Let two rows be at most `most` apart (Euclidean, numbers by their units)."""
        one, two = self.blocks[i].program, self.blocks[k].program
        terms = []
        for a, b in zip(one.groups, two.groups, strict=True):
            j = a.columns[0]
            if one.space.numeric[j]:
                unit = one.cost.unit[j]
                pairs = [(a.number, 1.0 / unit), (b.number, -1.0 / unit)]
                terms.append(self.mip.total(pairs))
            else:
                terms.append(self._differs(a, b))
        return _Ball(self.mip, terms, most)

    def _differs(self, a, b):
        """Return a variable that is 1 where two rows take different values."""
        apart = self.mip.variable("apart", 0, 1)
        for p, codes in enumerate(a.pieces.low):
            same = (b.pieces.low == codes).all(axis=1)
            pairs = [(a.where(np.arange(len(a.pieces)) == p), 1.0), (apart, -1.0)]
            if same.any():
                pairs.append((b.where(same), -1.0))
            self.mip.require(self.mip.total(pairs) <= 0)
        return apart

    def solve(self, confirm, balls=(), deadline=None):
        """Return the Joint answer.

        Parameters
        ----------
        confirm : callable
            Takes rows of codes of all rows, returns which ones the model accepts.
        balls : sequence of _Ball
        deadline : float, default=None
        """
        nothing = Joint(None, np.zeros(len(self.x), dtype=bool), np.inf, np.inf)
        if self.impossible:
            return nothing
        bound, best = -np.inf, nothing
        for _ in range(MAX_ROUNDS):
            said = self.mip.solve(time_limit=_left(deadline), gap=GAP)
            if said.status == "infeasible":
                return best if best.codes is not None else nothing
            bound = bound if np.isnan(said.bound) else max(bound, said.bound)
            if said.values is None:
                break
            answer, moved = self._looked_at(said.values, balls, confirm)
            if answer is None and moved:
                answer = self._polished(said.values, balls, confirm, deadline)
            if answer is not None and answer.total < best.total:
                best = answer
            close = np.isfinite(best.total)
            close = close and best.total - bound <= 1e-6 * (1.0 + abs(best.total))
            if said.status != "optimal" or close or not moved:
                break
        return Joint(best.codes, best.served, best.total, min(bound, best.total))

    def _looked_at(self, values, balls, confirm):
        """Return (answer or None, whether rows were added that values break)."""
        moved = [c.refine(values) for b in self.blocks for c in b.curves]
        moved += [b.cut(values) for b in self.blocks if b.bend is not None]
        moved += [ball.cut(values) for ball in balls]
        answer, refused = self._read(values, confirm)
        lawful = not refused and all(ball.holds(values) for ball in balls)
        return answer if lawful else None, bool(any(moved) or refused)

    def _polished(self, values, balls, confirm, deadline):
        """Return the best answer with the integers of some values, None if none is."""
        fixed, best = values, None
        for _ in range(MAX_ROUNDS):
            said = self.mip.solve(time_limit=_left(deadline), fixed=fixed)
            if said.values is None:
                break
            answer, moved = self._looked_at(said.values, balls, confirm)
            if answer is not None and (best is None or answer.total < best.total):
                best = answer
            if not moved:
                break
        return best

    def _read(self, values, confirm):
        """Return the answer at some values, and whether a row of it was refused."""
        codes = np.array([b.program.codes(values) for b in self.blocks])
        served = np.array([not b.is_out(values) for b in self.blocks])
        at = np.flatnonzero(served)
        ok = confirm(at, codes[at])
        refused = False
        for i in at[~ok]:
            refused |= self.blocks[i].refuse(values)
        paid = np.array(
            [b.program.cost_of(c) for b, c in zip(self.blocks, codes, strict=True)]
        )
        total = float((self.weight * paid)[served].sum())
        total += self.price * self._n_touched(codes[served], self.x[served])
        return Joint(codes, served, total, -np.inf), bool((~ok).any()) or refused

    def _n_touched(self, codes, x):
        same = (codes == x) | (np.isnan(codes) & np.isnan(x))
        groups = self.blocks[0].program.space.groups
        return sum(bool((~same[:, list(g)]).any()) for g in groups)


class _Ball:
    """A bound on a Euclidean norm, by tangents that are added where needed."""

    def __init__(self, mip, terms, most):
        self.mip, self.terms, self.most = mip, terms, most
        for term in terms:
            for sign in (1.0, -1.0):
                mip.require(mip.total([(term, sign)]) <= float(most))

    def cut(self, values):
        """Add the tangent at some values; return whether they broke the bound."""
        at = np.array([self.mip.value(term, values) for term in self.terms])
        size = np.linalg.norm(at)
        if size <= self.most * (1.0 + NEAR) + 1e-9:
            return False
        pairs = list(zip(self.terms, at / size, strict=True))
        self.mip.require(self.mip.total(pairs) <= float(self.most))
        return True

    def holds(self, values):
        """Tell whether values keep the bound."""
        at = np.array([self.mip.value(term, values) for term in self.terms])
        return bool(np.linalg.norm(at) <= self.most * (1.0 + 10 * NEAR) + 1e-7)


class _Block:
    """The program of one row in a joint one."""

    bend = None

    def is_out(self, values):
        """Tell whether the row is left out."""
        if self.out is None:
            return False
        return self.program.mip.value(self.out, values) > 0.5

    def _slack(self, mip, room, optional):
        """Return (out, slack of each score row): what a row that is left out lacks."""
        if not optional:
            return None, None
        out = mip.binary("out")
        slack = []
        for most in room:
            slack.append(mip.variable("slack", 0, float(most)))
            mip.require(mip.total([(slack[-1], 1.0), (out, -float(most))]) <= 0)
        return out, slack

    @property
    def curves(self):
        """The squares of its cost."""
        return self.program.curves


class _TreeBlock(_Block):
    def __init__(self, solver, mip, x, encoded, goal, optional):
        alternatives = solver.rows.alternatives(goal)
        _check_one(alternatives)
        self.cells = solver.maker.make(x, encoded, alternatives[0])
        self.values = CellPieces(self.cells, solver.rules, -1, ())
        self.program = Program(
            solver.rules,
            solver.cost,
            x,
            self.values.pieces,
            home=True,
            ordered=solver.ordered,
            mip=mip,
        )
        self.out = None
        if self.program.impossible:
            return
        cells = self.cells
        low = np.minimum.reduceat(
            cells.leaves.weight, np.flatnonzero(np.diff(cells.leaves.tree, prepend=-1))
        ).sum(axis=0)
        room = np.maximum(cells.need - cells.base - low, 0.0)
        self.out, slack = self._slack(mip, room, optional)
        add_trees(self.program, cells, self.values.cell, slack)

    def refuse(self, values):
        """Cut off the pieces of an answer that the model turned down."""
        program = self.program
        choice = self.values.choice(program, values)
        pairs = [
            (group.choice[c], 1.0)
            for group, c in zip(program.groups, choice, strict=True)
        ]
        program.mip.require(program.mip.total(pairs) <= len(pairs) - 1.0)
        return True


class _LayeredBlock(_Block):
    def __init__(self, solver, mip, x, encoded, goal, optional):
        alternatives = goal_rows(solver.model, goal)
        _check_one(alternatives)
        if optional and len(solver.layers.weights) > 1:
            raise ValueError(
                "Rows of a network are explained all or none where they share "
                "features; coverage must be 1.0."
            )
        self.solver, self.rows = solver, alternatives[0]
        pieces = solver.inputs.pieces(x)
        # The cheapest answer of the row alone is no bound here, so it gets no time.
        case = Case(x, encoded, goal, pieces, -1, True, 0.0, None, None)
        constant, own = solver.inputs.own(encoded)
        self.program = Program(solver.rules, solver.cost, x, pieces, home=True, mip=mip)
        self.out, self.turn, self.goal = None, 0, goal
        if self.program.impossible:
            return
        tables = [solver.inputs.table(g, p, own[g]) for g, p in enumerate(pieces)]
        room = self._room(pieces, tables, constant) if optional else ()
        self.out, slack = self._slack(mip, room, optional)
        self.clear = [mip.variable("clear", 0, None) for _ in self.rows.least]
        clear = self.clear
        if slack is not None:
            clear = [
                mip.total([(c, 1.0), (s, -1.0)])
                for c, s in zip(self.clear, slack, strict=True)
            ]
        made = Parts(self.program, tables, constant, self.rows, clear, np.inf)
        self.bend = solver._add_model(made, case)

    def _room(self, pieces, tables, constant):
        """Return by how much each row of a linear model can be missed at most."""
        low = self.rows.factors @ constant
        for p, (table, slope) in zip(pieces, tables, strict=True):
            effect = table @ self.rows.factors.T
            if slope is not None:
                width = np.nan_to_num(p.high - p.low)
                effect = np.minimum(
                    effect, effect + width * (slope @ self.rows.factors.T)
                )
            low = low + effect.min(axis=0)
        return np.maximum(self.rows.least - low, 0.0)

    def cut(self, values):
        """Add rows that values break; return whether there were any."""
        return self.bend(values)

    def refuse(self, values):
        """Keep further off the boundary than an answer that was turned down."""
        self.turn += 1
        if self.turn >= len(MARGINS):
            return False
        more = goal_rows(self.solver.model, self.goal, MARGINS[self.turn])[0].least
        mip = self.program.mip
        for clear, least in zip(self.clear, more - self.rows.least, strict=True):
            mip.require(mip.total([(clear, 1.0)]) >= float(max(least, 0.0)))
        return True


def _left(deadline):
    """Return the seconds until a deadline."""
    return None if deadline is None else deadline - time.monotonic()


def _check_one(alternatives):
    if len(alternatives) > 1:
        raise ValueError(
            "Rows that may go to several classes cannot be solved together; name the "
            "class to reach as target."
        )
