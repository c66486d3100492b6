"""Small tables whose nearest counterfactual is known, since every point was looked at.

Nothing here uses the library: grid, rules, costs and the nearest answer are numpy.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import RandomForestClassifier

N_FEATURES = 6
N_ROWS = 400
CLEAR = 1e-9


@dataclass(frozen=True)
class Case:
    """A table, a forest, one query, two rules in words, and the least cost."""

    X: np.ndarray
    model: RandomForestClassifier
    query: np.ndarray
    categorical: list
    rules: list
    optimum: float
    n_changed: int


def make_case(seed):
    """Return the case of a seed.

    Columns hold integers of 4 to 8 levels; two to four of them are categories. The
    query is the training row of least probability of class 1, and the optimum is the
    least Gower distance at which the forest says 1 and both rules hold (nan if no
    point does).
    """
    rng = np.random.default_rng(seed)
    levels = rng.integers(4, 9, N_FEATURES)
    kinds = np.arange(N_FEATURES) < rng.integers(2, 5)
    categorical = rng.permutation(kinds)
    X = np.column_stack([rng.integers(0, n, N_ROWS) for n in levels]).astype(float)
    y = _labels(rng, X, levels)
    model = RandomForestClassifier(20, max_depth=5, random_state=0, n_jobs=1).fit(X, y)
    domains = [np.unique(column) for column in X.T]
    query = X[model.predict_proba(X)[:, 1].argmin()]
    words, checks = _rules(rng, query, levels, categorical)
    optimum, n_changed = _nearest(model, domains, query, categorical, checks)
    where = np.flatnonzero(categorical).tolist()
    return Case(X, model, query, where, words, optimum, n_changed)


def _labels(rng, X, levels):
    """Return labels of which about a third are 1, by main effects and pairs."""
    score = np.zeros(len(X))
    for j, n in enumerate(levels):
        score += rng.normal(size=n)[X[:, j].astype(int)]
    for _ in range(4):
        i, j = rng.choice(N_FEATURES, 2, replace=False)
        table = rng.normal(size=(levels[i], levels[j]))
        score += table[X[:, i].astype(int), X[:, j].astype(int)]
    score += rng.normal(scale=0.3, size=len(X))
    return (score > np.quantile(score, 0.65)).astype(int)


def _rules(rng, x, levels, categorical):
    """Return an implication and a linear rule, as text and as functions of a grid."""
    numbers = rng.permutation(np.flatnonzero(~categorical))
    i, j = numbers[:2]
    if rng.random() < 0.5:
        words = [f"cf[{i}] > x[{i}] => cf[{j}] >= x[{j}] + 1"]
        checks = [lambda cf: ~(cf[:, i] > x[i]) | (cf[:, j] >= x[j] + 1)]
    else:
        c = rng.choice(np.flatnonzero(categorical))
        level, most = rng.integers(levels[c]), rng.integers(1, levels[j] - 1)
        words = [f"cf[{c}] == {level} => cf[{j}] <= {most}"]
        checks = [lambda cf: ~(cf[:, c] == level) | (cf[:, j] <= most)]
    a, b = rng.choice(numbers, 2, replace=False)
    if rng.random() < 0.5:
        limit = x[a] + x[b] + rng.integers(-1, 2)
        words.append(f"cf[{a}] + cf[{b}] <= {limit:.0f}")
        checks.append(lambda cf: cf[:, a] + cf[:, b] <= limit)
    else:
        gap = x[a] - x[b] + rng.integers(-1, 2)
        words.append(f"cf[{a}] <= cf[{b}] + {gap:.0f}".replace("+ -", "- "))
        checks.append(lambda cf: cf[:, a] <= cf[:, b] + gap)
    return words, checks


def _nearest(model, domains, x, categorical, checks):
    """Return the least cost over all points of the grid and its number of changes."""
    grid = np.stack(np.meshgrid(*domains, indexing="ij"), axis=-1)
    grid = grid.reshape(-1, N_FEATURES)
    ok = (grid != x).any(axis=1)
    for check in checks:
        ok &= check(grid)
    grid = grid[ok]
    if not len(grid):
        return np.nan, 0
    span = np.array([domain[-1] - domain[0] for domain in domains])
    d = np.where(categorical, grid != x, np.abs(grid - x) / span)
    cost = d.mean(axis=1)
    order = np.lexsort(((d > 0).sum(axis=1), cost))
    for lot in np.array_split(order, max(1, len(order) // 2000)):
        p = model.predict_proba(grid[lot])
        hit = np.flatnonzero(p[:, 1] - p[:, 0] > CLEAR)
        if len(hit):
            first = lot[hit[0]]
            return cost[first], int((d[first] > 0).sum())
    return np.nan, 0
