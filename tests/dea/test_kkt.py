import numpy as np
import pytest

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from tests.dea.units import LIMIT, TECHNOLOGIES, efficiency


@pytest.mark.parametrize(
    ("seed", "shape", "row", "cost"),
    [
        # Presolved with tight tolerances, this program loses its optimum.
        (1, (5, 2, 2), 2, Cost(l1=0.0, l2=0.5)),
        # With the tightest ones, HiGHS ends with an error, or calls it impossible.
        (106, (6, 3, 1), 0, Cost(l1=0.2, l2=0.5, linf=0.3)),
    ],
)
def test_no_solution_is_lost(seed, shape, row, cost):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(3, 9), rng.integers(1, 4), rng.integers(1, 3)
    assert drawn == shape
    n, n_inputs, n_outputs = shape
    units = np.hstack(
        [rng.uniform(0.2, 1, (n, n_inputs)), rng.uniform(0.2, 1, (n, n_outputs))]
    )
    columns = list(range(n_inputs + n_outputs))
    params = {"inputs": columns[:n_inputs], "outputs": columns[n_inputs:]}
    params |= {"change": "outputs", "measure": "output", "efficiency": 0.9}
    exact = DEATargetExplainer(**params, cost=cost).fit(units)
    expected = exact.explain(units[[row]]).cost
    program = DEATargetExplainer(**params, cost=cost, max_facets=0).fit(units)
    assert program.explain(units[[row]]).cost == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", TECHNOLOGIES)
def test_limits_of_the_outputs_hold(kind):
    explainer = DEATargetExplainer(
        inputs=[0],
        outputs=[1],
        change="outputs",
        returns_to_scale=kind,
        max_facets=0,
    ).fit(LIMIT)
    explained = explainer.explain([[8.0, 2.0]])
    reachable = kind in ("crs", "irs")
    assert explained.status.tolist() == ["found" if reachable else "not_found"]
    for plan in explained.counterfactuals:
        assert efficiency(LIMIT, 1, plan, kind) == pytest.approx(1.0, abs=1e-7)
    # Only with constant returns is the program sure to have seen every facet.
    assert explained.optimal.tolist() == [kind == "crs"] * reachable


def test_proved_to_be_impossible():
    explainer = DEATargetExplainer(
        inputs=[0], outputs=[1], constraints="cf[0] >= x[0]", max_facets=0
    ).fit(LIMIT)
    explained = explainer.explain(LIMIT[1:])
    assert explained.status.tolist() == ["infeasible", "infeasible"]
