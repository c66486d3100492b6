"""The containers a table comes in: what they share, and the ndarray.

There is one class for each container, with the same few verbs, so that the rest of
the library never asks which one it holds. pandas and polars are reached through the
user's own frame and are never imported here.
"""

import narwhals.stable.v2 as nw
import numpy as np


class Container:
    """What all containers have in common.

    Attributes
    ----------
    names : list
        Names of the columns; positions where they have none.
    labels : list of str
        Other names that a column can be called by.
    dtypes : list
        The dtype of every column, in the terms of the container.
    types : list of narwhals dtypes
        The same in terms that all containers share.
    """

    def index(self, X):
        """Return the labels of the rows; their positions where they have none."""
        return np.arange(len(X))

    def position(self, name):
        """Return the position of a column given by name, label or position."""
        if name in self.names:
            return self.names.index(name)
        if name in self.labels:
            return self.labels.index(name)
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            if 0 <= name < len(self.names):
                return int(name)
        known = ", ".join(map(repr, self.names[:8]))
        more = " ..." if len(self.names) > 8 else ""
        raise ValueError(f"there is no column {name!r}; expected one of {known}{more}")


class ArrayContainer(Container):
    """A two-dimensional ndarray; its columns are named by position."""

    kind = "array"

    def __init__(self, X):
        self.names = list(range(X.shape[1]))
        self.labels = [f"x{j}" for j in self.names]
        self.dtypes = [X.dtype] * X.shape[1]
        self.types = [numpy_type(X.dtype)] * X.shape[1]

    def describes(self, X):
        """Tell whether a table has exactly these columns and dtypes."""
        width = len(self.names)
        return (
            isinstance(X, np.ndarray)
            and X.shape[1:] == (width,)
            and (X.dtype == self.dtypes[0])
        )

    def columns(self, X):
        """Return all columns as they are stored."""
        return [X[:, j] for j in range(X.shape[1])]

    def column(self, X, j):
        """Return column `j` as it is stored."""
        return X[:, j]

    def numbers(self, column):
        """Return a column of numbers as float64, missing as NaN."""
        return column.astype(np.float64)

    def factorize(self, column):
        """Return (position of each value among the distinct ones, distinct values).

        The position of a missing value is -1. Values are those of Python.
        """
        if column.dtype.kind in "biuf":
            known, at = np.unique(column, return_inverse=True, equal_nan=True)
            return np.where(column == column, at.ravel(), -1), known.tolist()
        return factorize(column.tolist())

    def missing_value(self, column, dtype):
        """Return what stands for a missing value in a column."""
        if dtype.kind != "O":
            return np.nan
        return next((v for v in column.tolist() if is_missing(v)), np.nan)

    def holds_missing(self, dtype):
        """Tell whether a column of this dtype can have missing values."""
        return dtype.kind in "fO"

    def listed(self, dtype):
        """Return the categories that a dtype lists, None if it lists none."""
        return None

    def write(self, codes, dtype, missing=None):
        """Write numbers in `dtype`; a missing one is written as `missing`."""
        return codes.astype(dtype)

    def write_levels(self, levels, codes, dtype, missing=None):
        """Write level `codes` (NaN is missing) of `levels` in `dtype`."""
        last = missing if dtype.kind in "fO" else levels[0]
        table = np.empty(len(levels) + 1, dtype=object)
        table[:-1], table[-1] = levels, last
        at = np.where(np.isnan(codes), len(levels), codes).astype(np.intp)
        return table.astype(dtype)[at]

    def where(self, changed, new, old):
        """Return `new` where `changed`, else `old`."""
        return np.where(changed, new, old)

    def cast(self, column, dtype):
        """Return a column in another dtype."""
        return column.astype(dtype)

    def adopt(self, other, column, dtype):
        """Return a column of any container in `dtype` of this one."""
        return np.asarray(column).astype(dtype)

    def wider(self, dtype, levels, whole):
        """Return a dtype that holds these levels, or numbers if there are none."""
        if levels is None:
            return np.dtype(np.int64 if whole and dtype.kind in "biu" else np.float64)
        return np.array(levels).dtype

    def take(self, X, rows):
        """Return the rows of a table at the given positions."""
        return X[rows]

    def gather(self, column, at):
        """Return the values of a column at the given positions."""
        return column[at]

    def build(self, columns, like=None):
        """Put columns together to a table (with the index of `like`)."""
        dtype = columns[0].dtype
        if any(c.dtype != dtype for c in columns):
            mixed = len({c.dtype.kind in "biuf" for c in columns}) > 1
            mixed = mixed or any(c.dtype.kind == "O" for c in columns)
            dtype = object if mixed else np.result_type(*columns)
        out = np.empty((len(columns[0]), len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def replaced(self, X, new):
        """Return a table with some columns replaced, `new` by position."""
        old = self.columns(X)
        return self.build([new.get(j, column) for j, column in enumerate(old)])


def numpy_type(dtype):
    """Return the narwhals dtype of a numpy one."""
    bits = 8 * dtype.itemsize
    match dtype.kind:
        case "b":
            return nw.Boolean()
        case "i":
            return getattr(nw, f"Int{bits}")()
        case "u":
            return getattr(nw, f"UInt{bits}")()
        case "f":
            return nw.Float32() if bits <= 32 else nw.Float64()
        case "U" | "S":
            return nw.String()
        case "O":
            return nw.Object()
        case "M":
            return nw.Datetime()
        case "m":
            return nw.Duration()
    return nw.Unknown()


def is_missing(value):
    """Tell whether a Python value stands for a missing one."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"  # pandas.NA has no truth value


def factorize(values):
    """Return (position among the distinct values, these) of a list of values."""
    at = np.empty(len(values), dtype=np.intp)
    seen = {}
    for i, value in enumerate(values):
        at[i] = -1 if is_missing(value) else seen.setdefault(value, len(seen))
    return at, list(seen)
