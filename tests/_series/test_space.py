import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf._series import SeriesSpace


def test_cells_know_their_time_and_channel():
    X = np.zeros((1, 3, 2))
    last, first = SeriesSpace(X, 2), SeriesSpace(X, 1)
    assert last.channel.tolist() == [0, 1, 0, 1, 0, 1]
    assert last.time.tolist() == [0, 0, 1, 1, 2, 2]
    assert (last.n_times, last.n_channels) == (3, 2)
    assert first.channel.tolist() == [0, 0, 1, 1, 2, 2]
    assert first.time.tolist() == [0, 1, 0, 1, 0, 1]
    assert (first.n_times, first.n_channels) == (2, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, bool])
def test_arrays_come_back_bit_for_bit(dtype):
    X = np.arange(12).reshape(2, 3, 2).astype(dtype)
    space = SeriesSpace(X, 2)
    codes = space.encode(X)
    assert codes.shape == (2, 6)
    np.testing.assert_array_equal(space.decode(codes), X)
    assert space.decode(codes).dtype == (np.float32 if dtype == np.float32 else float)


@pytest.mark.parametrize(
    "fitted, query, emitted",
    [
        ("f4", "f4", "f4"),
        ("f4", "f8", "f8"),
        ("f8", "f4", "f8"),
        ("f8", "i8", "f8"),
        ("f4", "i8", "f4"),
        ("i8", "f4", "f8"),
    ],
)
def test_dtypes_follow_from_schemas(fitted, query, emitted):
    space = SeriesSpace(np.zeros((2, 3), dtype=fitted), 2)
    X = np.zeros((1, 3), dtype=query)
    out = space.emit(X, np.array([0]), np.array([[0.5, 0.0, 1.0]]))
    assert out.dtype == emitted
    frame = SeriesSpace(pd.DataFrame(np.zeros((2, 3), dtype=fitted)), 2)
    out = frame.emit(pd.DataFrame(X), np.array([0]), np.array([[0.5, 0.0, 1.0]]))
    assert set(out.dtypes) == {np.dtype(emitted)}


def test_frames_keep_index_and_columns():
    X = pd.DataFrame({"mon": [1, 2], "tue": [3.0, 4.0]}, index=["a", "b"])
    space = SeriesSpace(X, 2)
    model_side = space.decode(space.encode(X))
    assert model_side.dtypes.tolist() == [np.float64, np.float64]
    out = space.emit(X, np.array([1, 1, 0]), np.array([[2.0, 9], [2.5, 4], [1, 3]]))
    assert out.index.tolist() == ["b", "b", "a"]
    assert out.columns.tolist() == ["mon", "tue"]
    assert out["mon"].tolist() == [2.0, 2.5, 1.0]


def test_polars_frames():
    X = pl.DataFrame({"mon": [1, 2], "tue": pl.Series([3.0, 4.0], dtype=pl.Float32)})
    space = SeriesSpace(X, 2)
    assert space.decode(space.encode(X)).dtypes == [pl.Float64, pl.Float32]
    out = space.emit(X, np.array([0]), np.array([[1.5, 3.0]]))
    assert out.dtypes == [pl.Float64, pl.Float32]
    assert out.rows() == [(1.5, 3.0)]


def test_what_is_missing_is_named():
    X = np.zeros((3, 4, 2))
    space = SeriesSpace(X, 2)
    X[1, 2, 1] = np.nan
    with pytest.raises(ValueError, match="NaN: series 1 has it at time 2 of channel 1"):
        space.encode(X)
    X[1] = np.nan
    with pytest.raises(ValueError, match="series 1 has nothing else.*resample"):
        space.encode(X)
    X[1] = 0.0
    X[2, 0, 0] = -np.inf
    with pytest.raises(ValueError, match="infinity: series 2 has it at time 0"):
        space.encode(X)


def test_columns_of_text_are_refused():
    X = pd.DataFrame({"mon": [1.0], "tue": ["many"]})
    with pytest.raises(ValueError, match="'tue'.*numbers"):
        SeriesSpace(X, 2)
