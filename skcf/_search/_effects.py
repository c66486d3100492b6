"""What single values do to each query, as far as it is known: a model of the model."""

import numpy as np


class Effects:
    """Gains in strength of single values, learned from what was scored.

    Candidates that change one group tell the effect of its value. The effect of
    another value is taken to be that of the nearest known one of its group, 0 if there
    is none. Effects of several groups are taken to add up, which is a guess: it only
    says which candidates to score first.
    """

    def __init__(self, values, n_queries):
        self.values = values
        self.start = np.zeros(n_queries)
        self.key = np.empty(0, dtype=np.int64)
        self.gain = np.empty(0)
        self._size = values.n_observed

    def learn(self, cands, strength):
        """Take note of candidates that change one group, or none."""
        n_changed = cands.n_changed
        none = n_changed == 0
        self.start[cands.row[none]] = strength[none]
        if not cands.value.shape[1]:
            return
        one = (n_changed == 1) & (cands.value[:, 0] < self._size)
        one &= np.isfinite(strength)
        key = cands.row[one] * self._size + cands.value[one, 0]
        gain = strength[one] - self.start[cands.row[one]]
        self.key, first = np.unique(np.append(self.key, key), return_index=True)
        self.gain = np.append(self.gain, gain)[first]

    def of(self, rows, ids):
        """Return the effects of values on queries."""
        out = np.zeros(len(ids))
        if not len(self.key):
            return out
        inside = np.minimum(ids, self._size - 1)
        key = rows * self._size + inside
        at = np.searchsorted(self.key, key)
        group = self.values.group
        gap = np.full(len(ids), np.inf)
        for near in (np.minimum(at, len(self.key) - 1), np.maximum(at - 1, 0)):
            known = self.key[near]
            same = known // self._size == rows
            same &= group[known % self._size] == group[ids]
            distance = np.where(same, np.abs(known - key), np.inf)
            nearer = distance < gap
            out[nearer] = self.gain[near[nearer]]
            gap[nearer] = distance[nearer]
        return out

    def known(self):
        """Return (query, value, gain) of all known effects, sorted by query."""
        return self.key // self._size, self.key % self._size, self.gain
