"""The feature space: which values exist, and how a table is written as codes."""

from contextlib import contextmanager
from numbers import Integral

import narwhals.stable.v2 as nw
import numpy as np

from skcf._space._columns import (
    CategoricalColumn,
    FixedColumn,
    NumericColumn,
    first,
    is_real,
    numbers_of,
)
from skcf._space._frames import container_of
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
        Declared ranges of numeric columns; they replace the observed ones.
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
        ranges = ranges or {}
        codes = np.empty((len(X), self.n_features))
        self.columns = []
        for j, name in enumerate(self.names):
            order = (orders or {}).get(j)
            ends = ranges.get(j, (None, None))
            with _named(name):
                column = self._learn(
                    X, j, declared[j], steps[j], order, ends, j in fixed
                )
                stored = self.container.column(X, j)
                codes[:, j] = column.encode(self.container, stored, column.type)
            if column.levels is not None:
                column.learn(codes[:, j])
            self.columns.append(column)
        self.low = np.array([c.low for c in self.columns])
        self.high = np.array([c.high for c in self.columns])
        self.numeric = np.array([c.kind == "numeric" for c in self.columns])
        self.categorical = np.array([c.kind == "categorical" for c in self.columns])
        self._group(codes, groups)

    def _group(self, codes, groups):
        grouped = {j for g in groups for j in g}
        alone = [(j,) for j in range(self.n_features) if j not in grouped]
        self.groups = sorted([*map(tuple, groups), *alone])
        self.group_of = np.empty(self.n_features, dtype=np.intp)
        for g, members in enumerate(self.groups):
            self.group_of[list(members)] = g
        tables = [self._domain(codes, g) for g in self.groups]
        self.values = Values(self.groups, *zip(*tables, strict=True))

    # -- reading and writing ------------------------------------------------------

    def encode(self, X, check_missing=True):
        """Return the codes of a table, float64 of shape (n_rows, n_features)."""
        base = self._container_of(X)
        out = np.empty((len(X), self.n_features))
        pairs = zip(self.columns, base.columns(X), strict=True)
        for j, (column, stored) in enumerate(pairs):
            with _named(column.name):
                out[:, j] = column.encode(base, stored, base.types[j])
            if check_missing and column.kind != "fixed":
                self._check_missing(column, np.isnan(out[:, j]))
        return out

    def _container_of(self, X):
        """Return the container of a table: that of fit where it is alike."""
        return self.container if self.container.describes(X) else container_of(X)

    def _check_missing(self, column, missing):
        if not missing.any():
            return
        if not self.container.holds_missing(column.dtype):
            why = f"{column.dtype}, its dtype in fit, cannot hold it"
        elif not (self.allow_missing or column.has_missing):
            why = (
                "it had no missing value in fit and the estimator does not declare "
                "that it takes them"
            )
        else:
            return
        raise ValueError(
            f"Column {column.name!r} contains NaN or None in row "
            f"{int(missing.argmax())}; {why}."
        )

    def decode(self, codes, X=None, rows=None):
        """Return codes as a table of the kind and dtypes given to fit.

        Columns that are only carried along (dates) come from `rows` of `X`, a table
        in the container given to fit; from the first row of fit where there is no `X`.
        """
        container = self.container
        return container.build(
            [
                container.gather(container.column(X, j), rows)
                if column.kind == "fixed" and X is not None
                else column.write(container, codes[:, j], column.dtype, column.type)
                for j, column in enumerate(self.columns)
            ]
        )

    def emit(self, X, rows, codes, before=None):
        """Return rows of the query table `X` with the changed cells of `codes`.

        `before` are the codes of these rows, if they are known.

        Unchanged cells are the query's own, bit for bit. A column has the query's
        dtype where that can hold every value of the fitted column's domain, else
        the fitted column's.
        """
        base = self._container_of(X)
        if before is None:
            before = self.encode(X, check_missing=False)[rows]
        differs = ~((codes == before) | (np.isnan(codes) & np.isnan(before)))
        changed = differs.any(axis=0)
        taken = base.take(X, rows)
        new = {}
        for j, (column, old) in enumerate(
            zip(self.columns, base.columns(taken), strict=True)
        ):
            dtype, type_ = self._written_as(base, j)
            if dtype != base.dtypes[j]:
                new[j] = old = base.cast(old, dtype)
            if changed[j]:
                # What is thrown away again must be writable all the same.
                filler = column.domain[0] if len(column.domain) else 0.0
                filled = np.where(differs[:, j], codes[:, j], filler)
                written = column.write(base, filled, dtype, type_)
                new[j] = base.where(differs[:, j], written, old)
        return base.replaced(taken, new)

    def _written_as(self, base, j):
        """Return the dtypes, native and narwhals, of an emitted column."""
        column, dtype, type_ = self.columns[j], base.dtypes[j], base.types[j]
        alike = base.kind == self.container.kind
        if alike and dtype == column.dtype or column.fits(base, dtype, type_):
            return dtype, type_
        if alike:
            return column.dtype, column.type
        return base.wider(dtype, column.levels, column.whole), nw.Unknown()

    def restore(self, X):
        """Return a query table in the dtypes that the model was trained on."""
        base, own = self._container_of(X), self.container
        if base is own or base.kind == own.kind and base.dtypes == own.dtypes:
            return X
        columns = []
        for j, column in enumerate(self.columns):
            stored = base.column(X, j)
            if column.kind == "fixed":
                stored = own.adopt(base, stored, column.dtype)
            elif base.kind != own.kind or base.dtypes[j] != column.dtype:
                codes = column.encode(base, stored, base.types[j])
                stored = column.write(own, codes, column.dtype, column.type)
            columns.append(stored)
        return own.build(columns)

    def position(self, name):
        """Return the position of a column given by name or position."""
        return self.container.position(name)

    # -- learning -----------------------------------------------------------------

    def _declared(self, categorical_features):
        """Return for each column whether it is declared categorical; None asks it."""
        if isinstance(categorical_features, str):
            if categorical_features == "from_dtype":
                return [None] * self.n_features
            raise ValueError(
                "categorical_features must be 'from_dtype', or a list of names, a "
                f"mask or positions; got {categorical_features!r}."
            )
        if categorical_features is None:
            return [False] * self.n_features
        given = list(np.asarray(categorical_features, dtype=object))
        if given and all(isinstance(v, (bool, np.bool)) for v in given):
            if len(given) != self.n_features:
                raise ValueError(
                    f"categorical_features is a mask of length {len(given)}; "
                    f"expected {self.n_features}, one entry a column."
                )
            return given
        try:
            named = {self.position(v) for v in given}
        except ValueError as error:
            raise ValueError(f"categorical_features: {error}") from None
        return [j in named for j in range(self.n_features)]

    def _steps(self, resolution):
        """Return the resolution asked for, by column."""
        steps = [resolution] * self.n_features
        if isinstance(resolution, dict):
            steps = ["observed"] * self.n_features
            for name, value in resolution.items():
                try:
                    steps[self.position(name)] = value
                except ValueError as error:
                    raise ValueError(f"resolution: {error}") from None
        for name, step in zip(self.names, steps, strict=True):
            number = isinstance(step, (int, float, np.number))
            number = number and not isinstance(step, bool) and 0 < step < np.inf
            if not (step is None or step == "observed" or number):
                raise ValueError(
                    f"The resolution of column {name!r} must be 'observed', None or "
                    f"a positive number, got {step!r}."
                )
        return steps

    def _learn(self, X, j, declared, step, order, ends, fixed):
        """Return column `j` of the training rows."""
        container, name = self.container, self.names[j]
        dtype, type_ = container.dtypes[j], container.types[j]
        stored = container.column(X, j)
        kind = _kind(container, stored, type_)
        if kind == "carried":
            if fixed:
                one = container.gather(stored, np.zeros(1, dtype=np.intp))
                return FixedColumn(name, dtype, type_, one)
            raise TypeError(
                f"Column {name!r} holds {dtype}, which is neither a number nor a "
                f"category and can only be carried along. Add fixed({name!r}) to the "
                "constraints, or encode it as a number."
            )
        missing = container.missing_value(stored, dtype)
        if isinstance(type_, nw.Object) and (step is None or step != "observed"):
            # Whole numbers as objects stay whole, as those of an integer dtype do.
            known = container.factorize(stored)[1]
            whole = len(known) and all(isinstance(v, Integral) for v in known)
            step = 1.0 if whole and (step is None or step % 1) else step
        if order is None and kind == "numeric" and not declared:
            return NumericColumn(
                name,
                dtype,
                type_,
                numbers_of(name, container, stored, type_),
                step=step,
                ends=ends,
                missing=missing,
            )
        levels, ordered = self._levels(name, stored, dtype, type_, order)
        return CategoricalColumn(
            name, dtype, type_, levels, ordered=ordered, missing=missing
        )

    def _levels(self, name, stored, dtype, type_, order):
        """Return the levels of a categorical column and whether they are ordered."""
        if isinstance(type_, nw.Boolean) and order is None:
            return [False, True], False
        listed = self.container.listed(dtype)
        if listed is not None and order is None:
            return listed, isinstance(type_, nw.Enum)
        at, known = self.container.factorize(stored)
        if order is None:
            return _sorted(known), False
        left = [known[k] for k in np.unique(at[at >= 0]) if known[k] not in order]
        if left:
            raise ValueError(
                f"The order given for column {name!r} leaves out {first(left)}, which "
                "it holds."
            )
        return order, True

    def _domain(self, codes, members):
        """Return the values of a group and how often each was seen.

        Where nothing was seen there is a stand-in of weight 0, which is never proposed.
        """
        if len(members) == 1:
            values, counts = self.columns[members[0]].proposals()
            values = values[:, None]
        else:
            rows = codes[:, list(members)]
            rows = rows[~np.isnan(rows).any(axis=1)]
            values, counts = np.unique(rows, axis=0, return_counts=True)
        if not len(values):
            values, counts = np.zeros((1, len(members))), np.zeros(1)
        return values, counts


@contextmanager
def _named(name):
    """Name the column in the error that values cannot be told apart."""
    try:
        yield
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        raise TypeError(f"Column {name!r} holds no plain values: {error}.") from None


def _kind(container, column, type_):
    """Return "numeric", "category" or "carried" for a stored column."""
    if isinstance(type_, nw.Object):
        known = container.factorize(column)[1]
        return "numeric" if all(map(is_real, known)) else "category"
    if isinstance(type_, (nw.Boolean, nw.String, nw.Categorical, nw.Enum)):
        return "category"
    return "numeric" if type_.is_numeric() else "carried"


def _sorted(levels):
    """Return levels in order, by type and text where they do not compare."""
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda v: (type(v).__name__, str(v)))
