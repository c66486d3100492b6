"""Rules meet columns: names, levels, ranks, and errors that name what is wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf._space import FeatureSpace, container_of
from skcf.constraints import fixed, increasing, one_hot, one_of, ordered, rule, within
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure

X = pd.DataFrame(
    {
        "age": [20, 35, 50],
        "pay": [1.5, 2.25, np.nan],
        "owner": [True, False, True],
        "job": ["clerk", "nurse", "miner"],
        "wish": ["miner", "nurse", "pilot"],
        "edu": pd.Categorical(
            ["bsc", "school", "msc"], ["school", "bsc", "msc"], ordered=True
        ),
        "aim": pd.Categorical(["msc"] * 3, ["school", "bsc", "msc"], ordered=True),
        "zone": [10, 20, 30],
        "hours per week": [40, 38, 20],
    }
)


def bound(*constraints, table=X, **params):
    rules = check_rules(constraints)
    params.setdefault("categorical_features", ["zone"] if table is X else "from_dtype")
    structure = read_structure(rules, container_of(table))
    return RuleSet(rules, FeatureSpace(table, **params, **structure))


def held(constraint, x=0, cf=1, table=X, **params):
    """Return whether a rule holds of two rows of a table."""
    rules = bound(constraint, table=table, **params)
    codes = rules.space.encode(table)
    return rules.holds(codes[[x]], codes[[cf]]).item()


@pytest.mark.parametrize(
    "text, truth",
    [
        ("cf.age == x.age + 15", True),
        ("cf[0] >= x[0]", True),
        ("cf['hours per week'] < x['hours per week']", True),
        ("cf.job == 'nurse'", True),
        ("cf.job != x.job", True),
        ("'clerk' == x.job", True),
        ("cf.job in {'clerk', 'miner'}", False),
        ("cf.owner == False", True),
        ("cf.owner != x.owner", True),
        ("cf.owner in {true}", False),
        # ranks: school is below bsc, though it comes later in the alphabet
        ("cf.edu < x.edu", True),
        ("cf.edu <= 'school'", True),
        ("'bsc' > cf.edu", True),
        ("cf.edu in {'bsc', 'msc'}", False),
        # another column with the same ranks
        ("cf.edu < cf.aim", True),
        # labels of columns with other levels
        ("cf.job == cf.wish", True),
        ("x.job == x.wish", False),
        ("x.job != x.wish", True),
        ("cf.zone == 20", True),
        ("cf.zone in {10, 30}", False),
        ("cf.zone != x.zone", True),
        ("changed(zone) and not changed(aim)", True),
    ],
)
def test_rules_read_values_and_not_codes(text, truth):
    assert held(text) is truth
    assert held(f"not ({text})") is not truth


@pytest.mark.parametrize(
    "levels, dtype",
    [
        (["S", "M", "L"], "str"),
        (["S", "M", "L"], "category"),
        ([3, 1, 2], "int64"),
        ([3, 1, 2], "float64"),
        ([0.5, 0.1, 0.2], object),
        ([True, False], "bool"),
    ],
)
def test_an_order_can_be_given_to_any_column(levels, dtype):
    values = pd.Series([levels[1], levels[0]]).astype(dtype)
    table = pd.DataFrame({"it": values, "other": [1, 2]})
    rules = bound(ordered("it", levels), increasing("it"), table=table)
    codes = rules.space.encode(table)
    # row 0 has the second level, row 1 the first
    assert rules.holds(codes[[1, 0]], codes[[0, 1]]).tolist() == [True, False]
    assert rules.space.columns[0].kind == "ordinal"


@pytest.mark.parametrize("column", [0, "x0"])
def test_columns_of_an_array_go_by_position_or_label(column):
    table = np.array([[1.0, 5.0], [2.0, 7.0]])
    rules = bound(increasing(column), table=table)
    codes = rules.space.encode(table)
    assert rules.holds(codes, codes[::-1]).tolist() == [True, False]
    text = f"cf[{column}]" if column == 0 else f"cf.{column}"
    assert held(f"{text} == x[0] + 1 and cf.x1 > x[1]", table=table)
    with pytest.raises(ValueError, match="no column 'age'; expected one of 0, 1"):
        bound(fixed("age"), table=table)


def test_polars_columns_are_bound_alike():
    table = pl.from_pandas(X).cast({"edu": pl.Enum(X["edu"].cat.categories)})
    assert held("cf.edu < x.edu and cf.job == 'nurse'", table=table)


def test_numbers_are_compared_in_the_float_type_of_the_column():
    table = np.array([[0.1, 0.2], [0.2, 0.7]], dtype=np.float32)
    assert held("cf.x0 == 0.2", table=table)
    assert held("x.x0 in {0.1}", table=table)
    assert held("x.x0 in [0.1, 0.1]", table=table)
    assert held("cf.x1 <= 0.7 and cf.x1 >= 0.7", table=table)


@pytest.mark.parametrize(
    "text",
    [
        "cf.sum == cf.a + cf.b",
        "cf.b == cf.sum - cf.a",
        "3 * cf.a == cf.c",
        "cf.c <= 0.3",
    ],
)
def test_equal_means_up_to_rounding(text):
    # 0.1 + 0.2 is not 0.3, and 3 * 0.1 is not either
    table = pd.DataFrame({"a": [0.1], "b": [0.2], "sum": [0.3], "c": [0.3]})
    assert held(text, cf=0, table=table)
    assert not held(text.replace("==", "!=").replace("<=", ">"), cf=0, table=table)
    off = table.assign(sum=0.3 + 1e-12, c=0.3 + 1e-12)
    assert not held(text, cf=0, table=off)


def test_rounding_is_that_of_the_float_type():
    table = pd.DataFrame({"a": [0.1], "b": [0.2], "sum": [0.3]}, dtype="float32")
    assert held("cf.sum == cf.a + cf.b", cf=0, table=table)
    assert not held("cf.sum == cf.a + cf.b + 0.00001", cf=0, table=table)


# -- what is refused ----------------------------------------------------------------


@pytest.mark.parametrize(
    "constraint, message",
    [
        ("cf.agee > 3", r"Rule 'cf.agee > 3': there is no column 'agee'; .*'age'"),
        ("changed(agee)", "no column 'agee'"),
        (fixed("agee"), "no column 'agee'"),
        (ordered("agee", ["a", "b"]), "no column 'agee'"),
        ("cf[9] > 3", "no column 9"),
        (
            "cf.job == 'pilot'",
            "column 'job' has no level \"pilot\"; .*'clerk', 'miner'",
        ),
        (one_of("job", ["clerk", "pilot"]), 'no level "pilot"'),
        ("cf.zone == 25", "column 'zone' has no level 25; expected one of 10, 20, 30"),
        ("cf.edu > 'phd'", "column 'edu' has no level \"phd\""),
        ("cf.owner == 'yes'", "column 'owner' has no level \"yes\"; .* False, True"),
        ("cf.job > 'clerk'", "unordered category: .* ==, != and in only, not by >"),
        ("cf.job <= x.job", "unordered category"),
        (increasing("job"), r"unordered .*ordered\('job', \[\.\.\.\]\)"),
        ("cf.edu < cf.job", "'job' is an unordered category"),
        ("cf.edu > x.edu + 1", "'edu' is a category: .*not with x.edu [+] 1"),
        ("2 * cf.zone > 3", "'zone' is a category: there is no arithmetic with it"),
        ("cf.age > cf.zone + 1", "'zone' is a category: there is no arithmetic"),
        ("cf.age == cf.job", "column 'job' is a category, column 'age' is not"),
        ("cf.age == 'old'", 'cf.age is a number; it does not compare with "old"'),
        ("cf.age == True", "cf.age is a number; it does not compare with True"),
        (one_of("age", [20, "old"]), "column 'age' is numeric; it cannot be \"old\""),
        (within("zone", 10, 20), "column 'zone' is categorical, expected a number"),
        (within("edu", 0, 1), "column 'edu' is ordinal, expected a number"),
        ("cf.job == cf.edu", "'job' and 'edu' have no level in common"),
        (one_hot("age", "pay"), "column 'age' is no indicator: it must hold 0 and 1"),
        (one_hot("job", "owner"), "column 'job' is no indicator"),
    ],
)
def test_errors_name_rule_column_and_expectation(constraint, message):
    with pytest.raises(ValueError, match=message) as caught:
        bound(constraint)
    text = str(rule(constraint) if isinstance(constraint, str) else constraint)
    assert str(caught.value).startswith(f"Rule {text!r}: ")


def test_orders_of_columns_with_other_levels_do_not_compare():
    table = X.assign(aim=pd.Categorical(["no"] * 3, ["no", "msc"], ordered=True))
    with pytest.raises(ValueError, match="different levels: they compare by == and !="):
        bound("cf.edu < cf.aim", table=table)


def test_dates_are_read_by_fixed_alone():
    table = pd.DataFrame({"age": [1, 2], "born": pd.date_range("2000", periods=2)})
    rules = bound(fixed("born"), table=table)
    assert rules.space.columns[1].kind == "fixed"
    with pytest.raises(ValueError, match="'born' is only carried along: no rule but"):
        bound(fixed("born"), "cf.born > 3", table=table)
