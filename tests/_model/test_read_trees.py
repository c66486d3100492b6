"""Trees that were read give what their estimators give."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from threadpoolctl import threadpool_limits

from skcf._model._read_trees import read_trees
from tests._model.tree_agreement import N, check, check_categorical_frame, make_data


@pytest.fixture(autouse=True)
def one_thread():
    """Keep threads of OpenMP from waiting for each other on a busy machine."""
    with threadpool_limits(1):
        yield


SKLEARN = [
    DecisionTreeClassifier(max_depth=5),
    DecisionTreeClassifier(
        max_leaf_nodes=9, min_samples_leaf=7, class_weight="balanced"
    ),
    ExtraTreeClassifier(max_depth=5),
    RandomForestClassifier(8, max_depth=6),
    ExtraTreesClassifier(8, max_leaf_nodes=12),
    GradientBoostingClassifier(n_estimators=8, subsample=0.7),
    GradientBoostingClassifier(n_estimators=6, init="zero", learning_rate=0.5),
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
    AdaBoostClassifier(n_estimators=8),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=6),
    AdaBoostClassifier(ExtraTreeClassifier(max_depth=3), n_estimators=6),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=6),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
    ExtraTreeRegressor(max_depth=5),
    RandomForestRegressor(8, max_depth=6),
    ExtraTreesRegressor(8, max_depth=6),
    GradientBoostingRegressor(n_estimators=8),
    GradientBoostingRegressor(n_estimators=8, loss="quantile", alpha=0.8),
    GradientBoostingRegressor(n_estimators=8, loss="huber", init="zero"),
    HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=5),
    HistGradientBoostingRegressor(max_iter=8, loss="quantile", quantile=0.3),
    AdaBoostRegressor(n_estimators=8),
    AdaBoostRegressor(DecisionTreeRegressor(max_depth=5), n_estimators=7),
]
TAKE_MISSING = [
    DecisionTreeClassifier(max_depth=5),
    RandomForestClassifier(8, max_depth=6),
    ExtraTreesClassifier(8, max_depth=6),
    HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=5),
]


def name_of(estimator):
    return type(estimator).__name__


def with_seed(estimator):
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator


@pytest.mark.parametrize("task", ["binary", "multiclass"])
@pytest.mark.parametrize("estimator", SKLEARN, ids=name_of)
def test_classifiers(estimator, task):
    X, y = make_data(task)
    trees = check(with_seed(estimator).fit(X, y), X)
    assert trees.method == "predict_proba"


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name_of)
def test_regressors(estimator):
    X, y = make_data("regression")
    trees = check(with_seed(estimator).fit(X, y), X)
    assert trees.method == "predict"
    assert trees.precision == ("float64" if "Hist" in name_of(estimator) else "float32")


@pytest.mark.parametrize("estimator", TAKE_MISSING, ids=name_of)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values(estimator, seen):
    X, y = make_data("binary", missing=True)
    fitted = with_seed(estimator).fit(X if seen else np.nan_to_num(X), y)
    if seen or "Forest" not in name_of(estimator) and "Extra" not in name_of(estimator):
        check(fitted, X)


def test_exponential_loss():
    X, y = make_data("binary")
    check(GradientBoostingClassifier(loss="exponential", n_estimators=9).fit(X, y), X)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_positive_targets(loss):
    X, y = make_data("regression")
    model = HistGradientBoostingRegressor(loss=loss, max_iter=9, early_stopping=True)
    check(model.fit(X, np.abs(y) + 0.1), X)


def test_early_stopping_and_sample_weight():
    X, y = make_data("multiclass")
    weight = np.random.default_rng(0).random(N)
    model = GradientBoostingClassifier(
        n_estimators=60, n_iter_no_change=2, learning_rate=1.0, random_state=0
    )
    assert len(model.fit(X, y, weight).estimators_) < 60
    check(model, X)
    check(RandomForestClassifier(5, bootstrap=True).fit(X, y, weight), X)


def test_trees_of_one_node():
    X, y = make_data("binary")
    Z = np.zeros_like(X)
    for model in (DecisionTreeClassifier(), RandomForestClassifier(3)):
        trees = check(model.fit(Z, y), Z)
        assert (trees.feature < 0).all()
    check(HistGradientBoostingClassifier(max_iter=3).fit(Z, y), Z)
    check(DecisionTreeRegressor().fit(Z, X[:, 0]), Z)
    check(DecisionTreeClassifier().fit(X, np.zeros(N)), X)


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_hist_gradient_boosting_with_categories_of_an_array(task):
    X, y = make_data(task)
    if task == "regression":
        y += 5 * np.isin(X[:, 2], (1, 4))
    X[:, 2] = X[:, 2] * 10 - 5
    X[::11, 2] = np.nan
    kind = HistGradientBoostingRegressor if task == "regression" else None
    kind = kind or HistGradientBoostingClassifier
    model = kind(max_iter=9, min_samples_leaf=5, categorical_features=[2, 5])
    X[:, 5] = np.arange(N) % 70
    trees = check(model.fit(X, y), X, thresholds=False)
    assert (trees.category >= 0).any()
    Z = X.copy()
    Z[::3, 2] = 1234.0
    Z[::5, 5] = np.nan
    truth = getattr(model, trees.method)(Z)
    np.testing.assert_allclose(trees.scores(trees.encode(Z)), truth, atol=1e-12)


def test_hist_gradient_boosting_with_categories_of_a_frame():
    model = HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5)
    check_categorical_frame(model, 1e-12)


def test_unsupported():
    X, y = make_data("binary")
    two = np.column_stack([X[:, 0], X[:, 1]])

    class Mine(RandomForestClassifier):
        pass

    for model, target in (
        (LogisticRegression(), y),
        (DummyClassifier(), y),
        (RandomForestRegressor(2), two),
        (DecisionTreeRegressor(), two),
        (GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2), y),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=2), y),
        (Mine(2), y),
    ):
        assert read_trees(model.fit(X, target)) is None


def test_frames_are_read_by_column():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = make_data("binary", missing=True)
    names = list("abcdef")
    for frame in (
        pd.DataFrame(X, columns=names).convert_dtypes(),
        pl.DataFrame(dict(zip(names, np.nan_to_num(X).T, strict=True))),
    ):
        model = HistGradientBoostingClassifier(max_iter=5).fit(frame, y)
        check(model, frame, thresholds=False)


def test_importing_loads_no_optional_library():
    code = (
        "import sys, skcf._model._read_trees; "
        "unwanted = {'numba', 'xgboost', 'lightgbm', 'polars'}; "
        "assert not unwanted & set(sys.modules), unwanted & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
