import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf._mip._relu import ReluSolver
from skcf.costs import Cost
from tests._mip.boxes import (
    accepting,
    brute,
    class_goal,
    fitted,
    number_goal,
    parts_of,
)
from tests._mip.test_linear import COSTS, RULES, labels, table


def trained(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def check(explainer, goal, x, k):
    """Compare the solver with a look at every point."""
    accept = accepting(explainer, goal)
    truth = brute(explainer, x, accept, k=k)
    said = ReluSolver(*parts_of(explainer)).solve(x, goal, k=k, accept=accept)
    np.testing.assert_allclose(said.cost, truth, rtol=0, atol=1e-9)
    assert said.optimal.all()
    if not truth:
        assert said.status == "infeasible" and said.lower_bound == np.inf
        return
    assert said.status == "optimal" and accept(said.codes).all()
    assert said.lower_bound <= truth[0]
    assert said.lower_bound == pytest.approx(truth[0], abs=2e-6)
    x_many = np.broadcast_to(x, said.codes.shape)
    assert explainer._rules.holds(x_many, said.codes).all()


@pytest.mark.parametrize("seed", range(24))
def test_classes_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 2
    X = table(rng)
    sizes = [(4,), (3, 3)][seed // 3 % 2]
    net = MLPClassifier(sizes, max_iter=40, random_state=seed, learning_rate_init=0.05)
    model = trained(net, X, labels(rng, X, n_classes))
    explainer = fitted(
        model,
        X,
        rules=RULES[seed % len(RULES)],
        cost=COSTS[seed // 2 % len(COSTS)],
        categorical=[3, 4],
    )
    x = X[rng.integers(len(X))].copy()
    if seed % 5 == 0:
        x[:2] = 7.0, 1.5  # out of range, and off the grid
    old = int(model.predict(x[None])[0])
    goal = class_goal(None, leave=old)
    if seed % 4 > 1:
        nu = [None, 0.6, 0.4, 0.9][seed // 4 % 4]
        goal = class_goal(None, label=(old + 1) % n_classes, nu=nu)
    check(explainer, goal, x, k=1 + seed % 3)


@pytest.mark.parametrize("seed", range(6))
def test_numbers_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    y = np.abs(X @ rng.normal(size=5))
    net = MLPRegressor(hidden_layer_sizes=(4, 3), max_iter=60, random_state=seed)
    model = trained(net, X, y)
    told = model.predict(X)
    explainer = fitted(model, X, rules=RULES[seed], cost=COSTS[seed])
    x = X[int(np.argmin(told))]
    low, high = np.quantile(told, [0.7, 0.8])
    check(explainer, number_goal(low, [high, np.inf][seed % 2]), x, k=1 + seed % 2)


def continuous(seed, cost, resolution=None):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(120, 2))
    y = (np.hypot(*(X - 0.5).T) > 0.35).astype(int)
    net = MLPClassifier((8,), random_state=seed, max_iter=300, learning_rate_init=0.05)
    model = trained(make_pipeline(StandardScaler(), net), X, y)
    if resolution is not None:
        X = X.round(2)
    explainer = fitted(model, X, cost=cost, resolution=resolution)
    x = np.array([0.47, 0.53])
    return explainer, class_goal(None, leave=int(model.predict(x[None])[0])), x


@pytest.mark.parametrize(
    "cost", [Cost(), Cost(l1=0, l2=1), Cost(l0=0.1, l1=0.2, l2=0.5)], ids=str
)
def test_between_the_points_of_a_grid(cost):
    coarse, goal, x = continuous(1, cost, 0.01)
    near = brute(coarse, x, accepting(coarse, goal))[0]
    explainer, goal, _ = continuous(1, cost)
    accept = accepting(explainer, goal)
    said = ReluSolver(*parts_of(explainer)).solve(x, goal, accept=accept)
    assert said.status == "optimal" and accept(said.codes).all()
    # One step of the grid in each direction is what the grid can lose.
    assert near - 0.012 <= said.cost[0] <= near + 1e-3
    assert said.lower_bound == pytest.approx(said.cost[0], abs=1e-6)


def test_a_deadline_leaves_an_answer_and_a_bound():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20))
    y = (np.sin(2 * X[:, :5]).sum(axis=1) > 0).astype(int)
    net = MLPClassifier((30, 30), random_state=0, max_iter=60)
    explainer = fitted(trained(net, X, y), X, cost=Cost(l1=0, l2=1), resolution=None)
    model = explainer._model.estimator.estimator
    goal = class_goal(None, leave=int(model.predict(X[:1])[0]))
    accept = accepting(explainer, goal)
    said = ReluSolver(*parts_of(explainer)).solve(
        X[0], goal, accept=accept, deadline=time.monotonic() + 0.5
    )
    # How far it gets depends on the machine; what it says has to fit together.
    assert said.status in ("none", "feasible", "optimal")
    assert (said.status == "none") == (len(said) == 0)
    if len(said):
        assert accept(said.codes).all()
        assert said.optimal[0] == (said.status == "optimal")
        assert not said.lower_bound > said.cost[0]


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_other_activations_are_refused(activation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    net = MLPClassifier((3,), activation=activation, max_iter=5)
    model = trained(net, X, (X[:, 0] > 0).astype(int))
    with pytest.raises(ValueError, match=f"activation '{activation}'"):
        ReluSolver(*parts_of(fitted(model, X)))
