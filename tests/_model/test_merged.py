import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skcf._mip._families import solver_for
from skcf._mip._tree_solver import TreeSolver
from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf._model._wrappers import Formula, read_estimator
from tests._mip.boxes import accepting, brute, class_goal, fitted, parts_of
from tests._mip.test_linear import labels, table

SMALL = {"max_depth": 3, "random_state": 0}
FOREST = RandomForestClassifier(5, **SMALL)
EXTRA = ExtraTreesClassifier(3, **SMALL)
TREE = DecisionTreeClassifier(**SMALL)


def soft(*members, weights=None):
    named = [(str(i), m) for i, m in enumerate(members)]
    return VotingClassifier(named, voting="soft", weights=weights)


def mean(*members, weights=None):
    return VotingRegressor(
        [(str(i), m) for i, m in enumerate(members)], weights=weights
    )


@pytest.mark.parametrize(
    "vote, kind",
    [
        (soft(FOREST, EXTRA, TREE, weights=[1, 2, 0]), FlatTrees),
        (soft(FOREST, EXTRA), FlatTrees),
        (
            mean(RandomForestRegressor(4, **SMALL), GradientBoostingRegressor()),
            FlatTrees,
        ),
        (mean(LinearRegression(), Ridge(), weights=[3, 1]), Layers),
    ],
    ids=repr,
)
def test_one_model_of_many(vote, kind):
    rng = np.random.default_rng(0)
    X = table(rng)
    y = labels(rng, X, 3) if hasattr(vote, "voting") else X @ rng.normal(size=5)
    vote.fit(X, y)
    method = "predict_proba" if hasattr(vote, "voting") else "predict"
    leaf = read_estimator(vote, method)
    assert isinstance(leaf.kernel, kind)
    rows = X + 0.3 * rng.normal(size=X.shape)
    kernel = leaf.kernel
    if kind is FlatTrees:
        said = kernel.scores(kernel.encode(rows))
        np.testing.assert_allclose(kernel._scores_numpy(rows), said, atol=1e-14)
    else:
        ptr = np.zeros(len(rows) + 1, dtype=int)
        none = np.empty(0, dtype=int), np.empty(0)
        said = kernel.open(rows).scores(np.arange(len(rows)), ptr, *none)
    np.testing.assert_allclose(said, getattr(vote, method)(rows), atol=1e-12)


@pytest.mark.parametrize(
    "vote",
    [
        soft(FOREST, GradientBoostingClassifier(n_estimators=3)),
        soft(FOREST, make_pipeline(StandardScaler(), TREE)),
        mean(RandomForestRegressor(3), HistGradientBoostingRegressor(max_iter=3)),
        mean(Ridge(), RandomForestRegressor(3)),
    ],
    ids=repr,
)
def test_links_and_encodings_of_their_own_stay_a_formula(vote):
    rng = np.random.default_rng(0)
    X = table(rng)
    y = labels(rng, X, 2) if hasattr(vote, "voting") else X[:, 0]
    method = "predict_proba" if hasattr(vote, "voting") else "predict"
    assert isinstance(read_estimator(vote.fit(X, y), method), Formula)


@pytest.mark.parametrize("seed", range(6))
def test_proved_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    n_classes = 2 + seed % 2
    y = labels(rng, X, n_classes)
    vote = soft(FOREST, EXTRA, TREE, weights=[None, [1, 2, 3]][seed % 2]).fit(X, y)
    explainer = fitted(vote, X, categorical=[3, 4])
    solver = solver_for(*parts_of(explainer))
    assert isinstance(solver, TreeSolver)
    x = X[seed]
    old = int(vote.predict(x[None])[0])
    goal = class_goal(None, leave=old)
    if seed > 2:
        goal = class_goal(None, label=(old + 1) % n_classes, nu=0.45 + 0.05 * seed)
    accept = accepting(explainer, goal)
    truth = brute(explainer, x, accept)
    said = solver.solve(x, goal, accept=accept)
    np.testing.assert_allclose(said.cost, truth, atol=1e-9)
    assert said.optimal.all()


CALIBRATED = [
    FOREST,
    GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    make_pipeline(StandardScaler(), LinearSVC()),
    TREE,
]


@pytest.mark.parametrize("seed", range(len(CALIBRATED)))
def test_one_calibrated_classifier_is_one_model(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    y = labels(rng, X, 2)
    model = CalibratedClassifierCV(CALIBRATED[seed], ensemble=False, cv=3).fit(X, y)
    leaf = read_estimator(model, "predict_proba")
    assert leaf.kernel.link in ("sigmoid", "pair")
    explainer = fitted(model, X, categorical=[3, 4])
    solver = solver_for(*parts_of(explainer))
    x = X[seed]
    old = int(model.predict(x[None])[0])
    for nu in (None, 0.55):
        goal = class_goal(None, label=1 - old, nu=nu)
        accept = accepting(explainer, goal)
        said = solver.solve(x, goal, accept=accept)
        np.testing.assert_allclose(said.cost, brute(explainer, x, accept), atol=1e-9)
        assert said.optimal.all() or said.status == "infeasible"


def test_several_calibrated_classifiers_stay_a_formula():
    rng = np.random.default_rng(0)
    X = table(rng)
    for params in ({}, {"method": "isotonic", "ensemble": False}):
        model = CalibratedClassifierCV(TREE, cv=3, **params)
        read = read_estimator(model.fit(X, labels(rng, X, 2)), "predict_proba")
        assert isinstance(read, Formula)
