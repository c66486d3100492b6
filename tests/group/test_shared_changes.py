"""The fewest shared changes of groups with many clusters, against all points."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from skcf.constraints import increasing
from skcf.group import SparseOneForManyExplainer

MODELS = {
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(6, max_depth=4, random_state=0),
    "network": MLPClassifier((4,), solver="lbfgs", max_iter=60, random_state=0),
}


def fewest_of_all_points(predict, rows, most, rising=()):
    """Return the least number of changes over all points of zeros and ones.

    Features in `rising` must not fall.
    """
    n, p = rows.shape
    points = np.array(list(product((0.0, 1.0), repeat=p)))
    points = points[predict(points) == 1]
    size = min(most, p)
    free = np.zeros((0, p), dtype=bool)
    for some in combinations(range(p), size):
        free = np.vstack([free, np.isin(np.arange(p), some)])
    found = set()
    for point in points:
        inside = ((rows != point).astype(int) @ ~free.T) == 0
        inside &= (rows[:, rising] <= point[rising]).all(axis=1)[:, None]
        found |= {line.tobytes() for line in inside.T if line.any()}
    holds = np.array([np.frombuffer(f, dtype=bool) for f in found], dtype=float)
    holds = holds[:, holds.any(axis=0)]
    said = milp(
        np.ones(len(holds)),
        integrality=np.ones(len(holds)),
        constraints=LinearConstraint(holds.T, lb=1.0),
    )
    return round(said.fun), holds.shape[1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rising", [[], [1, 2]], ids=["free", "rules"])
def test_more_clusters_than_are_listed_one_by_one(kind, rising):
    random = np.random.default_rng(5)
    X = random.integers(0, 2, size=(300, 9)).astype(float)
    y = (X @ random.normal(size=9) + random.normal(size=300) > 0.5).astype(int)
    model = MODELS[kind].fit(X, y)
    rows = X[(model.predict(X) == 0) & (X[:, 0] == X[0, 0])][:40]
    # There are more closed clusters, but not so many by sets of features.
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model),
        max_features=5,
        target=1,
        max_clusters=400,
        constraints=[increasing(j) for j in rising],
    ).fit(X)
    explained = explainer.explain(rows)
    k, n_served = fewest_of_all_points(model.predict, rows, 5, rising)
    assert explained.details.n_clusters == k == explained.details.lower_bound
    assert len(explained.row) == n_served and explained.optimal.all()
    told = explained.counterfactuals
    assert ((told != rows[explained.row]).sum(axis=1) <= 5).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("rising", [[], [1, 2]], ids=["free", "rules"])
def test_bound_and_cover_of_clusters_that_are_made_one_by_one(kind, rising):
    random = np.random.default_rng(1)
    X = random.integers(0, 2, size=(300, 8)).astype(float)
    y = (X @ random.normal(size=8) + random.normal(size=300) > 0.5).astype(int)
    model = MODELS[kind].fit(X, y)
    rows = X[model.predict(X) == 0][:16]
    explainer = SparseOneForManyExplainer(
        FrozenEstimator(model),
        max_features=3,
        target=1,
        max_clusters=1,
        constraints=[increasing(j) for j in rising],
    ).fit(X)
    explained = explainer.explain(rows)
    k, n_served = fewest_of_all_points(model.predict, rows, 3, rising)
    told = explained.details
    assert 1 < told.lower_bound <= k <= told.n_clusters <= k + 1
    assert explained.optimal.all() == (told.n_clusters == told.lower_bound)
    assert len(explained.row) == n_served
    assert (explained.status == "infeasible").sum() == len(rows) - n_served
