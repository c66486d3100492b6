"""Mixtures for models that can only be asked: rays, in batches of all rows."""

import numpy as np

from skcf._series._swap import Swaps, swap_greedily

GRID = np.arange(1, 9) / 8
N_HALVINGS = 13
SHARES = (0.25, 0.5, 0.75)
FINER = (-0.125, 0.125)
N_NEAR = 16
N_PAIRS_OF_CHANNELS = 96


class Rays:
    """Searches along rays from the queries of a block, all at once.

    Parameters
    ----------
    model : BlackBox
    space : SeriesSpace
    cost : SeriesCost
    x : ndarray of shape (n_rows, n_features)
    goal : Goal
    meter : Meter
    """

    def __init__(self, model, space, cost, x, goal, meter):
        self.model, self.space, self.cost = model, space, cost
        self.x, self.goal, self.meter = x, goal, meter

    def margins(self, row, codes):
        """Return the margins of series for the rows that they belong to.

        -inf where the budget is over.
        """
        out = np.full(len(codes), -np.inf)
        begin, rate = 0, self.model.rate
        while begin < len(codes) and not self.meter.expired:
            size = self.model.batch
            if self.meter.share is not None:
                size = int(np.clip(self.meter.share / max(rate, 1e-9), 1, size))
            at = slice(begin, min(begin + size, len(codes)))
            output = self.model.output(self.space.decode(codes[at]))
            self.meter.add(at.stop - begin)
            out[at] = self.model.margin(*output, self.goal.take(row[at]))
            begin = at.stop
        return out

    def holds(self, row, codes):
        """Return which series are in the target of their rows."""
        return self.model.passes(self.margins(row, codes))

    def halve(self, row, d, low, high, n_halvings):
        """Return the ends of rays after halving between a miss and a hit."""
        low, high = low.copy(), high.copy()
        for _ in range(n_halvings):
            if not len(row) or self.meter.expired:
                break
            middle = (low + high) / 2
            yes = self.holds(row, self.x[row] + middle[:, None] * d)
            high, low = np.where(yes, middle, high), np.where(yes, low, middle)
        return high

    def enter(self, row, d, extra=0.0):
        """Return (mu, cost) where rays from the queries enter the target.

        mu is -1 for those that do not on a grid of eight points, and for those that
        are dearer than another ray of their row. `extra` is added to their costs.
        """
        mu, cost = np.full(len(row), -1.0), np.full(len(row), np.inf)
        if not len(row):
            return mu, cost
        step = np.repeat(np.arange(len(row)), len(GRID))
        codes = self.x[row[step]] + np.tile(GRID, len(row))[:, None] * d[step]
        inside = self.holds(row[step], codes).reshape(len(row), -1)
        first = inside.argmax(axis=1)
        high = GRID[first]
        low = high - GRID[0]
        live = np.flatnonzero(inside.any(axis=1))
        price = self._price(row, d, high, extra)
        least = np.full(len(self.x), np.inf)
        np.minimum.at(least, row[live], price[live])
        if self.cost.metric == "euclidean":
            live = live[self._price(row, d, low, extra)[live] < least[row[live]]]
        high[live] = self.halve(row[live], d[live], low[live], high[live], N_HALVINGS)
        mu[live] = high[live]
        cost[live] = self._price(row[live], d[live], high[live], extra, live)
        return mu, cost

    def _price(self, row, d, mu, extra, at=slice(None)):
        x = self.x[row]
        extra = np.broadcast_to(extra, len(row)) if np.ndim(extra) == 0 else extra[at]
        return self.cost.lambda_2 * self.cost.squares(x, x + mu[:, None] * d) + extra


def search_rays(rays, prototypes, near, n_most):
    """Return (row, weights, cost) of mixtures of the nearest prototypes.

    Parameters
    ----------
    rays : Rays
    prototypes : ndarray of shape (n_prototypes, n_features)
    near : ndarray of shape (n_rows, n_near)
        The prototypes that each row may use.
    n_most : int

    Returns
    -------
    row : ndarray of shape (m,)
    weights : ndarray of shape (m, n_near, n_channels)
        Of the row's prototypes.
    cost : ndarray of shape (m,)
    """
    n, width = near.shape
    space = rays.space
    if space.n_channels > 1 and rays.cost.lambda_0:
        unused = np.zeros(n, dtype=np.uint64)
        swaps = Swaps(rays, prototypes[near], space.channel, unused)
        row, slot, mask = swap_greedily(swaps)
    else:
        row = np.repeat(np.arange(n), width)
        slot = np.tile(np.arange(width), n)
        mask = np.ones((len(row), space.n_channels), dtype=bool)
    share = np.zeros((len(row), width, space.n_channels))
    share[np.arange(len(row)), slot] = mask
    row, share, mu, cost = _entered(rays, prototypes, near, row, share)
    out = [(row, share * mu[:, None, None], cost)]
    best_row, best_share, best_cost = _best(row, share, cost)
    for _ in range(2, n_most + 1):
        if rays.meter.expired or not len(best_row):
            break
        grown = _grown(best_row, best_share, SHARES)
        row, share, mu, cost = _entered(rays, prototypes, near, *grown)
        for _ in range(2):
            if rays.meter.expired:
                break
            finer = _finer(*_best(row, share, cost)[:2], best_row, best_share)
            more = _entered(rays, prototypes, near, *finer)
            row, share, mu, cost = map(
                np.concatenate, zip((row, share, mu, cost), more, strict=True)
            )
        out.append((row, share * mu[:, None, None], cost))
        best_row, best_share, best_cost = _best(
            np.concatenate([best_row, row]),
            np.concatenate([best_share, share]),
            np.concatenate([best_cost, cost]),
        )
    row, weights, cost = (np.concatenate(part) for part in zip(*out, strict=True))
    order = np.lexsort((cost, row))
    return row[order], weights[order], cost[order]


def _entered(rays, prototypes, near, row, share):
    """Return what is left of rays that enter the target: (row, share, mu, cost)."""
    channel = rays.space.channel
    d = np.zeros((len(row), rays.x.shape[1]))
    for slot in range(near.shape[1]):
        used = np.flatnonzero(share[:, slot].any(axis=1))
        part = prototypes[near[row[used], slot]] - rays.x[row[used]]
        d[used] += share[used, slot][:, channel] * part
    n_channels = share.any(axis=1).sum(axis=1)
    mu, cost = rays.enter(row, d, rays.cost.lambda_0 * n_channels)
    kept = np.flatnonzero(mu >= 0)
    return row[kept], share[kept], mu[kept], cost[kept]


def _best(row, share, cost):
    """Return the cheapest of each row."""
    order = np.lexsort((np.round(cost, 12), row))
    first = order[np.unique(row[order], return_index=True)[1]]
    return row[first], share[first], cost[first]


def _grown(row, share, parts):
    """Mix each mixture with each other prototype, in the channels that it changes."""
    width = share.shape[1]
    mask = share.any(axis=1)
    rows, shares = [], []
    for slot in range(width):
        other = np.flatnonzero(~share[:, slot].any(axis=1))
        for part in parts:
            new = (1 - part) * share[other]
            new[:, slot] = part * mask[other]
            rows.append(row[other])
            shares.append(new)
    return np.concatenate(rows), np.concatenate(shares)


def _finer(row, share, start_row, start_share):
    """Move each mixture a little towards and away from the one it grew from."""
    at = np.searchsorted(start_row, row)
    start = start_share[at]
    rows, shares = [], []
    for step in FINER:
        new = np.maximum(share + step * (start - share), 0.0)
        total = new.sum(axis=1, keepdims=True)
        mask = share.any(axis=1, keepdims=True)
        new = np.where(mask, new / np.where(total > 0, total, 1.0), 0.0)
        rows.append(row)
        shares.append(new)
    return np.concatenate(rows), np.concatenate(shares)


def nearest_of(x, prototypes, n_channels):
    """Return the prototypes that each row may use, (n_rows, n_near), nearest first."""
    most = N_NEAR
    if n_channels > 1:
        most = int(np.clip(N_PAIRS_OF_CHANNELS // n_channels, 1, 4))
    most = min(most, len(prototypes))
    near = np.empty((len(x), most), dtype=np.intp)
    for i, row in enumerate(x):
        d = ((prototypes - row) ** 2).sum(axis=1)
        near[i] = np.argsort(d, kind="stable")[:most]
    return near
