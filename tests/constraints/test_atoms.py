import math
import operator
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from skcf.constraints._atoms import (
    change_within,
    decreasing,
    fixed,
    increasing,
    max_changes,
    one_hot,
    one_of,
    only,
    ordered,
    rule,
    together,
    within,
)
from skcf.constraints._rule import Rule, check_rules
from skcf.constraints._syntax import And, Or

RELATIVE = (
    "x.a >= 0 and cf.a >= {} * x.a and cf.a <= {} * x.a or "
    "x.a < 0 and cf.a >= {} * x.a and cf.a <= {} * x.a"
)


@pytest.mark.parametrize(
    "made, text",
    [
        (fixed("a"), "cf.a == x.a"),
        (fixed("a b", 3), 'cf["a b"] == x["a b"] and cf[3] == x[3]'),
        (increasing("a", "b"), "cf.a >= x.a and cf.b >= x.b"),
        (decreasing("a"), "cf.a <= x.a"),
        (only("a", 0), 'only("a", 0)'),
        (only(), "only()"),
        (within("a", 10, 60.5), "cf.a in [10, 60.5]"),
        (within("a", 0), "cf.a >= 0"),
        (within("a", high=-1), "cf.a <= -1"),
        (within("a", 2, 2), "cf.a in [2, 2]"),
        (change_within("a", 4), "cf.a >= x.a + 4"),
        (change_within("a", -9, -4), "cf.a >= x.a - 9 and cf.a <= x.a - 4"),
        (
            change_within("a", -2, 5),
            "cf.a == x.a or cf.a >= x.a - 2 and cf.a <= x.a + 5",
        ),
        (change_within("a", 0), "cf.a == x.a or cf.a >= x.a"),
        (change_within("a", high=0), "cf.a == x.a or cf.a <= x.a"),
        (change_within("a", high=-1), "cf.a <= x.a - 1"),
        (
            change_within("a", 0.25, 0.9, relative=True),
            RELATIVE.format("1.25", "1.9", "0.75", "0.1"),
        ),
        (
            change_within("a", -0.9, 0.2, relative=True),
            "cf.a == x.a or " + RELATIVE.format("0.1", "1.2", "1.9", "0.8"),
        ),
        (
            change_within("a", -1, relative=True),
            "cf.a == x.a or x.a >= 0 and cf.a >= 0 or x.a < 0 and cf.a >= 2 * x.a",
        ),
        (one_of("a", ["b", 1.0, 2, 0.5, True]), 'cf.a in {"b", 1, 2, 0.5, True}'),
        (one_of("a", {"d", "b", 3, "c"}), 'cf.a in {3, "b", "c", "d"}'),
        (max_changes(0), "max_changes(0)"),
        (together("a", "b"), 'together("a", "b")'),
        (one_hot("a", "b", 3), 'one_hot("a", "b", 3)'),
        (ordered("a", ["low", "high"]), 'ordered("a", ["low", "high"])'),
        (ordered(0, (1.0, 2.5)), "ordered(0, [1, 2.5])"),
    ],
)
def test_text(made, text):
    assert str(made) == text
    assert rule(text) == made


def test_numpy_scalars_are_plain_values():
    assert fixed(np.str_("a"), np.int64(3)) == fixed("a", 3)
    assert within("a", np.float32(0.5), np.int8(4)) == within("a", 0.5, 4)
    assert max_changes(np.int64(2)) == max_changes(2)
    given_values = np.array([1, 2]), np.array(["b"]), np.array([True])
    made = one_of("a", [value for array in given_values for value in array])
    assert str(made) == 'cf.a in {1, 2, "b", True}'
    assert ordered("a", np.array([0.0, 1.5])) == ordered("a", [0, 1.5])
    relative = change_within("a", 1, relative=np.True_)
    assert relative == change_within("a", 1, relative=True)


HOLDS = {"==": operator.eq, ">=": operator.ge, "<=": operator.le, "<": operator.lt}


def holds(tree, row):
    if isinstance(tree, And | Or):
        join = all if isinstance(tree, And) else any
        return join(holds(part, row) for part in tree.operands)
    left, right = (
        sum((w * row[cell.table] for w, cell in side.terms), side.constant)
        for side in (tree.left, tree.right)
    )
    both_missing = tree.op == "==" and math.isnan(left) and math.isnan(right)
    return both_missing or HOLDS[tree.op](left, right)


# Quarters, so that every product and sum is exact.
quarters = st.integers(-40, 40).map(lambda n: n / 4)
ranges = st.tuples(st.none() | quarters, st.none() | quarters).filter(
    lambda r: r != (None, None) and (None in r or r[0] <= r[1])
)


def inside(value, low, high):
    return (low is None or low <= value) and (high is None or value <= high)


@given(ranges, quarters, quarters)
def test_change_within_is_about_the_difference(bounds, x, cf):
    tree = change_within("a", *bounds).tree
    assert holds(tree, {"x": x, "cf": cf}) == inside(cf - x, *bounds)


@given(ranges, quarters.filter(bool), quarters)
def test_relative_change_is_a_fraction_of_the_size(bounds, x, cf):
    tree = change_within("a", *bounds, relative=True).tree
    scaled = [bound if bound is None else bound * abs(x) for bound in bounds]
    assert holds(tree, {"x": x, "cf": cf}) == inside(cf - x, *scaled)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(
    "low, high, unchanged", [(-1, 1, True), (0, None, True), (1, 2, False)]
)
def test_missing_cell_may_stay_where_no_change_is_allowed(
    low, high, unchanged, relative
):
    tree = change_within("a", low, high, relative=relative).tree
    assert holds(tree, {"x": math.nan, "cf": math.nan}) is unchanged
    assert not holds(tree, {"x": math.nan, "cf": 1.0})
    assert not holds(tree, {"x": 1.0, "cf": math.nan})


@pytest.mark.parametrize(
    "low, high, allowed",
    [(-0.5, 0.5, [0]), (None, 0.5, [-1, 0]), (-0.5, None, [0, 1])],
)
def test_relative_change_from_zero(low, high, allowed):
    tree = change_within("a", low, high, relative=True).tree
    assert [cf for cf in (-1, 0, 1) if holds(tree, {"x": 0, "cf": cf})] == allowed


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: fixed(), ValueError, "fixed needs one column or more"),
        (lambda: increasing(), ValueError, "increasing needs one column or more"),
        (lambda: fixed("a", "b", "a"), ValueError, 'column "a" is given twice'),
        (lambda: only(1, np.int64(1)), ValueError, "column 1 is given twice"),
        (lambda: fixed(["a", "b"]), TypeError, r"got \['a', 'b'\]"),
        (lambda: fixed(True), TypeError, "got True"),
        (lambda: fixed(-1), ValueError, "cannot be negative; got -1"),
        (lambda: only(None), TypeError, "got None"),
        (lambda: within("a"), ValueError, "within needs low, high or both"),
        (lambda: within("a", 6, 2), ValueError, "within: low 6 is above high 2"),
        (lambda: within("a", "6"), TypeError, "low must be a number; got '6'"),
        (
            lambda: within("a", high=math.inf),
            ValueError,
            "high must be finite; got inf",
        ),
        (lambda: within("a", True), TypeError, "low must be a number; got True"),
        (lambda: within("a", 10**400), ValueError, "low must be finite"),
        (lambda: change_within("a"), ValueError, "change_within needs low, high"),
        (lambda: change_within("a", 3, -1), ValueError, "low 3 is above high -1"),
        (lambda: change_within("a", 1, relative="yes"), TypeError, "got 'yes'"),
        (lambda: one_of("a", []), ValueError, "cannot be empty"),
        (lambda: one_of("a", "bc"), TypeError, "got 'bc'"),
        (lambda: one_of("a", 3), TypeError, "got 3"),
        (lambda: one_of("a", ["b", None]), TypeError, "got None"),
        (lambda: one_of("a", [math.nan]), ValueError, "must be finite; got nan"),
        (lambda: max_changes(-1), ValueError, "0 or more; got -1"),
        (lambda: max_changes(1.5), TypeError, "k must be an int; got 1.5"),
        (lambda: max_changes(True), TypeError, "k must be an int; got True"),
        (lambda: together("a"), ValueError, "together needs 2 columns or more"),
        (lambda: one_hot("a", "a"), ValueError, 'column "a" is given twice'),
        (lambda: ordered("a", ["b"]), ValueError, "ordered needs 2 levels or more"),
        (lambda: ordered("a", ["b", "b"]), ValueError, 'level "b" is given twice'),
        (lambda: rule(3), TypeError, "read from a string; got 3"),
    ],
)
def test_wrong_arguments_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_columns_in_order_of_mention():
    read = rule(
        "changed(b) and 2 * x.c + cf[4] > 0 => cf.a in {1} or cf.b not in [0, 1]"
    )
    assert read.columns == ("b", "c", 4, "a")
    assert read.cf_columns == ("b", 4, "a")
    assert read.x_columns == ("b", "c")


@pytest.mark.parametrize(
    "text, columns",
    [
        ("together('b', 'a')", ("b", "a")),
        ("one_hot(1, 0)", (1, 0)),
        ("ordered('b', ['low', 'high'])", ("b",)),
        ("only('a')", ("a",)),
        ("max_changes(3)", ()),
    ],
)
def test_structure_reads_no_cell(text, columns):
    assert rule(text).columns == columns
    assert rule(text).cf_columns == rule(text).x_columns == ()


def test_rules_are_equal_by_text():
    one, same = rule("cf.a >= x.a + 1"), rule("(cf['a'] >= 1 + x.a)")
    assert one == same
    assert hash(one) == hash(same)
    assert one != rule("cf.a >= x.a + 2")
    assert rule("cf.a in {1}") != rule("cf.a in {True}")
    assert one != str(one)


def test_rule_is_a_value():
    one = rule("changed(a) => cf.b in {1, 'c'}")
    assert pickle.loads(pickle.dumps(one)) == one
    assert clone([one], safe=False) == [one]
    with pytest.raises(FrozenInstanceError):
        one.tree = None
    with pytest.raises(TypeError, match="built by skcf.constraints.rule"):
        Rule("cf.a > 0")


@pytest.mark.parametrize("nothing", [None, (), [], iter(())])
def test_no_rules(nothing):
    assert check_rules(nothing) == ()


def test_rules_and_texts_mix():
    made = fixed("a")
    assert check_rules(made) == check_rules("cf['a'] == x.a") == (made,)
    assert check_rules(["cf.b > 0", made]) == (rule("cf.b > 0"), made)
    assert check_rules(item for item in (made,)) == (made,)


def test_wrong_rule_is_named_by_its_position():
    with pytest.raises(TypeError, match=r"constraints\[1\] .*; got 3"):
        check_rules([fixed("a"), 3])
    with pytest.raises(
        ValueError, match=r"constraints\[0\]: cannot read.*'age'\nage > "
    ):
        check_rules(["age > 3"])
    with pytest.raises(TypeError, match="an iterable of these; got 3"):
        check_rules(3)
