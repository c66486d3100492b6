"""What rules say of the columns: groups, orders, ranges and fixed ones."""

import numpy as np
import pandas as pd
import pytest

from skcf._space import FeatureSpace, container_of
from skcf.constraints import (
    fixed,
    max_changes,
    one_hot,
    only,
    ordered,
    rule,
    together,
    within,
)
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure

X = pd.DataFrame(
    {
        "city": ["u", "u", "v", "w"],
        "zip": [1, 2, 3, 4],
        "age": [20, 30, 40, 50],
        "red": [1, 0, 0, 0],
        "green": [0, 1, 1, 0],
        "blue": [0, 0, 0, 0],
    }
)


def read(*constraints):
    return read_structure(check_rules(constraints), container_of(X))


def grounded(*constraints, queries=X):
    rules = check_rules(constraints)
    rules = RuleSet(rules, FeatureSpace(X, **read(*constraints)))
    return Ground(rules, rules.space.encode(queries))


def proposed(ground, group, query=0):
    """Return the rows of values that a query's group may change to."""
    _, ids = ground.sets[group].lists(np.array([query]))
    _, column, code = ground.values.cells(ids)
    members = ground.space.groups[group]
    told = [ground.space.columns[j].values(code[column == j]) for j in members]
    return list(zip(*told, strict=True))


def test_groups():
    assert read(together("zip", "city"))["groups"] == [(0, 1)]
    both = read(together("zip", "city"), one_hot(3, "green", "blue"))
    assert both["groups"] == [(0, 1), (3, 4, 5)]
    # said twice, in any order, is said once
    assert read(together("zip", "city"), together(0, 1))["groups"] == [(0, 1)]


@pytest.mark.parametrize(
    "one, two",
    [
        (together("city", "zip"), together("zip", "age")),
        (together("red", "zip"), one_hot("red", "green")),
        (one_hot("red", "green"), one_hot("red", "green", "blue")),
    ],
)
def test_groups_that_overlap_are_refused(one, two):
    with pytest.raises(ValueError, match="Column '(zip|red)' is in two groups"):
        read(one, two)


def test_a_column_under_two_names_is_one():
    with pytest.raises(ValueError, match=r"Rule .*: column 'zip' is given twice"):
        read(together("zip", 1))


def test_orders():
    order = ["w", "u", "v"]
    assert read(ordered("city", order))["orders"] == {0: order}
    assert read(ordered("city", order), ordered(0, order))["orders"] == {0: order}
    with pytest.raises(ValueError, match="another rule gives the order"):
        read(ordered("city", order), ordered("city", order[::-1]))


@pytest.mark.parametrize(
    "constraints, ends",
    [
        ([within("age", 10, 60)], (10, 60)),
        ([within("age", high=60)], (None, 60)),
        (["cf.age >= 10 and cf.age <= 60"], (10, 60)),
        (["10 <= cf.age", "60 >= cf.age"], (10, 60)),
        ([within("age", 10, 60), within("age", 20, 90)], (20, 60)),
        (["cf.age == 25"], (25, 25)),
        # none of these is a range of its own
        (["cf.age > 10"], None),
        (["cf.age >= 10 or cf.zip == 1"], None),
        (["cf.zip == 1 => cf.age >= 10"], None),
        (["not cf.age >= 10"], None),
        (["x.age >= 10"], None),
        (["cf.age >= x.age"], None),
        (["cf.age not in [10, 60]"], None),
    ],
)
def test_declared_ranges(constraints, ends):
    assert read(*constraints)["ranges"].get(2) == ends


@pytest.mark.parametrize(
    "constraints, columns",
    [
        ([fixed("age", "city")], {0, 2}),
        (["cf.age == x[2] and cf.zip >= 1"], {2}),
        (["x.age == cf.age"], {2}),
        ([only("age", "zip")], {0, 3, 4, 5}),
        ([only()], {0, 1, 2, 3, 4, 5}),
        (["cf.age == x.zip"], set()),
        (["cf.zip > 1 => cf.age == x.age"], set()),
        ([max_changes(0)], set()),
    ],
)
def test_fixed_columns(constraints, columns):
    assert read(*constraints)["fixed"] == columns


def test_which_rules_say_how_columns_are_read():
    container = container_of(X)
    for made in (together("city", "zip"), ordered("zip", [1, 2]), one_hot(3, 4)):
        assert read_structure((made,), container, only_structure=True)
    for text in ("cf.age > 3", "only('age')", "max_changes(1)"):
        assert not read_structure((rule(text),), container, only_structure=True)


def test_unknown_columns_are_named_with_the_rule():
    for made in (together("city", "zap"), one_hot("zap", "red"), only("zap")):
        with pytest.raises(
            ValueError, match=r"Rule .*no column 'zap'; expected one of"
        ):
            read(made)


# -- what follows for candidates ----------------------------------------------------


def test_columns_are_taken_together():
    ground = grounded(together("city", "zip"), "cf.zip <= 3", "cf.city != 'w'")
    assert proposed(ground, 0) == [("u", 2), ("v", 3)]
    rules = ground.rules
    cf = rules.space.encode(X.assign(zip=[1, 1, 2, 4]))
    # ("u", 1) was seen, ("v", 2) was not, and what the query has may stay
    assert rules.holds(cf[[1]], cf[[0]]).tolist() == [True]
    assert rules.holds(cf[[0]], cf[[2]]).tolist() == [False]
    odd = cf[[2]]
    assert rules.holds(odd, odd).tolist() == [True]


def test_a_fixed_column_leaves_the_others_of_its_group_free():
    ground = grounded(together("city", "zip"), fixed("city"))
    assert proposed(ground, 0) == [("u", 2)]
    assert proposed(ground, 0, query=2) == []
    assert proposed(grounded(together("city", "zip"), fixed("city", "zip")), 0) == []


def test_a_group_counts_as_one_change():
    rules = grounded(together("city", "zip"), max_changes(1)).rules
    x, cf = rules.space.encode(X)[[0]], rules.space.encode(X)[[2]]
    cf[0, 2:] = x[0, 2:]
    assert rules.holds(x, cf).tolist() == [True]
    cf[0, 2] = 50
    assert rules.holds(x, cf).tolist() == [False]


def test_one_indicator_is_set():
    ground = grounded(one_hot("red", "green", "blue"))
    # blue was never seen set; the last row has none set, so that it has to change
    assert proposed(ground, 3) == [(0, 1, 0)]
    assert proposed(ground, 3, query=3) == [(0, 1, 0), (1, 0, 0)]
    assert ground.must[:, 3].tolist() == [False, False, False, True]


@pytest.mark.parametrize("dtype", ["bool", "float64", "boolean", "Int64"])
def test_indicators_come_in_many_dtypes(dtype):
    rules = check_rules(one_hot("red", "green", "blue"))
    table = X.astype(dict.fromkeys(["red", "green", "blue"], dtype))
    structure = read_structure(rules, container_of(table))
    bound = RuleSet(rules, FeatureSpace(table, **structure))
    codes = bound.space.encode(table)
    assert bound.holds(codes, codes).tolist() == [True, True, True, False]
