"""What rules say of missing values."""

import numpy as np
import pytest

from skcf.constraints._ground import Ground
from tests.constraints.tiny import codes_of, rule_set

FULL = {"a": 1, "b": 1, "c": "u", "o": "mid"}
GONE = dict.fromkeys(FULL)


def held(text, x, cf):
    rules = rule_set(text)
    return rules.holds(codes_of(rules, [x]), codes_of(rules, [cf])).item()


@pytest.mark.parametrize(
    "text",
    [
        "cf.a == 1",
        "cf.a != 3",
        "cf.a <= 100",
        "cf.a in {0, 1}",
        "cf.a not in {3}",
        "cf.a in [0, 9]",
        "cf.a not in [7, 9]",
        "cf.a + cf.b >= 0",
        "cf.a - 2 * cf.b < 0",
        "cf.c == 'u'",
        "cf.c != 'v'",
        "cf.c not in {'v'}",
        "cf.o >= 'low'",
    ],
)
@pytest.mark.parametrize("x", [FULL, GONE])
def test_a_comparison_with_a_missing_value_is_false(text, x):
    assert not held(text, x, GONE)
    assert held(f"not {text}", x, GONE)
    assert held(text, FULL, FULL)


@pytest.mark.parametrize("column", ["a", "c", "o"])
@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_missing_in_both_rows_is_unchanged(column, op):
    if column == "c" and op not in ("==", "!="):
        return
    for text in (f"cf.{column} {op} x.{column}", f"x.{column} {op} cf.{column}"):
        assert held(text, GONE, GONE) is (op in ("==", "<=", ">="))
        assert not held(text, GONE, FULL)
        assert not held(text, FULL, GONE)


@pytest.mark.parametrize("text", ["cf.a == x.b", "cf.a <= x.b", "cf.a == cf.b"])
def test_only_the_same_column_is_unchanged(text):
    assert not held(text, GONE, GONE)


def test_missing_and_present_are_a_change():
    assert held("changed(a)", FULL, GONE)
    assert held("changed(a)", GONE, FULL)
    assert not held("changed(a)", GONE, GONE)


def test_missing_in_a_condition_asks_for_nothing():
    assert held("x.a > 0 => cf.b == 0", {**FULL, "a": None}, FULL)
    assert not held("x.a > 0 => cf.b == 0", FULL, FULL)


def test_missing_values_are_never_proposed():
    rules = rule_set("not cf.a == 1")
    ground = Ground(rules, codes_of(rules, [FULL, GONE]))
    assert not np.isnan(ground.values.code).any()
    # from missing, every value but 1 is a change, 2 as well, which was not seen
    _, told = ground.sets[0].lists(np.array([1]))
    assert sorted(ground.values.code_of(told)) == [0, 2, 3, 4]
