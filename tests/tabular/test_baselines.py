"""The baselines do what the papers that they come from say, step by step."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf.constraints import fixed, increasing, max_changes
from skcf.tabular import (
    CERTIFAIExplainer,
    DiverseExplainer,
    GeCoExplainer,
    GreedyExplainer,
    NearestUnlikeExplainer,
    SHAPOrderExplainer,
    SimCFExplainer,
)


def table(n=160, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 5)) / 4
    score = X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * X[:, 3]
    return X, (score > np.quantile(score, 0.6)).astype(int)


X, Y = table()
FOREST = RandomForestClassifier(15, max_depth=6, random_state=0).fit(X, Y)
SAID = FOREST.predict(X)
QUERIES = X[SAID == 0][:25]


def fitted(cls, model=FOREST, **params):
    return cls(FrozenEstimator(model), target=1, random_state=0, **params).fit(X, Y)


def gower(x, cf):
    return np.mean(np.abs(cf - x) / np.ptp(X, axis=0), axis=-1)


# -- greedy ------------------------------------------------------------------------


def nearest_unlike(x, right_only):
    ok = (SAID == 1) & ((Y == 1) | (not right_only))
    at = np.flatnonzero(ok)
    return X[at[np.argmin(np.round(gower(x, X[at]), 9))]]


def error(row):
    """Return how far a row is from the plane that has nine tenths of the variance."""
    points = X[np.isin(np.arange(len(X)), np.flatnonzero(SAID == Y))] / np.ptp(
        X, axis=0
    )
    centre = points.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov((points - centre).T))
    share = np.cumsum(values[::-1]) / values.sum()
    axes = vectors[:, ::-1][:, : 1 + np.searchsorted(share, 0.9)]
    left = row / np.ptp(X, axis=0) - centre
    return np.sum((left - axes @ (axes.T @ left)) ** 2)


def nice(x, reward, right_only=True):
    """Return the answer of NICE by a loop."""
    end, now = nearest_unlike(x, right_only), x.copy()
    while FOREST.predict(now[None])[0] == 0:
        steps = []
        p = FOREST.predict_proba(now[None])[0, 1]
        for j in np.flatnonzero(now != end):
            step = now.copy()
            step[j] = end[j]
            gain = FOREST.predict_proba(step[None])[0, 1] - p
            if reward == "proximity":
                gain /= gower(x, step) - gower(x, now) + 1e-6
            if reward == "plausibility":
                gain *= error(now) - error(step)
            steps.append((-round(gain, 9), j, step))
        now = min(steps, key=lambda s: s[:2])[2]
    return now


@pytest.mark.parametrize(
    "reward, justified",
    [
        ("sparsity", True),
        ("proximity", True),
        ("plausibility", True),
        ("sparsity", False),
    ],
)
def test_greedy_steps_are_those_of_nice(reward, justified):
    explainer = fitted(GreedyExplainer, reward=reward, justified=justified)
    told = explainer.explain(QUERIES)
    assert (told.status == "found").all()
    expected = np.array([nice(x, reward, justified) for x in QUERIES])
    np.testing.assert_array_equal(told.counterfactuals, expected)


# -- SimCF -------------------------------------------------------------------------


class FirstAtLeast(ClassifierMixin, BaseEstimator):
    """Predicts 1 where the first column is at least 7, surely."""

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = np.clip(np.asarray(X, dtype=float)[:, 0] / 14, 0, 1)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (np.asarray(X, dtype=float)[:, 0] > 7).astype(int)


def test_a_random_walk_takes_what_helps_and_leaves_the_rest():
    model = FirstAtLeast().fit(X)
    queries = X[X[:, 0] < 5][:20]
    told = fitted(SimCFExplainer, model, n_samples=40).explain(queries)
    assert (told.status == "found").all()
    # Other columns do not help, so that staying is fitter than any change of them.
    assert (told.counterfactuals[:, 1:] == queries[:, 1:]).all()
    assert (told.counterfactuals[:, 0] > 7).all()
    few = fitted(SimCFExplainer, n_samples=1).explain(QUERIES)
    many = fitted(SimCFExplainer, n_samples=30).explain(QUERIES)
    assert (many.status == "found").sum() >= (few.status == "found").sum()


# -- CERTIFAI ----------------------------------------------------------------------


def test_the_first_population_are_training_rows_and_it_only_gets_nearer():
    rules = [increasing(3), fixed(4)]
    unlike = fitted(NearestUnlikeExplainer, constraints=rules).explain(QUERIES)
    known = np.flatnonzero(unlike.status == "found")
    assert len(known) > 5
    queries = QUERIES[known]
    cost = [unlike.cost]
    for n in (0, 5, 60):
        explainer = fitted(CERTIFAIExplainer, constraints=rules, max_generations=n)
        told = explainer.explain(queries)
        assert (told.status == "found").all()
        cost.append(told.cost)
    np.testing.assert_allclose(cost[0], cost[1])
    assert (cost[2] <= cost[1] + 1e-9).all() and (cost[3] <= cost[2] + 1e-9).all()
    assert cost[3].mean() < 0.8 * cost[0].mean()


# -- SHAP --------------------------------------------------------------------------


class LinearChance(ClassifierMixin, BaseEstimator):
    """A probability that is linear in the columns, so that SHAP values are known."""

    weights = np.array([0.03, 0.025, -0.02, 0.01, 0.0])

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        self.start_ = 0.5 - 1.1 * np.mean(np.asarray(X) @ self.weights)
        return self

    def predict_proba(self, X):
        p = self.start_ + np.asarray(X, dtype=float) @ self.weights
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.mark.skipif(not find_spec("shap"), reason="shap is not installed")
def test_features_are_taken_in_the_order_of_their_shap_values():
    model = LinearChance().fit(X)
    said = model.predict(X)
    explainer = fitted(SHAPOrderExplainer, model, n_background=30, n_permutations=2)
    at = np.unique(np.linspace(0, len(X) - 1, 30).astype(int))
    mean = X[at].mean(axis=0)
    queries = X[said == 0][:10]
    state = np.random.get_state()[1].tolist()
    told = explainer.explain(queries)
    assert np.random.get_state()[1].tolist() == state
    assert (told.status == "found").all()
    ok = np.flatnonzero(said == 1)
    for x, cf in zip(queries, told.counterfactuals, strict=True):
        end = X[ok[np.argmin(np.round(gower(x, X[ok]), 9))]]
        expected = x.copy()
        value = np.round(model.weights * (x - mean), 9)
        for j in np.argsort(value, kind="stable"):
            expected[j] = end[j]
            if model.predict(expected[None])[0] == 1:
                break
        assert cf.tolist() == expected.tolist()


def test_the_extra_of_shap_is_named():
    code = (
        "import sys; sys.modules['shap'] = None\n"
        "import numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "from skcf.tabular import SHAPOrderExplainer\n"
        "try:\n"
        "    X = np.arange(8.0)[:, None]\n"
        "    SHAPOrderExplainer(LogisticRegression()).fit(X, X[:, 0] > 3)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "skcf[shap]" in told


# -- diverse sets ------------------------------------------------------------------


def test_sets_are_more_diverse_than_near_answers_and_start_with_the_nearest():
    spread = {}
    for cls, params in (
        (GeCoExplainer, {}),
        (DiverseExplainer, {"diversity_weight": 1.0}),
        (DiverseExplainer, {"diversity_weight": 0.0}),
    ):
        explainer = fitted(cls, **params)
        told = explainer.explain(QUERIES, n_counterfactuals=3)
        assert (np.bincount(told.row) == 3).all()
        first = told.counterfactuals[told.rank == 0]
        assert (first == explainer.transform(QUERIES)).all()
        sets = told.counterfactuals.reshape(len(QUERIES), 3, -1)
        pairs = [gower(sets[:, i], sets[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
        spread[cls, *params.values()] = np.mean(pairs)
        cost = told.cost.reshape(-1, 3)
        assert (cost[:, 0] <= cost.min(axis=1) + 1e-9).all()
    assert spread[DiverseExplainer, 1.0] > 1.3 * spread[GeCoExplainer,]
    assert spread[DiverseExplainer, 1.0] > 1.3 * spread[DiverseExplainer, 0.0]


# -- all of them -------------------------------------------------------------------


@pytest.mark.parametrize(
    "cls", [CERTIFAIExplainer, DiverseExplainer, GreedyExplainer, SimCFExplainer]
)
def test_rules_that_couple_columns(cls):
    rules = [increasing(0), "cf[1] > x[1] => cf[2] <= x[2] - 1", max_changes(3)]
    explainer = fitted(cls, constraints=rules)
    told = explainer.explain(QUERIES, n_counterfactuals=2)
    assert (told.status == "found").sum() >= 10
    cf, x = told.counterfactuals, QUERIES[told.row]
    assert (cf[:, 0] >= x[:, 0]).all()
    assert ((cf[:, 1] <= x[:, 1]) | (cf[:, 2] <= x[:, 2] - 1 + 1e-9)).all()
    assert ((cf != x).sum(axis=1) <= 3).all()
    assert (FOREST.predict(cf) == 1).all()
