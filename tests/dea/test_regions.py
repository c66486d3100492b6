import numpy as np
import pytest

from skcf.constraints import fixed, one_hot, one_of, ordered, rule, together, within
from skcf.constraints._rule_set import RuleSet
from skcf.dea import DEATargetExplainer
from skcf.dea._plans import PlanSpace
from skcf.dea._regions import regions_of
from skcf.exceptions import InfeasibleConstraintError, UnsupportedConstraintError
from tests.dea.units import FIRMS

RULES = [
    "cf[0] <= x[0] and cf[1] >= 0.5",
    "cf[0] <= 1 or cf[1] <= 1",
    "not (cf[0] <= 1 or cf[1] <= 1)",
    "changed(0) => cf[1] <= x[1]",
    "cf[0] >= 1 => cf[1] >= 1 and cf[0] <= 1.5",
    "cf[0] in {0.5, 1.5} or not changed(1)",
    "cf[0] not in {0.5, 1.5}",
    "cf[0] not in [0.5, 1.5]",
    "2 * cf[0] + cf[1] <= 3",
    "cf[0] + 0.1 <= 0.3 + x[1]",
    "cf[0] != 1 and cf[1] != x[1]",
    "cf[0] < 1 and 3 * cf[1] > 1",
    "not (cf[0] != 1.5 or cf[1] == 1)",
    "cf[0] + cf[1] != 2",
    "x[0] >= 1 => cf[0] >= 1",
    "cf[2] >= 1 or cf[0] == 0.5",
    "cf[2] > 1 or cf[0] == 0.5",
]


@pytest.mark.parametrize("text", RULES)
def test_regions_are_where_rules_hold(text):
    space = PlanSpace(FIRMS, [0, 1], [2])
    rules = RuleSet([rule(text)], space)
    free = np.array([True, True, False])
    ends = [0.0, 0.2, 0.5, 0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5]
    grid = np.array([[a, b, 1.0] for a in ends for b in ends])
    for x in FIRMS:
        inside = np.zeros(len(grid), dtype=bool)
        for region in regions_of(rules, x, free):
            here = (grid >= region.low).all(axis=1) & (grid <= region.high).all(axis=1)
            # Rows are kept clear of their bounds by a hair; here the bounds count.
            here &= (grid @ region.rows.T <= region.at_most + 1e-8).all(axis=1)
            here &= (np.abs(grid @ region.equal.T - region.value) < 1e-12).all(axis=1)
            inside |= here
        held = rules.holds(np.tile(x, (len(grid), 1)), grid)
        if text == "cf[0] + cf[1] != 2":
            held |= grid[:, 0] + grid[:, 1] == 2
        assert (inside == held).all()


@pytest.mark.parametrize(
    "given",
    [
        together(0, 1),
        ordered(0, [0.5, 1.5, 1.75, 2.5]),
        one_of(0, np.arange(300.0)),
        one_hot(2, 3),
    ],
)
def test_refused_rules(given):
    units = np.column_stack([FIRMS, np.zeros(4)])
    explainer = DEATargetExplainer(inputs=[0, 1], outputs=[2, 3], constraints=given)
    with pytest.raises(UnsupportedConstraintError) as caught:
        explainer.fit(units)
    assert str(given) in str(caught.value)


def test_refused_in_a_call():
    explainer = DEATargetExplainer(inputs=[0, 1], outputs=[2]).fit(FIRMS)
    with pytest.raises(UnsupportedConstraintError, match="together"):
        explainer.explain(FIRMS, constraints=together(0, 1))


def test_contradictions():
    rules = [within(0, low=2), within(0, high=1)]
    with pytest.raises(InfeasibleConstraintError):
        DEATargetExplainer(inputs=[0, 1], outputs=[2], constraints=rules).fit(FIRMS)


def test_carried_columns_can_be_fixed_alone():
    units = np.column_stack([FIRMS, np.arange(4.0)])
    made = DEATargetExplainer(inputs=[0, 1], outputs=[2], constraints=fixed(3))
    assert (made.fit(units).explain(units).status != "infeasible").all()
    with pytest.raises(ValueError, match="only carried along"):
        made.set_params(constraints="cf[3] <= 2").fit(units)
