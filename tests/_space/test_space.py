import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf._space import FeatureSpace

LEVELS = pd.CategoricalDtype(["a", "b", "never seen"])


def decoded(space, group, n=None):
    """Return the values that a group can be changed to, as tuples."""
    table = space.values.table(group)
    columns = [space.columns[j] for j in space.groups[group]]
    cells = [c.values(codes) for c, codes in zip(columns, table.T, strict=True)]
    return list(zip(*cells, strict=True))


# -- domains ------------------------------------------------------------------------


def test_a_domain_is_what_was_seen_with_its_frequency():
    X = pd.DataFrame(
        {
            "n": [3, 1, 3, 3],
            "c": pd.Categorical(["b", "b", None, "a"], LEVELS.categories),
            "f": [0.5, np.nan, np.nan, 0.5],
        }
    )
    space = FeatureSpace(X)
    seen = [decoded(space, g) for g in range(3)]
    assert seen == [[(1,), (3,)], [("a",), ("b",)], [(0.5,)]]
    assert space.values.weight.tolist() == [1, 3, 1, 2, 2]
    assert space.low.tolist() == [1, 0, 0.5]
    assert space.high.tolist() == [3, 2, 0.5]


def test_columns_without_a_value_have_only_a_stand_in():
    X = pd.DataFrame({"n": [np.nan] * 2, "s": pd.Series([None] * 2, dtype="str")})
    space = FeatureSpace(X)
    assert space.values.weight.tolist() == [0, 0]
    assert space.values.find(0, np.array([[0.0]])).tolist() == [-1]
    # it can be written all the same: a stand-in is what some codes have to be
    pd.testing.assert_frame_equal(space.decode(np.full((2, 2), np.nan)), X)
    assert space.decode(np.zeros((1, 2)))["s"].isna().all()


def test_constant_columns_and_many_levels():
    n = 5000
    X = pd.DataFrame({"one": [7] * n, "id": [f"k{i:04}" for i in range(n)]})
    space = FeatureSpace(X)
    assert decoded(space, 0) == [(7,)]
    assert decoded(space, 1) == [(v,) for v in X["id"]]
    pd.testing.assert_frame_equal(space.decode(space.encode(X)), X)


def test_groups_are_taken_from_observed_rows():
    X = pd.DataFrame(
        {
            "city": ["u", "v", "u", "w", None],
            "n": [1, 2, 3, 4, 5],
            "zip": [1, 2, 1, 2, 2],
        }
    )
    space = FeatureSpace(X, groups=[(0, 2)])
    assert space.groups == [(0, 2), (1,)]
    assert space.group_of.tolist() == [0, 1, 0]
    assert decoded(space, 0) == [("u", 1), ("v", 2), ("w", 2)]
    assert space.values.weight[:3].tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    "ends, low, high",
    [
        ((0, 100), 0, 100),
        ((4, 6), 4, 6),
        ((None, 100), 2, 100),
        ((50, None), 50, 50),
        ((None, -3), -3, -3),
    ],
)
def test_a_declared_range_replaces_the_observed_one(ends, low, high):
    space = FeatureSpace(pd.DataFrame({"a": [2, 9], "b": ["u", "v"]}), ranges={0: ends})
    assert (space.low[0], space.high[0]) == (low, high)


@pytest.mark.parametrize(
    "ends, seen, more",
    [
        ((2, 9), [2, 9], []),
        ((0, 17), [2, 9], [0, 1, 10, 11, 12, 13, 14, 15, 16, 17]),
        ((None, 13), [2, 9], [10, 11, 12, 13]),
        ((3, 4), [2, 9], []),
        ((10.5, 11.5), [2, 9], [11]),
        ((20, 100), [2, 9], [20, 30, 40, 50, 60, 70, 80, 90, 100]),
        ((-1, 1), [2, 9], [-1, 0, 1]),
    ],
)
def test_a_range_beyond_what_was_seen_offers_values(ends, seen, more):
    X = pd.DataFrame({"a": [*seen, seen[0]]})
    values = FeatureSpace(X, ranges={0: ends}).values
    assert values.table(0).ravel().tolist() == sorted([*seen, *more])
    counts = dict(zip(values.table(0).ravel(), values.weight, strict=True))
    assert counts == {**dict.fromkeys(more, 1), seen[0]: 2, seen[1]: 1}


def test_a_declared_range_of_a_column_without_values():
    X = pd.DataFrame({"a": [np.nan, np.nan]})
    assert FeatureSpace(X, ranges={0: (1, 3)}).values.table(0).ravel().tolist() == [
        1,
        2,
        3,
    ]


# -- values that were never seen ----------------------------------------------------


def test_a_listed_level_is_read_but_is_no_value():
    X = pd.DataFrame({"c": pd.Series(["a", "b"], dtype=LEVELS)})
    space = FeatureSpace(X)
    query = pd.DataFrame({"c": pd.Series(["never seen"], dtype=LEVELS)})
    codes = space.encode(query)
    pd.testing.assert_frame_equal(space.decode(codes), query)
    assert space.values.find(0, codes).tolist() == [-1]


@pytest.mark.parametrize("as_query", [pd.DataFrame, pl.DataFrame])
def test_unknown_levels_are_named(as_query):
    space = FeatureSpace(pd.DataFrame({"n": [1, 2], "c": ["a", "b"]}))
    query = as_query({"n": [1] * 8, "c": list("azyzxwvu")})
    with pytest.raises(ValueError) as caught:
        space.encode(query)
    assert "Column 'c' has values that are neither seen in fit nor listed" in str(
        caught.value
    )
    assert "'z', 'y', 'x', 'w', 'v' ...." in str(caught.value)
    assert "Expected one of 'a', 'b'." in str(caught.value)


def test_unused_categories_of_a_query_do_not_matter():
    space = FeatureSpace(pd.DataFrame({"c": ["a", "b"]}))
    query = pd.DataFrame({"c": pd.Categorical(["b"], ["z", "b"])})
    assert space.encode(query).tolist() == [[1]]


@pytest.mark.parametrize(
    "value, message",
    [
        ("12", "'n' is numeric; it cannot hold '12'"),
        (pd.Timestamp("2020-01-01"), "'n' is numeric; it cannot hold Timestamp"),
        (2.5, "'n' holds Int64 and cannot be 2.5"),
        (1e30, "'n' holds Int64 and cannot be 1e[+]30"),
        (np.inf, "'n' contains infinity"),
    ],
)
@pytest.mark.parametrize("dtype", [None, object])
def test_what_a_numeric_column_cannot_hold_is_named(value, message, dtype):
    space = FeatureSpace(pd.DataFrame({"n": [1, 2]}))
    with pytest.raises(ValueError, match=message):
        space.encode(pd.DataFrame({"n": pd.Series([value], dtype=dtype)}))


def test_numbers_come_in_many_dtypes():
    space = FeatureSpace(pd.DataFrame({"n": [1, 2]}))
    for dtype in ("float64", "int8", "Int64", "bool", "category", object):
        query = pd.DataFrame({"n": pd.Series([1]).astype(dtype)})
        assert space.encode(query).tolist() == [[1]]
    assert space.encode(pl.DataFrame({"n": [1]})).tolist() == [[1]]
    assert space.encode(np.array([["x"]], object) == "x").tolist() == [[1]]


# -- missing values -----------------------------------------------------------------


def test_missing_values_are_accepted_where_fit_had_some():
    X = pd.DataFrame({"n": [1.0, np.nan], "c": ["a", None], "full": [1.0, 2.0]})
    space = FeatureSpace(X)
    assert np.isnan(space.encode(X)[1, :2]).all()
    query = X.assign(full=[1.0, np.nan])
    with pytest.raises(
        ValueError, match="'full' contains NaN or None in row 1; it had no"
    ):
        space.encode(query)
    assert np.isnan(space.encode(query, check_missing=False)[1, 2])
    assert np.isnan(FeatureSpace(X, allow_missing=True).encode(query)[1, 2])


def test_missing_values_are_refused_where_the_dtype_has_no_room():
    space = FeatureSpace(pd.DataFrame({"n": [1, 2]}), allow_missing=True)
    with pytest.raises(
        ValueError, match="row 0; int64, its dtype in fit, cannot hold it"
    ):
        space.encode(pd.DataFrame({"n": [np.nan]}))
    space = FeatureSpace(np.array([[True]]), allow_missing=True)
    with pytest.raises(ValueError, match="bool, its dtype in fit, cannot hold it"):
        space.encode(np.array([[None]], dtype=object))


# -- columns that are carried along -------------------------------------------------

DAYS = pd.date_range("2020-01-01", periods=3)


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1, 2, 3], "when": DAYS}, index=[7, 7, 5]),
        pd.DataFrame({"a": [1, 2, 3], "when": DAYS.to_period("D")}),
        pl.DataFrame({"a": [1, 2, 3], "when": DAYS.to_list()}),
    ],
    ids=["datetime", "period", "polars"],
)
def test_dates_are_carried_along(X):
    space = FeatureSpace(X, fixed={1})
    codes = space.encode(X)
    codes[:, 0] = 3
    rows = np.array([2, 0])
    for table in (space.emit(X, rows, codes[:2]), space.decode(codes[:2], X, rows)):
        assert list(table["when"]) == [list(X["when"])[r] for r in rows]
        assert list(table["a"]) == [3, 3]
        assert table["when"].dtype == X["when"].dtype
    # without a table to carry from, a date is still a date
    assert space.decode(codes)["when"].dtype == X["when"].dtype


@pytest.mark.parametrize("resolution", [None, 0.25, {0: None}])
def test_whole_numbers_as_objects_stay_whole(resolution):
    X = np.empty((4, 2), dtype=object)
    X[:, 0], X[:, 1] = [1, 9, 4, None], [0.5, 1.25, 3.0, 2.0]
    space = FeatureSpace(X, resolution=resolution)
    assert [column.whole for column in space.columns] == [True, False]
    codes = np.array([[space.columns[0].snap(np.array([4.99999]))[0], 0.5]])
    assert codes[0, 0] == 5.0
    assert type(space.decode(codes)[0, 0]) is int
    assert type(space.decode(codes)[0, 1]) is float
