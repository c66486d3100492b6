import pickle

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from skcf._mip._causal import CausalCost
from skcf._mip._families import solver_for
from skcf._mip._interval import IntervalSolver
from skcf._mip._linear import LinearSolver
from skcf.costs import Cost
from skcf.tabular import OptimalExplainer
from tests._mip.boxes import accepting, brute, class_goal, fitted, parts_of
from tests._mip.test_linear import COSTS, RULES, labels, table
from tests._mip.test_relu import trained

EFFECTS = {(0, 1): 0.5, (0, 2): -0.25, (1, 2): 1.0}


def spent(cost, unit, x, cf):
    """Return the cost of Cost() by hand: what is done to three numbers, and the rest.

    The effects form no circle, so what is done is found column after column.
    """
    done = np.zeros(3)
    done[0] = cf[0] - x[0]
    done[1] = cf[1] - x[1] - 0.5 * done[0]
    done[2] = cf[2] - x[2] + 0.25 * done[0] - 1.0 * done[1]
    return (np.abs(done / unit[:3]).sum() + (cf[3:] != x[3:]).sum()) / len(x)


def test_a_cost_by_hand():
    rng = np.random.default_rng(0)
    X = table(rng)
    explainer = fitted(
        LogisticRegression().fit(X, labels(rng, X, 2)), X, categorical=[3, 4]
    )
    cost = CausalCost(explainer._cost, explainer._space, EFFECTS)
    for x, cf in zip(X, X[::-1], strict=True):
        told = cost.rows(x[None], cf[None])[0]
        assert told == pytest.approx(spent(cost, cost.unit, x, cf), abs=1e-12)
    # What follows by itself is free.
    x = X[0]
    cf = x + np.array([2.0, 1.0, -0.5 + 0.0, 0, 0])
    assert cost.rows(x[None], cf[None])[0] == pytest.approx(2 / cost.unit[0] / 5)


def make(kind, rng, X, y):
    if kind == "linear":
        return LogisticRegression(max_iter=30, tol=0.1).fit(X, y)
    if kind == "forest":
        return RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    net = MLPClassifier((4,), max_iter=40, random_state=0, learning_rate_init=0.05)
    return trained(net, X, y)


@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
@pytest.mark.parametrize("seed", range(6))
def test_as_by_brute_force(kind, seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = make(kind, rng, X, labels(rng, X, 2))
    explainer = fitted(
        model, X, rules=RULES[seed], cost=COSTS[seed], categorical=[3, 4]
    )
    explainer._cost = CausalCost(explainer._cost, explainer._space, EFFECTS)
    x = X[rng.integers(len(X))]
    goal = class_goal(None, leave=int(model.predict(x[None])[0]))
    accept = accepting(explainer, goal)
    truth = brute(explainer, x, accept)
    said = solver_for(*parts_of(explainer)).solve(x, goal, accept=accept)
    np.testing.assert_allclose(said.cost, truth, rtol=0, atol=1e-9)
    assert said.status == ("optimal" if truth else "infeasible")


def continuous(seed, cost, wide):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    model = LogisticRegression().fit(X, labels(rng, X, 2))
    rules = tuple(f"cf[{j}] in [-99, 99]" for j in range(4)) if wide else ()
    explainer = fitted(model, X, cost=cost, resolution=None, rules=rules)
    explainer._cost = CausalCost(
        explainer._cost, explainer._space, {(0, 1): 0.8, (1, 0): -0.5, (2, 3): 1.5}
    )
    x = X[0]
    return explainer, class_goal(None, leave=int(model.predict(x[None])[0])), x


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_linear_models_as_by_a_linear_program(seed, wide):
    explainer, goal, x = continuous(seed, Cost(average=False), wide)
    model = explainer._model.estimator.estimator
    sign = -1.0 if goal.label[0] == 1 else 1.0
    w, b = sign * model.coef_[0], sign * model.intercept_[0]
    onward = np.eye(4)
    onward[0, 1], onward[1, 0], onward[2, 3] = 0.8, -0.5, 1.5
    low, high = explainer._rules.low, explainer._rules.high
    both = np.hstack([onward.T, -onward.T])  # x + both @ (up, down)
    truth = linprog(
        np.tile(1 / explainer._cost.unit, 2),
        A_ub=np.vstack([-w @ both, both, -both]),
        b_ub=np.concatenate([[w @ x + b], high - x, x - low]),
        bounds=[(0, None)] * 8,
    )
    said = LinearSolver(*parts_of(explainer)).solve(
        x, goal, accept=accepting(explainer, goal)
    )
    if truth.status == 2:
        assert said.status == "infeasible"
        return
    assert said.status == "optimal"
    assert said.cost[0] == pytest.approx(truth.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_closed_form_and_program_agree(seed, monkeypatch):
    explainer, goal, x = continuous(seed, Cost(l1=0.2, l2=0.8), True)
    solver = LinearSolver(*parts_of(explainer))
    quick = solver.solve(x, goal)
    monkeypatch.setattr(LinearSolver, "_closed_form", lambda *_: None)
    slow = solver.solve(x, goal)
    assert quick.status == slow.status == "optimal"
    assert quick.cost[0] == pytest.approx(slow.cost[0], abs=1e-6)


def test_trees_with_such_a_cost_go_to_the_program():
    rng = np.random.default_rng(0)
    X = table(rng)
    model = make("forest", rng, X, labels(rng, X, 2))
    explainer = fitted(model, X)
    cost = CausalCost(explainer._cost, explainer._space, EFFECTS)
    made = solver_for(explainer._model, explainer._space, explainer._rules, cost)
    assert type(made) is IntervalSolver


def test_what_is_refused():
    rng = np.random.default_rng(0)
    X = table(rng)
    model = make("linear", rng, X, labels(rng, X, 2))
    explainer = fitted(model, X, categorical=[3, 4])
    cost, space = explainer._cost, explainer._space
    with pytest.raises(ValueError, match="column 3 is categorical"):
        CausalCost(cost, space, {(0, 3): 1.0})
    with pytest.raises(ValueError, match="cancel"):
        CausalCost(cost, space, {(0, 1): 1.0, (1, 0): 1.0})
    with pytest.raises(ValueError, match="effects: .*'z'"):
        CausalCost(cost, space, {("z", 1): 1.0})
    with pytest.raises(ValueError, match="pairs of columns to numbers, got 'ab'"):
        CausalCost(cost, space, {"ab": 1.0})
    with pytest.raises(ValueError, match="must be a finite number, got 'much'"):
        CausalCost(cost, space, {(0, 1): "much"})
    missing = X[0].copy()
    missing[0] = np.nan
    solver = LinearSolver(*parts_of(explainer)[:3], CausalCost(cost, space, EFFECTS))
    goal = class_goal(None, leave=0)
    with pytest.raises(ValueError, match="missing value has no effects"):
        solver.solve(missing, goal, encoded=X[0])


@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
def test_effects_of_an_explainer(kind):
    rng = np.random.default_rng(2)
    X = table(rng)
    model = FrozenEstimator(make(kind, rng, X, labels(rng, X, 2)))
    given = {"categorical_features": [3, 4], "target": 1}
    explainer = OptimalExplainer(model, effects=EFFECTS, **given).fit(X)
    rows = X[model.predict(X) == 0][:4]
    told = pickle.loads(pickle.dumps(explainer)).explain(rows)
    plain = OptimalExplainer(model, **given).fit(X).explain(rows)
    assert told.optimal.all() and (told.status == plain.status).all()
    bound = explainer._cost
    for i, x, cf in zip(told.row, rows[told.row], told.counterfactuals, strict=True):
        assert told.cost[i] == pytest.approx(spent(bound, bound.unit, x, cf))
        # The answer that is cheapest without effects is one of those to beat.
        other = plain.counterfactuals[plain.row == i][0]
        assert told.cost[i] <= spent(bound, bound.unit, x, other) + 1e-9
