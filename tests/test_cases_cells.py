"""What comes back in a cell: its dtype, its category, its very bits."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skcf.constraints import fixed, increasing, one_hot, ordered
from skcf.tabular import GeCoExplainer
from tests.lending import (
    EXPLAINERS,
    MODEL,
    REFUSED,
    SCHOOL,
    TRADE,
    X,
    Y,
    fitted,
    pipeline,
    squares,
)

both = pytest.mark.parametrize("explainer", EXPLAINERS)


def parts(explanation):
    """Return the counterfactuals and their queries as frames of equal index."""
    told = explanation.counterfactuals.reset_index(drop=True)
    asked = explanation.queries.iloc[explanation.row].reset_index(drop=True)
    return told, asked


@both
def test_every_column_keeps_its_dtype_and_its_kind_of_value(explainer):
    explanation = fitted(explainer).explain(REFUSED.iloc[:10])
    assert (explanation.status == "found").all()
    told = explanation.counterfactuals
    assert (told.dtypes == REFUSED.dtypes).all()
    assert told["years"].dtype == np.int64
    assert told["married"].dtype == bool
    assert told["trade"].dtype == TRADE and told["trade"].notna().all()
    assert told["school"].dtype == SCHOOL and told["school"].notna().all()
    assert (told["salary"] == told["salary"].round(2)).all()
    assert set(MODEL.predict(told)) == {"granted"}


def test_nullable_and_polars_columns_come_back_as_they_are():
    nullable = {"years": "Int64", "salary": "Float64", "married": "boolean"}
    query = REFUSED.iloc[:4].astype(nullable)
    told = fitted().transform(query)
    assert (told.dtypes == query.dtypes).all()
    frame = pl.from_pandas(REFUSED.iloc[:4].reset_index(drop=True))
    told = fitted().transform(frame)
    assert told.schema == frame.schema


@both
def test_an_unchanged_cell_is_the_querys_bit_for_bit(explainer):
    odd = REFUSED.iloc[:4].assign(salary=[10.123456789, 1e-9, np.nextafter(7, 8), 3])
    for rules in ([], [fixed("salary")]):
        explanation = fitted(explainer, constraints=rules).explain(odd)
        pd.testing.assert_frame_equal(explanation.queries, odd)
        told, asked = parts(explanation)
        changes = explanation.changes().groupby("feature")["row"].agg(set)
        for name in odd:
            kept = [r not in changes.get(name, ()) for r in explanation.row]
            assert told.loc[kept, name].equals(asked.loc[kept, name])
    # no training row has such a salary
    assert len(told) == (4 if explainer is GeCoExplainer else 0)
    bits = [t["salary"].to_numpy().tobytes() for t in (told, asked)]
    assert bits[0] == bits[1]


@both
def test_a_value_out_of_vocabulary_is_named(explainer):
    stranger = REFUSED.iloc[:2].astype({"trade": str}).assign(trade="astronaut")
    with pytest.raises(
        ValueError, match="Column 'trade' .*'astronaut'.*'baker', 'mason'"
    ):
        fitted(explainer).transform(stranger)


@both
@pytest.mark.parametrize("dtype", [int, float])
def test_numbers_declared_categories_are_not_interpolated(explainer, dtype):
    points, _ = squares()
    zone = np.random.default_rng(0).choice([10, 20, 30], len(points))
    points = points.assign(zone=zone.astype(dtype))
    y = (points["p"] + (zone == 20) > 1).to_numpy().astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(points, y)
    explanation = fitted(
        explainer, model, points, y, target=1, categorical_features=["zone"]
    ).explain(points[model.predict(points) == 0].iloc[:8])
    told, asked = parts(explanation)
    assert told["zone"].dtype == dtype
    assert set(told["zone"]) <= {10, 20, 30}
    # from 10 to 20 is as far as from 10 to 30
    only_zone = (told[["p", "q", "r"]] == asked[["p", "q", "r"]]).all(axis=1)
    assert only_zone.any() or explainer is not GeCoExplainer
    np.testing.assert_allclose(explanation.cost[only_zone], 0.25)


class Strict(ClassifierMixin, BaseEstimator):
    """Accepts nothing but a frame just like the one it was trained on."""

    def fit(self, X, y):
        self.classes_, self.dtypes_ = np.unique(y), X.dtypes
        return self

    def predict_proba(self, X):
        assert type(X) is pd.DataFrame
        assert list(X.columns) == list(self.dtypes_.index)
        assert (X.dtypes == self.dtypes_).all()
        high = 1 / (1 + np.exp(10 * (1.005 - X["p"] - X["q"])))
        return np.column_stack([1 - high, high])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@both
@pytest.mark.parametrize("queried", ["as fitted", "other dtypes", "polars", "array"])
def test_the_model_is_only_ever_asked_in_the_form_of_its_training(explainer, queried):
    points, y = squares()
    points["side"] = pd.Categorical(np.where(points["r"] > 0.5, "left", "right"))
    if queried == "array":
        points = points[["p", "q", "r"]]
    model = Strict().fit(points, y)
    query = points[model.predict(points) == 0].iloc[:3]
    if queried == "other dtypes":
        query = query.astype({"side": str, "p": "Float64"})
    elif queried == "polars":
        query = pl.from_pandas(query)
    elif queried == "array":
        query = query.to_numpy()
    explainer = fitted(explainer, model, points, y)
    if queried == "array":
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            told = explainer.transform(query)
    else:
        told = explainer.transform(query)
    assert type(told) is type(query)
    assert (np.asarray(told)[:, :2].sum(axis=1) > 1).all()


@both
def test_of_indicators_exactly_one_is_set(explainer):
    points, _ = squares()
    colour = np.random.default_rng(2).integers(0, 3, len(points))
    names = ["red", "green", "blue"]
    points = points.assign(
        **{c: (colour == k).astype(int) for k, c in enumerate(names)}
    )
    y = (points["p"] + 0.7 * points["green"] > 0.8).to_numpy().astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(points, y)
    query = points[model.predict(points) == 0].iloc[:10]
    block = one_hot(*names)
    for rules in ([block], [block, fixed("p")]):
        explanation = fitted(explainer, model, points, y, constraints=rules).explain(
            query, n_counterfactuals=3
        )
        told, asked = parts(explanation)
        assert (told[names].sum(axis=1) == 1).all()
        assert told[names].isin([0, 1]).all(axis=None)
        moved = (told[names] != asked[names]).any(axis=1)
        others = (told[["p", "q", "r"]] != asked[["p", "q", "r"]]).sum(axis=1)
        assert (explanation.n_changed == others + moved).all()
    # where p may not change, the colour has to
    assert moved.any()


@both
@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_numbers_need_no_declaration(explainer, kind):
    points, y = squares()
    as_kind = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "array": np.asarray}
    points = as_kind[kind](points)
    model = LogisticRegression(C=100).fit(points, y)
    explanation = fitted(explainer, model, points, y).explain(points[:10])
    assert (explanation.status == "found").all()
    assert (explanation.prediction != explanation.prediction_before).all()


@both
def test_missing_values_stay_unless_their_column_changes(explainer):
    points, y = squares(300)
    points = points.mask(np.random.default_rng(3).random(points.shape) < 0.1)
    model = RandomForestClassifier(15, random_state=0).fit(points, y)
    query = points[points["r"].isna() & points["p"].notna()]
    query = query[model.predict(query) == 0]
    explanation = fitted(explainer, model, points, y, target=1).explain(query)
    assert (explanation.status == "found").all()
    told, asked = parts(explanation)
    changed = explanation.changes().groupby("feature")["row"].agg(set)
    for name in points:
        filled = told[name].notna() & asked[name].isna()
        assert set(explanation.row[filled]) <= changed.get(name, set())
        assert not (told[name].isna() & asked[name].notna()).any()
    assert told["r"].isna().any()


def test_missing_values_are_refused_where_the_model_takes_none():
    points, y = squares()
    explainer = fitted(model=LogisticRegression().fit(points, y), X=points, y=y)
    with pytest.raises(
        ValueError, match="'q' contains NaN .* row 1; it had no missing"
    ):
        explainer.transform(points.iloc[:3].assign(q=[0.5, np.nan, 0.5]))


@both
def test_preprocessing_belongs_to_the_model(explainer):
    # The table is raw and so are the counterfactuals: scaled and encoded columns are
    # the business of the pipeline, which is fitted by the explainer here.
    made = explainer(pipeline(LogisticRegression()), random_state=0).fit(X, Y)
    told = made.transform(X.iloc[:5])
    assert list(told.columns) == list(X.columns)
    assert told["years"].between(20, 70).all()
    assert told["trade"].isin(TRADE.categories).all()
    before, after = made.estimator_.predict(X.iloc[:5]), made.estimator_.predict(told)
    assert (before != after).all()


@both
@pytest.mark.parametrize("form", ["category", "text with a rule"])
def test_ordered_levels_may_be_told_to_rise_only(explainer, form):
    rules, table = [increasing("school")], X
    if form != "category":
        rules = [ordered("school", list(SCHOOL.categories)), *rules]
        table = X.astype({"school": str})
    y = np.where(X["school"].cat.codes + X["salary"] / 40 > 1.4, "granted", "refused")
    model = pipeline().fit(table, y)
    query = table[model.predict(table) == "refused"].iloc[:10]
    explanation = fitted(
        explainer, model, table, y, target="granted", constraints=rules
    ).explain(query, n_counterfactuals=2)
    told, asked = parts(explanation)
    rank = {level: k for k, level in enumerate(SCHOOL.categories)}
    steps = told["school"].map(rank).astype(int) - asked["school"].map(rank).astype(int)
    assert (steps >= 0).all() and (steps > 0).any()
    assert set(told["school"]) <= set(SCHOOL.categories)
    # two steps are twice as far as one
    rest = [c for c in told if c != "school"]
    alone = (told[rest] == asked[rest]).all(axis=1).to_numpy()
    np.testing.assert_allclose(explanation.cost[alone], steps[alone] / 2 / 5)
