"""The values of a number next to which rules turn over."""

import numpy as np

from skcf.constraints._bind import Compare, Differs, Listed, leaves


def edge_points(rules, j, parts, get, passes):
    """Return (row, code) of values of column `j` at the edges of what rules allow.

    A rule about a number is true or false all the way from one turning point to the
    next. So if the possible values of the column just below, at and above each turning
    point all break the rules, every possible value does.

    Parameters
    ----------
    rules : RuleSet
    j : int
        A numeric column.
    parts : sequence of Part
    get : callable
        Returns the codes of a column of "cf" or "x", of shape (n,); for "cf" it is not
        asked for column `j`.
    passes : callable
        Returns where a part holds for such a function; shapes broadcast.

    Returns
    -------
    row, code : ndarray
        Sorted by row. A row's own value is not among them.
    """
    own = get("x", j)
    marks = [own, *(m for p in parts for m in turning_points(p.node, j, get))]
    low, high = rules.low[j], rules.high[j]
    marks += [low, high]
    marks = np.column_stack([np.broadcast_to(m, own.shape) for m in marks])
    points = rules.space.columns[j].beside(marks).reshape(len(own), -1)
    points.sort(axis=1)
    ok = (points >= low) & (points <= high)
    ok &= points != own[:, None]
    ok[:, 1:] &= points[:, 1:] != points[:, :-1]

    def inner(table, k):
        return points if (table, k) == ("cf", j) else get(table, k)[:, None]

    for part in parts:
        ok &= passes(part, inner)
    row, place = np.nonzero(ok)
    return row, points[row, place]


def turning_points(node, j, get):
    """Yield the values of column `j` of "cf" at which a clause may turn over."""
    for leaf in leaves(node):
        match leaf:
            case Compare(left, _, right):
                weight, rest = 0.0, 0.0
                for sign, side in ((1.0, left), (-1.0, right)):
                    rest = rest + sign * side.constant
                    for w, table, k in side.terms:
                        if (table, k) == ("cf", j):
                            weight += sign * w
                        else:
                            rest = rest + sign * w * get(table, k)
                if weight:
                    yield -rest / weight
            case Listed("cf", k, codes) if k == j:
                yield from codes
            case Differs(k) if k == j:
                yield get("x", j)
