"""Rows as points, so that what is near in one sense is near in the other."""

import numpy as np

from skcf._space import mix
from skcf.constraints._bind import is_fixed

MAX_LEVELS = 64
N_SIGNS = 64


def one_hot(codes, n_levels):
    """Return points of category codes at squared distances of 0 and 1, NaN a level.

    Columns of more than 64 levels get 64 random signs a level instead of one dimension
    each; distances of different levels are then about 1.
    """
    level = np.where(np.isnan(codes), n_levels, codes).astype(np.intp)
    if n_levels < MAX_LEVELS:
        out = np.zeros((len(codes), n_levels + 1), dtype=np.float32)
        out[np.arange(len(codes)), level] = np.sqrt(0.5)
        return out[:, : n_levels + 1]
    bits = mix(level.astype(np.uint64))
    signs = (bits[:, None] >> np.arange(N_SIGNS, dtype=np.uint64)) & np.uint64(1)
    return ((2.0 * signs - 1.0) / np.sqrt(2.0 * N_SIGNS)).astype(np.float32)


def numbers(codes, centre, unit):
    """Return points of numbers in a unit; missing ones are 1 from all that are not."""
    missing = np.isnan(codes)
    value = np.where(missing, 0.0, (codes - centre) / unit)
    return np.column_stack([value, missing]).astype(np.float32)


def fixed_columns(rules):
    """Return the set of columns that a rule keeps as they are."""
    return {
        j
        for g, parts in rules.filters.items()
        for part in parts
        if is_fixed(part.node)
        for j in part.x_columns
    }


class CostPoints:
    """Points whose Euclidean distances rank rows about as a cost does.

    Columns that a rule keeps as they are count ten times as much: rows that differ
    there are no answers.

    Parameters
    ----------
    space : FeatureSpace
    cost : BoundCost
    rules : RuleSet, default=None
    """

    def __init__(self, space, cost, rules=None):
        fixed = set() if rules is None else fixed_columns(rules)
        self._columns = []
        for j, column in enumerate(space.columns):
            factor = float(cost.weight[space.group_of[j]]) * (10.0 if j in fixed else 1)
            if factor > 0:
                levels = None
                if space.categorical[j]:
                    levels = 1 + int(np.nanmax(column.domain, initial=0.0))
                centre = float(np.median(column.domain)) if len(column.domain) else 0.0
                unit = float(cost.unit[j])
                self._columns.append((j, factor, levels, centre, unit))

    def __call__(self, codes):
        """Return the points of rows of codes, float32."""
        parts = [np.empty((len(codes), 0), dtype=np.float32)]
        for j, factor, levels, centre, unit in self._columns:
            if levels is None:
                part = numbers(codes[:, j], centre, unit)
            else:
                part = one_hot(codes[:, j], levels)
            parts.append(np.float32(factor) * part)
        return np.concatenate(parts, axis=1)
