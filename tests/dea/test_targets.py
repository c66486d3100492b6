import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skcf.constraints import (
    fixed,
    only,
)
from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from skcf.exceptions import CounterfactualNotFoundWarning
from tests.dea.units import FIRMS, LIMIT, TECHNOLOGIES, bilevel, efficiency, made

PLAIN = {"scale": "none", "average": False}
L0L2 = Cost(l0=1.0, l1=0.0, l2=1.0, **PLAIN)
L1 = Cost(l1=1.0, **PLAIN)
L2 = Cost(l1=0.0, l2=1.0, **PLAIN)


def explainer(n_inputs, n_outputs, **params):
    inputs = list(range(n_inputs))
    outputs = list(range(n_inputs, n_inputs + n_outputs))
    return DEATargetExplainer(inputs=inputs, outputs=outputs, **params)


# -- what the source prints ---------------------------------------------------------


@pytest.mark.parametrize("max_facets", [1000, 0])
@pytest.mark.parametrize(
    ("firm", "cost", "expected"),
    [
        (2, L0L2, [1.75, 0.6875]),
        (2, L2, [1.525, 0.8]),
        (3, L0L2, [2.5, 0.625]),
        (3, L2, [2.5, 0.625]),
    ],
)
def test_tables_4_2_and_4_3(firm, cost, expected, max_facets):
    explained = (
        explainer(2, 1, efficiency=0.8, cost=cost, max_facets=max_facets)
        .fit(FIRMS)
        .explain(FIRMS[[firm]])
    )
    np.testing.assert_allclose(
        explained.counterfactuals[0], [*expected, 1.0], atol=1e-4
    )
    assert explained.prediction == pytest.approx(0.8, abs=1e-7)
    assert explained.optimal.all()
    farrell = {2: [1.286765, 0.919118], 3: [1.5625, 0.78125]}[firm]
    np.testing.assert_allclose(explained.details.farrell[0, :2], farrell, atol=1e-6)
    squares = {2: 0.324, 3: 1.0986}[firm]
    if cost == L2:
        assert explained.details.farrell_cost == pytest.approx(squares, abs=1e-3)


# -- where a naive version is wrong -------------------------------------------------


def test_largest_output_is_not_efficiency():
    # The facet y <= 3 is tight at the third unit, and says nothing of its input.
    explained = (
        explainer(1, 1, returns_to_scale="vrs", efficiency=0.9)
        .fit(LIMIT)
        .explain(LIMIT[2:])
    )
    assert explained.prediction_before == pytest.approx(0.5)
    np.testing.assert_allclose(explained.counterfactuals, [[4 / 0.9, 3.0]])


def test_no_target_on_the_output_limit():
    unit = np.array([[8.0, 2.0]])
    fitted = explainer(1, 1, returns_to_scale="vrs", change="outputs").fit(LIMIT)
    # On the limit the efficiency is 4 / 8, and beyond it there is nothing.
    reached = fitted.explain(unit, target=0.5)
    np.testing.assert_allclose(reached.counterfactuals, [[8.0, 3.0]])
    beyond = fitted.explain(unit, target=0.6)
    assert beyond.status.tolist() == ["infeasible"]
    assert beyond.lower_bound.tolist() == [np.inf]


def test_multiplier_of_variable_returns_is_free():
    # Of the third unit, in the region of decreasing returns.
    assert bilevel(LIMIT, 1, LIMIT[2], 0.9, lowest_kappa=0.0) is None
    free = bilevel(LIMIT, 1, LIMIT[2], 0.9, lowest_kappa=-np.inf)
    explained = (
        explainer(1, 1, returns_to_scale="vrs", efficiency=0.9, cost=L1)
        .fit(LIMIT)
        .explain(LIMIT[2:])
    )
    assert free == pytest.approx(8 - 4 / 0.9)
    assert explained.cost == pytest.approx(free)


@pytest.mark.parametrize("seed", [1, 2])
def test_variable_returns_against_the_bilevel_program(seed):
    units = made(seed, 7, 2, 1)
    explained = (
        explainer(2, 1, returns_to_scale="vrs", efficiency=0.95, cost=L1)
        .fit(units)
        .explain(units)
    )
    for row, cost in zip(explained.row[:2], explained.cost[:2], strict=True):
        assert cost == pytest.approx(
            bilevel(units, 2, units[row], 0.95, lowest_kappa=-np.inf), abs=1e-6
        )


def test_no_outputs_to_be_efficient_with():
    units = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 0.0]])
    explained = explainer(1, 1).fit(units).explain(units[2:])
    assert explained.status.tolist() == ["infeasible"]


# -- against the mixed-integer program ----------------------------------------------

MIXTURES = [
    Cost(l1=1.0, scale="mean", average=False),
    Cost(l0=0.1, l1=1.0, scale="mean", average=False),
    Cost(l1=0.0, l2=1.0, scale="mean", average=False),
    Cost(l0=0.05, l1=0.1, l2=1.0, scale="mean"),
    Cost(l1=0.5, linf=0.5),
    Cost(l1=0.5, up={0: 3.0, 2: 0.5}, down={1: 2.0}, weights={0: 2.0}),
]
CASES = list(
    itertools.product(TECHNOLOGIES, ["inputs", "outputs", "both"], ["input", "output"])
)


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)))
def test_facets_and_program_agree(number, case):
    kind, change, measure = case
    units = made(number, 5, 2, 1 + number % 2)
    # Worse than the first by inputs and by outputs.
    units = np.vstack(
        [units, units[0] * np.where(np.arange(len(units.T)) < 2, 1.3, 0.7)]
    )
    given = {
        "returns_to_scale": kind,
        "change": change,
        "measure": measure,
        "cost": MIXTURES[(number + number // 6) % len(MIXTURES)],
        "efficiency": [0.9, 1.0, 0.7][number % 3],
    }
    fitted = explainer(2, units.shape[1] - 2, **given).fit(units)
    rows = np.flatnonzero(fitted.dea_.efficiency_ < given["efficiency"] - 1e-6)[:2]
    explained = fitted.explain(units[rows])
    other = fitted.set_params(max_facets=0).fit(units).explain(units[rows])
    assert set(explained.details.method) <= {"facets"}
    assert set(other.details.method) <= {"mip"}
    assert other.row.tolist() == explained.row.tolist()
    np.testing.assert_allclose(explained.cost, other.cost, rtol=3e-6, atol=1e-7)
    for plan in explained.counterfactuals:
        found = efficiency(units, 2, plan, kind, measure)
        assert found == pytest.approx(given["efficiency"], abs=1e-7)


def test_program_of_several_sets():
    units = made(5, 6, 2, 1)
    fitted = explainer(2, 1, max_facets=0, cost=L1).fit(units)
    row = int(np.argmin(fitted.dea_.efficiency_))
    explained = fitted.explain(units[[row]], n_counterfactuals=3)
    best = fitted.set_params(max_facets=1000).fit(units).explain(units[[row]])
    assert explained.cost[0] == pytest.approx(best.cost[0], rel=1e-6)
    changed = [
        tuple(np.flatnonzero(c)) for c in explained.counterfactuals != units[row]
    ]
    assert len(set(changed)) == len(changed)
    assert (np.diff(explained.cost) >= -1e-9).all()


def test_program_without_time():
    units = made(1, 30, 3, 2)
    fitted = explainer(3, 2, max_facets=0, time_limit=1e-4).fit(units)
    status = fitted.explain(units[:6]).status
    assert set(status) <= {"already", "budget", "found"}
    assert "budget" in status


# -- menus --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_menu_has_the_cheapest_plan_of_each_set(seed):
    units = made(seed + 1, 9, 3, 1)
    cost = Cost(l0=0.02, l1=0.3, l2=1.0, scale="mean", average=False)
    fitted = explainer(3, 1, cost=cost, returns_to_scale="vrs").fit(units)
    row = int(np.argmin(fitted.dea_.efficiency_))
    menu = fitted.explain(units[[row]], n_counterfactuals=9)
    sets = {}
    for size in (1, 2, 3):
        for some in itertools.combinations(range(3), size):
            one = fitted.set_params(constraints=only(*some)).fit(units)
            one = one.explain(units[[row]])
            for plan, price in zip(one.counterfactuals, one.cost, strict=True):
                changed = tuple(np.flatnonzero(plan != units[row]).tolist())
                sets[changed] = min(price, sets.get(changed, np.inf))
    changed = [
        tuple(np.flatnonzero(plan != units[row]).tolist())
        for plan in menu.counterfactuals
    ]
    assert set(changed) == set(sets)
    np.testing.assert_allclose(menu.cost, sorted(sets.values()), atol=1e-9)


def test_equal_prices_prefer_fewer_changes():
    explained = (
        explainer(2, 1, efficiency=0.8, cost=Cost(l0=1.0, l1=0.0, **PLAIN))
        .fit(FIRMS)
        .explain(FIRMS[2:], n_counterfactuals=2)
    )
    assert explained.n_changed.tolist() == [1, 1, 1, 1]
    assert explained.cost.tolist() == [1.0] * 4 and explained.optimal.all()
    assert explained.lower_bound.tolist() == [1.0, 1.0]
    # Of equal numbers of changes, each is as small as it can be.
    np.testing.assert_allclose(explained.prediction, 0.8, atol=1e-9)


# -- the contract -------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(TECHNOLOGIES),
    change=st.sampled_from(["inputs", "outputs", "both"]),
    measure=st.sampled_from(["input", "output"]),
    cost=st.sampled_from(MIXTURES),
    wanted=st.sampled_from([0.6, 0.85, 1.0]),
)
def test_targets_are_what_they_claim(seed, kind, change, measure, cost, wanted):
    units = made(seed, 7, 2, 2)
    fitted = explainer(
        2, 2, returns_to_scale=kind, change=change, measure=measure, cost=cost
    ).fit(units)
    explained = fitted.explain(units, target=wanted)
    before = [efficiency(units, 2, plan, kind, measure) for plan in units]
    np.testing.assert_allclose(explained.prediction_before, before, atol=1e-7)
    already = explained.status == "already"
    assert (already == (np.array(before) >= wanted - 1e-8)).all()
    for row, plan in zip(explained.row, explained.counterfactuals, strict=True):
        found = efficiency(units, 2, plan, kind, measure)
        assert found == pytest.approx(wanted, abs=1e-7)
        still = {"inputs": slice(2, 4), "outputs": slice(0, 2), "both": slice(0)}
        assert (plan[still[change]] == units[row][still[change]]).all()
    # A radial change of the columns that may change is a target, too.
    if (change, measure) in {("inputs", "input"), ("outputs", "output")}:
        assert (explained.status != "infeasible").all()
        radial = explained.details.farrell_cost[explained.row]
        assert (explained.cost <= radial + 1e-9).all()


def test_target_by_row():
    fitted = explainer(2, 1, cost=L2).fit(FIRMS)
    explained = fitted.explain(FIRMS[2:], target=[0.5, 0.8])
    assert explained.status.tolist() == ["already", "found"]
    assert explained.target.tolist() == [0.5, 0.8]
    np.testing.assert_allclose(
        fitted.transform(FIRMS[2:], target=[0.5, 0.8]), [FIRMS[2], [2.5, 0.625, 1.0]]
    )


@pytest.mark.parametrize("target", [0.0, 1.2, [0.5] * 3, "high", [[0.5, 1.0]], np.nan])
def test_bad_targets(target):
    with pytest.raises(ValueError, match="target must be"):
        explainer(2, 1).fit(FIRMS).explain(FIRMS[:2], target=target)


def test_details():
    frame = pd.DataFrame(FIRMS, columns=["a", "b", "y"], index=list("pqrs"))
    fitted = DEATargetExplainer(
        inputs=["a", "b"], outputs=["y"], efficiency=0.8, cost=L2
    ).fit(frame)
    explained = fitted.explain(frame)
    details = explained.details
    assert [p.tolist() for p in details.peers] == [["p", "q"], ["q"]]
    np.testing.assert_allclose(details.weights[0], [0.28, 0.72])
    facet = fitted.dea_.facets_[details.facet]
    plans = explained.counterfactuals.to_numpy()
    paid, earned = (facet[:, :2] * plans[:, :2]).sum(1), facet[:, 2] * plans[:, 2]
    np.testing.assert_allclose((earned + facet[:, 3]) / paid, 0.8)
    assert details.farrell.index.tolist() == list("pqrs")
    pd.testing.assert_frame_equal(details.farrell.iloc[:2], frame.iloc[:2])
    assert details.n_rows == 6
    assert explained.to_json()


def test_frames_with_names_and_whole_numbers():
    frame = pl.DataFrame(
        {"name": ["a", "b", "c"], "staff": [2, 4, 8], "sales": [3, 5, 4]}
    )
    fitted = DEATargetExplainer(inputs=["staff"], outputs=["sales"]).fit(frame)
    query = pl.DataFrame({"name": ["new"], "staff": [6], "sales": [6]})
    found = fitted.transform(query)
    assert found.columns == frame.columns and found["name"].to_list() == ["new"]
    assert found["staff"].to_list() == [4.0] and found["sales"].to_list() == [6]


def test_unreachable_rows_come_back():
    fitted = explainer(2, 1, constraints=fixed(0, 1)).fit(FIRMS)
    with pytest.warns(CounterfactualNotFoundWarning, match="2 infeasible"):
        assert (fitted.transform(FIRMS) == FIRMS).all()


def test_score_is_mean_relative_change():
    fitted = explainer(2, 1, efficiency=0.8, cost=L2).fit(FIRMS)
    third = (0.225 / 1.75 + 0.45 / 1.25) / 3
    fourth = 0.625 / 1.25 / 3
    assert fitted.score(FIRMS) == pytest.approx(1 - (third + fourth) / 2)


def test_grid_search_and_pipeline():
    units = made(1, 12, 2, 1)
    grid = {"cost": [L1, L2], "returns_to_scale": ["crs", "vrs"]}
    search = GridSearchCV(explainer(2, 1, efficiency=0.9), grid, cv=2).fit(units)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    chain = make_pipeline(FunctionTransformer(np.copy), explainer(2, 1, cost=L2))
    expected = explainer(2, 1, cost=L2).fit(units).transform(units)
    assert (chain.fit(units).transform(units) == expected).all()


def test_weights_of_nothing():
    cost = Cost(weights={0: 0.0, 1: 0.0})
    with pytest.raises(ValueError, match="all 0"):
        DEATargetExplainer(inputs=[0], outputs=[1], cost=cost).fit(FIRMS)


def test_carried_columns_do_not_count_in_a_mean():
    wide = np.column_stack([FIRMS, np.arange(4.0)])
    narrow = explainer(2, 1, cost=Cost()).fit(FIRMS).explain(FIRMS)
    explained = explainer(2, 1, cost=Cost()).fit(wide).explain(wide)
    np.testing.assert_allclose(explained.cost, narrow.cost)
    assert (explained.counterfactuals[:, 3] == [2, 3]).all()
