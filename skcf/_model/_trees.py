"""Tree ensembles as flat arrays, evaluated for the cells that change.

A candidate differs from its base row in a few encoded cells. Only trees whose path for
the base row meets a test that a new cell decides differently can end in another leaf,
so a session keeps these paths, column by column, with the leaves that lie off them, and
walks on where a tree then tests a cell that changed too.
"""

from dataclasses import dataclass
from functools import cached_property

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, softmax

from skcf._model._links import pair
from skcf._model._tree_tables import TreeSession, TreeTables

# Up to this size LightGBM takes a number for zero.
ZERO = float(np.float32(1e-35))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FlatTrees:
    """All trees of a fitted ensemble, their nodes one after another.

    A row goes left where ``x[feature] <= threshold`` (all libraries are brought to
    this form: thresholds of float32 models are float32 numbers), where a missing
    cell has `missing_left`, and where the code of a category is in the node's set.

    Attributes
    ----------
    root : int32 (n_trees,)
    slot : int32 (n_trees,)
        The first score that the values of a tree are added to.
    feature : int32 (n_nodes,)
        The encoded column that is tested, -1 at a leaf.
    threshold : float64 (n_nodes,)
    left, right : int32 (n_nodes,)
    missing_left : bool (n_nodes,)
    category : int64 (n_nodes,)
        Where the node's set begins in `bits`, -1 for a comparison.
    bits : int64 (n_words,)
        For each set twice the number of its bits, plus 1 if codes beyond them (and
        negative ones) go left; then the bits, 64 a word, 1 for left.
    value : float64 (n_nodes, n_values)
        What a leaf adds to the scores ``slot : slot + n_values`` of its tree.
    base : float64 (n_scores,)
    link : {"identity", "sigmoid", "softmax", "exp", "signed_square", "median"}
        What turns the sums into what the estimator's `method` returns.
    method : {"predict", "predict_proba", "decision_function"}
    n_features : int
    precision : {"float32", "float64"}
        What the model rounds its input to.
    weight : float64 (n_trees,), where the link is the weighted median
    missing : float
        A number that stands for a missing cell, NaN if there is none.
    sparse_missing : bool
        Whether the absent cells of a sparse table are missing, not zero.
    levels : dict of int to list, or tuple of lists
        The levels of categorical columns in the order of their codes; a tuple where
        they belong to the categorical columns of a frame, one after another.
    """

    root: np.ndarray
    slot: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    category: np.ndarray
    bits: np.ndarray
    value: np.ndarray
    base: np.ndarray
    link: str
    method: str
    n_features: int
    precision: str
    weight: np.ndarray | None = None
    missing: float = np.nan
    sparse_missing: bool = False
    levels: dict | tuple = ()

    def __repr__(self):
        return f"FlatTrees(n_trees={len(self.root)}, n_nodes={len(self.feature)})"

    @property
    def coding(self):
        """What sets the result of `encode` apart from that of other trees."""
        return self.precision, self.missing, self.sparse_missing, repr(self.levels)

    def encode(self, X):
        """Return what the estimator takes, array, frame or sparse, as float64 rows."""
        if issparse(X):
            X = X.tocoo()
            rows = np.full(X.shape, np.nan if self.sparse_missing else 0.0)
            rows[X.row, X.col] = X.data
            return self.cast(rows)
        levels = self.levels
        if isinstance(X, np.ndarray) and not isinstance(levels, dict):
            return self.cast(X)
        frame = None if isinstance(X, np.ndarray) else nw.from_native(X)
        if not isinstance(levels, dict):
            kinds = (nw.Categorical, nw.Enum)
            dtypes = frame.schema.values()
            at = [j for j, dtype in enumerate(dtypes) if isinstance(dtype, kinds)]
            levels = dict(zip(at, levels, strict=bool(levels)))
        rows = np.empty(X.shape)
        for j in range(X.shape[1]):
            column = X[:, j] if frame is None else frame[:, j]
            if j in levels:
                code = {level: k for k, level in enumerate(levels[j])}
                cells = column.tolist() if frame is None else column.to_list()
                rows[:, j] = [code.get(v, np.nan) for v in cells]
            elif frame is None:
                rows[:, j] = column
            else:
                rows[:, j] = column.cast(nw.Float64).to_numpy()
        return self.cast(rows)

    def cast(self, values):
        """Return numbers as the model sees them: rounded, missing ones as NaN."""
        values = np.asarray(values, dtype=np.float64)
        if self.precision == "float32":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32).astype(np.float64)
        if not np.isnan(self.missing):
            values = np.where(np.abs(values - self.missing) <= ZERO, np.nan, values)
        return values

    def scores(self, X):
        """Return what the estimator's method returns for encoded rows."""
        return self.finish(self.raw(X))

    def raw(self, X):
        """Return the sums over the trees, float64 of shape (n_rows, n_scores)."""
        return self.tables.sums(self.cast(X))

    def open(self, X):
        """Return a session over encoded base rows."""
        return TreeSession(self, X)

    def finish(self, raw):
        """Return what the method makes of the sums."""
        if self.link == "sigmoid":
            raw = expit(raw)
        elif self.link == "softmax":
            raw = softmax(raw, axis=1)
        elif self.link == "exp":
            with np.errstate(over="ignore"):
                raw = np.exp(raw)
        elif self.link == "signed_square":
            raw = raw * np.abs(raw)
        elif self.link == "median":
            raw = _weighted_median(raw, self.weight)
        if self.method == "predict":
            return raw[:, 0]
        if self.method == "decision_function":
            return raw[:, 0] if raw.shape[1] == 1 else raw
        if self.link == "sigmoid" and raw.shape[1] == 1:
            return pair(raw[:, 0])
        return raw

    @property
    def splits(self):
        """The sorted numbers at which each encoded column is split, None for a set."""
        out = [np.empty(0)] * self.n_features
        for j in self.tables.columns:
            mine = self.feature == j
            sets = (self.category[mine] >= 0).any()
            out[j] = None if sets else np.unique(self.threshold[mine])
        return out

    @cached_property
    def tables(self):
        """What the kernels read."""
        return TreeTables(self)

    def _scores_numpy(self, X):
        """Return `scores` without compiled code: what these are tested against."""
        X = self.cast(X)
        node = np.tile(self.root, (len(X), 1))
        while (inner := self.feature[node] >= 0).any():
            row, tree = np.nonzero(inner)
            at = node[row, tree]
            left = self._goes_left_numpy(at, X[row, self.feature[at]])
            node[row, tree] = np.where(left, self.left[at], self.right[at])
        raw = np.tile(self.base, (len(X), 1))
        for t, slot in enumerate(self.slot):
            raw[:, slot : slot + self.value.shape[1]] += self.value[node[:, t]]
        return self.finish(raw)

    def _goes_left_numpy(self, at, x):
        left = np.where(np.isnan(x), self.missing_left[at], x <= self.threshold[at])
        for i in np.flatnonzero((self.category[at] >= 0) & ~np.isnan(x)):
            begin = self.category[at[i]]
            size, left[i] = divmod(int(self.bits[begin]), 2)
            if 0 <= x[i] < size:
                word, bit = divmod(int(x[i]), 64)
                left[i] = self.bits[begin + 1 + word] >> bit & 1
        return left


def _weighted_median(values, weight):
    """Return the weighted median of each row, as AdaBoost.R2 takes it."""
    order = np.argsort(values, axis=1)
    mass = np.cumsum(weight[order], axis=1)
    at = np.argmax(mass >= 0.5 * mass[:, -1:], axis=1)
    return np.take_along_axis(values, order[np.arange(len(at)), at][:, None], axis=1)


@dataclass
class Tree:
    """One tree; `sets` holds (node, bit of each code, bit of any other code)."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    sets: tuple = ()


def join_trees(trees, *, slot=None, base, precision, **rest):
    """Return FlatTrees of single trees."""
    size = np.array([len(t.feature) for t in trees])
    root = np.cumsum(size) - size
    category, words, n_words = [], [], 0
    for tree in trees:
        at = np.full(len(tree.feature), -1, dtype=np.int64)
        for node, bits, other in tree.sets:
            at[node] = n_words
            words.append(np.array([2 * len(bits) + bool(other)], dtype=np.int64))
            padded = np.zeros(-(-len(bits) // 64) * 64, dtype=np.uint8)
            padded[: len(bits)] = bits
            packed = np.packbits(padded, bitorder="little")
            words.append(packed.view("<i8").astype(np.int64))
            n_words += 1 + len(words[-1])
        category.append(at)

    def join(name, dtype):
        parts = [np.asarray(getattr(t, name)) for t in trees]
        return np.concatenate(parts).astype(dtype)

    leaf = join("feature", np.int32) < 0
    below = np.repeat(root, size)
    return FlatTrees(
        root=root.astype(np.int32),
        slot=np.zeros(len(trees), np.int32) if slot is None else slot.astype(np.int32),
        feature=np.where(leaf, -1, join("feature", np.int32)).astype(np.int32),
        threshold=join("threshold", np.float64),
        left=np.where(leaf, -1, join("left", np.int64) + below).astype(np.int32),
        right=np.where(leaf, -1, join("right", np.int64) + below).astype(np.int32),
        missing_left=join("missing_left", bool),
        category=np.concatenate(category),
        bits=np.concatenate(words) if words else np.zeros(0, dtype=np.int64),
        value=np.where(leaf[:, None], join("value", np.float64), 0.0),
        base=np.asarray(base, dtype=np.float64),
        precision=precision,
        **rest,
    )


def joined_splits(kernels):
    """Return the `splits` of several kernels together, None if they are no trees.

    Nor where a number stands for a missing cell.
    """
    for kernel in kernels:
        if not isinstance(kernel, FlatTrees) or not np.isnan(kernel.missing):
            return None
    return [
        None if any(s is None for s in column) else np.unique(np.concatenate(column))
        for column in zip(*(kernel.splits for kernel in kernels), strict=True)
    ]


def unpack_bits(words):
    """Return the bits of 32-bit words."""
    return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little") != 0


def method_of(estimator):
    return "predict_proba" if hasattr(estimator, "classes_") else "predict"
