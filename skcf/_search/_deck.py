"""Combinations of edits on their way to the model and back: each is scored once."""

import numpy as np

from skcf._search._problem import Pool
from skcf._space import Candidates, mix


class Deck:
    """Plays combinations of edits for all queries together, and remembers them.

    Combinations are repaired where rules ask for more; what cannot be repaired is
    worth nothing.

    Parameters
    ----------
    problem : Problem
    edits : Edits
    """

    def __init__(self, problem, edits):
        self.problem, self.edits = problem, edits
        nothing = Candidates.unchanged(np.empty(0, dtype=np.intp))
        self._pools = [problem.score(nothing)]
        self._key = np.empty(0, dtype=np.uint64)
        self._at = np.empty(0, dtype=np.intp)

    def __len__(self):
        return len(self.edits.row)

    @property
    def pool(self):
        """All that was scored."""
        if len(self._pools) > 1:
            self._pools = [Pool.concat(self._pools)]
        return self._pools[0]

    def play(self, who, chosen, which):
        """Return (margin, valid, cost) of combinations; see `Edits.candidates`.

        A combination that breaks a rule past repair has the margin -inf, and so has one
        that the budget cut off.
        """
        problem = self.problem
        cands = self.edits.candidates(who, chosen, which).tidy(problem.values)
        _, first, back = np.unique(
            problem.key_of(cands), return_index=True, return_inverse=True
        )
        lawful, at = problem.ground.cascade(cands.take(first), problem.seed)
        key = problem.key_of(lawful)
        self._score(lawful, key)
        place = np.full(len(first), -1)
        place[at] = self._at[np.searchsorted(self._key, key)]
        place, pool = place[back.ravel()], self.pool
        none = place < 0
        if not len(pool):
            n = len(place)
            return np.full(n, -np.inf), np.zeros(n, dtype=bool), np.full(n, np.inf)
        margin = np.where(none, -np.inf, pool.margin[place])
        valid = np.where(none, False, pool.valid[place])
        return margin, valid, np.where(none, np.inf, pool.cost[place])

    def _score(self, cands, key):
        """Score candidates that were not scored yet."""
        _, first = np.unique(key, return_index=True)
        new = np.sort(first[~np.isin(key[first], self._key)])
        if not len(new):
            return
        begin = len(self.pool)
        self.problem.remember(cands.take(new))
        self._pools.append(self.problem.score(cands.take(new)))
        known = np.concatenate([self._key, key[new]])
        at = np.concatenate([self._at, begin + np.arange(len(new))])
        order = np.argsort(known)
        self._key, self._at = known[order], at[order]

    def chance(self, margin):
        """Return the probability of the target, or what stands in for it."""
        return np.where(
            margin > -np.inf, 1.0 - self.problem.model.shortfall(margin), 0.0
        )

    def bits(self, who, turn, n_draws, n_columns):
        """Return random bits by query, draw and column, shape (m, draws, columns).

        They hang on the query's own seed, on `turn`, and on the place in the array.
        """
        place = np.arange(n_draws * n_columns, dtype=np.uint64)
        salt = mix(mix(np.uint64(turn)) ^ place).reshape(n_draws, n_columns)
        seed = self.problem.seed[self.edits.row[who]]
        return mix(seed[:, None, None] ^ salt)
