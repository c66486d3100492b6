"""One counterfactual for all rows, and a few for many, against all points."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeRegressor

from skcf.constraints import fixed, increasing, max_changes, within
from skcf.costs import Cost
from skcf.exceptions import UnsupportedConstraintError
from skcf.group import OneForAllExplainer, OneForManyExplainer
from skcf.group._centers import alternate, assign, spread_out

pytestmark = pytest.mark.filterwarnings(
    "ignore::skcf.exceptions.CounterfactualNotFoundWarning"
)
COSTS = [
    Cost(l1=0.0, l2=1.0),
    Cost(),
    Cost(l0=0.3, l1=0.5, l2=0.5, up={0: 2.0}, down={1: 0.5}, average=False),
    Cost(l0=1.0, l1=0.1, weights={2: 3.0}),
]
RULES = [
    ((), lambda x, v: True),
    ((increasing(0), fixed(2)), lambda x, v: v[0] >= x[0] and v[2] == x[2]),
    ((within(1, 1, 3), "cf[0] <= cf[1]"), lambda x, v: v[0] <= v[1] and 1 <= v[1] <= 3),
]
SIZE = 5


def table(seed, n=80, p=3):
    random = np.random.default_rng(seed)
    X = random.integers(0, SIZE, size=(n, p)).astype(float)
    X[:SIZE] = np.arange(SIZE)[:, None]
    score = X @ random.normal(size=p) + random.normal(size=n)
    return X, (score > np.quantile(score, 0.6)).astype(int)


def bound_cost(explainer):
    return explainer._cost


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cost", COSTS, ids=range(len(COSTS)))
@pytest.mark.parametrize("rules, may", RULES, ids=["none", "row", "joint"])
def test_one_for_all_of_all_points(seed, cost, rules, may):
    X, y = table(seed)
    model = RandomForestClassifier(8, max_depth=3, random_state=seed).fit(X, y)
    explainer = OneForAllExplainer(
        FrozenEstimator(model), cost=cost, constraints=rules, target=1
    ).fit(X)
    random = np.random.default_rng(seed)
    rows = X[model.predict(X) == 0]
    rows = rows[random.choice(len(rows), 4, replace=False)]
    weights = random.integers(1, 4, size=4).astype(float)
    explained = explainer.explain(rows, weights=weights)
    points = np.array(list(product(range(SIZE), repeat=3)), dtype=float)
    points = points[model.predict(points) == 1]
    points = [v for v in points if all(may(x, v) for x in rows)]
    total = [weights @ explainer._cost.rows(rows, v[None, :]) for v in points]
    if not total:
        assert (explained.status == "infeasible").all()
        return
    assert explained.optimal.all() and len(explained.row) == 4
    assert explained.details.total_cost == pytest.approx(min(total), abs=1e-9)
    assert explained.details.lower_bound == pytest.approx(min(total), abs=1e-6)
    assert (explained.counterfactuals == explained.details.centers).all()


@pytest.mark.parametrize("own", [2.3, 9.0, np.nan], ids=["grid", "range", "missing"])
@pytest.mark.parametrize("seed", range(2))
def test_rows_keep_what_they_share_where_training_rows_never_had_it(own, seed):
    X, y = table(seed)
    seen = X.copy()
    seen[::7, 2] = np.nan
    model = RandomForestClassifier(8, max_depth=3, random_state=seed).fit(seen, y)
    rows = np.unique(X, axis=0)
    rows[:, 2] = own
    rows = rows[model.predict(rows) == 0][:3]
    for rules, values in ((fixed(2), [own]), ((), [*range(SIZE), own])):
        explained = (
            OneForAllExplainer(FrozenEstimator(model), target=1, constraints=rules)
            .fit(seen)
            .explain(rows)
        )
        points = np.array(list(product(range(SIZE), range(SIZE), values)))
        points = points[model.predict(points) == 1]
        cost = Cost(l1=0.0, l2=1.0)._bind(
            OneForAllExplainer(FrozenEstimator(model)).fit(seen)._space
        )
        total = [cost.rows(rows, v[None, :]).sum() for v in points]
        if not total:
            assert (explained.status == "infeasible").all()
            continue
        assert explained.details.total_cost == pytest.approx(min(total), abs=1e-9)
        assert explained.optimal.all() and len(explained.row) == len(rows)


@pytest.mark.parametrize("seed", range(3))
def test_squared_cost_is_that_of_the_mean(seed):
    # sum |x_s - x|^2 = S |mean - x|^2 + const: one query in the middle.
    random = np.random.default_rng(seed)
    X = random.normal(size=(120, 3)).round(2)
    y = (X.sum(axis=1) + random.normal(scale=0.3, size=120) > 0.5).astype(int)
    model = GradientBoostingClassifier(n_estimators=15, random_state=0).fit(X, y)
    explainer = OneForAllExplainer(
        FrozenEstimator(model), target=1, resolution=None
    ).fit(X)
    rows = X[model.predict(X) == 0][:12]
    explained = explainer.explain(rows)
    mean = rows.mean(axis=0)
    unit = np.ptp(X, axis=0)
    steps = [
        np.unique(
            np.concatenate([t.tree_.threshold[t.tree_.feature == j] for t in trees])
        )
        for j, trees in enumerate([model.estimators_.ravel()] * 3)
    ]
    ends = [
        np.concatenate([[X[:, j].min()], s, [X[:, j].max()]])
        for j, s in enumerate(steps)
    ]
    best = np.inf
    for cell in product(*[range(len(e) - 1) for e in ends]):
        low = np.array([ends[j][c] for j, c in enumerate(cell)])
        high = np.array([ends[j][c + 1] for j, c in enumerate(cell)])
        middle = (low + high) / 2
        near = (((np.clip(mean, low, high) - mean) / unit) ** 2).sum()
        if near < best and model.predict(middle[None, :])[0] == 1:
            best = near
    spread = (((rows - mean) / unit) ** 2).sum()
    assert explained.details.total_cost == pytest.approx(
        (len(rows) * best + spread) / 3, rel=1e-5
    )


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_observed_centers_of_all_choices(seed, worst):
    X, y = table(seed, n=24)
    model = KNeighborsClassifier(3).fit(X, y)
    explainer = OneForManyExplainer(
        FrozenEstimator(model), n_centers=2, location="observed", worst=worst, target=1
    ).fit(X)
    rows = X[model.predict(X) == 0][:8]
    sites = np.unique(X[model.predict(X) == 1], axis=0)
    price = np.array([explainer._cost.rows(rows, v[None, :]) for v in sites]).T
    measure = np.max if worst else np.sum
    best = min(
        measure(price[:, pair].min(axis=1))
        for pair in combinations(range(len(sites)), 2)
    )
    explained = explainer.explain(rows)
    assert explained.details.total_cost == pytest.approx(best, abs=1e-12)
    assert explained.details.lower_bound == pytest.approx(best, abs=1e-7)
    assert explained.optimal.all()


def test_one_center_is_one_for_all():
    X, y = table(1)
    model = FrozenEstimator(
        RandomForestClassifier(8, max_depth=3, random_state=0).fit(X, y)
    )
    rows = X[model.predict(X) == 0][:10]
    for location in ("any", "observed"):
        one = (
            OneForAllExplainer(model, target=1, location=location).fit(X).explain(rows)
        )
        many = OneForManyExplainer(model, target=1, location=location, n_centers=1)
        many = many.fit(X).explain(rows)
        assert many.details.total_cost == pytest.approx(
            one.details.total_cost, rel=1e-12
        )


def test_cost_never_rises_from_step_to_step():
    X, y = table(2, n=200)
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X, y)
    explainer = OneForManyExplainer(
        FrozenEstimator(model), target=1, random_state=0
    ).fit(X)
    traces = []

    def watched(*args):
        found, trace = alternate(*args)
        traces.append(trace)
        return found, trace

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skcf.group._center_explainer.alternate", watched)
        explained = explainer.explain(X[model.predict(X) == 0][:40])
    assert len(traces) in (5, 6)  # The best may go on.
    assert all((np.diff(trace) <= 1e-9).all() for trace in traces)
    assert explained.details.total_cost == pytest.approx(min(t[-1] for t in traces))


def test_calls_and_starts_are_reproducible():
    X, y = table(3, n=150)
    model = RandomForestClassifier(10, max_depth=3, random_state=0)
    rows = X[:30]
    one = OneForManyExplainer(model, random_state=7).fit(X, y)
    two = OneForManyExplainer(model, random_state=7).fit(X, y)
    first = one.transform(rows)
    assert (first == one.transform(rows)).all() and (first == two.transform(rows)).all()


def test_more_centers_never_cost_more():
    X, y = table(4, n=150)
    model = FrozenEstimator(
        RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    )
    rows = X[model.predict(X) == 0][:30]
    total = [
        OneForManyExplainer(model, target=1, location="observed", n_centers=n)
        .fit(X)
        .explain(rows)
        .details.total_cost
        for n in (1, 2, 3, 5)
    ]
    assert (np.diff(total) <= 1e-9).all()


def test_rows_that_must_not_share():
    X, y = table(5, n=100)
    model = FrozenEstimator(
        RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    )
    rows = X[model.predict(X) == 0][:8]
    explainer = OneForManyExplainer(model, target=1, n_centers=2, random_state=0).fit(X)
    pairs = [(0, 1), (2, 3)]
    taken = explainer.explain(rows, cannot_link=pairs).details.assignment
    assert all(taken[i] != taken[j] for i, j in pairs)
    for bad in ([(0, 0)], [(0, 8)], [0, 1], [(0.5, 1.0)]):
        with pytest.raises(ValueError, match="cannot_link"):
            explainer.explain(rows, cannot_link=bad)
    with pytest.raises(ValueError, match="weights"):
        explainer.explain(rows, weights=[1.0, 2.0])


def test_assignment_apart_of_all_assignments():
    random = np.random.default_rng(0)
    for _ in range(20):
        price = random.random((4, 3))
        price[random.random((4, 3)) < 0.2] = np.inf
        weight = random.random(4) + 0.1
        apart = np.zeros((4, 2), dtype=bool)
        apart[[0, 1], 0] = apart[[1, 2], 1] = True
        taken, total = assign(price, weight, apart)
        best = (9, np.inf)
        for some in product(range(-1, 3), repeat=4):
            if any(some[i] == some[j] >= 0 for i, j in ((0, 1), (1, 2))):
                continue
            paid = [weight[i] * price[i, c] for i, c in enumerate(some) if c >= 0]
            if np.isfinite(paid).all():
                best = min(best, (some.count(-1), sum(paid)))
        assert ((taken < 0).sum(), total) == (best[0], pytest.approx(best[1]))


def test_centers_of_fit_serve_rows_one_by_one():
    X, y = table(6, n=150)
    model = RandomForestClassifier(10, max_depth=3, random_state=0)
    explainer = OneForManyExplainer(
        model, target=1, n_centers=3, group="fit", random_state=0
    ).fit(X, y)
    rows = X[:20]
    together = explainer.transform(rows)
    alone = np.vstack([explainer.transform(row[None, :]) for row in rows])
    assert (together == alone).all()
    moved = (together != rows).any(axis=1)
    centers = {tuple(c) for c in explainer.centers_}
    assert {tuple(row) for row in together[moved]} <= centers and moved.any()


def test_frames_categories_and_missing_values():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(20, 60, 200),
            "city": pd.Categorical(random.choice(["a", "b", "c"], 200)),
            "pay": random.normal(size=200).round(1),
        }
    )
    X.loc[::9, "pay"] = np.nan
    y = (X["age"] + 10 * X["pay"].fillna(0) + 5 * (X["city"] == "b") > 45).astype(int)
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_iter=10, categorical_features="from_dtype"
    )
    explainer = OneForManyExplainer(model, target=1, n_centers=2, random_state=0)
    explainer.fit(X, y)
    explained = explainer.explain(X[:40])
    assert (explained.prediction == 1).all() and len(explained.row) > 10
    assert not explained.counterfactuals["pay"].isna().any()
    assert (explained.details.centers.dtypes == X.dtypes).all()


def test_regression_interval():
    X, _ = table(7, n=120)
    y = X @ [1.0, 2.0, -1.0]
    model = DecisionTreeRegressor(max_depth=4, random_state=0)
    explained = OneForAllExplainer(model, target=(6.0, 8.0)).fit(X, y).explain(X[:10])
    assert ((explained.prediction >= 6.0) & (explained.prediction <= 8.0)).all()
    assert len(explained.row)


def test_what_a_shared_point_cannot_keep_is_refused():
    X, y = table(0)
    forest = RandomForestClassifier(5, random_state=0)
    for rule in ("cf[0] >= x[0] + cf[1]", max_changes(1)):
        with pytest.raises(UnsupportedConstraintError, match=r"cf\[0\]|max_changes"):
            OneForAllExplainer(forest, constraints=[rule]).fit(X, y)
        OneForAllExplainer(forest, constraints=[rule], location="observed").fit(X, y)
    with pytest.raises(ValueError, match="linf"):
        OneForAllExplainer(forest, cost="geco").fit(X, y)
    with pytest.raises(TypeError, match="KNeighborsClassifier"):
        OneForAllExplainer(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="worst"):
        OneForManyExplainer(forest, worst=True).fit(X, y)


def test_seeds_are_spread_out():
    price = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    assert list(spread_out(price, 3, np.uint64(5))) == [0, 1, 2]
    assert len(spread_out(np.full((2, 2), np.inf), 2, np.uint64(5))) == 0
