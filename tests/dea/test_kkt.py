import numpy as np
import pytest

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from tests.dea.units import LIMIT, TECHNOLOGIES, efficiency


def test_no_solution_is_lost():
    # Presolved with tight tolerances, the program of the third unit loses its optimum.
    rng = np.random.default_rng(1)
    rng.integers(3, 9), rng.integers(1, 4), rng.integers(1, 3)
    units = np.hstack([rng.uniform(0.2, 1, (5, 2)), rng.uniform(0.2, 1, (5, 2))])
    params = {"inputs": [0, 1], "outputs": [2, 3], "change": "outputs"}
    params |= {"measure": "output", "cost": Cost(l1=0.0, l2=0.5), "efficiency": 0.9}
    exact = DEATargetExplainer(**params).fit(units).explain(units[2:3])
    program = DEATargetExplainer(**params, max_facets=0).fit(units)
    assert program.explain(units[2:3]).cost == pytest.approx(exact.cost, rel=1e-5)


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
