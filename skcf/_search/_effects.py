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
        # The queries of which something was learned since the last fit.
        self._touched = np.zeros(n_queries, dtype=bool)

    def learn(self, cands, strength):
        """Take note of scored candidates."""
        none = cands.n_changed == 0
        self.start[cands.row[none]] = strength[none]
        self._touched[cands.row] = True
        usual = np.flatnonzero(made_of(cands.value, self._size))
        if len(usual):
            self._lots.append((cands.take(usual), strength[usual]))

    def relearn(self, cands, strength):
        """Forget all but what values do alone, and learn from these instead."""
        self._fit()
        self._key, self._gain = np.empty(0, dtype=np.int64), np.empty(0)
        self._row, self._strength = np.empty(0, dtype=np.int64), np.empty(0)
        self._who, self._at = (np.empty(0, dtype=np.int64) for _ in "ab")
        self.learn(cands, strength)

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
        # Queries do not hang on one another: the others keep their gains.
        touched = self._touched.copy()
        self._touched[:] = False
        keys = np.flatnonzero(touched[self._key // self._size])
        lines = np.flatnonzero(touched[self._row])
        key, row = self._key[keys], self._row[lines]
        entries = np.flatnonzero(touched[self._row[self._who]])
        who = _places(lines, len(self._row))[self._who[entries]]
        at = _places(keys, len(self._key))[self._at[entries]]
        prior = self._nearest(*self._alone, key // self._size, key % self._size)
        weight = 1.0 / (NEAR + np.abs(self._strength[lines]))
        left = self._strength[lines] - self.start[row]
        left -= np.bincount(who, prior[at], minlength=len(left))
        entries = who, at, self.values.group[key % self._size]
        n_groups = len(self.values.single)
        extra = correct(entries, n_groups, weight, left, RIDGE, N_SWEEPS)
        self._gain[keys] = prior + extra
        total = np.bincount(row, weight, minlength=len(touched))
        square = np.bincount(row, weight * left**2, minlength=len(touched))
        spread = np.sqrt(square / np.maximum(total, 1e-12))
        self.spread[touched] = spread[touched]

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
        gain = np.zeros(len(both))
        gain[old] = self._gain
        self._key, self._gain = both, gain

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


def _places(chosen, size):
    """Return where each of so many positions stands among the chosen ones."""
    out = np.zeros(size, dtype=np.intp)
    out[chosen] = np.arange(len(chosen))
    return out
