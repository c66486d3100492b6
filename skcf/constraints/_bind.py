"""The clauses of rules over codes: columns are positions, levels are ranks."""

from dataclasses import dataclass

import numpy as np

from skcf.constraints import _syntax as syntax

_OPS = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_EXACT = ("==", "!=")
# Comparisons of a cell of cf with that of x that hold when both are missing.
_KEPT = ("==", "<=", ">=")
ROUNDING = 4
MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Sum:
    """A weighted sum of codes; each term is (weight, "cf" or "x", position)."""

    terms: tuple
    constant: float

    def __call__(self, get):
        """Return (value, mask of missing operands)."""
        total, missing = np.float64(self.constant), np.False_
        for weight, table, j in self.terms:
            code = get(table, j)
            total = total + (code if weight == 1 else weight * code)
            missing = missing | np.isnan(code)
        return total, missing

    def size(self, get):
        """Return the sum of the absolute values of the terms."""
        return sum(
            (np.abs(w * get(t, j)) for w, t, j in self.terms), abs(self.constant)
        )

    @property
    def computed(self):
        """Whether the value is the result of arithmetic, and so may be rounded."""
        n_terms = len(self.terms) + (self.constant != 0)
        return n_terms > 1 or any(abs(weight) != 1 for weight, _, _ in self.terms)


@dataclass(frozen=True)
class Compare:
    """A comparison of two sums; false where an operand is missing.

    `same` is the position of the column when the sides are its cells of cf and x:
    there missing on both sides is unchanged, and so satisfies ==, <= and >=. The result
    of arithmetic equals what it differs from by its rounding error alone; `single` says
    that some of the columns are rounded to 32 bits.
    """

    left: Sum
    op: str
    right: Sum
    same: int | None = None
    single: bool = False

    def __call__(self, get):
        """Return the mask of rows that satisfy the comparison."""
        left, gone = self.left(get)
        right, lost = self.right(get)
        held = _OPS[self.op](left, right)
        if self.op in _EXACT and (self.left.computed or self.right.computed):
            eps = np.finfo(np.float32 if self.single else np.float64).eps
            slack = ROUNDING * eps * (self.left.size(get) + self.right.size(get))
            near = np.abs(left - right) <= slack
            held = near if self.op == "==" else ~near
        held = held & ~(gone | lost)
        if self.same is not None and self.op in _KEPT:
            held = held | (gone & lost)
        return held


@dataclass(frozen=True)
class Listed:
    """A code that is in a set, or not; false where it is missing."""

    table: str
    column: int
    codes: tuple
    negated: bool

    def __call__(self, get):
        """Return the mask of rows that satisfy the membership."""
        code = get(self.table, self.column)
        inside = np.isin(code, self.codes, invert=self.negated)
        return inside & ~np.isnan(code)


@dataclass(frozen=True)
class Differs:
    """The counterfactual differs from the query in a column."""

    column: int

    def __call__(self, get):
        """Return the mask of rows where the column was changed."""
        cf, x = get("cf", self.column), get("x", self.column)
        return ~((cf == x) | (np.isnan(cf) & np.isnan(x)))


@dataclass(frozen=True)
class OneSet:
    """Of some indicator columns, exactly one is 1 and the others are 0."""

    columns: tuple

    def __call__(self, get):
        """Return the mask of rows with exactly one indicator set."""
        cells = [get("cf", j) for j in self.columns]
        binary, total = True, 0.0
        for cell in cells:
            binary = binary & ((cell == 0) | (cell == 1))
            total = total + cell
        return binary & (total == 1)


def holds(node, get):
    """Return where a bound clause or rule holds.

    `get(table, position)` returns the codes of a column of "cf" or "x"; shapes
    broadcast.
    """
    match node:
        case syntax.And(operands):
            out = holds(operands[0], get)
            for operand in operands[1:]:
                out = out & holds(operand, get)
            return out
        case syntax.Or(operands):
            out = holds(operands[0], get)
            for operand in operands[1:]:
                out = out | holds(operand, get)
            return out
        case syntax.Not(operand):
            return ~holds(operand, get)
        case syntax.Implies(condition, consequent):
            return ~holds(condition, get) | holds(consequent, get)
    return node(get)


def leaves(node):
    """Yield the comparisons and memberships of a bound node, in reading order."""
    match node:
        case syntax.And(operands) | syntax.Or(operands):
            for operand in operands:
                yield from leaves(operand)
        case syntax.Not(operand):
            yield from leaves(operand)
        case syntax.Implies(condition, consequent):
            yield from leaves(condition)
            yield from leaves(consequent)
        case _:
            yield node


def cells_of(node):
    """Yield (table, position) of all cells of a bound node, in reading order."""
    for leaf in leaves(node):
        match leaf:
            case Compare(left, _, right):
                yield from ((table, j) for _, table, j in left.terms + right.terms)
            case Listed(table, column):
                yield table, column
            case Differs(column):
                yield from (("cf", column), ("x", column))
            case OneSet(columns):
                yield from (("cf", j) for j in columns)


def same_as_query(j):
    """Return the clause that column `j` is as in the query."""
    cf, x = Sum(((1.0, "cf", j),), 0.0), Sum(((1.0, "x", j),), 0.0)
    return Compare(cf, "==", x, j)


def is_fixed(node):
    """Tell whether a bound clause says that a column is as in the query."""
    if isinstance(node, syntax.Not):
        return isinstance(node.operand, Differs)
    return isinstance(node, Compare) and node.same is not None and node.op == "=="
