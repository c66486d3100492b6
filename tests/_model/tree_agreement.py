"""Trees that were read against their estimators."""

import pickle

import numpy as np
import pytest

from skcf._model._read_trees import read_trees

N = 300


def make_data(task, *, missing=False, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, 6))
    X[:, 1] = np.round(X[:, 1] * 4)
    X[:, 2] = random.integers(0, 5, N)
    score = X[:, 0] + X[:, 1] / 4 * np.where(X[:, 2] > 2, 1, -1) + X[:, 3] ** 2
    score += random.normal(size=N) / 4
    if missing:
        X[random.random(X.shape) < 0.15] = np.nan
    if task == "regression":
        return X, score
    n_classes = {"binary": 2, "multiclass": 3}[task]
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.array(["no", "yes", "so"])[np.searchsorted(cuts, score)]


def at_thresholds(trees, X, n=60):
    """Return rows on thresholds and next to them, in both precisions."""
    nodes = np.flatnonzero((trees.feature >= 0) & (trees.category < 0))
    nodes = nodes[np.isfinite(trees.threshold[nodes])]
    nodes = np.random.default_rng(1).permutation(nodes)[:n]
    rows = []
    for k, node in enumerate(nodes):
        at = trees.threshold[node]
        single = np.float32(at)
        steps = [np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf)]
        steps += [np.nextafter(steps[1], np.float32(np.inf))]
        steps += [np.nextafter(at, -np.inf), at, np.nextafter(at, np.inf), single]
        for value in steps:
            row = X[k % len(X)].copy()
            row[trees.feature[node]] = value
            rows.append(row)
    return np.array(rows).reshape(-1, X.shape[1])


def check(estimator, X, *, atol=1e-12, thresholds=True):
    trees = read_trees(estimator)
    output = getattr(estimator, trees.method)
    rows = trees.encode(X)
    truth = output(X)
    scores = trees.scores(rows)
    assert scores.shape == truth.shape
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, truth, rtol=0, atol=atol)
    np.testing.assert_allclose(trees._scores_numpy(rows), scores, rtol=0, atol=1e-12)
    if thresholds and (trees.feature >= 0).any():
        Z = at_thresholds(trees, X)
        np.testing.assert_allclose(trees.scores(Z), output(Z), rtol=0, atol=atol)
        np.testing.assert_allclose(
            trees._scores_numpy(Z), trees.scores(Z), rtol=0, atol=1e-12
        )
    again = pickle.loads(pickle.dumps(trees))
    np.testing.assert_array_equal(again.scores(rows), scores)
    return trees


def categorical_frame():
    pd = pytest.importorskip("pandas")
    X, y = make_data("binary", missing=True)
    random = np.random.default_rng(3)
    town = random.choice(list("abcdefgh"), N)
    y = np.where(np.isin(town, list("bdg")), "yes", y)
    frame = pd.DataFrame(
        {
            "x": X[:, 0],
            "town": pd.Categorical(town, categories=list("hgfedcba")),
            "n": random.integers(0, 9, N),
            "size": pd.Categorical(
                random.choice([10, 20, 30], N), categories=[20, 10, 30], ordered=True
            ),
            "z": X[:, 3],
        }
    )
    frame.loc[::9, "town"] = None
    return frame, (y == "yes").astype(int)


def check_categorical_frame(model, atol):
    pd = pytest.importorskip("pandas")
    frame, y = categorical_frame()
    trees = check(model.fit(frame, y), frame, atol=atol, thresholds=False)
    assert (trees.category >= 0).any()
    other = frame.iloc[::-3].copy()
    # The same levels in another order are the same categories.
    other["town"] = pd.Categorical(other["town"], categories=list("abcdefgh"))
    truth = model.predict_proba(other)
    np.testing.assert_allclose(trees.scores(trees.encode(other)), truth, atol=atol)
