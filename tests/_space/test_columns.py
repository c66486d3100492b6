import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcf._space import FeatureSpace
from skcf._space._columns import MAX_DECIMALS, NumericColumn, observed_step
from skcf._space._scales import SCALES, scales_of


def only_column(values, dtype=None, **params):
    X = pd.DataFrame({"it": pd.Series(values, dtype=dtype)})
    return FeatureSpace(X, **params).columns[0]


# -- kinds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values, dtype, kind",
    [
        ([1, 2], "int64", "numeric"),
        ([1, 2], "float64", "numeric"),
        ([True, False], "bool", "categorical"),
        ([True, None], "boolean", "categorical"),
        (["a", "b"], "str", "categorical"),
        (["a", "b"], "string", "categorical"),
        (["a", "b"], "category", "categorical"),
        (["a", "b"], pd.CategoricalDtype(["b", "a"], ordered=True), "ordinal"),
        ([1, 2.5, None], object, "numeric"),
        ([np.float32(1), 2], object, "numeric"),
        ([1, "a"], object, "categorical"),
        ([True, False], object, "categorical"),
    ],
)
def test_a_dtype_has_a_kind(values, dtype, kind):
    assert only_column(values, dtype).kind == kind


def test_levels_are_listed_or_sorted():
    assert only_column(["b", "a"], "str").levels == ["a", "b"]
    assert only_column(["a"], pd.CategoricalDtype(["b", "a"])).levels == ["b", "a"]
    assert only_column([1, "a", "B", 0.5], object).levels == [0.5, 1, "B", "a"]
    # a boolean has two levels, whatever was seen
    assert only_column([True], "bool").levels == [False, True]


@pytest.mark.parametrize(
    "declared", [["zone"], [0], [True, False], np.array([True, False])]
)
def test_integers_can_be_declared_categories(declared):
    X = pd.DataFrame({"zone": [30, 10, 20, 10], "size": [1, 2, 3, 4]})
    space = FeatureSpace(X, categorical_features=declared)
    zone, size = space.columns
    assert (zone.kind, size.kind) == ("categorical", "numeric")
    assert zone.levels == [10, 20, 30]
    assert space.encode(X)[:, 0].tolist() == [2, 0, 1, 0]
    # the same levels of another dtype are the same levels
    assert space.encode(X.astype(float))[:, 0].tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize(
    "declared, message",
    [
        ("auto", "must be 'from_dtype'.* got 'auto'"),
        (["b"], "categorical_features: there is no column 'b'"),
        ([True], "mask of length 1; expected 2"),
    ],
)
def test_wrong_declarations_are_named(declared, message):
    with pytest.raises(ValueError, match=message):
        FeatureSpace(np.eye(2), categorical_features=declared)


def test_an_order_makes_a_column_ordinal():
    X = pd.DataFrame({"size": ["M", "S", "M"], "grade": [3, 1, 3]})
    space = FeatureSpace(X, orders={0: ["S", "M", "L"], 1: [1, 2, 3]})
    assert [c.kind for c in space.columns] == ["ordinal", "ordinal"]
    assert space.encode(X).tolist() == [[1, 2], [0, 0], [1, 2]]
    pd.testing.assert_frame_equal(space.decode(space.encode(X)), X)
    # M and S were seen, L was not
    assert space.columns[0].domain.tolist() == [0, 1]
    with pytest.raises(
        ValueError, match="order given for column 'size' leaves out 'M'"
    ):
        FeatureSpace(X, orders={0: ["S", "L"]})


# -- the grid of numbers ------------------------------------------------------------


@pytest.mark.parametrize(
    "values, dtype, step",
    [
        ([1, 20], "int64", 1),
        ([1.0, 20.0], "float64", 1),
        ([0.5, 1.25], "float64", 0.01),
        ([0.1, 0.2, np.nan], "float64", 0.1),
        ([0.1, 0.25], "float32", 0.01),
        ([1e-9, 1.0], "float64", None),
        ([np.pi, 1.0], "float64", None),
        ([1e14, 0.5], "float64", 0.1),
        ([1e15, 0.5], "float64", None),
        ([np.pi, 12345.67], "float32", None),
        ([np.nan], "float64", 1),
    ],
)
def test_resolution_is_that_of_the_decimals_seen(values, dtype, step):
    found = only_column(values, dtype).step
    assert found == step if step is None else found == pytest.approx(step, rel=1e-12)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1), st.integers(0, MAX_DECIMALS))
def test_decimals_are_found_exactly(numbers, decimals):
    values = np.array([float(f"{n}e-{decimals}") for n in numbers])
    step = observed_step(values, single=False)
    column = only_column(values)
    assert step >= 10.0**-decimals * (1 - 1e-12)
    assert (column.snap(values) == values).all()
    # one step further is the next decimal number, as it is written
    further = [float(f"{n + 1}e-{decimals}") for n in numbers]
    if step < 10.0**-decimals * 1.5:
        assert column.snap(values + step).tolist() == further


def test_resolution_by_column():
    X = pd.DataFrame({"a": [0.5, 1.5], "b": [3, 14], "c": [0.25, 7.0]})
    space = FeatureSpace(X, resolution={"a": None, "b": 5, 2: "observed"})
    a, b, c = space.columns
    assert (a.step, b.step, c.step) == (None, 5, 0.01)
    assert a.snap(np.array([np.pi])) == np.pi
    assert b.snap(np.array([12.4, 12.6])).tolist() == [10, 15]
    assert FeatureSpace(X, resolution=0.25).columns[0].step == 0.25


@pytest.mark.parametrize("resolution, step", [(None, 1), (0.25, 1), (2, 2), (2.5, 1)])
def test_integers_stay_whole(resolution, step):
    column = only_column([3, 8], "int64", resolution=resolution)
    assert column.step == step and column.whole
    assert only_column([3.0, 8.0], "float64", resolution=None).step is None


def test_a_coarser_grid_moves_observed_values():
    # 3, 4, 7 and 14 go to 5, 5, 5 and 15; 15 lies outside what was seen.
    column = only_column([3, 4, 7, 14], resolution=5)
    assert column.domain.tolist() == [5]
    assert column.counts.tolist() == [3]
    # where no point of the grid is in the range, what was seen stays
    assert only_column([3, 3], resolution=5).domain.tolist() == [3]


@pytest.mark.parametrize("resolution", ["seen", 0, -1, True, np.inf, {"it": "x"}])
def test_wrong_resolutions_are_named(resolution):
    with pytest.raises(ValueError, match="resolution of column 'it' must be"):
        only_column([1.0, 2.0], resolution=resolution)
    with pytest.raises(ValueError, match="resolution: there is no column 'b'"):
        only_column([1.0], resolution={"b": 1})


@given(
    st.floats(-1e6, 1e6), st.sampled_from([None, 1.0, 0.01, 0.25, 5.0]), st.booleans()
)
def test_values_beside_a_number_are_its_neighbours(number, step, single):
    kind = np.float32 if single else np.float64
    values = np.array([-1e6, 1e6])
    type_ = nw.Float32() if single else nw.Float64()
    column = NumericColumn("it", kind, type_, values, step=step)
    below, middle, above = column.beside(np.array([number]))[0]
    assert below < middle < above
    assert below <= number <= above
    for value in (below, middle, above):
        assert float(kind(value)) == value
    if step is None:
        assert np.nextafter(kind(below), kind(np.inf)) == middle
    elif step >= 0.25 or not single:
        assert above - middle == pytest.approx(step, rel=1e-6)


# -- scales -------------------------------------------------------------------------


def test_scales():
    known = np.array([-4.0, 0, 1, 2, 6])
    expected = {
        "range": 10,
        "std": np.std(known),
        "mad": 1,
        "iqr": 2,
        "median": 2,
        "mean": 2.6,
        "none": 1,
    }
    assert scales_of(known) == pytest.approx(expected)


@pytest.mark.parametrize(
    "values, fallback",
    [
        # median 0, MAD 0, but half of the values between the quartiles
        ([0, 0, 0, 5, 5], {"median": 5, "mad": 5, "iqr": 5}),
        # one value in ten: only the range is left
        ([0] * 9 + [8], {"median": 8, "mad": 8, "iqr": 8}),
        ([7, 7, 7], {"median": 7, "mad": 1, "iqr": 1, "range": 1, "std": 1, "mean": 7}),
        ([0, 0], dict.fromkeys(SCALES, 1)),
        ([np.nan], dict.fromkeys(SCALES, 1)),
    ],
)
def test_a_scale_of_zero_falls_through_the_chain(values, fallback):
    scales = only_column(values, "float64").scales
    assert {name: scales[name] for name in fallback} == fallback


@given(st.lists(st.floats(allow_infinity=False, allow_nan=False), min_size=1))
def test_no_scale_is_zero_or_infinite(values):
    scales = scales_of(np.array(values))
    assert set(scales) == set(SCALES)
    assert all(0 < s < np.inf for s in scales.values())


def test_ranks_are_the_unit_of_ordered_levels():
    levels = pd.CategoricalDtype(list("abcd"), ordered=True)
    assert set(only_column(["a", "b"], levels).scales.values()) == {3}
    assert set(only_column(["a", "b"], "str").scales.values()) == {1}
