"""Policies over edits: their gradients, their draws, and what they are told of."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skcf._search import Policy
from skcf._search._policy import gradients
from skcf.constraints import fixed
from skcf.tabular import MACEExplainer

THETA = np.log([3.0, 1.0, 1.0 / 3.0])
Q = np.log([[2.0, 1.0], [1.0, 1.0], [1.0, 2.0]])


def actions():
    """Return all actions of three groups with two values each."""
    chosen = np.array(list(product([0, 1], repeat=3)), dtype=bool)
    which = np.array(list(product([0, 1], repeat=3)))
    return np.repeat(chosen, 8, axis=0), np.tile(which, (8, 1))


def probability(theta, q, chosen, which):
    p = expit(theta)
    values = np.exp(q) / np.exp(q).sum(axis=1, keepdims=True)
    picked = values[np.arange(3), which]
    return np.where(chosen, p, 1 - p).prod(axis=1) * picked.prod(axis=1)


def reward_of(chosen, which):
    """Return a reward that only hangs on the values of changed groups."""
    table = np.random.default_rng(0).uniform(size=(3, 3, 3))
    a, b, c = np.where(chosen, which + 1, 0).T
    return table[a, b, c]


def loss(theta, q, lambda1, lambda2):
    chosen, which = actions()
    p = expit(theta)
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p))
    expected = (probability(theta, q, chosen, which) * reward_of(chosen, which)).sum()
    return -expected + lambda1 * p.mean() - lambda2 * entropy.mean()


@pytest.mark.parametrize("lambda1, lambda2", [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)])
def test_gradients_are_those_of_the_expected_loss(lambda1, lambda2):
    chosen, which = actions()
    share = probability(THETA, Q, chosen, which)
    # Each action as often as it is likely: the mean of the batch is the expectation.
    times = np.rint(share * 576).astype(int)
    assert np.allclose(times / 576, share)
    chosen, which = np.repeat(chosen, times, axis=0), np.repeat(which, times, axis=0)
    values = np.exp(Q) / np.exp(Q).sum(axis=1, keepdims=True)
    policy = Policy(expit(THETA)[None], values[None])
    reward = reward_of(chosen, which)
    got = gradients(
        THETA[None],
        Q[None],
        policy,
        chosen[None],
        which[None],
        reward[None],
        lambda1,
        lambda2,
    )
    step = 1e-6
    for j in range(3):
        up, down = THETA.copy(), THETA.copy()
        up[j] += step
        down[j] -= step
        slope = loss(up, Q, lambda1, lambda2) - loss(down, Q, lambda1, lambda2)
        assert got[0][0, j] == pytest.approx(slope / (2 * step), abs=1e-6)
        for k in range(2):
            up, down = Q.copy(), Q.copy()
            up[j, k] += step
            down[j, k] -= step
            slope = loss(THETA, up, 2, 2) - loss(THETA, down, 2, 2)
            assert got[1][0, j, k] == pytest.approx(slope / (2 * step), abs=1e-6)


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 30, (200, 4)), columns=list("abcd"))
    X["job"] = rng.choice(["cook", "nurse", "pilot"], 200)
    score = 2 * X["a"] + 0.2 * X["b"]
    return X, (score > score.median()).astype(int)


def fitted(patients, **params):
    X, y = patients
    model = LogisticRegression(max_iter=1000)
    columns = X.assign(job=X["job"].map({"cook": 0, "nurse": 1, "pilot": 2}))
    explainer = MACEExplainer(
        model, target=1, random_state=0, categorical_features=["job"], **params
    )
    return explainer.fit(columns, y), columns


@pytest.mark.parametrize("optimizer", ["rl", "gld"])
def test_the_policy_prefers_what_matters_and_is_told_in_full(patients, optimizer):
    explainer, X = fitted(patients, optimizer=optimizer, constraints=fixed("c"))
    queries = X[explainer.estimator_.predict(X) == 0].head(20)
    told = explainer.explain(queries)
    first = []
    for lines in told.details.policy:
        assert {line["feature"] for line in lines} == {"a", "b", "d", "job"}
        chance = [line["probability"] for line in lines]
        assert chance == sorted(chance, reverse=True)
        assert 0 <= min(chance) and max(chance) <= 1
        for line in lines:
            weights = line["value_probabilities"]
            assert len(line["values"]) == len(weights) <= 3
            assert weights == sorted(weights, reverse=True)
            assert sum(weights) == pytest.approx(1.0)
            assert set(line["values"]) <= set(X[line["feature"]].tolist())
        first.append(lines[0]["feature"])
    # The first column decides nearly alone.
    assert first.count("a") >= 15


def test_rows_that_need_nothing_have_no_policy(patients):
    explainer, X = fitted(patients)
    inside = X[explainer.estimator_.predict(X) == 1].head(3)
    assert explainer.explain(inside).details.policy.tolist() == [None] * 3
    one = X[explainer.estimator_.predict(X) == 0].head(1)
    told = explainer.explain(pd.concat([inside, one])).details.policy
    assert [lines is None for lines in told] == [True] * 3 + [False]


@pytest.mark.parametrize("optimizer", ["rl", "gld"])
def test_policies_hang_on_the_row_alone(patients, optimizer):
    explainer, X = fitted(patients, optimizer=optimizer)
    queries = X[explainer.estimator_.predict(X) == 0].head(5)
    together = explainer.explain(queries).details.policy
    for i in range(5):
        alone = explainer.explain(queries.iloc[[i]]).details.policy[0]
        assert alone == together[i]
