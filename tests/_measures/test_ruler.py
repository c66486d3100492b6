"""Tests of how rows are read and how far apart they are."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf._measures._ruler import Ruler, check_pairs
from skcf.constraints import fixed
from tests._measures.mixed import LIBRARIES, columns_of, rules_of, table


def ruler_of(library):
    X, _ = table(library)
    return Ruler.of(X, rules_of(library), columns_of(library)), X


@pytest.mark.parametrize("library", LIBRARIES)
def test_matrix_of_distances_is_that_of_the_cost(library):
    ruler, X = ruler_of(library)
    codes = ruler.read_one(X, "X")
    assert np.isnan(codes).any() and ruler.n_groups == 5
    matrix = ruler.distances(codes[:40], codes)
    expected = ruler.gower.rows(codes[:40, None, :], codes[None, :, :])
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-15)
    assert (np.diag(matrix) == 0).all()


def test_blocks_cover_all_rows_once():
    ruler, _ = ruler_of("numpy")
    lots = list(ruler.blocks(25, 1_000_000))
    assert [lot.start for lot in lots] == [0, 4, 8, 12, 16, 20, 24]
    assert lots[-1].stop == 25


def test_distances_do_not_depend_on_the_library():
    told = []
    for ruler, X in map(ruler_of, ["pandas", "polars"]):
        codes = ruler.read(X[:9], X[9:18])
        told.append(ruler.gower.rows(*codes))
        assert all(np.isnan(side).any() for side in codes)
    np.testing.assert_array_equal(*told)
    ruler, X = ruler_of("pandas")
    theirs = ruler_of("polars")[1]
    np.testing.assert_array_equal(*ruler.read(X[:30], theirs[:30]))


BEFORE = {"n": [1, 2, 3], "w": ["u", "v", None], "t": [True, False, True]}
BEFORE["f"] = [0.5, None, 1.5]
AFTER = {"n": [1, 3, 3], "w": ["u", None, None], "t": [True, True, True]}
AFTER["f"] = [0.5, 1.0, None]


def kinds():
    """Return the same rows in all libraries and dtypes."""
    frame = pd.DataFrame
    category = pl.col("w").cast(pl.Categorical)
    return [
        lambda data: frame(data),
        lambda data: frame(data).convert_dtypes(),
        lambda data: frame(data).convert_dtypes(dtype_backend="pyarrow"),
        lambda data: frame(data).astype({"w": "category", "n": float}),
        lambda data: frame(data).astype(object),
        lambda data: frame(data).to_numpy(),
        lambda data: pl.DataFrame(data),
        lambda data: pl.DataFrame(data).with_columns(category, pl.col("n").cast(float)),
    ]


@pytest.mark.parametrize("one", range(8))
@pytest.mark.parametrize("other", range(8))
def test_dtypes_and_libraries_mix(one, other):
    X, X_cf = kinds()[one](BEFORE), kinds()[other](AFTER)
    ruler = Ruler.of(X)
    before, after = ruler.read(X, X_cf)
    assert ruler.changed(before, after).sum(axis=1).tolist() == [0, 4, 1]
    assert ruler.gower.rows(before, after).tolist() == [0.0, 0.875, 0.25]


@pytest.mark.parametrize("module", [pd, pl])
def test_unseen_categories_differ_from_all_and_equal_themselves(module):
    reference = module.DataFrame({"job": ["cook", "clerk", "cook"]})
    X = module.DataFrame({"job": ["pilot", "pilot", "cook", None]})
    X_cf = module.DataFrame({"job": ["pilot", "diver", "diver", "pilot"]})
    ruler = Ruler.of(reference)
    before, after = ruler.read(X, X_cf)
    assert ruler.changed(before, after)[:, 0].tolist() == [False, True, True, True]
    assert ruler.gower.rows(before, after).tolist() == [0, 1, 1, 1]


def test_an_unseen_level_of_an_order_is_an_error():
    order = pd.CategoricalDtype(["low", "high"], ordered=True)
    reference = pd.DataFrame({"level": ["low", "high"]}, dtype=order)
    strange = pd.DataFrame({"level": ["low", "middle"]})
    with pytest.raises(ValueError, match="'level'.*'middle'"):
        Ruler.of(reference).read(reference, strange)


@pytest.mark.parametrize("module", [pd, pl])
def test_fractions_in_a_column_of_integers_are_measured(module):
    reference = module.DataFrame({"age": [20, 30, 40]})
    ruler = Ruler.of(reference)
    half = module.DataFrame({"age": [20.5, 30.0, 45.0]})
    before, after = ruler.read(reference, half)
    assert ruler.gower.rows(before, after).tolist() == [0.025, 0.0, 0.25]


@pytest.mark.parametrize("module", [pd, pl])
def test_changed_dates_are_changes(module):
    days = [datetime.datetime(2020, 1, day) for day in (1, 2, 3)]
    X = module.DataFrame({"day": days, "size": [1.0, 2.0, 3.0]})
    X_cf = module.DataFrame({"day": [days[0], days[0], None], "size": [1.0, 2.0, 2.0]})
    ruler = Ruler.of(X, fixed("day"))
    assert ruler.changed(*ruler.read(X, X_cf)).tolist() == [
        [False, False],
        [True, False],
        [True, True],
    ]


def test_tables_that_do_not_fit_are_refused():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    with pytest.raises(ValueError, match="2 and 1 rows"):
        check_pairs(X, X[:1])
    with pytest.raises(ValueError, match="X must be a table.*shape \\(2,\\)"):
        check_pairs([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(TypeError, match="collect"):
        check_pairs(pl.from_pandas(X).lazy(), X)
    ruler = Ruler.of(X)
    with pytest.raises(ValueError, match="column 0 is 'b', expected 'a'"):
        ruler.read(X, X[["b", "a"]])
    with pytest.raises(ValueError, match="X_cf has 1 columns, the reference has 2"):
        ruler.read(X, X[["a"]])
    with pytest.raises(ValueError, match="'a' contains infinity"):
        ruler.read(X, X.replace(1.0, np.inf))
    with pytest.raises(ValueError, match="'a' is numeric; it cannot hold 'x'"):
        ruler.read(X, X.astype(object).replace(1.0, "x"))
