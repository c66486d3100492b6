"""What solvers of layered models share: alternatives, margins, next best answers."""

import time
from dataclasses import dataclass, field

import numpy as np

from skcf._mip._goal_rows import goal_rows, margins_of
from skcf._mip._inputs import Inputs
from skcf._mip._program import Program, meets
from skcf._mip._rule_rows import check_writable
from skcf._mip._solution import Solution

PROVED = 1e-6
_ACTIVATIONS = {"identity": lambda z: z, "relu": lambda z: np.maximum(z, 0.0)}


class LayeredSolver:
    """Base of the solvers of models that are read as layers.

    A subclass implements `_read` and `_add_model`, and may answer an alternative of
    the target without a program (`_closed_form`).

    Parameters
    ----------
    model : BlackBox
        Its view is a stack of layers.
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost
    """

    def __init__(self, model, space, rules, cost):
        self.model, self.space, self.rules, self.cost = model, space, rules, cost
        self.layers = self._read(model.view.kernel)
        layers = self.layers
        check_writable(rules)
        self.inputs = Inputs(
            model.view.encoding, layers.weights[0], layers.biases[0], rules
        )

    def with_rules(self, rules):
        """Return the solver for another rule set."""
        return type(self)(self.model, self.space, rules, self.cost)

    def encode(self, table):
        """Return the encoded rows of a table, for `solve`."""
        return self.inputs.encode_table(table)

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
        """Return the Solution of one query; see `skcf._mip._solution.Solver`.

        Parameters
        ----------
        encoded : ndarray, default=None
            The query's row of `encode`.
        strict : bool, default=False
            `accept` is asked about every answer, whatever this says.
        """
        if encoded is None:
            encoded = self.inputs.encode(x[None, :])[0]
        pieces = self.inputs.pieces(x, lifted)
        case = Case(x, encoded, goal, pieces, lifted, k > 1, deadline, callback, accept)
        found, bound, none = [], np.nan, False
        while len(found) < k:
            codes, least, refuted = self._next(case)
            if not found:
                bound, none = least, refuted
            if codes is None:
                break
            cost = self._cost_of(case, codes)
            found.append((codes, cost, meets(cost, least, PROVED)))
            case.excluded.append(self._changed(case, codes))
        if not found:
            return Solution.empty(len(x), infeasible=none, bound=bound)
        codes, cost, proved = map(np.array, zip(*found, strict=True))
        status = "optimal" if proved[0] else "feasible"
        return Solution(codes, cost, proved, min(bound, float(cost[0])), status)

    def _next(self, case):
        """Return (codes or None, bound, whether there is none) of the next answer."""
        first = None
        for turn, margin in enumerate(margins_of(case.goal)):
            codes, bound, none = self._best(case, turn, margin)
            # A larger margin cuts off points: it proves nothing.
            first = (bound, none) if first is None else first
            if codes is None or self._accepted(case, codes):
                return codes, *first
            if case.expired:
                break
        return None, *first

    def _best(self, case, turn, margin):
        """Return what `_next` does, for one margin, over all alternatives."""
        best, top, least, none = None, np.inf, np.inf, True
        for which, rows in enumerate(goal_rows(self.model, case.goal, margin)):
            case.which = which
            codes, bound, refuted = self._alternative(case, rows, turn, top)
            none &= refuted
            least = -np.inf if np.isnan(bound) else min(least, bound)
            if codes is not None and self._cost_of(case, codes) < top:
                best, top = codes, self._cost_of(case, codes)
        if none:
            return None, np.inf, True
        return best, least if np.isfinite(least) else np.nan, False

    def _alternative(self, case, rows, turn, top):
        """Return what `_next` does, for one alternative; only below the cost `top`."""
        if any(len(p) == 0 for p in case.pieces):
            return None, np.inf, True
        quick = None if case.excluded else self._closed_form(case, rows)
        if quick is not None:
            return quick
        return self._by_program(case, rows, turn, top)

    def _closed_form(self, case, rows):
        """Return what `_alternative` does where no program is needed, else None."""
        return None

    def _program(self, case, turn=0):
        """Return the program of a query without its model."""
        _, own = self.inputs.own(case.encoded)
        pairs = list(enumerate(case.pieces))
        home = np.array([self.inputs.bends(g, p, own[g]) for g, p in pairs])
        program = Program(
            self.rules,
            self.cost,
            case.x,
            case.pieces,
            lifted=case.lifted,
            home=home | case.home,
            turn=turn,
        )
        for changed in case.excluded:
            program.exclude(changed)
        return program

    def _by_program(self, case, rows, turn, top):
        program = self._program(case, turn)
        constant, own = self.inputs.own(case.encoded)
        # What the rows are passed by; above zero where an answer was turned down.
        clear = [program.mip.variable("clear", 0, 0) for _ in rows.least]
        tables = [self.inputs.table(g, p, own[g]) for g, p in enumerate(case.pieces)]
        parts = Parts(program, tables, constant, rows, clear, top)
        bend = self._add_model(parts, case)
        said, codes, bound = program.solve(
            deadline=case.deadline,
            cutoff=parts.top if np.isfinite(parts.top) else None,
            tell=case.tell,
            bend=bend,
        )
        if said.status == "infeasible" and not np.isfinite(parts.top):
            return None, np.inf, True
        bound = bound if np.isfinite(bound) else np.nan
        if codes is None:
            return self._kept(case, parts, said, bound)
        if not self._accepted(case, codes):
            codes = self._repaired(case, parts, said, codes)
        return codes, bound, False

    def _kept(self, case, parts, said, bound):
        """Return the answer that was known before the program, if it is the best."""
        proved = said.status in ("cutoff", "infeasible")
        return None, parts.top if proved else bound, False

    def _repaired(self, case, parts, said, codes):
        """Return an accepted answer with the integers of one that was turned down."""
        program, rows = parts.program, parts.rows
        for margin in margins_of(case.goal)[1:]:
            more = (
                goal_rows(self.model, case.goal, margin)[case.which].least - rows.least
            )
            pins = list(zip(parts.clear, np.maximum(more, 0.0), strict=True))
            again = program.mip.solve(fixed=said.values, pins=pins)
            if again.values is None:
                break
            near = program.codes(again.values)
            if self._accepted(case, near):
                return near
        return codes

    # -- checking -------------------------------------------------------------------

    def _accepted(self, case, codes):
        """Tell whether rules and model accept an answer."""
        key = codes.tobytes()
        if key not in case.judged:
            case.judged[key] = self._judged(case, codes)
        return case.judged[key]

    def _judged(self, case, codes):
        x, cf = case.x[None, :], codes[None, :]
        if not self.rules.holds(x, cf, np.array([case.lifted]))[0]:
            return False
        if case.accept is not None:
            return bool(case.accept(cf)[0])
        outputs = self.outputs(codes)
        rows = goal_rows(self.model, case.goal, judging=True)
        return any(row.holds(outputs) for row in rows)

    def outputs(self, codes):
        """Return the sums of the last layer for a row of codes."""
        act = _ACTIVATIONS[self.layers.activation]
        layers = zip(self.layers.weights, self.layers.biases, strict=True)
        out = self.inputs.encode(codes[None, :])[0]
        for i, (w, b) in enumerate(layers):
            out = (act(out) if i else out) @ w + b
        return out

    def _cost_of(self, case, codes):
        return float(self.cost.rows(case.x[None, :], codes[None, :])[0])

    def _changed(self, case, codes):
        x = case.x
        same = (x == codes) | (np.isnan(x) & np.isnan(codes))
        return np.array([not same[list(m)].all() for m in self.space.groups])


@dataclass
class Parts:
    """A program on its way to a model: what the values of the groups add, the target.

    `top` is the least cost known, of an answer to another alternative of the target.
    """

    program: Program
    tables: list
    constant: np.ndarray
    rows: object
    clear: list
    top: float


@dataclass
class Case:
    """One query with all that was asked of it."""

    x: np.ndarray
    encoded: np.ndarray
    goal: object
    pieces: list
    lifted: int
    home: bool
    deadline: float | None
    callback: object
    accept: object
    excluded: list = field(default_factory=list)
    judged: dict = field(default_factory=dict)
    said: tuple = (np.inf, -np.inf)
    which: int = 0
    known: np.ndarray | None = None

    @property
    def expired(self):
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def tell(self):
        """What a solver may report to, None if nobody listens."""
        return None if self.callback is None or self.excluded else self._tell

    def _tell(self, cost, bound):
        if cost < self.said[0] or bound > self.said[1]:
            self.said = min(cost, self.said[0]), max(bound, self.said[1])
            self.callback(*self.said)
