import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._series import SeriesCost, SeriesIndex, SeriesSpace, keogh_bounds


def random_case(seed, n=80, metric="euclidean", window=None):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6, 2)).cumsum(axis=1)
    space = SeriesSpace(X, 2)
    cost = SeriesCost(space, metric, window)
    return random.normal(size=12), space.encode(X), cost


def test_nearest_by_euclidean_distance():
    x, train, cost = random_case(0)
    pool = np.arange(3, 70, 2)
    near = SeriesIndex(cost, train).nearest(x, pool, 5)
    square = ((train[pool] - x) ** 2).sum(axis=1)
    assert near.tolist() == pool[np.argsort(square)[:5]].tolist()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), window=st.sampled_from([None, 0, 2]))
def test_bounds_leave_the_nearest_series_by_dtw(seed, window):
    pytest.importorskip("tslearn")
    x, train, cost = random_case(seed, metric="dtw", window=window)
    square = cost.squares(np.broadcast_to(x, train.shape), train)
    assert (keogh_bounds(cost, x, train) <= square + 1e-9).all()
    near = SeriesIndex(cost, train).nearest(x, np.arange(len(train)), 3)
    assert near.tolist() == np.argsort(square, kind="stable")[:3].tolist()
