"""What values do to each query, as far as it is known: a model of the model."""

import numpy as np

from skcf._search._gains import fit_gains, nearest_gains, note
from skcf._space import PAD

N_SWEEPS = 3
RIDGE = 1.0
NEAR = 0.3


class Effects:
    """Gains in strength of single values, fitted to all that was scored.

    The strength of a candidate is taken to be that of its query plus the gains of its
    values. A gain starts from what the value, or the nearest one of its group, does
    alone; it is then fitted by ridge regression, in which candidates near the boundary
    count most. Values do not really add up: this only says what to score first.
    """

    def __init__(self, values, n_queries):
        self.values = values
        self.spread = np.zeros(n_queries)
        self._start = np.zeros(n_queries)
        self._mark = np.zeros(values.n_observed, dtype=np.int64)
        none = np.empty(0)
        ptr = np.zeros(n_queries + 1, dtype=np.int64)
        # The values known of each query, as `fit_gains` has them.
        self._table = ptr, none.astype(np.int64), none, none, none
        self._forget()

    def _forget(self):
        n = len(self._start)
        # What was scored, as `note` has it, and the lots that are not among it yet.
        self._lots, self._n, self._n_fitted = [], 0, 0
        self._scored = _room(0), _room(1), _room(0), np.empty(0)
        self._chains = np.full(n, PAD), np.full(n, PAD)

    @property
    def start(self):
        """The strengths of the queries themselves."""
        self._note()
        return self._start

    def learn(self, cands, strength):
        """Take note of scored candidates."""
        if len(cands):
            self._lots.append((cands.row, cands.value, strength))

    def relearn(self, cands, strength):
        """Forget all but what values do alone, and learn from these instead."""
        self._note()
        self._chains[1][:] = PAD
        self._fit()
        ptr, value, gain, alone, hold = self._table
        kept = ~np.isnan(alone)
        ptr = np.append(0, np.cumsum(kept))[ptr]
        alone = alone[kept]
        self._table = ptr, value[kept], alone.copy(), alone, np.zeros(len(alone))
        self._forget()
        self.learn(cands, strength)

    def of(self, rows, ids):
        """Return the gains of values on queries; nothing changes with a padding."""
        if not len(ids):
            return np.zeros(0)
        # Values between the observed ones have numbers beyond: they find none.
        known, group, size = self.table()
        return nearest_gains(known, rows, ids, group, size)

    def known(self):
        """Return (query, value, gain) of all scored values, sorted by query."""
        (start, ids, gain), _, _ = self.table()
        return np.repeat(np.arange(len(start) - 1), np.diff(start)), ids, gain

    def table(self):
        """Return what `gain_of` reads: (start, value, gain), the groups, the size."""
        self._fit()
        return self._table[:3], self.values.group, self.values.n_observed

    def _note(self):
        """Put what was learned behind what was scored before."""
        for row, value, strength in self._lots:
            self._make_room(len(row), value.size)
            lot = np.ascontiguousarray(row), value, strength
            size = self.values.n_observed
            self._n = note(
                lot, self._scored, self._n, self._chains[0], self._start, size
            )
        self._lots = []

    def _make_room(self, n, n_values):
        """Have room for `n` more candidates with `n_values` values."""
        follow, begin, ids, strength = self._scored
        n, n_values = self._n + n, int(begin[self._n]) + n_values
        if n > len(follow):
            follow, strength = _grown(follow, n), _grown(strength, n)
            begin = _grown(begin, n + 1)
        if n_values > len(ids):
            ids = _grown(ids, n_values)
        self._scored = follow, begin, ids, strength

    def _fit(self):
        """Fit the gains of the values that occur, and the spread of the residuals.

        Queries of which nothing new was scored keep theirs.
        """
        self._note()
        if self._n == self._n_fitted:
            return
        begin = self._scored[1]
        self._table = fit_gains(
            self._scored,
            self._chains,
            self._start,
            self._table,
            self.spread,
            self._mark,
            self.values.group,
            (NEAR, RIDGE, N_SWEEPS),
            int(begin[self._n] - begin[self._n_fitted]),
        )
        self._n_fitted = self._n


def _room(n):
    return np.zeros(n, dtype=np.int64)


def _grown(array, n):
    """Return an array with what it has and room for twice `n`."""
    out = np.zeros(2 * n, dtype=array.dtype)
    out[: len(array)] = array
    return out
