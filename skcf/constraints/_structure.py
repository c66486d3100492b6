"""What the rules say before any row is seen: groups, orders, ranges, conflicts."""

import numpy as np
from scipy.optimize import linprog

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import Compare, Listed, cells_of, holds
from skcf.exceptions import InfeasibleConstraintError


def read_structure(rules, container, only_structure=False):
    """Return the arguments of a FeatureSpace that the rules determine.

    With `only_structure`, just those of `together`, `one_hot` and `ordered`, which
    say how columns are read; empty if there are none.
    """
    groups, orders, ranges, fixed = [], {}, {}, set()
    for rule in rules:
        try:
            match rule.tree:
                case syntax.Together(columns) | syntax.OneHot(columns):
                    groups.append(tuple(map(container.position, columns)))
                case syntax.Ordered(column, levels):
                    orders[container.position(column)] = list(levels)
                case syntax.Only(columns):
                    free = {container.position(name) for name in columns}
                    fixed |= set(range(len(container.names))) - free
                case syntax.MaxChanges():
                    pass
                case tree:
                    _read_clause(tree, container, ranges, fixed)
        except ValueError as error:
            raise ValueError(f"Rule {str(rule)!r}: {error}") from None
    if only_structure:
        return {k: v for k, v in {"groups": groups, "orders": orders}.items() if v}
    seen = {}
    for group in groups:
        for j in group:
            if j in seen and seen[j] != group:
                raise ValueError(
                    f"Column {container.names[j]!r} is in two groups; a column can be "
                    "taken together with others, or be one of a one-hot block, once."
                )
            seen[j] = group
    return {
        "groups": sorted(set(groups)),
        "orders": orders,
        "ranges": {j: tuple(r) for j, r in ranges.items()},
        "fixed": fixed,
    }


def _read_clause(tree, container, ranges, fixed):
    """Note the declared ranges and the fixed columns of a clause."""
    match tree:
        case syntax.And(operands):
            for operand in operands:
                _read_clause(operand, container, ranges, fixed)
        case syntax.Interval(syntax.Cell("cf", column), low, high, False):
            _narrow(ranges, container.position(column), low, high)
        case syntax.Comparison(syntax.Linear() as left, op, syntax.Linear() as right):
            if left.cell is None or left.cell.table != "cf":
                return
            j = container.position(left.cell.column)
            if op == "==" and right.cell == syntax.Cell("x", left.cell.column):
                fixed.add(j)
            elif not right.terms and op in (">=", "<="):
                low, high = (right.constant, None) if op == ">=" else (None, right.constant)
                _narrow(ranges, j, low, high)


def _narrow(ranges, j, low, high):
    have = ranges.setdefault(j, [None, None])
    if low is not None:
        have[0] = low if have[0] is None else max(have[0], low)
    if high is not None:
        have[1] = high if have[1] is None else min(have[1], high)


def check_consistent(rules):
    """Raise InfeasibleConstraintError if no row whatever has an answer.

    Two tests, each of which proves a contradiction: one column with rules that no
    value satisfies, and linear rules that no query and counterfactual satisfy.
    """
    for group, parts in rules.filters.items():
        members = rules.space.groups[group]
        if len(members) == 1:
            parts = [p for p in parts if not p.x_columns]
            _check_column(rules, rules.space.columns[members[0]], members[0], parts)
    linear = [p for p in rules.parts if isinstance(p.node, Compare) and p.node.op != "!="]
    if linear and not _satisfiable(linear):
        for part in list(linear):
            rest = [p for p in linear if p is not part]
            if not _satisfiable(rest):
                linear = rest
        _raise(rules, linear, "no query has a counterfactual that satisfies them")


def _check_column(rules, column, j, parts):
    if not parts:
        return
    points = _points(column, parts)

    def get(table, k):
        return points

    ok = np.ones(len(points), dtype=bool)
    for part in parts:
        ok &= holds(part.node, get)
    if not ok.any():
        _raise(rules, parts, f"no value of column {rules.space.names[j]!r} satisfies them")


def _points(column, parts):
    """Return one code for each way in which rules about a column can come out."""
    if hasattr(column, "levels"):
        return np.arange(len(column.levels), dtype=float)
    marks = {0.0}
    for part in parts:
        for node in _leaves(part.node):
            if isinstance(node, Listed):
                marks.update(node.codes)
            elif isinstance(node, Compare):
                weight = sum(t[0] for t in node.left.terms)
                weight -= sum(t[0] for t in node.right.terms)
                if weight:
                    marks.add((node.right.constant - node.left.constant) / weight)
    marks = np.array(sorted(marks))
    between = (marks[1:] + marks[:-1]) / 2
    near = np.concatenate([np.nextafter(marks, -np.inf), np.nextafter(marks, np.inf)])
    span = max(1.0, np.abs(marks).max())
    return np.concatenate([marks, near, between, [marks[0] - span, marks[-1] + span]])


def _leaves(node):
    match node:
        case syntax.And(operands) | syntax.Or(operands):
            for operand in operands:
                yield from _leaves(operand)
        case syntax.Not(operand):
            yield from _leaves(operand)
        case syntax.Implies(condition, consequent):
            yield from _leaves(condition)
            yield from _leaves(consequent)
        case _:
            yield node


def _satisfiable(parts):
    """Tell whether linear comparisons hold together for some cells of cf and x."""
    cells = list(dict.fromkeys(c for p in parts for c in cells_of(p.node)))
    place = {cell: i for i, cell in enumerate(cells)}
    upper, equal = [], []
    for part in parts:
        node = part.node
        row = np.zeros(len(cells) + 2)
        for sign, side in ((1.0, node.left), (-1.0, node.right)):
            for weight, table, j in side.terms:
                row[place[table, j]] += sign * weight
            row[-1] -= sign * side.constant
        if node.op == "==":
            equal.append(row)
            continue
        if node.op in (">", ">="):
            row = -row
        # The slack of strict comparisons is maximised: it has to be positive.
        row[-2] = float(node.op in ("<", ">"))
        upper.append(row)
    cost = np.zeros(len(cells) + 1)
    cost[-1] = -1.0
    result = linprog(
        cost,
        A_ub=np.array([r[:-1] for r in upper]) if upper else None,
        b_ub=np.array([r[-1] for r in upper]) if upper else None,
        A_eq=np.array([r[:-1] for r in equal]) if equal else None,
        b_eq=np.array([r[-1] for r in equal]) if equal else None,
        bounds=[(None, None)] * len(cells) + [(0, 1)],
    )
    if result.status == 2:
        return False
    return result.status != 0 or result.x[-1] > 0 or not any(r[-2] for r in upper)


def _raise(rules, parts, why):
    texts = dict.fromkeys(str(rules.rules[p.rule]) for p in parts)
    raise InfeasibleConstraintError(
        "The constraints contradict one another: " + " and ".join(map(repr, texts)) + f"; {why}."
    )
