"""Targets and the closed edges of them."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
from skcf.testing import explainer_checks

SMALL = {"q": 20, "m_init": 5, "max_generations": 3, "random_state": 0}


def test_intervals_of_each_row_in_the_constructor():
    X = np.arange(12.0)[:, None]
    target = np.array([[5.0, 6.0], [9.0, np.inf], [-np.inf, 3.0]])
    explainer = NearestUnlikeExplainer(DecisionTreeRegressor(), target=target)
    explanation = explainer.fit(X, X[:, 0]).explain(X[:3])
    assert explanation.status.tolist() == ["found", "found", "already"]
    assert explanation.prediction.tolist() == [5.0, 9.0]
    assert explanation.target.tolist() == [(5.0, 6.0), (9.0, None), (None, 3.0)]


def test_every_answer_on_a_closed_edge_counts():
    X = np.arange(100.0)[:, None]
    model = KNeighborsRegressor(n_neighbors=1)
    explainer = NearestUnlikeExplainer(model, target=(30.0, 30.0)).fit(X, X[:, 0])
    explanation = explainer.explain(X)
    assert (explanation.status == "found").sum() == 99
    assert set(explanation.prediction) == {30.0}
    assert explanation.status[30] == "already"


def test_the_probability_of_the_threshold_itself_is_enough():
    X = np.arange(60.0)[:, None]
    y = (X[:, 0] + np.random.default_rng(0).normal(0, 9, size=60) > 30).astype(int)
    model = RandomForestClassifier(7, max_depth=2, random_state=0).fit(X, y)
    probability = model.predict_proba(X)[:, 1]
    first = np.argmax(probability > 0.6)
    explainer = NearestUnlikeExplainer(model, target=1, threshold=probability[first])
    explanation = explainer.fit(X, y).explain(X[:first])
    assert (explanation.status == "found").all()
    assert set(explanation.score) == {probability[first]}


@pytest.mark.parametrize("name", ["rows_alone", "answers_are_valid", "two_jobs"])
def test_sums_that_meet_the_edge_are_decided_by_row(name):
    # The target is a prediction that many rows have but for the last bits.
    explainer = GeCoExplainer(LinearRegression(), **SMALL)
    dict(explainer_checks(explainer))[f"check_{name}"]()
