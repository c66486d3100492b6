"""Points that stand together in the order are near one another."""

import numpy as np
import pytest

from skcf._index._order import LEAF, joining_order


def walked(points):
    """Return the mean distance between points that follow one another."""
    return np.linalg.norm(np.diff(points, axis=0), axis=1).mean()


@pytest.mark.parametrize("n", [0, 1, 5, 99, 1000, 5001])
def test_each_point_joins_once(n):
    points = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
    order = joining_order(points)
    assert np.array_equal(np.sort(order), np.arange(n))
    assert np.array_equal(order, joining_order(points))


def test_those_behind_the_first_stand_near_one_another():
    points = np.random.default_rng(0).normal(size=(40 * LEAF, 2)).astype(np.float32)
    points = points[joining_order(points)]
    first, last = points[: len(points) // 8], points[len(points) // 2 :]
    assert walked(last) < 0.35 * walked(np.random.default_rng(1).permutation(last))
    # The first ones come from everywhere.
    assert np.allclose(first.mean(axis=0), 0.0, atol=0.2)
    assert np.allclose(first.std(axis=0), 1.0, atol=0.2)


def test_equal_points_are_halved_too():
    order = joining_order(np.zeros((10 * LEAF, 2), dtype=np.float32))
    assert np.array_equal(np.sort(order), np.arange(10 * LEAF))
