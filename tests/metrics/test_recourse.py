"""What the way out costs different groups, on models whose costs are known."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from skcf.constraints import fixed
from skcf.metrics import recourse_by_group
from skcf.tabular import OptimalExplainer

pytestmark = pytest.mark.filterwarnings(
    "ignore::skcf.exceptions.CounterfactualNotFoundWarning"
)


def biased():
    """Return (X, model): a model that takes 4 points off for one sex."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {"sex": random.choice(["f", "m"], 120), "pay": random.integers(0, 11, 120)}
    )
    X.loc[:10, "pay"] = np.arange(11)

    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[-4.0, 1.0]]), np.array([-5.5])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    return X.assign(sex=(X["sex"] == "f").astype(int)), FrozenEstimator(model)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_shares_and_costs_of_a_scorecard(library):
    X, model = biased()
    X = library(X)
    explainer = OptimalExplainer(model, target=1).fit(X, np.zeros(len(X)))
    told = recourse_by_group(explainer, X, by="sex", random_state=0)
    assert type(told) is type(X)
    told = told if isinstance(told, pd.DataFrame) else told.to_pandas()
    told = told.set_index(["attribute", "group"])
    pay, sex = np.asarray(X["pay"]), np.asarray(X["sex"])
    for group, points in ((0, 6), (1, 10)):
        need = pay[(sex == group) & (pay < points)]
        row = told.loc[("fixed", group)]
        assert row["n_queries"] == len(need)
        assert row["found"] == 1.0 and row["infeasible"] == 0.0
        # Pay alone: the range is 10, and there are two features.
        assert row["mean_cost"] == pytest.approx((points - need).mean() / 10 / 2)
    need = pay[(sex == 1) & (pay < 10)]
    other = 0.5 + np.maximum(6 - need, 0) / 20
    free = np.minimum((10 - need) / 20, other).mean()
    assert told.loc[("free", 1), "mean_cost"] == pytest.approx(free)
    ratio = told["mean_cost"][("fixed", 1)] / told["mean_cost"][("fixed", 0)]
    assert told.loc[("fixed", 1), "ratio"] == pytest.approx(ratio)
    assert told.loc[("fixed", 1), "low"] < ratio < told.loc[("fixed", 1), "high"]
    assert told.loc[("fixed", 0), "ratio"] == pytest.approx(1 / ratio)


def test_rows_without_a_way_out_are_counted():
    X, model = biased()
    X = X[X["pay"] <= 8].reset_index(drop=True)
    explainer = OptimalExplainer(model, target=1, constraints=fixed("sex"))
    told = recourse_by_group(
        explainer.fit(X, np.zeros(len(X))), X, by="sex", random_state=0
    )
    women = told[told["group"] == 1]
    assert (women["infeasible"] == 1.0).all() and women["mean_cost"].isna().all()
    assert women["ratio"].isna().all() and women["low"].isna().all()


def test_groups_beside_the_table_and_arrays():
    X, model = biased()
    labels = np.where(np.arange(len(X)) % 2, "odd", "even")
    explainer = OptimalExplainer(model, target=1).fit(X.to_numpy(float), None)
    told = recourse_by_group(explainer, X.to_numpy(float), by=labels, random_state=0)
    assert list(told.group) == ["even", "odd"]
    assert set(told.attribute) == {"free"}
    again = recourse_by_group(explainer, X.to_numpy(float), by=labels, random_state=0)
    assert (again.low == told.low).all()


@pytest.mark.parametrize(
    "given, match",
    [
        ({"by": "nothing"}, "by"),
        ({"by": [1, 2]}, "2 groups for 120 rows"),
        ({"by": "sex", "n_bootstrap": 0}, "n_bootstrap"),
        ({"by": "sex", "confidence": 1.0}, "confidence"),
    ],
)
def test_bad_questions_are_refused(given, match):
    X, model = biased()
    explainer = OptimalExplainer(model, target=1).fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=match):
        recourse_by_group(explainer, X, **given)
