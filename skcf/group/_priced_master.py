"""Choosing one of the known ways of each row, and what features these may change."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from skcf._mip._adapter import Mip


class Master:
    """The known ways of all rows.

    Parameters
    ----------
    price : float
        Of each feature that changes in some row.
    most : int
        The most features that change in some row.
    n_served, n_rows, n_features : int
    dear : float
        More than anything costs: what a row without a way pays.
    """

    def __init__(self, price, most, n_served, n_rows, n_features, dear):
        self.price, self.most, self.n_served = price, most, n_served
        self.n_rows, self.n_features, self.dear = n_rows, n_features, dear
        self.ways = [[] for _ in range(n_rows)]
        self._seen = [set() for _ in range(n_rows)]

    def add(self, s, way):
        """Take note of a way of a row; return whether it is a new one."""
        if way is None:
            return False
        key = way.changed.tobytes(), round(way.paid, 10)
        if key in self._seen[s]:
            return False
        self._seen[s].add(key)
        self.ways[s].append(way)
        return True

    def cheapest(self, s, price, allowed):
        """Return the least total of a row's known ways at some prices."""
        totals = [w.total(price) for w in self.ways[s] if w.fits(allowed)]
        return min(totals, default=self.dear)

    def within(self, features):
        """Return (total, ways or None by row) if only some features may change."""
        picks, paid = [], np.full(self.n_rows, np.inf)
        for s, ways in enumerate(self.ways):
            fit = [w for w in ways if w.fits(features)]
            picks.append(min(fit, key=lambda w: w.paid, default=None))
            if fit:
                paid[s] = picks[s].paid
        served = np.argsort(paid, kind="stable")[: self.n_served]
        if not np.isfinite(paid[served]).all():
            return np.inf, None
        used = np.any([picks[s].changed for s in served], axis=0)
        if used.sum() > self.most:
            return np.inf, None
        total = float(paid[served].sum() + self.price * used.sum())
        chosen = set(served.tolist())
        return total, [w if s in chosen else None for s, w in enumerate(picks)]

    def relaxed(self, inside, outside):
        """Solve the choice with fractions, some features decided.

        Parameters
        ----------
        inside, outside : ndarray of bool of shape (n_features,)
            The features that are paid for in any case, and those that never change.

        Returns
        -------
        value : float
        row_price : ndarray of shape (n_rows,)
            What it is worth that a row has a way.
        price : ndarray of shape (n_rows, n_features)
            What each row pays for each feature.
        share : ndarray of shape (n_features,)
            How far each feature is in the set.
        """
        n, p = self.n_rows, self.n_features
        some = [
            (s, w) for s, ways in enumerate(self.ways) for w in ways if w.fits(~outside)
        ]
        m = len(some)
        owner = np.array([s for s, _ in some], dtype=np.intp)
        changed = np.array([w.changed for _, w in some], dtype=bool).reshape(m, p)
        way, feature = np.nonzero(changed)
        pair, row, last = np.arange(n * p), np.arange(n), n + n * p
        # Columns: ways, features, rows without a way, rows that are left out.
        parts = [
            (owner, np.arange(m), -1.0),
            (n + owner[way] * p + feature, way, 1.0),
            (n + pair, m + pair % p, -1.0),
            (row, m + p + row, -1.0),
            (np.full(p, last), m + np.arange(p), 1.0),
            (row, m + p + n + row, -1.0),
            (np.full(n, last + 1), m + p + n + row, 1.0),
        ]
        i, j = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        value = np.concatenate([np.full(len(r), v) for r, _, v in parts])
        shape = last + 2, m + p + 2 * n
        matrix = csr_array((value, (i, j)), shape=shape)
        right = np.concatenate([-np.ones(n), np.zeros(n * p), [self.most]])
        right = np.append(right, n - self.n_served)
        cost = [w.paid for _, w in some]
        cost = np.concatenate(
            [cost, np.full(p, self.price), np.full(n, self.dear), np.zeros(n)]
        )
        low, high = np.zeros(shape[1]), np.full(shape[1], np.inf)
        low[m : m + p], high[m : m + p] = inside, ~outside
        said = linprog(
            cost, matrix, right, bounds=np.column_stack([low, high]), method="highs"
        )
        worth = np.maximum(-said.ineqlin.marginals, 0.0)
        price = worth[n:last].reshape(n, p)
        return said.fun, worth[:n], price, said.x[m : m + p]

    def bound(self, values, price, inside, outside):
        """Return what nothing falls below, if rows pay for features by themselves.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            The least of each row at its prices.
        price : ndarray of shape (n_rows, n_features)
            Not negative.
        inside, outside : ndarray of bool of shape (n_features,)
        """
        rows = np.sort(values)[: self.n_served].sum()
        left = self.price - price.sum(axis=0)
        room = max(0, self.most - int(inside.sum()))
        free = np.sort(left[~inside & ~outside])[:room]
        return float(rows + left[inside].sum() + np.minimum(free, 0.0).sum())

    def chosen(self, inside, outside, seconds=None):
        """Return the best set of features for the known ways, None if none is found."""
        mip = Mip()
        features = [
            mip.variable("feature", float(one), float(not off), integer=True)
            for one, off in zip(inside, outside, strict=True)
        ]
        terms, out = [(u, self.price) for u in features], []
        for ways in self.ways:
            taken = [mip.variable("way", 0, 1) for _ in ways]
            out.append(mip.variable("out", 0, 1))
            terms += [(t, w.paid) for t, w in zip(taken, ways, strict=True)]
            mip.require(mip.total([(t, 1.0) for t in [*taken, out[-1]]]) >= 1.0)
            for j, u in enumerate(features):
                some = [t for t, w in zip(taken, ways, strict=True) if w.changed[j]]
                if some:
                    pairs = [*((t, 1.0) for t in some), (u, -1.0)]
                    mip.require(mip.total(pairs) <= 0)
        left_out = float(self.n_rows - self.n_served)
        mip.require(mip.total([(o, 1.0) for o in out]) <= left_out)
        mip.require(mip.total([(u, 1.0) for u in features]) <= float(self.most))
        mip.minimize(mip.total(terms))
        said = mip.solve(time_limit=seconds, gap=1e-6)
        if said.values is None:
            return None
        return np.array([mip.value(u, said.values) > 0.5 for u in features])
