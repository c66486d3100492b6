import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skcf.timeseries import NearestUnlikeSeriesExplainer, PrototypeExplainer
from tests._series.small import series


def fitted(model, X, **params):
    return NearestUnlikeSeriesExplainer(FrozenEstimator(model), **params).fit(X)


def test_the_nearest_training_series_by_hand():
    X, y = series(0, n=40)
    model = LogisticRegression().fit(X, y)
    explanation = fitted(model, X, bisect=False).explain(X[:10], n_counterfactuals=2)
    now = model.predict(X)
    for i in range(10):
        others = np.flatnonzero(now != now[i])
        square = ((X[others] - X[i]) ** 2).sum(axis=1)
        expected = others[np.argsort(square)[:2]]
        at = explanation.row == i
        assert explanation.details.train_position[at].tolist() == expected.tolist()
        np.testing.assert_array_equal(explanation.counterfactuals[at], X[expected])
        np.testing.assert_allclose(explanation.cost[at], np.sort(square)[:2])


def test_the_line_is_halved_down_to_the_boundary():
    X, y = series(1, n=40)
    model = LogisticRegression().fit(X, y)
    explanation = fitted(model, X).explain(X[:10])
    decision = model.decision_function(X)
    z = decision[explanation.details.train_position]
    # Where a linear score is zero on the line.
    expected = decision[:10] / (decision[:10] - z)
    np.testing.assert_allclose(explanation.details.weight, expected, atol=2e-6)
    assert explanation.details.n_calls <= 26


def test_prototypes_are_never_farther():
    X, y = series(2, n=60, n_times=8)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, y)
    near = fitted(model, X).explain(X[:20])
    mixtures = PrototypeExplainer(FrozenEstimator(model)).fit(X).explain(X[:20])
    assert (mixtures.cost <= near.cost * (1 + 1e-9)).all()


def test_the_threshold_is_that_of_training_series_too():
    X, y = series(3, n=60)
    model = LogisticRegression().fit(X, y)
    explanation = fitted(model, X, threshold=0.8).explain(X[:20])
    assert (explanation.score >= 0.8).all()
    sure = fitted(model, X, threshold=1.0).explain(X[:5])
    assert (sure.status == "not_found").all()


def test_nearest_by_dtw():
    metrics = pytest.importorskip("tslearn.metrics")
    X, y = series(4, n=30, n_times=8)
    model = LogisticRegression().fit(X, y)
    explanation = fitted(model, X, metric="dtw", window=2, bisect=False).explain(X[:5])
    now = model.predict(X)
    for i, at in enumerate(explanation.details.train_position):
        others = np.flatnonzero(now != now[i])
        told = [
            metrics.dtw(
                X[i], X[j], global_constraint="sakoe_chiba", sakoe_chiba_radius=2
            )
            for j in others
        ]
        assert at == others[np.argmin(told)]
        assert explanation.cost[i] == pytest.approx(min(told) ** 2)
