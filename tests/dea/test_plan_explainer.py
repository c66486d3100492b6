import numpy as np
import pytest

from skcf.constraints import (
    change_within,
    decreasing,
    fixed,
    increasing,
    max_changes,
    only,
    within,
)
from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from tests.dea.units import FIRMS, made

MEAN = {"scale": "mean", "average": False}
L2 = Cost(l1=0.0, l2=1.0, scale="none", average=False)


def explainer(n_inputs, n_outputs, **params):
    inputs = list(range(n_inputs))
    outputs = list(range(n_inputs, n_inputs + n_outputs))
    return DEATargetExplainer(inputs=inputs, outputs=outputs, **params)


def bounded(units, rules, **params):
    fitted = explainer(2, 1, efficiency=0.8, cost=L2, constraints=rules, **params)
    return fitted.fit(units).explain(FIRMS[2:3])


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([fixed(1)], [0.625, 1.25]),
        ([fixed(0)], [1.75, 0.6875]),
        ([only(0)], [0.625, 1.25]),
        # On the line x1 + 2 x2 = 3.125 of the wanted efficiency.
        ([within(1, low=0.9)], [1.325, 0.9]),
        ([change_within(0, low=-0.1, relative=True)], [1.575, 0.775]),
        ([change_within(1, low=-0.2)], [1.025, 1.05]),
        ([increasing(0)], [1.75, 0.6875]),
        ([decreasing(0, 1)], [1.525, 0.8]),
        (["changed(0) => cf[0] <= 1"], [1.75, 0.6875]),
        (["cf[0] in {1, 1.2, 1.7}"], [1.7, 0.7125]),
        (["cf[0] >= 2 * cf[1]"], [1.5625, 0.78125]),
        (["cf[0] == 2 * cf[1]"], [1.5625, 0.78125]),
        (["cf[0] <= cf[1] or cf[1] <= 0.7"], [1.725, 0.7]),
        (["not cf[0] in [1, 1.74]"], [1.74, 0.6925]),
        ([max_changes(1)], [1.75, 0.6875]),
    ],
)
def test_rules(rules, expected):
    explained = bounded(FIRMS, rules)
    np.testing.assert_allclose(explained.counterfactuals, [[*expected, 1.0]], atol=1e-6)
    assert explained.optimal.all()
    # Where the rule forces no more than is needed, the efficiency is the wanted one.
    assert explained.prediction == pytest.approx(0.8, abs=1e-7)


@pytest.mark.parametrize(
    "rules", [["cf[0] >= 1.2 and cf[1] >= 1"], [max_changes(0)], [only()]]
)
def test_rules_that_leave_nothing(rules):
    explained = bounded(FIRMS, rules)
    assert explained.status.tolist() == ["infeasible"]
    assert explained.lower_bound.tolist() == [np.inf]
    assert explained.details.blocking_rules.tolist() == [str(*map(str, rules))]


def test_the_rule_in_the_way():
    # Without the second, (1.525, .8); without the third, the dearer (1.75, .6875).
    rules = [within(1, low=0.5), fixed(0), within(1, low=0.7)]
    explained = bounded(FIRMS, rules)
    assert explained.details.blocking_rules.tolist() == [str(rules[1])]


def test_rules_of_one_call():
    fitted = explainer(2, 1, efficiency=0.8, cost=L2, constraints="cf[1] >= 0.7")
    explained = fitted.fit(FIRMS).explain(FIRMS[2:3], constraints=fixed(1))
    np.testing.assert_allclose(explained.counterfactuals, [[0.625, 1.25, 1.0]])


@pytest.mark.parametrize("seed", range(3))
def test_coupled_outputs_against_the_program(seed):
    units = made(seed + 1, 7, 2, 2)
    given = {
        "returns_to_scale": "vrs",
        "change": "outputs",
        "efficiency": 0.9,
        "cost": [Cost(l1=1.0, **MEAN), Cost(l1=0.0, l2=1.0, **MEAN)][seed % 2],
        "constraints": ["cf[2] + cf[3] <= 1.2 * x[2] + 1.2 * x[3]"],
    }
    fitted = explainer(2, 2, **given).fit(units)
    explained = fitted.explain(units[:5])
    other = fitted.set_params(max_facets=0).fit(units).explain(units[:5])
    assert other.row.tolist() == explained.row.tolist()
    np.testing.assert_allclose(explained.cost, other.cost, rtol=3e-6, atol=1e-7)
