"""One counterfactual a row with shared features, against all sets and points."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from skcf.constraints import increasing
from skcf.costs import Cost
from skcf.group import OneForOneExplainer
from skcf.tabular import OptimalExplainer
from tests.group.small import MODELS, POINTS, SIZE, table

pytestmark = [
    pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def best_by_trial(model, rows, cost, price, most, n_served, may=lambda x, v: True):
    """Return the least objective over all sets of features and all points."""
    share = model.predict_proba(POINTS)[:, 1]
    good = POINTS[share > 0.5 + 1e-9]
    best = np.inf
    for k in range(most + 1):
        for some in combinations(range(3), k):
            rest = [j for j in range(3) if j not in some]
            paid = []
            for x in rows:
                ok = (good[:, rest] == x[rest]).all(axis=1)
                points = [v for v in good[ok] if may(x, v)]
                costs = [cost.rows(x[None], v[None])[0] for v in points]
                paid.append(min(costs, default=np.inf))
            total = np.sort(paid)[:n_served].sum() + price * k
            best = min(best, total)
    return best


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    "price, most, coverage, rules, may",
    [
        (0.15, None, 1.0, (), lambda x, v: True),
        (0.0, 2, 1.0, (), lambda x, v: True),
        (0.05, 2, 3, increasing(0), lambda x, v: v[0] >= x[0]),
    ],
    ids=["price", "limit", "both, outliers"],
)
@pytest.mark.parametrize("seed", range(2))
def test_shared_features_of_all_sets(kind, price, most, coverage, rules, may, seed):
    X, y = table(seed)
    model = MODELS[kind].fit(X, y)
    explainer = OneForOneExplainer(
        FrozenEstimator(model),
        target=1,
        group_sparsity=price,
        max_features=most,
        coverage=coverage,
        constraints=rules,
    ).fit(X)
    rows = X[model.predict(X) == 0][:4]
    explained = explainer.explain(rows)
    n_served = len(rows) if coverage == 1.0 else coverage
    best = best_by_trial(model, rows, explainer._cost, price, most or 3, n_served, may)
    details = explained.details
    assert details.objective == pytest.approx(best, abs=1e-6)
    assert details.lower_bound == pytest.approx(best, abs=2e-6)
    if np.isfinite(best):
        assert explained.optimal.all() and len(explained.row) == n_served
        assert len(details.outliers) == len(rows) - n_served
        paid = explained.cost.sum() + price * len(details.features)
        assert paid == pytest.approx(best, abs=1e-6)
    else:
        assert (explained.status == "infeasible").all()


@pytest.mark.parametrize(
    "ties",
    [
        {"max_features": 1},
        {"max_features": 2, "coverage": 3},
        {"group_sparsity": 0.02},
        {"max_features": 2, "lipschitz": 2.0},
    ],
    ids=["one feature", "two, outlier", "price", "program"],
)
@pytest.mark.parametrize("target", [(8.0, None), (7.0, 8.0), (None, 3.0)])
def test_points_on_a_closed_edge_of_the_target_count(ties, target):
    X, _ = table(0)
    weight = np.array([1.0, 2.0, 1.0])
    model = LinearRegression().fit(X, X @ weight)
    # Predictions are whole numbers to the last digit: many lie on the edge.
    model.coef_, model.intercept_ = weight, 0.0
    explainer = OneForOneExplainer(FrozenEstimator(model), target=target, **ties)
    explainer.fit(X)
    low, high = (
        v if v is not None else s for v, s in zip(target, (-9, 99), strict=True)
    )
    told = model.predict(POINTS)
    good = POINTS[(told >= low) & (told <= high)]
    told = model.predict(X)
    rows = np.unique(X[(told < low) | (told > high)], axis=0)[:4]
    price, reach = ties.get("group_sparsity", 0.0), ties.get("lipschitz", np.inf)
    best = np.inf
    for k in range(1, ties.get("max_features", 3) + 1):
        for some in combinations(range(3), k):
            rest = [j for j in range(3) if j not in some]
            ways = [good[(good[:, rest] == x[rest]).all(axis=1)] for x in rows]
            paid = [
                explainer._cost.rows(x[None], w)
                for x, w in zip(rows, ways, strict=True)
            ]
            total = least_within(rows, ways, paid, reach, ties.get("coverage", 4))
            best = min(best, total + price * k)
    details = explainer.explain(rows).details
    assert details.objective == pytest.approx(best, abs=1e-6)
    assert details.lower_bound == pytest.approx(best, abs=2e-6)


def least_within(rows, ways, paid, reach, n_served):
    """Return the least sum of prices of points that are `reach` times as far apart."""
    if np.isinf(reach):
        return np.sort([p.min(initial=np.inf) for p in paid])[:n_served].sum()
    best = np.inf
    for at in product(*map(range, map(len, ways))):
        total = sum(p[i] for p, i in zip(paid, at, strict=True))
        if total < best - 1e-12:
            after = np.array([w[i] for w, i in zip(ways, at, strict=True)])
            apart = [np.linalg.norm(v[:, None] - v, axis=2) for v in (rows, after)]
            if (apart[1] <= reach * apart[0] + 1e-9).all():
                best = total
    return best


@pytest.mark.parametrize("cost", [Cost(l1=0, l2=1), Cost(), Cost(l1=0.5, l2=1)])
def test_continuous_sets_of_a_linear_model(cost):
    random = np.random.default_rng(1)
    X = random.random((80, 4))
    model = LogisticRegression(C=10).fit(X, X @ [1.0, 2.0, -1.0, 0.5] > 1.2)
    explainer = OneForOneExplainer(
        FrozenEstimator(model),
        target=True,
        cost=cost,
        max_features=2,
        resolution=None,
    ).fit(X)
    rows = X[~model.predict(X)][:5]
    explained = explainer.explain(rows)
    w, b = model.coef_[0], model.intercept_[0]
    low, high = X.min(axis=0), X.max(axis=0)
    unit = high - low

    def least(x, some):
        some = list(some)
        sign = np.sign(w[some])

        def paid(d):
            d = d / unit[some]
            return (cost.l1 * d + cost.l2 * d**2).sum() / 4

        room = np.where(sign > 0, high[some] - x[some], x[some] - low[some])
        need = -(w @ x + b)
        gain = np.abs(w[some])
        if gain @ room < need:
            return np.inf
        found = minimize(
            paid,
            room,
            bounds=[(0, r) for r in room],
            constraints={"type": "ineq", "fun": lambda d: gain @ d - need},
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return found.fun

    best = min(sum(least(x, s) for x in rows) for s in combinations(range(4), 2))
    assert explained.details.objective == pytest.approx(best, rel=1e-4)
    assert explained.optimal.all() and len(explained.details.features) <= 2
    assert explained.cost.sum() == pytest.approx(explained.details.objective, rel=1e-5)


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_untied_rows_are_solved_alone(kind):
    X, y = table(3)
    model = FrozenEstimator(MODELS[kind].fit(X, y))
    rows = X[:20]
    group = OneForOneExplainer(model).fit(X).explain(rows)
    alone = OptimalExplainer(model, cost="squared").fit(X).explain(rows)
    assert (group.counterfactuals == alone.counterfactuals).all()
    assert group.details.objective == pytest.approx(alone.cost.sum())
    part = OneForOneExplainer(model, coverage=0.75).fit(X).explain(rows)
    kept = np.sort(alone.cost)[: int(np.ceil(0.75 * 20))]
    assert part.details.objective == pytest.approx(kept.sum())
    assert set(part.details.outliers) == set(range(20)) - set(part.row)


def test_weights_of_rows_count():
    X, y = table(4)
    model = FrozenEstimator(MODELS["linear"].fit(X, y))
    rows = X[model.predict(X) == 0][:4]
    explainer = OneForOneExplainer(model, target=1, group_sparsity=0.1).fit(X)
    weights = np.array([5.0, 1.0, 1.0, 0.0])
    explained = explainer.explain(rows, weights=weights)
    paid = (weights[explained.row] * explained.cost).sum()
    paid += 0.1 * len(explained.details.features)
    assert explained.details.objective == pytest.approx(paid, abs=1e-6)


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("seed", range(2))
def test_counterfactuals_of_similar_rows_stay_near(kind, seed):
    X, y = table(seed)
    model = MODELS[kind].fit(X, y)
    rows = X[model.predict(X) == 0][:2]
    if (rows[0] == rows[1]).all():
        rows[1] = X[model.predict(X) == 0][2]
    explainer = OneForOneExplainer(FrozenEstimator(model), target=1, lipschitz=0.8)
    explained = explainer.fit(X).explain(rows)
    share = model.predict_proba(POINTS)[:, 1]
    good = POINTS[share > 0.5 + 1e-9]
    unit = SIZE - 1
    apart = np.linalg.norm((rows[0] - rows[1]) / unit)
    best = np.inf
    for a, b in product(good, repeat=2):
        if np.linalg.norm((a - b) / unit) <= 0.8 * apart + 1e-9:
            paid = ((a - rows[0]) ** 2 + (b - rows[1]) ** 2).sum() / unit**2 / 3
            best = min(best, paid)
    assert explained.details.objective == pytest.approx(best, abs=1e-5)
    if np.isfinite(best):
        a, b = explained.counterfactuals
        assert np.linalg.norm((a - b) / unit) <= 0.8 * apart + 1e-5


def test_front_of_the_number_of_features():
    X, y = table(5)
    model = FrozenEstimator(MODELS["linear"].fit(X, y))
    rows = X[model.predict(X) == 0][:6]
    explainer = OneForOneExplainer(model, target=1).fit(X)
    front = explainer.pareto(rows)
    assert list(front.max_features) == [1, 2, 3]
    assert (np.diff(front.objective[np.isfinite(front.objective)]) <= 1e-9).all()
    for most, features in zip(front.max_features, front.features, strict=True):
        assert len(features) <= most
    assert explainer.max_features is None
    rising = explainer.pareto(rows, thresholds=[0.5, 0.6, 0.7])
    finite = rising.objective[np.isfinite(rising.objective)]
    assert (np.diff(finite) >= -1e-9).all()
    with pytest.raises(ValueError, match="not both"):
        explainer.pareto(rows, thresholds=[0.5], max_features=[1])


def test_what_cannot_be_solved_is_refused():
    X, y = table(0)
    with pytest.raises(TypeError, match="KNeighborsClassifier"):
        OneForOneExplainer(KNeighborsClassifier()).fit(X, y)
    three = np.digitize(X.sum(axis=1), [3, 6])
    explainer = OneForOneExplainer(LogisticRegression(), max_features=2).fit(X, three)
    with pytest.raises(ValueError, match="name the class"):
        explainer.explain(X[three == 1][:3])
    assert len(explainer.explain(X[three == 1][:3], target=2).row)
    with pytest.raises(ValueError, match="threshold with the target 'opposite'"):
        OneForOneExplainer(LogisticRegression(), threshold=0.6).fit(X, three)


@pytest.mark.parametrize("seed", range(2))
def test_too_few_of_many_listed_features_are_refuted(seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 2, size=(200, 11)).astype(float)
    X[:2] = [[0.0] * 11, [1.0] * 11]
    score = X @ random.normal(size=11) - 1.0
    model = LogisticRegression().fit(X, score > np.median(score))
    rows = X[~model.predict(X)][:6]
    gain = np.where(model.coef_[0] > 0, 1 - rows, rows) * np.abs(model.coef_[0])
    need = -model.decision_function(rows)
    fewest = min(
        k
        for k in range(12)
        for some in combinations(range(11), k)
        if (gain[:, list(some)].sum(axis=1) > need).all()
    )
    explainer = OneForOneExplainer(FrozenEstimator(model), target=True).fit(X)
    for most in (fewest, fewest - 1):
        explainer.set_params(max_features=most)
        explained = explainer.explain(rows)
        if most < fewest:
            assert (explained.status == "infeasible").all()
        else:
            assert len(explained.row) == 6
            assert len(explained.details.features) == fewest
