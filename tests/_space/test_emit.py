import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf._space import FeatureSpace

LEVELS = pd.CategoricalDtype(["u", "v", "w"])
ORDERED = pd.CategoricalDtype(["u", "v", "w"], ordered=True)


def changed(space, query, value):
    """Return the query with its first row changed, its second left alone."""
    codes = space.encode(query)[:2]
    codes[0] = space.encode(value)[0]
    return space.emit(query, np.array([0, 1]), codes)


# Each entry: the dtype in fit, the values seen (the query has the second and is changed
# to the first), the dtype of the query, and that of what comes out.
KEPT = [
    ("int64", [1, 2], "float64", "float64"),
    ("int64", [1, 2], "int8", "int8"),
    ("int64", [200, 1], "int8", "int64"),
    ("int64", [-1, 2], "uint8", "int64"),
    ("int64", [-1, 2], "UInt8", "int64"),
    ("int64", [1, 2], "Int64", "Int64"),
    ("int64", [1, 2], object, object),
    ("int64", [7, 1], "bool", "int64"),
    ("int64", [1, 2], "float32", "float32"),
    ("int64", [2**24 + 1, 1], "float32", "int64"),
    ("Int64", [1, 2], "int64", "int64"),
    ("float64", [1.0, 2.0], "int64", "int64"),
    ("float64", [1.5, 2.0], "float32", "float64"),
    ("float64", [1.5, 1.0], "float64", "float64"),
    ("float32", [0.1, 1.0], "float64", "float64"),
    ("float32", [0.1, 1.0], "Float32", "Float32"),
    ("Float64", [0.1, 1.0], "float64", "float64"),
    ("double[pyarrow]", [0.1, 1.0], "float64", "float64"),
    ("bool", [True, False], "boolean", "boolean"),
    ("bool", [True, False], "int64", "int64"),
    ("bool", [True, False], object, object),
    ("str", ["u", "v"], object, object),
    ("str", ["u", "v"], "string", "string"),
    ("str", ["u", "v"], LEVELS, LEVELS),
    ("str", ["x", "u"], LEVELS, "str"),
    (LEVELS, ["u", "v"], "str", "str"),
    (LEVELS, ["u", "v"], ORDERED, ORDERED),
    (LEVELS, ["u", "v"], pd.CategoricalDtype(["v", "u"]), LEVELS),
    (ORDERED, ["u", "v"], "str", "str"),
]


@pytest.mark.parametrize("fitted, values, queried, out", KEPT)
def test_dtype_is_the_querys_where_it_can_hold_the_domain(fitted, values, queried, out):
    X = pd.DataFrame({"it": pd.Series(values, dtype=fitted)})
    space = FeatureSpace(X)
    query = pd.DataFrame({"it": pd.Series(values[1:] * 2).astype(queried)})
    query.index = [8, 9]
    emitted = changed(space, query, X)
    assert emitted["it"].dtype == out
    assert list(emitted["it"]) == list(X["it"])
    assert list(emitted.index) == [8, 9]
    # Nothing but the dtypes decides: a row that is not changed has the same.
    same = space.emit(query, np.array([1]), space.encode(query)[1:])
    assert same["it"].dtype == out


def test_a_declared_range_counts_as_domain():
    space = FeatureSpace(pd.DataFrame({"a": [1, 2]}), ranges={0: (0, 1000)})
    query = pd.DataFrame({"a": pd.Series([1], dtype="int8")})
    emitted = space.emit(query, np.array([0]), np.array([[1000.0]]))
    assert emitted["a"].tolist() == [1000]


POLARS = [
    (pl.Int64, [1, 2], pl.Int8, pl.Int8),
    (pl.Int64, [200, 1], pl.Int8, pl.Int64),
    (pl.Int64, [1, 2], pl.Float64, pl.Float64),
    (pl.Float64, [1.5, 2.0], pl.Int64, pl.Float64),
    (pl.Float64, [1.5, 2.0], pl.Float32, pl.Float64),
    (pl.String, ["u", "v"], pl.Categorical, pl.Categorical),
    (pl.String, ["u", "v"], pl.Enum(["v", "u"]), pl.Enum(["v", "u"])),
    (pl.String, ["u", "v"], pl.Enum(["v"]), pl.String),
    (pl.Enum(["u", "v"]), ["u", "v"], pl.Enum(["v"]), pl.Enum(["u", "v"])),
    (pl.Categorical, ["u", "v"], pl.String, pl.String),
    (pl.Boolean, [True, False], pl.Int64, pl.Int64),
]


@pytest.mark.parametrize("fitted, values, queried, out", POLARS)
def test_dtype_of_polars_columns(fitted, values, queried, out):
    X = pl.DataFrame({"it": pl.Series(values).cast(fitted)})
    space = FeatureSpace(X)
    query = pl.DataFrame({"it": pl.Series([values[1]] * 2).cast(queried)})
    emitted = changed(space, query, X)
    assert emitted.schema["it"] == out
    assert emitted["it"].to_list() == [values[0], values[1]]


ARRAYS = [
    (np.array([[1.5, 2], [2, 3]]), np.int64, np.float64),
    (np.array([[1.0, 2], [2, 3]]), np.int64, np.int64),
    (np.array([[1, 2], [2, 300]]), np.uint8, np.int64),
    (np.array([["u", "long"], ["v", "w"]]), "<U1", "<U4"),
    (np.array([["u", 1], ["v", 2]], dtype=object), object, object),
    (np.array([[0.1, 2], [2, 3]], dtype=np.float32), np.float64, np.float64),
]


@pytest.mark.parametrize("X, queried, out", ARRAYS)
def test_dtype_of_arrays(X, queried, out):
    space = FeatureSpace(X)
    query = np.repeat(X[1:], 2, axis=0).astype(queried)
    if query.dtype.kind not in "UO":
        query = query % 200
    emitted = changed(space, query, X)
    assert emitted.dtype == out
    assert emitted[0].tolist() == X[0].tolist()
    assert emitted[1].tolist() == query[1].tolist()


# -- unchanged cells ----------------------------------------------------------------


def test_unchanged_cells_are_the_querys_bit_for_bit():
    X = pd.DataFrame({"f": [0.5, 1.25], "n": [1, 2], "s": ["u", "v"]})
    space = FeatureSpace(X)
    query = pd.DataFrame(
        {"f": [10.123456789, -0.0, 1e-9], "n": [2**53, 7, 0], "s": "u"}
    )
    codes = space.encode(query)
    codes[:, 2] = 1
    emitted = space.emit(query, np.arange(3), codes)
    assert emitted["s"].tolist() == ["v"] * 3
    assert emitted["f"].to_numpy().tobytes() == query["f"].to_numpy().tobytes()
    assert emitted["n"].tolist() == query["n"].tolist()


def test_numbers_too_long_for_a_float_are_kept():
    ids = [2**62 + 1, 2**62 + 3]
    X = pd.DataFrame({"id": ids, "a": [1, 2]})
    space = FeatureSpace(X)
    codes = space.encode(X)
    codes[0, 1] = 2
    assert space.emit(X, np.array([0]), codes[:1])["id"].tolist() == ids[:1]


def test_missing_cells_stay_and_can_be_filled():
    X = pd.DataFrame(
        {
            "f": [0.5, np.nan],
            "n": pd.Series([None, 3], dtype="Int64"),
            "o": np.array([None, "a"], dtype=object),
        }
    )
    space = FeatureSpace(X)
    codes = space.encode(X)
    pd.testing.assert_frame_equal(space.emit(X, np.arange(2), codes), X)
    swapped = space.emit(X, np.arange(2), codes[::-1])
    pd.testing.assert_frame_equal(swapped, X[::-1].reset_index(drop=True))


@pytest.mark.parametrize(
    "index", [["b", "b"], pd.MultiIndex.from_arrays([[1, 1], [0, 1]])]
)
def test_any_index_comes_back(index):
    X = pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}, index=index)
    X.columns.name = "features"
    space = FeatureSpace(X)
    emitted = space.emit(X, np.array([1, 0]), space.encode(X))
    assert emitted.index.equals(X.index[::-1])
    assert emitted.columns.name == "features"
    assert emitted["a"].tolist() == [1, 2]


# -- a query in another container than fit ------------------------------------------

FRAME = pd.DataFrame(
    {
        "n": [1, 2, 300],
        "f": [0.5, 1.25, 2.0],
        "b": [True, False, True],
        "c": pd.Categorical(["u", "v", "w"], ["w", "v", "u"], ordered=True),
        "when": pd.date_range("2020", periods=3),
    }
)


def test_polars_queries_of_a_pandas_space():
    space = FeatureSpace(FRAME, fixed={4})
    query = pl.from_pandas(FRAME)
    pd.testing.assert_frame_equal(space.restore(query), FRAME)
    emitted = space.emit(query, np.arange(3), space.encode(FRAME)[[1, 1, 1]])
    assert emitted["n"].to_list() == [2, 2, 2]
    assert emitted["c"].to_list() == ["v"] * 3
    assert emitted["when"].equals(query["when"])
    short = query.with_columns(n=pl.Series([1, 2, 3], dtype=pl.Int8))
    emitted = space.emit(short, np.array([0]), space.encode(FRAME)[2:])
    assert emitted["n"].to_list() == [300]


def test_pandas_queries_of_a_polars_space():
    X = pl.from_pandas(FRAME)
    space = FeatureSpace(X, fixed={4})
    assert space.restore(FRAME).equals(X)
    query = FRAME.iloc[2:].astype({"f": "int64", "n": "Int16"})
    emitted = space.emit(query, np.array([0]), space.encode(X)[1:2])
    assert emitted["f"].tolist() == [1.25]
    assert emitted["n"].dtype == "Int16"


def test_arrays_against_frames():
    X = FRAME[["n", "f"]]
    space = FeatureSpace(X)
    query = X.to_numpy()
    pd.testing.assert_frame_equal(space.restore(query), X)
    emitted = space.emit(query, np.array([0]), space.encode(X)[2:])
    assert isinstance(emitted, np.ndarray)
    assert emitted.tolist() == [[300.0, 2.0]]
    whole = np.array([[1, 2]])
    assert space.emit(whole, np.array([0]), space.encode(X)[1:2]).tolist() == [
        [2, 1.25]
    ]
    space = FeatureSpace(query)
    np.testing.assert_array_equal(space.restore(X), query)


CROSSED = [
    # the column in fit, a query that cannot hold what was seen, and what comes out
    (pd.Series(["u", "long"]), np.array([["u"]]), "<U4"),
    (pd.Series([7, 1], dtype="category"), np.array([[True]]), "int64"),
    (pd.Series([1.5, 1.0]), np.array([[1]]), "float64"),
    (pd.Series([300, 1]), np.array([[1]], dtype="int8"), "int64"),
    (pd.Series(["v", "u"]), pl.Series(["u"], dtype=pl.Enum(["u"])), pl.String),
    (pd.Series([1.5, 1.0]), pl.Series([1]), pl.Float64),
    (pd.Series([300, 1]), pl.Series([1], dtype=pl.Int8), pl.Int64),
    (pd.Series([7, 1], dtype="category"), pl.Series([True]), pl.Int64),
    (pl.Series(["v", "u"]), pd.Series(["u"], dtype="category"), "string"),
    (pl.Series([1.5, 1.0]), pd.Series([1]), "float64"),
    (pl.Series([1.5, 1.0]), pd.Series([1], dtype="Int64"), "Float64"),
    (pl.Series([300, 1]), pd.Series([1], dtype="Int8"), "Int64"),
    (pl.Series([300, 1]), pd.Series([1], dtype="int8"), "int64"),
    (np.array([300, 1]), pd.Series([1], dtype="int8"), "int64"),
]


@pytest.mark.parametrize("fitted, queried, out", CROSSED)
def test_dtype_across_containers(fitted, queried, out):
    X, query = (
        v.reshape(-1, 1) if isinstance(v, np.ndarray) else type(v)(v).to_frame("it")
        for v in (fitted, queried)
    )
    space = FeatureSpace(X)
    emitted = space.emit(query, np.array([0]), space.encode(X)[:1])
    assert type(emitted) is type(query)
    told = emitted[:, 0] if isinstance(emitted, np.ndarray) else emitted["it"]
    assert told.dtype == out
    assert list(told) == [fitted[0]]
    again = space.encode(emitted)
    np.testing.assert_array_equal(again, space.encode(X)[:1])


def test_restore_gives_the_model_the_dtypes_of_fit():
    space = FeatureSpace(FRAME, fixed={4})
    query = FRAME.astype({"n": "float64", "b": object, "c": str}).set_axis(list("xyz"))
    restored = space.restore(query)
    pd.testing.assert_frame_equal(restored, FRAME)
    assert space.restore(FRAME) is FRAME


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "int8"])
def test_the_ends_of_integer_dtypes(dtype):
    info = np.iinfo(dtype.lower())
    X = pd.DataFrame({"n": pd.Series([info.min, 0, info.max], dtype=dtype), "a": 1})
    space = FeatureSpace(X)
    # as floats, the ends can lie beyond what the dtype holds
    told = space.decode(space.encode(X))["n"].tolist()
    assert told[:2] == [info.min, 0]
    assert info.max - 2**11 < told[2] <= info.max
    pd.testing.assert_frame_equal(space.emit(X, np.arange(3), space.encode(X)), X)
