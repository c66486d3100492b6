import datetime
import pickle

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from skcf._space import FeatureSpace, container_of

PANDAS = {
    "int64": pd.Series([3, -1, 3, 7], dtype="int64"),
    "uint8": pd.Series([3, 255, 0, 7], dtype="uint8"),
    "float64": pd.Series([0.1, np.nan, -0.0, 1e300]),
    "float32": pd.Series([0.1, np.nan, 2.5, 3e8], dtype="float32"),
    "Int64": pd.Series([3, None, 3, 7], dtype="Int64"),
    "Float64": pd.Series([0.1, None, 3.0, 7.5], dtype="Float64"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    "bool": pd.Series([True, False, False, True]),
    "string": pd.Series(["b", None, "", "b"], dtype="string"),
    "str": pd.Series(["b", None, "ä", "b"], dtype="str"),
    "category": pd.Series(pd.Categorical(["v", None, "u", "v"], ["w", "v", "u"])),
    "category of int": pd.Series(pd.Categorical([20, 10, None, 20])),
    "ordered": pd.Series(pd.Categorical(list("vuuv"), list("wvu"), ordered=True)),
    "object": pd.Series(["b", None, "a", "b"], dtype=object),
    "object with nan": pd.Series(["b", np.nan, "a", "b"], dtype=object),
    "object of numbers": pd.Series([1.5, None, 2.0, 7.0], dtype=object),
    "int32[pyarrow]": pd.Series([3, None, 3, 7], dtype="int32[pyarrow]"),
    "double[pyarrow]": pd.Series([3.5, None, 3, 7], dtype="double[pyarrow]"),
    "bool[pyarrow]": pd.Series([True, None, False, True], dtype="bool[pyarrow]"),
}
POLARS = {
    "Int64": pl.Series([3, None, 3, 7], dtype=pl.Int64),
    "UInt8": pl.Series([3, 255, 0, None], dtype=pl.UInt8),
    "Float64 with NaN": pl.Series([0.1, float("nan"), 3.0, 7.5]),
    "Float64 with null": pl.Series([0.1, None, 3.0, 7.5]),
    "Float32": pl.Series([0.1, None, 2.5, 3e8], dtype=pl.Float32),
    "Decimal": pl.Series([0.1, None, 2.5, 3.0]).cast(pl.Decimal(8, 2)),
    "String": pl.Series(["b", None, "", "b"]),
    "Boolean": pl.Series([True, None, False, True]),
    "Categorical": pl.Series(["v", None, "u", "v"], dtype=pl.Categorical),
    "Enum": pl.Series(["v", None, "u", "v"], dtype=pl.Enum(["w", "v", "u"])),
    "Null": pl.Series([None] * 4),
}
ARRAYS = {
    "float64": np.array([[0.1, 2.0], [np.nan, -0.0], [1e300, 5e-324]]),
    "float32": np.array([[0.1, 2.0], [np.nan, 1.5]], dtype=np.float32),
    "int64": np.array([[3, 2], [-1, 2**40]]),
    "uint8": np.array([[3, 255], [0, 2]], dtype=np.uint8),
    "bool": np.array([[True, False], [False, False]]),
    "str": np.array([["b", "long one"], ["", "ä"]]),
    "object": np.array(
        [["b", 2.5, True], [None, 1.0, False], ["a", None, None]], object
    ),
    "mixed object": np.array([["b"], [2], [b"b"], [2.5], [None]], dtype=object),
}


def same(left, right):
    """Tell whether two columns are equal in dtype, values and missing marks."""
    if isinstance(left, pd.Series):
        kinds = [[type(v) for v in s[s.isna()]] for s in (left, right)]
        return left.dtype == right.dtype and left.equals(right) and kinds[0] == kinds[1]
    return left.dtype == right.dtype and left.equals(right, null_equal=True)


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_columns_survive_a_round_trip(name):
    X = pd.DataFrame({"it": PANDAS[name]})
    space = FeatureSpace(X)
    assert same(space.decode(space.encode(X))["it"], X["it"])


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_survive_a_round_trip(name):
    X = pl.DataFrame({"it": POLARS[name]})
    space = FeatureSpace(X)
    back = space.decode(space.encode(X))["it"]
    assert same(back, X["it"])
    # equals takes NaN for null, which a model may not
    assert back.null_count() == X["it"].null_count()


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_survive_a_round_trip(name):
    X = ARRAYS[name]
    space = FeatureSpace(X)
    back = space.decode(space.encode(X))
    assert back.dtype == X.dtype
    pairs = zip(back.ravel().tolist(), X.ravel().tolist(), strict=True)
    assert all(repr(a) == repr(b) for a, b in pairs)


def test_missing_objects_stay_what_they_were():
    # An encoder takes None and nan for two categories.
    for missing in (None, np.nan):
        X = np.array([["a"], [missing], ["b"]], dtype=object)
        space = FeatureSpace(X)
        assert space.decode(space.encode(X))[1, 0] is missing


def test_a_mixed_frame_keeps_names_order_and_dtypes():
    X = pd.DataFrame(
        {name: PANDAS[name] for name in sorted(PANDAS)}, index=list("wxyz")
    )
    space = FeatureSpace(X)
    back = space.decode(space.encode(X))
    assert list(back.columns) == list(X.columns)
    assert (back.dtypes == X.dtypes).all()
    pd.testing.assert_frame_equal(back, X.reset_index(drop=True))


cells = {
    "float64": st.floats(allow_infinity=False),
    "float32": st.floats(width=32, allow_infinity=False),
    "int64": st.integers(-(2**53), 2**53),
    "str": st.text(max_size=4) | st.none(),
    "bool": st.booleans(),
    "boolean": st.booleans() | st.none(),
    "Int64": st.integers(-(2**53), 2**53) | st.none(),
    "object": st.sampled_from(["a", 1, 2.5, None, b"a"]),
    "category": st.sampled_from(["a", "b", None]),
}


@st.composite
def frames(draw):
    dtypes = draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, max_size=5))
    n = draw(st.integers(1, 6))
    column = {
        j: pd.Series(draw(st.lists(cells[d], min_size=n, max_size=n)), dtype=d)
        for j, d in enumerate(dtypes)
    }
    return pd.DataFrame(column).set_axis([f"c{j}" for j in column], axis=1)


@settings(max_examples=60, deadline=None)
@given(frames(), st.sampled_from(["observed", None]), st.data())
def test_round_trip_of_any_frame(X, resolution, data):
    space = FeatureSpace(X, resolution=resolution)
    codes = space.encode(X)
    pd.testing.assert_frame_equal(space.decode(codes), X)
    # Rows of the table are emitted as they are, and any row can become any other.
    rows = np.array(data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1)))
    to = np.array(data.draw(st.permutations(range(len(X)))))[rows % len(X)]
    emitted = space.emit(X, rows, codes[to])
    assert (emitted.index == X.index[rows]).all()
    again = space.encode(emitted)
    np.testing.assert_array_equal(again, codes[to])
    assert (emitted.dtypes == X.dtypes).all()


# -- reading ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [1.0, 2.0], 5: ["u", "v"]}),
        pl.DataFrame({"a": [1.0, 2.0], "5": ["u", "v"]}),
    ],
    ids=["pandas", "polars"],
)
def test_a_column_has_a_name_a_label_and_a_position(X):
    container = container_of(X)
    assert container.position("a") == container.position(0) == 0
    assert container.position("5") == container.position(np.int64(1)) == 1
    with pytest.raises(ValueError, match="no column 'b'; expected one of 'a', "):
        container.position("b")
    with pytest.raises(ValueError, match="no column 2"):
        container.position(2)


def test_a_name_that_is_a_number_comes_before_a_position():
    container = container_of(pd.DataFrame({1: [0], 0: [0]}))
    assert [container.position(0), container.position(1)] == [1, 0]


def test_columns_of_an_array_have_positions_and_labels():
    container = container_of(np.zeros((2, 12)))
    assert container.position("x3") == container.position(3) == 3
    with pytest.raises(
        ValueError, match=r"no column -1; expected one of 0, .* 7 \.\.\."
    ):
        container.position(-1)


def test_rows_have_labels_where_the_container_has():
    X = pd.DataFrame({"a": [1, 2]}, index=["u", "v"])
    assert container_of(X).index(X).tolist() == ["u", "v"]
    assert container_of(X.to_numpy()).index(X.to_numpy()).tolist() == [0, 1]
    assert container_of(pl.DataFrame(X)).index(pl.DataFrame(X)).tolist() == [0, 1]


def test_categories_of_other_polars_columns_are_none_of_this_one():
    pl.Series(["from another table"], dtype=pl.Categorical)
    X = pl.DataFrame({"c": ["v", "u"], "d": ["y", "z"]}).cast(pl.Categorical)
    space = FeatureSpace(X)
    assert [c.levels for c in space.columns] == [["u", "v"], ["y", "z"]]
    assert [c.kind for c in space.columns] == ["categorical"] * 2


@pytest.mark.parametrize("X", [np.eye(2), pd.DataFrame({"a": [1, 2]})])
def test_a_space_of_any_container_is_pickled(X):
    space = pickle.loads(pickle.dumps(FeatureSpace(X)))
    codes = space.encode(X)
    assert type(space.decode(codes)) is type(X)


def test_a_space_of_polars_is_pickled():
    X = pl.DataFrame({"c": ["v", "u"]}).cast(pl.Enum(["u", "v"]))
    space = pickle.loads(pickle.dumps(FeatureSpace(X)))
    assert space.decode(space.encode(X)).equals(X)


# -- what is refused ----------------------------------------------------------------

DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    "X, error, message",
    [
        (csr_array(np.eye(2)), TypeError, "Sparse input .* Use X.toarray"),
        (pl.LazyFrame({"a": [1]}), TypeError, "LazyFrame .* .collect"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), ValueError, "'a'"),
        (nw.from_native(pd.DataFrame({"a": [1]})).to_arrow(), TypeError, "pyarrow"),
        (nw.from_native(pd.DataFrame({"a": [1]})), TypeError, "X.to_native"),
        ([[1, 2]], TypeError, "got list"),
        (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "'a' contains infinity"),
        (np.array([[1.0], [-np.inf]]), ValueError, "0 contains infinity"),
        (pd.DataFrame({"when": [pd.Timestamp(DAY)]}), TypeError, r"fixed\('when'\)"),
        (pl.DataFrame({"when": [DAY]}), TypeError, "'when' holds Date"),
        (pl.DataFrame({"it": [[1, 2]]}), TypeError, r"'it' holds List\(Int64\)"),
        (pd.DataFrame({"z": [1j]}), TypeError, "'z' holds complex128"),
        (
            pd.DataFrame({"s": pd.arrays.SparseArray([0.0])}),
            TypeError,
            "'s' holds Sparse",
        ),
        (pd.DataFrame({"o": [[1], [2]]}), TypeError, "Column 'o' .* unhashable"),
        (
            pl.DataFrame({"o": pl.Series([{1}], dtype=pl.Object)}),
            TypeError,
            "'o' holds",
        ),
    ],
)
def test_what_cannot_be_read_is_named(X, error, message):
    with pytest.raises(error, match=message):
        FeatureSpace(X)
