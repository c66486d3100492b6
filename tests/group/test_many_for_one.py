"""One counterfactual in each band, against all points of small tables."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcf.constraints import increasing
from skcf.group import ManyForOneExplainer

pytestmark = pytest.mark.filterwarnings(
    "ignore::skcf.exceptions.CounterfactualNotFoundWarning"
)


def table(seed, n=80):
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, size=(n, 3)).astype(float)
    X[:5] = np.arange(5)[:, None]
    score = X @ random.normal(size=3) + random.normal(size=n)
    return X, (score > np.median(score)).astype(int)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression(), RandomForestClassifier(8, max_depth=3, random_state=0)],
    ids=["linear", "forest"],
)
@pytest.mark.parametrize("seed", range(3))
def test_bands_of_all_points(model, seed):
    X, y = table(seed)
    model = model.fit(X, y)
    explainer = ManyForOneExplainer(
        FrozenEstimator(model), feature=1, bands=[0.5, 2], constraints=increasing(0)
    ).fit(X)
    rows = X[:12]
    explained = explainer.explain(rows)
    points = np.array(list(product(range(5), repeat=3)), dtype=float)
    before = model.predict(rows)
    # A tie is no clear answer, whatever predict makes of it.
    share = model.predict_proba(points)
    band = np.searchsorted([0.5, 2], points[:, 1], side="left")
    details = explained.details
    for i, x in enumerate(rows):
        for b in range(3):
            ok = (
                (share[:, 1 - before[i]] > 0.5 + 1e-9)
                & (band == b)
                & (points[:, 0] >= x[0])
            )
            at = (explained.row == i) & (details.band == b)
            if not ok.any():
                assert details.band_status[i, b] == "infeasible" and not at.any()
                continue
            cost = (np.abs(points[ok] - x) / 4).mean(axis=1).min()
            assert details.band_status[i, b] == "found"
            assert explained.cost[at] == pytest.approx([cost], abs=1e-9)
            assert explained.optimal[at].all()
    first = explained.cost[explained.rank == 0]
    assert (
        first <= explained.lower_bound[explained.row[explained.rank == 0]] + 1e-6
    ).all()


def test_quartiles_levels_and_positions():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "pay": random.integers(0, 100, 200),
            "city": random.choice(["a", "b", "c"], 200),
        }
    )
    y = (X["pay"] + 30 * (X["city"] == "b") > 60).astype(int)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough"),
        LogisticRegression(max_iter=2000),
    )
    explainer = ManyForOneExplainer(model, feature="pay", target=1).fit(X, y)
    q1, q3 = X["pay"].quantile([0.25, 0.75])
    assert len(explainer.bands_) == 3
    explained = explainer.explain(X[:20])
    pay = explained.counterfactuals["pay"].to_numpy()
    expected = np.searchsorted([q1, q3], pay, side="left")
    assert (explained.details.band == expected).all()
    levels = ManyForOneExplainer(model, feature="city", target=1).fit(X, y)
    explained = levels.explain(X[:20])
    city = explained.counterfactuals["city"].to_numpy()
    assert (np.array(["a", "b", "c"])[explained.details.band] == city).all()
    already = explained.status == "already"
    assert (explained.details.band_status[already] == "already").all()
    one = levels.explain(X[:20], n_counterfactuals=1)
    assert (one.rank == 0).all()


def test_interval_of_a_regressor_and_blocks():
    X, _ = table(0)
    y = X @ [1.0, 2.0, -1.0]
    explainer = ManyForOneExplainer(
        LinearRegression(), feature=0, target=(4.5, 6.5), n_jobs=2
    ).fit(X, y)
    explained = explainer.explain(X[:10])
    assert ((explained.prediction >= 4.5) & (explained.prediction <= 6.5)).all()
    assert len(explained.row) > 5


@pytest.mark.parametrize(
    "given, match",
    [
        ({"feature": 9}, "feature"),
        ({"feature": 0, "bands": [2, 1]}, "rising"),
        ({"feature": 0, "bands": [[1, 2]]}, "rising"),
    ],
)
def test_bad_bands_are_refused(given, match):
    X, y = table(0)
    with pytest.raises(ValueError, match=match):
        ManyForOneExplainer(LogisticRegression(), **given).fit(X, y)


def test_models_that_cannot_be_read_are_refused():
    X, y = table(0)
    with pytest.raises(TypeError, match="KNeighborsClassifier"):
        ManyForOneExplainer(KNeighborsClassifier(), feature=0).fit(X, y)
