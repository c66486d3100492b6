"""Tables of pandas and polars."""

import importlib

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from skcf._space._container import (
    ArrayContainer,
    Container,
    factorize,
    is_missing,
    numpy_type,
)

# Up to so many values a dictionary finds the distinct ones faster than pandas does.
FEW = 64


def container_of(X):
    """Return the container that reads and writes tables like `X`."""
    kind, frame = kind_of(X)
    return kind(frame)


def kind_of(X):
    """Return the class of the container of `X`, and what it is made of.

    Other tables are an error.
    """
    if issparse(X):
        raise TypeError(
            "Sparse input is not supported: a counterfactual changes single cells of "
            "a dense table. Use X.toarray()."
        )
    if isinstance(X, np.ndarray):
        return ArrayContainer, X
    frame = nw.from_native(X, pass_through=True)
    if frame is not X and hasattr(X, "to_native") or isinstance(X, nw.DataFrame):
        raise TypeError("Pass a native frame: X.to_native() in place of X.")
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("A LazyFrame holds no rows yet; call .collect() first.")
    if isinstance(frame, nw.DataFrame):
        if frame.implementation.is_pandas():
            return PandasContainer, frame
        if frame.implementation.is_polars():
            return PolarsContainer, frame
        raise TypeError(
            f"A {frame.implementation} frame is not supported; expected a numpy "
            "array, a pandas DataFrame or a polars DataFrame."
        )
    raise TypeError(
        f"Expected a numpy array, a pandas DataFrame or a polars DataFrame, "
        f"got {type(X).__name__}."
    )


class _FrameContainer(Container):
    """What the two frame libraries have in common."""

    def __init__(self, frame):
        native = frame.to_native()
        self._namespace = frame.__native_namespace__()
        self.names = list(native.columns)
        self.labels = [str(name) for name in self.names]
        self.dtypes = list(native.dtypes)
        pairs = zip(self.dtypes, frame.schema.values(), strict=True)
        self.types = [self._type(dtype, type_) for dtype, type_ in pairs]

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if k != "_namespace"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        # A pickled explainer of frames needs the frame library to be used at all.
        self._namespace = importlib.import_module(self.kind)

    def describes(self, X):
        if not isinstance(X, self._namespace.DataFrame):
            return False
        same = X.shape[1] == len(self.names) and list(X.columns) == self.names
        return same and all(map(_identical, X.dtypes, self.dtypes))

    def adopt(self, other, column, dtype):
        if other.kind == self.kind:
            return self.cast(column, dtype)
        return self._series(list(column), dtype)


def _identical(one, two):
    """Tell whether dtypes are the same, the order of their categories included."""
    return one is two or (one == two and not hasattr(one, "categories"))


class PandasContainer(_FrameContainer):
    """A pandas DataFrame."""

    kind = "pandas"

    def _type(self, dtype, type_):
        return numpy_type(dtype) if isinstance(dtype, np.dtype) else type_

    def _series(self, values, dtype):
        return self._namespace.Series(values, dtype=dtype)

    def index(self, X):
        return np.asarray(X.index)

    def columns(self, X):
        return [column for _, column in X.items()]

    def column(self, X, j):
        return X.iloc[:, j]

    def numbers(self, column):
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return column.to_numpy().astype(np.float64)
        return column.to_numpy(dtype=np.float64, na_value=np.nan).copy()

    def factorize(self, column):
        if self.listed(column.dtype) is not None:
            return column.cat.codes.to_numpy(np.intp), list(column.cat.categories)
        if len(column) <= FEW:
            return factorize(column.tolist())
        at, known = column.factorize()
        return at, known.tolist()

    def missing_value(self, column, dtype):
        if dtype != np.dtype(object):
            return None
        return next((v for v in column.tolist() if is_missing(v)), np.nan)

    def holds_missing(self, dtype):
        return not isinstance(dtype, np.dtype) or dtype.kind in "fO"

    def listed(self, dtype):
        listed = isinstance(dtype, self._namespace.CategoricalDtype)
        return list(dtype.categories) if listed else None

    def write(self, codes, dtype, missing=None):
        pd = self._namespace
        if isinstance(dtype, np.dtype):
            return pd.Series(codes.astype(dtype), copy=False)
        return pd.Series(pd.array(codes, dtype="Float64").astype(dtype), copy=False)

    def write_levels(self, levels, codes, dtype, missing=None):
        pd = self._namespace
        at = np.where(np.isnan(codes), len(levels), codes).astype(np.intp)
        listed = self.listed(dtype)
        if listed is not None:
            known = {v: k for k, v in enumerate(listed)}
            table = np.array([known.get(v, -1) for v in levels] + [-1])
            return pd.Series(pd.Categorical.from_codes(table[at], dtype=dtype))
        some = [*levels, missing] if self.holds_missing(dtype) else list(levels)
        table = pd.Series(some, dtype=object).astype(dtype)
        return pd.Series(table.array.take(at), dtype=dtype, copy=False)

    def where(self, changed, new, old):
        if changed.all():
            return new.set_axis(old.index)
        pd, each = self._namespace, np.arange(len(old))
        if isinstance(old.dtype, np.dtype) and old.dtype.kind in "biufO":
            cells = np.where(changed, new.to_numpy(), old.to_numpy())
        else:
            both = pd.concat([old, new], ignore_index=True).array
            cells = both.take(np.where(changed, len(old) + each, each))
        return pd.Series(cells, index=old.index, dtype=old.dtype, copy=False)

    def cast(self, column, dtype):
        return column.astype(dtype)

    def wider(self, dtype, levels, whole):
        pd = self._namespace
        if levels is not None:
            return pd.Series(levels, dtype=object).convert_dtypes().dtype
        if isinstance(dtype, np.dtype):
            return np.dtype(np.int64 if whole and dtype.kind in "biu" else np.float64)
        return pd.Int64Dtype() if whole else pd.Float64Dtype()

    def take(self, X, rows):
        return X.iloc[rows]

    def gather(self, column, at):
        return column.iloc[at]

    def build(self, columns, like=None):
        # Columns of different index would be aligned by it.
        data = {j: column.reset_index(drop=True) for j, column in enumerate(columns)}
        frame = self._namespace.DataFrame(data, copy=False)
        frame.columns = self.names if like is None else like.columns
        if like is not None:
            frame.index = like.index
        return frame

    def replaced(self, X, new):
        frame = X.copy(deep=False)
        for j, column in new.items():
            frame.isetitem(j, column)
        return frame


class PolarsContainer(_FrameContainer):
    """A polars DataFrame."""

    kind = "polars"

    def _type(self, dtype, type_):
        if dtype == self._namespace.Null:
            return nw.Float64()
        return nw.Unknown() if dtype == self._namespace.Object else type_

    def _series(self, values, dtype):
        return self._namespace.Series(values, dtype=dtype)

    def columns(self, X):
        return X.get_columns()

    def column(self, X, j):
        return X.to_series(j)

    def numbers(self, column):
        pl = self._namespace
        return column.cast(pl.Float64).to_numpy().astype(np.float64)

    def factorize(self, column):
        pl = self._namespace
        if column.dtype.is_float():
            column = column.fill_nan(None)
        elif isinstance(column.dtype, (pl.Categorical, pl.Enum)):
            column = column.cast(pl.String)
        known = column.drop_nulls().unique(maintain_order=True)
        if column.dtype == pl.String:
            at = column.cast(pl.Enum(known)).to_physical().cast(pl.Int64)
        else:
            place = pl.Series(range(len(known)), dtype=pl.Int64)
            at = column.replace_strict(known, place, default=None)
        return at.fill_null(-1).to_numpy().astype(np.intp), known.to_list()

    def missing_value(self, column, dtype):
        return None if column.null_count() or not dtype.is_float() else np.nan

    def holds_missing(self, dtype):
        return True

    def listed(self, dtype):
        # The categories of a Categorical are those of the whole process.
        enum = isinstance(dtype, self._namespace.Enum)
        return dtype.categories.to_list() if enum else None

    def write(self, codes, dtype, missing=None):
        pl = self._namespace
        series = pl.Series(codes, dtype=pl.Float64)
        if missing is None:
            series = series.fill_nan(None)
        return series.cast(dtype)

    def write_levels(self, levels, codes, dtype, missing=None):
        pl = self._namespace
        at = np.where(np.isnan(codes), len(levels), codes).astype(np.int64)
        return pl.Series([*levels, None]).cast(dtype).gather(pl.Series(at))

    def where(self, changed, new, old):
        return new.zip_with(self._namespace.Series(changed), old)

    def cast(self, column, dtype):
        return column.cast(dtype)

    def wider(self, dtype, levels, whole):
        pl = self._namespace
        if levels is None:
            return pl.Int64() if whole else pl.Float64()
        return pl.Series(levels).dtype

    def take(self, X, rows):
        return X[rows]

    def gather(self, column, at):
        return column.gather(at)

    def build(self, columns, like=None):
        names = self.names if like is None else like.columns
        columns = [c.alias(name) for name, c in zip(names, columns, strict=True)]
        return self._namespace.DataFrame(columns)

    def replaced(self, X, new):
        names = X.columns
        return X.with_columns([c.alias(names[j]) for j, c in new.items()])
