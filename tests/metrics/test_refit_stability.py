"""Tests of whether answers outlive another fit of the model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from skcf.metrics import refit_stability

X = np.arange(40.0).reshape(-1, 1)
Y = np.repeat(["low", "high"], 20)


class Median(ClassifierMixin, BaseEstimator):
    """Predicts "high" above the median of the rows that it was fitted to."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.cut_ = np.median(np.asarray(X))
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > self.cut_, "high", "low")


def test_far_answers_outlive_near_ones():
    x, x_cf = np.zeros((3, 1)), np.array([[19.6], [22.0], [39.0]])
    told = refit_stability(
        x,
        x_cf,
        estimator=Median(),
        reference=X,
        y=Y,
        n_repeats=60,
        random_state=0,
        sample_wise=True,
    )
    assert 0.2 < told[0] < 0.8 and told[0] < told[1] <= told[2] == 1.0
    mean = refit_stability(
        x, x_cf, estimator=Median(), reference=X, y=Y, n_repeats=60, random_state=0
    )
    assert mean == told.mean()


@pytest.mark.parametrize("module", [pd, pl])
def test_frames_and_targets(module):
    frame = module.DataFrame({"size": X[:, 0]})
    model = DecisionTreeClassifier(random_state=0)
    options = {"estimator": model, "reference": frame, "y": Y, "random_state": 0}
    low, high = frame[:10], frame[30:]
    assert refit_stability(low, high, **options) == 1.0
    assert refit_stability(low, high, target="low", **options) == 0.0
    told = refit_stability(low, high, target=["low", "high"] * 5, **options)
    assert told == 0.5
    assert refit_stability(low, high, threshold=1.0, **options) == 1.0
    assert not hasattr(model, "tree_")


def test_regressor():
    rng = np.random.default_rng(0)
    y = X[:, 0] + rng.normal(size=40)
    x_cf = np.array([[30.0], [20.0], [10.0]])
    told = refit_stability(
        X[:3],
        x_cf,
        estimator=LinearRegression(),
        reference=X,
        y=y,
        target=(20.0, None),
        random_state=0,
        sample_wise=True,
    )
    assert told[0] == 1 and 0 < told[1] < 1 and told[2] == 0


def test_what_does_not_fit():
    frozen = FrozenEstimator(Median().fit(X, Y))
    options = {"reference": X, "y": Y}
    with pytest.raises(TypeError, match="pass the model inside"):
        refit_stability(X, X, estimator=frozen, **options)
    with pytest.raises(ValueError, match="n_repeats"):
        refit_stability(X, X, estimator=Median(), n_repeats=0, **options)
    assert np.isnan(refit_stability(X[:0], X[:0], estimator=Median(), **options))
