"""The mixed-integer quadratic program of the thesis, for small cases, as an oracle.

Weights of prototypes share their support; each tree has one leaf, whose tests the
series has to pass; the quadratic cost is bounded from below by tangents, one more for
each solution, until they meet it.
"""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

GAP = 1e-5
# That of the solver, and a little more.
TOLERANCE = 1e-5


def cheapest(forest, x, prototypes, n_most, channel, lambda_0, lambda_2, floor):
    """Return the least cost of a mixture in the target, inf if there is none.

    Parameters
    ----------
    forest : list of list of (tests, value)
        The leaves of each tree: tests are (cell, threshold, goes left).
    """
    n, J = len(prototypes), channel.max() + 1
    n_leaves = sum(map(len, forest))
    # Columns: weights (J, n), used (n,), changed (J,), leaves, square.
    n_weights = J * n
    leaf0 = n_weights + n + J
    width = leaf0 + n_leaves + 1
    rows, low, high = [], [], []

    def add(entries, lo, hi):
        row = np.zeros(width)
        for at, value in entries:
            row[at] += value
        rows.append(row)
        low.append(lo)
        high.append(hi)

    D = prototypes - x
    for j in range(J):
        for b in range(n):
            add([(j * n + b, 1.0), (n_weights + b, -1.0)], -np.inf, 0.0)
        add([(j * n + b, 1.0) for b in range(n)] + [(n_weights + n + j, -1.0)],
            -np.inf, 0.0)  # fmt: skip
    add([(n_weights + b, 1.0) for b in range(n)], -np.inf, n_most)
    big = np.abs(x) + np.abs(D).max(axis=0)
    at, gains = leaf0, []
    for leaves in forest:
        add([(at + i, 1.0) for i in range(len(leaves))], 1.0, 1.0)
        for tests, value in leaves:
            gains.append((at, value))
            for cell, threshold, left in tests:
                M = big[cell] + abs(threshold) + 1
                series = [(channel[cell] * n + b, D[b, cell]) for b in range(n)]
                if left:
                    add([*series, (at, M)], -np.inf, threshold - x[cell] + M)
                else:
                    add([*series, (at, -M)], threshold + GAP - x[cell] - M, np.inf)
            at += 1
    add(gains, floor, np.inf)
    cost = np.zeros(width)
    cost[n_weights + n : leaf0] = lambda_0
    cost[-1] = lambda_2
    integrality = np.zeros(width)
    integrality[n_weights:-1] = 1
    upper = np.ones(width)
    upper[-1] = np.inf
    while True:
        told = milp(
            cost,
            constraints=LinearConstraint(np.array(rows), low, high),
            bounds=Bounds(np.zeros(width), upper),
            integrality=integrality,
        )
        if told.x is None:
            return np.inf
        weights = told.x[:n_weights].reshape(J, n)
        d = np.array([weights[channel[c]] @ D[:, c] for c in range(len(x))])
        square = d @ d
        if square <= told.x[-1] + TOLERANCE * (1 + square):
            return float(told.fun)
        # square(y) >= square(d) + 2 d (y - d)
        tangent = [(j * n + b, -2 * d[channel == j] @ D[b, channel == j])
                   for j in range(J) for b in range(n)]  # fmt: skip
        add([*tangent, (width - 1, 1.0)], -square, np.inf)


def leaves_of(forest, label):
    """Return the leaves of a fitted forest, valued by the lead of a class of two."""
    trees = []
    for tree in (e.tree_ for e in forest.estimators_):
        share = tree.value[:, 0, :] / len(forest.estimators_)
        value = share[:, label] - share[:, 1 - label]
        leaves, stack = [], [(0, ())]
        while stack:
            node, tests = stack.pop()
            f = tree.feature[node]
            if f < 0:
                leaves.append((tests, value[node]))
                continue
            t = tree.threshold[node]
            stack.append((tree.children_left[node], (*tests, (f, t, True))))
            stack.append((tree.children_right[node], (*tests, (f, t, False))))
        trees.append(leaves)
    return trees
