"""A table so small that every point of it can be looked at.

Rules are judged here on plain values, from their syntax tree alone, so that none of
the machinery that is under test has a part in it.
"""

import itertools
import operator

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from skcf._space import FeatureSpace
from skcf.constraints._parser import parse
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure
from skcf.constraints._syntax import (
    And,
    Changed,
    Comparison,
    Implies,
    Interval,
    Linear,
    MaxChanges,
    Member,
    Not,
    OneHot,
    Only,
    Or,
    Ordered,
    Together,
)

COLUMNS = ("a", "b", "c", "o")
ORDER = ("low", "mid", "high")
# 2 is possible for a though it was not seen; "w" is listed for c but was not seen.
SEEN = {"a": [0, 1, 3, 4], "b": [0, 1, 2], "c": ["u", "v"], "o": list(ORDER)}
POSSIBLE = {**SEEN, "a": [0, 1, 2, 3, 4]}
READ = {**POSSIBLE, "c": ["u", "v", "w"]}

OPS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def table(rows):
    """Return rows of values (None is missing) as a frame."""
    X = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    X["c"] = pd.Categorical(X["c"], ["u", "v", "w"])
    X["o"] = pd.Categorical(X["o"], ORDER, ordered=True)
    return X.astype({"a": float, "b": float})


TRAINING = table(list(itertools.product(*SEEN.values())))


def rule_set(*constraints):
    """Return the rules bound to the space of the tiny table."""
    rules = check_rules(constraints)
    space = FeatureSpace(TRAINING, allow_missing=True)
    structure = read_structure(rules, space.container)
    space = FeatureSpace(TRAINING, allow_missing=True, **structure)
    return RuleSet(rules, space)


def points(x, rules=None):
    """Return the rows that the row `x` could become, `x` itself among them.

    The rules can declare ranges, which replace those of the numbers that were seen.
    """
    domain = dict(POSSIBLE)
    for j, name in enumerate("ab" if rules is not None else ""):
        low, high = rules.low[j], rules.high[j]
        domain[name] = range(int(np.ceil(low)), int(np.floor(high)) + 1)
    cells = [dict.fromkeys([x[c], *domain[c]]) for c in COLUMNS]
    return [dict(zip(COLUMNS, cell, strict=True)) for cell in itertools.product(*cells)]


def rows_of(dicts):
    """Return dicts of values as a frame."""
    return table([[d[c] for c in COLUMNS] for d in dicts])


# -- judging ------------------------------------------------------------------------


def satisfies(constraints, x, cf):
    """Tell whether a row satisfies all rules for a query."""
    return all(_holds(parse(str(c)), x, cf) for c in constraints)


def _holds(node, x, cf):
    match node:
        case And(operands):
            return all(_holds(o, x, cf) for o in operands)
        case Or(operands):
            return any(_holds(o, x, cf) for o in operands)
        case Not(operand):
            return not _holds(operand, x, cf)
        case Implies(condition, consequent):
            return not _holds(condition, x, cf) or _holds(consequent, x, cf)
        case Changed(column):
            return x[column] != cf[column]
        case Member(cell, values, negated):
            value = (cf if cell.table == "cf" else x)[cell.column]
            return value is not None and (value in values) != negated
        case Interval(cell, low, high, negated):
            value = (cf if cell.table == "cf" else x)[cell.column]
            return value is not None and (low <= value <= high) != negated
        case Comparison():
            return _compares(node, x, cf)
        case Only(columns):
            return all(x[c] == cf[c] for c in COLUMNS if c not in columns)
        case MaxChanges(k):
            return sum(x[c] != cf[c] for c in COLUMNS) <= k
        case OneHot(columns):
            return sorted(cf[c] for c in columns) == [0] * (len(columns) - 1) + [1]
        case Together() | Ordered():
            return True
    raise TypeError(node)


def _compares(node, x, cf):
    sides = [_value(side, x, cf) for side in (node.left, node.right)]
    if None in sides:
        cells = [getattr(side, "cell", None) for side in (node.left, node.right)]
        own = None not in cells and cells[0].column == cells[1].column
        own = own and cells[0].table != cells[1].table
        return own and sides == [None, None] and node.op in ("==", "<=", ">=")
    ranked = any(value in ORDER for value in sides)
    if ranked:
        sides = [ORDER.index(value) for value in sides]
    return OPS[node.op](*sides)


def _value(side, x, cf):
    if not isinstance(side, Linear):
        return side.value
    cell = side.cell
    if cell is not None:
        return (cf if cell.table == "cf" else x)[cell.column]
    total = side.constant
    for weight, cell in side.terms:
        value = (cf if cell.table == "cf" else x)[cell.column]
        if value is None:
            return None
        total += weight * value
    return total


# -- any rules and any queries ------------------------------------------------------

_ops = st.sampled_from(list(OPS))
_numbers = st.integers(0, 5).map(str)
_numeric = st.sampled_from(["cf.a", "x.a", "cf.b", "x.b"])
_linear = st.one_of(
    _numeric,
    _numbers,
    st.builds("{} + {}".format, _numeric, _numbers),
    st.builds("{} - {}".format, _numeric, _numeric),
    st.builds("2 * {} - {}".format, _numeric, _numbers),
)
_equality = st.sampled_from(["==", "!="])
_table = st.sampled_from(["cf", "x"])
_leaves = st.one_of(
    st.builds("{} {} {}".format, _numeric, _ops, _linear),
    st.builds("{}.c {} {}".format, _table, _equality, st.sampled_from(['"u"', "x.c"])),
    st.builds("{}.o {} {}".format, _table, _ops, st.sampled_from(['"mid"', "x.o"])),
    st.builds("changed({})".format, st.sampled_from(COLUMNS)),
    st.builds("cf.c {} {{'u', 'w'}}".format, st.sampled_from(["in", "not in"])),
    st.builds("{} in [1, 3]".format, _numeric),
    st.builds("{} not in [2, 3]".format, _numeric),
    st.builds("{} in {{0, 2, 4}}".format, _numeric),
)
clauses = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
    ),
    max_leaves=3,
)
rules = st.one_of(
    clauses,
    st.builds("{} => {}".format, clauses, clauses),
    st.builds("max_changes({})".format, st.integers(0, 3)),
    st.builds(
        lambda names: f"only({', '.join(names)})",
        st.lists(st.sampled_from(COLUMNS), unique=True),
    ),
)
programs = st.lists(rules, min_size=1, max_size=4)
queries = st.lists(
    st.fixed_dictionaries(
        {c: st.sampled_from([*values, None]) for c, values in READ.items()}
    ),
    min_size=1,
    max_size=3,
)


def codes_of(rules, dicts):
    """Return dicts of values as codes."""
    return np.asarray(rules.space.encode(rows_of(dicts)))
