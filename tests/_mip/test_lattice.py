import numpy as np
import pytest

from skcf._mip import _lattice
from skcf._mip._lattice import Cuts, Lattice
from skcf._space import FeatureSpace


def column(values, resolution=None, dtype=float):
    X = np.asarray(values, dtype=dtype)[:, None]
    return FeatureSpace(X, resolution=resolution).columns[0]


def test_positions_of_floats_are_in_order_and_exact():
    lattice = Lattice(column([-1.5, 0.0, 2.25]), -1.5, 2.25)
    values = np.array([-1.5, -1e-300, -5e-324, 0.0, 5e-324, 1.0, 2.25])
    k = lattice.position(values)
    assert (np.diff(k) > 0).all()
    np.testing.assert_array_equal(lattice.value(k), values)
    assert lattice.value(k[-1] + 1) == np.nextafter(2.25, np.inf)
    assert (lattice.first, lattice.last) == (k[0], k[-1])


def test_positions_of_singles_step_by_float32():
    lattice = Lattice(column([0.5, 1.5], dtype=np.float32), 0.5, 1.5)
    one = lattice.position(np.array([1.0]))[0]
    assert lattice.value(one + 1) == np.nextafter(np.float32(1.0), np.float32(2.0))


@pytest.mark.parametrize("step, low, high, size", [(1, 1, 9, 9), (0.1, 0.2, 0.7, 6)])
def test_grids_reach_from_end_to_end(step, low, high, size):
    lattice = Lattice(column([low, high], step), low, high)
    assert lattice.size == size
    k = np.arange(lattice.first, lattice.last + 1)
    np.testing.assert_allclose(lattice.value(k), low + step * np.arange(size))
    np.testing.assert_array_equal(lattice.position(lattice.value(k)), k)


def cut(encode, marks, values, resolution=None):
    col = column(values, resolution)
    lattice = Lattice(col, min(values), max(values))
    cuts = Cuts(lambda codes: encode(codes[:, :1]), np.zeros(1))
    first, last = cuts.intervals({0: lattice}, {0: [(0, np.array(marks))]})[0]
    return lattice.value(first), lattice.value(last)


def single(x):
    return x.astype(np.float32).astype(float)


def test_intervals_end_at_the_last_float_that_rounds_to_the_threshold():
    mark = float(np.float32(0.3))
    low, high = cut(single, [mark], [0.0, 1.0])
    assert len(low) == 2 and low[0] == 0.0 and high[-1] == 1.0
    assert np.float32(high[0]) <= mark < np.float32(low[1])
    assert low[1] == np.nextafter(high[0], 1.0)


@pytest.mark.parametrize("scale", [3.0, -0.25])
def test_intervals_of_a_scaled_number_rising_or_falling(scale):
    marks = np.sort(scale * np.array([0.2, 0.5, 0.9]))
    low, high = cut(lambda x: x * scale, marks, [0.0, 1.0])
    assert len(low) == 4
    for a, b in zip(low, high, strict=True):
        assert np.ptp(np.searchsorted(marks, np.array([a, b]) * scale)) == 0
    at = np.searchsorted(marks, low * scale)
    assert len(np.unique(at)) == 4
    np.testing.assert_array_equal(low[1:], np.nextafter(high[:-1], np.inf))


def test_intervals_across_zero():
    low, _ = cut(lambda x: x, [-1e-200, 0.0, 1e-200], [-1e300, 1e300])
    expected = [-1e300, -1e-200, 0.0, 1e-200]
    np.testing.assert_array_equal(low[1:], np.nextafter(expected[1:], np.inf))


def test_numbers_on_a_small_grid_may_be_encoded_in_any_way():
    low, high = cut(lambda x: np.abs(x - 3), [1.5], [0.0, 6.0], 1.0)
    np.testing.assert_array_equal(low, [0.0, 2.0, 5.0])
    np.testing.assert_array_equal(high, [1.0, 4.0, 6.0])


def test_a_turning_encoding_of_floats_is_refused_by_name():
    with pytest.raises(ValueError, match="Column 0 .*coarser resolution"):
        cut(lambda x: np.abs(x - 3), [1.5], [0.0, 6.0])


def test_a_longer_grid_that_turns_is_listed(monkeypatch):
    monkeypatch.setattr(_lattice, "FEW", 2)
    low, _ = cut(lambda x: np.abs(x - 3), [1.5], [0.0, 6.0], 1.0)
    np.testing.assert_array_equal(low, [0.0, 2.0, 5.0])


def test_bisection_and_listing_agree(monkeypatch):
    marks = np.random.default_rng(0).uniform(0, 50, 20).round(3)
    told = cut(single, np.sort(marks), [0.0, 50.0], 0.5)
    monkeypatch.setattr(_lattice, "FEW", 0)
    again = cut(single, np.sort(marks), [0.0, 50.0], 0.5)
    np.testing.assert_array_equal(told, again)
