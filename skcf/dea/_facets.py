"""The facets of a technology, enumerated once and for all.

A technology is the set of plans (x, y) with ``u.x - v.y - w >= 0`` for every (u, v, w)
of a cone: prices ``u, v >= 0`` and a number `w` at which no observed unit makes a
profit. The extreme rays of this cone are the facets.
"""

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, QhullError

# A price below this share of the largest one of its facet is a rounding error.
NEGLIGIBLE = 1e-9
# By how much the units grow from one trial hull to the next.
GROWTH = 1.4
# More units can make fewer facets: so many times too many may come on the way.
SLACK = 2.0


def enumerate_facets(x, y, returns_to_scale, most):
    """Return the facets of a technology, None if there are more than `most`.

    Parameters
    ----------
    x : ndarray of shape (n_units, n_inputs)
    y : ndarray of shape (n_units, n_outputs)
        In units in which the columns have means near 1.
    returns_to_scale : {"crs", "vrs", "drs", "irs"}
    most : int

    Returns
    -------
    facets : ndarray of shape (n_facets, n_inputs + n_outputs + 1) or None
        Rows (u, v, w), the largest absolute value of each being 1.

    Notes
    -----
    Those of constant and of variable returns are enumerated. The facets of decreasing
    returns are those of variable returns with ``w < 0`` and all of constant returns,
    and with ``w > 0`` they are the facets of increasing returns.
    """
    parts = []
    if returns_to_scale != "vrs":
        constant = _extreme_rays(np.hstack([x, -y]), x.shape[1] + y.shape[1], most)
        if constant is None:
            return None
        parts.append(np.column_stack([constant, np.zeros(len(constant))]))
    if returns_to_scale != "crs":
        units = np.column_stack([x, -y, np.full(len(x), -1.0)])
        variable = _extreme_rays(units, x.shape[1] + y.shape[1], most)
        if variable is None:
            return None
        w = variable[:, -1]
        kept = {"vrs": np.isfinite(w), "drs": w < 0, "irs": w > 0}[returns_to_scale]
        parts.append(variable[kept])
    facets = np.concatenate(parts)
    return facets if len(facets) <= most else None


def _extreme_rays(units, n_prices, most):
    """Return the extreme rays z of the cone of z with ``units @ z >= 0``, prices >= 0.

    They are the facets of the cone that the rows generate. Every row is scaled onto a
    plane that cuts this cone in a bounded set, so that no facet is lost at infinity,
    and the hull of the points in the plane has the facets.
    """
    axes = np.eye(n_prices, units.shape[1])
    units = np.unique(units, axis=0)
    rows = np.vstack([axes, units / np.linalg.norm(units, axis=1, keepdims=True)])
    inner = _inner_point(rows)
    points = rows / (rows @ inner)[:, None]
    plane = np.linalg.svd(inner[None])[2][1:]
    equations = _hull(points @ plane.T, n_prices, most)
    if equations is None:
        return None
    # n.q + b <= 0 with q = plane @ p, and inner @ p = 1 where p is in the plane.
    rays = -equations[:, :-1] @ plane - equations[:, -1:] * inner
    rays /= np.abs(rays).max(axis=1, keepdims=True)
    rays[np.abs(rays) < NEGLIGIBLE] = 0.0
    first = np.unique(rays.round(9), axis=0, return_index=True)[1]
    return rays[np.sort(first)]


def _inner_point(rows):
    """Return a point well inside the cone of z with ``rows @ z >= 0``."""
    n = rows.shape[1]
    result = linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=np.column_stack([-rows, np.ones(len(rows))]),
        b_ub=np.zeros(len(rows)),
        bounds=[(-1, 1)] * n + [(None, 1)],
    )
    inner = result.x[:-1]
    return inner / np.linalg.norm(inner)


def _hull(points, n_axes, most):
    """Return the equations of the hull of points, None if there are too many.

    qhull cannot be interrupted. So hulls of some of the units come first: their
    vertices are all that counts of them, and their growth tells of what is to come.
    """
    n_dims = points.shape[1]
    if n_dims == 1:
        low, high = points.min(), points.max()
        return np.array([[1.0, -high], [-1.0, low]])
    axes, units = points[:n_axes], points[n_axes:]
    units = units[np.random.default_rng(0).permutation(len(units))]
    kept, taken, size, sizes, counts = units[:0], 0, 2, [], []
    while True:
        new = units[taken:size]
        taken += len(new)
        some = np.vstack([axes, kept, new])
        try:
            hull = ConvexHull(some)
        except QhullError:  # points too near to one another to tell facets apart
            return None
        if taken == len(units):
            return hull.equations
        kept = some[hull.vertices[hull.vertices >= len(axes)]]
        sizes.append(taken)
        counts.append(len(hull.simplices))
        size = taken + max(1, int((GROWTH - 1) * taken))
        if _expected(sizes, counts, min(size, len(units))) > SLACK * most:
            return None


def _expected(sizes, counts, size):
    """Return how many facets a hull of `size` units may have, by the last two."""
    if len(sizes) < 2:
        return 0
    growth = np.log(counts[-1] / counts[-2]) / np.log(sizes[-1] / sizes[-2])
    return counts[-1] * (size / sizes[-1]) ** max(growth, 0.0)
