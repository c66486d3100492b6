"""Rules that contradict one another, whatever the row."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._space import FeatureSpace
from skcf.constraints import (
    change_within,
    fixed,
    increasing,
    one_hot,
    one_of,
    only,
    within,
)
from skcf.constraints._conflict import check_consistent
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure
from skcf.exceptions import InfeasibleConstraintError
from tests.constraints.tiny import COLUMNS, READ, programs, rule_set, satisfies


def contradicts(rules):
    try:
        check_consistent(rules)
    except InfeasibleConstraintError:
        return True
    return False


def wide(names):
    """Return rows of values, seen or not, missing ones among them."""
    numbers = [None, -3, 0, 1, 1.5, 2, 4, 9]
    domain = {**READ, "a": numbers, "b": numbers}
    domain = {c: [*v, None] if c in "co" else v for c, v in domain.items()}
    cells = [domain[c] if c in names else [domain[c][0]] for c in COLUMNS]
    return [dict(zip(COLUMNS, row, strict=True)) for row in itertools.product(*cells)]


@settings(max_examples=100, deadline=None)
@given(programs)
def test_no_contradiction_is_found_where_a_row_has_an_answer(program):
    rules = rule_set(*program)
    if contradicts(rules):
        read = [
            {c for r in rules.rules for c in getattr(r, f"{t}_columns")}
            for t in ("x", "cf")
        ]
        for x in wide(read[0]):
            cfs = [{**x, **{c: cf[c] for c in read[1]}} for cf in wide(read[1])]
            assert not any(satisfies(program, x, cf) for cf in cfs)


cells = ["cf.a", "cf.b", "x.a", "x.b"]
chain = st.lists(
    st.tuples(
        st.sampled_from(cells),
        st.sampled_from(["<", "<=", ">", ">=", "=="]),
        st.sampled_from(cells),
        st.integers(-3, 3),
    ).filter(lambda edge: edge[0] != edge[2]),
    min_size=2,
    max_size=6,
)


def has_negative_cycle(edges):
    """Tell whether differences contradict, by shortest paths of (length, -strict)."""
    far = (10**9, 0)
    path = {(u, v): far for u in cells for v in cells}
    for u, op, v, k in edges:
        strict = -1 if op in "<>" else 0
        if op in ("<", "<=", "=="):
            path[u, v] = min(path[u, v], (k, strict))
        if op in (">", ">=", "=="):
            path[v, u] = min(path[v, u], (-k, strict))
    for w, u, v in itertools.product(cells, repeat=3):
        through = [a + b for a, b in zip(path[u, w], path[w, v], strict=True)]
        path[u, v] = min(path[u, v], tuple(through))
    return any(path[u, u] < (0, 0) for u in cells)


@settings(max_examples=150, deadline=None)
@given(chain)
def test_differences_contradict_exactly_where_they_add_up_to_less_than_nothing(edges):
    texts = [f"{u} {op} {v} {'-' if k < 0 else '+'} {abs(k)}" for u, op, v, k in edges]
    assert contradicts(rule_set(*texts)) == has_negative_cycle(edges)


@pytest.mark.parametrize(
    "constraints, named",
    [
        # one column
        ([within("a", 0, 1), within("a", 2, 3)], ["cf.a in [0, 1]", "cf.a in [2, 3]"]),
        (["cf.a > 1", "cf.b > 1", "cf.a < 1"], ["cf.a > 1", "cf.a < 1"]),
        (["cf.a > 1 and cf.a < 1"], ["cf.a > 1 and cf.a < 1"]),
        ([one_of("c", ["u"]), "cf.c != 'u'"], ['cf.c in {"u"}', 'cf.c != "u"']),
        (["cf.o > 'high'"], ['cf.o > "high"']),
        (["cf.o > 'low'", "cf.o < 'mid' or cf.c == 'u'", "cf.o < 'mid'"], ["< "]),
        (["2 * cf.a == 6", "cf.a in {2, 4}"], ["2 * cf.a == 6", "cf.a in {2, 4}"]),
        # several columns
        (["cf.a <= cf.b - 1", "cf.b <= cf.a - 1"], ["cf.b - 1", "cf.a - 1"]),
        ([fixed("a"), "cf.a > x.a"], ["cf.a == x.a", "cf.a > x.a"]),
        ([only("b"), "cf.a > x.a"], ['only("b")', "cf.a > x.a"]),
        ([increasing("a"), change_within("a", -3, -1)], ["cf.a >= x.a", "x.a - 3"]),
        ([fixed("a"), "changed(a)"], ["cf.a == x.a", "changed(a)"]),
        (["not changed(c)", "cf.c != x.c"], ["not changed(c)", "cf.c != x.c"]),
        (["cf.o > x.o", "x.o == 'high'"], ["cf.o > x.o", 'x.o == "high"']),
        (["cf.a + cf.b >= 5", "cf.a <= 2", "cf.b < 3"], ["cf.a + cf.b >= 5"]),
        (["0.1 * cf.a + 0.2 * cf.b < 0", "cf.a >= 0", "cf.b >= 0"], ["0.1 * cf.a"]),
        (["3 < 2"], ["3 < 2"]),
    ],
)
def test_contradictions_name_the_rules(constraints, named):
    innocent = ["cf.a >= -100", "cf.b != 77", "cf.a > 50 => cf.b > 50"]
    with pytest.raises(InfeasibleConstraintError) as caught:
        check_consistent(rule_set(*innocent, *constraints))
    text = str(caught.value)
    assert all(repr(n)[1:-1] in text or n in text for n in named)
    assert not any(rule in text for rule in innocent)


@pytest.mark.parametrize(
    "constraints",
    [
        [only()],
        ["max_changes(0)"],
        # a missing value satisfies what is said with "not"
        ["not cf.a < 2", "not cf.a >= 2"],
        ["cf.a == x.a", "cf.a <= x.a", "cf.a >= x.a"],
        # true of some rows only
        [fixed("a"), within("a", 3, 4)],
        ["cf.a > x.a", "x.a > 3"],
        ["cf.o >= 'high'", "x.o <= 'low'"],
        # near to a contradiction, but none
        ["cf.a > x.a", "cf.a < x.a + 0.000000001"],
        ["cf.a >= 0.1", "10 * cf.a <= 1.0000000001"],
        ["cf.a <= cf.b - 1000000000", "cf.b <= cf.a + 1000000000.5"],
        ["changed(a)", "cf.a >= x.a"],
        ["cf.a != x.a", "cf.a <= x.a"],
    ],
)
def test_rules_that_can_hold_pass(constraints):
    check_consistent(rule_set(*constraints))


def test_what_is_never_missing_can_contradict():
    texts = ["not cf.a < 2", "not cf.a >= 2"]
    space = FeatureSpace(pd.DataFrame({"a": [1, 2, 3]}))
    with pytest.raises(InfeasibleConstraintError, match="no value of column 'a'"):
        check_consistent(RuleSet(check_rules(texts), space))


@pytest.mark.parametrize(
    "more, contradict",
    [
        (["cf.red == 1", "cf.blue == 1"], True),
        (["cf.red == 0", "cf.blue != 1", "cf.green == 0"], True),
        (["cf.red == 0", "cf.green == 0"], False),
        ([], False),
    ],
)
def test_one_hot_blocks(more, contradict):
    X = pd.DataFrame(np.eye(3, dtype=int), columns=["red", "green", "blue"])
    rules = check_rules([one_hot("red", "green", "blue"), *more])
    space = FeatureSpace(X)
    space = FeatureSpace(X, **read_structure(rules, space.container))
    assert contradicts(RuleSet(rules, space)) == contradict
