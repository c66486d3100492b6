"""Which rows one change can flip in a network of rectified linear units."""

from dataclasses import dataclass

import numpy as np

from skcf._mip._layered import Case, Parts
from skcf._mip._pieces import Pieces
from skcf._mip._relu import N_STEPS, ReluSolver
from skcf.group._exact_oracle import ExactOracle
from skcf.group._shared_program import SharedProgram


class LayerOracle(ExactOracle):
    """Shared changes under a network; see `ExactOracle`.

    Parameters
    ----------
    solver : ListedReluSolver
    """

    def __init__(self, problem, rows, menu, goal, most, solver):
        super().__init__(problem, rows, menu, goal, most)
        self.solver = solver
        self.encoded = solver.encode(problem.table)[rows]

    def _search(self, row, choice, price, home, charged, room):
        problem, menu = self.problem, self.menu
        start, pieces = problem.x[self.rows[row]].copy(), []
        for g, members in enumerate(problem.space.groups):
            codes = menu.codes[g][choice[g]]
            pieces.append(Pieces(tuple(members), codes, codes, int(home[g])))
            if home[g] < 0:
                start[list(members)] = codes[price[g].argmin()]
        case = ListedCase(
            x=start,
            encoded=self.encoded[row],
            goal=self.goal,
            pieces=pieces,
            lifted=-1,
            home=False,
            deadline=problem.meter.deadline,
            callback=None,
            accept=self.accept(row),
            shared=ListedCosts(self.solver.cost, problem.space, pieces, price),
            charged=charged,
            room=room,
        )
        codes, _, none = self.solver._next(case)
        self.sure &= codes is not None or none
        return None if codes is None else case.shared.positions(codes)


class ListedCosts:
    """The cost of a point whose features have lists of values with prices."""

    def __init__(self, cost, space, pieces, price):
        self.cost, self.space, self.pieces, self.price = cost, space, pieces, price

    def number(self, g):
        """Return None: no feature is a range of numbers."""

    def of(self, g, codes):
        """Return the prices of the values of a group."""
        return self.price[g]

    def positions(self, codes):
        """Return the position of each group's value in a row of codes."""
        out = []
        for p in self.pieces:
            code = codes[list(p.columns)]
            same = (p.low == code) | (np.isnan(p.low) & np.isnan(code))
            out.append(int(np.flatnonzero(same.all(axis=1))[0]))
        return out

    def total(self, codes):
        """Return the cost of a row of codes."""
        at = self.positions(codes)
        return float(sum(p[i] for p, i in zip(self.price, at, strict=True)))


@dataclass
class ListedCase(Case):
    """A case of a point with lists of values."""

    shared: ListedCosts | None = None
    charged: np.ndarray | None = None
    room: int = 0


class ListedReluSolver(ReluSolver):
    """Searches a network over lists of values, few of which may be changed."""

    def _program(self, case, turn=0):
        program = SharedProgram(self.rules, case.shared, case.x, case.pieces, turn)
        mip, groups = program.mip, program.groups
        changed = [(groups[g].changed, 1.0) for g in np.flatnonzero(case.charged)]
        if case.room < len(changed):
            mip.require(mip.total(changed) <= float(case.room))
        return program

    def _by_program(self, case, rows, turn, top):
        if not any(p.any() for p in case.shared.price):
            # Any answer will do.
            found = self._some(case, rows)
            if found is not None:
                return found, 0.0, False
        return super()._by_program(case, rows, turn, top)

    def _some(self, case, rows):
        """Return an answer that tangents of the network lead to, or None."""
        constant, own = self.inputs.own(case.encoded)
        tables = [self.inputs.table(g, p, own[g]) for g, p in enumerate(case.pieces)]
        parts = Parts(None, tables, constant, rows, [], np.inf)
        here, more = case.x, 0.0
        for _ in range(N_STEPS):
            here = None if case.expired else self._step(case, parts, here, more)
            if here is None or self._accepted(case, here):
                return here
            more += max((rows.least - rows.factors @ self.outputs(here)).max(), 0.0)
        return None

    def _cost_of(self, case, codes):
        return case.shared.total(codes)

    def _accepted(self, case, codes):
        return bool(case.accept(codes[None, :])[0])
