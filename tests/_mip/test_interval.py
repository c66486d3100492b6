import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from skcf._mip import _tree_cells
from skcf._mip._interval import IntervalSolver
from skcf._mip._tree_program import _covers
from skcf.costs import Cost
from tests._mip.boxes import (
    accepting,
    brute,
    class_goal,
    fitted,
    number_goal,
    parts_of,
)
from tests._mip.path_form import least_cost
from tests._mip.test_linear import COSTS, RULES, labels, table


def check(explainer, goal, x, k):
    """Compare the program with a look at every point."""
    accept = accepting(explainer, goal)
    truth = brute(explainer, x, accept, k=k)
    said = IntervalSolver(*parts_of(explainer)).solve(x, goal, k=k, accept=accept)
    np.testing.assert_allclose(said.cost, truth, rtol=0, atol=1e-9)
    assert said.optimal.all()
    if not truth:
        assert said.status == "infeasible" and said.lower_bound == np.inf
        return
    assert said.status == "optimal" and accept(said.codes).all()
    assert said.lower_bound == pytest.approx(truth[0], abs=1e-6)
    assert said.lower_bound <= truth[0]
    x_many = np.broadcast_to(x, said.codes.shape)
    assert explainer._rules.holds(x_many, said.codes).all()


def random_case(seed):
    """Return (explainer, goal, query) of a small table, forest or boosting."""
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 2
    X = table(rng)
    y = labels(rng, X, n_classes)
    if seed % 3:
        model = RandomForestClassifier(6, max_depth=4, random_state=0)
    else:
        model = GradientBoostingClassifier(n_estimators=5, random_state=0)
    model.fit(X, y)
    rules, cost = RULES[seed % len(RULES)], COSTS[seed // 2 % len(COSTS)]
    explainer = fitted(model, X, rules=rules, cost=cost, categorical=[3, 4])
    x = X[rng.integers(len(X))].copy()
    if seed % 5 == 0:
        x[:2] = 7.0, 1.5  # out of range, and off the grid
    old = int(model.predict(x[None])[0])
    goal = class_goal(None, leave=old)
    if seed % 4 > 1:
        nu = [None, 0.6, 0.4, 0.9][seed // 4 % 4]
        goal = class_goal(None, label=(old + 1) % n_classes, nu=nu)
    return explainer, goal, x


@pytest.mark.parametrize("seed", range(18))
def test_as_by_brute_force(seed):
    check(*random_case(seed), k=1 + seed % 3)


@pytest.mark.parametrize("seed", range(100, 114))
def test_rules_between_numbers_that_are_not_listed(seed, monkeypatch):
    monkeypatch.setattr(_tree_cells, "MAX_POINTS", 2)
    monkeypatch.setattr(_tree_cells, "MAX_TABLE", [1, 10**6][seed % 2])
    check(*random_case(seed), k=1 + seed % 2)


@pytest.mark.parametrize("seed", range(4))
def test_numbers_to_reach(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    y = X @ rng.normal(size=5)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    explainer = fitted(model, X, rules=RULES[seed])
    up = seed % 2
    low, high = np.quantile(y, [0.6, 0.8]) if up else (-np.inf, np.quantile(y, 0.2))
    x = X[int(np.argmin(y) if up else np.argmax(y))]
    check(explainer, number_goal(low, high), x, k=2)


@pytest.mark.parametrize("seed", range(4))
def test_missing_values(seed, monkeypatch):
    monkeypatch.setattr(_tree_cells, "MAX_POINTS", [2, 600][seed % 2])
    rng = np.random.default_rng(seed)
    X = table(rng, 100)
    y = labels(rng, X, 2)
    X[rng.random(X.shape) < 0.15] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6).fit(X, y)
    explainer = fitted(model, X, rules=("cf[0] + cf[1] <= 5", "cf[0] != cf[1] + 1"))
    x = X[np.isnan(X).any(axis=1)][seed]
    check(explainer, class_goal(None, leave=int(model.predict(x[None])[0])), x, k=2)


@pytest.mark.parametrize("seed", range(4))
def test_as_by_the_path_form(seed):
    X, y = make_classification(200, 8, n_informative=5, random_state=seed)
    X = np.round(X * 5)
    forest = RandomForestClassifier(8, max_depth=4, random_state=seed).fit(X, y)
    explainer = fitted(forest, X, cost=Cost(l1=1.0, average=False))
    x = X[seed]
    old = int(forest.predict(x[None])[0])
    low, high = X.min(axis=0), X.max(axis=0)
    truth = least_cost(forest, x, low, high, 1.0 / (high - low), 1 - old)
    goal = class_goal(None, leave=old)
    said = IntervalSolver(*parts_of(explainer)).solve(
        x, goal, accept=accepting(explainer, goal)
    )
    assert said.optimal[0] and said.cost[0] == pytest.approx(truth, abs=1e-7)


def test_numbers_between_thresholds_under_a_linear_rule():
    # One stump on each of two columns; the sum of both is held down.
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = ((X[:, 0] > 0.5) & (X[:, 1] > 0.5)).astype(int)
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    explainer = fitted(
        forest, X, rules=("cf[0] + cf[1] <= x[0] + x[1] + 0.25",), resolution=None
    )
    x = np.array([0.4, 0.45])
    goal = class_goal(None, leave=int(forest.predict(x[None])[0]))
    accept = accepting(explainer, goal)
    said = IntervalSolver(*parts_of(explainer)).solve(x, goal, accept=accept)
    assert said.status == "optimal" and accept(said.codes).all()
    assert said.codes[0].sum() <= x.sum() + 0.25
    # On a grid of 0.01 the optimum is a little dearer, by a step or two at most.
    coarse = fitted(forest, X.round(2), rules=explainer._rules.rules, resolution=0.01)
    best = brute(coarse, x, accepting(coarse, goal))[0]
    assert best - 0.02 <= said.cost[0] <= best + 1e-9


def test_covers_of_runs_and_of_sets():
    runs = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0]], dtype=bool)
    told = {(tuple(leaves), tuple(pieces)) for leaves, pieces in _covers(runs)}
    assert told == {
        ((0, 2), (True, True, False, False)),
        ((1,), (False, False, True, True)),
        ((1, 2), (False, True, True, True)),
    }
    sets = np.array([[1, 0, 1, 0], [1, 0, 0, 0]], dtype=bool)
    told = {(tuple(leaves), tuple(pieces)) for leaves, pieces in _covers(sets)}
    assert told == {
        ((0, 1), (True, False, True, False)),
        ((1,), (True, False, False, False)),
    }


def test_a_deadline_leaves_a_bound():
    X, y = make_classification(300, 12, n_informative=8, random_state=0)
    forest = RandomForestClassifier(60, max_depth=6, random_state=0).fit(X, y)
    explainer = fitted(forest, X, resolution=None)
    goal = class_goal(None, leave=int(forest.predict(X[:1])[0]))
    said = IntervalSolver(*parts_of(explainer)).solve(
        X[0], goal, deadline=time.monotonic() + 0.5
    )
    assert said.status in ("none", "feasible", "optimal")
    assert not (said.status == "feasible" and said.lower_bound > said.cost[0])
