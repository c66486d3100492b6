"""Nearest training series, exactly, with lower bounds of dynamic time warping."""

import numpy as np

LOT = 32


class SeriesIndex:
    """Training series by their distance to a query, under the metric of a cost."""

    def __init__(self, cost, train):
        self.cost, self.train = cost, train

    def nearest(self, x, pool, k):
        """Return the positions of the `k` series of `pool` nearest to codes `x`.

        Ties go to the series that comes first.
        """
        rows = self.train[pool]
        k = min(k, len(pool))
        if self.cost.metric == "dtw":
            return pool[self._warped(x, rows, k)]
        square = self.cost.squares(np.broadcast_to(x, rows.shape), rows)
        return pool[np.argsort(square, kind="stable")[:k]]

    def _warped(self, x, rows, k):
        """Compute distances in the order of their bounds, until no more can be less."""
        bound = keogh_bounds(self.cost, x, rows)
        order = np.argsort(bound, kind="stable")
        square = np.full(len(rows), np.inf)
        done = 0
        while done < len(rows):
            if done >= k and bound[order[done]] > np.partition(square, k - 1)[k - 1]:
                break
            at = order[done : done + LOT]
            square[at] = self.cost.squares(np.broadcast_to(x, rows[at].shape), rows[at])
            done += LOT
        return np.argsort(square, kind="stable")[:k]


def keogh_bounds(cost, x, rows):
    """Return lower bounds of the squared DTW distances of codes `x` to each row.

    A cell of the other series is matched with a cell within the window at least, so
    that it pays for lying outside of what these span.
    """
    import tslearn.metrics

    series, others = cost.series(x[None])[0], cost.series(rows)
    radius = len(series) if cost.window is None else cost.window
    low, high = tslearn.metrics.lb_envelope(series, radius=radius)
    low, high = np.asarray(low), np.asarray(high)
    outside = np.maximum(low - others, 0.0) + np.maximum(others - high, 0.0)
    return (outside**2).sum(axis=(1, 2)) * (1 - 1e-12)
