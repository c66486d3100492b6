import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from skcf._model import Meter
from skcf._series._gauge import cost_rows
from skcf._series._triangles import least_in_box
from tests._series.small import task


def shares(step=0.02, simplex=True):
    """Return a grid of (a, b) over the triangle, or over the square."""
    line = np.arange(0, 1 + step / 2, step)
    a, b = (g.ravel() for g in np.meshgrid(line, line))
    kept = a + b <= 1 + 1e-9 if simplex else a <= 1
    return a[kept], b[kept]


def points(x, da, db, **grid):
    a, b = shares(**grid)
    return x + a[:, None] * da + b[:, None] * db


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_least_of_a_quadratic_in_a_box(seed):
    random = np.random.default_rng(seed)
    A = random.normal(size=(2, 2)) * random.uniform(0.01, 1, size=2)
    H, g = A @ A.T, random.normal(size=2)
    box = np.sort(random.uniform(-1, 1, size=(2, 2)), axis=1).ravel()

    def value(z):
        return z @ H @ z + 2 * g @ z + 3.0

    least, a, b = least_in_box(H[0, 0], H[0, 1], H[1, 1], *g, 3.0, box)
    told = minimize(
        value, box[::2], bounds=[box[:2], box[2:]], options={"ftol": 1e-14}
    ).fun
    assert least == pytest.approx(told, rel=1e-6, abs=1e-9)
    assert value(np.array([a, b])) == pytest.approx(least, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 60), simplex=st.booleans(), uneven=st.booleans())
def test_no_point_of_a_grid_is_below_the_bound(seed, simplex, uneven):
    case = task(seed, n_trees=9, max_depth=3)
    if len(case.D) < 2:
        return
    up = np.array([1.0, 3.0, 1.0, 0.5]) if uneven else np.ones(4)
    quadratic = up, np.ones(4), case.x, 0.0
    pairs = np.column_stack(np.triu_indices(len(case.D), 1))
    point, cost, bound = case.gauge.triangles(
        quadratic, case.x, case.D, pairs, np.inf, Meter(), 1e-3, simplex=simplex
    )
    costs = [np.inf]
    for i, k in pairs:
        grid = points(case.x, case.D[i], case.D[k], step=0.05, simplex=simplex)
        costs.extend(cost_rows(quadratic, grid[case.gauge.holds(grid)]))
    assert bound <= min(costs) + 1e-9
    if point is None:
        assert min(costs) == np.inf
        return
    i, k, a, b = point
    found = case.x + a * case.D[i] + b * case.D[k]
    assert case.gauge.holds(found[None])[0]
    assert cost_rows(quadratic, found[None])[0] == pytest.approx(cost)
    assert cost * (1 - 1e-3) <= bound + 1e-9
    assert not simplex or a + b <= 1 + 1e-9


def test_steps_that_run_out_leave_a_bound():
    case = task(4, n_times=8, n=40, n_trees=40, max_depth=4)
    pairs = np.column_stack(np.triu_indices(len(case.D), 1))
    _, _, all_of_it = case.gauge.triangles(
        case.quadratic, case.x, case.D, pairs, np.inf, Meter(), 1e-4
    )
    point, cost, bound = case.gauge.triangles(
        case.quadratic, case.x, case.D, pairs, np.inf, Meter(), 1e-9, most=1
    )
    assert bound <= all_of_it / (1 - 1e-4)
    assert bound < cost


def test_nothing_below_a_limit():
    case = task(0)
    pairs = np.column_stack(np.triu_indices(len(case.D), 1))
    point, cost, bound = case.gauge.triangles(
        case.quadratic, case.x, case.D, pairs, 1e-9, Meter(), 1e-3
    )
    assert point is None
    assert cost == np.inf
    assert bound >= 1e-9 * (1 - 1e-3)
