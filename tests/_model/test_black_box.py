import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from skcf._model import BlackBox, Goal, Meter
from skcf._model._black_box import BlackBoxSession
from skcf._space import Candidates, FeatureSpace

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(300, 3)).round(2)
BINARY = (X[:, 0] + X[:, 1] ** 2 > 0.6).astype(int)
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])


class OnlyPredict(ClassifierMixin, BaseEstimator):
    """A model with nothing but predict, not even classes_."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0, "yes", "no")


def wrap(model, y=BINARY, threshold=None, table=X):
    space = FeatureSpace(table)
    return BlackBox(model, space, table, y, threshold)


def goal_of(label, n, opposite=False, nu=None):
    return Goal(np.full(n, label), np.full(n, opposite), nu=nu)


CLASSIFIERS = [
    (LogisticRegression(), BINARY),
    (RandomForestClassifier(20, random_state=0), BINARY),
    (LinearSVC(), BINARY),
    (SVC(), BINARY),
    (Perceptron(), BINARY),
    (GaussianNB(), BINARY),
    (FixedThresholdClassifier(LogisticRegression(), threshold=0.2), BINARY),
    (FixedThresholdClassifier(LogisticRegression(), threshold=0.85), BINARY),
    (LogisticRegression(), THREE),
    (LinearSVC(), THREE),
    (SVC(decision_function_shape="ovo"), THREE),
    (KNeighborsClassifier(), THREE),
    (OnlyPredict(), BINARY),
]


@pytest.mark.parametrize(("model", "y"), CLASSIFIERS, ids=str)
def test_the_sign_of_the_margin_agrees_with_predict(model, y):
    model.fit(X, y)
    box = wrap(model, y)
    probe = np.random.RandomState(1).normal(size=(500, 3))
    predicted = box.positions(model.predict(probe))
    output = box.output(probe)
    for label in range(len(box.classes_)):
        margin = box.margin(*output, goal_of(label, len(probe)))
        assert (predicted[margin > 1e-9] == label).all()
        assert (predicted[margin < -1e-9] != label).all()
        opposite = box.margin(*output, goal_of(label, len(probe), True))
        np.testing.assert_allclose(opposite, -margin)


def test_a_shifted_threshold_keeps_a_continuous_margin():
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.2)
    box = wrap(model.fit(X, BINARY))
    assert box.method == "predict_proba"
    assert abs(box.cut - 0.2) < 0.05


def test_threshold_lowers_the_margin_to_the_missing_probability():
    model = LogisticRegression().fit(X, BINARY)
    box = wrap(model, threshold=0.9)
    p = model.predict_proba(X)
    margin = box.margin(*box.output(X), goal_of(1, len(X), nu=0.9))
    np.testing.assert_allclose(margin, np.minimum(p[:, 1] - p[:, 0], p[:, 1] - 0.9))
    leave = box.margin(*box.output(X), goal_of(0, len(X), True, nu=0.9))
    np.testing.assert_allclose(leave, margin, atol=1e-12)


def test_threshold_one_can_be_reached():
    model = RandomForestClassifier(10, random_state=0).fit(X, BINARY)
    box = wrap(model, threshold=1.0)
    margin = box.margin(*box.output(X), goal_of(1, len(X), nu=1.0))
    assert (box.passes(margin) == (model.predict_proba(X)[:, 1] == 1)).all()
    assert box.passes(margin).any()


def test_threshold_needs_probabilities():
    with pytest.raises(ValueError, match=r"threshold=0.8 needs .* predict_proba"):
        wrap(LinearSVC().fit(X, BINARY), threshold=0.8)
    frozen = FrozenEstimator(make_pipeline(LinearSVC()).fit(X, BINARY))
    with pytest.raises(ValueError, match="predict_proba; LinearSVC has none"):
        wrap(frozen, threshold=0.8)


def test_margin_of_a_regressor():
    model = LinearRegression().fit(X, X[:, 0])
    box = wrap(model, X[:, 0])
    prediction = np.array([0.0, 1.0, 1.5, 2.0, 3.0])
    ends = Goal(low=np.full(5, 1.0), high=np.full(5, 2.0))
    margin = box.margin(prediction, None, ends)
    np.testing.assert_allclose(margin[[0, 2, 4]], [-1.0, 0.5, -1.0])
    # A closed end belongs to the target, and is known to be an end.
    assert box.passes(margin).tolist() == [False, True, True, True, False]
    edge = box.on_edge(ends, prediction)
    assert edge.tolist() == [False, True, False, True, False]
    open_end = Goal(low=np.full(5, 1.2), high=np.full(5, np.inf))
    assert (box.margin(prediction, None, open_end) > 0).tolist() == [False] * 2 + [
        True
    ] * 3


def test_the_strength_is_the_log_odds():
    box = wrap(LogisticRegression().fit(X, BINARY))
    margin = np.array([-0.9, 0.0, 0.4])
    # With m = 2p - 1 the strength is the log-odds of p.
    np.testing.assert_allclose(box.strength(margin), 2 * np.arctanh(margin))
    np.testing.assert_allclose(box.shortfall(margin), (1 - margin) / 2)


class Counting(LogisticRegression):
    """Counts calls and rows, and may be slow."""

    pause = 0.0

    def predict_proba(self, X):
        type(self).calls.append(len(X))
        time.sleep(self.pause)
        return super().predict_proba(X)


def session_of(model, n):
    box = wrap(model)
    x = box.space.encode(X)
    cands = Candidates.unchanged(np.arange(n))
    return box, BlackBoxSession(box, X, x, box.space.values), cands


def test_calls_and_rows_are_counted():
    Counting.calls = []
    box, session, cands = session_of(Counting().fit(X, BINARY), 50)
    Counting.calls.clear()
    meter = Meter()
    margin = box.margins(session, cands, goal_of(1, 50), meter)
    assert Counting.calls == [50] and (meter.n_calls, meter.n_rows) == (1, 50)
    expected = box.margin(*box.output(X[:50]), goal_of(1, 50))
    np.testing.assert_allclose(margin, expected)


class Stubborn(RandomForestClassifier):
    """A forest that predicts the same whatever its probabilities are."""

    def predict(self, X):
        return np.ones(len(X), dtype=int)


@pytest.mark.parametrize(
    ("kind", "calls"), [(RandomForestClassifier, 1), (Stubborn, 2)]
)
def test_a_plain_forest_is_asked_once_for_class_and_probability(kind, calls):
    model = make_pipeline(kind(7, random_state=0)).fit(X, THREE)
    told, n_calls = wrap(model, THREE).told(X)
    assert n_calls == calls
    np.testing.assert_array_equal(told["predict"], model.predict(X))
    np.testing.assert_array_equal(told["predict_proba"], model.predict_proba(X))


def test_no_call_after_the_deadline():
    Counting.calls = []
    box, session, cands = session_of(Counting().fit(X, BINARY), 50)
    Counting.calls.clear()
    meter = Meter(deadline=time.monotonic() - 1, share=0.1)
    margin = box.margins(session, cands, goal_of(1, 50), meter)
    assert np.isneginf(margin).all() and not Counting.calls and meter.cut


def test_a_slow_model_is_asked_in_small_batches():
    Counting.calls = []
    model = Counting().fit(X, BINARY)
    box, session, cands = session_of(model, 200)
    box.rate = 0.01  # seconds a row, so that 200 rows would take 2 seconds
    Counting.calls.clear()
    meter = Meter(deadline=time.monotonic() + 60, share=0.2)
    box.margins(session, cands, goal_of(1, 200), meter)
    assert Counting.calls[0] == 20 and sum(Counting.calls) == 200


def test_a_frozen_model_trained_on_arrays_gets_arrays():
    model = LogisticRegression().fit(X, BINARY)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    box = wrap(FrozenEstimator(model), table=frame)
    # A frame would make scikit-learn warn, and warnings are errors here.
    np.testing.assert_array_equal(box.predict(frame), model.predict(X))


def test_a_model_trained_on_a_frame_gets_frames():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame, BINARY)
    box = wrap(FrozenEstimator(model), table=frame)
    np.testing.assert_array_equal(box.predict(frame), model.predict(frame))


def test_labels_of_a_model_without_classes():
    box = wrap(OnlyPredict(), y=np.array(["no", "yes", "never"] * 100))
    assert box.classes_.tolist() == ["never", "no", "yes"]


@pytest.mark.parametrize("model", [RandomForestRegressor(5), RandomForestClassifier(5)])
def test_several_outputs_are_refused(model):
    y = np.column_stack([BINARY, 1 - BINARY])
    with pytest.raises(ValueError, match="Multi-output is not supported"):
        wrap(model.fit(X, y), y)
