import time

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf._mip._network import NetworkSolver
from skcf._mip._relu import ReluSolver
from skcf.costs import Cost
from tests._mip.boxes import accepting, class_goal, fitted, number_goal, parts_of
from tests._mip.test_relu import trained

SQUARES = [
    Cost(l1=0, l2=1),
    Cost(l1=0.3, l2=0.7),
    Cost(l1=0, l2=1, up={0: 3.0}, down={0: 0.5, 2: 2.0}, weights={1: 4.0}),
]


def case(seed, sizes=((5,), (4, 4), (3, 3, 3))):
    """Return (explainer, goal, x) of a small network over fine numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3 + seed % 2))
    rules = [(), ("cf[0] >= x[0]",), ("cf[1] == x[1]", "cf[0] <= 0.8")][seed % 3]
    cost = SQUARES[seed // 2 % len(SQUARES)]
    params = {"random_state": seed, "max_iter": 60, "learning_rate_init": 0.02}
    params["hidden_layer_sizes"] = sizes[seed % len(sizes)]
    bend = np.sin(2 * X @ rng.normal(size=(X.shape[1], 3)))
    n_classes = 2 + seed // 3 % 2
    if seed % 4 == 3:
        model = make_pipeline(StandardScaler(), MLPRegressor(**params))
        model = trained(model, X, bend.sum(axis=1))
    else:
        model = make_pipeline(StandardScaler(), MLPClassifier(**params))
        model = trained(model, X, bend[:, :n_classes].argmax(axis=1))
    explainer = fitted(model, X, rules=rules, cost=cost, resolution=None)
    x = X[seed % len(X)]
    told = model.predict(X)
    if seed % 4 == 3:
        low, high = np.quantile(told, [0.85, 0.95])
        return explainer, number_goal(low, [high, np.inf][seed % 2]), x
    old = int(told[seed % len(X)])
    if seed % 2:
        nu = 0.7 if n_classes == 2 else None
        return explainer, class_goal(None, label=(old + 1) % n_classes, nu=nu), x
    return explainer, class_goal(None, leave=old), x


def agree(seed):
    """Compare the search with a mixed-integer program; return its Solution."""
    explainer, goal, x = case(seed)
    accept = accepting(explainer, goal)
    if accept(x[None])[0]:
        return None
    said = NetworkSolver(*parts_of(explainer)).solve(x, goal, accept=accept)
    other = ReluSolver(*parts_of(explainer)).solve(x, goal, accept=accept)
    if other.status in ("optimal", "infeasible"):
        assert said.status == other.status
    # A level part of a network may lie on the edge of a target, by its last digit.
    least = other.cost[0] if len(other) else np.inf
    assert not said.lower_bound > least * (1 + 1e-8)
    if said.status == "optimal":
        assert said.cost[0] <= least * (1 + 3e-6) + 1e-9
        assert not other.lower_bound > said.cost[0] * (1 + 1e-6)
    if len(said):
        assert accept(said.codes).all()
        assert explainer._rules.holds(x[None], said.codes).all()
    return said


@pytest.mark.parametrize("seed", [*range(12), 127, 619])
def test_search_and_program_agree(seed):
    agree(seed)


def test_the_first_of_several_answers_is_the_only_one_of_one():
    explainer, goal, x = case(6)
    accept = accepting(explainer, goal)
    solver = NetworkSolver(*parts_of(explainer))
    one, more = (solver.solve(x, goal, accept=accept, k=k) for k in (1, 2))
    assert len(more) == 2 and more.optimal.all()
    assert (more.codes[0] == one.codes[0]).all() and more.cost[1] >= more.cost[0]


def test_what_cannot_be_reached_is_refuted():
    explainer, _, x = case(3)
    highest = number_goal(1e3, np.inf)
    said = NetworkSolver(*parts_of(explainer)).solve(x, highest)
    assert said.status == "infeasible" and said.lower_bound == np.inf


def test_a_network_that_is_known_by_heart():
    # |x0| + |x1| - 1 >= 0 from the origin: the nearest point is (1/2, 1/2).
    X = np.random.default_rng(0).uniform(-1, 1, size=(60, 2))
    y = (np.abs(X).sum(axis=1) > 1).astype(int)
    net = trained(MLPClassifier((4,), max_iter=2), X, y)
    net.coefs_ = [np.array([[1.0, -1, 0, 0], [0, 0, 1, -1]]), np.ones((4, 1))]
    net.intercepts_ = [np.zeros(4), np.array([-1.0])]
    cost = Cost(l1=0, l2=1, scale="none", average=False)
    explainer = fitted(net, X, cost=cost, resolution=None)
    said = NetworkSolver(*parts_of(explainer)).solve(
        np.zeros(2), class_goal(None, leave=0)
    )
    assert said.status == "optimal"
    assert said.cost[0] == pytest.approx(0.5, rel=1e-6)
    np.testing.assert_allclose(np.abs(said.codes[0]), 0.5, atol=1e-4)


def test_progress_is_told_and_a_deadline_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = (np.sin(2 * X[:, :5]).sum(axis=1) > 0).astype(int)
    net = MLPClassifier((30, 30), random_state=0, max_iter=60)
    explainer = fitted(trained(net, X, y), X, cost=Cost(l1=0, l2=1), resolution=None)
    goal = class_goal(None, leave=int(net.predict(X[:1])[0]))
    accept, told = accepting(explainer, goal), []
    said = NetworkSolver(*parts_of(explainer)).solve(
        X[0],
        goal,
        accept=accept,
        deadline=time.monotonic() + 0.5,
        callback=lambda cost, bound: told.append((cost, bound)),
    )
    # How far it gets depends on the machine; what it says has to fit together.
    assert said.status in ("none", "feasible", "optimal")
    assert (said.status == "none") == (len(said) == 0)
    if len(said):
        assert accept(said.codes).all()
        assert said.optimal[0] == (said.status == "optimal")
        assert not said.lower_bound > said.cost[0]
    costs, bounds = np.array(told).reshape(-1, 2).T
    assert (np.diff(costs) <= 0).all() and (np.diff(bounds) >= 0).all()
