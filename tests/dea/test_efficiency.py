import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skcf.dea import DEA
from tests.dea.units import FIRMS, LIMIT, TECHNOLOGIES, efficiency, made

NAMES = ["x1", "x2", "y"]


def firms(**params):
    return DEA(inputs=["x1", "x2"], outputs=["y"], **params)


def frame():
    return pd.DataFrame(FIRMS, columns=NAMES, index=list("abcd"))


def test_table_4_1():
    found = firms().fit(frame()).efficiency_
    np.testing.assert_allclose(found, [1, 1, 10 / 17, 0.5], atol=1e-12)


@pytest.mark.parametrize("kind", TECHNOLOGIES)
@pytest.mark.parametrize("measure", ["input", "output"])
def test_efficiencies_of_other_units(kind, measure):
    units, others = made(1, 12, 2, 2), made(2, 5, 2, 2)
    dea = DEA(
        inputs=[0, 1], outputs=[2, 3], returns_to_scale=kind, orientation=measure
    ).fit(units)
    expected = [efficiency(units, 2, p, kind, measure) for p in others]
    np.testing.assert_allclose(dea.score_samples(others), expected, rtol=1e-7)
    np.testing.assert_allclose(dea.evaluate(others).efficiency, expected, rtol=1e-7)
    few = clone(dea).set_params(max_facets=0).fit(units)
    assert few.facets_ is None
    np.testing.assert_allclose(few.score_samples(others), expected, rtol=1e-7)


def test_facets_in_the_units_of_the_user():
    dea = firms().fit(frame() * [1.0, 100.0, 7.0])
    u, v, w = np.split(dea.facets_, [2, 3], axis=1)
    profit = u @ (FIRMS[:, :2] * [1, 100]).T - v @ (FIRMS[:, 2:] * 7).T - w
    assert profit.min() > -1e-12
    touched = (np.abs(profit) < 1e-12).sum(axis=1)
    assert touched.max() == 2  # the facet between the two efficient firms


def test_peers_and_slacks():
    # Half of firm d: it could give up another .25 of the first input for nothing.
    evaluation = (
        firms(returns_to_scale="vrs")
        .fit(frame())
        .evaluate(pd.DataFrame([[3.0, 1.0, 1.0]], columns=NAMES))
    )
    assert evaluation.efficiency == pytest.approx(0.5)
    assert evaluation.peers[0].tolist() == ["b"]
    np.testing.assert_allclose(evaluation.weights, [[0, 1, 0, 0]])
    np.testing.assert_allclose(evaluation.slacks, [[0, 0, 0]], atol=1e-9)
    more = firms().fit(frame()).evaluate(pd.DataFrame([[4.0, 1.0, 1.0]], columns=NAMES))
    np.testing.assert_allclose(more.slacks, [[0.5, 0, 0]], atol=1e-9)


def test_units_out_of_reach_have_no_peers():
    dea = DEA(inputs=[0], outputs=[1], returns_to_scale="vrs").fit(LIMIT)
    evaluation = dea.evaluate([[8.0, 4.0]])
    assert evaluation.efficiency == [np.inf]
    assert not len(evaluation.peers[0]) and np.isnan(evaluation.weights).all()


def test_farrell_projections_of_tables_4_2_and_4_3():
    found = firms().fit(frame()).project(frame().loc[["c", "d"]], efficiency=0.8)
    expected = [[1.29, 0.92, 1.0], [1.5625, 0.78125, 1.0]]
    np.testing.assert_allclose(found.to_numpy(), expected, atol=5e-3)
    assert found.index.tolist() == ["c", "d"]
    again = firms().fit(frame()).score_samples(found)
    np.testing.assert_allclose(again, 0.8, atol=1e-12)


def test_projection_of_outputs():
    dea = DEA(inputs=[0], outputs=[1], returns_to_scale="vrs", orientation="output")
    found = dea.fit(LIMIT).project([[2.5, 1.0], [4.0, 3.0]], efficiency=0.9)
    np.testing.assert_allclose(found, [[2.5, 1.8], [4.0, 3.0]])


def test_directional_search():
    dea = DEA(inputs=[0], outputs=[1], returns_to_scale="vrs").fit(LIMIT)
    # From (4, 1): by (-1, 1) to (2.8, 2.2), on the line from (1, 1) to (4, 3).
    search = dea.directional([[4.0, 1.0]], dx=[1.0], dy=[1.0])
    np.testing.assert_allclose(search.steps, [1.2])
    np.testing.assert_allclose(search.plans, [[2.8, 2.2]])
    # Outside of the technology the way leads back, or nowhere.
    search = dea.directional([[2.5, 3.0], [0.5, 1.0]], dy=[1.0])
    np.testing.assert_allclose(search.steps, [-1.0, -np.inf])
    np.testing.assert_allclose(search.plans, [[2.5, 2.0], [0.5, 1.0]])


def test_direction_of_the_inputs_is_farrell():
    units = made(4, 10, 2, 1)
    dea = DEA(inputs=[0, 1], outputs=[2]).fit(units)
    steps = dea.directional(units, dx=units[:, :2]).steps
    np.testing.assert_allclose(1 - steps, dea.efficiency_, atol=1e-8)


def test_other_columns_are_carried_along():
    named = pl.from_pandas(frame()).with_columns(name=pl.Series(list("abcd")))
    dea = firms().fit(named)
    query = named.tail(1).with_columns(name=pl.lit("new"))
    found = dea.project(query)
    assert found["name"].to_list() == ["new"]
    assert found["x1"].to_list() == [1.25]


def test_whole_numbers_and_short_floats():
    units = np.array([[2, 4, 1], [6, 2, 1], [7, 5, 1], [10, 5, 1]])
    dea = DEA(inputs=[0, 1], outputs=[2]).fit(units)
    np.testing.assert_allclose(dea.efficiency_, [1, 1, 10 / 17, 0.5])
    assert dea.project(units).dtype == np.float64
    short = DEA(inputs=[0, 1], outputs=[2]).fit(units.astype(np.float32))
    np.testing.assert_allclose(short.efficiency_, dea.efficiency_, atol=1e-12)


@pytest.mark.parametrize("kind", TECHNOLOGIES)
def test_one_unit_and_constant_columns(kind):
    one = np.array([[2.0, 3.0, 0.0, 1.0]])
    dea = DEA(inputs=[0, 1], outputs=[2, 3], returns_to_scale=kind).fit(one)
    np.testing.assert_allclose(dea.efficiency_, [1.0])
    twice = np.repeat(one * [2.0, 2.0, 1.0, 1.0], 3, axis=0)
    np.testing.assert_allclose(dea.score_samples(twice), 0.5)


@pytest.mark.parametrize(
    ("cell", "value", "words"),
    [
        ((1, "x2"), -1.0, ["'b'", "-1", "'x2'", "Negative"]),
        ((2, "y"), np.nan, ["'c'", "NaN", "'y'"]),
        ((0, "x1"), np.inf, ["'x1'", "infinity"]),
    ],
)
def test_bad_cells_are_named(cell, value, words):
    table = frame()
    table.iloc[cell[0], NAMES.index(cell[1])] = value
    for call in (firms().fit, firms().fit(frame()).score_samples):
        with pytest.raises(ValueError) as caught:
            call(table)
        for word in words:
            assert word in str(caught.value)


def test_a_unit_without_input_is_named():
    table = frame()
    table.loc["c", ["x1", "x2"]] = 0.0
    with pytest.raises(ValueError, match="'c' has no input.*x1.*x2"):
        firms().fit(table)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"inputs": []}, "inputs must name at least one"),
        ({"outputs": ["y", "x1"]}, "'x1' is in inputs and in outputs"),
        ({"inputs": ["x1", "x1"]}, "'x1' twice"),
        ({"inputs": ["x3"]}, "inputs: there is no column 'x3'"),
        ({"inputs": 5.5}, "inputs must be a list"),
        ({"inputs": ["name"]}, "'name' holds .*; inputs and outputs are numbers"),
    ],
)
def test_bad_columns_are_named(columns, words):
    with pytest.raises((ValueError, TypeError), match=words):
        firms().set_params(**columns).fit(frame().assign(name="firm"))


def test_bad_calls():
    dea = firms()
    with pytest.raises(NotFittedError):
        dea.score_samples(frame())
    dea.fit(frame())
    with pytest.raises(ValueError, match="efficiency must be in"):
        dea.project(frame(), efficiency=1.5)
    with pytest.raises(ValueError, match="both be 0"):
        dea.directional(frame())
    with pytest.raises(ValueError, match="dx must have shape"):
        dea.directional(frame(), dx=[1.0])
    with pytest.raises(ValueError, match="dy must be finite and at least 0"):
        dea.directional(frame(), dy=[-1.0])
    with pytest.raises(ValueError, match="returns_to_scale"):
        firms(returns_to_scale="none").fit(frame())


def test_amounts_too_far_apart_are_refused():
    X = np.array([[1.0, 2.0], [3.0, 1.0], [1e9, 4.0]])
    with pytest.raises(ValueError, match=r"Unit 0 has 1 in column 0.*1e\+08"):
        DEA(inputs=[0], outputs=[1]).fit(X)
    X[2, 0] = 1e7
    assert np.isfinite(DEA(inputs=[0], outputs=[1]).fit(X).efficiency_).all()
