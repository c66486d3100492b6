"""Rows that are linked beyond the features they share: distances and means."""

import copy
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from skcf._mip._queries import confirmed, solve_queries
from skcf.constraints import max_changes
from skcf.constraints._rule_set import RuleSet
from skcf.group._joint import JointProgram

# How much more than alone the rows may pay together, as parts of that.
SLACKS = 0.05, 0.2, 0.8, 3.2
# What all rows are moved by, as parts of what one of them changes.
STEPS = 0.6, 0.8, 1.0, 1.25, 1.5, 2.0
# The part of the time that the rows alone may take.
ALONE = 0.3
PROVED = 1e-6
NEAR = 1e-9


@dataclass(frozen=True)
class Links:
    """What ties rows together.

    Attributes
    ----------
    lipschitz : float or None
        How many times farther apart than two rows their counterfactuals may be.
    mean_threshold : float or None
        The least mean probability of the target.
    means : tuple of (group, column, low, high)
        Where the mean of a number has to be.
    """

    lipschitz: float | None
    mean_threshold: float | None
    means: tuple

    def __bool__(self):
        far = self.lipschitz is not None or self.mean_threshold is not None
        return far or bool(self.means)

    def linked(self, space):
        """Return the columns of which more than their cost matters."""
        if self.lipschitz is not None:
            return tuple(int(j) for j in np.flatnonzero(space.numeric))
        return tuple(j for _, j, _, _ in self.means)

    def hold(self, group, solver, codes, served):
        """Tell whether codes of the rows that are served keep everything."""
        at = np.flatnonzero(served)
        for _, j, low, high in self.means:
            mean = codes[at, j].mean()
            if not low - NEAR * (1 + abs(low)) <= mean <= high + NEAR * (1 + abs(high)):
                return False
        if self.lipschitz is not None:
            for n, i in enumerate(at):
                for k in at[n + 1 :]:
                    most = self.lipschitz * distance(solver, group.x[i], group.x[k])
                    if distance(solver, codes[i], codes[k]) > most * (1 + NEAR):
                        return False
        if self.mean_threshold is not None:
            return probability(group, at, codes).mean() >= self.mean_threshold
        return True


def probability(group, at, codes):
    """Return the probability of the target of some rows that became `codes`."""
    problem, rows = group.problem, group.rows[at]
    table = problem.space.decode(codes[at], problem.table, rows)
    problem.meter.add(len(at))
    return problem.goal.take(rows).mass(problem.model.probability(table))


def difference(solver, a, b):
    """Return how far two rows of codes are apart in each group.

    For numbers in their units; other groups differ by 1 or not at all.
    """
    space = solver.space
    out = np.zeros(len(space.groups))
    for g, members in enumerate(space.groups):
        j = members[0]
        if space.numeric[j]:
            out[g] = (a[j] - b[j]) / solver.cost.unit[j]
        else:
            out[g] = (a[list(members)] != b[list(members)]).any()
    return out


def distance(solver, a, b):
    """Return the Euclidean norm of the differences of two rows of codes."""
    return float(np.linalg.norm(difference(solver, a, b)))


class LinkedRows:
    """Least cost of rows that are linked.

    No row can cost less than it does alone. So an answer that costs all of them
    together by `slack` more than that has no row that costs more by more, and only the
    points next to the rows' own answers are of interest: one program over these, for a
    slack that grows until it holds what the best answer costs, is the proof.

    Parameters
    ----------
    group : Bunch
        The rows; see `OneForOneExplainer`.
    solver : Solver
        Of single rows.
    joint : IntervalSolver or LayeredSolver
        Of the program of all rows.
    links : Links
    price : float
        Of each feature that changes in some row.
    most : int or None
        The most features that change in some row.

    Attributes
    ----------
    total, codes, served
        Of the best answer.
    bound : float
    """

    def __init__(self, group, solver, joint, links, price, most):
        self.group, self.solver, self.joint, self.links = group, solver, joint, links
        self.price, self.most = price, most
        self.total, self.bound = np.inf, 0.0
        self.codes = group.x.copy()
        self.served = np.zeros(len(group.x), dtype=bool)
        # Tangents of distances are drawn at these.
        self._tried = [group.x]

    def solve(self):
        """Search until the best answer is proved, or the time is up."""
        group, n = self.group, len(self.group.x)
        floors = self._alone()
        least = float(np.sort(floors)[: group.n_served].sum())
        self.bound = max(self.bound, least)
        if np.isposinf(self.bound):
            return self
        # Which rows are left out is for the program to say, and with it what they cost.
        parts = SLACKS if group.n_served == n else ()
        for slack in (*(max(part * least, 1e-6) for part in parts), np.inf):
            if self._proved or group.problem.meter.expired:
                break
            spare = max(self.total - least, 0.0)
            last, tops = slack >= spare, None
            slack = min(slack, spare) if n == group.n_served else slack
            if np.isfinite(slack):
                with np.errstate(divide="ignore"):
                    tops = (floors + slack) / group.weight
            self._within(tops, least + slack)
            if last:
                break
        return self

    @property
    def _proved(self):
        if np.isinf(self.total):
            return bool(np.isinf(self.bound))
        return bool(self.total - self.bound <= PROVED * (1.0 + abs(self.total)))

    # -- rows alone -------------------------------------------------------------------

    def _alone(self):
        """Solve the rows alone, offer what follows, and return what each costs."""
        group, problem = self.group, self.group.problem
        with _until(problem.meter, ALONE):
            floors, codes = self._solved(problem)
        self._offer(codes)
        if codes is not None:
            self._tried.append(codes)
        if self.links.mean_threshold is not None:
            surer = copy.copy(problem)
            nu = max(problem.goal.nu or 0.0, self.links.mean_threshold)
            surer.goal = replace(problem.goal, nu=nu)
            with _until(problem.meter, ALONE):
                self._offer(self._solved(surer)[1])
        if self.links.lipschitz is not None and codes is not None:
            # What all become the same is never farther apart than before.
            for one in codes:
                self._offer(np.tile(one, (len(group.x), 1)))
            for i, one in enumerate(codes):
                for part in STEPS:
                    self._offer(self._shifted(i, one, part))
        return floors

    def _shifted(self, i, one, part):
        """Return all rows with a part of what row `i` changes, which keeps distances.

        What is beyond the range of a column ends there; other than numbers all rows
        take the value of that row.
        """
        x, space, rules = self.group.x, self.joint.space, self.joint.rules
        out = x.copy()
        for j, column in enumerate(space.columns):
            if one[j] == x[i, j] or np.isnan(one[j]):
                continue
            out[:, j] = one[j]
            if space.numeric[j] and not np.isnan(x[:, j]).any():
                moved = x[:, j] + part * (one[j] - x[i, j])
                out[:, j] = np.clip(column.snap(moved), rules.low[j], rules.high[j])
        return out

    def _solved(self, problem):
        """Return (floors, codes or None) of the rows alone."""
        group, solver = self.group, self.solver
        limit = solver.rules.max_changes
        if self.most is not None and (limit is None or self.most < limit):
            # What the group may not change, no row may.
            rules = (*solver.rules.rules, max_changes(self.most))
            solver = solver.with_rules(RuleSet(rules, solver.space))
        some = solve_queries(problem, group.rows, solver)
        found = [some[int(i)] for i in group.rows]
        floors = np.array([np.nan_to_num(s.lower_bound, posinf=np.inf) for s in found])
        dead = np.isposinf(floors)
        floors[~dead] *= group.weight[~dead]
        codes = None
        if all(map(len, found)):
            codes = np.array([s.codes[0] for s in found])
        return floors, codes

    def _offer(self, codes):
        """Take the cheapest rows of an answer if it is lawful and better."""
        if codes is None:
            return
        group = self.group
        paid = group.weight * self.joint.cost.rows(group.x, codes)
        served = np.zeros(len(paid), dtype=bool)
        served[np.argsort(paid, kind="stable")[: group.n_served]] = True
        codes = np.where(served[:, None], codes, group.x)
        groups = self.joint.space.groups
        moved = ~((codes == group.x) | (np.isnan(codes) & np.isnan(group.x)))
        n_moved = sum(bool(moved[:, list(members)].any()) for members in groups)
        if self.most is not None and n_moved > self.most:
            return
        total = float(paid[served].sum() + self.price * n_moved)
        if total >= self.total:
            return
        at = np.flatnonzero(served)
        lawful = self.joint.rules.holds(group.x[at], codes[at]).all()
        lawful = lawful and moved[at].any(axis=1).all()
        lawful = lawful and confirmed(group.problem, group.rows[at], codes[at]).all()
        if lawful and self.links.hold(group, self.joint, codes, served):
            self.total, self.codes, self.served = total, codes, served

    # -- the program ----------------------------------------------------------------

    def _within(self, tops, least_beyond):
        """Solve the program of rows that cost at most `tops`."""
        group, links, space = self.group, self.links, self.joint.space
        n, deadline = len(group.x), group.problem.meter.deadline
        program = JointProgram(
            self.joint,
            group.x,
            group.encoded,
            group.goals,
            group.weight,
            self.price,
            self.most,
            group.n_served if group.n_served < n else None,
            tops,
            links.linked(space),
            links.mean_threshold is not None,
            deadline,
        )
        if program.made:
            for i in range(n if links.lipschitz is not None else 0):
                for k in range(i + 1, n):
                    apart = distance(self.joint, group.x[i], group.x[k])
                    ball = program.keep_near(i, k, links.lipschitz * apart)
                    for codes in self._tried:
                        ball.touch(difference(self.joint, codes[i], codes[k]))
            for g, _, low, high in links.means:
                program.keep_mean(g, low, high)
            if links.mean_threshold is not None:
                program.keep_probable(links.mean_threshold)
        found = program.solve(self._confirm, self.total)
        if found.codes is not None and found.total < self.total:
            self.total, self.codes = found.total, found.codes
            self.served = found.served
        self.bound = max(self.bound, min(found.bound, least_beyond))

    def _confirm(self, at, codes):
        return confirmed(self.group.problem, self.group.rows[at], codes)


@contextmanager
def _until(meter, part):
    """Let a meter's time end earlier, after a part of what is left."""
    deadline = meter.deadline
    if deadline is not None:
        now = time.monotonic()
        meter.deadline = now + part * max(0.0, deadline - now)
    try:
        yield
    finally:
        meter.deadline = deadline
        meter.cut = False
