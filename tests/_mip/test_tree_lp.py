import highspy
import numpy as np
import pytest

from skcf._mip._adapter import Mip
from skcf._mip._tree_kernels import fix
from skcf._mip._tree_lp import Relaxation
from tests._mip.random_cells import (
    KINDS,
    all_costs,
    all_points,
    make_cells,
    optimum,
    possible,
)


def prepared(seed, **kind):
    cells = make_cells(seed, **kind)
    alive = np.isfinite(cells.cost)
    dear = np.where(alive, cells.cost, 9.0)
    object.__setattr__(cells, "cost", dear)
    object.__setattr__(cells, "peak", np.where(alive, cells.peak, 9.0))
    ordered = np.arange(len(cells.groups)) % 2 == 0
    live = np.ones(len(cells.leaves), dtype=bool)
    return cells, Relaxation(cells, cells.limits, ordered), alive, live


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_any_multipliers_give_a_bound_that_holds(seed, kind):
    cells, relaxation, alive, live = prepared(seed, **kind)
    points = all_points(cells)
    points = points[possible(cells, points) & alive[points].all(axis=1)]
    least = all_costs(cells, points).min() if len(points) else np.inf
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.1, 1.0, 10.0):
        dual = rng.normal(size=relaxation.at[-1]) * scale
        lower, theta, lowest, value = relaxation.lower(dual, alive, live)
        assert lower <= least + 1e-9
        # Fixing by reduced costs keeps every point below the cutoff.
        some, left = alive.copy(), live.copy()
        tree = cells.leaves.tree
        fix(cells.offsets, theta, lower, least, lowest, value, tree, some, left)
        for point in points[all_costs(cells, points) <= least + 1e-9]:
            assert some[point].all() or lower >= least - 1e-9


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(10))
def test_the_relaxation_is_at_most_the_optimum_and_above_trivial_bounds(seed, kind):
    cells, relaxation, alive, live = prepared(seed, **kind)
    least = optimum(cells) if alive.all() else np.inf
    duals = relaxation.solve(alive, live, 1e6)
    bounds = [relaxation.lower(dual, alive, live)[0] for dual in duals]
    assert bounds
    if np.isfinite(least):
        assert max(bounds) <= least + 1e-9
    # The program's own value is the bound of its multipliers.
    if relaxation.share is not None:
        value = relaxation.highs.getInfo().objective_function_value
        value = (value + relaxation.constant) / relaxation.scale
        assert max(bounds) >= value - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_a_fixed_point_has_its_own_cost_as_the_value(seed):
    cells, relaxation, alive, live = prepared(seed)
    points = all_points(cells)
    points = points[possible(cells, points) & alive[points].all(axis=1)]
    for point in points[:3]:
        only = np.zeros(len(alive), dtype=bool)
        only[point] = True
        (dual,) = relaxation.solve(only, live, 1e6)
        lower = relaxation.lower(dual, only, live)[0]
        np.testing.assert_allclose(lower, all_costs(cells, point[None])[0], atol=1e-7)
        np.testing.assert_allclose(relaxation.share[point], 1.0, atol=1e-7)


@pytest.mark.parametrize("threads", [0, 1, 2])
def test_what_solved_before_in_the_process_makes_no_difference(threads):
    # HiGHS solves with the number of threads of the first solve, or not at all.
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", threads)
    other.addVars(1, np.zeros(1), np.ones(1))
    assert other.run() == highspy.HighsStatus.kOk
    _, relaxation, alive, live = prepared(0)
    assert relaxation.solve(alive, live, 1e6)
    mip = Mip()
    x = mip.variable("x", 0, 5, integer=True)
    mip.minimize(-x)
    assert mip.solve().objective == -5
