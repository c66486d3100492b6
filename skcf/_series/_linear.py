"""Nearest points of lines and triangles where scores are linear: closed forms."""

import numpy as np

EDGES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, -1.0, 1.0))


def nearest_on_lines(terms, slopes, starts):
    """Return (mu, cost) of the cheapest point of each line in the target.

    Parameters
    ----------
    terms : (h, g, c)
        The cost ``h mu^2 + 2 g mu + c`` of each line, arrays of shape (n,) and c.
    slopes : ndarray of shape (n, n_goals)
    starts : ndarray of shape (n_goals,)
        A point is in the target where ``starts + mu * slopes`` is positive throughout.
    """
    h, g, c = terms
    lo, hi = np.zeros(len(h)), np.ones(len(h))
    empty = np.zeros(len(h), dtype=bool)
    for slope, start in zip(slopes.T, starts, strict=True):
        lo, hi, empty = _cut(lo, hi, empty, slope, start)
    empty |= lo > hi
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(h > 0, -g / h, np.where(g < 0, np.inf, -np.inf))
    mu = np.clip(free, lo, np.maximum(lo, hi))
    cost = h * mu**2 + 2 * g * mu + c
    return np.where(empty, -1.0, mu), np.where(empty, np.inf, cost)


def _cut(lo, hi, empty, slope, start):
    """Cut the intervals of lines down to where ``start + t * slope >= 0``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = -start / slope
    lo = np.where(slope > 0, np.maximum(lo, t), lo)
    hi = np.where(slope < 0, np.minimum(hi, t), hi)
    return lo, hi, empty | ((slope == 0) & (start < 0))


def nearest_in_triangles(terms, slopes, starts, simplex=True):
    """Return (a, b, cost) of the cheapest point of each triangle in the target.

    The least of a convex quadratic in a polygon lies inside or on one of its edges,
    and is a quadratic of one variable there.

    Parameters
    ----------
    terms : (h_aa, h_ab, h_bb, ga, gb, c)
        The cost of each triangle in (a, b), arrays of shape (n,) and c.
    slopes : (ndarray, ndarray) of shape (n, n_goals)
        What each goal gains along the two sides.
    starts : ndarray of shape (n_goals,)
    """
    h_aa, h_ab, h_bb, ga, gb, c = terms
    n = len(h_aa)
    ones = np.ones(n)
    edges = EDGES if simplex else EDGES[:2] + ((-1.0, 0.0, 1.0), (0.0, -1.0, 1.0))
    planes = [(u * ones, v * ones, w) for u, v, w in edges]
    planes += list(zip(*(s.T for s in slopes), starts, strict=True))
    best = np.full(n, np.inf)
    best_a, best_b = np.full(n, -1.0), np.full(n, -1.0)
    det = h_aa * h_bb - h_ab**2
    flat = det <= 1e-12 * h_aa * h_bb
    safe = np.where(flat, 1.0, det)
    points = [
        (
            np.where(flat, -1.0, (h_ab * gb - h_bb * ga) / safe),
            np.where(flat, -1.0, (h_ab * ga - h_aa * gb) / safe),
            ~flat & _inside_all(planes, h_ab, h_bb, ga, gb, h_aa, safe),
        )
    ]
    points += [_on_edge(terms, planes, at) for at in range(len(planes))]
    for a, b, ok in points:
        cost = h_aa * a**2 + 2 * h_ab * a * b + h_bb * b**2 + 2 * (ga * a + gb * b) + c
        better = ok & (cost < best)
        best = np.where(better, cost, best)
        best_a, best_b = np.where(better, a, best_a), np.where(better, b, best_b)
    return best_a, best_b, best


def _inside_all(planes, h_ab, h_bb, ga, gb, h_aa, det):
    a, b = (h_ab * gb - h_bb * ga) / det, (h_ab * ga - h_aa * gb) / det
    ok = np.ones(len(det), dtype=bool)
    for u, v, w in planes:
        ok &= u * a + v * b + w >= 0
    return ok


def _on_edge(terms, planes, at):
    """Return (a, b, exists) of the least on the edge of one plane of each polygon."""
    h_aa, h_ab, h_bb, ga, gb, _ = terms
    u, v, w = planes[at]
    norm = u * u + v * v
    ok = norm > 0
    norm = np.where(ok, norm, 1.0)
    a0, b0, da, db = -u * w / norm, -v * w / norm, -v, u
    lo, hi, empty = np.full(len(u), -np.inf), np.full(len(u), np.inf), ~ok
    for j, (p, q, r) in enumerate(planes):
        if j != at:
            slope, start = p * da + q * db, p * a0 + q * b0 + r
            # Planes that are parallel meet everywhere or nowhere.
            slope = np.where(np.abs(slope) <= 1e-15 * (np.abs(p) + np.abs(q)), 0, slope)
            start = np.where(np.abs(start) <= 1e-15, 0.0, start)
            lo, hi, empty = _cut(lo, hi, empty, slope, start)
    h = h_aa * da**2 + 2 * h_ab * da * db + h_bb * db**2
    g = h_aa * a0 * da + h_ab * (a0 * db + b0 * da) + h_bb * b0 * db + ga * da + gb * db
    with np.errstate(divide="ignore", invalid="ignore"):
        free = np.where(h > 0, -g / h, np.where(np.isfinite(lo), lo, hi))
    empty |= ~(lo <= hi)
    t = np.where(empty, 0.0, np.clip(free, lo, np.maximum(lo, hi)))
    return a0 + t * da, b0 + t * db, ~empty & np.isfinite(t)
