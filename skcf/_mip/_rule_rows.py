"""Rules between groups as linear rows over the variables of a program.

A rule is brought to negation normal form. What has to hold becomes rows; what has to
hold in one of several cases gets a binary variable a case, and its rows bind only
where that is 1. A clause about one group picks pieces, which it tells apart.
"""

from fractions import Fraction

import numpy as np

from skcf._mip._pieces import groups_of
from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import Compare, cells_of, holds, leaves
from skcf.exceptions import UnsupportedConstraintError

_CONTRARY = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
# How far from equality a strict comparison of numbers without a grid stays, relative
# to the size of its sides.
STRICT = 1e-7


class RuleRows:
    """Writes rules between groups into a program.

    Parameters
    ----------
    mip : Mip
    variables : list of GroupVariables
        Of all groups.
    rules : RuleSet
    x : ndarray of shape (n_features,)
        Codes of the query.
    turn : int, default=0
        How often an answer broke a rule: comparisons of numbers without a grid are
        kept away from equality by more and more.
    """

    def __init__(self, mip, variables, rules, x, turn=0):
        self.mip, self.variables, self.rules, self.x = mip, variables, rules, x
        self.space = rules.space
        self._slack = 1e-10 * (10.0**turn - 1.0)

    def require(self, part):
        """Require one part of a rule."""
        self._require(_normal(part.node, False))

    def limit(self, most):
        """Let at most so many groups change."""
        changed = [(v.changed, 1.0) for v in self.variables]
        self.mip.require(self.mip.total(changed) <= float(most))

    # -- clauses ----------------------------------------------------------------------

    def _require(self, node):
        match node:
            case syntax.And(operands):
                for operand in operands:
                    self._require(operand)
            case syntax.Or(operands):
                cases = [(self._case(o), 1.0) for o in operands]
                self.mip.require(self.mip.total(cases) >= 1.0)
            case _:
                told = self._told(node)
                if told is not None:
                    self.mip.require(told >= 1.0)
                else:
                    self._linear(node, None)

    def _case(self, node):
        """Return an expression that is 1 only where a clause holds."""
        mip = self.mip
        match node:
            case syntax.And(operands):
                case = mip.binary("and")
                for operand in operands:
                    mip.require(case - self._case(operand) <= 0)
                return mip.total([(case, 1.0)])
            case syntax.Or(operands):
                case = mip.binary("or")
                cases = [(self._case(o), 1.0) for o in operands]
                mip.require(mip.total([*cases, (case, -1.0)]) >= 0)
                return mip.total([(case, 1.0)])
        told = self._told(node)
        if told is not None:
            return told
        case = mip.binary("if")
        self._linear(node, case)
        return mip.total([(case, 1.0)])

    def _told(self, node):
        """Return the expression of a clause about at most one group, else None."""
        leaf = node.operand if isinstance(node, syntax.Not) else node
        groups = groups_of(leaf, self.space)
        if len(groups) > 1:
            return None
        if not groups:
            fact = holds(node, lambda table, j: self.x[None, j])
            return self.mip.total([], float(np.ravel(fact)[0]))
        group = self.variables[groups.pop()]
        rows = group.pieces.low
        place = {j: i for i, j in enumerate(group.columns)}

        def get(table, j):
            if table == "cf":
                return rows[:, place[j]]
            return np.broadcast_to(self.x[j], len(rows))

        return group.where(holds(node, get))

    # -- comparisons of several groups ------------------------------------------------

    def _linear(self, node, case):
        """Add the rows of a comparison, which bind where `case` is 1 or None."""
        negated = isinstance(node, syntax.Not)
        leaf = node.operand if negated else node
        gone = self._missing(leaf)
        if negated and gone:
            # A comparison with a missing value is false, its contrary true.
            present = self.mip.binary("there")
            row = self.mip.total([(present, 1.0), *((h, 1.0) for h in gone)])
            self.mip.require(row >= 1.0)
            if case is not None:
                both = self.mip.binary("both")
                row = self.mip.total([(both, 1.0), (present, -1.0), (case, -1.0)])
                self.mip.require(row >= -1.0)
                present = both
            case = present
        elif gone is None:
            # A missing cell of the query: the comparison is false.
            if negated:
                return
            self._forbid(case)
            return
        elif not negated:
            for home in gone:
                bound = 0.0 if case is None else 1.0 - case
                self.mip.require(home - bound <= 0)
        op = _CONTRARY[leaf.op] if negated else leaf.op
        self._compare(leaf, op, case)

    def _forbid(self, case):
        one = self.mip.total([(case, 1.0)] if case is not None else [], 0.0)
        self.mip.require(one <= (0.0 if case is not None else -1.0))

    def _missing(self, leaf):
        """Return the expressions of missing cells; None where the query's are."""
        out = []
        for table, j in dict.fromkeys(cells_of(leaf)):
            if table == "x":
                if np.isnan(self.x[j]):
                    return None
                continue
            group = self.variables[self.space.group_of[j]]
            gone = np.isnan(group.pieces.low[:, group.columns.index(j)])
            if gone.any():
                out.append(group.where(gone))
        return out

    def _compare(self, leaf, op, case):
        expression, low, high, unit = self._difference(leaf)
        size = max(1.0, abs(low), abs(high))
        near = unit / 4 if unit else -self._slack * size
        beyond = unit / 2 if unit else (STRICT + self._slack) * size
        if op == "==" and not unit:
            near = 0.0
        if op == "!=":
            # Above or below, whichever.
            above = self.mip.binary("above")
            below = 1.0 - above
            if case is not None:
                # Where the case is not 1, neither row binds.
                self._row(expression, beyond, low, high, (above, case), up=True)
                self._row(expression, -beyond, low, high, (below, case), up=False)
                return
            self._row(expression, beyond, low, high, (above,), up=True)
            self._row(expression, -beyond, low, high, (below,), up=False)
            return
        cases = () if case is None else (case,)
        if op in (">", ">=", "=="):
            least = beyond if op == ">" else -near
            self._row(expression, least, low, high, cases, up=True)
        if op in ("<", "<=", "=="):
            most = -beyond if op == "<" else near
            self._row(expression, most, low, high, cases, up=False)

    def _row(self, expression, edge, low, high, cases, up):
        """Require an expression above or below an edge where all cases are 1."""
        slack = (edge - low) if up else (high - edge)
        if slack <= 0:
            return
        sign = -1.0 if up else 1.0
        pairs = [(expression, sign)]
        constant = 0.0
        for case in cases:
            pairs.append((case, slack))
            constant += slack
        self.mip.require(self.mip.total(pairs) <= sign * edge + constant)

    def _difference(self, leaf):
        """Return (left - right, its least and greatest value, its grid)."""
        pairs, units = [], []
        constant = leaf.left.constant - leaf.right.constant
        sums = {}
        for sign, side in ((1.0, leaf.left), (-1.0, leaf.right)):
            for weight, table, j in side.terms:
                if table == "x":
                    constant += sign * weight * self.x[j]
                else:
                    sums[j] = sums.get(j, 0.0) + sign * weight
        low = high = constant
        for j, weight in sums.items():
            group = self.variables[self.space.group_of[j]]
            pairs.append((self._number(group, j), weight))
            i = group.columns.index(j)
            ends = np.concatenate([group.pieces.low[:, i], group.pieces.high[:, i]])
            ends = ends[~np.isnan(ends)]
            if np.isnan(group.pieces.low[:, i]).any():
                ends = np.append(ends, 0.0)  # what a missing number is written as
            if len(ends):
                low += min(weight * ends.min(), weight * ends.max())
                high += max(weight * ends.min(), weight * ends.max())
            units.append(self._unit(group, i, j, weight))
        unit = _common([*units, _rational(constant)])
        return self.mip.total(pairs, constant), low, high, unit

    def _number(self, group, j):
        if len(group.columns) == 1:
            return group.number
        i = group.columns.index(j)
        codes = group.pieces.low[:, i]
        return self.mip.total(
            [(b, v) for b, v in zip(group.choice, codes, strict=True) if v == v]
        )

    def _unit(self, group, i, j, weight):
        """Return the grid of a weighted column, None if it has none."""
        pieces = group.pieces
        column = self.space.columns[j]
        step = pieces.step if pieces.interval.any() else column.step
        if pieces.interval.any() and step is None or column.kind == "fixed":
            return None
        values = [pieces.low[:, i]]
        if pieces.interval.any():
            values.append([step])
            values.append(pieces.low[pieces.interval, i])
        numbers = np.concatenate(values)
        units = [_rational(v) for v in numbers[~np.isnan(numbers)]]
        unit = _common(units)
        return None if unit is None else Fraction(unit) * _rational(weight)


def check_writable(rules):
    """Raise UnsupportedConstraintError for a rule that is no set of linear rows."""
    for part in rules.joint:
        for leaf in leaves(part.node):
            if len(groups_of(leaf, rules.space)) > 1 and not isinstance(leaf, Compare):
                raise UnsupportedConstraintError(
                    f"{rules.rules[part.rule]} says something of several columns that "
                    "cannot be written as linear rows."
                )


def _normal(node, negated):
    """Return a clause without Not and Implies, except for Not at a leaf."""
    match node:
        case syntax.Not(operand):
            return _normal(operand, not negated)
        case syntax.Implies(condition, consequent):
            return _normal(syntax.Or((syntax.Not(condition), consequent)), negated)
        case syntax.And(operands) | syntax.Or(operands):
            joint = isinstance(node, syntax.And) != negated
            parts = tuple(_normal(o, negated) for o in operands)
            return (syntax.And if joint else syntax.Or)(parts)
    return syntax.Not(node) if negated else node


def _rational(number):
    """Return the short decimal that a float stands for, as a fraction."""
    return Fraction(repr(float(number)))


def _common(numbers):
    """Return the grid that all numbers are multiples of, None if it is too fine."""
    if any(n is None for n in numbers):
        return None
    grid = Fraction(0)
    for number in numbers:
        number = abs(Fraction(number))
        while number:
            grid, number = number, grid % number
        if grid.denominator > 10**9:
            return None
    return float(grid) if grid > 0 else 1.0
