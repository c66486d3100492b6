"""By what rows are compared: kinds, units and groups of columns, learned once."""

import numpy as np

from skcf._space import FeatureSpace, container_of
from skcf._space._columns import numbers_of
from skcf.constraints._rule import check_rules
from skcf.constraints._structure import read_structure
from skcf.costs import Cost, check_cost

MAX_CELLS = 4_000_000


class Ruler:
    """Reads rows as codes, and tells how far apart they are.

    Unlike an explainer, a ruler also reads what no explainer would accept or propose,
    so that answers of any origin can be measured: categories that the reference does
    not have, fractions in a column of integers, dates that changed.

    Parameters
    ----------
    space : FeatureSpace
    rules : tuple of Rule, default=()
    """

    def __init__(self, space, rules=()):
        self.space, self.rules = space, rules
        self.gower = Cost()._bind(space)

    @classmethod
    def of(cls, reference, constraints=(), categorical_features="from_dtype"):
        """Learn from a table, such as the training rows."""
        reference = as_table(reference, "reference")
        rules = check_rules(constraints)
        structure = read_structure(rules, container_of(reference))
        space = FeatureSpace(
            reference,
            categorical_features=categorical_features,
            allow_missing=True,
            **structure,
        )
        return cls(space, rules)

    @property
    def n_groups(self):
        """The number of features, where columns taken together are one."""
        return len(self.space.groups)

    def cost(self, cost):
        """Return a cost, or the name of one, over the codes of this ruler."""
        return check_cost(cost)._bind(self.space)

    # -- reading ------------------------------------------------------------------

    def read(self, X, X_cf):
        """Return the codes of queries and of counterfactuals, row by row."""
        tables = self._check_names(X, "X"), self._check_names(X_cf, "X_cf")
        bases = [container_of(table) for table in tables]
        codes = [np.empty((len(table), self.space.n_features)) for table in tables]
        for j, column in enumerate(self.space.columns):
            stored = [b.column(t, j) for b, t in zip(bases, tables, strict=True)]
            if column.kind == "fixed":
                # Dates and the like have no codes of their own, but equal or not.
                codes[0][:, j], codes[1][:, j] = 0.0, _differ(bases, stored)
                continue
            for out, base, one in zip(codes, bases, stored, strict=True):
                out[:, j] = self._encode(column, base, one, base.types[j])
        return codes

    def read_one(self, X, name):
        """Return the codes of a single table."""
        table = self._check_names(X, name)
        base, out = container_of(table), np.empty((len(table), self.space.n_features))
        for j, column in enumerate(self.space.columns):
            stored = base.column(table, j)
            if column.kind == "fixed":
                out[:, j] = 0.0
            else:
                out[:, j] = self._encode(column, base, stored, base.types[j])
        return out

    def _encode(self, column, base, stored, type_):
        if column.kind == "numeric":
            codes = numbers_of(column.name, base, stored, type_)
            if np.isinf(codes).any():
                raise ValueError(f"Column {column.name!r} contains infinity.")
            return codes
        if column.kind == "categorical":
            # Listed in a dtype is not yet held: only what a row holds gets a code.
            at, known = base.factorize(stored)
            for k in np.unique(at[at >= 0]):
                column.rank.setdefault(known[k], len(column.rank))
        return column.encode(base, stored, type_)

    def _check_names(self, X, name):
        table = as_table(X, name)
        own, base = self.space.container, container_of(table)
        if table.shape[1] != len(own.names):
            raise ValueError(
                f"{name} has {table.shape[1]} columns, the reference has "
                f"{len(own.names)}."
            )
        named = "array" not in (own.kind, base.kind)
        if named and list(base.names) != list(own.names):
            pairs = zip(base.names, own.names, strict=True)
            j, (one, other) = next(
                (j, pair) for j, pair in enumerate(pairs) if pair[0] != pair[1]
            )
            raise ValueError(
                f"{name} must have the columns of the reference, in their order; "
                f"column {j} is {one!r}, expected {other!r}."
            )
        return table

    # -- comparing ----------------------------------------------------------------

    def changed(self, before, after):
        """Return which features differ, of shape (n_rows, n_groups)."""
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        out = np.zeros((len(same), self.n_groups), dtype=bool)
        for g, members in enumerate(self.space.groups):
            out[:, g] = ~same[:, list(members)].all(axis=1)
        return out

    def distances(self, one, other):
        """Return the Gower distances of all rows of `one` to all of `other`.

        Feature by feature, so that no more than a matrix is held at a time.
        """
        total = np.zeros((len(one), len(other)))
        for members in self.space.groups:
            widest = self._gaps(members[0], one, other)
            for j in members[1:]:
                np.maximum(widest, self._gaps(j, one, other), out=widest)
            total += widest
        return total / self.n_groups

    def _gaps(self, j, one, other):
        a, b = one[:, j, None], other[None, :, j]
        if self.space.categorical[j]:
            gap = (a != b).astype(np.float64)
        else:
            gap = np.abs(a - b)
            gap /= self.gower.unit[j]
        no, none = np.isnan(a), np.isnan(b)
        if no.any() or none.any():
            gap = np.where(no | none, no != none, gap)
        return gap

    def blocks(self, n_rows, n_others):
        """Yield slices of rows whose distances to others fit in memory."""
        step = max(1, MAX_CELLS // max(1, n_others))
        for begin in range(0, n_rows, step):
            yield slice(begin, min(begin + step, n_rows))


def as_table(X, name):
    """Return a frame as it is, and anything else as a two-dimensional array."""
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    if not isinstance(X, np.ndarray):
        container_of(X)
        return X
    if X.ndim != 2:
        raise ValueError(
            f"{name} must be a table, a row a sample, got an array of shape {X.shape}."
        )
    return X


def check_pairs(X, X_cf):
    """Return queries and counterfactuals as tables, checked to be paired."""
    X, X_cf = as_table(X, "X"), as_table(X_cf, "X_cf")
    if len(X) != len(X_cf):
        raise ValueError(
            "X and X_cf are paired row by row, but have "
            f"{len(X)} and {len(X_cf)} rows. Explanation.pairs returns such pairs."
        )
    return X, X_cf


def summary(values, sample_wise):
    """Return values as they are, or their mean; nan where there is none."""
    if sample_wise:
        return values
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return float(known.mean()) if len(known) else np.nan


def _differ(bases, stored):
    """Return where two columns of values that have no codes differ."""
    seen, ids = {}, []
    for base, column in zip(bases, stored, strict=True):
        at, known = base.factorize(column)
        table = [seen.setdefault(value, len(seen)) for value in known]
        ids.append(np.array([*table, -1])[at])
    return ids[0] != ids[1]
