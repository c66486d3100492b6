import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._model import Meter
from skcf._series._gauge import LinearGauge, cost_rows

SEEDS = st.integers(0, 10_000)


def case(seed, n_goals, several, shifted=False):
    random = np.random.default_rng(seed)
    x, D = random.normal(size=3), random.normal(size=(4, 3))
    weight, offset = random.normal(size=(n_goals, 3)), random.normal(size=n_goals)
    mid = x + random.normal(size=3) if shifted else x
    price = random.uniform(0.5, 2, size=3)
    return LinearGauge(weight, offset, several), (price, price, mid, 0.0), x, D


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS, n_goals=st.integers(1, 3), several=st.booleans(), shift=st.booleans()
)
def test_lines_have_no_cheaper_point(seed, n_goals, several, shift):
    gauge, quadratic, x, D = case(seed, n_goals, several, shift)
    mu, cost = gauge.lines(quadratic, x, D)
    for b, d in enumerate(D):
        grid = x + np.linspace(0, 1, 301)[:, None] * d
        grid = grid[gauge.margins(grid) >= 0]
        if mu[b] < 0:
            assert len(grid) == 0
            continue
        y = x + mu[b] * d
        assert gauge.margins(y[None])[0] >= -1e-12
        assert cost_rows(quadratic, y[None])[0] == pytest.approx(cost[b])
        assert not len(grid) or cost[b] <= cost_rows(quadratic, grid).min() + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    seed=SEEDS,
    n_goals=st.integers(1, 3),
    several=st.booleans(),
    shift=st.booleans(),
    simplex=st.booleans(),
)
def test_triangles_have_no_cheaper_point(seed, n_goals, several, shift, simplex):
    gauge, quadratic, x, D = case(seed, n_goals, several, shift)
    pairs = np.column_stack(np.triu_indices(len(D), 1))
    point, cost, bound = gauge.triangles(
        quadratic, x, D, pairs, np.inf, Meter(), 1e-3, simplex=simplex
    )
    a, b = (g.ravel() for g in np.meshgrid(*[np.linspace(0, 1, 41)] * 2))
    kept = a + b <= 1 + 1e-12 if simplex else a <= 1
    least = np.inf
    for i, k in pairs:
        grid = x + a[kept, None] * D[i] + b[kept, None] * D[k]
        grid = grid[gauge.margins(grid) >= 0]
        least = min([least, *cost_rows(quadratic, grid)])
    if point is None:
        assert least == np.inf
        return
    i, k, a, b = point
    y = x + a * D[i] + b * D[k]
    assert gauge.margins(y[None])[0] >= -1e-9
    assert cost_rows(quadratic, y[None])[0] == pytest.approx(cost, abs=1e-9)
    assert bound == cost <= least + 1e-9
