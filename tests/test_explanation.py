"""Tests of Explanation, on explanations made by hand."""

import builtins
import dataclasses
import datetime
import json
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils import Bunch

from skcf import STATUSES, Explanation

LIBRARIES = ["pandas", "polars", "numpy"]

LABELS = ["p", "q", "q", "s"]
QUERIES = {
    "age": [30, 45, 60, 25],
    "rate": [1.5, None, 0.1, 2.0],
    "job": ["clerk", "cook", "clerk", "cook"],
    "own": [True, False, True, False],
}
# Of query 0 at ranks 0 and 1, and of query 2; query 1 is already there, query 3 is not.
FOUND = {
    "age": [31, 30, 60],
    "rate": [1.5, 2.25, 0.3],
    "job": ["cook", "clerk", "clerk"],
    "own": [True, False, True],
}
CHANGES = [
    (0, 0, "age", 30, 31),
    (0, 0, "job", "clerk", "cook"),
    (0, 1, "rate", 1.5, 2.25),
    (0, 1, "own", True, False),
    (2, 0, "rate", 0.1, 0.3),
]


def build(library, columns, index=None):
    """Put columns of one length in a container."""
    if library == "polars":
        return pl.DataFrame(columns).with_columns(
            pl.col("job").cast(pl.Enum(["clerk", "cook"]))
        )
    frame = pd.DataFrame(columns, index=index)
    if library == "pandas":
        levels = pd.CategoricalDtype(["clerk", "cook"])
        return frame.astype({"job": levels, "rate": "float64"})
    return np.array(list(zip(*columns.values(), strict=True)), dtype=object)


def build_numeric(library, data):
    """Put a float matrix in a container with features `a`, `b`, ... where named."""
    array = np.array(data, dtype=float)
    names = [chr(ord("a") + j) for j in range(array.shape[1])]
    if library == "numpy":
        return array
    module = pd if library == "pandas" else pl
    return module.DataFrame(dict(zip(names, array.T, strict=True)))


def explain(queries, counterfactuals, row=(), rank=None, status=None, **fields):
    """Make an explanation, with something sensible in the fields not given."""
    n, m, row = len(queries), len(counterfactuals), list(row)
    default = {
        "queries": queries,
        "counterfactuals": counterfactuals,
        "row": row,
        "rank": [0] * m if rank is None else rank,
        "status": ["found" if i in row else "not_found" for i in range(n)],
        "target": ["yes"] * n,
        "cost": np.arange(1, m + 1) / 4,
        "n_changed": [1] * m,
        "prediction_before": np.array(["no"] * n),
        "prediction": np.array(["yes"] * m, dtype="U3"),
        "score_before": np.full(n, 0.25),
        "score": np.full(m, 0.75),
        "optimal": np.zeros(m, dtype=bool),
        "lower_bound": np.full(n, np.nan),
    }
    if status is not None:
        default["status"] = status
    return Explanation(**(default | fields))


def example(library, **fields):
    queries = build(library, QUERIES, LABELS)
    counterfactuals = build(library, FOUND, ["p", "p", "q"])
    status = ["found", "already", "found", "infeasible"]
    lower_bound = [np.nan, np.nan, 0.5, np.inf]
    default = {
        "row": [0, 0, 2],
        "rank": [0, 1, 0],
        "status": status,
        "lower_bound": lower_bound,
        "n_changed": [2, 2, 1],
    }
    return explain(queries, counterfactuals, **(default | fields))


def empty(library):
    queries = build(library, QUERIES, LABELS)
    return explain(queries, queries[:0])


def names_of(library):
    return ["x0", "x1", "x2", "x3"] if library == "numpy" else list(QUERIES)


def renamed(changes, library):
    names = dict(zip(QUERIES, names_of(library), strict=True))
    return [(*cell[:2], names[cell[2]], *cell[3:]) for cell in changes]


def frame_class(library):
    return pl.DataFrame if library == "polars" else pd.DataFrame


def column(frame, name):
    return frame[name].to_list()


def test_statuses():
    assert STATUSES == ("found", "already", "infeasible", "not_found", "budget")


def test_fields_become_arrays_of_their_types():
    explanation = example("pandas", optimal=[1, 0, 0], target=[(0, 1), (2, None)] * 2)
    assert explanation.row.dtype == explanation.rank.dtype == np.intp
    assert explanation.n_changed.dtype == np.intp
    assert explanation.cost.dtype == np.float64
    assert explanation.optimal.dtype == np.bool_
    assert explanation.target.shape == (4,)
    assert explanation.target[1] == (2, None)
    assert isinstance(explanation.details, Bunch)


def test_intervals_may_come_as_an_array():
    explanation = example("numpy", target=np.array([[0.0, 1.0]] * 4))
    assert explanation.target.shape == (4,)
    assert explanation.target[0] == (0.0, 1.0)


def test_frozen():
    with pytest.raises(AttributeError):
        example("numpy").cost = None


@pytest.mark.parametrize("library", LIBRARIES)
def test_to_frame(library):
    explanation = example(library)
    frame = explanation.to_frame()
    assert isinstance(frame, frame_class(library))
    leading = ["row", "rank", "cost", "n_changed", "prediction", "score"]
    assert list(frame.columns) == leading + names_of(library)
    assert column(frame, "row") == [0, 0, 2]
    assert column(frame, "rank") == [0, 1, 0]
    assert column(frame, "cost") == [0.25, 0.5, 0.75]
    assert column(frame, "n_changed") == [2, 2, 1]
    assert column(frame, "prediction") == ["yes"] * 3
    assert column(frame, "score") == [0.75] * 3
    for name, values in zip(names_of(library), FOUND.values(), strict=True):
        assert column(frame, name) == values
        if library != "numpy":
            assert frame[name].dtype == explanation.counterfactuals[name].dtype
    if library == "pandas":
        assert frame.index.tolist() == ["p", "p", "q"]
    if library == "numpy":
        assert frame["x0"].dtype == np.int64
        assert frame["x1"].dtype == np.float64
    if library != "numpy":
        assert list(explanation.counterfactuals.columns) == names_of(library)


@pytest.mark.parametrize("module", [pd, pl])
def test_to_frame_with_features_named_as_leading_columns(module):
    queries = module.DataFrame({"cost": [1.0], "cf_cost": [2.0], "row": [3.0]})
    found = module.DataFrame({"cost": [1.5], "cf_cost": [2.0], "row": [3.0]})
    frame = explain(queries, found, [0]).to_frame()
    names = ["cf_row", "rank", "cf_cf_cost", "n_changed", "prediction", "score"]
    assert list(frame.columns) == [*names, "cost", "cf_cost", "row"]
    assert column(frame, "cf_cf_cost") == [0.25]
    assert column(frame, "cost") == [1.5]
    assert column(frame, "cf_row") == [0]
    assert column(frame, "row") == [3.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("predictions", "expected"),
    [
        (np.array([1, 2, 3], dtype=np.int32), [1, 2, 3]),
        (np.array([0.5, 1.5, np.nan]), [0.5, 1.5, None]),
        (np.array([True, False, True]), [True, False, True]),
        (np.array(["a", "b", "c"], dtype=object), ["a", "b", "c"]),
        (np.array([1, 2, 3], dtype=object), [1, 2, 3]),
    ],
)
def test_to_frame_keeps_the_type_of_predictions(library, predictions, expected):
    frame = example(library, prediction=predictions).to_frame()
    values = column(frame, "prediction")
    assert [None if v != v else v for v in values] == expected
    assert [type(v) for v in values[:2]] == [type(v) for v in expected[:2]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_changes(library):
    frame = example(library).changes()
    assert isinstance(frame, frame_class(library))
    assert list(frame.columns) == ["row", "rank", "feature", "before", "after"]
    cells = list(zip(*(column(frame, name) for name in frame.columns), strict=True))
    expected = renamed(CHANGES, library)
    if library == "polars":
        expected = [(*cell[:3], str(cell[3]), str(cell[4])) for cell in expected]
    assert cells == expected
    assert [type(c[3]) for c in cells] == [type(c[3]) for c in expected]
    assert [type(c[4]) for c in cells] == [type(c[4]) for c in expected]


@pytest.mark.parametrize("library", LIBRARIES)
def test_iter_changes_yields_plain_scalars(library):
    cells = list(example(library)._iter_changes())
    expected = renamed(CHANGES, library)
    assert cells == expected
    for cell, right in zip(cells, expected, strict=True):
        assert [type(value) for value in cell] == [type(value) for value in right]
    assert list(example(library)._iter_changes([2])) == expected[4:]
    assert list(example(library)._iter_changes([])) == []


def test_changes_of_one_type_keep_it():
    queries = build_numeric("pandas", [[1.0, 2.0]])
    frame = explain(queries, build_numeric("pandas", [[2.0, 2.0]]), [0]).changes()
    assert frame["before"].dtype == frame["after"].dtype == np.float64

    queries = build_numeric("polars", [[1.0, 2.0]])
    frame = explain(queries, build_numeric("polars", [[2.0, 2.0]]), [0]).changes()
    assert frame["before"].dtype == frame["after"].dtype == pl.Float64

    levels = pd.CategoricalDtype(["low", "high"], ordered=True)
    queries = pd.DataFrame({"a": ["low"], "b": ["high"]}, dtype=levels)
    found = pd.DataFrame({"a": ["high"], "b": ["high"]}, dtype=levels)
    frame = explain(queries, found, [0]).changes()
    assert frame["before"].dtype == frame["after"].dtype == levels
    assert frame["after"].tolist() == ["high"]


def test_changes_of_numbers_of_several_types_in_polars():
    queries = pl.DataFrame({"a": [1], "b": [0.5]})
    found = pl.DataFrame({"a": [3], "b": [0.25]})
    frame = explain(queries, found, [0]).changes()
    assert frame["after"].dtype == pl.Float64
    assert frame["after"].to_list() == [3.0, 0.25]


@pytest.mark.parametrize("library", ["pandas", "polars", "nullable"])
def test_missing_values(library):
    if library == "polars":
        build_column = pl.DataFrame
    else:
        dtype = "Int64" if library == "nullable" else "float64"

        def build_column(columns):
            return pd.DataFrame(columns, dtype=dtype)

    queries = build_column({"a": [None, None, 1], "b": [None, 2, 3]})
    found = build_column({"a": [None, 5, None], "b": [None, 2, 4]})
    # A query that keeps all its values cannot be found, but nothing here forbids it.
    cells = list(explain(queries, found, [0, 1, 2])._iter_changes())
    assert cells == [
        (1, 0, "a", None, 5),
        (2, 0, "a", 1, None),
        (2, 0, "b", 3, 4),
    ]
    after = explain(queries, found, [0, 1, 2]).changes()["after"]
    missing = after.is_null() if library == "polars" else after.isna()
    assert missing.to_list() == [False, True, False]


def test_null_and_nan_are_both_missing():
    queries = pl.DataFrame({"a": [float("nan"), None], "b": [1.0, 1.0]})
    found = pl.DataFrame({"a": [None, float("nan")], "b": [2.0, 2.0]})
    features = [cell[2] for cell in explain(queries, found, [0, 1])._iter_changes()]
    assert features == ["b", "b"]


def test_changes_of_a_wider_type_are_changes_of_value_alone():
    queries = pd.DataFrame({"a": [1, 2]})
    found = pd.DataFrame({"a": [1.0, 2.5]})
    cells = list(explain(queries, found, [0, 1])._iter_changes())
    assert cells == [(1, 0, "a", 2, 2.5)]


def test_changes_of_levels_in_another_order():
    queries = pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["x", "y"])})
    found = pd.DataFrame({"a": pd.Categorical(["x", "z"], categories=["z", "x"])})
    cells = list(explain(queries, found, [0, 1])._iter_changes())
    assert cells == [(1, 0, "a", "y", "z")]


@pytest.mark.parametrize("unit", ["D", "ns"])
def test_dates_of_arrays(unit):
    queries = np.array([["2020-01-01", "2020-01-02"]], dtype=f"M8[{unit}]")
    found = np.array([["2020-01-01", "NaT"]], dtype=f"M8[{unit}]")
    ((*_, name, before, after),) = explain(queries, found, [0])._iter_changes()
    assert (name, after) == ("x1", None)
    assert before.isoformat()[:10] == "2020-01-02"


@pytest.mark.parametrize("library", LIBRARIES)
def test_feature_frequency(library):
    frame = example(library).feature_frequency()
    assert isinstance(frame, frame_class(library))
    names = names_of(library)
    # Of the two found queries; rank 1, which changes the last feature, does not count.
    assert column(frame, "feature") == [names[j] for j in (0, 1, 2, 3)]
    assert column(frame, "frequency") == [0.5, 0.5, 0.5, 0.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_feature_frequency_is_sorted(library):
    queries = build_numeric(library, [[0, 0, 0]] * 4)
    found = build_numeric(library, [[0, 1, 1], [0, 0, 1], [0, 1, 1], [2, 0, 1]])
    frame = explain(queries, found, range(4)).feature_frequency()
    names = ["x2", "x1", "x0"] if library == "numpy" else ["c", "b", "a"]
    assert column(frame, "feature") == names
    assert column(frame, "frequency") == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("library", LIBRARIES)
def test_pairs(library):
    explanation = example(library)
    X, X_cf = explanation.pairs()
    assert type(X) is type(X_cf) is type(explanation.queries)
    if library == "numpy":
        assert X.tolist() == explanation.queries[[0, 2]].tolist()
        assert X_cf.tolist() == explanation.counterfactuals[[0, 2]].tolist()
    elif library == "pandas":
        pd.testing.assert_frame_equal(X, explanation.queries.iloc[[0, 2]])
        pd.testing.assert_frame_equal(X_cf, explanation.counterfactuals.iloc[[0, 2]])
    else:
        assert X.equals(explanation.queries[[0, 2]])
        assert X_cf.equals(explanation.counterfactuals[[0, 2]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_to_dict(library):
    result = example(library).to_dict()
    names = names_of(library)
    assert list(result) == ["features", "queries", "details"]
    assert result["features"] == names
    first, second, third, last = result["queries"]
    assert first["row"] == 0
    assert [q["label"] for q in result["queries"]] == (
        LABELS if library == "pandas" else [0, 1, 2, 3]
    )
    assert first["values"] == dict(zip(names, [30, 1.5, "clerk", True], strict=True))
    assert second["values"][names[1]] is None
    assert second["status"] == "already"
    assert second["counterfactuals"] == last["counterfactuals"] == []
    assert second["lower_bound"] is None
    assert last["lower_bound"] == float("inf")
    assert third["lower_bound"] == 0.5
    assert first["target"] == "yes"
    assert first["prediction_before"] == "no"
    assert first["score_before"] == 0.25
    assert first["counterfactuals"][1] == {
        "rank": 1,
        "changes": [
            {"feature": names[1], "before": 1.5, "after": 2.25},
            {"feature": names[3], "before": True, "after": False},
        ],
        "cost": 0.5,
        "n_changed": 2,
        "prediction": "yes",
        "score": 0.75,
        "optimal": False,
        "values": dict(zip(names, [30, 2.25, "clerk", False], strict=True)),
    }
    assert [c["feature"] for c in third["counterfactuals"][0]["changes"]] == [names[1]]


def assert_plain(value):
    """Check that nothing but plain Python is inside, subclasses excluded."""
    if type(value) is dict:
        assert all(type(key) is str for key in value)
        for item in value.values():
            assert_plain(item)
    elif type(value) is list:
        for item in value:
            assert_plain(item)
    else:
        assert value is None or type(value) in (str, int, float, bool)


DETAILS = {
    "array": np.array([[1, 2], [3, 4]]),
    "floats": np.array([0.5, np.nan, np.inf]),
    "dates": np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    "nanoseconds": np.array(["2020-01-01"], dtype="M8[ns]"),
    "scalar": np.float32(0.5),
    "zero_d": np.array(3),
    "names": np.array(["a", "b"]),
    "objects": np.array(["rule", None], dtype=object),
    "nested": Bunch(inner=Bunch(flag=np.True_, pair=(np.int8(1), "x"))),
    "frame": pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["u", "v"])}),
    "series": pl.Series("s", [1.5, None]),
    "timestamp": pd.Timestamp("2020-01-01"),
    "na": pd.NA,
    "set": {2, 1},
    "keys": {1: "one", np.int64(2): "two"},
    "object": re.compile("x"),
    "day": datetime.date(2020, 1, 2),
    "step": np.timedelta64(36, "h"),
}
PLAIN_DETAILS = {
    "array": [[1, 2], [3, 4]],
    "floats": [0.5, None, float("inf")],
    "dates": ["2020-01-01", None],
    "nanoseconds": ["2020-01-01T00:00:00"],
    "scalar": 0.5,
    "zero_d": 3,
    "names": ["a", "b"],
    "objects": ["rule", None],
    "nested": {"inner": {"flag": True, "pair": [1, "x"]}},
    "frame": {"a": [1, 2], "b": ["u", "v"]},
    "series": [1.5, None],
    "timestamp": "2020-01-01T00:00:00",
    "na": None,
    "set": [1, 2],
    "keys": {"1": "one", "2": "two"},
    "object": "re.compile('x')",
    "day": "2020-01-02",
    "step": "1 day, 12:00:00",
}


def test_to_dict_of_details():
    result = example("numpy", details=DETAILS).to_dict()
    assert result["details"] == PLAIN_DETAILS


@pytest.mark.parametrize("library", LIBRARIES)
def test_to_dict_is_plain(library):
    target = [np.int64(1), (np.float64(0.5), None), "x", np.str_("y")]
    fields = {"target": target, "prediction": np.array([1, 2, 3])}
    result = example(library, details=DETAILS, **fields).to_dict()
    assert_plain(result)
    assert [q["target"] for q in result["queries"]] == [1, [0.5, None], "x", "y"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_to_json_is_strict(library):
    explanation = example(library, details=DETAILS)

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    result = json.loads(explanation.to_json(), parse_constant=refuse)
    assert result["queries"][3]["lower_bound"] is None
    assert result["details"]["floats"] == [0.5, None, None]
    plain = explanation.to_dict()
    plain["queries"][3]["lower_bound"] = None
    plain["details"]["floats"][2] = None
    assert result == plain
    assert "\n  " in explanation.to_json(indent=2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_empty(library):
    explanation = empty(library)
    assert repr(explanation) == "Explanation(4 queries: 4 not_found)"
    assert explanation.to_frame().shape == (0, 10)
    changes = explanation.changes()
    assert changes.shape == (0, 5)
    assert column(explanation.feature_frequency(), "frequency") == [0.0] * 4
    X, X_cf = explanation.pairs()
    assert X.shape == X_cf.shape == (0, 4)
    assert [q["counterfactuals"] for q in explanation.to_dict()["queries"]] == [[]] * 4
    assert "not found" in explanation._repr_html_()
    filled = example(library).changes()
    assert list(changes.columns) == list(filled.columns)
    if library == "polars":
        assert changes.schema == filled.schema


def test_repr():
    text = "Explanation(4 queries: 2 found, 1 already, 1 infeasible; "
    assert repr(example("numpy")) == text + "3 counterfactuals, median cost 0.5)"
    queries = build_numeric("numpy", [[1.0]])
    assert repr(explain(queries, queries + 1, [0], cost=[1234.5])) == (
        "Explanation(1 query: 1 found; 1 counterfactual, median cost 1234)"
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dumps", ["pickle", "joblib"])
def test_pickle(library, dumps, tmp_path):
    explanation = example(library, details={"weights": np.arange(3)})
    if dumps == "pickle":
        copy = pickle.loads(pickle.dumps(explanation))
    else:
        joblib.dump(explanation, tmp_path / "explanation")
        copy = joblib.load(tmp_path / "explanation")
    assert copy.to_dict() == explanation.to_dict()
    assert type(copy.queries) is type(explanation.queries)
    assert copy.details.weights.tolist() == [0, 1, 2]


def test_integer_column_names_of_pandas():
    queries = pd.DataFrame([[1.0, 2.0]])
    explanation = explain(queries, pd.DataFrame([[1.0, 3.0]]), [0])
    assert list(explanation._iter_changes()) == [(0, 0, "1", 2.0, 3.0)]
    assert explanation.to_frame()[1].tolist() == [3.0]
    assert explanation.feature_frequency()["feature"].tolist() == ["1", "0"]
    assert explanation.to_dict()["queries"][0]["values"] == {"0": 1.0, "1": 2.0}
    assert "3" in explanation._repr_html_()


def test_series_of_several_channels():
    queries = np.zeros((2, 3, 2))
    found = np.zeros((1, 3, 2))
    found[0, 2, 1] = 1.0
    explanation = explain(queries, found, [1])
    assert list(explanation._iter_changes()) == [(1, 0, "x2_1", 0.0, 1.0)]
    assert explanation.to_frame()["x2_1"].tolist() == [1.0]
    assert explanation.pairs()[1].shape == (1, 3, 2)


def test_arrow_table():
    pa = pytest.importorskip("pyarrow")
    queries = pa.table({"a": [1, 2], "b": ["u", "v"]})
    explanation = explain(queries, pa.table({"a": [5], "b": ["v"]}), [1])
    assert explanation.to_frame()["a"].to_pylist() == [5]
    assert explanation.changes()["after"].to_pylist() == ["5"]
    assert explanation.pairs()[0].to_pydict() == {"a": [2], "b": ["v"]}


def block(monkeypatch, *names):
    """Make some packages look as if they were not installed."""
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.partition(".")[0] in names:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)


def test_frames_of_arrays_without_pandas(monkeypatch):
    explanation = example("numpy")
    block(monkeypatch, "pandas")
    frame = explanation.to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.schema["x0"] == pl.Int64
    assert frame["x1"].to_list() == FOUND["rate"]
    assert explanation.changes()["after"].to_list() == [
        str(cell[4]) for cell in CHANGES
    ]
    numeric = explain(np.zeros((1, 2)), np.ones((1, 2)), [0])
    assert numeric.changes()["after"].to_list() == [1.0, 1.0]


def test_frames_of_arrays_without_pandas_and_polars(monkeypatch):
    explanation = example("numpy")
    block(monkeypatch, "pandas", "polars")
    for method in ("to_frame", "changes", "feature_frequency"):
        with pytest.raises(ImportError, match="pip install pandas"):
            getattr(explanation, method)()
    assert len(explanation.to_dict()["queries"]) == 4
    assert "clerk" in explanation._repr_html_()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cost": [1.0]}, r"cost must have one value for each of the counterfactuals"),
        ({"target": ["yes"]}, r"target must .* each of the queries, shape \(4,\)"),
        ({"status": ["lost"] * 4}, r"status must be one of .*'lost'"),
        ({"row": [0, 0, 4]}, r"row must be a position among the 4 queries, got 4"),
        ({"row": [0, 0, -1]}, r"row must be a position .* got -1"),
        ({"row": [2, 0, 0]}, r"sorted by row"),
        ({"row": [2, 0, 0], "rank": [-2, 1, 2]}, r"sorted by row"),
        ({"rank": [0, 2, 0]}, r"rank must count"),
        ({"rank": [1, 0, 0]}, r"rank must count"),
        ({"status": ["found"] * 4}, r"query 1 has 0 and status \"found\""),
        ({"status": ["budget"] * 4}, r"query 0 has 2 and status \"budget\""),
    ],
)
def test_fields_that_do_not_fit(fields, message):
    with pytest.raises(ValueError, match=message):
        example("pandas", **fields)


def test_containers_that_do_not_fit():
    queries = build("pandas", QUERIES, LABELS)
    found = build("pandas", FOUND, ["p", "p", "q"])
    rows = {"row": [0, 0, 2], "rank": [0, 1, 0]}
    with pytest.raises(TypeError, match="in the container of queries"):
        explain(queries, found.to_numpy(), **rows)
    with pytest.raises(ValueError, match="feature 0 is 'age' in queries and 'own'"):
        explain(queries, found[found.columns[::-1]], **rows)
    with pytest.raises(ValueError, match="feature 3 is 'own' in queries and None"):
        explain(queries, found.drop(columns="own"), **rows)
    with pytest.raises(ValueError, match="index label"):
        explain(queries, found.reset_index(drop=True), **rows)
    with pytest.raises(TypeError, match="frame in memory"):
        lazy = pl.LazyFrame({"a": [1]})
        dataclasses.replace(example("polars"), queries=lazy, counterfactuals=lazy)
    with pytest.raises(ValueError, match="two axes"):
        explain(np.zeros(3), np.zeros(0))
    with pytest.raises(TypeError, match="details must be a Bunch"):
        example("pandas", details=[1])


def text_of(html):
    """Return the text of a table without its style and tags."""
    html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.mark.parametrize("library", LIBRARIES)
def test_html(library):
    rules = np.array([None, None, None, "increasing('age')"], dtype=object)
    explanation = example(library, details={"blocking_rules": rules})
    text = text_of(explanation._repr_html_())
    names = names_of(library)
    assert f"{names[0]} 30 ↑ 31" in text
    assert f"{names[2]} clerk → cook" in text
    assert f"{names[3]} True → False" in text
    assert "already prediction no" in text
    assert "infeasible prediction no target yes" in text
    assert "has an answer without increasing(&#x27;age&#x27;)" in text
    assert "prediction no → yes score 0.25 → 0.75 cost 0.25" in text
    assert "after, rank 0 after, rank 1" in text
    assert "cost 0.5 score 0.75" in text
    if library == "pandas":
        assert "p (row 0) found" in text
    else:
        assert "query 0 found" in text
    # Of the categories of query 2 nothing changes, so that nothing is shown.
    assert text.count("cook") == 1


def test_html_of_proofs():
    queries, found = np.zeros((3, 1)), np.array([[1.0], [2.0], [3.0]])
    explanation = explain(
        queries,
        found,
        [0, 1, 2],
        optimal=[True, False, False],
        lower_bound=[0.25, 0.125, np.nan],
    )
    first, second, third = text_of(explanation._repr_html_()).split("query")[-3:]
    assert "cost 0.25 (proved optimal)" in first
    assert "cost 0.5 (proved ≥ 0.125)" in second
    assert "proved" not in third


def test_html_of_a_regressor_does_not_repeat_its_prediction():
    fields = {
        "prediction_before": [1.5],
        "prediction": [4.0],
        "score_before": [1.5],
        "score": [4.0],
    }
    explanation = explain(np.zeros((1, 1)), np.ones((1, 1)), [0], **fields)
    text = text_of(explanation._repr_html_())
    assert "prediction 1.5 → 4 cost" in text


def test_html_of_the_target_interval():
    explanation = explain(
        np.zeros((3, 1)), np.zeros((0, 1)), target=[(1, 2.5), (None, 3), (4, np.inf)]
    )
    text = text_of(explanation._repr_html_())
    for expected in ("target 1 to 2.5", "target at most 3", "target at least 4"):
        assert expected in text


def test_html_escapes_everything():
    queries = pd.DataFrame({"<b>": ["<script>"], "n": [1]}, index=["<i>label"])
    found = pd.DataFrame({"<b>": ["<img src=x>"], "n": [1]}, index=["<i>label"])
    fields = {
        "prediction_before": np.array(["<u>no"]),
        "prediction": np.array(["<u>yes"]),
    }
    html = explain(queries, found, [0], **fields)._repr_html_()
    for raw in ("<b>n", "<b></th>", "<script", "<img", "<i>", "<u>"):
        assert raw not in html
    for escaped in ("&lt;b&gt;", "&lt;script&gt;", "&lt;img src=x&gt;", "&lt;u&gt;no"):
        assert escaped in html
    assert "&lt;i&gt;label" in html

    details = {"blocking_rules": ["<s>rule"]}
    html = explain(
        queries, queries[:0], target=["<em>"], details=details, **fields | NO_PREDICTION
    )._repr_html_()
    assert "<s>" not in html
    assert "<em>" not in html
    assert "&lt;s&gt;rule" in html
    assert "&lt;em&gt;" in html


NO_PREDICTION = {"prediction": np.array([], dtype=str)}


def test_html_is_well_formed():
    from xml.etree import ElementTree

    for explanation in (example("pandas"), empty("polars"), many_queries()):
        html = explanation._repr_html_()
        table = html[html.index("<div") :]
        assert ElementTree.fromstring(table).tag == "div"


def many_queries():
    queries = np.zeros((23, 40))
    return explain(queries, queries + 1, range(23))


def test_html_shows_the_first_queries_and_changes():
    text = text_of(many_queries()._repr_html_())
    assert "query 19" in text
    assert "query 20" not in text
    assert "3 more queries not shown" in text
    assert text.count("10 more changed features") == 20
    assert text.count("x29 0 ↑ 1") == 20
    assert "x30" not in text


def test_html_shows_the_first_ranks():
    found = np.arange(1.0, 8.0)[:, None]
    explanation = explain(np.zeros((1, 1)), found, [0] * 7, range(7))
    text = text_of(explanation._repr_html_())
    assert "after, rank 4 query" in text
    assert "x0 0 ↑ 1 ↑ 2 ↑ 3 ↑ 4 ↑ 5 2 more counterfactuals not shown" in text


def test_html_tells_predictions_of_ranks_that_differ():
    found = np.array([[1.0], [2.0]])
    fields = {"prediction": np.array(["yes", "maybe"]), "rank": [0, 1]}
    text = text_of(explain(np.zeros((1, 1)), found, [0, 0], **fields)._repr_html_())
    assert "score 0.75 prediction maybe" in text


def test_html_ignores_blocking_rules_of_another_length():
    details = {"blocking_rules": ["rule"]}
    assert "rule" not in text_of(example("numpy", details=details)._repr_html_())


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (0.1, 0.30000000000000004, "0.1 ↑ 0.3"),
        (100.0, 99.5, "100 ↓ 99.5"),
        (1234567.0, 2.5, "1234567 ↓ 2.5"),
        (12345678.9, 1e-7, "12345679 ↓ 1e-07"),
        (1 / 3, 2 / 3, "0.333333 ↑ 0.666667"),
        # More digits where six would hide or distort the change.
        (1.0, 1.0000001, "1 ↑ 1.0000001"),
        (123456789.25, 123456789.5, "123456789.25 ↑ 123456789.5"),
        (2.5, None, "2.5 → missing"),
        (None, 1.0, "missing → 1"),
        (np.inf, 1.0, "inf → 1"),
    ],
)
def test_numbers_of_html(before, after, text):
    queries, found = np.array([[before]], float), np.array([[after]], float)
    html = explain(queries, found, [0])._repr_html_()
    assert f"x0 {text}" in text_of(html)


def test_values_of_html():
    moment = datetime.datetime(2020, 1, 2, 3, 4)
    rows = [[1, "1"], [pd.Timestamp("2020-01-01"), moment], [10**20, 3]]
    queries = np.array([[before] for before, _ in rows], dtype=object)
    found = np.array([[after] for _, after in rows], dtype=object)
    text = text_of(explain(queries, found, range(3))._repr_html_())
    # A number and its text differ in type alone.
    assert "x0 1 → &#x27;1&#x27;" in text
    assert "x0 2020-01-01 → 2020-01-02 03:04:00" in text
    assert "x0 100000000000000000000 ↓ 3" in text
