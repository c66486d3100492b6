"""Random networks over a few numbers, with prices of moving them."""

import numpy as np

from skcf._mip._net import Net, Price


def random_net(seed):
    """Return (net, price, rng)."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(2, 5)), *rng.integers(2, 5, 1 + seed % 2), 1 + seed % 3]
    n = int(rng.integers(2, 5))
    weights = [
        rng.normal(size=pair) for pair in zip(sizes[:-1], sizes[1:], strict=True)
    ]
    biases = [0.5 * rng.normal(size=size) for size in sizes]
    factors = rng.normal(size=(1 + seed % 2, sizes[-1]))
    slopes = rng.normal(size=(n, sizes[0]))
    net = Net(slopes, weights, biases, factors, 0.3 * rng.normal(size=len(factors)))
    line = rng.uniform(0, 0.5, (2, n)) * rng.integers(0, 2)
    cap = rng.uniform(0.3, 1, (2, n)) * (rng.uniform(size=(2, n)) < 0.9)
    return net, Price(line, rng.uniform(0.5, 2, (2, n)), cap), rng


def random_moves(price, rng, n):
    """Return moves of shape (n, 2, n_numbers), up or down."""
    share = rng.uniform(size=(n, *price.cap.shape)) ** 2
    up = rng.uniform(size=(n, 1, price.cap.shape[1])) < 0.5
    return share * price.cap * np.concatenate([up, ~up], axis=1)


def sums_at(net, steps):
    """Return the sums of all units at steps of shape (n, n_numbers)."""
    sums = [steps @ net.slopes + net.biases[0]]
    for w, b in zip(net.weights[:-1], net.biases[1:-1], strict=True):
        sums.append(np.maximum(sums[-1], 0.0) @ w + b)
    return np.hstack(sums)
