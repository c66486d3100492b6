"""Small tables, all their points, and models to explain groups of their rows."""

from itertools import product

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

SIZE = 4
POINTS = np.array(list(product(range(SIZE), repeat=3)), dtype=float)
MODELS = {
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    "network": MLPClassifier((4,), max_iter=400, random_state=0),
}


def table(seed, n=60):
    random = np.random.default_rng(seed)
    X = random.integers(0, SIZE, size=(n, 3)).astype(float)
    X[:SIZE] = np.arange(SIZE)[:, None]
    score = X @ random.normal(size=3) + random.normal(size=n)
    return X, (score > np.median(score)).astype(int)
