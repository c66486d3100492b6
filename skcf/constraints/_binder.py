"""Binding of rules to a feature space: names become positions, levels ranks."""

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import (
    MIRROR,
    Compare,
    Differs,
    Listed,
    OneSet,
    Sum,
    same_as_query,
)


class Binder:
    """Binds the clauses of rules to the columns of a feature space."""

    def __init__(self, space):
        self.space = space

    def __call__(self, rule):
        """Return the bound nodes that a rule stands for."""
        try:
            match rule.tree:
                case syntax.Only(columns):
                    free = set(map(self.space.position, columns))
                    shut = set(range(self.space.n_features)) - free
                    return [same_as_query(j) for j in sorted(shut)]
                case syntax.OneHot(columns):
                    return [OneSet(tuple(map(self._indicator, columns)))]
                case syntax.Together() | syntax.Ordered() | syntax.MaxChanges():
                    return []
                case tree:
                    return [self._bind(tree)]
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
        low, high = (self._constant(middle, Sum((), end)) for end in (low, high))
        if negated:
            return syntax.Or((Compare(middle, "<", low), Compare(middle, ">", high)))
        return syntax.And((Compare(middle, ">=", low), Compare(middle, "<=", high)))

    def _compare(self, left, op, right):
        if self._level_cell(left) is None and self._level_cell(right) is not None:
            left, op, right = right, MIRROR[op], left
        cell = self._level_cell(left)
        if cell is not None:
            return self._compare_level(cell, op, right)
        for side, other in ((left, right), (right, left)):
            if not isinstance(side, syntax.Linear):
                raise ValueError(
                    f"{other} is a number; it does not compare with {side}"
                )
        same = self._same(left, right)
        if same is not None and self._kind(same) == "fixed":
            # A date has no number, but it is carried along and equals itself.
            one, two = (Sum(((1.0, s.cell.table, same),), 0.0) for s in (left, right))
            return Compare(one, op, two, same)
        left, right = self._sum(left), self._sum(right)
        left, right = self._constant(right, left), self._constant(left, right)
        columns = [self.space.columns[j] for _, _, j in left.terms + right.terms]
        return Compare(left, op, right, same, any(c.single for c in columns))

    def _same(self, left, right):
        """Return the column of which one side is the cell of cf, one that of x."""
        one, two = left.cell, right.cell
        if one is None or two is None or one.table == two.table:
            return None
        j, k = self.space.position(one.column), self.space.position(two.column)
        return j if j == k else None

    def _constant(self, cell, side):
        """Round a constant to the float type of the column that it stands against."""
        if side.terms or len(cell.terms) != 1 or cell.computed:
            return side
        column = self.space.columns[cell.terms[0][2]]
        return Sum((), column.round(side.constant))

    def _compare_level(self, cell, op, other):
        """Compare a category with a level or with another cell."""
        j = self.space.position(cell.column)
        column = self.space.columns[j]
        self._check_order(column, op)
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
            return self._compare_columns(left, op, right)
        value = other.constant if isinstance(other, syntax.Linear) else other.value
        return Compare(left, op, Sum((), self._code(j, value)))

    def _compare_columns(self, left, op, right):
        """Compare two categorical columns by their labels, or ranks if alike."""
        one, two = (self.space.columns[side.terms[0][2]] for side in (left, right))
        if two.levels is None:
            raise ValueError(
                f"column {one.name!r} is a category, column {two.name!r} is not"
            )
        self._check_order(two, op)
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
        (_, table, j), (_, other, k) = left.terms[0], right.terms[0]
        pairs = [
            (
                Listed(table, j, (float(one.rank[v]),), False),
                Listed(other, k, (float(two.rank[v]),), False),
            )
            for v in shared
        ]
        equal = syntax.Or.of(tuple(map(syntax.And, pairs)))
        if op == "==":
            return equal
        present = Compare(left, ">=", Sum((), 0.0)), Compare(right, ">=", Sum((), 0.0))
        return syntax.And((syntax.Not(equal), *present))

    def _check_order(self, column, op):
        if op not in ("==", "!=") and column.kind == "categorical":
            raise ValueError(
                f"column {column.name!r} is an unordered category: it can be compared "
                f"by ==, != and in only, not by {op}; ordered({column.name!r}, "
                "[...]) gives it an order"
            )

    def _level_cell(self, side):
        """Return the cell of a side that is one category, else None."""
        if not isinstance(side, syntax.Linear):
            return None
        for _, cell in side.terms:
            column = self.space.columns[self.space.position(cell.column)]
            if column.levels is not None:
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

    def _kind(self, j):
        return self.space.columns[j].kind

    def _number(self, cell):
        """Return the position of a numeric column."""
        j = self.space.position(cell.column)
        if self._kind(j) == "numeric":
            return j
        if self._kind(j) == "fixed":
            raise ValueError(
                f"column {cell.column!r} is only carried along: no rule but fixed "
                "reads it"
            )
        raise ValueError(
            f"column {cell.column!r} is {self._kind(j)}, expected a number"
        )

    def _indicator(self, name):
        """Return the position of a column of zeros and ones."""
        j = self.space.position(name)
        column = self.space.columns[j]
        values = column.domain if column.levels is None else column.levels
        binary = all(v in (0, 1) for v in values)
        if binary and column.levels is not None:
            binary = all(v == k for k, v in enumerate(column.levels))
        if not binary or column.kind == "fixed":
            raise ValueError(
                f"column {column.name!r} is no indicator: it must hold 0 and 1, or "
                "False and True, alone"
            )
        return j

    def _code(self, j, value):
        """Return the code of a literal in a column."""
        column = self.space.columns[j]
        if column.levels is not None:
            if value in column.rank:
                return float(column.rank[value])
            shown = ", ".join(map(repr, column.levels[:8]))
            more = ", ..." if len(column.levels) > 8 else ""
            raise ValueError(
                f"column {column.name!r} has no level {syntax.literal(value)}; "
                f"expected one of {shown}{more}"
            )
        if column.kind != "numeric" or isinstance(value, (str, bool)):
            raise ValueError(
                f"column {column.name!r} is {column.kind}; it cannot be "
                f"{syntax.literal(value)}"
            )
        return column.round(value)
