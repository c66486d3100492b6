"""The ways to explain rows one for one: alone, by sets or prices, in one program."""

from dataclasses import dataclass

import numpy as np

from skcf._mip._goal_rows import margins_of
from skcf._mip._interval import IntervalSolver
from skcf._mip._queries import confirmed, solve_queries
from skcf._mip._tree_solver import TreeSolver
from skcf.constraints import fixed
from skcf.constraints._rule_set import RuleSet
from skcf.group._feature_sets import best_set, can_serve
from skcf.group._joint_blocks import check_goals
from skcf.group._linear_moves import moves_of
from skcf.group._linked import ALONE, LinkedRows
from skcf.group._priced_sets import PricedSets
from skcf.group._priced_trees import PricedTrees

TOLERANCE = 1e-6
# So many margins are tried before single rows are solved anew.
N_MARGINS = 3


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """What was found for the rows of a group.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_features)
    served : ndarray of bool of shape (n_rows,)
        The rows that have a counterfactual.
    total, bound : float
        The objective, and what it cannot fall below.
    dead : ndarray of bool of shape (n_rows,)
        The rows for which it is proved that they cannot have one.
    """

    codes: np.ndarray
    served: np.ndarray
    total: float
    bound: float
    dead: np.ndarray

    @property
    def proved(self):
        """Whether nothing is better."""
        return bool(self.total - self.bound <= TOLERANCE * (1.0 + abs(self.total)))

    @classmethod
    def nothing(cls, x, bound):
        """Return the answer for a group that has none; proved if the bound is inf."""
        nobody = np.zeros(len(x), dtype=bool)
        return cls(x, nobody, np.inf, bound, nobody | bool(np.isposinf(bound)))


def alone(group, solver):
    """Solve row by row, and leave out the rows that pay most."""
    solutions = solve_queries(group.problem, group.rows, solver)
    found = [solutions[int(i)] for i in group.rows]
    n = len(found)
    cost = np.array([s.cost[0] if len(s) else np.nan for s in found])
    bound = np.array([s.lower_bound for s in found])
    dead = np.array([s.status == "infeasible" for s in found])
    paid = np.full(n, np.inf)
    paid[np.isfinite(cost)] = (group.weight * cost)[np.isfinite(cost)]
    order = np.argsort(paid, kind="stable")
    order = order[np.isfinite(paid[order])][: group.n_served]
    served = np.zeros(n, dtype=bool)
    served[order] = True
    codes = group.x.copy()
    for i in order:
        codes[i] = found[i].codes[0]
    least = np.where(dead, np.inf, group.weight * np.nan_to_num(bound))
    # Rows that cannot be explained at all are outliers beyond those allowed for.
    n_least = min(group.n_served, int((~dead).sum()))
    least = float(np.sort(least)[:n_least].sum())
    return GroupAnswer(codes, served, float(paid[served].sum()), least, dead)


def by_feature_sets(group, solver, price, most):
    """Search the best set of features of a linear model; None for other cases."""
    bound = None
    for margin in margins_of(group.goals[0])[:N_MARGINS]:
        read = moves_of(solver, group.x, group.encoded, group.goals, margin)
        if read is None:
            return None
        moves, writer = read
        if moves.many:
            # Which features suffice is found out all the same.
            seconds = group.problem.meter.left
            seconds = None if seconds is None else ALONE * seconds
            if most is None or can_serve(moves, group.n_served, most, seconds):
                return None
            return GroupAnswer.nothing(group.x, np.inf)
        best = best_set(
            moves,
            group.weight,
            group.n_served,
            price,
            moves.n_features if most is None else most,
            lambda: group.problem.meter.expired,
        )
        # A larger margin cuts off points: it proves nothing.
        bound = best.bound if bound is None else bound
        if best.features is None or not np.isfinite(best.total):
            return GroupAnswer.nothing(group.x, bound)
        codes, served = _cheapest_served(group, moves, writer, best.features)
        at = np.flatnonzero(served)
        ok = confirmed(group.problem, group.rows[at], codes[at])
        ok &= solver.rules.holds(group.x[at], codes[at])
        if ok.all():
            break
    else:
        # Rounding to numbers that exist is the business of the solver.
        _solve_within(group, solver, best.features, at[~ok], codes)
    return _priced_answer(group, solver, price, codes, served, bound)


def _cheapest_served(group, moves, writer, features):
    """Return the rows moved within some features, and which of them are served."""
    paid = moves.least(features)
    paid[np.isfinite(paid)] *= group.weight[np.isfinite(paid)]
    served = np.zeros(len(group.x), dtype=bool)
    served[np.argsort(paid, kind="stable")[: group.n_served]] = True
    codes = writer.write(group.x, *moves.choice(features))
    codes[~served] = group.x[~served]
    return codes, served


def _priced_answer(group, solver, price, codes, served, bound):
    """Return the answer with the objective of its codes as they are."""
    x, space = group.x, solver.space
    same = (codes == x) | (np.isnan(codes) & np.isnan(x))
    touched = sum(bool((~same[:, list(members)]).any()) for members in space.groups)
    total = float((group.weight * solver.cost.rows(x, codes))[served].sum())
    total += price * touched
    return GroupAnswer(codes, served, total, min(bound, total), ~served & False)


def _solve_within(group, solver, features, at, codes):
    """Put in the cheapest counterfactuals of rows that change some features."""
    space = solver.space
    names = [
        space.names[j]
        for g, members in enumerate(space.groups)
        for j in members
        if not features[g]
    ]
    rules = solver.rules
    if names:
        rules = RuleSet((*rules.rules, fixed(*names)), space)
    some = solve_queries(group.problem, group.rows[at], solver.with_rules(rules))
    for i in at:
        found = some[int(group.rows[i])]
        if len(found):
            codes[i] = found.codes[0]


def by_prices(group, solver, price, most):
    """Search the best set of features of trees; None for other models."""
    if not isinstance(solver, TreeSolver):
        return None
    codes = group.x.copy()
    # What the model turns down is searched again, with the model asked every time.
    for strict in (False, True):
        search = _priced(group, solver, price, most, strict)
        served = np.array([way is not None for way in search.ways])
        if not served.any():
            return GroupAnswer.nothing(group.x, search.bound)
        at = np.flatnonzero(served)
        codes[at] = [search.ways[i].codes for i in at]
        if confirmed(group.problem, group.rows[at], codes[at]).all():
            break
    return GroupAnswer(codes, served, search.total, search.bound, np.zeros_like(served))


def _priced(group, solver, price, most, strict):
    def accept_of(i):
        def accept(codes):
            return confirmed(group.problem, np.full(len(codes), i), codes)

        return accept

    rows = [
        PricedTrees(solver, x, encoded, goal, weight, accept_of(i), strict)
        for x, encoded, goal, weight, i in zip(
            group.x, group.encoded, group.goals, group.weight, group.rows, strict=True
        )
    ]
    n_features, deadline = len(solver.space.groups), group.problem.meter.deadline
    search = PricedSets(rows, price, most, group.n_served, n_features, deadline)
    return search.solve()


def by_program(group, solver, price, most, links):
    """Solve all rows in one program, next to what they are alone."""
    check_goals(solver.model, group.goals)
    joint = solver
    if isinstance(solver, TreeSolver):
        joint = IntervalSolver(
            solver.model, solver.space, solver.rules, solver.cost, solver.boxes
        )
    found = LinkedRows(group, solver, joint, links, price, most).solve()
    if not found.served.any():
        return GroupAnswer.nothing(group.x, found.bound)
    nobody = ~found.served & False
    return GroupAnswer(found.codes, found.served, found.total, found.bound, nobody)
