import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

from skcf._mip._linear import LinearSolver
from skcf.costs import Cost
from tests._mip.boxes import (
    accepting,
    brute,
    class_goal,
    fitted,
    number_goal,
    parts_of,
)

COSTS = [
    Cost(),
    Cost(l0=1, l1=0.1),
    Cost(l1=0, l2=1),
    Cost(l0=0.3, l1=0.2, l2=0.5, up={0: 2.0, 1: 0.5}, down={2: 3.0}),
    Cost(l0=0.2, l1=0.3, linf=0.5, weights={1: 3.0}),
    Cost(l0=0.01, l1=0, linf=1, average=False),
]
RULES = [
    (),
    ("cf[0] > x[0] => cf[1] >= x[1] + 1",),
    ("cf[0] + cf[1] <= x[0] + x[1] + 1", "max_changes(3)"),
    ("cf[3] == 1 or cf[0] < 2",),
    ("changed(3) => changed(0) and cf[1] != 2",),
    ("not (cf[0] < cf[1])", "cf[2] >= x[2]"),
    ("cf[0] - 2 * cf[1] != 1", "cf[0] not in {1, 4}"),
]


def table(rng, n=60):
    """Return rows of two integers, a number of step 0.5 and two categories."""
    columns = [rng.integers(0, m, n) for m in (5, 4, 6, 3, 2)]
    columns[2] = columns[2] / 2
    return np.column_stack(columns).astype(float)


def labels(rng, X, n_classes):
    score = X @ rng.normal(size=(X.shape[1], n_classes))
    score += rng.normal(size=score.shape)
    y = (score - score.mean(axis=0)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return y


def check(explainer, goal, x, k):
    """Compare the solver with a look at every point."""
    accept = accepting(explainer, goal)
    truth = brute(explainer, x, accept, k=k)
    said = LinearSolver(*parts_of(explainer)).solve(x, goal, k=k, accept=accept)
    np.testing.assert_allclose(said.cost, truth, rtol=0, atol=1e-9)
    assert said.optimal.all()
    if not truth:
        assert said.status == "infeasible" and said.lower_bound == np.inf
        return
    assert said.status == "optimal" and accept(said.codes).all()
    assert said.lower_bound <= truth[0]
    assert said.lower_bound == pytest.approx(truth[0], abs=1e-6)
    x_many = np.broadcast_to(x, said.codes.shape)
    assert explainer._rules.holds(x_many, said.codes).all()
    cost = explainer._cost.rows(x_many, said.codes)
    np.testing.assert_array_equal(cost, said.cost)


@pytest.mark.parametrize("seed", range(42))
def test_classes_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    n_classes = 2 + seed % 2
    X = table(rng)
    model = LogisticRegression(max_iter=30, tol=0.1).fit(X, labels(rng, X, n_classes))
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


@pytest.mark.parametrize("seed", range(8))
def test_regression_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    y = X @ rng.normal(size=5)
    model = LinearRegression().fit(X, y)
    explainer = fitted(model, X, cost=COSTS[seed % len(COSTS)], rules=RULES[seed % 7])
    x = X[0]
    low, high = np.quantile(y, [0.7, 0.75])
    if y[0] >= np.median(y):
        low, high = -np.inf, np.quantile(y, 0.2)
    check(explainer, number_goal(low, high), x, k=2)


@pytest.mark.parametrize("seed", range(6))
def test_encoded_columns_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    bins = KBinsDiscretizer(3, encode="onehot-dense", quantile_method="linear")
    encoder = make_column_transformer(
        (StandardScaler(), [0, 1]), (bins, [2]), (OneHotEncoder(), [3, 4])
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=30, tol=0.1))
    model.fit(X, labels(rng, X, 2))
    explainer = fitted(
        model, X, rules=RULES[seed], cost=COSTS[seed], categorical=[3, 4]
    )
    old = int(model.predict(X[:1])[0])
    check(explainer, class_goal(None, leave=old), X[0], k=2)


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        MLPClassifier(
            hidden_layer_sizes=(3, 2), activation="identity", max_iter=5, random_state=0
        ),
    ],
    ids=["decision values", "a network without bends"],
)
@pytest.mark.filterwarnings("ignore:Stochastic")
def test_other_linear_models(model):
    rng = np.random.default_rng(3)
    X = table(rng)
    model.fit(X, labels(rng, X, 3))
    explainer = fitted(model, X, rules=RULES[1], categorical=[3, 4])
    for x in X[:4]:
        old = int(model.predict(x[None])[0])
        check(explainer, class_goal(None, leave=old), x, k=2)


def test_missing_values_are_a_value_of_their_own():
    from sklearn.impute import SimpleImputer

    rng = np.random.default_rng(0)
    X = table(rng)
    y = labels(rng, X, 2)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    explainer = fitted(model, X, rules=("cf[0] + cf[1] <= 5", "cf[0] <= cf[1]"))
    for x in X[np.isnan(X).any(axis=1)][:5]:
        old = int(model.predict(x[None])[0])
        check(explainer, class_goal(None, leave=old), x, k=2)


# -- numbers without a grid ---------------------------------------------------------


def continuous(seed, cost, rules=(), n_classes=2, n_features=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, n_features))
    model = LogisticRegression().fit(X, labels(rng, X, n_classes))
    explainer = fitted(model, X, cost=cost, rules=rules, resolution=None)
    x = X[rng.integers(80)]
    goal = class_goal(None, leave=int(model.predict(x[None])[0]))
    return explainer, goal, x


def row_of(explainer, goal):
    """Return (w, b) with ``w @ cf + b >= 0`` in the target."""
    model = explainer._model.estimator
    model = getattr(model, "estimator", model)
    sign = -1.0 if goal.label[0] == 1 else 1.0
    return sign * model.coef_[0], sign * model.intercept_[0]


@pytest.mark.parametrize("seed", range(6))
def test_squares_as_by_a_solver_of_convex_problems(seed):
    cost = Cost(l1=[0, 0.3][seed % 2], l2=1, up={0: 2.0}, weights={1: 0.5})
    rules = ("cf[2] <= x[2]", "cf[3] == x[3]") if seed % 3 == 0 else ()
    explainer, goal, x = continuous(seed, cost, rules)
    w, b = row_of(explainer, goal)
    low, high = explainer._space.low.copy(), explainer._space.high.copy()
    if rules:
        high[2], low[3], high[3] = x[2], x[3], x[3]
    bound = explainer._cost

    def spent(both):
        up, down = np.split(both, 2)
        g = (up * bound.up + down * bound.down) / bound.unit
        total = cost.l1 * g + cost.l2 * g**2
        return float((bound.weight * total).sum() / bound.divisor)

    turned = np.concatenate([w, -w])
    truth = minimize(
        spent,
        np.full(10, 1e-3),
        bounds=[(0, c) for c in np.concatenate([high - x, x - low])],
        constraints={"type": "ineq", "fun": lambda d: turned @ d + w @ x + b},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    said = LinearSolver(*parts_of(explainer)).solve(
        x, goal, accept=accepting(explainer, goal)
    )
    if not truth.success:
        assert said.status == "infeasible"
        return
    assert said.status == "optimal"
    assert said.cost[0] == pytest.approx(truth.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_closed_form_and_program_agree(seed, monkeypatch):
    cost = [Cost(), Cost(l1=0, l2=1), Cost(l1=0.2, l2=0.4, up={1: 3.0})][seed % 3]
    explainer, goal, x = continuous(seed, cost)
    accept = accepting(explainer, goal)
    solver = LinearSolver(*parts_of(explainer))
    quick = solver.solve(x, goal, accept=accept)
    monkeypatch.setattr(LinearSolver, "_closed_form", lambda *_: None)
    slow = solver.solve(x, goal, accept=accept)
    assert quick.status == slow.status
    np.testing.assert_allclose(quick.cost, slow.cost, atol=1e-6)
    assert accept(quick.codes).all() and accept(slow.codes).all()


@pytest.mark.parametrize("seed", range(4))
def test_number_of_changes_by_trying_all_sets(seed):
    cost = Cost(l0=0.3, l1=0, l2=1.0)
    explainer, goal, x = continuous(seed, cost, n_features=3)
    solver = LinearSolver(*parts_of(explainer))
    accept = accepting(explainer, goal)
    said = solver.solve(x, goal, accept=accept)
    best = np.inf
    for bits in range(1, 8):
        shut = [j for j in range(3) if not bits >> j & 1]
        rules = tuple(f"cf[{j}] == x[{j}]" for j in shut)
        inner, _, _ = continuous(seed, Cost(l1=0, l2=1.0), rules, n_features=3)
        some = LinearSolver(*parts_of(inner)).solve(x, goal, accept=accept)
        if len(some):
            best = min(best, some.cost[0] + 0.3 * (3 - len(shut)) / 3)
    if best == np.inf:
        assert said.status == "infeasible"
        return
    assert said.cost[0] == pytest.approx(best, abs=1e-6) and said.optimal[0]


def test_a_fine_grid_is_kept_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).round(6)
    model = LogisticRegression().fit(X, labels(rng, X, 2))
    explainer = fitted(model, X)
    x = X[5]
    goal = class_goal(None, leave=int(model.predict(x[None])[0]))
    said = LinearSolver(*parts_of(explainer)).solve(
        x, goal, accept=accepting(explainer, goal)
    )
    assert said.status == "optimal"
    assert (said.codes[0] == said.codes[0].round(6)).all()


def test_single_precision_columns():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 3)).astype(np.float32), columns=list("abc"))
    model = LogisticRegression().fit(X, labels(rng, X.to_numpy(), 2))
    explainer = fitted(model, X, resolution=None, cost=Cost(l1=0, l2=1))
    x = explainer._space.encode(X[:1])[0]
    goal = class_goal(None, leave=int(model.predict(X[:1])[0]))
    accept = accepting(explainer, goal)
    said = LinearSolver(*parts_of(explainer)).solve(x, goal, accept=accept)
    assert said.status == "optimal" and accept(said.codes).all()
    assert (said.codes.astype(np.float32) == said.codes).all()


def test_softmax_above_a_threshold_is_curved():
    explainer, _, x = continuous(4, Cost(), n_classes=3)
    model = explainer._model.estimator.estimator
    old = int(model.predict(x[None])[0])
    for nu in (0.55, 0.8):
        goal = class_goal(None, label=(old + 1) % 3, nu=nu)
        said = LinearSolver(*parts_of(explainer)).solve(
            x, goal, accept=accepting(explainer, goal)
        )
        assert said.status == "optimal"
        p = model.predict_proba(said.codes)[0, goal.label[0]]
        assert nu <= p <= nu + 1e-6


def test_what_is_refused_says_why():
    explainer, _, x = continuous(0, Cost(), n_classes=3)
    solver = LinearSolver(*parts_of(explainer))
    with pytest.raises(ValueError, match="name the class"):
        solver.solve(x, class_goal(None, leave=0, nu=0.6))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    net = MLPRegressor(
        hidden_layer_sizes=(3,), max_iter=300, random_state=0, tol=1e-2
    ).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="relu is not linear"):
        LinearSolver(*parts_of(fitted(net, X)))


def test_a_callback_hears_of_costs_and_bounds():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 40, (80, 12)).astype(float)
    model = LogisticRegression(max_iter=500).fit(X, labels(rng, X, 2))
    explainer = fitted(model, X, cost=Cost(l0=0.1, l1=0.3, l2=0.6))
    heard = []
    goal = class_goal(None, leave=int(model.predict(X[:1])[0]))
    said = LinearSolver(*parts_of(explainer)).solve(
        X[0], goal, callback=lambda cost, bound: heard.append((cost, bound))
    )
    assert heard and all(bound <= said.cost[0] + 1e-9 for _, bound in heard)
