"""The fewest shared changes, against all subsets of small groups."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skcf.constraints import fixed, increasing, max_changes, one_of, rule
from skcf.exceptions import UnsupportedConstraintError
from skcf.group import SparseOneForManyExplainer

pytestmark = pytest.mark.filterwarnings(
    "ignore::skcf.exceptions.CounterfactualNotFoundWarning"
)
LEVELS = (0, 1, 2)


def table(seed, n=40, p=4):
    random = np.random.default_rng(seed)
    X = random.integers(0, 3, size=(n, p)).astype(float)
    score = X @ random.normal(size=p) + random.normal(scale=0.5, size=n)
    return X, (score > np.median(score)).astype(int)


def everything(p):
    return np.array(list(product(LEVELS, repeat=p)), dtype=float)


def serves(point, rows, may, most):
    """Tell whether rows may all become a point by one change of few features."""
    differ = (rows != point).any(axis=0)
    return differ.sum() <= most and all(may(x, point) for x in rows)


def fewest_by_trial(predict, rows, may, most):
    """Return the least number of points, and which rows have one at all."""
    points = everything(rows.shape[1])
    told = predict(points)
    before = predict(rows)
    n = len(rows)
    served = []
    for size in range(1, n + 1):
        for some in combinations(range(n), size):
            some = list(some)
            ok = (told[:, None] != before[some]).all(axis=1)
            if any(serves(v, rows[some], may, most) for v in points[ok]):
                served.append(frozenset(some))
    alive = frozenset().union(*served) if served else frozenset()
    for k in range(n + 1):
        for chosen in combinations(served, k):
            if frozenset().union(*chosen) == alive:
                return k, alive
    raise AssertionError("no cover")


RULES = [
    ((), lambda x, v: True),
    ((increasing(0), fixed(1)), lambda x, v: v[0] >= x[0] and v[1] == x[1]),
    ((one_of(2, [0, 1]),), lambda x, v: v[2] in (0, 1)),
    (
        (rule("cf[0] <= x[0] + 1"), rule("cf[3] >= x[3]")),
        lambda x, v: v[0] <= x[0] + 1 and v[3] >= x[3],
    ),
]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("rules, may", RULES, ids=["none", "row", "must", "both"])
def test_fewest_clusters_of_all_subsets(seed, rules, may):
    X, y = table(seed)
    model = LogisticRegression(C=10).fit(X, y)
    # All values have to be observed for the enumeration to be over the same points.
    X = np.vstack([X, np.repeat(LEVELS, 4).reshape(-1, 4)])
    most = 1 + seed % 3
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=most, constraints=rules
    ).fit(X)
    rows = X[np.random.default_rng(seed).choice(40, 6, replace=False)]
    explained = explainer.explain(rows)
    k, alive = fewest_by_trial(model.predict, rows, may, most)
    assert explained.details.n_clusters == k == explained.details.lower_bound
    assert set(explained.row) == alive
    assert explained.optimal.all()
    dead = sorted(set(range(6)) - alive)
    assert (explained.status[dead] == "infeasible").all()


@pytest.mark.parametrize("seed", range(6))
def test_members_share_one_change(seed):
    X, y = table(seed, n=60, p=6)
    frame = pd.DataFrame(X, columns=list("abcdef")).astype(
        {"a": "int64", "b": "category", "c": "category"}
    )
    model = make_pipeline(
        OneHotEncoder(handle_unknown="ignore"), LogisticRegression(C=10)
    )
    explainer = SparseOneForManyExplainer(model, max_features=3).fit(frame, y)
    rows = frame[:20]
    explained = explainer.explain(rows)
    details = explained.details
    assert (details.assignment >= 0).sum() == len(explained.row) > 0
    assert len(details.rules) == len(details.changes) == details.n_clusters
    assert (explained.prediction != explained.prediction_before[explained.row]).all()
    for i, x in zip(explained.row, explained.counterfactuals.itertuples(), strict=True):
        change = details.changes[details.assignment[i]]
        assert len(change) <= 3
        before = rows.iloc[i]
        for name in frame.columns:
            assert getattr(x, name) == change.get(name, before[name])


def test_bins_let_rows_with_other_numbers_agree():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3)).round(2)
    y = (X @ [1.0, 2.0, -1.0] > 0.5).astype(int)
    model = FrozenEstimator(LogisticRegression(C=100).fit(X, y))
    rows = X[model.predict(X) == 0][:15]
    exact = SparseOneForManyExplainer(model, max_features=2, target=1).fit(X)
    binned = SparseOneForManyExplainer(model, max_features=2, target=1, n_bins=3)
    binned.fit(X)
    many, few = exact.explain(rows).details, binned.explain(rows).details
    assert few.n_clusters < many.n_clusters
    assert (model.predict(binned.transform(rows)) == 1).all()
    assert any("<" in text for text in few.rules)


def test_each_change_is_the_cheapest_for_its_rows():
    X, y = table(3)
    X = np.vstack([X, np.repeat(LEVELS, 4).reshape(-1, 4)])
    model = LogisticRegression(C=10).fit(X[:40], y)
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=2, target=1
    ).fit(X)
    rows = X[model.predict(X) == 0][:8]
    explained = explainer.explain(rows)
    points = everything(4)
    points = points[model.predict(points) == 1]
    for c in range(explained.details.n_clusters):
        mine = np.flatnonzero(explained.details.assignment == c)
        total = [
            np.abs(rows[mine] - v).sum() / 2 / 4
            for v in points
            if serves(v, rows[mine], lambda x, v: True, 2)
        ]
        cost = explained.cost[np.isin(explained.row, mine)].sum()
        assert cost == pytest.approx(min(total), abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [RidgeClassifier(), make_pipeline(StandardScaler(), LogisticRegression())],
    ids=["margin", "three classes"],
)
def test_classes(model):
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(120, 4)).astype(float)
    y = np.digitize(X @ [1.0, 0.5, -0.5, 1.0], [2, 5])
    if isinstance(model, RidgeClassifier):
        y = y > 0
    explainer = SparseOneForManyExplainer(model, max_features=3).fit(X, y)
    explained = explainer.explain(X[:10])
    assert (explained.status == "found").all()
    before = explained.prediction_before[explained.row]
    assert (explained.prediction != before).all()


def test_interval_of_a_regressor():
    X, _ = table(0, n=80)
    y = X @ [1.0, 2.0, -1.0, 0.5]
    explainer = SparseOneForManyExplainer(
        LinearRegression(), target=(2.9, 3.1), max_features=3
    ).fit(X, y)
    explained = explainer.explain(X[:12])
    assert (explained.status != "not_found").all()
    assert ((explained.prediction >= 2.9) & (explained.prediction <= 3.1)).all()
    assert (explained.status == "found").sum() > 6


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("target", [(8.0, None), (7.0, 9.0), (None, 4.0), (6.0, 6.0)])
def test_points_on_a_closed_edge_of_the_target_count(target, most):
    X, weight = everything(4), np.array([1.0, 2.0, 1.0, 3.0])
    model = LinearRegression().fit(X, X @ weight)
    # Predictions are whole numbers to the last digit: many lie on the edge.
    model.coef_, model.intercept_ = weight, 0.0
    low, high = (
        v if v is not None else s for v, s in zip(target, (0, 99), strict=True)
    )

    def inside(rows):
        return (model.predict(rows) >= low) & (model.predict(rows) <= high)

    rows = X[~inside(X)][::9]
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), target=target, max_features=most
    ).fit(X)
    explained = explainer.explain(rows)
    k, alive = fewest_by_trial(inside, rows, lambda x, v: True, most)
    assert explained.details.n_clusters == k == explained.details.lower_bound
    assert set(explained.row) == alive
    assert explained.optimal.all()


@pytest.mark.parametrize(
    "constraints",
    [[max_changes(2)], ["cf[0] > x[0] => cf[1] >= x[1]"]],
    ids=["max_changes", "coupling"],
)
def test_rules_that_are_refused_are_named(constraints):
    X, y = table(0)
    explainer = SparseOneForManyExplainer(LogisticRegression(), constraints=constraints)
    with pytest.raises(UnsupportedConstraintError, match=r"max_changes\(2\)|cf\[0\]"):
        explainer.fit(X, y)


def test_models_without_an_exact_search_are_refused():
    X, y = table(0)
    with pytest.raises(TypeError, match="KNeighborsClassifier"):
        SparseOneForManyExplainer(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="n_bins=3"):
        SparseOneForManyExplainer(DecisionTreeClassifier(), n_bins=3).fit(X, y)


MODELS = {
    "forest": lambda seed: RandomForestClassifier(6, max_depth=4, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(
        n_estimators=6, random_state=seed
    ),
    "network": lambda seed: MLPClassifier(
        (4,), solver="lbfgs", max_iter=60, random_state=seed
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rules, may", RULES, ids=["none", "row", "must", "both"])
def test_fewest_clusters_of_models_that_are_searched(kind, seed, rules, may):
    X, y = table(seed)
    X = np.vstack([X, np.repeat(LEVELS, 4).reshape(-1, 4)])
    model = MODELS[kind](seed).fit(X[:40], y)
    most = 1 + seed % 3
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=most, constraints=rules
    ).fit(X)
    rows = X[np.random.default_rng(seed).choice(40, 6, replace=False)]
    explained = explainer.explain(rows)
    k, alive = fewest_by_trial(model.predict, rows, may, most)
    assert explained.details.n_clusters == k == explained.details.lower_bound
    assert set(explained.row) == alive
    assert explained.optimal.all()
    told = explained.counterfactuals
    assert ((told != rows[explained.row]).sum(axis=1) <= most).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_each_searched_change_is_the_cheapest(kind):
    X, y = table(3)
    X = np.vstack([X, np.repeat(LEVELS, 4).reshape(-1, 4)])
    model = MODELS[kind](0).fit(X[:40], y)
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=2, target=1
    ).fit(X)
    rows = X[model.predict(X) == 0][:8]
    explained = explainer.explain(rows)
    points = everything(4)
    points = points[model.predict(points) == 1]
    for c in range(explained.details.n_clusters):
        mine = np.flatnonzero(explained.details.assignment == c)
        total = [
            np.abs(rows[mine] - v).sum() / 2 / 4
            for v in points
            if serves(v, rows[mine], lambda x, v: True, 2)
        ]
        cost = explained.cost[np.isin(explained.row, mine)].sum()
        assert cost == pytest.approx(min(total), abs=1e-12)


def test_a_forest_that_a_point_is_easily_found_for():
    # Without prices on changes this search went on for half a minute.
    random = np.random.default_rng(0)
    X = (random.random((300, 20)) < 0.5).astype(float)
    y = (X @ random.normal(size=20) > 0.5).astype(int)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    rows = X[model.predict(X) == 0][:10]
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), target=1, max_features=4, time_limit=20
    ).fit(X)
    explained = explainer.explain(rows)
    assert explained.optimal.all() and len(explained.row) > 5


def test_classes_of_a_forest_with_categories():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": random.integers(0, 4, 150),
            "b": pd.Categorical(random.choice(["u", "v", "w"], 150)),
            "c": random.integers(0, 3, 150).astype(float),
        }
    )
    y = np.digitize(X["a"] + 2 * (X["b"] == "v") - X["c"], [0, 2])
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough"),
        RandomForestClassifier(8, max_depth=4, random_state=0),
    )
    explained = (
        SparseOneForManyExplainer(model, max_features=2).fit(X, y).explain(X[:12])
    )
    assert (explained.status == "found").all() and explained.optimal.all()
    before = explained.prediction_before[explained.row]
    assert (explained.prediction != before).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rules, may", RULES, ids=["none", "row", "must", "both"])
def test_generated_clusters_are_bounded_by_the_fewest(seed, rules, may):
    X, y = table(seed)
    model = LogisticRegression(C=10).fit(X, y)
    X = np.vstack([X, np.repeat(LEVELS, 4).reshape(-1, 4)])
    most = 1 + seed % 3
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=most, constraints=rules, max_clusters=1
    ).fit(X)
    rows = X[np.random.default_rng(seed).choice(40, 6, replace=False)]
    explained = explainer.explain(rows)
    k, alive = fewest_by_trial(model.predict, rows, may, most)
    found, bound = explained.details.n_clusters, explained.details.lower_bound
    assert bound <= k <= found
    assert found == k
    assert explained.optimal.all() == (found == bound) or not alive
    assert set(explained.row) == alive
    dead = sorted(set(range(6)) - alive)
    assert (explained.status[dead] == "infeasible").all()


@pytest.mark.parametrize("n_bins", [None, 3])
def test_generated_clusters_equal_those_that_are_listed(n_bins):
    random = np.random.default_rng(1)
    X = random.normal(size=(200, 4)).round(1)
    X[:, 2:] = random.integers(0, 3, size=(200, 2))
    y = (X @ [1.0, 2.0, -1.0, 0.5] > 0.5).astype(int)
    model = FrozenEstimator(LogisticRegression(C=100).fit(X, y))
    rows = X[model.predict(X) == 0][:25]
    listed, made = (
        SparseOneForManyExplainer(
            model, max_features=2, target=1, n_bins=n_bins, max_clusters=cap
        )
        .fit(X)
        .explain(rows)
        for cap in (200_000, 1)
    )
    assert listed.optimal.all() and len(listed.row) == len(made.row)
    k = listed.details.n_clusters
    assert made.details.lower_bound <= k <= made.details.n_clusters <= k + 1
    assert made.details.lower_bound >= k - 1 > 1
    assert (model.predict(made.counterfactuals) == 1).all()


def test_time_that_runs_out_is_told():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 12)).round(2)
    y = (X.sum(axis=1) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    rows = X[model.predict(X) == 0][:40]
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model), max_features=6, target=1, n_bins=2, time_limit=0.5
    ).fit(X)
    explained = explainer.explain(rows)
    assert set(explained.status) <= {"found", "budget"} and len(explained.row)
    assert (model.predict(explained.counterfactuals) == 1).all()
    bound = explained.details.lower_bound
    assert bound <= explained.details.n_clusters
    # With time the bound holds still.
    explainer.set_params(time_limit=2)
    more = explainer.explain(rows).details
    assert len(explained.row) < len(rows) or bound <= more.n_clusters
    assert more.lower_bound <= more.n_clusters <= len(rows)
