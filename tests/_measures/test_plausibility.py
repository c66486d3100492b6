import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from skcf.metrics import plausibility
from tests._measures.mixed import LIBRARIES, columns_of, rules_of, table

RNG = np.random.default_rng(0)
CLOUD = RNG.normal(size=(200, 3))
NEW = np.vstack([CLOUD[:5] + 0.01, [[9.0, 9.0, 9.0]]])


@pytest.mark.parametrize("method", ["knn", "lof", "iforest"])
def test_far_rows_are_less_plausible(method):
    told = plausibility(
        NEW, NEW, reference=CLOUD, method=method, random_state=0, sample_wise=True
    )
    assert told[5] > told[:5].max()
    mean = plausibility(NEW, NEW, reference=CLOUD, method=method, random_state=0)
    assert mean == told.mean()
    assert np.isnan(plausibility(NEW[:0], NEW[:0], reference=CLOUD, method=method))


def test_of_numbers_as_scikit_learn_has_it():
    span = np.ptp(CLOUD, axis=0) * 3
    near = NearestNeighbors(n_neighbors=4, metric="manhattan").fit(CLOUD / span)
    expected = near.kneighbors(NEW / span)[0].mean(axis=1)
    told = plausibility(NEW, NEW, reference=CLOUD, n_neighbors=4, sample_wise=True)
    np.testing.assert_allclose(told, expected)
    factor = LocalOutlierFactor(n_neighbors=20, metric="manhattan", novelty=True)
    expected = -factor.fit(CLOUD / span).score_samples(NEW / span)
    told = plausibility(NEW, NEW, reference=CLOUD, method="lof", sample_wise=True)
    np.testing.assert_allclose(told, expected, rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("method", ["knn", "lof", "iforest"])
def test_tables_of_all_kinds(library, method):
    X, _ = table(library)
    options = {
        "method": method,
        "constraints": rules_of(library),
        "categorical_features": columns_of(library),
        "random_state": 0,
        "sample_wise": True,
    }
    told = plausibility(X[:8], X[8:16], reference=X, **options)
    assert told.shape == (8,) and np.isfinite(told).all() and (told > 0).all()
    if method == "knn":
        one = plausibility(X[:8], X[8:16], reference=X, n_neighbors=1, **options)
        assert (one == 0).all()


def test_the_same_in_every_library():
    told = [
        plausibility(X[:8], X[8:16], reference=X, method=method, random_state=0)
        for method in ("knn", "lof", "iforest")
        for X, _ in map(table, ["pandas", "polars"])
    ]
    assert told[::2] == told[1::2]


def test_few_rows():
    one = [[1.0]]
    assert plausibility(one, [[2.0]], reference=one) == 1.0
    assert plausibility(one, [[2.0]], reference=one, method="lof") == 1.0
    two = plausibility(one, [[2.0]], reference=[[1.0], [3.0]], n_neighbors=9)
    assert two == 0.5


def test_lof_draws_rows_where_there_are_many():
    told = [
        plausibility(
            NEW, NEW, reference=CLOUD, method="lof", max_samples=50, random_state=seed
        )
        for seed in (0, 0, 1)
    ]
    assert told[0] == told[1] != told[2]


def test_unseen_categories():
    reference = pd.DataFrame({"job": ["cook"] * 30 + ["clerk"] * 3 + [None]})
    X_cf = pd.DataFrame({"job": ["cook", "clerk", "pilot"]})
    near = plausibility(X_cf, X_cf, reference=reference, n_neighbors=5)
    assert near == pytest.approx((0 + 2 / 5 + 1) / 3)
    alone = plausibility(
        X_cf, X_cf, reference=reference, method="iforest", sample_wise=True
    )
    assert alone[0] < min(alone[1:])


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="method must be one of"):
        plausibility(NEW, NEW, reference=CLOUD, method="kde")
    for k in (0, True, 2.5):
        with pytest.raises(ValueError, match="n_neighbors must be"):
            plausibility(NEW, NEW, reference=CLOUD, n_neighbors=k)
