"""In which order points join a graph."""

import numpy as np

SHARE = 0.1
LEAF = 100


def joining_order(points, seed=0):
    """Return an order in which points that stand together are near one another.

    The graph of the first tenth, drawn at random, spans all points. The others follow
    leaf by leaf of a tree that halves them by random directions: what one of them is
    compared with is still in the processor's cache from the one before, so that a large
    graph is built many times as fast as in a random order.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
    seed : int, default=0

    Returns
    -------
    order : ndarray of shape (n_points,)
    """
    rng = np.random.default_rng(seed)
    first, rest = np.split(rng.permutation(len(points)), [int(SHARE * len(points))])
    node = np.zeros(len(rest), dtype=np.intp)
    while len(rest) > LEAF * (int(node.max(initial=0)) + 1):
        direction = rng.normal(size=points.shape[1]).astype(points.dtype)
        # The last digits of a product may hang on the machine.
        place = np.round(points[rest] @ direction, 3)
        order = np.lexsort((rest, place, node))
        rest, node = rest[order], node[order]
        size = np.bincount(node)
        rank = np.arange(len(rest)) - (np.cumsum(size) - size)[node]
        node = 2 * node + (rank >= size[node] // 2)
    return np.concatenate([first, rest])
