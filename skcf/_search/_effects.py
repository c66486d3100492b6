"""What values do to each query, as far as it is known: a model of the model."""

import numpy as np

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
        self._key = np.empty(0, dtype=np.int64)
        self._gain = np.empty(0)
        self._size = values.n_observed
        self._lots = []
        self._stale = False

    def learn(self, cands, strength):
        """Take note of scored candidates."""
        none = cands.n_changed == 0
        self.start[cands.row[none]] = strength[none]
        usual = ~none & (cands.value < self._size).all(axis=1)
        if usual.any():
            self._lots.append((cands.take(usual), strength[usual]))
            self._stale = True

    def of(self, rows, ids):
        """Return the gains of values on queries; nothing changes with a padding."""
        self._fit()
        gain = self._nearest(self._key, self._gain, rows, ids)
        return np.where(ids == PAD, 0.0, gain)

    def known(self):
        """Return (query, value, gain) of all scored values, sorted by query."""
        self._fit()
        return self._key // self._size, self._key % self._size, self._gain

    def _fit(self):
        """Fit the gains of the values that occur, and the spread of the residuals."""
        if not self._stale:
            return
        self._stale = False
        cands = Candidates.concat([lot[0] for lot in self._lots])
        strength = np.concatenate([lot[1] for lot in self._lots])
        self._lots = [(cands, strength)]
        who, slot = np.nonzero(cands.value != PAD)
        key = cands.row[who] * self._size + cands.value[who, slot]
        self._key, at = np.unique(key, return_inverse=True)
        prior = self._alone(cands, strength)
        weight = 1.0 / (NEAR + np.abs(strength))
        left = strength - self.start[cands.row]
        left -= np.bincount(who, prior[at], minlength=len(cands))
        self._gain = prior + self._correction(who, at, weight, left)
        n = len(self.start)
        total = np.bincount(cands.row, weight, minlength=n)
        square = np.bincount(cands.row, weight * left**2, minlength=n)
        self.spread = np.sqrt(square / np.maximum(total, 1e-12))

    def _correction(self, who, at, weight, left):
        """Return what to add to the gains; `left` becomes the residuals.

        Gauss-Seidel, a group at a time: a candidate has one value of a group at most.
        """
        extra = np.zeros(len(self._key))
        mass = np.bincount(at, weight[who]) + RIDGE
        group = self.values.group[self._key % self._size][at]
        order = np.argsort(group, kind="stable")
        lots = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
        lots = [(who[lot], *np.unique(at[lot], return_inverse=True)) for lot in lots]
        for _ in range(N_SWEEPS):
            for rows, some, place in lots:
                step = np.bincount(place, weight[rows] * left[rows])
                step = (step - RIDGE * extra[some]) / mass[some]
                extra[some] += step
                left[rows] -= step[place]
        return extra

    def _alone(self, cands, strength):
        """Return what each value does alone, or else the nearest one of its group."""
        one = np.flatnonzero(cands.n_changed == 1)
        value = cands.value[one].max(axis=1, initial=PAD)
        key, first = np.unique(cands.row[one] * self._size + value, return_index=True)
        gain = strength[one[first]] - self.start[cands.row[one[first]]]
        rows, ids = self._key // self._size, self._key % self._size
        return self._nearest(key, gain, rows, ids)

    def _nearest(self, keys, gains, rows, ids):
        """Return the gains of the nearest values of the same group, 0 if none."""
        out = np.zeros(len(ids))
        if not len(keys):
            return out
        # Values between the observed ones have numbers beyond: they find none.
        key = rows * self._size + np.minimum(ids, self._size - 1)
        at = np.searchsorted(keys, key)
        group = self.values.group
        gap = np.full(len(ids), np.inf)
        for near in (np.minimum(at, len(keys) - 1), np.maximum(at - 1, 0)):
            known = keys[near]
            same = known // self._size == rows
            same &= group[known % self._size] == group[ids]
            distance = np.where(same, np.abs(known - key), np.inf)
            nearer = distance < gap
            out[nearer] = gains[near[nearer]]
            gap[nearer] = distance[nearer]
        return out
