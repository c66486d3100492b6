import numpy as np
import pytest

from skcf._mip._interior import Relaxation
from skcf._mip._unit_bounds import UnitBounds
from skcf._mip._water import fill
from tests._mip.random_nets import random_moves, random_net, sums_at


def bounded(seed):
    """Return (relaxation, low, high, costs of points that reach the target, rng)."""
    net, price, rng = random_net(seed)
    moves = random_moves(price, rng, 4000)
    steps = moves[:, 0] - moves[:, 1]
    short = np.array([net.shortage(one) for one in steps]).max(axis=1)
    wide = np.full((1, sum(net.sizes)), np.inf)
    top = float(price.of(price.cap)) + 1.0
    low, high = UnitBounds(net, price).tightened(-wide, wide, top)
    sums = sums_at(net, steps)
    return Relaxation(net, price), low, high, price.of(moves), short <= 0, sums, rng


@pytest.mark.parametrize("seed", range(12))
def test_any_multipliers_prove_a_bound(seed):
    relaxation, low, high, costs, reached, sums, rng = bounded(seed)
    least = costs[reached].min(initial=np.inf)
    y = rng.normal(size=(300, len(relaxation.right))) * rng.exponential(size=(300, 1))
    wide = (
        np.broadcast_to(low, (300, low.shape[1])),
        np.broadcast_to(high, (300, low.shape[1])),
    )
    assert relaxation.bound(y, *wide).max() <= least + 1e-12
    # And for points at which some units are on or off, where that is said.
    on = sums[int(np.argmin(np.where(reached, costs, np.inf)))] >= 0
    fixed = (
        np.where(on, np.maximum(low, 0), low),
        np.where(on, high, np.minimum(high, 0)),
    )
    same = reached & ((sums >= 0) == on).all(axis=1)
    fixed = tuple(np.broadcast_to(end, wide[0].shape) for end in fixed)
    assert relaxation.bound(y, *fixed).max() <= costs[same].min(initial=np.inf) + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_solved_to_the_end(seed):
    relaxation, low, high, costs, reached, _, _ = bounded(seed)
    said = relaxation.solve(low, high, 1e3, np.ones(1, dtype=bool))
    assert said.bound[0] <= costs[reached].min(initial=np.inf) + 1e-9
    if said.bound[0] >= 1e3:
        assert not reached.any()
        return
    price = relaxation.price
    moves = np.stack([np.maximum(said.steps, 0), np.maximum(-said.steps, 0)], axis=1)
    assert price.of(moves)[0] == pytest.approx(said.bound[0], abs=1e-6)


def test_settled_units_are_one_linear_row():
    for seed in range(0, 12, 2):
        net, price, _ = random_net(seed)
        m = sum(net.sizes)
        ones, slope = np.full((1, m), 1e3), net.slopes
        for w in net.weights[:-1]:
            slope = slope @ w
        slope = slope @ net.weights[-1] @ net.factors[0]
        constant = net.biases[0]
        for w, b in zip(net.weights, net.biases[1:], strict=True):
            constant = constant @ w + b
        # With all units on, sums may be anything above zero: lift them out of the way.
        lifted = [net.biases[0] + 100.0, *net.biases[1:]]
        for k, w in enumerate(net.weights[:-1]):
            lifted[k + 1] = lifted[k + 1] + 100.0 - (100.0 * w).sum(axis=0)
        lifted[-1] = lifted[-1] - (100.0 * net.weights[-1]).sum(axis=0)
        need = float(0.3 * np.abs(slope) @ price.cap.min(axis=0))
        made = type(net)(
            net.slopes,
            net.weights,
            lifted,
            net.factors[:1],
            np.array([net.factors[0] @ constant + need]),
        )
        said = Relaxation(made, price).solve(
            0 * ones, ones, 1e3, np.ones(1, dtype=bool)
        )
        way = np.where(slope > 0, 0, 1)[None]
        line, square, cap = (
            np.take_along_axis(part, way, 0)[0]
            for part in (price.line, price.square, price.cap)
        )
        done = fill(np.abs(slope), line, square, cap, need)
        cost = float(line @ done + square @ done**2)
        assert said.bound[0] == pytest.approx(cost, rel=1e-6, abs=1e-7)
