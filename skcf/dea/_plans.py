"""Production plans in a table: which columns are inputs, and which are outputs."""

import narwhals.stable.v2 as nw
import numpy as np

from skcf._space import FeatureSpace, container_of
from skcf._space._columns import FixedColumn

MEASURES = ("input", "output")
RETURNS_TO_SCALE = ("crs", "vrs", "drs", "irs")
# Facets through amounts further apart than this are lost in rounding.
MAX_RATIO = 1e8


class PlanSpace(FeatureSpace):
    """A feature space of inputs and outputs; all other columns are carried along.

    Inputs and outputs are numbers that may take any value of at least 0.

    Parameters
    ----------
    X : {ndarray, dataframe} of shape (n_units, n_features)
    inputs, outputs : names or positions of columns
    ranges : dict of position to (low, high), default=None
    """

    def __init__(self, X, inputs, outputs, ranges=None):
        container = container_of(X)
        self.inputs = _positions("inputs", inputs, container)
        self.outputs = _positions("outputs", outputs, container)
        for j in self.inputs:
            if j in self.outputs:
                raise ValueError(
                    f"Column {container.names[j]!r} is in inputs and in outputs."
                )
        self.plan = np.array([*self.inputs, *self.outputs])
        super().__init__(
            _as_floats(X, self.plan),
            categorical_features=None,
            resolution=None,
            ranges=ranges,
        )

    def _learn(self, X, j, declared, step, order, ends, fixed):
        container, name = self.container, self.names[j]
        if j in self.plan:
            column = super()._learn(X, j, declared, step, order, ends, fixed)
            if column.kind == "numeric":
                return column
            raise ValueError(
                f"Column {name!r} holds {column.dtype}; inputs and outputs are numbers."
            )
        first = container.gather(container.column(X, j), np.zeros(1, dtype=np.intp))
        return FixedColumn(name, container.dtypes[j], container.types[j], first)

    def plans(self, X, codes=None):
        """Return inputs and outputs of a table as floats; refuse what is no plan."""
        codes = self.encode(X, check_missing=False) if codes is None else codes
        plans = codes[:, self.plan]
        missing, negative = np.isnan(plans), plans < 0
        idle = ~(plans[:, : len(self.inputs)] > 0).any(axis=1)
        if missing.any():
            self._refuse(X, missing, "contains NaN or None in column {1!r}")
        if negative.any():
            value = plans[negative][0]
            said = f"has {value:.16g} in column {{1!r}}. Negative values in data are "
            self._refuse(X, negative, said + "no amounts")
        if idle.any():
            names = [self.names[j] for j in self.inputs]
            said = f"has no input: all of {names} are 0. At least one is needed"
            self._refuse(X, idle[:, None], said.replace("{", "{{").replace("}", "}}"))
        top = plans.max(axis=0)
        tiny = (plans > 0) & (plans < top / MAX_RATIO)
        if tiny.any():
            value = plans[tiny][0]
            said = f"has {value:.3g} in column {{1!r}}, too little beside the largest "
            said += f"amount there to compute with (by a factor of {MAX_RATIO:g})"
            self._refuse(X, tiny, said)
        return plans

    def _refuse(self, X, wrong, said):
        i, k = np.argwhere(wrong)[0]
        unit = container_of(X).index(X)[i]
        unit = unit.item() if isinstance(unit, np.generic) else unit
        text = said.format(unit, self.names[self.plan[k]])
        raise ValueError(
            f"Unit {unit!r} {text}; inputs and outputs are amounts of at least 0."
        )


def _positions(what, columns, container):
    """Return the positions of columns given by name, label or position."""
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    try:
        out = [container.position(c) for c in columns]
    except ValueError as error:
        width = f"X has n_features={len(container.names)}"
        raise ValueError(f"{what}: {error} ({width}).") from None
    except TypeError:
        raise TypeError(
            f"{what} must be a list of names or positions of columns, got {columns!r}."
        ) from None
    if not out:
        raise ValueError(f"{what} must name at least one column, got {columns!r}.")
    for k, j in enumerate(out):
        if j in out[:k]:
            raise ValueError(f"{what} names column {container.names[j]!r} twice.")
    return out


def _as_floats(X, columns):
    """Return a table with some numeric columns as 64-bit floats.

    Plans between those of observed units are fractions, whatever units are counted in.
    """
    if isinstance(X, np.ndarray):
        return X.astype(np.float64) if X.dtype.kind in "biuf" else X
    frame = nw.from_native(X)
    schema = list(frame.schema.items())
    names = [schema[j][0] for j in columns if schema[j][1].is_numeric()]
    if not names:
        return X
    return frame.with_columns(nw.col(*names).cast(nw.Float64)).to_native()
