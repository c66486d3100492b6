import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression

from skcf.metrics import validity
from tests._measures.mixed import LIBRARIES, fitted

X = np.arange(10.0).reshape(-1, 1)
THREE = LogisticRegression(C=1e4).fit(X, np.repeat(["a", "b", "c"], [3, 4, 3]))


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_answer_of_an_explainer_is_valid(library):
    explainer, X, _ = fitted(library)
    explanation = explainer.explain(X[:20])
    model = explainer.estimator_
    assert validity(*explanation.pairs(), estimator=model) == 1.0
    target = explanation.target[explanation.status == "found"]
    assert validity(*explanation.pairs(), estimator=model, target=target) == 1.0
    assert validity(X[:20], X[:20], estimator=model) == 0.0


def test_targets_of_a_classifier():
    x, x_cf = [[0.0], [0.0], [9.0], [5.0]], [[5.0], [1.0], [5.0], [9.0]]
    told = [
        validity(x, x_cf, estimator=THREE, target=target, sample_wise=True).tolist()
        for target in ("opposite", "b", ["c", "a", "opposite", "a"])
    ]
    assert told == [
        [True, False, True, True],
        [True, False, True, False],
        [False, True, True, False],
    ]
    with pytest.raises(ValueError, match="'d' is not a class"):
        validity(x, x_cf, estimator=THREE, target="d")
    with pytest.raises(ValueError, match="2 entries for 4 rows"):
        validity(x, x_cf, estimator=THREE, target=["a", "b"])


def test_threshold():
    x_cf = np.linspace(0, 9, 60).reshape(-1, 1)
    x = np.zeros_like(x_cf)
    p = THREE.predict_proba(x_cf)
    top = THREE.predict(x_cf)
    told = validity(
        x, x_cf, estimator=THREE, target="b", threshold=0.8, sample_wise=True
    )
    np.testing.assert_array_equal(told, (top == "b") & (p[:, 1] >= 0.8))
    told = validity(x, x_cf, estimator=THREE, threshold=0.9, sample_wise=True)
    np.testing.assert_array_equal(told, (top != "a") & (1 - p[:, 0] >= 0.9))
    with pytest.raises(ValueError, match="Bare has none"):
        validity(x, x_cf, estimator=Bare(), threshold=0.9)


class Bare(ClassifierMixin, BaseEstimator):
    """A model that has nothing but predict."""

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 5, "high", "low")


def test_a_bare_predict_has_the_labels_it_is_asked_for():
    told = validity([[1.0]], [[2.0]], estimator=Bare(), target="high")
    assert told == 0.0
    assert validity([[1.0]], [[7.0]], estimator=Bare(), target="high") == 1.0


def test_intervals_of_a_regressor():
    line = LinearRegression().fit(X, 2 * X[:, 0])
    x, x_cf = [[0.0]] * 3, [[2.0], [3.0], [4.0]]
    for target, expected in [
        ((5.0, None), [False, True, True]),
        ((None, 4.5), [True, False, False]),
        ([(3.0, 5.0), (0.0, 1.0), (8.5, None)], [True, False, False]),
    ]:
        told = validity(x, x_cf, estimator=line, target=target, sample_wise=True)
        assert told.tolist() == expected
    with pytest.raises(ValueError, match="must be \\(low, high\\)"):
        validity(x, x_cf, estimator=line)
    with pytest.raises(ValueError, match="threshold is for classifiers"):
        validity(x, x_cf, estimator=line, target=(0, 1), threshold=0.5)


def test_a_model_of_arrays_takes_frames():
    frame = pd.DataFrame({"z": [0.0, 5.0]})
    assert validity(frame, frame[::-1], estimator=THREE) == 1.0


def test_without_pairs():
    none = np.empty((0, 1))
    assert np.isnan(validity(none, none, estimator=THREE))
