import numpy as np
import pytest
from scipy.optimize import minimize

from skcf.dea._coupled import coupled_step, lazily
from skcf.dea._project import Prices, Task, cheapest_steps


def random_prices(rng, n, most):
    one = rng.integers(0, 3)
    slope = rng.uniform(0.1, 1, (2, n)) * (one != 0)
    curve = rng.uniform(0.1, 1, (2, n)) * (one != 1)
    return Prices(slope, curve, rng.uniform(0.2, 1, (2, n)), np.zeros(n), most)


def random_box(rng, n):
    low, high = -rng.uniform(0.2, 3, n), rng.uniform(0.2, 3, n)
    high[rng.random(n) < 0.3] = np.inf
    forced = rng.random(n) < 0.2
    low[forced] = np.minimum(0.1, high[forced])
    return low, high


@pytest.mark.parametrize("most", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(20))
def test_knapsack_and_program_agree(seed, most):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 5)
    a, need = rng.normal(size=(5, n)), rng.uniform(0, 2, 5)
    a[rng.random(a.shape) < 0.2] = 0.0
    low, high = random_box(rng, n)
    prices = random_prices(rng, n, most)
    task = Task.of(a, need, low, high, prices)
    possible = np.flatnonzero(task.possible)
    everything = np.ones(n, dtype=bool)
    steps = cheapest_steps(task.take(possible, everything), prices)
    cost = prices.of_steps(steps)
    start = prices.of_steps(task.start[None])[0] if task.start.any() else 0.0
    bound = task.lower_bound(everything)[possible]
    if not most:
        assert (bound + start <= cost + 1e-8).all()
    for k, step, c in zip(possible, steps, cost, strict=True):
        assert a[k] @ step >= need[k] - 1e-9
        assert (step >= low - 1e-12).all() and (step <= high + 1e-12).all()
        other = coupled_step(-a[[k]], -need[[k]], low, high, prices)
        assert prices.of_steps(other) == pytest.approx(c, rel=1e-6, abs=1e-7)
    for k in set(range(5)) - set(possible):
        assert coupled_step(-a[[k]], -need[[k]], low, high, prices) is None


@pytest.mark.parametrize("most", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_rows_against_a_general_solver(seed, most):
    rng = np.random.default_rng(seed)
    n = 3
    rows = rng.normal(size=(3, n))
    at_most = np.array([-0.5, *rng.uniform(0.1, 1, 2)])
    low, high = np.full(n, -2.0), np.full(n, np.inf)
    prices = random_prices(rng, n, most)
    step = coupled_step(rows, at_most, low, high, prices)

    def cost(z):
        down, up = z[:n], z[n:-1]
        total = prices.slope[0] @ down + prices.slope[1] @ up
        return (
            total + prices.curve[0] @ down**2 + prices.curve[1] @ up**2 + most * z[-1]
        )

    def rest(z):
        s = z[n:-1] - z[:n]
        reach = z[-1] - np.r_[prices.reach[0] * z[:n], prices.reach[1] * z[n:-1]]
        return np.r_[at_most - rows @ s, s - low, reach]

    best = np.inf
    for _ in range(3):
        found = minimize(
            cost,
            rng.uniform(0, 1, 2 * n + 1),
            bounds=[(0, None)] * (2 * n + 1),
            constraints={"type": "ineq", "fun": rest},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        if found.success:
            best = min(best, found.fun)
    if step is None:
        assert best == np.inf
        return
    assert (rows @ step <= at_most + 1e-8).all() and (step >= low - 1e-12).all()
    assert prices.of_steps(step) == pytest.approx(best, rel=1e-5, abs=1e-6)


def test_water_filling():
    # Two columns at square prices 1 and 2, three units of gain: 2 and 1.
    prices = Prices(
        np.zeros((2, 2)), np.array([[1.0, 2.0]] * 2), np.ones((2, 2)), np.zeros(2), 0.0
    )
    task = Task.of(
        np.ones((1, 2)), np.array([3.0]), np.full(2, -9.0), np.full(2, 9.0), prices
    )
    np.testing.assert_allclose(cheapest_steps(task, prices), [[2.0, 1.0]])


def test_cheapest_gain_first():
    prices = Prices(
        np.array([[1.0, 3.0]] * 2), np.zeros((2, 2)), np.ones((2, 2)), np.zeros(2), 0.0
    )
    task = Task.of(
        np.array([[1.0, 2.0]]), np.array([3.0]), np.full(2, -9.0), np.array([2.0, 9.0]),
        prices,
    )  # fmt: skip
    np.testing.assert_allclose(cheapest_steps(task, prices), [[2.0, 0.5]])


def test_price_of_the_longest_step():
    # Alone, the price of the longest step makes all as long as one another.
    prices = Prices(
        np.zeros((2, 2)), np.zeros((2, 2)), np.array([[1.0, 2.0]] * 2), np.zeros(2), 1.0
    )
    task = Task.of(
        np.ones((1, 2)), np.array([3.0]), np.full(2, -9.0), np.full(2, 9.0), prices
    )
    steps = cheapest_steps(task, prices)
    np.testing.assert_allclose(steps, [[2.0, 1.0]], atol=1e-9)
    assert prices.of_steps(steps) == pytest.approx(2.0)


def test_only_rows_that_matter_are_used():
    seen = []

    def solve(rows, at_most):
        seen.append(len(rows))
        return np.array([at_most.min(initial=2.0)])

    rows, at_most = np.ones((50, 1)), np.linspace(1, 5, 50)
    assert lazily(solve, rows, at_most) == [1.0]
    assert seen == [0, 1]
