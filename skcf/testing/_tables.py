"""Tables of the checks, in every container there is, and how to compare them."""

import importlib

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import _safe_indexing

COLUMNS = ("age", "income", "member", "job", "grade", "city")
NUMERIC = [0, 1]
CATEGORICAL = [2, 3, 4, 5]
JOBS = ("clerk", "cook", "smith", "pilot")
GRADES = ("low", "mid", "high")
CITIES = ("Aachen", "Bonn", "Cologne")
UNSEEN_JOB = "pilot"


def mixed_columns(n=60):
    """Return (columns, wealth): a column of each kind, and what decides the class."""
    rng = np.random.RandomState(0)
    columns = {
        "age": rng.randint(18, 70, size=n),
        "income": np.round(rng.uniform(10, 90, size=n), 1),
        "member": rng.rand(n) < 0.5,
        "job": rng.choice(JOBS[:3], size=n).astype(object),
        "grade": rng.choice(GRADES, size=n).astype(object),
        "city": rng.choice(CITIES, size=n).astype(object),
    }
    rank = np.array([GRADES.index(g) for g in columns["grade"]])
    wealth = columns["income"] + 20 * rank + 10 * columns["member"]
    return columns, wealth + (columns["job"] == "smith") * 10.0


def containers():
    """Return the kinds of table that can be made: arrays, and what is installed."""
    return ["array", *(k for k in ("pandas", "polars") if library(k) is not None)]


def library(kind):
    """Return a frame library, None if it is not installed."""
    try:
        return importlib.import_module(kind)
    except ImportError:
        return None


def mixed_table(kind, n=60):
    """Return (table, wealth) with the mixed columns in a container."""
    columns, wealth = mixed_columns(n)
    if kind == "array":
        cells = [c.tolist() for c in columns.values()]
        return np.array(list(zip(*cells, strict=True)), dtype=object), wealth
    lib = library(kind)
    if kind == "polars":
        dtypes = {"job": lib.Enum(JOBS), "grade": lib.Enum(GRADES), "city": lib.String}
        frame = lib.DataFrame({k: c.tolist() for k, c in columns.items()})
        return frame.with_columns(lib.col(k).cast(t) for k, t in dtypes.items()), wealth
    frame = lib.DataFrame(columns, index=[f"r{i}" for i in range(n)])
    grade = lib.CategoricalDtype(GRADES, ordered=True)
    dtypes = {"job": lib.CategoricalDtype(JOBS), "grade": grade, "city": "str"}
    return frame.astype(dtypes), wealth


def take(X, rows):
    """Return some rows of a table, by position."""
    return _safe_indexing(X, np.asarray(rows))


def is_frame(X):
    """Tell whether a table is a data frame."""
    return not isinstance(X, np.ndarray)


def cells(X):
    """Return a table as a list of rows of Python values, None where missing."""
    if is_frame(X):
        rows = nw.from_native(X).rows()
    else:
        rows = X.reshape(len(X), int(np.prod(X.shape[1:]))).tolist()
    return [[None if _missing(v) else v for v in row] for row in rows]


def schema(X):
    """Return what a model sees of a table: container, columns and dtypes."""
    if not is_frame(X):
        return ("ndarray", X.shape[1:], str(X.dtype))
    return (type(X).__module__.split(".")[0], list(X.columns), list(map(str, X.dtypes)))


def labels(X):
    """Return the index of a table, None where its kind has none."""
    index = getattr(X, "index", None)
    return None if index is None else list(index)


def same(a, b):
    """Tell whether two tables are equal bit for bit, dtypes and index included."""
    if schema(a) != schema(b) or len(a) != len(b) or labels(a) != labels(b):
        return False
    return all(_alike(x, y) for x, y in zip(cells(a), cells(b), strict=True))


def _alike(one, other):
    """Tell whether two rows have equal cells of equal types; 0.0 is not -0.0."""
    return all(
        type(a) is type(b) and repr(a) == repr(b)
        for a, b in zip(one, other, strict=True)
    )


def _missing(value):
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
