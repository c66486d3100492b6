"""Compiled walks through the trees of an ensemble."""

import numpy as np

from skcf._jit import jit

# The bits of `test` above the column: what a comparison alone does not decide.
COLUMN = (1 << 28) - 1
MISSING_LEFT, CATEGORY, WENT_LEFT = 1 << 28, 1 << 29, 1 << 30

NODE = np.dtype(
    [("threshold", "f8"), ("test", "i4"), ("left", "i4"), ("right", "i4")], align=True
)
# A test on the path of a base row: a copy of the node's, and where it stands.
STEP = np.dtype(
    [
        ("threshold", "f8"),
        ("test", "i4"),
        ("tree", "i4"),
        ("turn", "i4"),
        ("depth", "i4"),
    ]
)


@jit
def _goes_left(node, x, bits):
    if x != x:
        return node.test & MISSING_LEFT != 0
    if node.test & CATEGORY != 0:
        return _in_set(int(node.threshold), x, bits)
    return x <= node.threshold


@jit
def _in_set(begin, x, bits):
    if 0 <= x < bits[begin] >> 1:
        code = int(x)
        return (bits[begin + 1 + (code >> 6)] >> (code & 63)) & 1 != 0
    return bits[begin] & 1 != 0


@jit
def sum_leaves(tables, base, X):
    nodes, bits, root, slot, value, _ = tables
    raw = np.empty((len(X), len(base)))
    for i in range(len(X)):
        raw[i] = base
        for t in range(len(root)):
            at = root[t]
            while at >= 0:
                node = nodes[at]
                left = _goes_left(node, X[i, node.test & COLUMN], bits)
                at = node.left if left else node.right
            for w in range(value.shape[1]):
                raw[i, slot[t] + w] += value[~at, w]
    return raw


@jit
def open_rows(tables, base, X, like):
    """Return leaves, sums and the paths of rows, the steps of each column together."""
    nodes, bits, root, slot, value, _ = tables
    n, n_columns = X.shape
    leaf = np.empty((n, len(root)), np.int32)
    raw = np.empty((n, len(base)))
    first = np.zeros(n * n_columns + 1, np.int64)
    for i in range(n):
        raw[i] = base
        for t in range(len(root)):
            at = root[t]
            while at >= 0:
                node = nodes[at]
                column = node.test & COLUMN
                first[i * n_columns + column + 1] += 1
                at = node.left if _goes_left(node, X[i, column], bits) else node.right
            leaf[i, t] = ~at
            for w in range(value.shape[1]):
                raw[i, slot[t] + w] += value[~at, w]
    for j in range(n * n_columns):
        first[j + 1] += first[j]
    steps = np.empty(first[-1], like.dtype)
    free = first[:-1].copy()
    for i in range(n):
        for t in range(len(root)):
            at, depth = root[t], 0
            while at >= 0:
                node = nodes[at]
                column = node.test & COLUMN
                left = _goes_left(node, X[i, column], bits)
                step = steps[free[i * n_columns + column]]
                free[i * n_columns + column] += 1
                step.threshold, step.test = node.threshold, node.test
                step.test |= WENT_LEFT if left else 0
                step.tree, step.depth = t, depth
                step.turn = node.right if left else node.left
                depth += 1
                at = node.left if left else node.right
    return leaf, raw, first, steps


@jit
def change(tables, rows, order, row, ptr, col, val):
    """Return the sums of candidates, each from those of its base row."""
    nodes, bits, root, slot, value, rank = tables
    X, leaf, raw, first, steps = rows
    n_columns = X.shape[1]
    out = np.empty((len(row), raw.shape[1]))
    x = np.empty(n_columns)
    # Position j of a list of trees to walk: which one, from where, at what depth.
    lists = np.empty((5, len(root)), np.int32)
    tree, at, depth, place, live = lists[0], lists[1], lists[2], lists[3], lists[4]
    seen = np.full(len(root), -1)
    held = -1
    for i in order:
        r = row[i]
        if r != held:
            x[:] = X[r]
            held = r
        n = 0
        for c in range(ptr[i], ptr[i + 1]):
            column = rank[col[c]]
            if column < 0:
                continue
            x[column] = val[c]
            j = r * n_columns + column
            for s in range(first[j], first[j + 1]):
                step = steps[s]
                if _goes_left(step, val[c], bits) == (step.test & WENT_LEFT != 0):
                    continue
                t = step.tree
                if seen[t] != i:
                    seen[t], place[t] = i, n
                    tree[n], at[n], depth[n] = t, step.turn, step.depth
                    n += 1
                elif step.depth < depth[place[t]]:
                    at[place[t]], depth[place[t]] = step.turn, step.depth
        _walk(nodes, bits, x, at, live, n)
        out[i] = raw[r]
        for j in range(n):
            t = tree[j]
            for w in range(value.shape[1]):
                out[i, slot[t] + w] += value[~at[j], w] - value[leaf[r, t], w]
        for c in range(ptr[i], ptr[i + 1]):
            column = rank[col[c]]
            if column >= 0:
                x[column] = X[r, column]
    return out


@jit
def _walk(nodes, bits, x, at, live, n):
    """Walk from the nodes `at` to leaves, a step in each tree by turns.

    The trees do not wait for each other's nodes to arrive from memory that way: twice
    as fast for large forests as tree after tree.
    """
    left = 0
    for j in range(n):
        live[left] = j
        left += at[j] >= 0
    n = left
    while n > 0:
        left = 0
        for k in range(n):
            j = live[k]
            node = nodes[at[j]]
            down = _goes_left(node, x[node.test & COLUMN], bits)
            at[j] = node.left if down else node.right
            live[left] = j
            left += at[j] >= 0
        n = left
