"""The exact search against looking at every possible row."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier

from skcf._mip._tree_branch import TreeSearch
from skcf._mip._tree_solver import TreeSolver
from skcf._model import Goal
from skcf.constraints import max_changes
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.costs import Cost
from skcf.exceptions import UnsupportedConstraintError
from skcf.tabular import OptimalExplainer
from tests.tabular.enumerated import COSTS, MODELS, World

N_CASES = 14


class Exact:
    """A world with the exact solver over it, and the model as judge."""

    def __init__(self, kind, seed):
        self.world = World(kind, seed)
        target = (0, 1) if self.world.regression else "opposite"
        explainer = OptimalExplainer(FrozenEstimator(self.world.model), target=target)
        self.explainer = explainer.fit(self.world.X, self.world.y)
        self.space, self.model = explainer._space, explainer._model
        self.boxes = explainer._solver.boxes

    def solve(self, case, k):
        """Return (x, rules, solution, judge) of a case."""
        rules = [
            max_changes(int(words[12])) if words.startswith("max") else words
            for words in case.rules
        ]
        rules = RuleSet(check_rules(rules), self.space)
        cost = Cost(**case.cost)._bind(self.space)
        same = (rules.low == self.space.low).all()
        same &= (rules.high == self.space.high).all()
        boxes = self.boxes if same else None
        solver = TreeSolver(self.model, self.space, rules, cost, boxes)
        goal = self.goal(case)
        x = self.space.encode(case.query)[0]

        def judge(codes):
            rows = self.space.decode(codes)
            return self.world.reached(case.query, rows, case.target, case.threshold)

        return x, rules, solver.solve(x, goal, k=k, accept=judge), judge

    def goal(self, case):
        if self.world.regression:
            low, high = case.target
            low = -np.inf if low is None else low
            high = np.inf if high is None else high
            return Goal(low=np.array([low]), high=np.array([high]))
        opposite = case.target == "opposite"
        old = int(self.world.model.predict(case.query)[0])
        return Goal(
            label=np.array([old if opposite else case.target]),
            opposite=np.array([opposite]),
            nu=case.threshold,
        )


def check(exact, case, k):
    """Compare the solution of a case with what looking at all rows says."""
    x, rules, solution, judge = exact.solve(case, k)
    told = case.cost, case.rules, case.target, case.threshold, case.query.to_dict()
    assert solution.status == ("optimal" if len(case.costs) else "infeasible"), told
    left = np.ones(len(case.costs), dtype=bool)
    for i in range(k):
        best = case.costs[left].min() if left.any() else np.inf
        found = solution.cost[i] if i < len(solution) else np.inf
        assert found == best or abs(found - best) <= 1e-9, told
        if i >= len(solution):
            break
        same = solution.codes[i] == x
        same |= np.isnan(solution.codes[i]) & np.isnan(x)
        # The next one does not change all that this one changes.
        left &= ~case.changed[:, ~same].all(axis=1)
    if len(solution):
        assert solution.optimal.all()
        assert solution.lower_bound <= solution.cost[0] + 1e-12
        assert judge(solution.codes).all(), told
        assert rules.holds(np.tile(x, (len(solution), 1)), solution.codes).all()
    else:
        assert solution.lower_bound == np.inf


@pytest.mark.parametrize("kind", MODELS)
def test_cheapest_of_all_rows(kind):
    exact = Exact(kind, seed=0)
    names = list(COSTS)
    cases = [
        exact.world.case(names[i % len(names)], n_rules=i % 4) for i in range(N_CASES)
    ]
    cases = [case for case in cases if case is not None]
    assert cases
    for i, case in enumerate(cases):
        check(exact, case, k=3 if i % 4 == 0 else 1)


@pytest.mark.parametrize("kind", ["forest", "hist", "xgb"])
def test_proof_without_a_good_first_point(kind, monkeypatch):
    # A search that starts with nothing has to prune by bounds alone.
    monkeypatch.setattr(TreeSearch, "climb", lambda self, starts=(): None)
    exact = Exact(kind, seed=3)
    names = list(COSTS)
    for i in range(N_CASES // 2):
        case = exact.world.case(names[i % len(names)], n_rules=i % 3)
        if case is not None:
            check(exact, case, k=1)


def test_a_passed_deadline_leaves_a_bound():
    exact = Exact("full forest", seed=1)
    case = None
    while case is None or not len(case.costs):
        case = exact.world.case("l1", n_rules=0)
    solver = exact.explainer._solver
    x = exact.space.encode(case.query)[0]
    solution = solver.solve(x, exact.goal(case), deadline=0.0)
    assert solution.status in ("feasible", "none", "optimal")
    assert solution.lower_bound <= case.optimum + 1e-9
    if solution.status == "feasible":
        assert solution.cost[0] >= case.optimum - 1e-9


def test_callback_hears_a_falling_incumbent_and_a_rising_bound():
    exact = Exact("forest", seed=2)
    case = None
    while case is None or not len(case.costs):
        case = exact.world.case("l1", n_rules=0)
    heard = []
    x = exact.space.encode(case.query)[0]
    exact.explainer._solver.solve(
        x, exact.goal(case), callback=lambda *told: heard.append(told)
    )
    costs, bounds = np.array(heard).T
    assert (np.diff(costs) <= 0).all() and (np.diff(bounds) >= 0).all()
    assert costs[-1] >= case.optimum - 1e-9 and (bounds <= case.optimum + 1e-9).all()


def test_a_comparison_of_fine_numbers_is_refused_by_its_text():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(50, 2)).round(6)
    y = (X.sum(axis=1) > 1).astype(int)
    explainer = OptimalExplainer(DecisionTreeClassifier(max_depth=3)).fit(X, y)
    space, model = explainer._space, explainer._model
    rules = RuleSet(check_rules(["cf[0] <= cf[1]"]), space)
    with pytest.raises(UnsupportedConstraintError, match=r"cf\[0\] <= cf\[1\]"):
        TreeSolver(model, space, rules, explainer._cost)
