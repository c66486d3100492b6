"""Trees as compiled code reads them, and sessions over base rows."""

import numpy as np

from skcf._model._links import pair
from skcf._model._tree_kernels import (
    CATEGORY,
    MISSING_LEFT,
    change,
    node_type,
    open_rows,
    step_type,
    sum_leaves,
)

# What the sum of two shares may be off by, relative to its size.
ROUNDING = 4 * np.finfo(np.float64).eps
# Whole numbers up to this one are float32 numbers.
LARGEST_WHOLE = 2**24


class TreeTables:
    """The inner nodes of trees as records, their leaves as ``~position``.

    Parameters
    ----------
    trees : FlatTrees

    Attributes
    ----------
    columns : ndarray
        The encoded columns that are tested anywhere; the kernels number these.
    number : dtype
        Of the numbers that are compared. Half the size where models round to it: more
        nodes stay in the processor's cache.
    total : float or None
        What two scores add up to where that is the same for all rows, as the shares of
        two classes are 1 together; the kernels add up the second one alone.
    start : ndarray
        The sums that the kernels begin with.
    arrays : tuple of ndarray
        (nodes, bits, root, slot, value, place, rank); `place` is the first score that
        a leaf adds to, `rank` the number of each encoded column.
    """

    def __init__(self, trees):
        self.columns = np.unique(trees.feature[trees.feature >= 0])
        small = trees.precision == "float32" and len(trees.bits) < LARGEST_WHOLE
        self.number = np.dtype(np.float32 if small else np.float64)
        inner = trees.feature >= 0
        size = np.diff([*trees.root, len(inner)])
        tree = np.repeat(np.arange(len(size)), size)[~inner]
        self.total = _total(trees.value[~inner], tree, trees.base)
        own = slice(None) if self.total is None else slice(1, None)
        self.start = trees.base[own]
        rank = np.full(trees.n_features, -1, dtype=np.int64)
        rank[self.columns] = np.arange(len(self.columns))
        at = np.where(inner, np.cumsum(inner) - 1, -np.cumsum(~inner)).astype(np.int32)
        self.arrays = (
            self._nodes(trees, at, rank),
            trees.bits,
            at[trees.root],
            trees.slot,
            np.ascontiguousarray(trees.value[~inner, own]),
            trees.slot[tree],
            rank,
        )

    def _nodes(self, trees, at, rank):
        inner = np.flatnonzero(trees.feature >= 0)
        category = trees.category[inner]
        # The largest number that goes left.
        with np.errstate(over="ignore"):
            edge = trees.threshold[inner].astype(self.number)
        beyond = edge > trees.threshold[inner]
        edge[beyond] = np.nextafter(edge[beyond], self.number.type(-np.inf))
        nodes = np.zeros(len(inner), dtype=node_type(self.number))
        nodes["threshold"] = np.where(category < 0, edge, category)
        nodes["test"] = rank[trees.feature[inner]]
        nodes["test"] |= np.where(trees.missing_left[inner], MISSING_LEFT, 0)
        nodes["test"] |= np.where(category < 0, 0, CATEGORY)
        nodes["left"], nodes["right"] = at[trees.left[inner]], at[trees.right[inner]]
        return nodes

    def tested(self, X):
        """Return the cells of encoded rows that are tested."""
        return np.ascontiguousarray(X[:, self.columns], dtype=self.number)

    def sums(self, X):
        """Return the sums over the trees for encoded rows."""
        return self.whole(sum_leaves(self.arrays, self.start, self.tested(X)))

    def whole(self, raw):
        """Return all sums from those that kernels add up."""
        return raw if self.total is None else pair(raw[:, 0], self.total)


def _total(value, tree, base):
    """Return what two scores of any row add up to, None where that depends on it."""
    if value.shape[1] != 2 or len(base) != 2:
        return None
    both = value.sum(axis=1)
    _, first = np.unique(tree, return_index=True)
    same = np.abs(both - both[first][tree]) <= ROUNDING * np.abs(both)
    return both[first].sum() + base.sum() if same.all() else None


class TreeSession:
    """Base rows with their sums and paths; candidates are changed cells.

    Parameters
    ----------
    trees : FlatTrees
    X : ndarray of shape (n_rows, n_features)
        The base rows, encoded.
    """

    def __init__(self, trees, X):
        self.trees, self.tables = trees, trees.tables
        X = self.tables.tested(trees.cast(X))
        like = np.empty(0, dtype=step_type(self.tables.number))
        opened = open_rows(self.tables.arrays, self.tables.start, X, like)
        self._rows = X, *opened

    def scores(self, row, ptr, col, val):
        """Return what the estimator's method returns for candidates.

        Candidate ``i`` is base row ``row[i]`` with its encoded cells
        ``col[ptr[i] : ptr[i + 1]]`` set to the numbers `val` there.
        """
        return self.trees.finish(self.raw(row, ptr, col, val))

    def raw(self, row, ptr, col, val):
        """Return the sums over the trees for candidates."""
        row, ptr, col = (
            np.ascontiguousarray(a, dtype=np.int64) for a in (row, ptr, col)
        )
        # The paths of one base row fit in the processor's cache, those of all do not.
        if (row[1:] >= row[:-1]).all():
            order = np.arange(len(row))
        else:
            order = np.argsort(row, kind="stable")
        if self.tables.number != np.float32 or not np.isnan(self.trees.missing):
            val = self.trees.cast(val)  # else the kernel rounds by itself
        val = np.ascontiguousarray(val, dtype=np.float64)
        raw = change(self.tables.arrays, self._rows, order, row, ptr, col, val)
        return self.tables.whole(raw)
