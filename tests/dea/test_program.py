import numpy as np
import pytest

from skcf.dea._technology import Technology
from tests.dea.units import LIMIT, TECHNOLOGIES, efficiency, made


@pytest.mark.parametrize("measure", ["input", "output"])
@pytest.mark.parametrize("kind", TECHNOLOGIES)
@pytest.mark.parametrize("seed", range(6))
def test_facets_and_programs_agree_with_the_textbook(seed, kind, measure):
    rng = np.random.default_rng(seed)
    units = made(seed, 7, 2, 2)
    others = rng.integers(0, 7, (4, 4)) + np.array([0.5, 0, 0, 0])
    technology = Technology(units, 2, kind, 1000)
    assert technology.facets is not None
    for plans in (units, others):
        expected = [efficiency(units, 2, p, kind, measure) for p in plans]
        by_program = technology.programmed(plans, measure)
        np.testing.assert_allclose(by_program, expected, rtol=1e-7, atol=1e-7)
        by_facets = technology.efficiency(plans, measure)
        np.testing.assert_allclose(by_facets, by_program, rtol=1e-9, atol=1e-9)


def test_order_does_not_matter():
    units = made(1, 30, 3, 2)
    technology = Technology(units, 3, "vrs", 0)
    forth = technology.programmed(units, "input")
    back = technology.programmed(units[::-1], "input")[::-1]
    assert (forth == back).all()
    weights = technology.weights(units, "input")
    assert (weights == technology.weights(units[::-1], "input")[::-1]).all()


@pytest.mark.parametrize(
    ("plan", "measure", "expected"),
    [
        ([8.0, 3.0], "input", 0.5),
        ([8.0, 3.0], "output", 1.0),
        # More than the largest output, less than the least input.
        ([8.0, 3.5], "input", np.inf),
        ([0.5, 0.1], "output", np.inf),
        ([0.5, 1.0], "input", 2.0),
        ([8.0, 6.0], "output", 2.0),
        ([8.0, 0.0], "output", 0.0),
    ],
)
def test_beyond_the_technology(plan, measure, expected):
    for most in (0, 100):
        technology = Technology(LIMIT, 1, "vrs", most)
        found = technology.efficiency(np.array([plan]), measure)
        assert found == pytest.approx(expected)


def test_weights_make_the_plan():
    units = made(2, 10, 2, 2)
    technology = Technology(units, 2, "vrs", 100)
    share = technology.programmed(units, "input")
    made_of = technology.weights(units, "input") @ units
    assert (made_of[:, :2] <= share[:, None] * units[:, :2] + 1e-8).all()
    assert (made_of[:, 2:] >= units[:, 2:] - 1e-8).all()
