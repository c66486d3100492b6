import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._series import _kernels as kernels
from skcf._series._gauge import cost_rows
from tests._series.small import forest, goal, interval, task, wrapped

SEEDS = st.integers(0, 10_000)


def numpy_margins(told, X):
    """Return the margins of series: the twin of the compiled walk."""
    root, feature, threshold, _, left, right, value, offset, several, single = told
    X = X.astype(np.float32).astype(float) if single else X
    sums = np.tile(offset, (len(X), 1))
    for start in root:
        node = np.full(len(X), start)
        while (inner := feature[node] >= 0).any():
            at = node[inner]
            goes = X[inner, feature[at]] <= threshold[at]
            node[inner] = np.where(goes, left[at], right[at])
        sums += value[:, node].T
    return sums.max(axis=1) if several else sums.min(axis=1)


def test_margins_are_those_of_the_model():
    X, model = forest(0, n_trees=30, max_depth=4)
    box, _, reader = wrapped(model, X)
    told = reader.forest(box, goal(1))
    margins = kernels.margins_at(told, X)
    np.testing.assert_allclose(margins, model.predict_proba(X)[:, 1] - 0.5, atol=1e-12)
    np.testing.assert_allclose(margins, numpy_margins(told, X), atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_boxes_bound_the_margins_inside(seed):
    X, model = forest(seed % 7, n_trees=9, max_depth=3)
    box, _, reader = wrapped(model, X)
    told = reader.forest(box, goal(seed % 2))
    random = np.random.default_rng(seed)
    ends = np.sort(random.normal(size=(2, 4)), axis=0)
    best, stack = np.empty(len(told[7])), np.empty(256, dtype=np.int32)
    bound = kernels.bound_box(told, *ends, best, stack)
    inside = ends[0] + random.random((200, 4)) * (ends[1] - ends[0])
    margins = kernels.margins_at(told, inside)
    assert margins.max() <= bound + 1e-12
    pruned = kernels.prune_forest(told, *ends)
    np.testing.assert_allclose(kernels.margins_at(pruned, inside), margins, atol=1e-12)
    assert len(pruned[1]) <= len(told[1])


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_a_line_is_swept_to_its_first_hit(seed):
    case = task(seed % 50, n_trees=9, max_depth=3)
    mu, cost = case.gauge.lines(case.quadratic, case.x, case.D)
    fine = np.linspace(0, 1, 2001)
    for b, d in enumerate(case.D):
        hits = fine[case.gauge.holds(case.x + fine[:, None] * d)]
        if not len(hits):
            assert mu[b] < 0 or mu[b] * 2000 % 1 > 0
        elif mu[b] >= 0:
            assert mu[b] <= hits[0] + 1e-12
            assert hits[0] - mu[b] <= 1 / 2000 + 1e-9 or not case.gauge.holds(
                case.x[None] + (mu[b] + hits[0]) / 2 * d
            )
            assert case.gauge.holds((case.x + mu[b] * d)[None])[0]
            assert cost[b] == pytest.approx(mu[b] ** 2 * (d @ d), rel=1e-9)
        else:
            # Left out as much dearer than another one.
            assert hits[0] ** 2 * (d @ d) >= 9 * cost.min() - 1e-9


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_a_line_of_any_quadratic_has_its_cheapest_point(seed):
    case = task(seed % 50, n_trees=9, max_depth=3)
    random = np.random.default_rng(seed)
    start = case.x + 0.3 * random.normal(size=4)
    price = random.uniform(0.5, 2, size=4)
    quadratic = price, price, case.x + 0.1 * random.normal(size=4), 0.25
    d = case.D[:1]
    mu, cost = case.gauge.lines(quadratic, start, d)
    points = start + np.linspace(0, 1, 2001)[:, None] * d
    points = points[case.gauge.holds(points)]
    if len(points):
        assert cost[0] <= cost_rows(quadratic, points).min() + 1e-9
        got = start + mu[0] * d
        assert case.gauge.holds(got)[0]
        assert cost_rows(quadratic, got)[0] == pytest.approx(cost[0])


def test_the_float_after_a_test_is_enough():
    # Cells are rounded to single precision before they are compared.
    for dtype in (np.float32, np.float64):
        X, model = forest(3, n_trees=1, max_depth=1)
        X = X.astype(dtype)
        box, space, reader = wrapped(model, X)
        f, t = model.estimators_[0].tree_.feature[0], reader.threshold[0]
        x = X[0].copy()
        x[f] = t - 1
        now = model.predict(x[None])[0]
        told = reader.forest(box, goal(now, opposite=True))
        d = np.zeros(4)
        d[f] = 2.0
        quadratic = np.ones(4), np.ones(4), x.astype(float), 0.0
        mu, _ = kernels.sweep_line(
            told, quadratic, x.astype(float), d, 1.0, np.inf, 1e-9
        )
        y = space.decode((x.astype(float) + mu * d)[None])
        assert model.predict(y)[0] != now
        assert y[0, f] - t < 3e-7 * max(1, abs(t))


def test_intervals_of_a_regressor_are_two_goals():
    from sklearn.ensemble import RandomForestRegressor

    X = np.random.default_rng(0).normal(size=(40, 4))
    model = RandomForestRegressor(5, random_state=0).fit(X, X.sum(axis=1))
    box, _, reader = wrapped(model, X)
    margins = kernels.margins_at(reader.forest(box, interval(-0.5, 1.0)), X)
    told = model.predict(X)
    expected = np.minimum(told + 0.5, 1.0 - told)
    np.testing.assert_allclose(margins, expected, atol=1e-7)
