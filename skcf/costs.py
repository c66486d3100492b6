"""What a change takes: one cost for searches, exact models and metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

__all__ = ["Cost"]

_SCALES = ("range", "std", "mad", "iqr", "median", "mean", "none")


@dataclass(frozen=True)
class Cost:
    r"""Separable cost of changing a row `x` into a row `cf`.

    The difference of a feature is :math:`d_j = |cf_j - x_j| / s_j` for a number,
    the difference of ranks over the number of levels less one for an ordered
    category, and 0 or 1 for an unordered one; a missing value that appears or
    disappears differs by 1. A group of columns that are taken together is one
    feature, with the largest difference of its members. With :math:`g_j` the
    difference times the price of its direction,

    .. math::

        c = l_0 M(w_j [d_j > 0]) + l_1 M(w_j g_j) + l_2 M(w_j g_j^2)
            + l_\infty \max_j w_j g_j

    where :math:`M` is the sum over all features divided by the sum of the weights,
    or the plain sum when `average` is False.

    Parameters
    ----------
    l0, l1, l2, linf : float, default=0, 1, 0, 0
        Coefficients of the four norms, not negative, at least one positive.
    weights : mapping of column name to float, default=None
        How much a feature counts; 1 where not given. A group has the largest
        weight of its members.
    up, down : mapping of column name to float, default=None
        Prices of an increase and of a decrease of a number or an ordered category;
        1 where not given.
    scale : str or mapping of column name to str, default="range"
        The unit of numbers: one of {"range", "std", "mad", "iqr", "median", "mean",
        "none"}, of the training rows. A unit that is 0 falls through the chain
        median, MAD, IQR, range, 1.
    average : bool, default=True
        Whether sums are divided by the sum of the weights.

    Notes
    -----
    The default is the Gower distance [1]_. Prices that differ by direction are the
    skewed gauges of [2]_.

    References
    ----------
    .. [1] Gower, J. C. (1971). A general coefficient of similarity and some of its
       properties. Biometrics, 27(4), 857-871. doi:10.2307/2528823
    .. [2] Carrizosa, E., Ramirez-Ayerbe, J., Romero Morales, D. (2024). Mathematical
       optimization modelling for group counterfactual explanations. European
       Journal of Operational Research, 319(2). doi:10.1016/j.ejor.2024.01.002

    Examples
    --------
    >>> from skcf.costs import Cost
    >>> Cost(l0=1.0, up={"income": 2.0}).up
    (('income', 2.0),)
    """

    l0: float = 0.0
    l1: float = 1.0
    l2: float = 0.0
    linf: float = 0.0
    weights: Mapping | None = field(default=None, kw_only=True)
    up: Mapping | None = field(default=None, kw_only=True)
    down: Mapping | None = field(default=None, kw_only=True)
    scale: str | Mapping = field(default="range", kw_only=True)
    average: bool = field(default=True, kw_only=True)

    def __post_init__(self):
        norms = {n: getattr(self, n) for n in ("l0", "l1", "l2", "linf")}
        for name, value in norms.items():
            _check_number(name, value)
        if not any(norms.values()):
            raise ValueError("A cost needs at least one positive norm; got all 0.")
        for name in ("weights", "up", "down"):
            mapping = getattr(self, name)
            pairs = _pairs(name, mapping)
            for column, value in pairs:
                _check_number(f"{name}[{column!r}]", value)
            object.__setattr__(self, name, pairs)
        scale = self.scale
        if not isinstance(scale, str):
            scale = _pairs("scale", scale)
            object.__setattr__(self, "scale", scale)
        for value in [scale] if isinstance(scale, str) else [v for _, v in scale]:
            if value not in _SCALES:
                raise ValueError(f"scale must be one of {_SCALES}, got {value!r}.")

    def _bind(self, space):
        """Return the cost over the codes of a feature space."""
        return BoundCost(self, space)


class BoundCost:
    """A cost with the scales, prices and weights of one feature space as arrays."""

    def __init__(self, cost, space):
        p, n_groups = space.n_features, len(space.groups)
        self.cost = cost
        self.group_of = space.group_of
        self.n_groups = n_groups
        self.categorical = space.categorical
        scale = ["range"] * p if not isinstance(cost.scale, str) else [cost.scale] * p
        if not isinstance(cost.scale, str):
            for name, value in cost.scale:
                scale[space.position(name)] = value
        self.unit = np.array(
            [c.scales[s] for c, s in zip(space.columns, scale, strict=True)]
        )
        self.up, self.down, weights = np.ones(p), np.ones(p), np.ones(p)
        for array, pairs in ((self.up, cost.up), (self.down, cost.down)):
            for name, value in pairs:
                array[space.position(name)] = value
        for name, value in cost.weights:
            weights[space.position(name)] = value
        self.weight = np.full(n_groups, -np.inf)
        np.maximum.at(self.weight, space.group_of, weights)
        self.divisor = self.weight.sum() if cost.average else 1.0
        if not self.divisor > 0:
            raise ValueError("The weights of a cost must not all be 0.")
        # What compiled loops take, which repeat `cells` and `combine`.
        self.ruler = (self.unit, self.up, self.down, self.categorical)
        self.norms = tuple(
            float(c)
            for c in (
                cost.l0 / self.divisor,
                cost.l1 / self.divisor,
                cost.l2 / self.divisor,
                cost.linf,
            )
        )

    def cells(self, columns, before, after):
        """Return (d, g) of single cells: difference, and difference times price."""
        with np.errstate(invalid="ignore"):
            step = (after - before) / self.unit[columns]
        d = np.where(self.categorical[columns], step != 0.0, np.abs(step))
        missing = np.isnan(before) | np.isnan(after)
        one_sided = np.isnan(before) != np.isnan(after)
        d = np.where(missing, one_sided, d)
        price = np.where(step > 0, self.up[columns], self.down[columns])
        price = np.where(missing | self.categorical[columns], 1.0, price)
        return d, d * price

    def combine(self, weight, d, g):
        """Return the cost from features along the last axis."""
        c, m = self.cost, self.divisor
        total = np.zeros(d.shape[:-1])
        if c.l0:
            total += c.l0 / m * _total(weight * (d > 0))
        if c.l1:
            total += c.l1 / m * _total(weight * g)
        if c.l2:
            total += c.l2 / m * _total(weight * g**2)
        if c.linf:
            total += c.linf * (weight * g).max(axis=-1, initial=0.0)
        return total

    def rows(self, before, after):
        """Return the costs of rows of codes, shapes broadcast, (..., n_features)."""
        d, g = self.cells(np.arange(len(self.unit)), before, after)
        return self.combine(self.weight, self._grouped(d), self._grouped(g))

    def n_changed(self, before, after):
        """Return the number of changed features; a group counts once."""
        same = (before == after) | (np.isnan(before) & np.isnan(after))
        return self._grouped(~same).sum(axis=-1).astype(np.intp)

    def _grouped(self, cells):
        if self.n_groups == cells.shape[-1]:
            out = np.empty_like(cells)
            out[..., self.group_of] = cells
            return out
        out = np.zeros((*cells.shape[:-1], self.n_groups), dtype=cells.dtype)
        for j, g in enumerate(self.group_of):
            out[..., g] = np.maximum(out[..., g], cells[..., j])
        return out


def _total(cells):
    """Return the sum over the last axis, one after another.

    Unlike that of `sum`, the rounding of this order does not hang on how many zeros
    follow: a candidate costs the same whatever it is stored with.
    """
    out = np.zeros(cells.shape[:-1])
    for k in range(cells.shape[-1]):
        out += cells[..., k]
    return out


def _pairs(name, mapping):
    if mapping is None:
        return ()
    if isinstance(mapping, Mapping):
        return tuple(sorted(mapping.items(), key=lambda kv: str(kv[0])))
    try:
        return tuple((key, value) for key, value in mapping)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must map column names to values, got {mapping!r}."
        ) from None


def _check_number(name, value):
    ok = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not (ok and np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}.")


SHORTHANDS = {
    "gower": Cost(),
    "sparse": Cost(l0=1.0, l1=1e-4, average=False),
    "mace": Cost(scale="median", average=False),
    "squared": Cost(l1=0.0, l2=1.0),
    "geco": Cost(l0=1 / 3, l1=1 / 3, linf=1 / 3),
}


def check_cost(cost):
    """Return a Cost for a Cost or the name of one."""
    if isinstance(cost, Cost):
        return cost
    if isinstance(cost, str) and cost in SHORTHANDS:
        return SHORTHANDS[cost]
    raise ValueError(
        f"cost must be a Cost or one of {sorted(SHORTHANDS)}, got {cost!r}."
    )
