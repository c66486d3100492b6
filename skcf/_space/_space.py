"""The feature space: which values exist, and how a table is written as codes."""

import numpy as np

from skcf._space._columns import (
    CategoricalColumn,
    FixedColumn,
    NumericColumn,
    encode_levels,
    observed_step,
)
from skcf._space._container import container_of
from skcf._space._values import Values


class FeatureSpace:
    """Kinds, domains, scales and groups of the columns of a table.

    Parameters
    ----------
    X : ndarray or dataframe of shape (n_samples, n_features)
        The training rows.
    categorical_features : "from_dtype", or names, positions or a mask
        The columns whose values have no distance other than equal or not.
    resolution : "observed", None, a number, or a dict of these by column
        The grid that numeric values lie on.
    groups : sequence of tuples of column positions
        Columns whose values are taken together; the others stand alone.
    orders : dict of position to list of levels
        Columns that are ordinal, with their levels from low to high.
    ranges : dict of position to (low, high)
        Declared ranges; they replace the observed range of a column.
    fixed : set of positions
        Columns that never change; only these may hold dates and the like.
    allow_missing : bool
        Whether a query may be missing where no training row was.

    Attributes
    ----------
    columns : list of columns
    groups : list of tuples of column positions
    group_of : ndarray of shape (n_features,)
    values : Values
    low, high : ndarray of shape (n_features,)
        The range of proposed codes.
    """

    def __init__(
        self,
        X,
        *,
        categorical_features="from_dtype",
        resolution="observed",
        groups=(),
        orders=None,
        ranges=None,
        fixed=(),
        allow_missing=False,
    ):
        self.allow_missing = allow_missing
        self.container = container_of(X)
        self.names = self.container.names
        self.n_features = len(self.names)
        declared = self._declared(categorical_features)
        steps = self._steps(resolution)
        self.columns = [
            self._learn(X, j, declared, steps[j], (orders or {}).get(j), j in fixed)
            for j in range(self.n_features)
        ]
        codes = self.encode(X, check_missing=False)
        self.low = np.array([c.low for c in self.columns])
        self.high = np.array([c.high for c in self.columns])
        for j, (low, high) in (ranges or {}).items():
            self.low[j] = self.low[j] if low is None else low
            self.high[j] = self.high[j] if high is None else high
        grouped = {j for g in groups for j in g}
        alone = [(j,) for j in range(self.n_features) if j not in grouped]
        self.groups = sorted([*map(tuple, groups), *alone])
        self.group_of = np.empty(self.n_features, dtype=np.intp)
        for g, members in enumerate(self.groups):
            self.group_of[list(members)] = g
        self.numeric = np.array([c.kind == "numeric" for c in self.columns])
        self.categorical = np.array([c.kind == "categorical" for c in self.columns])
        tables, weights = zip(
            *(self._domain(codes, g, ranges or {}) for g in self.groups), strict=True
        )
        self.values = Values(self.groups, tables, weights)
        self.training_codes = codes

    # -- reading and writing ------------------------------------------------------

    def encode(self, X, check_missing=True):
        """Return the codes of a table, float64 of shape (n_rows, n_features)."""
        base = container_of(X)
        out = np.empty((len(X), self.n_features))
        for j, column in enumerate(self.columns):
            out[:, j] = column.encode(base, base.column(X, j))
            if not check_missing or self.allow_missing or column.has_missing:
                continue
            if np.isnan(out[:, j]).any():
                raise ValueError(
                    f"Column {column.name!r} contains NaN or None in row "
                    f"{int(np.isnan(out[:, j]).argmax())}; it had no missing value "
                    "in fit and the estimator does not declare that it takes them."
                )
        return out

    def decode(self, codes, X=None, rows=None):
        """Return codes as a table of the kind and dtypes given to fit.

        Columns that are only carried along (dates) come from `rows` of `X`.
        """
        return self.container.build(
            [
                self.container.column(self.container.take(X, rows), j)
                if column.kind == "fixed"
                else column.write(self.container, codes[:, j], column.dtype)
                for j, column in enumerate(self.columns)
            ]
        )

    def emit(self, X, rows, codes):
        """Return rows of the query table `X` with the changed cells of `codes`.

        Unchanged cells are the query's own, bit for bit. A column has the query's
        dtype where that can hold every value of the fitted column's domain, else
        the fitted column's.
        """
        base = container_of(X)
        before = self.encode(X, check_missing=False)[rows]
        differs = ~((codes == before) | (np.isnan(codes) & np.isnan(before)))
        taken = base.take(X, rows)
        columns = []
        for j, (column, dtype) in enumerate(zip(self.columns, base.dtypes, strict=True)):
            old = base.column(taken, j)
            if dtype != column.dtype and not column.fits(dtype):
                dtype = column.dtype
                old = base.cast(old, dtype)
            if differs[:, j].any():
                filled = np.where(differs[:, j], codes[:, j], column.domain[0])
                new = column.write(base, filled, dtype)
                old = base.where(differs[:, j], new, old)
            columns.append(old)
        return base.build(columns, like=taken)

    def restore(self, X):
        """Return a query table in the dtypes that the model was trained on."""
        base = container_of(X)
        if base.kind == self.container.kind and base.dtypes == self.container.dtypes:
            return X
        codes = self.encode(X, check_missing=False)
        return self.decode(codes, X, np.arange(len(X)))

    def position(self, name):
        """Return the position of a column given by name or position."""
        return self.container.position(name)

    # -- learning -----------------------------------------------------------------

    def _declared(self, categorical_features):
        """Return the mask of columns declared categorical, None for "from_dtype"."""
        if isinstance(categorical_features, str):
            if categorical_features == "from_dtype":
                return None
            raise ValueError(
                "categorical_features must be 'from_dtype', or a list of names, a "
                f"mask or positions; got {categorical_features!r}."
            )
        if categorical_features is None:
            return np.zeros(self.n_features, dtype=bool)
        given = list(np.asarray(categorical_features, dtype=object))
        if given and all(isinstance(v, (bool, np.bool_)) for v in given):
            if len(given) != self.n_features:
                raise ValueError(
                    f"categorical_features is a mask of length {len(given)}; "
                    f"expected {self.n_features}, one entry a column."
                )
            return np.array(given, dtype=bool)
        mask = np.zeros(self.n_features, dtype=bool)
        mask[[self.position(v) for v in given]] = True
        return mask

    def _steps(self, resolution):
        """Return the resolution asked for, by column."""
        steps = ["observed"] * self.n_features
        if isinstance(resolution, dict):
            for name, value in resolution.items():
                steps[self.position(name)] = value
        else:
            steps = [resolution] * self.n_features
        for name, step in zip(self.names, steps, strict=True):
            number = isinstance(step, (int, float)) and not isinstance(step, bool)
            if not (step is None or step == "observed" or (number and step > 0)):
                raise ValueError(
                    f"The resolution of column {name!r} must be 'observed', None or "
                    f"a positive number, got {step!r}."
                )
        return steps

    def _learn(self, X, j, declared, step, order, fixed):
        name, dtype = self.names[j], self.container.dtypes[j]
        stored = self.container.column(X, j)
        kind = _kind(self.container, stored, dtype)
        if kind == "date":
            if fixed:
                return FixedColumn(name, dtype)
            raise TypeError(
                f"Column {name!r} holds {dtype}: dates are carried along only. Add "
                f"fixed({name!r}) to the constraints, or encode it as a number."
            )
        if order is None and kind == "numeric" and not (declared is not None and declared[j]):
            observed = self.container.numbers(stored)
            null = bool(np.isnan(observed).any()) and _has_null(self.container, stored)
            column = NumericColumn(name, dtype, observed, step=None, null=null)
            if np.isinf(observed).any():
                raise ValueError(f"Column {name!r} contains infinity.")
            if step == "observed":
                step = observed_step(observed, column.single)
            return NumericColumn(name, dtype, observed, step=step, null=null)
        levels, ordered = order, order is not None
        if order is None:
            levels, ordered = _levels(self.container, stored, dtype)
        rank = {level: k for k, level in enumerate(levels)}
        observed = encode_levels(self.container, stored, rank, name, list(levels))
        return CategoricalColumn(name, dtype, levels, observed, ordered=ordered)

    def _domain(self, codes, members, ranges):
        """Return the values of a group and how often each was seen."""
        if len(members) == 1:
            column = self.columns[members[0]]
            values, counts = column.domain, column.counts
            j = members[0]
            if column.kind == "numeric" and j in ranges:
                # A declared range in which nothing was seen offers its ends.
                inside = (values >= self.low[j]) & (values <= self.high[j])
                if not inside.any():
                    ends = [v for v in ranges[j] if v is not None]
                    values = np.union1d(values, column.snap(np.array(ends, float)))
                    counts = np.ones(len(values))
                    counts[np.searchsorted(values, column.domain)] = column.counts
            return values[:, None], counts
        rows = codes[:, list(members)]
        rows = rows[~np.isnan(rows).any(axis=1)]
        if not len(rows):
            return np.zeros((1, len(members))), np.ones(1)
        return np.unique(rows, axis=0, return_counts=True)


def _kind(container, column, dtype):
    """Return "numeric", "category" or "date" for a stored column."""
    text = str(dtype).lower()
    if text.startswith(("datetime", "date", "time", "duration", "period", "timestamp")):
        return "date"
    if text.startswith(("<m", ">m", "interval", "list", "struct", "array")):
        return "date"
    if hasattr(dtype, "categories") or text.startswith(("category", "categorical")):
        return "category"
    if text in {"bool", "boolean", "bool[pyarrow]"}:
        return "category"
    if isinstance(dtype, np.dtype) and dtype.kind in "US":
        return "category"
    if text.startswith(("str", "large_string")):
        return "category"
    if text == "object":
        missing = container.missing(column)
        values = [v for v, m in zip(container.values(column), missing, strict=True) if not m]
        number = all(
            isinstance(v, (int, float, np.number)) and not isinstance(v, (bool, np.bool_))
            for v in values
        )
        return "numeric" if number else "category"
    return "numeric"


def _levels(container, column, dtype):
    """Return the levels of a categorical column and whether they are ordered."""
    listed = getattr(dtype, "categories", None)
    if listed is not None:
        return list(listed), bool(getattr(dtype, "ordered", True))
    missing = container.missing(column)
    values = {v for v, m in zip(container.values(column), missing, strict=True) if not m}
    try:
        return sorted(values), False
    except TypeError:
        return sorted(values, key=lambda v: (type(v).__name__, str(v))), False


def _has_null(container, column):
    return container.kind == "polars" and column.null_count() > 0
