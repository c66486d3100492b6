import itertools
import pickle
import subprocess
import sys

import numpy as np
import pytest

from skcf._mip._adapter import Mip


def knapsack(weights, gains, least):
    """Return a program that reaches a gain with the least weight, and its choice."""
    mip = Mip()
    take = [mip.binary("take") for _ in weights]
    mip.require(mip.total(zip(take, gains, strict=True)) >= least)
    mip.minimize(mip.total(zip(take, weights, strict=True), 0.5))
    return mip, take


def brute(weights, gains, least):
    return min(
        (
            sum(w for w, t in zip(weights, take, strict=True) if t) + 0.5
            for take in itertools.product((0, 1), repeat=len(weights))
            if sum(g for g, t in zip(gains, take, strict=True) if t) >= least
        ),
        default=np.inf,
    )


@pytest.mark.parametrize("seed", range(8))
def test_binaries_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    weights, gains = rng.random(9) / 10, rng.random(9)
    least = rng.uniform(1, 5)
    mip, take = knapsack(weights, gains, least)
    said = mip.solve()
    truth = brute(weights, gains, least)
    if truth == np.inf:
        assert said.status == "infeasible" and said.bound == np.inf
        return
    assert said.status == "optimal"
    assert said.objective == pytest.approx(truth, abs=1e-9)
    assert said.bound <= said.objective
    assert said.bound == pytest.approx(truth, abs=1e-8)
    chosen = np.array([mip.value(t, said.values) for t in take])
    assert set(np.round(chosen, 6)) <= {0.0, 1.0}
    assert weights @ chosen + 0.5 == pytest.approx(truth, abs=1e-9)


def test_rows_added_after_a_solve_count():
    mip, take = knapsack([1.0, 2.0, 4.0], [1.0, 1.0, 1.0], 1.0)
    assert mip.solve().objective == pytest.approx(1.5)
    mip.require(take[0] + 0.0 <= 0)
    assert mip.solve().objective == pytest.approx(2.5)
    mip.require(take[1] + 0.0 <= 0)
    assert mip.solve().objective == pytest.approx(4.5)
    mip.require(take[2] + 0.0 <= 0)
    assert mip.solve().status == "infeasible"


def test_a_new_objective_between_solves():
    mip = Mip()
    x, y = mip.variable("x", -1, 3), mip.variable("y", -np.inf, np.inf)
    mip.require(x + y >= 1)
    mip.require(y - 2 * x >= -4)
    mip.minimize(y + 0.0)
    said = mip.solve()
    assert said.status == "optimal" and said.objective == pytest.approx(-2 / 3)
    mip.minimize(y - 3 * x)
    said = mip.solve()
    assert said.objective == pytest.approx(-7.0) and said.bound == said.objective


def test_a_cutoff_that_nothing_beats():
    mip, _ = knapsack([0.3, 0.2, 0.4], [1.0, 1.0, 1.0], 2.0)
    assert mip.solve(cutoff=1.2).objective == pytest.approx(1.0)
    said = mip.solve(cutoff=0.9)
    assert said.status == "cutoff" and said.bound == 0.9 and said.values is None


def test_a_start_is_taken_up():
    rng = np.random.default_rng(0)
    mip, take = knapsack(rng.random(30), rng.random(30), 7.0)
    start = mip.point([(t, 1.0) for t in take])
    said = mip.solve(time_limit=0.0, start=start)
    # No time for anything but to look at the point that was given.
    assert said.status in ("limit", "optimal")
    if said.values is not None:
        assert said.objective <= mip.value(mip.problem.objective, start) + 1e-9


def hard():
    """Return a market split problem, which has no quick proof."""
    rng = np.random.default_rng(1)
    mip = Mip()
    take = [mip.binary("take") for _ in range(40)]
    slack = []
    for _ in range(5):
        a = rng.integers(0, 100, 40)
        over, under = mip.variable("over"), mip.variable("under")
        pairs = [*zip(take, a, strict=True), (over, 1), (under, -1)]
        mip.require(mip.total(pairs) == float(a.sum() // 2))
        slack += [over, under]
    mip.minimize(mip.total((s, 1.0) for s in slack))
    return mip


def test_a_time_limit_is_no_optimum():
    said = hard().solve(time_limit=0.3)
    assert said.status == "limit"
    assert said.bound < said.objective


def test_a_callback_hears_and_stops():
    heard = []

    def tell(best, bound):
        heard.append((best, bound))
        return len(heard) < 3

    said = hard().solve(time_limit=20.0, tell=tell)
    assert said.status == "limit" and len(heard) >= 3
    assert all(bound <= best for best, bound in heard)


def test_terms_of_one_variable_add_up():
    mip = Mip()
    x = mip.variable("x", 0, 10)
    total = mip.total([(x, 1.0), (x + 2, 2.0), (x, -0.5)], 1.0)
    assert mip.value(total, [2.0]) == pytest.approx(10.0)
    mip.require(total >= 10.0)
    mip.minimize(mip.total([(x, 1.0)]))
    assert mip.solve().objective == pytest.approx(2.0)


def test_rows_without_variables():
    mip = Mip()
    x = mip.variable("x", 0, 1)
    mip.minimize(mip.total([(x, 1.0)]))
    mip.require(mip.total([(x, 0.0)], 1.0) >= 0.0)
    assert mip.solve().status == "optimal"
    mip.require(mip.total([], 1.0) <= 0.0)
    assert mip.solve().status == "infeasible"


def test_unbounded_is_said():
    mip = Mip()
    x = mip.variable("x", -np.inf, np.inf)
    mip.minimize(mip.total([(x, 1.0)]))
    assert mip.solve().status == "unbounded"


def test_another_solver_by_name():
    mip, _ = knapsack([0.3, 0.2, 0.4], [1.0, 1.0, 1.0], 2.0)
    said = mip.solve(solver="HiGHS")
    assert said.status == "optimal" and said.objective == pytest.approx(1.0)
    assert np.isnan(said.bound)
    mip, _ = knapsack([0.3, 0.2, 0.4], [1.0, 1.0, 1.0], 4.0)
    assert mip.solve(solver="HiGHS").status == "infeasible"
    with pytest.raises(ValueError, match="nonesuch"):
        mip.solve(solver="nonesuch")


def test_nothing_is_printed():
    code = (
        "from skcf._mip._adapter import Mip\n"
        "m = Mip()\nx = m.binary('x')\nm.require(x + 0.0 >= 0.5)\n"
        "m.minimize(m.total([(x, 1.0)]))\nassert m.solve().objective == 1.0"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_solved_program_does_not_travel():
    mip, _ = knapsack([1.0], [1.0], 1.0)
    mip.solve()
    with pytest.raises(TypeError):
        pickle.dumps(mip)


def test_variables_added_after_a_solve():
    mip = Mip()
    x = mip.variable("x", 0, 10)
    mip.require(x + 0.0 >= 2)
    mip.minimize(mip.total([(x, 1.0)]))
    assert mip.solve().objective == pytest.approx(2.0)
    y = mip.binary("y")
    mip.require(x - 5 * y >= 0)
    mip.require(y + 0.0 >= 0.1)
    said = mip.solve()
    assert said.objective == pytest.approx(5.0)
    assert mip.solve(relax=True).objective == pytest.approx(2.0)
    assert mip.solve().objective == pytest.approx(5.0)


def test_pins_hold_for_one_solve():
    mip, take = knapsack([0.3, 0.2, 0.4], [1.0, 1.0, 1.0], 2.0)
    assert mip.solve(pins=[(take[1], 0.0)]).objective == pytest.approx(1.2)
    assert mip.solve().objective == pytest.approx(1.0)
    fixed = mip.point([(take[0], 1.0), (take[2], 1.0)])
    assert mip.solve(fixed=fixed).objective == pytest.approx(1.2)
    assert mip.solve(fixed=mip.point([])).status == "infeasible"
    assert mip.solve().objective == pytest.approx(1.0)
