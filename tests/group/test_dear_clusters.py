"""The dearest clusters, against all sets of features."""

from itertools import combinations

import numpy as np
import pytest

from skcf._model._black_box import Meter
from skcf.group._dear_clusters import DearClusters
from skcf.group._linear_oracle import LinearOracle


def oracle_of(random, pattern, most, width=2):
    """Return an oracle of a random linear model over values of one score."""
    n, p = pattern.shape
    scores = [random.normal(size=(width, 1)) for _ in range(p)]
    own = np.stack([s[pattern[:, j]] for j, s in enumerate(scores)], axis=1)
    need = np.full((n, 1), np.median(own.sum(axis=1)) + 1.0)
    allowed = [np.ones((n, width), dtype=bool)] * p
    must = np.zeros((n, p), dtype=bool)
    return LinearOracle(scores, own, need, allowed, must, most, 1e-9)


def dearest_by_trial(pattern, oracle, worth, first):
    """Return what the dearest cluster with a given first row is worth."""
    best, p = 0.0, pattern.shape[1]
    other = pattern != pattern[first]
    for size in range(oracle.most + 1):
        for free in combinations(range(p), size):
            changed = np.zeros(p, dtype=bool)
            changed[list(free)] = True
            inside = ~(other & ~changed).any(axis=1)
            differ = other[inside].any(axis=0)
            if oracle.lawful(np.flatnonzero(inside), differ):
                best = max(best, worth[inside].sum())
    return best


@pytest.mark.parametrize("seed", range(12))
def test_dearest_clusters_of_all_sets_of_features(seed):
    random = np.random.default_rng(seed)
    pattern = random.integers(0, 2, size=(16, 7))
    oracle = oracle_of(random, pattern, 2 + seed % 4)
    worth = random.random(16) * (random.random(16) < 0.8)
    rows = np.arange(16)
    assert oracle.alike(rows, pattern)
    able = oracle.alone(rows, np.zeros(7, dtype=bool))
    worth[~able] = 0.0
    most = max(dearest_by_trial(pattern, oracle, worth, i) for i in rows)
    found, bound = DearClusters(rows[able], oracle, pattern).best(worth, Meter())
    assert bound == pytest.approx(max(1.0, most), abs=1e-5)
    assert (max((worth[some].sum() for some in found), default=0) > 1) == (most > 1)
    for some in found:
        differ = (pattern[some] != pattern[some[0]]).any(axis=0)
        assert oracle.lawful(some, differ) and worth[some].sum() > 1
    if found:
        assert max(worth[some].sum() for some in found) == pytest.approx(most)


def test_more_features_than_bits_of_a_word():
    random = np.random.default_rng(0)
    # Differences are within eight of the last features.
    pattern = np.zeros((14, 90), dtype=int)
    pattern[:, 60:68] = random.integers(0, 2, size=(14, 8))
    oracle = oracle_of(random, pattern, 4)
    oracle.short = np.full((14, 1), -1e3)
    worth = random.random(14)
    small = pattern[:, 60:68]
    easy = oracle_of(random, small, 4)
    easy.short = np.full((14, 1), -1e3)
    most = max(dearest_by_trial(small, easy, worth, i) for i in range(14))
    _, bound = DearClusters(np.arange(14), oracle, pattern).best(worth, Meter())
    assert bound == pytest.approx(most, abs=1e-5)


def test_branches_that_were_cut_off_are_bounded():
    random = np.random.default_rng(1)
    pattern = random.integers(0, 2, size=(16, 7))
    oracle = oracle_of(random, pattern, 4)
    oracle.short = np.full((16, 1), -1e3)
    worth = np.full(16, 0.5)
    search = DearClusters(np.arange(16), oracle, pattern)
    search._max_nodes = 1
    found, bound = search.best(worth, Meter())
    most = max(dearest_by_trial(pattern, oracle, worth, i) for i in range(16))
    assert bound >= most - 1e-9
    assert all(worth[some].sum() <= most + 1e-9 for some in found)
