"""Rules that no row satisfies, whatever the query."""

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

from skcf.constraints import _syntax as syntax
from skcf.constraints._bind import (
    Compare,
    Differs,
    Listed,
    OneSet,
    Sum,
    cells_of,
    holds,
    leaves,
    same_as_query,
)
from skcf.exceptions import InfeasibleConstraintError


def check_consistent(rules):
    """Raise InfeasibleConstraintError if no row whatever has an answer.

    Three tests, each of which proves a contradiction: columns with rules that no value
    satisfies, one-hot blocks with rules that no indicator satisfies, and linear rules
    that no query and counterfactual satisfy. Rules can contradict one another in ways
    that none of these finds; then single rows are found infeasible, or nothing is.
    """
    by_column, blocks = {}, []
    for part in rules.parts:
        cells = set(cells_of(part.node))
        if isinstance(part.node, OneSet):
            blocks.append(part)
        elif len(cells) == 1 and min(cells)[0] == "cf":
            by_column.setdefault(min(cells)[1], []).append(part)
    for j, parts in by_column.items():
        _check_column(rules, j, parts)
    for block in blocks:
        inside = [p for j in block.node.columns for p in by_column.get(j, ())]
        _check_block(rules, block, inside)
    _check_linear(rules)


def _raise(rules, parts, why):
    texts = dict.fromkeys(str(rules.rules[p.rule]) for p in parts)
    raise InfeasibleConstraintError(
        f"The constraints contradict one another: {' and '.join(map(repr, texts))}; "
        f"{why}."
    )


# -- one column, one block ----------------------------------------------------------


def _check_column(rules, j, parts):
    column = rules.space.columns[j]
    points = _points(column, parts)
    if rules.space.allow_missing or column.has_missing:
        # A missing value fails most comparisons, but not what is said with "not".
        points = np.append(points, np.nan)
    if not _any_holds(parts, lambda table, k: points, len(points)):
        parts = _needed(
            parts, lambda some: not _any_holds(some, lambda t, k: points, len(points))
        )
        name = rules.space.names[j]
        _raise(rules, parts, f"no value of column {name!r} satisfies them")


def _check_block(rules, block, inside):
    columns = block.node.columns
    rows = np.eye(len(columns))
    place = {j: i for i, j in enumerate(columns)}

    def fails(parts):
        return not _any_holds(parts, lambda table, j: rows[:, place[j]], len(rows))

    if fails(inside):
        _raise(rules, [block, *_needed(inside, fails)], "no indicator can be set")


def _any_holds(parts, get, n):
    ok = np.ones(n, dtype=bool)
    for part in parts:
        ok &= holds(part.node, get)
    return ok.any()


def _needed(parts, fails):
    """Return parts of which none can be left out for them to fail."""
    parts = list(parts)
    for part in tuple(parts):
        rest = [p for p in parts if p is not part]
        if rest and fails(rest):
            parts = rest
    return parts


def _points(column, parts):
    """Return one code for each way in which rules about a column can come out."""
    if column.levels is not None:
        return np.arange(len(column.levels), dtype=float)
    marks = {0.0}
    for part in parts:
        for leaf in leaves(part.node):
            if isinstance(leaf, Listed):
                marks.update(leaf.codes)
            elif isinstance(leaf, Compare):
                weight = sum(t[0] for t in leaf.left.terms)
                weight -= sum(t[0] for t in leaf.right.terms)
                if weight:
                    marks.add((leaf.right.constant - leaf.left.constant) / weight)
    marks = np.array(sorted(marks))
    between = (marks[1:] + marks[:-1]) / 2
    near = [np.nextafter(marks, -np.inf), np.nextafter(marks, np.inf)]
    span = max(1.0, np.abs(marks).max())
    outside = [marks[0] - span, marks[-1] + span]
    return np.concatenate([marks, *near, between, outside])


# -- linear rules -------------------------------------------------------------------


def _check_linear(rules):
    """Look for linear comparisons that contradict one another; prove it, then raise.

    A linear program finds them, and exact fractions prove it: rounding alone never
    makes rules contradict. "Not equal" is below or above: both have to fail.
    """
    linear, unequal = [], []
    for part in rules.parts:
        node = part.node
        if isinstance(node, Compare) and node.op != "!=":
            linear.append((part, node))
        elif isinstance(node, syntax.Not) and isinstance(node.operand, Differs):
            linear.append((part, same_as_query(node.operand.column)))
        elif isinstance(node, (Compare, Differs)):
            unequal.append((part, node))
    failed = _contradiction(rules, linear)
    for part, node in unequal:
        if failed:
            break
        sides = [_contradiction(rules, [*linear, (part, n)]) for n in _sides(node)]
        failed = sides[0] + sides[1] if all(sides) else []
    if failed:
        _raise(rules, failed, "no query has a counterfactual that satisfies them")


def _sides(node):
    if isinstance(node, Differs):
        node = same_as_query(node.column)
    return [Compare(node.left, op, node.right) for op in ("<", ">")]


def _contradiction(rules, pairs):
    """Return the parts of a minimal contradiction that is proved, else nothing."""
    pairs = [*pairs, *_level_bounds(rules, pairs)]
    if not pairs or _satisfiable(pairs):
        return []
    pairs = _needed(pairs, lambda some: not _satisfiable(some))
    return [part for part, _ in pairs if part] if _proved(pairs) else []


def _level_bounds(rules, pairs):
    """Return that ordered categories are between their first and last level."""
    out = []
    for table, j in dict.fromkeys(c for _, node in pairs for c in cells_of(node)):
        levels = rules.space.columns[j].levels
        if levels is not None:
            cell = Sum(((1.0, table, j),), 0.0)
            out.append((None, Compare(cell, ">=", Sum((), 0.0))))
            out.append((None, Compare(cell, "<=", Sum((), len(levels) - 1.0))))
    return out


def _rows(pairs, number=float):
    """Return each comparison as (coefficients, constant, op): sum op constant.

    All are turned to ``<``, ``<=`` and ``==``.
    """
    cells = list(dict.fromkeys(c for _, node in pairs for c in cells_of(node)))
    place = {cell: i for i, cell in enumerate(cells)}
    out = []
    for _, node in pairs:
        sign = -1 if node.op in (">", ">=") else 1
        row = [number(0)] * len(cells)
        for side, turn in ((node.left, sign), (node.right, -sign)):
            for weight, table, j in side.terms:
                row[place[table, j]] += turn * number(weight)
        constant = sign * (number(node.right.constant) - number(node.left.constant))
        out.append((row, constant, node.op.replace(">", "<")))
    return out


def _satisfiable(pairs):
    """Tell whether comparisons hold together, up to the tolerance of a solver."""
    rows = _rows(pairs)
    # The slack of strict comparisons is maximised: it has to be positive.
    upper = [([*row, float(op == "<")], b) for row, b, op in rows if op != "=="]
    equal = [([*row, 0.0], b) for row, b, op in rows if op == "=="]
    n_cells = len(rows[0][0])
    result = linprog(
        [0.0] * n_cells + [-1.0],
        A_ub=np.array([row for row, _ in upper]) if upper else None,
        b_ub=np.array([b for _, b in upper]) if upper else None,
        A_eq=np.array([row for row, _ in equal]) if equal else None,
        b_eq=np.array([b for _, b in equal]) if equal else None,
        bounds=[(None, None)] * n_cells + [(0, 1)],
    )
    if result.status != 0:
        return result.status != 2
    return result.x[-1] > 1e-6 or not any(op == "<" for _, _, op in rows)


def _proved(pairs):
    """Tell whether comparisons of which none can be left out contradict, exactly.

    Then they add up to 0 < 0 or 0 <= -c with factors that are unique up to a scale,
    by Farkas' lemma: factors of inequalities have one sign.
    """
    rows = _rows(pairs, Fraction)
    factors = _null_vector([row for row, _, _ in rows])
    if factors is None:
        return False
    for turn in (1, -1):
        total = sum(turn * f * b for f, (_, b, _) in zip(factors, rows, strict=True))
        sides = [(turn * f, op) for f, (_, _, op) in zip(factors, rows, strict=True)]
        if any(f < 0 for f, op in sides if op != "=="):
            continue
        if total < 0 or total == 0 and any(f > 0 for f, op in sides if op == "<"):
            return True
    return False


def _null_vector(rows):
    """Return the factors with which rows add up to zero, None if not unique."""
    n = len(rows)
    work = [[*row, *(Fraction(i == k) for k in range(n))] for i, row in enumerate(rows)]
    width, rank = len(rows[0]), 0
    for column in range(width):
        pivot = next((i for i in range(rank, n) if work[i][column]), None)
        if pivot is None:
            continue
        work[rank], work[pivot] = work[pivot], work[rank]
        for i in range(rank + 1, n):
            if factor := work[i][column] / work[rank][column]:
                work[i] = [
                    a - factor * b for a, b in zip(work[i], work[rank], strict=True)
                ]
        rank += 1
    return work[-1][width:] if rank == n - 1 else None
