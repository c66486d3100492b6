import numpy as np
import pytest

from tests._mip.random_nets import random_moves, random_net


@pytest.mark.parametrize("seed", range(4))
def test_tangents_are_finite_differences(seed):
    net, price, rng = random_net(seed)
    for moves in random_moves(price, rng, 5):
        steps = moves[0] - moves[1]
        for row in range(len(net.least)):
            slope = net.tangent(steps, row)
            tiny = 1e-7 * np.eye(len(steps))
            seen = [
                (net.shortage(steps - t) - net.shortage(steps + t))[row] / 2e-7
                for t in tiny
            ]
            np.testing.assert_allclose(slope, seen, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_moves_are_cheaper_for_what_they_gain(seed):
    _, price, rng = random_net(seed)
    gain = rng.normal(size=price.cap.shape)
    least = price.cheapest(gain)
    assert (least >= 0).all() and (least <= price.cap).all()
    others = rng.uniform(size=(500, *price.cap.shape)) * price.cap
    values = price.of(others) - (gain * others).sum(axis=(1, 2))
    assert price.of(least) - (gain * least).sum() <= values.min() + 1e-12
