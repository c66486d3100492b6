import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SGDClassifier,
)

from skcf._mip._goal_rows import ALL, EDGE, goal_rows
from skcf.group import OneForAllExplainer
from skcf.tabular import OptimalExplainer
from tests._mip.boxes import accepting, brute, class_goal, fitted, number_goal
from tests._mip.test_linear import labels, table


def optimal(model, X, **params):
    return OptimalExplainer(FrozenEstimator(model), **params).fit(X)


def test_a_point_on_the_closed_edge_of_an_interval_is_found():
    X = np.arange(8.0)[:, None]
    model = LinearRegression().fit(X, 2.0 * X[:, 0])
    model.coef_, model.intercept_ = np.array([2.0]), 0.0
    # Of all predictions 0, 2, 4, ... these edges are in, and nothing else is.
    for interval, at in (((10.0, 11.0), 5.0), ((5.0, 6.0), 3.0), ((8.0, 8.0), 4.0)):
        said = optimal(model, X, target=interval).explain([[0.0], [7.0]])
        assert said.status.tolist() == ["found", "found"] and said.optimal.all()
        assert (said.counterfactuals == at).all()
    said = optimal(model, X, target=(10.5, 11.5)).explain([[0.0]])
    assert said.status.tolist() == ["infeasible"]


def test_a_probability_equal_to_the_threshold_is_found():
    X = np.arange(9.0)[:, None]
    model = LogisticRegression().fit(X, X[:, 0] > 4)
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([-4.0])
    edge = float(model.predict_proba([[6.0]])[0, 1])
    said = optimal(model, X, threshold=edge).explain([[1.0]])
    assert said.counterfactuals[0, 0] == 6.0 and said.optimal.all()


@pytest.mark.parametrize("seed", range(4))
def test_a_logarithmic_link_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = PoissonRegressor().fit(X, np.exp(0.4 * X @ rng.normal(size=5)))
    told = model.predict(X)
    low, high = np.quantile(told, [0.7, 0.8])
    explainer = fitted(model, X, categorical=[3, 4])
    x = X[int(told.argmin())]
    goal = number_goal(low, [high, np.inf][seed % 2])
    truth = brute(explainer, x, accepting(explainer, goal))
    proved = optimal(
        model, X, target=(low, goal.high[0]), categorical_features=[3, 4]
    ).explain(x[None])
    np.testing.assert_allclose(proved.cost, truth, atol=1e-9)
    assert proved.optimal.all()


def test_predictions_are_above_zero_behind_a_logarithm():
    X = np.arange(8.0)[:, None]
    model = PoissonRegressor().fit(X, np.exp(0.3 * X[:, 0]))
    said = optimal(model, X, target=(None, -1.0)).explain([[3.0]])
    assert said.status.tolist() == ["infeasible"]
    low = float(model.predict([[1.0]])[0])
    said = optimal(model, X, target=(-5.0, low)).explain([[3.0]])
    assert said.counterfactuals[0, 0] == 1.0 and said.optimal.all()


@pytest.mark.parametrize("seed", range(4))
def test_clipped_probabilities_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = SGDClassifier(loss="modified_huber", random_state=seed)
    model.fit(X, labels(rng, X, 2))
    explainer = fitted(model, X, categorical=[3, 4])
    x = X[seed]
    old = int(model.predict(x[None])[0])
    goal = class_goal(None, label=1 - old, nu=[None, 0.75, 1.0, 0.6][seed])
    truth = brute(explainer, x, accepting(explainer, goal))
    proved = optimal(model, X, threshold=goal.nu, categorical_features=[3, 4]).explain(
        x[None]
    )
    np.testing.assert_allclose(proved.cost, truth, atol=1e-9)
    assert proved.optimal.all()


def test_only_the_first_rows_leave_nothing_out():
    X = np.arange(8.0)[:, None]
    explainer = fitted(LinearRegression().fit(X, X[:, 0]), X)
    goal = number_goal(2.0, 5.0)
    every, edge, inside = (
        goal_rows(explainer._model, goal, margin)[0].least for margin in (ALL, EDGE, 1)
    )
    assert (every < [2.0, -5.0]).all() and (edge > [2.0, -5.0]).all()
    assert (inside > edge).all()


def test_thresholds_that_are_no_linear_rows_are_refused_in_fit():
    rng = np.random.default_rng(0)
    X = table(rng)
    y = labels(rng, X, 3)
    model = LogisticRegression(max_iter=500).fit(X, y)
    for kind in (OptimalExplainer, OneForAllExplainer):
        more = {} if kind is OptimalExplainer else {"location": "any"}
        explainer = kind(FrozenEstimator(model), threshold=0.6, **more)
        with pytest.raises(ValueError, match="name the class to reach"):
            explainer.fit(X)
        explainer.set_params(target=1).fit(X)
    with pytest.raises(ValueError, match="name the class to reach"):
        optimal(model, X, threshold=0.6, target=1).explain(X[:2], target="opposite")
    shares = SGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="shares of the sum over 3 classes"):
        optimal(shares, X, threshold=0.6, target=1)
    assert optimal(shares, X, target=1).explain(X[:5]).optimal.all()
