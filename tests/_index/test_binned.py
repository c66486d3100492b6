"""Neighbours in the target, over bins of the columns that may change."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skcf._model import Goal
from skcf.constraints import fixed
from skcf.tabular import MACEExplainer


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.integers(0, 100, n),
            rng.exponential(5, n).round(1),
            rng.integers(0, 3, n),
            rng.integers(0, 5, n),
        ]
    )
    return X, (X[:, 0] + 10 * X[:, 2] > 60).astype(int)


X, Y = table()


def fitted(model, y=Y, X=X, **params):
    return MACEExplainer(
        model, categorical_features=[2, 3], n_bins=4, random_state=0, **params
    ).fit(X, y)


def bins(column):
    """Return quartile bins by counting, of a column of training."""
    edges = np.unique(np.quantile(column, [0.25, 0.5, 0.75], method="inverted_cdf"))
    return lambda v: np.sum(v > edges), len(edges)


def distance(a, b, X, columns):
    total = 0.0
    for j in columns:
        if j in (2, 3):
            total += a[j] != b[j]
        else:
            of, n = bins(X[:, j])
            total += ((of(a[j]) - of(b[j])) / n) ** 2
    return total


@pytest.mark.parametrize("fixed_column", [None, 3])
def test_neighbours_are_those_of_a_loop(fixed_column):
    rules = () if fixed_column is None else fixed(fixed_column)
    explainer = fitted(DecisionTreeClassifier(random_state=0), constraints=rules)
    columns = [j for j in range(4) if j != fixed_column]
    queries = X[:10]
    said = explainer.estimator_.predict(X)
    goal = Goal(label=1 - said[:10], opposite=np.zeros(10, dtype=bool))
    who, at = explainer._binned.neighbours(queries, goal, 5)
    codes = explainer._training.codes
    for q in range(10):
        gaps, seen = [], set()
        for i, row in enumerate(X):
            gap = round(distance(queries[q], row, X, columns), 4)
            key = tuple(
                row[j] if j in (2, 3) else bins(X[:, j])[0](row[j]) for j in columns
            )
            if said[i] != said[q] and gap > 0 and key not in seen:
                seen.add(key)
                gaps.append(gap)
        mine = codes[at[who == q]]
        assert len(mine) == min(5, len(gaps))
        got = [round(distance(queries[q], row, X, columns), 4) for row in mine]
        assert np.allclose(sorted(got), sorted(gaps)[: len(got)], atol=1e-3)
        assert (explainer.estimator_.predict(mine) != said[q]).all()


def test_targets_that_are_no_classes():
    score = X[:, 0] + 10 * X[:, 2]
    explainer = fitted(DecisionTreeRegressor(max_depth=6), score, target=(70, 90))
    goal = Goal(low=np.full(6, 70.0), high=np.full(6, 90.0))
    who, at = explainer._binned.neighbours(X[:6], goal, 4)
    said = explainer.estimator_.predict(explainer._training.codes[at])
    assert ((said >= 70) & (said <= 90)).all()
    assert np.bincount(who).tolist() == [4] * 6
    explainer = fitted(LogisticRegression(max_iter=500), target=1, threshold=0.9)
    goal = Goal(label=np.ones(6, dtype=int), opposite=np.zeros(6, dtype=bool), nu=0.9)
    who, at = explainer._binned.neighbours(X[:6], goal, 4)
    p = explainer.estimator_.predict_proba(explainer._training.codes[at])[:, 1]
    assert (p >= 0.9).all() and np.bincount(who).tolist() == [4] * 6


def test_a_class_among_several_and_all_but_one():
    y = np.digitize(X[:, 0], [30, 60])
    explainer = fitted(DecisionTreeClassifier(random_state=0), y)
    said = explainer.estimator_.predict(explainer._training.codes)
    label = np.array([0, 1, 2, 0, 1, 2])
    opposite = np.array([False] * 3 + [True] * 3)
    who, at = explainer._binned.neighbours(X[:6], Goal(label, opposite), 8)
    for q in range(6):
        mine = said[at[who == q]]
        assert len(mine) == 8
        assert ((mine == label[q]) != opposite[q]).all()
