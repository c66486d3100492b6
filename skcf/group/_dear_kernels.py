"""The compiled search of rows that are dear and differ on few features."""

import numpy as np

from skcf._jit import jit

NONE, ONE, TWO, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(4)
LAST = np.uint64(56)
PAIRS = np.uint64(0x5555555555555555)
QUADS = np.uint64(0x3333333333333333)
BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
SUMS = np.uint64(0x0101010101010101)


@jit
def n_ones(word):
    """Return how many bits of a word are set."""
    word = word - ((word >> ONE) & PAIRS)
    word = (word & QUADS) + ((word >> TWO) & QUADS)
    word = (word + (word >> FOUR)) & BYTES
    return np.int64((word * SUMS) >> LAST)


@jit
def n_joint(a, b):
    """Return how many bits are set in either of two rows of words."""
    out = 0
    for k in range(len(a)):
        out += n_ones(a[k] | b[k])
    return out


@jit
def reaches(changed, gain, order, short, most):
    """Tell whether changes of some features and the best others gain enough.

    `order` has the features by falling gain.
    """
    total, room = 0.0, most
    for k in range(len(changed)):
        room -= n_ones(changed[k])
    for j in order:
        if changed[j >> 6] >> np.uint64(j & 63) & ONE:
            total += gain[j]
        elif room > 0 and gain[j] > 0:
            total += gain[j]
            room -= 1
    return total >= short


@jit
def coloured(some, changed, apart, worth, most, order, bound, rank):
    """Put rows in classes of which a cluster takes one row at most.

    `some` is by falling worth. Fills `order`, class after class; `bound`, what the
    classes so far are worth at most; and `rank`, the places of the rows in `order`.
    """
    n = len(some)
    joint = np.empty((n, apart.shape[1]), np.uint64)
    kind, n_kinds, start = np.empty(n, np.int64), 0, np.empty(n, np.int64)
    follows = np.full(n, -1)
    end = np.empty(n, np.int64)
    for i in range(n):
        for k in range(apart.shape[1]):
            joint[i, k] = changed[k] | apart[some[i], k]
        kind[i] = n_kinds
        for c in range(n_kinds):
            other, free = start[c], True
            while other >= 0:
                if n_joint(joint[i], joint[other]) <= most:
                    free = False
                    break
                other = follows[other]
            if free:
                kind[i] = c
                break
        c = kind[i]
        if c == n_kinds:
            start[c] = i
            n_kinds += 1
        else:
            follows[end[c]] = i
        end[c] = i
    at, total = 0, 0.0
    for c in range(n_kinds):
        total += worth[some[start[c]]]
        i = start[c]
        while i >= 0:
            order[at], bound[at], rank[some[i]] = some[i], total, at
            at += 1
            i = follows[i]


@jit
def dearest(apart, worth, start, gain, by_gain, short, most, floor, max_nodes):
    """Return the dearest cluster of one row with others that are worth something.

    Parameters
    ----------
    apart : ndarray of uint64 of shape (n_rows, n_words)
        On which features each row is not as the first one, in bits.
    worth : ndarray of shape (n_rows,)
        Falling.
    start : float
        What the first row is worth.
    gain : ndarray of shape (n_features,)
        What the first row gains by the best change of each feature.
    by_gain : ndarray of int of shape (n_features,)
        The features by falling gain.
    short : float
        What a change has to gain.
    most : int
        The most features that a change sets.
    floor : float
        Clusters that are worth no more are not looked for.
    max_nodes : int

    Returns
    -------
    value : float
        What the dearest cluster is worth, `floor` if there is none.
    bound : float
        No cluster is worth more than this and `floor`.
    changed : ndarray of uint64 of shape (n_words,)
        The features that the cluster changes, in bits.
    """
    n, n_words = apart.shape
    size = min(n, most) + 2
    some, order = np.empty((size, n), np.int64), np.empty((size, n), np.int64)
    rank, bound = np.empty((size, n), np.int64), np.empty((size, n))
    changed, at = np.zeros((size, n_words), np.uint64), np.empty(size, np.int64)
    length, weight = np.zeros(size, np.int64), np.zeros(size)
    best, found = floor, np.zeros(n_words, np.uint64)
    if start > best:
        best = start
    some[0], length[0], weight[0] = np.arange(n), n, start
    coloured(some[0], changed[0], apart, worth, most, order[0], bound[0], rank[0])
    top = start + bound[0, n - 1] if n else start
    at[0], d, n_nodes = n - 1, 0, 0
    while d >= 0:
        i = at[d]
        if i < 0 or weight[d] + bound[d, i] <= best:
            d -= 1
            continue
        n_nodes += 1
        if n_nodes > max_nodes:
            return best, max(best, top), found
        at[d] = i - 1
        for k in range(n_words):
            changed[d + 1, k] = changed[d, k] | apart[order[d, i], k]
        if not reaches(changed[d + 1], gain, by_gain, short, most):
            continue
        total, m = weight[d] + worth[order[d, i]], 0
        here = n_joint(changed[d + 1], changed[d + 1])
        for s in range(length[d]):
            row = some[d, s]
            if rank[d, row] < i:
                many = n_joint(changed[d + 1], apart[row])
                if many == here:
                    total += worth[row]
                elif many <= most:
                    some[d + 1, m] = row
                    m += 1
        if total > best:
            best = total
            found[:] = changed[d + 1]
        if m:
            d += 1
            length[d], weight[d], at[d] = m, total, m - 1
            coloured(
                some[d, :m], changed[d], apart, worth, most, order[d], bound[d], rank[d]
            )
    return best, best, found
