"""Layers: candidates as changed cells give what whole rows give."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from skcf._model._dense import N_ROWS, Layers

ACT = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0.0),
    "tanh": np.tanh,
    "logistic": expit,
}
LINK = {
    "flat": lambda z: z[:, 0],
    "pair": lambda z: np.column_stack([1 - expit(z), expit(z)]),
    "softmax": lambda z: softmax(z, axis=1),
}


@pytest.mark.parametrize("link", LINK)
@pytest.mark.parametrize("activation", ACT)
@pytest.mark.parametrize("sizes", [(7,), (7, 5), (7, 5, 4)])
def test_candidates_of_layers(sizes, activation, link):
    random = np.random.default_rng(0)
    sizes = *sizes, 3 if link == "softmax" else 1
    shapes = list(zip(sizes[:-1], sizes[1:], strict=True))
    # Weights of a linear model lie column by column.
    weights = tuple(random.normal(size=shape[::-1]).T for shape in shapes)
    biases = tuple(random.normal(size=n_out) for _, n_out in shapes)
    layers = Layers(weights, biases, activation, link, "predict")
    rows, n = random.normal(size=(10, 7)), 2 * N_ROWS + 7
    count = random.integers(0, 4, n)
    ptr = np.concatenate([[0], np.cumsum(count)])
    order = np.argsort(random.random((n, 7)), axis=1)
    col = np.concatenate([line[:k] for line, k in zip(order, count, strict=True)])
    row, val = random.integers(0, 10, n), random.normal(size=len(col))
    session = layers.open(rows)
    scores = session.scores(row, ptr, col, val)
    out = rows[row]
    out[np.repeat(np.arange(n), count), col] = val
    out = out @ weights[0] + biases[0]
    for weight, bias in zip(weights[1:], biases[1:], strict=True):
        out = ACT[activation](out) @ weight + bias
    np.testing.assert_allclose(scores, LINK[link](out), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(session.scores(row, ptr, col, val), scores)
    assert len(session.scores(row[:0], ptr[:1], col[:0], val[:0])) == 0
