"""Where the means of columns over counterfactuals have to be."""

from collections.abc import Mapping
from numbers import Real

import numpy as np


def check_means(bounds, space):
    """Return (group, column, low, high) of every bound on the mean of a column.

    Parameters
    ----------
    bounds : mapping of column name to (low, high) or None
    space : FeatureSpace
    """
    if bounds is None:
        return ()
    if not isinstance(bounds, Mapping):
        raise ValueError(
            "mean_bounds must be a mapping of column name to (low, high) or None, got "
            f"{bounds!r}."
        )
    place = {name: j for j, name in enumerate(space.names)}
    out = []
    for name, ends in bounds.items():
        if name not in place:
            known = ", ".join(repr(n) for n in space.names[:8])
            raise ValueError(
                f"mean_bounds names the column {name!r}, which is none of [{known}"
                f"{', ...' if len(place) > 8 else ''}]."
            )
        j = place[name]
        g = int(space.group_of[j])
        if not space.numeric[j] or len(space.groups[g]) > 1:
            raise ValueError(
                f"mean_bounds[{name!r}]: the column has to be numeric, and not taken "
                "together with others."
            )
        out.append((g, j, *_ends(name, ends)))
    return tuple(out)


def _ends(name, ends):
    """Return (low, high) of a pair, open ends as infinities."""
    try:
        low, high = ends
    except (TypeError, ValueError):
        low = high = ""
    for end in (low, high):
        number = isinstance(end, Real) and not isinstance(end, bool)
        if end is not None and not (number and np.isfinite(end)):
            raise ValueError(
                f"mean_bounds[{name!r}] must be a pair (low, high) of numbers or None, "
                f"got {ends!r}."
            )
    low = -np.inf if low is None else float(low)
    high = np.inf if high is None else float(high)
    if low > high:
        raise ValueError(f"mean_bounds[{name!r}]: low {low} is above high {high}.")
    return low, high
