"""How long it takes, how often the model is asked, and that it is the same again."""

import json
import pickle
import time
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skcf.constraints import fixed, within
from skcf.tabular import NearestUnlikeExplainer
from tests.lending import EXPLAINERS, MODEL, REFUSED, X, fitted, pipeline, squares

both = pytest.mark.parametrize("explainer", EXPLAINERS)


class Slow(LogisticRegression):
    """Takes its time, and counts."""

    pause, calls = 0.0, 0

    def _decide(self, X):
        type(self).calls += 1
        time.sleep(self.pause)

    def predict(self, X):
        self._decide(X)
        return super().predict(X)

    def predict_proba(self, X):
        self._decide(X)
        return super().predict_proba(X)


def slow(pause):
    points, y = squares()
    model = Slow(C=100).fit(points, y)
    Slow.pause = pause
    query = points[model.predict(points) == 0]
    Slow.calls = 0
    return model, points, y, query


# -- how many -----------------------------------------------------------------------


@both
@pytest.mark.parametrize("n", [0, -1, 1.5, True, "2"])
def test_a_wrong_number_is_an_error(explainer, n):
    with pytest.raises(ValueError, match="n_counterfactuals must be an integer >= 1"):
        fitted(explainer).explain(REFUSED.iloc[:2], n_counterfactuals=n)


@both
def test_as_many_as_there_are_and_no_padding(explainer):
    query = REFUSED.iloc[:4]
    one = fitted(explainer).explain(query)
    assert one.row.tolist() == [0, 1, 2, 3] and one.rank.tolist() == [0] * 4
    many = fitted(explainer).explain(query, n_counterfactuals=500)
    assert (np.bincount(many.row) <= 500).all() and (np.bincount(many.row) > 1).all()
    for i in range(4):
        mine = many.counterfactuals[many.row == i]
        assert not mine.duplicated().any()
        assert not (mine == query.iloc[i]).all(axis=1).any()
        assert many.rank[many.row == i].tolist() == list(range(len(mine)))
    assert (MODEL.predict(many.counterfactuals) == "granted").all()
    assert many.counterfactuals.notna().all(axis=None)


# -- time and calls -----------------------------------------------------------------


def test_a_time_limit_is_kept_and_told():
    model, points, y, query = slow(0.05)
    # no row under these ranges is high enough
    rules = [within("p", 0, 0.05), within("q", 0, 0.05)]
    explainer = fitted(
        model=model, X=points, y=y, target=1, constraints=rules, time_limit=0.6
    )
    start = time.monotonic()
    explanation = explainer.explain(query.iloc[:5])
    assert time.monotonic() - start < 0.6 * 1.2 + 0.05 + 0.3
    assert set(explanation.status) == {"budget"}
    assert 0.3 < explanation.details.seconds < 1.07


def test_calls_of_the_model_do_not_grow_with_the_rows():
    calls = {}
    for n in (5, 80):
        model, points, y, query = slow(0.0)
        explainer = fitted(model=model, X=points, y=y, target=1)
        Slow.calls = 0
        explanation = explainer.explain(query.iloc[:n])
        calls[n] = Slow.calls
        assert (explanation.status == "found").all()
        assert explanation.details.n_calls > 0
    assert calls[80] <= calls[5] + 40


@both
def test_few_evaluations_are_few(explainer):
    if explainer is NearestUnlikeExplainer:
        model, points, y, query = slow(0.0)
        explainer = fitted(explainer, model, points, y)
        Slow.calls = 0
        explainer.transform(query)
        assert Slow.calls <= 6
    else:
        limited = fitted(explainer, max_evaluations=30)
        explanation = limited.explain(REFUSED.iloc[:3])
        # what is asked to settle the status is not part of the search
        assert explanation.details.n_rows <= 3 * (30 + 10)


# -- the same again -----------------------------------------------------------------


@both
def test_a_row_has_one_answer_whatever_stands_beside_it(explainer):
    query = REFUSED.iloc[:12]
    explainer = fitted(explainer, constraints=["cf.years >= x.years"], random_state=3)
    told = explainer.transform(query)
    pd.testing.assert_frame_equal(explainer.transform(query), told)
    again = fitted(type(explainer), constraints=["cf.years >= x.years"], random_state=3)
    pd.testing.assert_frame_equal(again.transform(query), told)
    pd.testing.assert_frame_equal(explainer.transform(query[::-1]), told[::-1])
    for i in range(12):
        alone = explainer.transform(query.iloc[[i]])
        pd.testing.assert_frame_equal(alone, told.iloc[[i]])
    two = clone(explainer).set_params(n_jobs=2).fit(X, MODEL.predict(X))
    with joblib.parallel_config("threading"):
        pd.testing.assert_frame_equal(two.transform(query), told)


@both
def test_values_that_were_not_seen_hang_on_their_row_alone(explainer):
    # These ranges hold no training value, so that new ones are made for each row.
    rules = [within("years", 71, 74), "cf.salary <= x.salary + 30"]
    explainer = fitted(explainer, constraints=rules)
    query = REFUSED.iloc[:8]
    whole = explainer.explain(query)
    for i in range(8):
        alone = explainer.explain(query.iloc[[i]])
        pd.testing.assert_frame_equal(
            alone.counterfactuals, whole.counterfactuals[whole.row == i]
        )


def test_a_row_in_need_does_not_hang_on_the_others():
    # Sums leave so little room that some searches end empty-handed and start anew.
    points, _ = squares(300)
    points["total"] = (points["p"] + points["q"]).round(2)
    y = (points["total"] > 1.6).to_numpy().astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(points, y)
    query = points[model.predict(points) == 0].iloc[:15]
    explainer = fitted(
        model=model, X=points, y=y, constraints="cf.total == cf.p + cf.q", finish=False
    )
    whole = explainer.explain(query)
    told = whole.counterfactuals
    assert (whole.status == "found").all()
    np.testing.assert_allclose(told["total"], told["p"] + told["q"], rtol=1e-12)
    for i in (6, 9, 13, 14):
        alone = explainer.explain(query.iloc[[i]]).counterfactuals
        pd.testing.assert_frame_equal(alone, told[whole.row == i])


# -- kept and sent ------------------------------------------------------------------


@both
def test_explainers_and_explanations_are_kept(explainer, tmp_path):
    explainer = fitted(explainer, constraints=[fixed("trade"), "cf.years >= x.years"])
    query = REFUSED.iloc[:4]
    told = explainer.transform(query)
    pd.testing.assert_frame_equal(
        pickle.loads(pickle.dumps(explainer)).transform(query), told
    )
    joblib.dump(explainer, tmp_path / "explainer.joblib")
    loaded = joblib.load(tmp_path / "explainer.joblib")
    pd.testing.assert_frame_equal(loaded.transform(query), told)
    fresh = clone(explainer)
    assert not hasattr(fresh, "estimator_")
    assert fresh.get_params()["constraints"] == explainer.constraints
    explanation = explainer.explain(query)
    back = pickle.loads(pickle.dumps(explanation))
    pd.testing.assert_frame_equal(back.counterfactuals, explanation.counterfactuals)
    assert back.details.blocking_rules if "blocking_rules" in back.details else True


@both
def test_results_are_written_as_json(explainer):
    explanation = fitted(explainer).explain(REFUSED.iloc[:3])
    read = json.loads(explanation.to_json())["queries"]
    assert [row["status"] for row in read] == ["found"] * 3
    assert [row["label"] for row in read] == REFUSED.index[:3].tolist()
    told = [row["counterfactuals"][0]["values"] for row in read]
    assert told == explanation.counterfactuals.astype(object).to_dict("records")


# -- rows and their labels ----------------------------------------------------------


@both
def test_the_index_of_the_query_comes_back(explainer):
    query = REFUSED.iloc[[5, 2, 8]]
    explainer = fitted(explainer)
    assert explainer.transform(query).index.equals(query.index)
    explanation = explainer.explain(query, n_counterfactuals=2)
    assert explanation.counterfactuals.index.equals(query.index[explanation.row])
    twice = query.set_axis(["same"] * 3)
    assert explainer.transform(twice).index.tolist() == ["same"] * 3


def test_a_training_row_is_told_by_its_label():
    explanation = fitted(NearestUnlikeExplainer).explain(REFUSED.iloc[:5])
    label = explanation.details.train_index
    left = X.loc[label].reset_index(drop=True)
    right = explanation.counterfactuals.reset_index(drop=True)
    pd.testing.assert_frame_equal(left, right)


@both
@pytest.mark.parametrize(
    "lone",
    [X.iloc[0], X.iloc[0].to_numpy(), X["salary"], pl.from_pandas(X)["salary"]],
    ids=["row", "array", "column", "polars"],
)
def test_a_lone_row_is_no_table(explainer, lone):
    explainer = fitted(explainer)
    for verb in (explainer.transform, explainer.explain):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match="Reshape|single row"):
                verb(lone)


@both
def test_no_rows_and_unfitted(explainer):
    with pytest.raises(ValueError, match="0 sample"):
        fitted(explainer).transform(X.iloc[:0])
    with pytest.raises(ValueError, match="not fitted"):
        explainer(pipeline()).transform(X)
