"""What values do to each query, as far as it is known: a model of the model."""

import numpy as np

from skcf._search._kernels import correct, made_of, nearest_gains
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
        self._size = values.n_observed
        # All scored values, sorted by query, and what each adds to the strength.
        self._key, self._gain = np.empty(0, dtype=np.int64), np.empty(0)
        # Scored candidates, and for each of their values: whose it is, which key.
        self._row, self._strength = np.empty(0, dtype=np.int64), np.empty(0)
        self._who, self._at = (np.empty(0, dtype=np.int64) for _ in "ab")
        # What single values do alone.
        self._alone = np.empty(0, dtype=np.int64), np.empty(0)
        self._lots = []

    def learn(self, cands, strength):
        """Take note of scored candidates."""
        none = cands.n_changed == 0
        self.start[cands.row[none]] = strength[none]
        usual = np.flatnonzero(made_of(cands.value, self._size))
        if len(usual):
            self._lots.append((cands.take(usual), strength[usual]))

    def of(self, rows, ids):
        """Return the gains of values on queries; nothing changes with a padding."""
        self._fit()
        return self._nearest(self._key, self._gain, rows, ids)

    def known(self):
        """Return (query, value, gain) of all scored values, sorted by query."""
        self._fit()
        return self._key // self._size, self._key % self._size, self._gain

    def _fit(self):
        """Fit the gains of the values that occur, and the spread of the residuals."""
        if not self._lots:
            return
        cands = Candidates.concat([lot[0] for lot in self._lots])
        strength = np.concatenate([lot[1] for lot in self._lots])
        self._lots = []
        self._append(cands, strength)
        self._note_alone(cands, strength)
        rows, ids = self._key // self._size, self._key % self._size
        prior = self._nearest(*self._alone, rows, ids)
        weight = 1.0 / (NEAR + np.abs(self._strength))
        left = self._strength - self.start[self._row]
        left -= np.bincount(self._who, prior[self._at], minlength=len(left))
        self._gain = prior + self._correction(weight, left)
        n = len(self.start)
        total = np.bincount(self._row, weight, minlength=n)
        square = np.bincount(self._row, weight * left**2, minlength=n)
        self.spread = np.sqrt(square / np.maximum(total, 1e-12))

    def _append(self, cands, strength):
        """Put scored candidates behind those of former lots."""
        who, slot = np.nonzero(cands.value != PAD)
        key = cands.row[who] * self._size + cands.value[who, slot]
        new = np.unique(key)
        place = np.searchsorted(self._key, new)
        fresh = np.append(self._key, -1)[place] != new
        both = np.insert(self._key, place[fresh], new[fresh])
        old = np.searchsorted(both, self._key)
        self._at = np.concatenate([old[self._at], np.searchsorted(both, key)])
        self._who = np.concatenate([self._who, who + len(self._row)])
        self._row = np.concatenate([self._row, cands.row])
        self._strength = np.concatenate([self._strength, strength])
        self._key = both

    def _correction(self, weight, left):
        """Return what to add to the gains; `left` becomes the residuals."""
        group = self.values.group[self._key % self._size]
        n_groups = len(self.values.single)
        entries = self._who, self._at, group
        return correct(entries, n_groups, weight, left, RIDGE, N_SWEEPS)

    def _note_alone(self, cands, strength):
        """Take note of what values do alone, as it was when first scored."""
        one = np.flatnonzero(cands.n_changed == 1)
        key = cands.row[one] * self._size + cands.value[one].max(axis=1, initial=PAD)
        gain = strength[one] - self.start[cands.row[one]]
        key = np.concatenate([self._alone[0], key])
        gain = np.concatenate([self._alone[1], gain])
        key, first = np.unique(key, return_index=True)
        self._alone = key, gain[first]

    def _nearest(self, keys, gains, rows, ids):
        """Return the gains of the nearest values of the same group, 0 if none."""
        group = self.values.group
        # Values between the observed ones have numbers beyond: they find none.
        return nearest_gains(keys, gains, rows, ids, group, self._size)
