import numpy as np
import pytest

from skcf._mip._unit_bounds import UnitBounds
from tests._mip.random_nets import random_moves, random_net, sums_at


@pytest.mark.parametrize("seed", range(12))
def test_no_sum_is_outside(seed):
    net, price, rng = random_net(seed)
    moves = random_moves(price, rng, 3000)
    top = float(np.quantile(price.of(moves), 0.3))
    moves = moves[price.of(moves) <= top]
    sums = sums_at(net, moves[:, 0] - moves[:, 1])
    wide = np.full((1, sums.shape[1]), np.inf)
    bounds = UnitBounds(net, price)
    low, high = bounds.tightened(-wide, wide, top)
    assert (sums >= low).all() and (sums <= high).all()
    # The same where a unit is taken to be on, for the points where it is.
    unit = int(np.argmin(np.abs(np.median(sums, axis=0))))
    raised = low.copy()
    raised[0, unit] = max(low[0, unit], 0.0)
    narrow, wide = bounds.tightened(raised, high, top)
    some = sums[sums[:, unit] >= 0]
    assert (some >= narrow).all() and (some <= wide).all()
    assert (narrow >= low).all() and (wide <= high).all()


def test_first_sums_without_ends_are_those_of_a_ball():
    net, price, _ = random_net(0)
    price = type(price)(0.0 * price.line, price.square, np.full(price.cap.shape, 1e6))
    wide = np.full((1, sum(net.sizes)), np.inf)
    low, high = UnitBounds(net, price).tightened(-wide, wide, 0.25)
    up = np.sqrt(
        0.25
        * (
            np.maximum(net.slopes, 0) ** 2 / price.square[0][:, None]
            + np.minimum(net.slopes, 0) ** 2 / price.square[1][:, None]
        ).sum(axis=0)
    )
    np.testing.assert_allclose(high[0, : net.sizes[0]], net.biases[0] + up, rtol=1e-8)
    assert (low <= high).all()
