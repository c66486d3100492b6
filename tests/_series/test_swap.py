import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin

from skcf._model import BlackBox, Goal, Meter
from skcf._series import (
    Rays,
    SeriesCost,
    SeriesSpace,
    Swaps,
    nearest_of,
    search_rays,
    swap_by_climbing,
    swap_by_policy,
    swap_greedily,
)
from skcf._series._swap import without_needless

N = 6


class Sum(ClassifierMixin, BaseEstimator):
    """Says 1 where a weighted sum of channel means is above 1."""

    def __init__(self, weights):
        self.weights = weights
        self.classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        z = X.mean(axis=1) @ np.asarray(self.weights) - 1.0
        p = 1 / (1 + np.exp(-4 * z))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


def swaps_of(weights, seed=0, n_rows=4, n_slots=3):
    random = np.random.default_rng(seed)
    train = np.ones((n_slots, 3, N)) + 0.2 * random.random((n_slots, 3, N))
    X = 0.1 * random.random((n_rows, 3, N))
    space = SeriesSpace(X, 2)
    model = BlackBox(Sum(weights), space, np.concatenate([X, train]), read=False)
    goal = Goal(label=np.ones(n_rows, int), opposite=np.zeros(n_rows, bool))
    x = space.encode(X)
    meter = Meter()
    rays = Rays(model, space, SeriesCost(space, lambda_0=1.0), x, goal, meter)
    distractors = np.tile(space.encode(train), (n_rows, 1, 1))
    seeds = np.arange(n_rows).astype(np.uint64)
    return Swaps(rays, distractors, space.channel, seeds)


SEARCHES = [
    swap_greedily,
    swap_by_climbing,
    lambda swaps: swap_by_policy(swaps, 8, 8),
]


@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "climb", "policy"])
def test_the_two_channels_that_are_needed_are_found(search):
    swaps = swaps_of([0, 0.7, 0, 0, 0.7, 0])
    row, slot, mask = search(swaps)
    assert set(row) == set(range(4))
    assert (mask == [0, 1, 0, 0, 1, 0]).all()
    assert swaps.passes(swaps.margins(row, slot, mask)).all()


@pytest.mark.parametrize("search", SEARCHES, ids=["greedy", "climb", "policy"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 500))
def test_no_single_swap_can_be_undone(search, seed):
    random = np.random.default_rng(seed)
    swaps = swaps_of(random.uniform(0.1, 0.6, size=N), seed)
    row, slot, mask = search(swaps)
    for r, s, chosen in zip(row, slot, mask, strict=True):
        tried = np.tile(chosen, (chosen.sum(), 1))
        tried[np.arange(len(tried)), np.flatnonzero(chosen)] = False
        at = np.full(len(tried), r), np.full(len(tried), s)
        held = swaps.passes(swaps.margins(*at, tried))
        assert not held.any() or chosen.sum() == 1


def test_lots_are_undone_in_few_calls():
    swaps = swaps_of([0, 2.0, 0, 0, 0, 0])
    before = swaps.rays.meter.n_calls
    mask = without_needless(swaps, np.array([0]), np.array([0]), np.ones((1, N), bool))
    assert mask.tolist() == [[False, True, False, False, False, False]]
    assert swaps.rays.meter.n_calls - before <= 4


def test_policy_asks_for_fewer_rows_where_there_are_many_channels():
    asked = {}
    for name, search in zip(("greedy", "climb", "policy"), SEARCHES, strict=True):
        swaps = swaps_of([0, 0.7, 0, 0, 0.7, 0], n_slots=30)
        search(swaps)
        asked[name] = swaps.rays.meter.n_rows
    assert asked["policy"] < asked["greedy"] / 2


def test_rays_stop_at_the_boundary():
    swaps = swaps_of([0, 0.7, 0, 0, 0.7, 0])
    rays = swaps.rays
    train = swaps.distractors[0, :2]
    near = nearest_of(rays.x, train, 1)
    for lambda_0 in (0.0, 5.0):
        rays.cost.lambda_0 = lambda_0
        row, weights, cost = search_rays(rays, train, near, 1)
        assert set(row) == set(range(4))
        for r, share, price in zip(row, weights, cost, strict=True):
            d = train[near[r]] - rays.x[r]
            step = (share[:, rays.space.channel] * d).sum(axis=0)
            ends = rays.x[r] + np.array([[1.0], [1 - 1e-3]]) * step
            held = rays.holds(np.array([r, r]), ends)
            assert held.tolist() == [True, False]
            n = share.any(axis=0).sum()
            assert n == (2 if lambda_0 else N)
            assert price == pytest.approx(lambda_0 * n + step @ step)


def test_two_prototypes_on_rays_are_never_dearer():
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 3, N))
    space = SeriesSpace(X, 2)
    model = BlackBox(Sum(random.normal(size=N) * 3), space, X, read=False)
    label = np.argmax(model.output(X)[0], axis=1)
    x, train = space.encode(X[label == 0][:5]), space.encode(X[label == 1])
    goal = Goal(label=np.ones(len(x), int), opposite=np.zeros(len(x), bool))
    least = []
    for n_most in (1, 2, 3):
        rays = Rays(model, space, SeriesCost(space), x, goal, Meter())
        row, _, cost = search_rays(rays, train, nearest_of(x, train, 1), n_most)
        least.append([cost[row == i].min() for i in range(len(x))])
    assert (np.diff(least, axis=0) <= 1e-12).all()
    assert np.sum(least[1]) < np.sum(least[0])
