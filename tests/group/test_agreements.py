"""Rows that agree on all features but so many, against all sets of features."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf.group._agreements import agreements, n_agreements


def by_trial(pattern, most):
    """Return the sets of rows that agree on the rest of some `most` features."""
    n, p = pattern.shape
    telling = [j for j in range(p) if len(set(pattern[:, j])) > 1]
    found = {tuple(np.flatnonzero((pattern == row).all(axis=1))) for row in pattern}
    for free in combinations(telling, min(most, len(telling))):
        kept = [j for j in range(p) if j not in free]
        for i in range(n):
            same = (pattern[:, kept] == pattern[i, kept]).all(axis=1)
            found.add(tuple(np.flatnonzero(same)))
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6), st.integers(1, 7))
def test_agreements_of_all_sets_of_features(seed, n, p, most):
    random = np.random.default_rng(seed)
    pattern = random.integers(0, random.integers(1, 4, size=p), size=(n, p))
    members, differ = agreements(pattern, most)
    assert {tuple(np.flatnonzero(line)) for line in members} == by_trial(pattern, most)
    assert len(np.unique(members, axis=0)) == len(members)
    for line, told in zip(members, differ, strict=True):
        assert ((pattern[line] != pattern[line][0]).any(axis=0) == told).all()


def test_more_rows_than_bits_of_a_word():
    pattern = np.random.default_rng(0).integers(0, 2, size=(150, 7))
    members, _ = agreements(pattern, 3)
    assert {tuple(np.flatnonzero(line)) for line in members} == by_trial(pattern, 3)
    assert n_agreements(pattern, 3) == 35 * 150
