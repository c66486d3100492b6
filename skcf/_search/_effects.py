"""What values do to each query, as far as it is known: a model of the model."""

import numpy as np

from skcf._search._gains import fit_gains, nearest_gains
from skcf._search._kernels import made_of
from skcf._space import PAD, Candidates

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
        self.start = np.zeros(n_queries)
        self.spread = np.zeros(n_queries)
        self._rule = (values.n_observed, len(values.single), NEAR, RIDGE, N_SWEEPS)
        self._alone = _nothing(n_queries)
        self._forget()

    def _forget(self):
        # Values that occur, sorted by query, and what each adds to the strength.
        self._known = _nothing(len(self.start))
        # What was scored, in arrays with room for more, and what of it is new.
        self._n, self._lots = 0, []
        self._row, self._value = np.empty(0, np.intp), np.empty((0, 0), np.intp)
        self._strength = np.empty(0)

    def learn(self, cands, strength):
        """Take note of scored candidates."""
        none = cands.n_changed == 0
        self.start[cands.row[none]] = strength[none]
        usual = np.flatnonzero(made_of(cands.value, self.values.n_observed))
        if len(usual):
            self._lots.append((cands.take(usual), strength[usual]))

    def relearn(self, cands, strength):
        """Forget all but what values do alone, and learn from these instead."""
        self._fit()
        self._forget()
        self.learn(cands, strength)

    def of(self, rows, ids):
        """Return the gains of values on queries; nothing changes with a padding."""
        self._fit()
        # Values between the observed ones have numbers beyond: they find none.
        group, size = self.values.group, self.values.n_observed
        return nearest_gains(self._known, rows, ids, group, size)

    def known(self):
        """Return (query, value, gain) of all scored values, sorted by query."""
        self._fit()
        start, ids, gain = self._known
        return np.repeat(np.arange(len(self.start)), np.diff(start)), ids, gain

    def _fit(self):
        """Fit the gains of the values that occur, and the spread of the residuals.

        Queries of which nothing new was scored keep theirs.
        """
        if not self._lots:
            return
        cands = Candidates.concat([lot[0] for lot in self._lots])
        strength = np.concatenate([lot[1] for lot in self._lots])
        self._lots = []
        self._note_alone(cands, strength)
        dirty = np.zeros(len(self.start), dtype=bool)
        dirty[cands.row] = True
        self._append(cands, strength)
        self._known = fit_gains(
            dirty,
            self._row[: self._n],
            (self._value, self._strength),
            self.start,
            self._alone,
            self._known,
            self.spread,
            self.values.group,
            self._rule,
        )

    def _append(self, cands, strength):
        """Put candidates behind those of former lots."""
        begin, end = self._n, self._n + len(cands)
        size, width = self._value.shape
        if end > size or cands.value.shape[1] > width:
            size = size if end <= size else 2 * end
            value = np.full((size, max(width, cands.value.shape[1])), PAD, np.intp)
            value[:begin, :width] = self._value[:begin]
            self._value = value
            self._row = np.append(self._row[:begin], np.empty(size - begin, np.intp))
            self._strength = np.append(self._strength[:begin], np.empty(size - begin))
        self._value[begin:end, : cands.value.shape[1]] = cands.value
        self._row[begin:end], self._strength[begin:end] = cands.row, strength
        self._n = end

    def _note_alone(self, cands, strength):
        """Take note of what values do alone, as it was when first scored."""
        one = np.flatnonzero(cands.n_changed == 1)
        if not len(one):
            return
        n, size = len(self.start), self.values.n_observed
        start, ids, gain = self._alone
        old = np.repeat(np.arange(n), np.diff(start)) * size + ids
        new = cands.row[one] * size + cands.value[one].max(axis=1)
        gain = np.concatenate([gain, strength[one] - self.start[cands.row[one]]])
        key, first = np.unique(np.concatenate([old, new]), return_index=True)
        start = np.searchsorted(key, np.arange(n + 1) * size)
        self._alone = start, key % size, gain[first]


def _nothing(n):
    return np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
