"""The mixed-integer program of a tree ensemble, for any rule between columns."""

import time

import numpy as np

from skcf._mip._boxes import Boxes
from skcf._mip._program import Program, meets
from skcf._mip._rule_rows import check_writable
from skcf._mip._score_rows import ScoreRows
from skcf._mip._solution import Solution
from skcf._mip._tree_cells import CellMaker
from skcf._mip._tree_program import CellPieces, add_trees, leaf_weights

PROVED = 1e-6
# How many points the model may turn down, of those within the noise of its floats.
MAX_DOUBTS = 50


class IntervalSolver:
    """Least cost for an ensemble of trees, by a mixed-integer program in HiGHS.

    It honours rules that compare numbers with too many values to be listed, which the
    search of `TreeSolver` does not.

    Parameters
    ----------
    model : BlackBox
        With a view of trees.
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost
    boxes : Boxes, default=None
        Those of another solver of the same model and ranges.
    """

    def __init__(self, model, space, rules, cost, boxes=None):
        self.model, self.space, self.rules, self.cost = model, space, rules, cost
        check_writable(rules)
        if boxes is None:
            boxes = Boxes(model.view, space, rules.low, rules.high)
        self.boxes = boxes
        self.maker = CellMaker(boxes, rules, cost)
        self.rows = ScoreRows(model, boxes.slots, boxes.values, boxes.tree)
        self.ordered = np.array(
            [len(m) == 1 and space.numeric[m[0]] for m in space.groups]
        )

    def with_rules(self, rules):
        """Return the solver for another rule set."""
        same = np.array_equal(rules.low, self.rules.low)
        same &= np.array_equal(rules.high, self.rules.high)
        boxes = self.boxes if same else None
        return type(self)(self.model, self.space, rules, self.cost, boxes)

    def encode(self, table):
        """Return the encoded rows of a table, for `solve`."""
        return self.boxes.encode_table(table)

    def solve(
        self,
        x,
        goal,
        *,
        encoded=None,
        lifted=-1,
        deadline=None,
        k=1,
        callback=None,
        accept=None,
        strict=False,
    ):
        """Return the Solution of one query; see `TreeSolver.solve`."""
        if encoded is None:
            encoded = self.boxes.encode_table(self.space.decode(x[None, :]))[0]
        cases = [
            _Case(self, self.maker.make(x, encoded, rows, lifted), lifted)
            for rows in self.rows.alternatives(goal)
        ]
        ask = _Asked(accept, strict, deadline, callback)
        found, bound, none = [], np.nan, False
        while len(found) < k:
            best, least, refuted = self._best(cases, ask)
            if not found:
                bound, none = least, refuted
            if best is None:
                break
            codes, cost = best
            found.append((codes, cost, meets(cost, least, PROVED)))
            same = (codes == x) | (np.isnan(codes) & np.isnan(x))
            changed = [not same[list(m)].all() for m in self.space.groups]
            if not any(changed):
                break
            for case in cases:
                case.exclude(np.array(changed))
            ask.callback = None
        if not found:
            return Solution.empty(len(x), infeasible=none, bound=bound)
        codes, cost, proved = map(np.array, zip(*found, strict=True))
        status = "optimal" if proved[0] else "feasible"
        return Solution(codes, cost, proved, min(bound, float(cost[0])), status)

    def _best(self, cases, ask):
        """Return ((codes, cost) or None, bound, whether there is none)."""
        best, least, none = None, np.inf, True
        for case in cases:
            top = None if best is None else best[1]
            answer, bound, refuted = case.solve(ask, top)
            none &= refuted
            least = -np.inf if np.isnan(bound) else min(least, bound)
            if answer is not None and (best is None or answer[1] < best[1]):
                best = answer
        if none:
            return None, np.inf, True
        return best, least if np.isfinite(least) else np.nan, False


class _Asked:
    """What was asked of a query, whichever class it is to reach."""

    def __init__(self, accept, strict, deadline, callback):
        self.accept, self.strict, self.deadline = accept, strict, deadline
        self.callback = callback
        self._said = np.inf, -np.inf

    @property
    def expired(self):
        return self.deadline is not None and time.monotonic() >= self.deadline

    def tell(self, cost, bound):
        """Report a cost or a bound that is better than those before."""
        if self.callback is None:
            return
        if cost < self._said[0] or bound > self._said[1]:
            self._said = min(cost, self._said[0]), max(bound, self._said[1])
            self.callback(*self._said)


class _Case:
    """One alternative of the target: the program of its cells."""

    def __init__(self, solver, cells, lifted):
        self.solver, self.cells, self.lifted = solver, cells, lifted
        causal = getattr(solver.cost, "causal", ())
        self.values = CellPieces(cells, solver.rules, lifted, causal)
        self.excluded, self.refused = [], []
        self.turn = 0
        self._build()

    def _build(self):
        solver, cells = self.solver, self.cells
        self.program = Program(
            solver.rules,
            solver.cost,
            cells.x,
            self.values.pieces,
            lifted=self.lifted,
            home=True,
            turn=self.turn,
            ordered=solver.ordered,
        )
        if self.program.impossible:
            return
        add_trees(self.program, cells, self.values.cell)
        for changed in self.excluded:
            self.program.exclude(changed)
        for choice in self.refused:
            self._refuse(choice)

    def exclude(self, changed):
        """Let not all of the changed groups of an answer change again."""
        self.excluded.append(changed)
        if not self.program.impossible:
            self.program.exclude(changed)

    def _refuse(self, choice):
        """Cut off one choice of pieces."""
        mip, groups = self.program.mip, self.program.groups
        taken = [(g.choice[c], 1.0) for g, c in zip(groups, choice, strict=True)]
        mip.require(mip.total(taken) <= len(groups) - 1.0)

    def solve(self, ask, top):
        """Return ((codes, cost) or None, bound, whether there is none)."""
        if self.program.impossible:
            return None, np.inf, True
        first = None
        for _ in range(MAX_DOUBTS):
            said, codes, bound = self.program.solve(
                deadline=ask.deadline, cutoff=top, tell=ask.tell
            )
            bound = bound if np.isfinite(bound) else np.nan
            first = bound if first is None or self.turn == 0 else first
            if said.status == "infeasible":
                return None, np.inf, self.turn == 0
            if said.status == "cutoff":
                return None, first if self.turn else top, False
            if codes is None:
                break
            if self._accepted(said.values, codes, ask):
                return (codes, self.program.cost_of(codes)), first, False
            if ask.expired:
                break
        return None, first, False

    def _accepted(self, values, codes, ask):
        """Tell whether rules and model accept an answer; cut it off if not."""
        x, rules = self.cells.x, self.solver.rules
        lifted = np.array([self.lifted])
        if not rules.holds(x[None, :], codes[None, :], lifted)[0]:
            self.turn += 1
            self._build()
            return False
        choice = self.values.choice(self.program, values)
        cell = np.array([c[k] for c, k in zip(self.values.cell, choice, strict=True)])
        score = self.cells.base + leaf_weights(self.cells, cell)
        ok = bool((score >= self.cells.need).all())
        if ok and (ask.strict or (score < self.cells.sure).any()):
            ok = ask.accept is None or bool(ask.accept(codes[None, :])[0])
        if not ok:
            self.refused.append(choice)
            self._refuse(choice)
        return ok
