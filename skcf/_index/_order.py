"""In which order points join a graph."""

import numpy as np

N_ROUNDS = 7
LEAF = 100


def joining_order(points, seed=0):
    """Return an order in which points that stand together are near one another.

    Points join in rounds that double in size, drawn at random, as insertions of
    computational geometry do [1]_: the few of the first rounds span all points. Within
    a round they follow leaf by leaf of a tree that halves them by random directions:
    what one of them is compared with is still in the processor's cache from the one
    before, so that a large graph is built many times as fast as in a random order.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
    seed : int, default=0

    Returns
    -------
    order : ndarray of shape (n_points,)

    References
    ----------
    .. [1] Amenta, N., Choi, S., Rote, G. (2003). Incremental constructions con BRIO.
       Symposium on Computational Geometry, 211-219. doi:10.1145/777792.777824
    """
    rng = np.random.default_rng(seed)
    n = len(points)
    order, node = np.arange(n), np.zeros(n, dtype=np.intp)
    while n > LEAF * (int(node.max(initial=0)) + 1):
        direction = rng.normal(size=points.shape[1]).astype(points.dtype)
        # The last digits of a product may hang on the machine.
        place = np.round(points[order] @ direction, 3)
        within = np.lexsort((order, place, node))
        order, node = order[within], node[within]
        size = np.bincount(node)
        rank = np.arange(n) - (np.cumsum(size) - size)[node]
        node = 2 * node + (rank >= size[node] // 2)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    # A half of all joins in the last round, a quarter in the one before, and so on.
    back = np.floor(-np.log2((1 + rng.permutation(n)) / max(n, 1)))
    return np.lexsort((place, -np.minimum(back, N_ROUNDS - 1)))
