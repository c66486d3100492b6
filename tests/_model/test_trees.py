"""Kernels over flat trees: candidates as changed cells give what whole rows give."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

from skcf._model import _tree_tables
from skcf._model._read_trees import read_trees
from skcf._model._trees import Tree, join_trees, joined_splits

N_COLUMNS = 9


@pytest.fixture(autouse=True)
def one_thread():
    """Keep threads of OpenMP from waiting for each other on a busy machine."""
    with threadpool_limits(1):
        yield


def random_tree(random, n_inner, n_values):
    """Return a tree of random tests; columns 6 to 8 hold codes of categories."""
    n = 2 * n_inner + 1
    feature, left, right = (np.full(n, -1) for _ in range(3))
    leaves, free = [0], 1
    for _ in range(n_inner):
        node = leaves.pop(random.integers(len(leaves)))
        feature[node] = random.integers(N_COLUMNS - 1)
        left[node], right[node] = free, free + 1
        leaves += [free, free + 1]
        free += 2
    sets = [
        (node, random.random(random.integers(1, 140)) < 0.5, random.random() < 0.5)
        for node in np.flatnonzero(feature >= 6)
    ]
    return Tree(
        feature,
        np.round(random.normal(size=n), 1),
        left,
        right,
        random.random(n) < 0.5,
        random.normal(size=(n, n_values)),
        sets,
    )


def random_trees(seed, n_trees=12):
    """Return trees of all kinds; nothing tests the last column."""
    random = np.random.default_rng(seed)
    n_values, n_scores = [(1, 1), (1, 3), (2, 2), (3, 3)][seed % 4]
    sizes = random.integers(0, 24, n_trees)
    return join_trees(
        [random_tree(random, size, n_values) for size in sizes],
        slot=random.integers(0, n_scores - n_values + 1, n_trees),
        base=random.normal(size=n_scores),
        link="identity",
        method="predict_proba",
        n_features=N_COLUMNS,
        precision=["float32", "float64"][seed % 2],
    )


def random_cells(random, columns):
    """Return a cell for each column: on a grid with the thresholds, or missing."""
    cells = np.round(random.normal(size=len(columns)), 1)
    cells = np.where(columns >= 6, random.integers(-2, 150, len(columns)), cells)
    return np.where(random.random(len(columns)) < 0.1, np.nan, cells)


def random_rows(random, n):
    columns = np.tile(np.arange(N_COLUMNS), n)
    return random_cells(random, columns).reshape(n, N_COLUMNS)


def random_candidates(random, n_rows, n):
    """Return candidates with up to four changed cells each, in any order of rows."""
    count = random.integers(0, 5, n)
    ptr = np.concatenate([[0], np.cumsum(count)])
    order = np.argsort(random.random((n, N_COLUMNS)), axis=1)
    col = np.concatenate([row[:k] for row, k in zip(order, count, strict=True)])
    return random.integers(0, n_rows, n), ptr, col, random_cells(random, col)


def whole_rows(X, row, ptr, col, val):
    out = X[row]
    out[np.repeat(np.arange(len(row)), np.diff(ptr)), col] = val
    return out


@pytest.mark.parametrize("seed", range(12))
def test_candidates_of_random_trees(seed):
    trees, random = random_trees(seed), np.random.default_rng(seed)
    X = random_rows(random, 20)
    candidates = random_candidates(random, len(X), 1500)
    scores = trees.open(X).scores(*candidates)
    rows = whole_rows(X, *candidates)
    np.testing.assert_allclose(scores, trees.scores(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores, trees._scores_numpy(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [2, 6])
def test_shares_of_two_classes_are_added_up_once(seed):
    random = np.random.default_rng(seed)
    share = random.random(random_trees(seed).value[:, :1].shape)
    value = np.hstack([share, 1.0 - share])
    trees = replace(random_trees(seed), value=value, slot=np.zeros(12, np.int32))
    uneven = replace(trees, value=np.hstack([share, 1.1 - value[:, 1:]]))
    assert trees.tables.total == pytest.approx(12 + trees.base.sum())
    assert uneven.tables.total is None
    X = random_rows(random, 20)
    candidates = random_candidates(random, len(X), 500)
    rows = whole_rows(X, *candidates)
    for some in (trees, uneven):
        scores = some.open(X).scores(*candidates)
        np.testing.assert_allclose(scores, some._scores_numpy(rows), rtol=0, atol=1e-12)
        np.testing.assert_allclose(some.scores(rows), scores, rtol=0, atol=1e-12)


def fitted(model):
    random = np.random.default_rng(0)
    X = random_rows(random, 400)
    y = np.nan_to_num(X[:, 0] + X[:, 3] * X[:, 1]) + (np.nan_to_num(X[:, 6]) % 3)
    if not isinstance(model, AdaBoostRegressor):
        y = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    if not isinstance(model, (RandomForestClassifier, HistGradientBoostingClassifier)):
        X = np.nan_to_num(X)
    return model.fit(X, y), X


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, max_depth=8, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, categorical_features=[6, 7]),
        AdaBoostClassifier(n_estimators=10, random_state=0),
        AdaBoostRegressor(n_estimators=15, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_candidates_of_a_model(model):
    model, X = fitted(model)
    trees = read_trees(model)
    X = trees.encode(X[:30])
    random = np.random.default_rng(1)
    candidates = random_candidates(random, len(X), 3000)
    val = candidates[-1]
    if not isinstance(model, (RandomForestClassifier, HistGradientBoostingClassifier)):
        val[np.isnan(val)] = 0.0
    scores = trees.open(X).scores(*candidates)
    rows = whole_rows(X, *candidates)
    np.testing.assert_allclose(scores, trees.scores(rows), rtol=0, atol=1e-12)
    if not isinstance(model, HistGradientBoostingClassifier):
        truth = getattr(model, trees.method)(rows)
        np.testing.assert_allclose(scores, truth, rtol=0, atol=1e-12)


def test_more_columns_than_bits():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 150)).astype(np.float32)
    y = X[:, ::10].sum(axis=1) > 0
    trees = read_trees(RandomForestClassifier(20, random_state=0).fit(X, y))
    assert len(trees.tables.columns) > 64
    n, n_cells = 600, 12
    ptr = np.arange(n + 1) * n_cells
    col = np.argsort(random.random((n, 150)), axis=1)[:, :n_cells].ravel()
    candidates = random.integers(0, 40, n), ptr, col, random.normal(size=len(col))
    scores = trees.open(X[:40]).scores(*candidates)
    rows = whole_rows(X[:40].astype(float), *candidates)
    np.testing.assert_allclose(scores, trees._scores_numpy(rows), rtol=0, atol=1e-12)


def test_nothing_changed():
    trees, X = random_trees(0), random_rows(np.random.default_rng(0), 5)
    session = trees.open(X)
    none = np.empty(0, dtype=int), np.empty(0)
    unchanged = session.scores(np.arange(5), np.zeros(6, dtype=int), *none)
    np.testing.assert_array_equal(unchanged, trees.scores(X))
    # A cell that no tree tests, and cells set to what they are.
    col = np.full(5, N_COLUMNS - 1)
    scores = session.scores(np.arange(5), np.arange(6), col, np.ones(5))
    np.testing.assert_array_equal(scores, unchanged)
    row, col = np.indices(X.shape)
    ptr = np.arange(6) * N_COLUMNS
    scores = session.scores(np.arange(5), ptr, col.ravel(), X.ravel())
    np.testing.assert_array_equal(scores, unchanged)


def test_no_candidates_and_no_rows():
    trees = random_trees(1)
    X = random_rows(np.random.default_rng(0), 3)
    empty = np.empty(0, dtype=int), np.zeros(1, dtype=int), np.empty(0, dtype=int)
    for rows in (X, X[:0]):
        assert trees.open(rows).scores(*empty, np.empty(0)).shape == (0, 3)
    assert trees.scores(X[:0]).shape == (0, 3)


def test_order_of_candidates_changes_nothing():
    trees, random = random_trees(3), np.random.default_rng(3)
    session = trees.open(random_rows(random, 10))
    row, ptr, col, val = random_candidates(random, 10, 300)
    scores = session.scores(row, ptr, col, val)
    for i in random.permutation(300):
        cells = slice(ptr[i], ptr[i + 1])
        one = session.scores(row[[i]], ptr[i : i + 2] - ptr[i], col[cells], val[cells])
        np.testing.assert_array_equal(one[0], scores[i])


def test_threads_share_a_session():
    trees, random = random_trees(2), np.random.default_rng(2)
    session = trees.open(random_rows(random, 10))
    candidates = random_candidates(random, 10, 4000)
    scores = session.scores(*candidates)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: session.scores(*candidates), range(8)):
            np.testing.assert_array_equal(other, scores)


@pytest.mark.parametrize("largest", [0, 2**24])
def test_cells_are_rounded_as_the_model_rounds(largest, monkeypatch):
    # Too many sets of categories for their positions to be float32 numbers.
    monkeypatch.setattr(_tree_tables, "LARGEST_WHOLE", largest)
    tree = Tree(
        np.array([0, -1, -1]),
        np.array([np.float32(0.1), 0, 0]),
        np.array([1, 0, 0]),
        np.array([2, 0, 0]),
        np.zeros(3, dtype=bool),
        np.array([[0.0], [1.0], [2.0]]),
    )
    for precision, side in (("float32", 1.0), ("float64", 2.0)):
        trees = join_trees(
            [tree],
            base=[0.0],
            link="identity",
            method="predict",
            n_features=1,
            precision=precision,
        )
        near = float(np.float32(0.1)) + 1e-10
        assert trees.scores([[near]]) == trees._scores_numpy([[near]]) == side
        far = trees.open([[5.0]]).scores([0], [0, 1], [0], [near])
        assert far == side
    assert trees.scores([[1e300]]) == 2.0
    assert np.isinf(read_trees(fitted(AdaBoostRegressor())[0]).cast([1e300])).all()


def test_splits_of_several_ensembles():
    one, two = random_trees(0), random_trees(1)
    splits = joined_splits([one, two])
    for j, told in enumerate(splits):
        mine = [t.threshold[t.feature == j] for t in (one, two)]
        if j in (6, 7):
            assert told is None
        else:
            np.testing.assert_array_equal(told, np.unique(np.concatenate(mine)))
    assert joined_splits([one, replace(two, missing=0.0)]) is None
    assert joined_splits([one, object()]) is None
