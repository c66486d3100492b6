import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skcf._series import gauge_of
from skcf._series._forest import LinearReader, TreeReader
from tests._series.small import goal, interval, series, wrapped

TREES = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    ExtraTreesClassifier(5, max_depth=3, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=3),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5),
    GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2]}, cv=2),
]


def flat(X):
    return X.reshape(len(X), -1)


def turned(X):
    return X.transpose(0, 2, 1).reshape(len(X), -1)[:, ::-1]


def agrees(model, X, label, threshold=None):
    """Check that a gauge holds where the model predicts a label, surely enough."""
    box, space, reader = wrapped(model, X, threshold)
    gauge = gauge_of(reader, box, goal(label, nu=threshold))
    probe = np.random.default_rng(1).normal(size=(300, *X.shape[1:]))
    told = box.positions(model.predict(probe)) == label
    if threshold is not None:
        told &= model.predict_proba(probe)[:, label] >= threshold
    assert 0 < told.sum() < len(told)
    assert np.array_equal(gauge.holds(space.encode(probe)), told)
    return reader


@pytest.mark.parametrize("model", TREES, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("threshold", [None, 0.6])
def test_tree_ensembles_are_read(model, threshold):
    X, y = series(0, n=60)
    assert isinstance(agrees(model.fit(X, y), X, 1, threshold), TreeReader)


@pytest.mark.parametrize("reshape", [flat, turned])
def test_columns_are_found_behind_a_reshaping_step(reshape):
    X, _ = series(0, n=60, n_times=6)
    X = X.reshape(60, 3, 2)
    y = (X[:, 0, 1] + X[:, 2, 0] > 0).astype(int)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = make_pipeline(FunctionTransformer(reshape), forest).fit(X, y)
    assert isinstance(agrees(model, X, 1), TreeReader)


def test_trees_behind_other_steps_are_not_read():
    X, y = series(0, n=60)
    model = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, y)
    assert wrapped(model, X)[2] is None


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RidgeClassifier(),
        SVC(kernel="linear"),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["logistic", "ridge", "svc", "scaled"],
)
def test_linear_scores_are_found_by_trial(model):
    X, y = series(0, n=60)
    assert isinstance(agrees(model.fit(X, y), X, 1), LinearReader)


def test_the_threshold_of_a_linear_model():
    X, y = series(0, n=60)
    agrees(LogisticRegression().fit(X, y), X, 0, threshold=0.7)


def test_curved_scores_are_not_linear():
    X, y = series(0, n=60)
    assert wrapped(SVC().fit(X, y), X)[2] is None


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), RandomForestClassifier(5, max_depth=3, random_state=0)],
)
def test_one_class_of_three_and_any_other(model):
    X, _ = series(0, n=90)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model.fit(X, y)
    agrees(model, X, 2)
    box, space, reader = wrapped(model, X)
    probe = np.random.default_rng(1).normal(size=(300, 4))
    away = gauge_of(reader, box, goal(1, opposite=True))
    assert np.array_equal(away.holds(probe), model.predict(probe) != 1)


def test_intervals_of_a_linear_regressor():
    X, _ = series(0, n=60)
    model = LinearRegression().fit(X, X @ [1.0, 2, 3, 4])
    box, _, reader = wrapped(model, X)
    gauge = gauge_of(reader, box, interval(-1.0, 2.0))
    told = model.predict(X)
    assert np.array_equal(gauge.holds(X), (told >= -1) & (told <= 2))
    half = gauge_of(reader, box, interval(-np.inf, 2.0))
    assert np.array_equal(half.holds(X), told <= 2)
