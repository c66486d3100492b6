"""Rules bound to a feature space: names become positions, levels become ranks."""

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
_MIRROR = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Sum:
    """A weighted sum of codes; each term is (weight, "cf" or "x", position)."""

    terms: tuple
    constant: float

    def __call__(self, get):
        """Return (value, mask of missing operands)."""
        total, missing = self.constant, False
        for weight, table, j in self.terms:
            code = get(table, j)
            total = total + (code if weight == 1 else weight * code)
            missing = missing | np.isnan(code)
        return total, missing


@dataclass(frozen=True)
class Compare:
    """A comparison of two sums; false where an operand is missing.

    `same` is the position of the column when the sides are its cells of cf and x:
    there missing on both sides is unchanged, and so satisfies ==, <= and >=.
    """

    left: Sum
    op: str
    right: Sum
    same: int | None = None

    def __call__(self, get):
        """Return the mask of rows that satisfy the comparison."""
        left, gone = self.left(get)
        right, lost = self.right(get)
        held = _OPS[self.op](left, right) & ~(gone | lost)
        if self.same is not None and "=" in self.op and self.op != "!=":
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
            return ~np.asarray(holds(operand, get))
        case syntax.Implies(condition, consequent):
            return ~np.asarray(holds(condition, get)) | holds(consequent, get)
    return node(get)


def cells_of(node):
    """Yield (table, position) of all cells of a bound node, in reading order."""
    match node:
        case syntax.And(operands) | syntax.Or(operands):
            for operand in operands:
                yield from cells_of(operand)
        case syntax.Not(operand):
            yield from cells_of(operand)
        case syntax.Implies(condition, consequent):
            yield from cells_of(condition)
            yield from cells_of(consequent)
        case Compare(left, _, right):
            yield from ((table, j) for _, table, j in left.terms + right.terms)
        case Listed(table, column):
            yield table, column
        case Differs(column):
            yield from (("cf", column), ("x", column))
        case OneSet(columns):
            yield from (("cf", j) for j in columns)


class Binder:
    """Binds the clauses of rules to the columns of a feature space."""

    def __init__(self, space):
        self.space = space

    def __call__(self, rule):
        """Return the bound node of a rule that is not structural."""
        try:
            return self._bind(rule.tree)
        except ValueError as error:
            raise ValueError(f"Rule {str(rule)!r}: {error}") from None

    def _bind(self, node):
        match node:
            case syntax.And(operands) | syntax.Or(operands):
                return type(node)(tuple(self._bind(o) for o in operands))
            case syntax.Not(operand):
                return syntax.Not(self._bind(operand))
            case syntax.Implies(condition, consequent):
                return syntax.Implies(self._bind(condition), self._bind(consequent))
            case syntax.Changed(column):
                return Differs(self.space.position(column))
            case syntax.Member(cell, values, negated):
                j = self.space.position(cell.column)
                codes = tuple(self._code(j, value) for value in values)
                return Listed(cell.table, j, codes, negated)
            case syntax.Interval(cell, low, high, negated):
                return self._interval(cell, low, high, negated)
            case syntax.Comparison(left, op, right):
                return self._compare(left, op, right)
        raise TypeError(f"unknown node {node!r}")

    def _interval(self, cell, low, high, negated):
        middle = Sum(((1.0, cell.table, self._number(cell)),), 0.0)
        ends = Sum((), low), Sum((), high)
        if negated:
            return syntax.Or(
                (Compare(middle, "<", ends[0]), Compare(middle, ">", ends[1]))
            )
        return syntax.And(
            (Compare(middle, ">=", ends[0]), Compare(middle, "<=", ends[1]))
        )

    def _compare(self, left, op, right):
        if self._level_cell(left) is None and self._level_cell(right) is not None:
            left, op, right = right, _MIRROR[op], left
        cell = self._level_cell(left)
        if cell is not None:
            return self._compare_level(cell, op, right)
        for side in (left, right):
            if not isinstance(side, syntax.Linear):
                raise ValueError(
                    f"{side} is not a number and neither side is a category"
                )
        same = None
        if left.cell and right.cell and left.cell.column == right.cell.column:
            if left.cell.table != right.cell.table:
                same = self.space.position(left.cell.column)
        return Compare(self._sum(left), op, self._sum(right), same)

    def _compare_level(self, cell, op, other):
        """Compare a category with a level or with another cell."""
        j = self.space.position(cell.column)
        column = self.space.columns[j]
        if op not in ("==", "!=") and column.kind == "categorical":
            raise ValueError(
                f"column {column.name!r} is an unordered category: it can be compared "
                f"by ==, != and in only, not by {op}; ordered({column.name!r}, "
                "[...]) gives it an order"
            )
        left = Sum(((1.0, cell.table, j),), 0.0)
        if isinstance(other, syntax.Linear) and other.terms:
            if other.cell is None:
                raise ValueError(
                    f"column {column.name!r} is a category: it compares with a level "
                    f"or a cell, not with {other}"
                )
            k = self.space.position(other.cell.column)
            right = Sum(((1.0, other.cell.table, k),), 0.0)
            if k == j:
                same = j if cell.table != other.cell.table else None
                return Compare(left, op, right, same)
            return self._compare_columns(cell, j, op, other.cell, k)
        value = other.constant if isinstance(other, syntax.Linear) else other.value
        return Compare(left, op, Sum((), self._code(j, value)))

    def _compare_columns(self, cell, j, op, other, k):
        """Compare two categorical columns by their labels, or ranks if alike."""
        one, two = self.space.columns[j], self.space.columns[k]
        if not hasattr(two, "levels"):
            raise ValueError(
                f"column {one.name!r} is a category, column {two.name!r} is not"
            )
        left = Sum(((1.0, cell.table, j),), 0.0)
        right = Sum(((1.0, other.table, k),), 0.0)
        if one.levels == two.levels:
            return Compare(left, op, right)
        if op not in ("==", "!="):
            raise ValueError(
                f"columns {one.name!r} and {two.name!r} have different levels: they "
                "compare by == and != only"
            )
        shared = [v for v in one.levels if v in two.rank]
        if not shared:
            raise ValueError(
                f"columns {one.name!r} and {two.name!r} have no level in common"
            )
        equal = syntax.Or.of(
            tuple(
                syntax.And(
                    (
                        Listed(cell.table, j, (float(one.rank[v]),), False),
                        Listed(other.table, k, (float(two.rank[v]),), False),
                    )
                )
                for v in shared
            )
        )
        if op == "==":
            return equal
        present = Compare(left, ">=", Sum((), 0.0)), Compare(right, ">=", Sum((), 0.0))
        return syntax.And((syntax.Not(equal), *present))

    def _level_cell(self, side):
        """Return the cell of a side that is one category, else None."""
        if not isinstance(side, syntax.Linear):
            return None
        for _, cell in side.terms:
            column = self.space.columns[self.space.position(cell.column)]
            if hasattr(column, "levels"):
                if side.cell is None:
                    raise ValueError(
                        f"column {column.name!r} is a category: there is no "
                        f"arithmetic with it, as in {side}"
                    )
                return side.cell
        return None

    def _sum(self, side):
        terms = tuple((w, cell.table, self._number(cell)) for w, cell in side.terms)
        return Sum(terms, side.constant)

    def _number(self, cell):
        j = self.space.position(cell.column)
        if self.space.columns[j].kind == "numeric":
            return j
        kind = self.space.columns[j].kind
        raise ValueError(f"column {cell.column!r} is {kind}, expected a number")

    def _code(self, j, value):
        """Return the code of a literal in a column."""
        column = self.space.columns[j]
        if hasattr(column, "levels"):
            if value in column.rank:
                return float(column.rank[value])
            raise ValueError(
                f"column {column.name!r} has no level {value!r}; expected one of "
                f"{column.levels[:8]}"
            )
        if column.kind != "numeric" or isinstance(value, (str, bool)):
            raise ValueError(
                f"column {column.name!r} is {column.kind}; it cannot be {value!r}"
            )
        return float(value)
