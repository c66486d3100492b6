"""Compiled walks through the trees of an ensemble."""

import numpy as np

from skcf._jit import jit

# The bits of `test` above the column: what a comparison alone does not decide.
COLUMN = np.uint32((1 << 28) - 1)
MISSING_LEFT, CATEGORY = np.uint32(1 << 28), np.uint32(1 << 29)
WENT_LEFT = np.uint32(1 << 30)


def node_type(number):
    """Return the record of an inner node, with a threshold of a type."""
    whole = [("test", "u4"), ("left", "i4"), ("right", "i4")]
    return np.dtype([("threshold", number), *whole], align=True)


def step_type(number):
    """Return the record of a test on the path of a base row.

    It is a copy of the node's with its tree and its depth, and the node that a row
    turns to whose cell decides otherwise. From there the base row would come to the
    leaf ``~stop``, unless it rises in a column whose bit is set in `up` or falls in one
    of `down`.
    """
    whole = [("test", "u4"), ("tree", "u4"), ("depth", "i4")]
    ahead = [("turn", "i4"), ("stop", "i4"), ("up", "u8"), ("down", "u8")]
    return np.dtype([("threshold", number), *whole, *ahead], align=True)


@jit
def _bit(column):
    """Return the bit that stands for a column, and for some others."""
    return np.uint64(1) << (np.uint64(column) & np.uint64(63))


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
    """Return the sums of rows over the trees."""
    nodes, bits, root, slot, value, _, _ = tables
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
    """Return (own, raw, first, split, steps) of rows.

    Tree t adds ``own[i, t]`` to the sums `raw` of row i. Its tests on column j are the
    steps from ``first[i * n_columns + j]`` on, sorted by threshold: those before
    `split` send it to the right, the others to the left. Where that is no matter of
    order, for a missing cell or among sets of categories, `split` is -1.
    """
    nodes, bits, root, slot, value, _, _ = tables
    n, n_columns = X.shape
    own = np.empty((n, len(root), value.shape[1]))
    raw = np.empty((n, len(base)))
    first = np.zeros(n * n_columns + 1, np.int64)
    split = np.zeros(n * n_columns, np.int64)
    for i in range(n):
        raw[i] = base
        for t in range(len(root)):
            at = root[t]
            while at >= 0:
                node = nodes[at]
                column = node.test & COLUMN
                j = i * n_columns + column
                first[j + 1] += 1
                if node.test & CATEGORY != 0 or X[i, column] != X[i, column]:
                    split[j] = -1
                at = node.left if _goes_left(node, X[i, column], bits) else node.right
            own[i, t] = value[~at]
            for w in range(value.shape[1]):
                raw[i, slot[t] + w] += value[~at, w]
    for j in range(n * n_columns):
        first[j + 1] += first[j]
    steps, spare = np.empty(first[-1], like.dtype), np.empty(1, like.dtype)
    middle = _fill_steps(nodes, bits, root, X, first, steps)
    for j in range(n * n_columns):
        if split[j] >= 0:
            split[j] = middle[j]
            _sort_steps(steps[first[j] : middle[j]], spare)
            _sort_steps(steps[middle[j] : first[j + 1]], spare)
    return own, raw, first, split, steps


@jit
def _fill_steps(nodes, bits, root, X, first, steps):
    """Write the steps of each row and column, those to the right before the others.

    Return where the others begin.
    """
    n_columns = X.shape[1]
    low, high = first[:-1].copy(), first[1:].copy()
    for i in range(len(X)):
        for t in range(len(root)):
            at, depth = root[t], 0
            while at >= 0:
                node = nodes[at]
                column = node.test & COLUMN
                left = _goes_left(node, X[i, column], bits)
                j = i * n_columns + column
                high[j] -= left
                step = steps[high[j] if left else low[j]]
                low[j] += not left
                step.threshold, step.test = node.threshold, node.test
                step.test |= WENT_LEFT if left else 0
                step.tree, step.depth = t, depth
                step.turn = node.right if left else node.left
                step.stop, step.up, step.down = _ahead(nodes, bits, X[i], step.turn)
                depth += 1
                at = node.left if left else node.right
    return low


@jit
def _ahead(nodes, bits, x, at):
    """Return (leaf, up, down): where a row comes to, and what would keep it from it."""
    up = down = np.uint64(0)
    while at >= 0:
        node = nodes[np.uint32(at)]
        column = node.test & COLUMN
        cell, bit = x[column], _bit(column)
        left = _goes_left(node, cell, bits)
        either = node.test & CATEGORY != 0 or cell != cell
        if left or either:
            up |= bit
        if not left or either:
            down |= bit
        at = node.left if left else node.right
    return at, up, down


@jit
def _sort_steps(steps, spare):
    """Sort steps by threshold, in place: few as they are, by Shell's method."""
    n = gap = len(steps)
    while gap > 1:
        gap = max(1, gap * 4 // 9)
        for s in range(gap, n):
            _copy(steps[s], spare[0])
            t = s
            while t >= gap and steps[t - gap].threshold > spare[0].threshold:
                _copy(steps[t - gap], steps[t])
                t -= gap
            _copy(spare[0], steps[t])


@jit
def _copy(step, to):
    """Copy a step field by field, which takes half the time of the whole record."""
    to.threshold, to.test = step.threshold, step.test
    to.tree, to.depth = step.tree, step.depth
    to.turn, to.stop, to.up, to.down = step.turn, step.stop, step.up, step.down


@jit
def _moved(up, down, column, own, cell):
    """Return the bits of columns that rise and fall; a missing cell does both."""
    bit = _bit(column)
    return up if cell < own else up | bit, down if cell > own else down | bit


@jit
def _passed(steps, begin, end, split, cell):
    """Return the range of the steps that lie between a row's own cell and another."""
    low = high = split
    while high < end and steps[high].threshold < cell:
        high += 1
    while low > begin and steps[low - 1].threshold >= cell:
        low -= 1
    return low, high


@jit
def change(tables, rows, order, row, ptr, col, val):
    """Return the sums of candidates, each from those of its base row."""
    nodes, bits, root, slot, value, place, rank = tables
    X, own, raw, first, split, steps = rows
    n_columns, one = X.shape[1], raw.shape[1] == 1
    out = np.empty((len(row), raw.shape[1]))
    x = np.empty(n_columns, X.dtype)
    # Of the trees that change: the topmost step that turns, where to walk on from, and
    # the leaves come to.
    lists = np.empty((3, len(root)), np.int32)
    at, leaf, nth = lists[0], lists[1], lists[2]
    tree, top = np.empty(len(root), np.uint32), np.empty(len(root), np.int64)
    seen = np.full(len(root), -1)
    held = -1
    for i in order:
        r = row[i]
        if r != held:
            x[:] = X[r]
            held = r
        n, up, down = 0, np.uint64(0), np.uint64(0)
        for c in range(ptr[i], ptr[i + 1]):
            column = rank[col[c]]
            if column < 0:
                continue
            x[column] = val[c]
            cell = x[column]
            up, down = _moved(up, down, column, X[r, column], cell)
            j = r * n_columns + column
            begin, end = first[j], first[j + 1]
            ordered = split[j] >= 0 and cell == cell
            if ordered:
                begin, end = _passed(steps, begin, end, split[j], cell)
            for s in range(begin, end):
                step = steps[s]
                if not ordered:
                    if _goes_left(step, cell, bits) == (step.test & WENT_LEFT != 0):
                        continue
                t = step.tree
                if seen[t] != i:
                    seen[t], nth[t], tree[n], top[n] = i, n, t, s
                    n += 1
                elif step.depth < steps[top[nth[t]]].depth:
                    top[nth[t]] = s
        for k in range(n):
            step = steps[top[k]]
            at[k] = step.turn if (step.up & up) | (step.down & down) else step.stop
        _walk(nodes, bits, x, at, leaf, n)
        out[i], gain = raw[r], 0.0
        if one:
            for k in range(n):
                gain += value[leaf[k], 0] - own[r, tree[k], 0]
            out[i, 0] += gain
        else:
            _replace(out[i], own[r], slot, tree[:n], value, place, leaf)
        for c in range(ptr[i], ptr[i + 1]):
            column = rank[col[c]]
            if column >= 0:
                x[column] = X[r, column]
    return out


@jit
def _replace(sums, own, slot, tree, value, place, leaf):
    """Put what leaves add to sums in place of what trees added for the base row."""
    for k in range(len(tree)):
        for w in range(value.shape[1]):
            sums[slot[tree[k]] + w] -= own[tree[k], w]
            sums[place[leaf[k]] + w] += value[leaf[k], w]


@jit
def _walk(nodes, bits, x, at, leaf, n):
    """Walk from the nodes `at` to leaves, a step in each tree by turns.

    The trees do not wait for each other's nodes to arrive from memory that way: twice
    as fast for large forests as tree after tree.
    """
    left = done = 0
    for k in range(n):
        to = at[k]
        at[left], leaf[done] = to, ~to
        left += to >= 0
        done += to < 0
    while left > 0:
        n, left = left, 0
        for k in range(n):
            node = nodes[np.uint32(at[k])]
            down = _goes_left(node, x[node.test & COLUMN], bits)
            to = node.left if down else node.right
            at[left], leaf[done] = to, ~to
            left += to >= 0
            done += to < 0
