"""Rows that agree on all features but so many, from all sets of features."""

from itertools import combinations, count, islice
from math import comb

import numpy as np

# Sets of features times rows that are looked at, and how many in one go.
MOST_WORK = 50_000_000
BLOCK = 2_000_000


def n_agreements(pattern, most):
    """Return how many cells `agreements` looks at."""
    n_telling = len(_telling(pattern))
    return comb(n_telling, min(most, n_telling)) * len(pattern)


def agreements(pattern, most):
    """Return the rows that agree on the rest of every `most` features.

    Whatever rows can share a change of at most `most` features agree on the others, so
    they are together in one of these clusters.

    Parameters
    ----------
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree on a feature where they have the same number.
    most : int

    Returns
    -------
    members : ndarray of bool of shape (n_clusters, n_rows)
        Distinct clusters, those of a single point first.
    differ : ndarray of bool of shape (n_clusters, n_features)
        The features on which the rows of a cluster do not all agree.
    """
    points, point_of = np.unique(pattern, axis=0, return_inverse=True)
    single = np.eye(len(points), dtype=bool)
    # Two patterns with the same key are put together, and told by their differences.
    for seed in count():
        members = np.concatenate([single, _classes(points, most, seed)])
        differ = differences(points, members)
        if (differ.sum(axis=1) <= most).all():
            return members[:, point_of.ravel()], differ


def differences(pattern, members):
    """Return on which features the rows of each cluster do not all agree."""
    first = pattern[members.argmax(axis=1)]
    differ = np.zeros(first.shape, dtype=bool)
    step = max(1, BLOCK // len(pattern))
    for k in range(0, len(members), step):
        some = slice(k, k + step)
        for j, column in enumerate(pattern.T):
            other = column != first[some, j, None]
            differ[some, j] = (members[some] & other).any(axis=1)
    return differ


def _telling(pattern):
    """Return the features on which some rows do not agree."""
    return np.flatnonzero((pattern != pattern[0]).any(axis=0))


def _classes(points, most, seed):
    """Return distinct clusters of two or more points, as a table of bools."""
    telling, n = _telling(points), len(points)
    kept = max(0, len(telling) - most)
    keys = np.random.default_rng(seed)
    key = np.empty((len(telling), n), dtype=np.int64)
    for k, j in enumerate(telling):
        _, level = np.unique(points[:, j], return_inverse=True)
        key[k] = keys.integers(1 << 62, size=level.max() + 1)[level.ravel()]
    word = np.zeros((n, -(-n // 64)), dtype="<u8")
    at = np.arange(n)
    word[at, at // 64] = np.uint64(1) << (at % 64).astype(np.uint64)
    sets, found = combinations(range(len(telling)), kept), []
    while block := list(islice(sets, max(1, BLOCK // n))):
        found.append(_distinct(_clusters(np.array(block, dtype=np.intp), key, word)))
    bits = _distinct(np.concatenate(found))
    table = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
    return table[:, :n].astype(bool)


def _clusters(sets, key, word):
    """Return which points have equal keys, for each set of features, in bits."""
    total = np.zeros((len(sets), key.shape[1]), dtype=np.int64)
    for column in sets.T:
        total += key[column]
    order = total.argsort(axis=1)
    total = np.take_along_axis(total, order, axis=1)
    new = np.ones(total.shape, dtype=bool)
    new[:, 1:] = total[:, 1:] != total[:, :-1]
    start = np.flatnonzero(new)
    size = np.diff(np.append(start, new.size))
    bits = np.bitwise_or.reduceat(word[order.ravel()], start, axis=0)
    return bits[size > 1]


def _distinct(bits):
    """Return distinct rows of unsigned integers."""
    rows = np.ascontiguousarray(bits).view(np.dtype((np.void, 8 * bits.shape[1])))
    _, first = np.unique(rows.ravel(), return_index=True)
    return np.ascontiguousarray(bits[first])
