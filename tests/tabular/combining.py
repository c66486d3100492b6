"""Problems in which changes act together, and the fewest changes that solve them.

Nothing here uses the library.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

N_COLUMNS = 10
N_LEVELS = 4
N_PAIRS = 20
MOST = 3
CLEAR = 1e-6


class Interacting(ClassifierMixin, BaseEstimator):
    """A logistic model with random effects of levels and of pairs of levels."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        rng = np.random.default_rng(self.seed)
        self.single_ = rng.normal(scale=0.3, size=(N_COLUMNS, N_LEVELS))
        pairs = list(combinations(range(N_COLUMNS), 2))
        self.pairs_ = [pairs[i] for i in rng.choice(len(pairs), N_PAIRS, replace=False)]
        self.double_ = rng.normal(scale=1.5, size=(N_PAIRS, N_LEVELS, N_LEVELS))
        self.cut_ = np.quantile(self.score_of(X), 0.97)
        return self

    def score_of(self, X):
        level = np.asarray(X).astype(int)
        score = self.single_[np.arange(N_COLUMNS), level].sum(axis=1)
        for (i, j), effect in zip(self.pairs_, self.double_, strict=True):
            score += effect[level[:, i], level[:, j]]
        return score

    def predict_proba(self, X):
        p = expit(self.score_of(X) - self.cut_)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.score_of(X) > self.cut_).astype(int)


@dataclass(frozen=True)
class Combination:
    """A table, a model, a query, and the fewest changes that flip it (0 if none)."""

    X: np.ndarray
    model: Interacting
    query: np.ndarray
    fewest: int


def make_combination(seed):
    """Return the problem of a seed: up to three changes of ten columns are allowed."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, N_LEVELS, (400, N_COLUMNS)).astype(float)
    model = Interacting(seed).fit(X)
    score = model.score_of(X)
    query = rng.permutation(X[score < np.quantile(score, 0.25)])[0]
    return Combination(X, model, query, _fewest(model, query))


def _fewest(model, query):
    for n in range(1, MOST + 1):
        rows = []
        for columns in combinations(range(N_COLUMNS), n):
            others = [[v for v in range(N_LEVELS) if v != query[c]] for c in columns]
            for values in product(*others):
                row = query.copy()
                row[list(columns)] = values
                rows.append(row)
        if (model.score_of(np.array(rows)) - model.cut_ > CLEAR).any():
            return n
    return 0
