"""The queries of a problem, one by one, on their way to a solver."""

import time

import numpy as np

from skcf._mip._solution import Solution


def solve_queries(problem, rows, solver, k=1):
    """Return the Solution of each query at `rows`, as a dict.

    A query whose answer the model does not confirm is solved again, with the model
    asked about every point. The time that is left is shared out evenly.
    """
    encoded = solver.encode(problem.table)
    solutions = {}
    for n, i in enumerate(rows.tolist()):
        deadline, now = problem.meter.deadline, time.monotonic()
        if deadline is not None and now >= deadline:
            solutions[i] = Solution.empty(problem.x.shape[1])
            continue
        if deadline is not None:
            deadline = now + (deadline - now) / (len(rows) - n)
        solutions[i] = _Asked(problem, i, deadline).solve(solver, encoded[i], k)
    for i in _doubted(problem, solutions):
        ask = _Asked(problem, i, problem.meter.deadline)
        solutions[i] = ask.solve(solver, encoded[i], k, strict=True)
    return solutions


def _doubted(problem, solutions):
    """Return the queries with an answer that the model does not confirm."""
    some = [(i, row) for i, s in solutions.items() for row in s.codes]
    if not some:
        return []
    who = np.array([i for i, _ in some])
    ok = confirmed(problem, who, np.array([row for _, row in some]))
    return np.unique(who[~ok]).tolist()


class _Asked:
    """One query of a problem on its way to a solver."""

    def __init__(self, problem, i, deadline):
        self.problem, self.i, self.deadline = problem, i, deadline

    def solve(self, solver, encoded, k, strict=False):
        problem, i = self.problem, self.i
        lifted = problem.ground.lifted
        return solver.solve(
            problem.x[i],
            problem.goal.take(np.array([i])),
            encoded=encoded,
            lifted=-1 if lifted is None else int(lifted[i]),
            deadline=self.deadline,
            k=k,
            callback=self.tell,
            accept=self.accept,
            strict=strict,
        )

    @property
    def tell(self):
        """The callback of the call, told which row it is about; None without one."""
        callback = self.problem.callback
        if callback is None:
            return None
        row = int(self.problem.called[self.i])
        return lambda cost, bound: callback(row, cost, bound)

    def accept(self, codes):
        """Return which rows of codes the model itself says are in the target."""
        return confirmed(self.problem, np.full(len(codes), self.i), codes)


def confirmed(problem, who, codes):
    """Return which rows of codes the model says are in the target of a query."""
    table = problem.space.decode(codes, problem.table, who)
    return verdict(problem.model, table, problem.meter)(problem.goal.take(who))


def verdict(model, table, meter):
    """Return a function that tells which rows of a table the model puts in a goal."""
    said = model.predict(table)
    place = said.astype(np.float64) if model.regression else model.positions(said)
    scores, probability = model.output(table)
    for _ in range(2):
        meter.add(len(place))

    def reached(goal):
        chance = probability
        if chance is None and goal.nu is not None:
            chance = model.probability(table)
        clear = model.passes(model.margin(scores, chance, goal))
        return clear & goal.reached(place, chance)

    return reached
