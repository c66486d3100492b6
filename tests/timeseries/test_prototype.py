import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from skcf.testing import check_explainer
from skcf.timeseries import PrototypeExplainer
from tests._series.small import forest, series
from tests.timeseries.miqp import cheapest, leaves_of


def flat(X):
    return X.reshape(len(X), -1)


def mixed(explanation, X):
    """Return the mixtures that the details describe, of series of one channel."""
    out = []
    for i, r in enumerate(explanation.row):
        x = explanation.queries[r]
        weights = explanation.details.weights[i][:, 0]
        out.append(x + weights @ (X[explanation.details.prototypes[i]] - x))
    return np.array(out)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_most", [1, 2])
def test_the_program_of_the_thesis_costs_as_much(seed, n_most):
    X, model = forest(seed, n_trees=4, n=12)
    x = np.random.default_rng(100 + seed).normal(size=(1, 4))
    now = model.predict(x)[0]
    explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=n_most)
    explanation = explainer.fit(X).explain(x)
    prototypes = X[model.predict(X) != now]
    told = cheapest(
        leaves_of(model, 1 - now), x[0], prototypes, n_most, np.zeros(4, int), 0.0, 1.0,
        1e-6,
    )  # fmt: skip
    assert explanation.cost[0] == pytest.approx(told, rel=2e-3, abs=2e-4)
    assert explanation.optimal[0]
    assert explanation.lower_bound[0] <= told * (1 + 1e-4) + 2e-4


@pytest.mark.parametrize("seed", range(4))
def test_several_channels_cost_no_less_than_the_program(seed):
    X, model = forest(seed, n_trees=4, n=10)
    x = np.random.default_rng(100 + seed).normal(size=(1, 4))
    now = model.predict(x)[0]
    # Two times of two channels.
    whole = make_pipeline(FunctionTransformer(flat), model)
    explainer = PrototypeExplainer(FrozenEstimator(whole), lambda_0=1.0)
    explanation = explainer.fit(X.reshape(-1, 2, 2)).explain(x.reshape(1, 2, 2))
    prototypes = X[model.predict(X) != now]
    told = cheapest(
        leaves_of(model, 1 - now), x[0], prototypes, 1, np.array([0, 1, 0, 1]), 1.0,
        1.0, 1e-6,
    )  # fmt: skip
    assert explanation.cost[0] >= told * (1 - 1e-3)
    # Both one and two channels with one prototype are searched through.
    assert explanation.cost[0] == pytest.approx(told, rel=3e-3)
    assert not explanation.optimal[0]


def test_details_describe_the_answers():
    X, model = forest(0, n_trees=9, n=30, n_times=6)
    labels = [f"day {i}" for i in range(len(X))]
    frame = pd.DataFrame(X, index=labels)
    explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=3)
    explanation = explainer.fit(frame).explain(frame.head(6), n_counterfactuals=3)
    details = explanation.details
    assert (explanation.status == "found").all()
    arrays = explainer.fit(X).explain(X[:6], n_counterfactuals=3)
    np.testing.assert_allclose(mixed(arrays, X), arrays.counterfactuals, atol=1e-9)
    assert np.array_equal(explanation.counterfactuals, arrays.counterfactuals)
    for positions, names in zip(
        details.prototypes, details.prototype_index, strict=True
    ):
        assert names.tolist() == [labels[p] for p in positions]
        assert len(positions) <= 3
    now = model.predict(X)
    for r, positions in zip(explanation.row, details.prototypes, strict=True):
        assert (now[positions] != now[r]).all()
    assert all(c.tolist() == [0] for c in details.changed_channels)
    assert details.path[0].tolist() == [[t, t] for t in range(6)]
    square = ((arrays.counterfactuals - X[arrays.row]) ** 2).sum(axis=1)
    np.testing.assert_allclose(arrays.cost, square)


def test_score_is_the_mean_of_nearness():
    X, model = forest(1, n=30)
    explainer = PrototypeExplainer(FrozenEstimator(model)).fit(X)
    explanation = explainer.explain(X)
    near = np.mean(1 / (1 + explanation.cost))
    assert explainer.score(X) == pytest.approx(near)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_most", [1, 2])
def test_answers_flip_in_either_precision(dtype, n_most):
    X, model = forest(2, n_trees=30, max_depth=4, n=60, n_times=6)
    X = (100 * X).astype(dtype)
    model.fit(X, (X[:, 0] > 0).astype(int))
    explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=n_most)
    explanation = explainer.fit(X).explain(X[:20])
    assert explanation.counterfactuals.dtype == dtype
    assert (explanation.status == "found").all()
    assert explanation.optimal.all()
    told = model.predict(explanation.counterfactuals)
    assert (told != model.predict(X[:20])).all()


def test_both_orders_of_the_axes():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 5, 3))
    y = (X[:, :, 1].mean(axis=1) > 0).astype(int)
    last = make_pipeline(
        FunctionTransformer(flat),
        RandomForestClassifier(9, max_depth=3, random_state=0),
    ).fit(X, y)
    turn = FunctionTransformer(lambda X: X.transpose(0, 2, 1))
    first = make_pipeline(turn, *[step for _, step in last.steps])
    params = {"lambda_0": 1.0, "lambda_2": 0.1, "max_prototypes": 2}
    one = PrototypeExplainer(FrozenEstimator(last), **params).fit(X).explain(X[:5])
    other = PrototypeExplainer(FrozenEstimator(first), channel_axis=1, **params)
    other = other.fit(X.transpose(0, 2, 1)).explain(X[:5].transpose(0, 2, 1))
    np.testing.assert_allclose(one.cost, other.cost, rtol=1e-9)
    turned = other.counterfactuals.transpose(0, 2, 1)
    np.testing.assert_allclose(one.counterfactuals, turned, atol=1e-9)
    for i, r in enumerate(one.row):
        changed = (one.counterfactuals[i] != X[r]).any(axis=0)
        assert np.flatnonzero(changed).tolist() == (
            one.details.changed_channels[i].tolist()
        )
        assert one.n_changed[i] == changed.sum()


def test_prices_steer_the_change():
    X, y = series(4, n=60)
    model = LogisticRegression().fit(X, y)
    below = X[model.predict(X) == 0][:8]
    up = np.array([100.0, 1, 1, 1])
    free = PrototypeExplainer(FrozenEstimator(model), max_prototypes=2).fit(X)
    dear = PrototypeExplainer(FrozenEstimator(model), max_prototypes=2, up=up).fit(X)
    moved = [e.transform(below)[:, 0] - below[:, 0] for e in (free, dear)]
    assert np.maximum(moved[1], 0).sum() < 0.2 * np.maximum(moved[0], 0).sum()
    explanation = dear.explain(below)
    d = explanation.counterfactuals - below[explanation.row]
    price = np.where(d > 0, up, 1.0)
    np.testing.assert_allclose(explanation.cost, (price * d**2).sum(axis=1))
    assert (explanation.lower_bound <= explanation.cost).all()
    # One prototype is in closed form whatever the prices.
    assert dear.set_params(max_prototypes=1).fit(X).explain(below).optimal.all()


def test_models_that_can_only_be_asked():
    X, y = series(5, n=60)
    model = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    least = []
    for n_most in (1, 2, 3):
        explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=n_most)
        explanation = explainer.fit(X).explain(X[:20])
        assert (explanation.status == "found").all()
        assert not explanation.optimal.any()
        assert np.isnan(explanation.lower_bound).all()
        # Calls grow with the steps, not with the series.
        assert explanation.details.n_calls < 80 * n_most
        least.append(explanation.cost)
        np.testing.assert_allclose(
            mixed(explanation, X), explanation.counterfactuals, atol=1e-9
        )
    assert (np.diff(least, axis=0) <= 1e-9).all()


def test_regressor_thresholds_and_a_target_nobody_has():
    X, y = series(6, n=60)
    model = RandomForestRegressor(9, random_state=0).fit(X, X.sum(axis=1))
    explainer = PrototypeExplainer(
        FrozenEstimator(model), target=(2.0, None), max_prototypes=2
    )
    explanation = explainer.fit(X).explain(X[:20])
    assert set(explanation.status) == {"already", "found"}
    assert (explanation.prediction >= 2.0).all()
    nothing = explainer.explain(X[:3], target=(1e6, None))
    assert (nothing.status == "not_found").all()

    sure = RandomForestClassifier(30, max_depth=4, random_state=0).fit(X, y)
    explainer = PrototypeExplainer(FrozenEstimator(sure), threshold=0.8)
    explanation = explainer.fit(X).explain(X[:20])
    assert (explanation.score >= 0.8).all()
    assert explanation.optimal.all()


def test_a_time_limit_leaves_a_bound():
    X, model = forest(7, n_trees=60, max_depth=5, n=300, n_times=12)
    explainer = PrototypeExplainer(
        FrozenEstimator(model), max_prototypes=2, tol=1e-9, time_limit=0.2
    )
    explanation = explainer.fit(X).explain(X[:6])
    assert (explanation.status == "found").all()
    bound = explanation.lower_bound[explanation.row]
    assert (bound <= explanation.cost).all()
    assert (bound >= 0).all()


def test_dtw_answers_cost_no_more_than_euclidean_ones():
    pytest.importorskip("tslearn")
    X, model = forest(8, n_trees=9, max_depth=3, n=30, n_times=8)
    frozen = FrozenEstimator(model)
    one = PrototypeExplainer(frozen, max_prototypes=2).fit(X).explain(X[:6])
    warped = PrototypeExplainer(frozen, max_prototypes=2, metric="dtw", window=2)
    two = warped.fit(X).explain(X[:6])
    assert (two.cost <= one.cost + 1e-9).all()
    assert not two.optimal.any()
    path = two.details.path[0]
    assert path[0].tolist() == [0, 0] and path[-1].tolist() == [7, 7]
    assert (np.abs(np.diff(path, axis=1)) <= 2).all()
    x, cf = X[two.row[0]], two.counterfactuals[0]
    assert ((x[path[:, 0]] - cf[path[:, 1]]) ** 2).sum() == pytest.approx(two.cost[0])


def test_clone_pickle_and_grid_search():
    X, model = forest(9, n=40)
    y = model.predict(X)
    explainer = PrototypeExplainer(RandomForestClassifier(5, random_state=0))
    search = GridSearchCV(explainer, {"max_prototypes": [1, 2]}, cv=2).fit(X, y)
    assert search.cv_results_["mean_test_score"][1] >= (
        search.cv_results_["mean_test_score"][0] - 1e-9
    )
    fitted = clone(explainer).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X[:5]), fitted.transform(X[:5]))


def test_the_contract_on_series_of_several_channels():
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 4, 2)).round(1)
    y = np.where(X[:, :, 0].mean(axis=1) > 0, "yes", "no")
    model = make_pipeline(
        FunctionTransformer(flat),
        RandomForestClassifier(5, max_depth=3, random_state=0),
    )
    explainer = PrototypeExplainer(model, lambda_0=1.0, max_prototypes=2)
    check_explainer(explainer, X, y)


@pytest.mark.parametrize(
    "X, message",
    [
        (np.zeros((4, 2, 2, 2)), "two axes, or three"),
        ([[1.0, 2.0], [1.0, 2.0, 3.0]], "inhomogeneous"),
        (np.array([[1.0, np.nan], [1.0, 2.0]]), "NaN: series 0"),
    ],
)
def test_what_is_no_series_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        PrototypeExplainer(LogisticRegression()).fit(X, [0, 1] * (len(X) // 2))


def test_queries_have_the_shape_of_fit():
    X = np.random.default_rng(0).normal(size=(20, 3, 2))
    model = make_pipeline(FunctionTransformer(flat), LogisticRegression())
    explainer = PrototypeExplainer(model).fit(X, X[:, 0, 0] > 0)
    with pytest.raises(ValueError, match=r"shape \(3, 2\)"):
        explainer.transform(X[:, :, :1])


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boosted_trees_are_searched_exactly(package, dtype):
    library = pytest.importorskip(package)
    X, y = series(10, n=60, n_times=6)
    X = X.astype(dtype)
    if package == "xgboost":
        model = library.XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1)
    else:
        model = library.LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1)
    model.fit(X, y)
    explainer = PrototypeExplainer(FrozenEstimator(model), max_prototypes=2).fit(X)
    explanation = explainer.explain(X[:15])
    assert explanation.optimal.all()
    told = model.predict(explanation.counterfactuals)
    assert (told != model.predict(X[:15])).all()
    # No point of the lines is cheaper than the bound.
    now, mu = model.predict(X), np.linspace(0, 1, 101)[:, None]
    for r, bound in zip(explanation.row[:5], explanation.lower_bound, strict=False):
        for prototype in X[now != now[r]][:10]:
            line = (X[r] + mu * (prototype - X[r])).astype(dtype)
            hits = line[model.predict(line) != now[r]]
            assert (((hits - X[r]) ** 2).sum(axis=1) >= bound * (1 - 1e-5)).all()


def test_dtw_without_tslearn_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tslearn.metrics", None)
    X, y = series(0)
    with pytest.raises(ImportError, match=r"skcf\[timeseries\]"):
        PrototypeExplainer(LogisticRegression(), metric="dtw").fit(X, y)


@pytest.mark.parametrize("scale", [1e-4, 1e9])
@pytest.mark.parametrize("n_most", [1, 2, 3])
def test_units_do_not_matter(scale, n_most):
    X, model = forest(11, n_trees=9, max_depth=3, n=40, n_times=6)
    y = model.predict(X)
    costs = []
    for unit in (1.0, scale):
        model = RandomForestClassifier(9, max_depth=3, random_state=0)
        explainer = PrototypeExplainer(model, max_prototypes=n_most).fit(unit * X, y)
        explanation = explainer.explain(unit * X[:10])
        assert explanation.optimal.all() == (n_most < 3)
        costs.append(explanation.cost / unit**2)
    np.testing.assert_allclose(costs[0], costs[1], rtol=5e-3, atol=1e-6)
