"""What the rules say of the columns themselves: groups, orders, ranges, fixed ones."""

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import MIRROR


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
                    groups.append(_group(columns, container))
                case syntax.Ordered(column, levels):
                    _set_order(orders, container.position(column), list(levels))
                case syntax.Only(columns):
                    free = set(map(container.position, columns))
                    fixed |= set(range(len(container.names))) - free
                case syntax.MaxChanges():
                    pass
                case tree:
                    _read_clause(tree, container, ranges, fixed)
        except ValueError as error:
            raise ValueError(f"Rule {str(rule)!r}: {error}") from None
    if only_structure:
        return {k: v for k, v in {"groups": groups, "orders": orders}.items() if v}
    return {
        "groups": _check_disjoint(groups, container),
        "orders": orders,
        "ranges": {j: tuple(ends) for j, ends in ranges.items()},
        "fixed": fixed,
    }


def _group(columns, container):
    members = sorted(map(container.position, columns))
    for one, two in zip(members, members[1:], strict=False):
        if one == two:
            raise ValueError(f"column {container.names[one]!r} is given twice")
    return tuple(members)


def _set_order(orders, j, levels):
    if orders.setdefault(j, levels) != levels:
        raise ValueError(f"another rule gives the order {orders[j]}")


def _check_disjoint(groups, container):
    seen = {}
    for group in groups:
        for j in group:
            if seen.setdefault(j, group) != group:
                raise ValueError(
                    f"Column {container.names[j]!r} is in two groups; a column can be "
                    "taken together with others, or be one of a one-hot block, once."
                )
    return sorted(set(groups))


def _read_clause(tree, container, ranges, fixed):
    """Note the declared ranges and the fixed columns of a clause."""
    match tree:
        case syntax.And(operands):
            for operand in operands:
                _read_clause(operand, container, ranges, fixed)
        case syntax.Interval(syntax.Cell("cf", column), low, high, False):
            _narrow(ranges, container.position(column), low, high)
        case syntax.Comparison(syntax.Linear() as left, op, syntax.Linear() as right):
            if not left.terms or (left.cell and left.cell.table == "x"):
                left, op, right = right, MIRROR[op], left
            if left.cell is not None and left.cell.table == "cf":
                _read_comparison(left.cell.column, op, right, container, ranges, fixed)


def _read_comparison(column, op, right, container, ranges, fixed):
    j = container.position(column)
    other = right.cell
    if op == "==" and other is not None and other.table == "x":
        if container.position(other.column) == j:
            fixed.add(j)
    elif not right.terms and op in ("==", ">=", "<="):
        low = None if op == "<=" else right.constant
        high = None if op == ">=" else right.constant
        _narrow(ranges, j, low, high)


def _narrow(ranges, j, low, high):
    have = ranges.setdefault(j, [None, None])
    if low is not None:
        have[0] = low if have[0] is None else max(have[0], low)
    if high is not None:
        have[1] = high if have[1] is None else min(have[1], high)
