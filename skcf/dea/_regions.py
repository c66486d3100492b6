"""Where the rules let a plan go: boxes with linear rows, for one query.

With the cells of the query filled in, a rule is a combination of linear comparisons of
the cells that may move. Multiplied out, it is a few polyhedra, the regions.
"""

from dataclasses import dataclass

import numpy as np

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import Compare, Differs, Listed, cells_of, holds
from skcf.exceptions import UnsupportedConstraintError

MAX_REGIONS = 256
# By how much rows of computed cells are kept away from their bounds, relatively.
MARGIN = 1e-10
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True)
class Region:
    """A polyhedron of codes.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
    rows : ndarray of shape (n_rows, n_features)
    at_most : ndarray of shape (n_rows,)
        ``rows @ codes <= at_most``.
    equal : ndarray of shape (n_equal, n_features)
    value : ndarray of shape (n_equal,)
        ``equal @ codes == value``.
    """

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    at_most: np.ndarray
    equal: np.ndarray
    value: np.ndarray


def check_regions(rules):
    """Raise UnsupportedConstraintError for rules that make no few polyhedra."""
    total = 1
    for rule in rules.rules:
        match rule.tree:
            case syntax.Together() | syntax.OneHot() | syntax.Ordered():
                raise UnsupportedConstraintError(
                    f"{rule}: inputs and outputs are amounts of any size; they are "
                    "not taken from lists of values or levels."
                )
    for part in rules.parts:
        count = _count(part.node)
        total *= count
        if total > MAX_REGIONS:
            raise UnsupportedConstraintError(
                f"{rules.rules[part.rule]}: with the rules before it there are "
                f"{total} alternatives, expected at most {MAX_REGIONS}. Fewer 'or', "
                "'not', '=>' and listed values make fewer."
            )


def _count(node, negated=False):
    """Return how many polyhedra a node is at most."""
    match node:
        case syntax.Not(operand):
            return _count(operand, not negated)
        case syntax.Implies(condition, consequent):
            if negated:
                return _count(condition) * _count(consequent, True)
            return _count(condition, True) + _count(consequent)
        case syntax.And(operands) | syntax.Or(operands):
            counts = [_count(o, negated) for o in operands]
            both = isinstance(node, syntax.And) != negated
            return int(np.prod(counts)) if both else sum(counts)
        case Listed(_, _, codes, n):
            return len(codes) + (n != negated)
        case Differs():
            return 1 if negated else 2
        case Compare(op=op):
            return 2 if (op if not negated else _NEGATED[op]) == "!=" else 1
    return 1


def regions_of(rules, x, free, lifted=-1):
    """Return the regions of one query.

    Parameters
    ----------
    rules : RuleSet
    x : ndarray of shape (n_features,)
        Codes of the query.
    free : ndarray of bool of shape (n_features,)
        The columns that may move; they may not fall below 0.
    lifted : int, default=-1
        The position of a rule that does not count.
    """
    low, high = np.where(free, 0.0, x), np.where(free, np.inf, x)
    found = [(low, high, (), ())]
    for part in rules.parts:
        if part.rule != lifted:
            pieces = _pieces(part.node, x, free)
            found = [both for one in found for p in pieces if (both := _meet(one, p))]
    return [_region(one, len(x)) for one in found]


def _region(one, n):
    low, high, rows, equal = one
    rows, equal = (
        (np.array([r for r, _ in some]).reshape(-1, n), np.array([b for _, b in some]))
        for some in (rows, equal)
    )
    return Region(low, high, *rows, *equal)


def _meet(one, other):
    """Return what two polyhedra share, None if their boxes share nothing."""
    low, high = np.maximum(one[0], other[0]), np.minimum(one[1], other[1])
    if (low > high).any():
        return None
    return low, high, one[2] + other[2], one[3] + other[3]


def _pieces(node, x, free, negated=False):
    """Return the polyhedra of a node as (low, high, rows, equal)."""
    match node:
        case syntax.Not(operand):
            return _pieces(operand, x, free, not negated)
        case syntax.Implies(condition, consequent):
            node = syntax.Or((syntax.Not(condition), consequent))
            return _pieces(node, x, free, negated)
        case syntax.And(operands) | syntax.Or(operands):
            lots = [_pieces(o, x, free, negated) for o in operands]
            if isinstance(node, syntax.And) == negated:
                return [piece for lot in lots for piece in lot]
            found = lots[0]
            for lot in lots[1:]:
                found = [m for a in found for b in lot if (m := _meet(a, b))]
            return found
    if not any(table == "cf" and free[j] for table, j in cells_of(node)):
        truth = bool(holds(node, lambda table, j: x[j]))
        return [_everything(len(x))] if truth != negated else []
    match node:
        case Listed(_, j, codes, outside):
            if outside != negated:
                return _gaps(j, sorted(codes), len(x))
            return [_between(j, c, c, len(x)) for c in codes]
        case Differs(j):
            if negated:
                return [_between(j, x[j], x[j], len(x))]
            return _gaps(j, [x[j]], len(x))
        case Compare():
            return _compared(node, x, free, negated)
    raise UnsupportedConstraintError(f"a rule has no polyhedra: {node!r}")


def _everything(n):
    return np.full(n, -np.inf), np.full(n, np.inf), (), ()


def _between(j, low, high, n):
    piece = _everything(n)
    piece[0][j], piece[1][j] = low, high
    return piece


def _gaps(j, codes, n):
    """Return the open intervals between some codes."""
    ends = [-np.inf, *codes, np.inf]
    return [
        _between(j, np.nextafter(low, np.inf), np.nextafter(high, -np.inf), n)
        for low, high in zip(ends, ends[1:], strict=False)
    ]


def _compared(node, x, free, negated):
    """Return the polyhedra of a comparison: factors times free cells, and a bound."""
    op = _NEGATED[node.op] if negated else node.op
    factors, bound = np.zeros(len(x)), 0.0
    for side, sign in ((node.left, 1.0), (node.right, -1.0)):
        bound -= sign * side.constant
        for weight, table, j in side.terms:
            if table == "cf" and free[j]:
                factors[j] += sign * weight
            else:
                bound -= sign * weight * x[j]
    size = node.left.size(lambda table, j: x[j]) + node.right.size(lambda t, j: x[j])
    used = np.flatnonzero(factors)
    if not len(used):
        held = {"==": 0 == bound, "<": 0 < bound, "<=": 0 <= bound}
        held |= {">": 0 > bound, ">=": 0 >= bound, "!=": 0 != bound}
        return [_everything(len(x))] if held[op] else []
    if op == "!=":
        return [_half(factors, bound, o, size, used, node) for o in ("<", ">")]
    return [_half(factors, bound, op, size, used, node)]


def _half(factors, bound, op, size, used, node):
    n = len(factors)
    if op == "==":
        if len(used) == 1:
            value = bound / factors[used[0]]
            return _between(used[0], value, value, n)
        return (*_everything(n)[:2], (), ((factors, bound),))
    if op in (">", ">="):
        factors, bound = -factors, -bound
    margin = MARGIN * size
    if len(used) > 1:
        return (*_everything(n)[:2], ((factors, bound - margin),), ())
    j = used[0]
    end = bound / factors[j]
    moving = any(t == "cf" and k == j for _, t, k in node.left.terms)
    side = node.left if moving else node.right
    if side.computed:
        # What is judged is this side as floats compute it: stay clear of rounding.
        clear = margin if op in ("<", ">") else 8 * np.finfo(float).eps * size
        end -= clear / factors[j]
    elif op in ("<", ">"):
        end = np.nextafter(end, -np.inf if factors[j] > 0 else np.inf)
    return _between(j, *((-np.inf, end) if factors[j] > 0 else (end, np.inf)), n)
