"""One point for several rows under linear models and networks, against all points."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
)

from skcf.constraints import fixed, increasing, within
from skcf.costs import Cost
from skcf.exceptions import UnsupportedConstraintError
from skcf.group import OneForAllExplainer, OneForManyExplainer

pytestmark = [
    pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
COSTS = [
    Cost(l1=0.0, l2=1.0),
    Cost(),
    Cost(l0=0.3, l1=0.5, l2=0.5, up={0: 2.0}, down={1: 0.5}, average=False),
    Cost(l1=0.2, l2=1.0, up={0: 3.0}, down={2: 0.0}, weights={2: 3.0}),
]
RULES = [
    ((), lambda x, v: True),
    ((increasing(0), fixed(2)), lambda x, v: v[0] >= x[0] and v[2] == x[2]),
    ((within(1, 1, 3), "cf[0] <= cf[1]"), lambda x, v: v[0] <= v[1] and 1 <= v[1] <= 3),
    (
        ("cf[0] != 2 or cf[1] >= 3", "cf[2] <= x[2] + 1"),
        lambda x, v: (v[0] != 2 or v[1] >= 3) and v[2] <= x[2] + 1,
    ),
]
MODELS = {
    "linear": lambda seed: LogisticRegression(C=10),
    "network": lambda seed: MLPClassifier(
        (4,), solver="lbfgs", max_iter=200, random_state=seed
    ),
}
SIZE = 5


def table(seed, n=80, p=3):
    random = np.random.default_rng(seed)
    X = random.integers(0, SIZE, size=(n, p)).astype(float)
    X[:SIZE] = np.arange(SIZE)[:, None]
    score = X @ random.normal(size=p) + random.normal(size=n)
    return X, (score > np.quantile(score, 0.6)).astype(int)


def cheapest(explainer, rows, weights, points, may):
    """Return the least total cost of all points that every row may become."""
    points = [v for v in points if all(may(x, v) for x in rows)]
    total = [weights @ explainer._cost.rows(rows, v[None, :]) for v in points]
    return min(total, default=np.inf)


@pytest.mark.parametrize("kind, seed", [("linear", 0), ("linear", 1), ("network", 2)])
@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
@pytest.mark.parametrize("rules, may", RULES, ids=["none", "row", "joint", "holes"])
def test_one_for_all_of_all_points(kind, seed, cost, rules, may):
    X, y = table(seed)
    model = MODELS[kind](seed).fit(X, y)
    explainer = OneForAllExplainer(
        FrozenEstimator(model), cost=cost, constraints=rules, target=1
    ).fit(X)
    random = np.random.default_rng(seed)
    rows = X[model.predict(X) == 0]
    rows = rows[random.choice(len(rows), 4, replace=False)]
    if "fixed" in str(rules) and seed:
        rows = rows[rows[:, 2] == rows[0, 2]]
    weights = random.integers(1, 4, size=len(rows)).astype(float)
    explained = explainer.explain(rows, weights=weights)
    points = np.array(list(product(range(SIZE), repeat=3)), dtype=float)
    points = points[model.predict(points) == 1]
    best = cheapest(explainer, rows, weights, points, may)
    if np.isinf(best):
        assert (explained.status == "infeasible").all()
        return
    assert explained.optimal.all() and len(explained.row) == len(rows)
    assert explained.details.total_cost == pytest.approx(best, abs=1e-9)
    assert explained.details.lower_bound == pytest.approx(best, abs=1e-6)


def numbers(seed, p=3, n=150):
    """Return numbers without a grid, a fitted model, and rows that it turns down."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, p))
    y = (X @ [1.0, 0.5, -0.8][:p] + random.normal(scale=0.3, size=n) > 0.4).astype(int)
    model = LogisticRegression(C=10).fit(X, y)
    return X, model, X[model.predict(X) == 0][:15]


@pytest.mark.parametrize("seed", range(3))
def test_squared_cost_is_that_of_the_mean(seed):
    # sum |x_s - x|^2 = S |mean - x|^2 + const, and the nearest point of a plane.
    X, model, rows = numbers(seed)
    explained = (
        OneForAllExplainer(FrozenEstimator(model), target=1, resolution=None)
        .fit(X)
        .explain(rows)
    )
    unit, mean = np.ptp(X, axis=0), rows.mean(axis=0)
    slope = model.coef_[0] * unit
    short = -model.decision_function(mean[None, :])[0]
    near = short**2 / (slope @ slope)
    spread = (((rows - mean) / unit) ** 2).sum()
    assert explained.optimal.all()
    assert explained.details.total_cost == pytest.approx(
        (len(rows) * near + spread) / 3, rel=1e-6
    )


@pytest.mark.parametrize("up", [1.0, 2.5])
@pytest.mark.parametrize("seed", range(2))
def test_absolute_cost_is_a_linear_program(seed, up):
    from scipy.optimize import linprog

    X, model, rows = numbers(seed)
    cost = Cost(up={0: up}, average=False)
    explained = (
        OneForAllExplainer(FrozenEstimator(model), cost=cost, target=1, resolution=None)
        .fit(X)
        .explain(rows)
    )
    n, p = rows.shape
    unit = np.ptp(X, axis=0)
    rise = np.hstack([np.tile(np.eye(p), (n, 1)), -np.eye(n * p), np.eye(n * p)])
    price = np.tile([[up, 1.0, 1.0]] / unit, (n, 1)).ravel()
    least = linprog(
        np.concatenate([np.zeros(p), price, np.tile(1 / unit, n)]),
        A_ub=[np.concatenate([-model.coef_[0], np.zeros(2 * n * p)])],
        b_ub=model.intercept_,
        A_eq=rise,
        b_eq=rows.ravel(),
        bounds=[*zip(X.min(axis=0), X.max(axis=0), strict=True)]
        + [(0, None)] * (2 * n * p),
    )
    assert explained.optimal.all()
    assert explained.details.total_cost == pytest.approx(least.fun, rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_fee_for_every_change_of_numbers(seed):
    # With lines and fees a best point has all numbers but one from rows or ends.
    X, model, rows = numbers(seed, p=2)
    rows = rows[:6]
    cost = Cost(l0=0.5, l1=1.0, average=False)
    explainer = OneForAllExplainer(
        FrozenEstimator(model), cost=cost, target=1, resolution=None
    ).fit(X)
    explained = explainer.explain(rows)
    marks = [np.r_[rows[:, j], X[:, j].min(), X[:, j].max()] for j in (0, 1)]
    points = [np.array(v) for v in product(*marks)]
    (a, b), c = model.coef_[0], model.intercept_[0]
    points += [np.array([v, -(c + a * v) / b]) for v in marks[0]]
    points += [np.array([-(c + b * v) / a, v]) for v in marks[1]]
    inside = [
        v
        for v in points
        if (v >= X.min(axis=0)).all()
        and (v <= X.max(axis=0)).all()
        and model.decision_function(v[None, :])[0] >= -1e-9
    ]
    best = cheapest(explainer, rows, np.ones(6), inside, lambda x, v: True)
    assert explained.optimal.all()
    assert explained.details.total_cost == pytest.approx(best, rel=1e-6)


def test_frames_categories_bends_and_missing_values():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(20, 60, 200),
            "city": pd.Categorical(random.choice(["a", "b", "c"], 200)),
            "pay": random.integers(0, 30, 200).astype(float),
        }
    )
    y = (X["age"] + 2 * X["pay"] + 9 * (X["city"] == "b") > 75).astype(int)
    X.loc[::9, "pay"] = np.nan
    bent = make_pipeline(SimpleImputer(), FunctionTransformer(np.sqrt))
    encode = make_column_transformer(
        (OneHotEncoder(), ["city"]),
        (StandardScaler(), ["age"]),
        (bent, ["pay"]),
    )
    model = make_pipeline(encode, LogisticRegression(C=10)).fit(X, y)
    rows = X[model.predict(X) == 0].iloc[:12]
    explainer = OneForAllExplainer(FrozenEstimator(model), target=1).fit(X)
    explained = explainer.explain(rows)
    grid = product(range(20, 60), ["a", "b", "c"], range(int(X["pay"].max()) + 1))
    points = pd.DataFrame(grid, columns=X.columns).astype(X.dtypes)
    codes = explainer._space.encode(points)[model.predict(points) == 1]
    own = explainer._space.encode(rows)
    total = sum(explainer._cost.rows(row, codes) for row in own)
    assert explained.optimal.all() and len(explained.row) == 12
    assert explained.details.total_cost == pytest.approx(total.min(), rel=1e-9)
    # What all rows lack, and must not change, stays away.
    gone = X[X["pay"].isna() & (model.predict(X) == 0)]
    kept = explainer.explain(gone, constraints=[fixed("pay")])
    assert len(kept.row) == len(gone) > 3 and kept.optimal.all()
    assert kept.counterfactuals["pay"].isna().all()


def test_classes_intervals_and_thresholds():
    X, _ = table(2, n=120)
    y = np.digitize(X @ [1.0, 0.5, -0.5], [1, 3])
    points = np.array(list(product(range(SIZE), repeat=3)), dtype=float)
    model = LogisticRegression(C=10).fit(X, y)
    rows = X[model.predict(X) == 0][:4]
    for nu in (None, 0.7):
        explainer = OneForAllExplainer(
            FrozenEstimator(model), target=2, threshold=nu
        ).fit(X)
        explained = explainer.explain(rows)
        ok = model.predict(points) == 2
        ok &= model.predict_proba(points)[:, 2] >= (nu or 0.0)
        best = cheapest(explainer, rows, np.ones(4), points[ok], lambda x, v: True)
        assert explained.details.total_cost == pytest.approx(best, abs=1e-9)
        assert explained.optimal.all()
    line = LinearRegression().fit(X, X @ [1.0, 2.0, -1.0])
    explainer = OneForAllExplainer(FrozenEstimator(line), target=(6.5, 8.5)).fit(X)
    rows = X[line.predict(X) < 6][:4]
    ok = np.abs(line.predict(points) - 7.5) <= 1
    best = cheapest(explainer, rows, np.ones(4), points[ok], lambda x, v: True)
    assert explainer.explain(rows).details.total_cost == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("kind", MODELS)
def test_centers_of_many_rows(kind):
    X, y = table(2, n=150)
    model = FrozenEstimator(MODELS[kind](0).fit(X, y))
    rows = X[model.predict(X) == 0][:20]
    totals = []
    for n in (1, 3):
        explainer = OneForManyExplainer(
            model, target=1, n_centers=n, n_init=2, random_state=0
        ).fit(X)
        explained = explainer.explain(rows)
        assert len(explained.row) == len(rows)
        totals.append(explained.details.total_cost)
    one = OneForAllExplainer(model, target=1).fit(X).explain(rows)
    assert totals[0] == pytest.approx(one.details.total_cost, rel=1e-9)
    assert totals[1] < totals[0]


def test_what_cannot_be_exact_is_refused():
    X, y = table(0)
    for rule in ("cf[0] >= x[0] + cf[1]", "changed(0) => changed(1)"):
        with pytest.raises(UnsupportedConstraintError, match=r"\[0\]|changed"):
            OneForAllExplainer(LogisticRegression(), constraints=[rule]).fit(X, y)
    with pytest.raises(ValueError, match="linf"):
        OneForAllExplainer(LogisticRegression(), cost="geco").fit(X, y)
    with pytest.raises(TypeError, match="tanh"):
        OneForAllExplainer(MLPClassifier(activation="tanh", max_iter=5), target=1).fit(
            X, y
        )
    curved = make_pipeline(FunctionTransformer(np.exp), LogisticRegression())
    with pytest.raises(ValueError, match="straight line"):
        OneForAllExplainer(curved, resolution=None).fit(X, y)
