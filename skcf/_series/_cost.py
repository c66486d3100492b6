"""What a change of a series takes: changed channels and a distance."""

import numpy as np

BLOCK = 64


class SeriesCost:
    """The cost of a change: ``lambda_0 * channels changed + lambda_2 * distance ** 2``.

    Parameters
    ----------
    space : SeriesSpace
    metric : {"euclidean", "dtw"}
    window : int or None
        How many steps of time DTW may warp at most.
    lambda_0, lambda_2 : float
    up, down : None, float or array-like
        Prices of squared increase and decrease at each time, (n_times,) or
        (n_times, n_channels).
    part : ndarray of shape (n_features,), default=None
        The part of a series that each cell belongs to, if what changes is counted by
        other parts than channels.
    """

    def __init__(
        self, space, metric="euclidean", window=None, lambda_0=0.0, lambda_2=1.0,
        up=None, down=None, part=None,
    ):  # fmt: skip
        self.space, self.metric, self.window = space, metric, window
        self.lambda_0, self.lambda_2 = float(lambda_0), float(lambda_2)
        self.part = space.channel if part is None else part
        self.n_parts = int(self.part.max()) + 1
        if metric == "dtw":
            _tslearn()
            if up is not None or down is not None:
                raise ValueError(
                    "up and down are prices of a change at a time; under "
                    "metric='dtw', which compares different times, they have no "
                    "meaning: leave them None."
                )
        elif window is not None:
            raise ValueError(
                f"window={window!r} limits the warping of metric='dtw'; with "
                f"metric={metric!r} leave it None."
            )
        self.up = self._prices(up, "up")
        self.down = self._prices(down, "down")
        self.uneven = bool((self.up != self.down).any())
        # Where each (time, channel) lies in a row of codes.
        order = np.lexsort((space.channel, space.time))
        self._grid = order.reshape(space.n_times, space.n_channels)

    def _prices(self, given, name):
        space = self.space
        if given is None:
            return np.ones(space.n_features)
        prices = np.asarray(given, dtype=np.float64)
        if not (np.isfinite(prices).all() and (prices > 0).all()):
            raise ValueError(f"{name} must hold positive prices, got {given!r}.")
        shape = (space.n_times, space.n_channels)
        if prices.ndim == 1:
            prices = prices[:, None]
        try:
            return np.broadcast_to(prices, shape)[space.time, space.channel].copy()
        except ValueError:
            raise ValueError(
                f"{name} must be a number, or have shape ({shape[0]},) or {shape}; got "
                f"shape {np.shape(given)}."
            ) from None

    def n_changed(self, x, cf):
        """Return how many parts differ, row by row."""
        changed = np.zeros((len(x), self.n_parts), dtype=bool)
        row, cell = np.nonzero(x != cf)
        changed[row, self.part[cell]] = True
        return changed.sum(axis=1)

    def rows(self, x, cf):
        """Return the cost of each change from a row of `x` to the row of `cf`."""
        return self.lambda_0 * self.n_changed(x, cf) + self.lambda_2 * self.squares(
            x, cf
        )

    def squares(self, x, cf):
        """Return the squared distance of each row of `x` to the row of `cf`."""
        if self.metric == "dtw":
            dtw = _tslearn().dtw
            pairs = zip(self.series(x), self.series(cf), strict=True)
            out = [dtw(a, b, **self._constraint) ** 2 for a, b in pairs]
            return np.array(out, dtype=np.float64)
        d = cf - x
        return (np.where(d > 0, self.up, self.down) * d * d).sum(axis=1)

    def series(self, codes):
        """Return codes as series of shape (n, n_times, n_channels)."""
        return np.ascontiguousarray(codes[:, self._grid])

    def path(self, x, cf):
        """Return the warping path between two rows of codes, pairs of times."""
        if self.metric != "dtw":
            at = np.arange(self.space.n_times)
            return np.column_stack([at, at])
        a, b = self.series(np.stack([x, cf]))
        return np.array(_tslearn().dtw_path(a, b, **self._constraint)[0])

    def quadratic(self, x, path=None):
        """Return (up, down, mid, const): the squared distance to `x` along a path.

        Along a warping path, the cell of the counterfactual at one time meets those of
        `x` at several: the sum of squares is that to their mean, and a constant.
        """
        if path is None:
            return self.up, self.down, x, 0.0
        n = np.bincount(path[:, 1], minlength=self.space.n_times)
        grid = x[self._grid]
        sums, squares = np.zeros_like(grid), np.zeros_like(grid)
        np.add.at(sums, path[:, 1], grid[path[:, 0]])
        np.add.at(squares, path[:, 1], grid[path[:, 0]] ** 2)
        mid = np.empty_like(x)
        mid[self._grid] = sums / n[:, None]
        const = max(0.0, float((squares - sums**2 / n[:, None]).sum()))
        weight = n[self.space.time].astype(np.float64)
        return weight, weight, mid, const

    @property
    def _constraint(self):
        if self.window is None:
            return {}
        return {
            "global_constraint": "sakoe_chiba",
            "sakoe_chiba_radius": self.window,
        }


def _tslearn():
    """Return the metrics of tslearn."""
    try:
        import tslearn.metrics as metrics
    except ImportError as error:
        raise ImportError(
            "metric='dtw' needs tslearn: pip install 'skcf[timeseries]'."
        ) from error
    return metrics
