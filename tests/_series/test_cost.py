import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._series import SeriesCost, SeriesSpace
from skcf._series._gauge import cost_rows


def space_of(n_times=5, n_channels=2):
    return SeriesSpace(np.zeros((1, n_times, n_channels)), 2)


def test_euclidean_cost_counts_channels_and_squares():
    cost = SeriesCost(space_of(3, 2), lambda_0=10.0, lambda_2=0.5)
    x = np.zeros((2, 6))
    cf = np.array([[1.0, 0, 2, 0, 0, 0], [1.0, 1, 0, 0, 0, -1]])
    assert cost.n_changed(x, cf).tolist() == [1, 2]
    assert cost.rows(x, cf).tolist() == [10 + 0.5 * 5, 20 + 0.5 * 3]


def test_prices_of_up_and_down_at_each_time():
    cost = SeriesCost(space_of(3, 2), up=[1.0, 2.0, 3.0], down=5.0)
    x, cf = np.zeros((1, 6)), np.array([[1.0, -1, 2, 0, 0, 1]])
    assert cost.rows(x, cf).tolist() == [1 + 5 + 2 * 4 + 3]
    assert cost.uneven
    quadratic = cost.quadratic(x[0])
    assert cost_rows(quadratic, cf).tolist() == cost.rows(x, cf).tolist()


@pytest.mark.parametrize("bad", [[1.0, 2.0], -1.0, [[1.0, 2.0, 3.0]] * 3, np.nan])
def test_prices_are_checked(bad):
    with pytest.raises(ValueError, match="up must (hold|be)"):
        SeriesCost(space_of(3, 2), up=bad)


def test_a_window_is_for_dtw():
    with pytest.raises(ValueError, match="window=2"):
        SeriesCost(space_of(), window=2)


def test_dtw_has_no_prices():
    pytest.importorskip("tslearn")
    with pytest.raises(ValueError, match="prices"):
        SeriesCost(space_of(), "dtw", up=2.0)


def dtw_by_hand(a, b, window):
    """Return the least sum of squares over warping paths."""
    n = len(a)
    out = np.full((n + 1, n + 1), np.inf)
    out[0, 0] = 0.0
    for i in range(n):
        for j in range(n):
            if window is None or abs(i - j) <= window:
                least = min(out[i, j], out[i, j + 1], out[i + 1, j])
                out[i + 1, j + 1] = least + ((a[i] - b[j]) ** 2).sum()
    return out[n, n]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), window=st.sampled_from([None, 0, 1, 3]))
def test_dtw_is_a_quadratic_along_its_path(seed, window):
    pytest.importorskip("tslearn")
    random = np.random.default_rng(seed)
    space = space_of(6, 2)
    cost = SeriesCost(space, "dtw", window)
    x, cf = random.normal(size=(2, 12))
    square = cost.squares(x[None], cf[None])[0]
    a, b = cost.series(np.stack([x, cf]))
    assert square == pytest.approx(dtw_by_hand(a, b, window), rel=1e-9)
    path = cost.path(x, cf)
    along = cost_rows(cost.quadratic(x, path), cf[None])[0]
    assert along == pytest.approx(square, rel=1e-9)
    other = random.normal(size=12)
    best = cost.squares(x[None], other[None])[0]
    assert cost_rows(cost.quadratic(x, path), other[None])[0] >= best - 1e-9


def test_the_diagonal_is_the_euclidean_distance():
    pytest.importorskip("tslearn")
    space = space_of(5, 1)
    x, cf = np.random.default_rng(0).normal(size=(2, 1, 5))
    diagonal = np.column_stack([np.arange(5)] * 2)
    along = cost_rows(SeriesCost(space, "dtw").quadratic(x[0], diagonal), cf)
    assert along == pytest.approx(SeriesCost(space).squares(x, cf))
    assert SeriesCost(space, "dtw", window=0).squares(x, cf) == pytest.approx(along)
