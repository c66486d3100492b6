"""The best set of features for a group, with rows searched one by one at prices."""

import heapq
import time
from itertools import count

import numpy as np

from skcf.group._priced_master import Master

PROVED = 1e-7
# A node is left for its parts after so many rounds that raise its bound but little.
MAX_IDLE = 2
LITTLE = 0.05
# How far new prices may lie from the best ones, at first and where that leads nowhere.
STEPS = 0.2, 0.6, 1.0
# How many features are tried before one of them is branched on.
MAX_TRIED = 10


class PricedSets:
    r"""Least cost of a group whose rows pay together for the features that change.

    Let :math:`u_j` say whether feature j may change, and :math:`c_s(W)` be the least
    cost of a row s that changes the features W. In

    .. math::

        \min \sum_s c_s(W_s) + \lambda \sum_j u_j \quad
        \text{with } [j \in W_s] \le u_j

    a price :math:`\pi_{sj} \ge 0` on each of the conditions takes the rows apart:

    .. math::

        \sum_s \min_W \Bigl(c_s(W) + \sum_{j \in W} \pi_{sj}\Bigr)
        + \sum_j \min_{u_j} \Bigl(\lambda - \sum_s \pi_{sj}\Bigr) u_j

    is a bound for any prices, and takes one exact search a row. Good prices come from
    the linear program over all ways of the rows that are known (column generation),
    smoothed towards the best prices so far. What a bound and the best answer leave of
    the features is branched on.

    Parameters
    ----------
    rows : list of PricedTrees
    price : float
        Of each feature that changes in some row.
    most : int or None
        The most features that change in some row.
    n_served : int
        How many rows have to be served.
    n_features : int
    deadline : float, default=None
        By ``time.monotonic``.

    Attributes
    ----------
    total : float
        Of the best answer, inf if there is none.
    ways : list of Way or None
        Of each row, None where it is left out.
    bound : float
        No answer costs less; inf where it is proved that there is none.

    References
    ----------
    .. [1] Barnhart, C., Johnson, E. L., Nemhauser, G. L., Savelsbergh, M. W. P.,
       Vance, P. H. (1998). Branch-and-price: column generation for solving huge
       integer programs. Operations Research, 46(3), 316-329.
       doi:10.1287/opre.46.3.316
    .. [2] Pessoa, A., Sadykov, R., Uchoa, E., Vanderbeck, F. (2018). Automation and
       combination of linear-programming based stabilization techniques in column
       generation. INFORMS Journal on Computing, 30(2), 339-360.
       doi:10.1287/ijoc.2017.0784
    """

    def __init__(self, rows, price, most, n_served, n_features, deadline=None):
        self.rows, self.price, self.deadline = rows, price, deadline
        self.most = n_features if most is None else min(most, n_features)
        self.ceiling = sum(row.ceiling for row in rows) + price * n_features
        sizes = n_served, len(rows), n_features
        dear = 1.0 + 2.0 * self.ceiling
        self.master = Master(price, self.most, *sizes, dear)
        self.total, self.ways, self.bound = np.inf, [None] * len(rows), 0.0

    @property
    def expired(self):
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    @property
    def cutoff(self):
        """Nothing from here on is of interest."""
        if np.isinf(self.total):
            return self.ceiling + 1.0
        return self.total - PROVED * (1.0 + self.total)

    def solve(self):
        """Search until the best answer is proved, or the time is up."""
        p = self.master.n_features
        nothing = np.zeros(p, dtype=bool)
        self._begin(~nothing)
        number = count()
        heap = [(0.0, next(number), nothing, nothing, self._first_prices())]
        while heap:
            bound, _, *node = heapq.heappop(heap)
            self.bound = max(self.bound, min(bound, self.total))
            if bound >= self.cutoff:
                break
            if self.expired:
                return self
            for child in self._parts(bound, *node):
                heapq.heappush(heap, (child[0], next(number), *child[1:]))
        self.bound = self.total
        return self

    # -- answers --------------------------------------------------------------------

    def _begin(self, every):
        """Find first answers: rows alone, and rows that use what others changed."""
        rows, add = self.rows, self.master.add
        for s, row in enumerate(rows):
            add(s, row.guess(np.zeros(len(every)), every, self.deadline))
        self._offer(every)
        prices = [self.price]
        if self.most < len(every):
            prices = self.ceiling / len(rows) * 10.0 ** np.arange(-3, 1)
        for price in prices:
            done = ~every
            for s, row in enumerate(rows):
                way = row.guess(np.where(done, 0.0, price), every, self.deadline)
                if way is not None:
                    add(s, way)
                    done |= way.changed
            self._offer(done)
        if np.isfinite(self.total):
            self._settle(np.any([w.changed for w in self.ways if w], axis=0))

    def _offer(self, features):
        """Take the cheapest known ways within a set of features if they are better."""
        total, ways = self.master.within(features)
        if total < self.total:
            self.total, self.ways = total, ways

    def _settle(self, features):
        """Find the best ways within a set of features, and offer them."""
        free = np.zeros(len(features))
        for s, row in enumerate(self.rows):
            if self.expired:
                break
            self.master.add(s, row.best(free, features, self.deadline)[0])
        self._offer(features)

    def _first_prices(self):
        """Return prices that share those of the best answer's features evenly."""
        n, p = self.master.n_rows, self.master.n_features
        uses = np.zeros((n, p), dtype=bool)
        for s, way in enumerate(self.ways):
            if way is not None:
                uses[s] = way.changed
        users = uses.sum(axis=0)
        shared = np.where(uses, self.price / np.maximum(users, 1), 0.0)
        return np.where(users > 0, shared, self.price / n)

    # -- nodes ------------------------------------------------------------------------

    def _parts(self, bound, inside, outside, prices):
        """Return what is left of a node, as (bound, inside, outside, prices)."""
        inside, outside, prices = inside.copy(), outside.copy(), prices.copy()
        self._cap(inside, outside)
        prices[:, inside] = 0.0
        prices, share, value = self._priced(prices, inside, outside)
        bound = max(bound, self._proved(prices, inside, outside))
        self._cap(inside, outside)
        open_ = ~inside & ~outside
        if bound >= self.cutoff or inside.sum() > self.most:
            return []
        if not open_.any():
            self._settle(inside)
            # With everything decided and at no price, the rows say the last word.
            return [(bound, inside, outside, prices)] if self.expired else []
        if self.expired:
            return [(bound, inside, outside, prices)]
        features = share > 0.5
        if (np.minimum(share, 1.0 - share) > 1e-6).any():
            features = self.master.chosen(inside, outside, self._left())
        if features is not None:
            self._settle(features)
        one = self._branched(share, inside, outside, value)
        return [
            (bound, inside | one, outside, prices),
            (bound, inside, outside | one, prices),
        ]

    def _cap(self, inside, outside):
        """Leave out all other features where no more may be in, in place."""
        if inside.sum() >= self.most:
            outside |= ~inside

    def _priced(self, prices, inside, outside):
        """Improve prices by local searches; return (prices, share, value)."""
        master, idle = self.master, 0
        known, _ = self._guessed(prices, inside, outside)
        while True:
            value, worth, dual, share = master.relaxed(inside, outside)
            goal = min(value, self.cutoff)
            gap = goal - known
            if gap <= PROVED * (1.0 + abs(goal)) or idle == MAX_IDLE or self.expired:
                return prices, share, value
            gain, better = 0.0, False
            for step in STEPS:
                trial = (1.0 - step) * prices + step * dual
                said, better = self._guessed(trial, inside, outside, worth, dual)
                gain = said - known
                if gain > 0:
                    known, prices = said, trial
                if better or gain > 0:
                    break
            idle = 0 if gain > LITTLE * gap else idle + 1
            if not better and gain <= 0:
                return prices, share, value

    def _guessed(self, prices, inside, outside, worth=None, dual=None):
        """Return (what the bound at some prices may be, whether ways are of use)."""
        values, better = np.empty(len(self.rows)), False
        for s, row in enumerate(self.rows):
            way = row.guess(prices[s], ~outside, self.deadline)
            if self.master.add(s, way) and worth is not None:
                better |= way.total(dual[s]) < worth[s] - PROVED
            values[s] = self.master.cheapest(s, prices[s], ~outside)
        return self.master.bound(values, prices, inside, outside), better

    def _proved(self, prices, inside, outside):
        """Return the bound at some prices, and decide features by it, in place."""
        master, allowed = self.master, ~outside
        pairs = list(zip(self.rows, prices, strict=True))
        values = np.array([row.floor(price, allowed) for row, price in pairs])
        known = [master.cheapest(s, price, allowed) for s, price in enumerate(prices)]
        # The rows of which least is known come first: often they are enough.
        for s in np.argsort(values - known, kind="stable"):
            way, values[s] = self.rows[s].best(prices[s], allowed, self.deadline)
            master.add(s, way)
            bound = master.bound(values, prices, inside, outside)
            if bound >= self.cutoff:
                return bound
        open_, never, always = np.flatnonzero(~inside & ~outside), [], []
        for j in open_:
            one = self._one(j)
            if self.master.bound(values, prices, inside | one, outside) > self.cutoff:
                never.append(j)
            elif self.master.bound(values, prices, inside, outside | one) > self.cutoff:
                always.append(j)
        outside[never] = True
        inside[always] = True
        return bound

    def _branched(self, share, inside, outside, value):
        """Return the feature to branch on, the one that matters most either way."""
        used = np.mean([w.changed for ways in self.master.ways for w in ways], axis=0)
        half = np.minimum(share, 1.0 - share)
        order = np.argsort(-(half + 1e-3 * share + 1e-4 * used), kind="stable")
        order = order[~(inside | outside)[order]][:MAX_TRIED]
        best, chosen = -1.0, None
        for j in order:
            one = self._one(j)
            with_it = self.master.relaxed(inside | one, outside)[0] - value
            without = self.master.relaxed(inside, outside | one)[0] - value
            score = (min(with_it, 1.0) + 1e-3) * (min(without, 1.0) + 1e-3)
            if score > best:
                best, chosen = score, one
        return chosen

    def _one(self, j):
        out = np.zeros(self.master.n_features, dtype=bool)
        out[j] = True
        return out

    def _left(self):
        if self.deadline is None:
            return None
        return max(0.1, self.deadline - time.monotonic())
