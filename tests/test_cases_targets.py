"""What a row is to become, and what is said when it cannot."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.svm import LinearSVC

from skcf.constraints import within
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
from tests.lending import EXPLAINERS, MODEL, REFUSED, X, Y, fitted, squares

both = pytest.mark.parametrize("explainer", EXPLAINERS)

FLOWERS, KINDS = load_iris(return_X_y=True, as_frame=True)
KINDS = KINDS.map({0: "setosa", 1: "versicolor", 2: "virginica"}).to_numpy()
FOREST = RandomForestClassifier(20, random_state=0).fit(FLOWERS, KINDS)


@both
def test_every_row_has_a_target_of_its_own(explainer):
    explainer = fitted(explainer, FOREST, FLOWERS, KINDS)
    query = FLOWERS.iloc[[0, 60, 120, 0]]
    wanted = ["virginica", "setosa", "opposite", "versicolor"]
    explanation = explainer.explain(query, target=wanted)
    assert (explanation.status == "found").all()
    assert explanation.prediction[[0, 1, 3]].tolist() == [wanted[i] for i in (0, 1, 3)]
    # of any other class, the one that was reached is told
    assert explanation.prediction[2] != "virginica"
    assert explanation.target[2] == explanation.prediction[2]
    told = explainer.transform(query, target=wanted)
    assert FOREST.predict(told).tolist() == explanation.prediction.tolist()


@both
def test_opposite_is_any_other_class(explainer):
    query = FLOWERS.iloc[::15]
    explanation = fitted(explainer, FOREST, FLOWERS, KINDS).explain(query)
    assert (explanation.status == "found").all()
    assert (explanation.prediction != explanation.prediction_before).all()
    one = fitted(explainer, FOREST, FLOWERS, KINDS, target="virginica").explain(query)
    assert set(one.prediction) == {"virginica"}
    # the nearest of two classes is at least as near as one of them
    reached = one.status == "found"
    assert (explanation.cost[reached] <= one.cost + 1e-9).mean() > 0.8


@both
@pytest.mark.parametrize("target", ["virginca", 1, ["setosa"] * 2 + ["rose"]])
def test_unknown_targets_are_named(explainer, target):
    explainer = fitted(explainer, FOREST, FLOWERS, KINDS)
    with pytest.raises(ValueError, match="virginca|1|rose"):
        explainer.transform(FLOWERS.iloc[:3], target=target)
    with pytest.raises(ValueError):
        explainer.explain(FLOWERS.iloc[:3], target=["setosa"] * 2)


class Stump(ClassifierMixin, BaseEstimator):
    """Says yes from 0.705 on; has nothing but predict."""

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return (np.asarray(X, dtype=float)[:, 0] >= 0.705).astype(int)


@both
@pytest.mark.parametrize("model", [LinearSVC(), Perceptron(), Stump()])
def test_models_without_probabilities(explainer, model):
    points, y = squares()
    model = clone(model).fit(points, y)
    query = points[model.predict(points) == 0].iloc[:8]
    explainer = fitted(explainer, model, points, y, target=1)
    explanation = explainer.explain(query)
    assert (explanation.status == "found").all()
    assert (model.predict(explanation.counterfactuals) == 1).all()
    assert (explanation.score > explanation.score_before).all()
    with pytest.raises(ValueError, match="threshold=0.8 needs .* predict_proba"):
        fitted(type(explainer), model, points, y, threshold=0.8)


@both
def test_a_number_is_to_lie_in_an_interval(explainer):
    points, _ = squares()
    y = 10 * points["p"].to_numpy()
    model = RandomForestRegressor(20, random_state=0).fit(points, y)
    query = points[points["p"] < 0.3].iloc[:5]
    explainer = fitted(explainer, model, points, y, target=(7.0, 8.0))
    explanation = explainer.explain(query)
    assert (explanation.status == "found").all()
    assert ((explanation.prediction >= 7) & (explanation.prediction <= 8)).all()
    assert explanation.target.tolist() == [(7.0, 8.0)] * 5
    # a forest cannot leave what it was trained on, and no search proves that
    far = explainer.explain(query, target=(1000.0, 2000.0))
    assert set(far.status) == {"not_found"}
    half = explainer.explain(query, target=(None, 100.0))
    assert set(half.status) == {"already"}
    with pytest.raises(ValueError, match="opposite"):
        fitted(type(explainer), model, points, y)


def test_no_training_row_of_the_target():
    points, _ = squares()
    low = points[points["p"] < 0.6]
    y = np.zeros(len(low), dtype=int)
    model = Stump().fit(points, y)
    with pytest.raises(ValueError, match="No training row is predicted in the target"):
        fitted(NearestUnlikeExplainer, model, low, y, target=1)
    explainer = fitted(GeCoExplainer, model, low, y, target=1)
    assert set(explainer.explain(low.iloc[:3]).status) == {"not_found"}
    # where a rule opens the way, a search goes it
    explainer = fitted(model=model, X=low, y=y, target=1, constraints=within("p", 0, 1))
    explanation = explainer.explain(low.iloc[:3])
    assert set(explanation.status) == {"found"}
    assert (explanation.counterfactuals["p"] > 0.7).all()


@both
def test_hardly_any_training_row_of_the_target(explainer):
    points, y = squares()
    some = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:2]])
    points, y = points.iloc[some], y[some]
    model = LogisticRegression(C=1000).fit(points, y)
    n = (model.predict(points) == 1).sum()
    explanation = fitted(explainer, model, points, y, target=1).explain(
        points.iloc[:5], n_counterfactuals=30
    )
    assert 0 < n < 5 and (explanation.status == "found").all()
    if explainer is NearestUnlikeExplainer:
        # there are no more than there are
        assert np.bincount(explanation.row).tolist() == [n] * 5


@both
def test_a_row_in_the_target_is_left_alone(explainer):
    granted = X[MODEL.predict(X) == "granted"].iloc[:3]
    explainer = fitted(explainer, target="granted")
    explanation = explainer.explain(granted)
    assert explanation.status.tolist() == ["already"] * 3
    assert len(explanation.counterfactuals) == len(explanation.cost) == 0
    pd.testing.assert_frame_equal(explainer.transform(granted), granted)
    assert explainer.score(granted) == 1
    # with a threshold, predicted is not enough
    sure = fitted(type(explainer), target="granted", threshold=0.99)
    unsure = granted[MODEL.predict_proba(granted)[:, 0] < 0.99]
    assert set(sure.explain(unsure).status) <= {"found", "not_found"}


@both
def test_scores_before_and_after_are_told(explainer):
    query = REFUSED.iloc[:6]
    explanation = fitted(explainer, target="granted").explain(
        query, n_counterfactuals=2
    )
    told = explanation.counterfactuals
    np.testing.assert_allclose(explanation.score, MODEL.predict_proba(told)[:, 0])
    np.testing.assert_allclose(
        explanation.score_before, MODEL.predict_proba(query)[:, 0]
    )
    assert explanation.prediction.tolist() == MODEL.predict(told).tolist()
    assert explanation.prediction_before.tolist() == ["refused"] * 6
    assert (explanation.cost > 0).all() and (explanation.n_changed >= 1).all()


@both
def test_one_class_in_training(explainer):
    points, y = squares()
    model = LogisticRegression().fit(points, y)
    high = points[model.predict(points) == 1]
    explanation = fitted(explainer, model, high, np.ones(len(high))).explain(high[:5])
    # nothing was seen of the other class: a search may get there, training rows not
    allowed = {"not_found"} | ({"found"} if explainer is GeCoExplainer else set())
    assert set(explanation.status) <= allowed


def test_labels_of_any_kind():
    for labels in ([False, True], ["no", "yes"], [3, 7], [b"a", b"b"]):
        y = np.array(labels)[(Y == "granted").astype(int)]
        model = clone(MODEL).fit(X, y)
        explanation = fitted(model=model, y=y, target=labels[1]).explain(
            REFUSED.iloc[:2]
        )
        assert explanation.target.tolist() == [labels[1]] * 2
        assert (explanation.prediction == labels[1]).all()
