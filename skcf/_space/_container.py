"""The three containers a table comes in: ndarray, pandas and polars.

One class for each, with the same few verbs, so that the rest of the library never
asks which one it holds. pandas and polars are reached through the user's own frame
and are never imported here.
"""

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse


def container_of(X):
    """Return the container class that reads and writes tables like `X`."""
    if issparse(X):
        raise TypeError(
            "Sparse input is not supported: a counterfactual changes single cells of "
            "a dense table. Use X.toarray()."
        )
    if isinstance(X, np.ndarray):
        return ArrayContainer(X)
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("A LazyFrame holds no rows yet; call .collect() first.")
    if isinstance(frame, nw.DataFrame):
        if frame.implementation.is_pandas():
            return PandasContainer(frame)
        if frame.implementation.is_polars():
            return PolarsContainer(frame)
        raise TypeError(
            f"A {frame.implementation} frame is not supported; expected a numpy "
            "array, a pandas DataFrame or a polars DataFrame."
        )
    raise TypeError(
        f"Expected a numpy array, a pandas DataFrame or a polars DataFrame, "
        f"got {type(X).__name__}."
    )


class _Container:
    """What the three containers have in common."""

    def index(self, X):
        """Return the labels of the rows; their positions where they have none."""
        return np.arange(len(X))

    def position(self, name):
        """Return the position of a column given by name or position."""
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


class ArrayContainer(_Container):
    """A two-dimensional ndarray; its columns are named by position."""

    kind = "array"

    def __init__(self, X):
        self.dtype = X.dtype
        self.names = list(range(X.shape[1]))
        self.labels = [f"x{j}" for j in self.names]
        self.dtypes = [X.dtype] * X.shape[1]

    def schema(self, X):
        """Return the dtype of every column of another table of this kind."""
        return [X.dtype] * X.shape[1]

    def column(self, X, j):
        """Return column `j` as it is stored."""
        return X[:, j]

    def numbers(self, column):
        """Return a column of numbers as float64, missing as NaN."""
        return column.astype(np.float64)

    def missing(self, column):
        """Return the mask of missing cells of a column."""
        if column.dtype.kind == "f":
            return np.isnan(column)
        if column.dtype.kind == "O":
            return np.array([v is None or v != v for v in column], dtype=bool)
        return np.zeros(len(column), dtype=bool)

    def values(self, column):
        """Return a column as a list of Python values."""
        return column.tolist()

    def write(self, codes, dtype, null=False):
        """Write numbers in `dtype`; `null` writes a missing one as null, not NaN."""
        if dtype.kind in "iu":
            codes = np.rint(codes)
        return codes.astype(dtype)

    def write_levels(self, levels, codes, dtype):
        """Write level `codes` (NaN is missing) of `levels` in `dtype`."""
        if dtype.kind == "O":
            table = np.empty(len(levels) + 1, dtype=object)
            table[:-1] = levels
            table[-1] = np.nan
        else:
            missing = [np.nan] if dtype.kind == "f" else levels[:1]
            table = np.array([*levels, *missing], dtype=dtype)
        return table[np.where(np.isnan(codes), len(levels), codes).astype(np.intp)]

    def where(self, changed, new, old):
        """Return `new` where `changed`, else `old`."""
        return np.where(changed, new, old)

    def cast(self, column, dtype):
        """Return a column in another dtype."""
        return column.astype(dtype)

    def take(self, X, rows):
        """Return the rows of a table at the given positions."""
        return X[rows]

    def build(self, columns, like=None):
        """Put columns together to a table (with the index of `like`)."""
        dtype = columns[0].dtype
        if any(c.dtype != dtype for c in columns):
            mixed = any(c.dtype.kind == "O" for c in columns)
            dtype = object if mixed else np.result_type(*columns)
        out = np.empty((len(columns[0]), len(columns)), dtype=dtype)
        for j, column in enumerate(columns):
            out[:, j] = column
        return out


class _FrameContainer(_Container):
    """What the two frame libraries have in common."""

    def __init__(self, frame):
        native = frame.to_native()
        self._namespace = frame.__native_namespace__()
        self.names = list(native.columns)
        self.labels = [str(name) for name in self.names]
        duplicated = {n for n in self.names if self.names.count(n) > 1}
        if duplicated:
            raise ValueError(f"Column names must be unique; {duplicated} are not.")
        self.dtypes = self.schema(native)

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "_namespace"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        import importlib

        # A pickled explainer of frames needs the frame library to be used at all.
        self._namespace = importlib.import_module(self.kind)

    def missing(self, column):
        series = nw.from_native(column, series_only=True)
        null = series.is_null().to_numpy().astype(bool)
        if series.dtype.is_float():
            nan = series.is_nan().fill_null(False).to_numpy().astype(bool)
            null = null | nan
        return null

    def values(self, column):
        return nw.from_native(column, series_only=True).to_list()


class PandasContainer(_FrameContainer):
    """A pandas DataFrame."""

    kind = "pandas"

    def index(self, X):
        return np.asarray(X.index)

    def schema(self, X):
        return list(X.dtypes)

    def column(self, X, j):
        return X.iloc[:, j]

    def numbers(self, column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan).copy()

    def write(self, codes, dtype, null=False):
        pd = self._namespace
        if isinstance(dtype, np.dtype):
            if dtype.kind in "iu":
                codes = np.rint(codes)
            return pd.Series(codes.astype(dtype), copy=False)
        return pd.Series(pd.array(codes, dtype="Float64").astype(dtype), copy=False)

    def write_levels(self, levels, codes, dtype):
        pd = self._namespace
        if isinstance(dtype, pd.CategoricalDtype):
            known = {v: k for k, v in enumerate(dtype.categories)}
            table = np.array([known.get(v, -1) for v in levels] + [-1])
            at = table[np.where(np.isnan(codes), -1, codes).astype(np.intp)]
            return pd.Series(pd.Categorical.from_codes(at, dtype=dtype), copy=False)
        missing = np.isnan(codes)
        table = pd.Series([*levels, None] if missing.any() else levels, dtype=object)
        at = np.where(missing, len(levels), codes).astype(np.intp)
        return table.astype(dtype).take(at).reset_index(drop=True)

    def where(self, changed, new, old):
        return old.where(~changed, new.set_axis(old.index))

    def cast(self, column, dtype):
        return column.astype(dtype)

    def take(self, X, rows):
        return X.iloc[rows]

    def build(self, columns, like=None):
        pd = self._namespace
        data = dict(enumerate(columns))
        frame = pd.DataFrame(data, copy=False)
        if like is None:
            frame.columns = self.names
        else:
            frame.columns, frame.index = like.columns, like.index
        return frame


class PolarsContainer(_FrameContainer):
    """A polars DataFrame."""

    kind = "polars"

    def schema(self, X):
        return list(X.dtypes)

    def column(self, X, j):
        return X.to_series(j)

    def numbers(self, column):
        pl = self._namespace
        return column.cast(pl.Float64).to_numpy().astype(np.float64)

    def write(self, codes, dtype, null=False):
        pl = self._namespace
        series = pl.Series(codes, dtype=pl.Float64)
        if dtype.is_integer():
            series = series.round()
        if null or not dtype.is_float():
            series = series.fill_nan(None)
        return series.cast(dtype)

    def write_levels(self, levels, codes, dtype):
        pl = self._namespace
        at = pl.Series(np.where(np.isnan(codes), len(levels), codes).astype(np.int64))
        return pl.Series([*levels, None]).cast(dtype).gather(at)

    def where(self, changed, new, old):
        return new.zip_with(self._namespace.Series(changed), old)

    def cast(self, column, dtype):
        return column.cast(dtype)

    def take(self, X, rows):
        return X[rows]

    def build(self, columns, like=None):
        names = self.names if like is None else like.columns
        pl = self._namespace
        return pl.DataFrame([c.alias(n) for n, c in zip(names, columns, strict=True)])
