"""Sets that are near and diverse are about the best there are."""

from itertools import combinations

import numpy as np
import pytest

from skcf._search._spread_sets import _one_set


def case(seed, n=14):
    rng = np.random.default_rng(seed)
    points = rng.random((n, 3))
    cost = np.sort(points.mean(axis=1))
    points = points[np.argsort(points.mean(axis=1))]
    d = np.abs(points[:, None] - points[None]).mean(axis=2)
    return 1 / (1 + d), cost


def worth(kernel, cost, members, proximity, diversity):
    members = list(members)
    spread = np.linalg.det(kernel[np.ix_(members, members)])
    return diversity * spread - proximity * cost[members].mean()


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("weights", [(0.5, 1.0), (0.1, 1.0), (1.0, 0.0)])
def test_sets_are_about_the_best(k, weights):
    best = []
    for seed in range(12):
        kernel, cost = case(seed)
        got = _one_set(kernel, cost, k, *weights)
        assert got[0] == 0 and len(set(got.tolist())) == k
        others = combinations(range(1, len(cost)), k - 1)
        top = max(worth(kernel, cost, (0, *o), *weights) for o in others)
        mine = worth(kernel, cost, got, *weights)
        assert mine <= top + 1e-9
        best.append(mine >= top - 1e-9)
    assert np.mean(best) >= 0.7


def test_a_set_has_no_more_members_than_there_are():
    kernel, cost = case(0, n=2)
    assert sorted(_one_set(kernel, cost, 5, 0.5, 1.0).tolist()) == [0, 1]
