"""Rules are kept, whatever it costs; where they cannot be, the status says so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from skcf.constraints import change_within, fixed, max_changes, only, within
from skcf.exceptions import CounterfactualNotFoundWarning, InfeasibleConstraintError
from skcf.tabular import GeCoExplainer
from tests.lending import EXPLAINERS, MODEL, REFUSED, X, Y, fitted

both = pytest.mark.parametrize("explainer", EXPLAINERS)


@both
@pytest.mark.parametrize("nothing", [only(), max_changes(0), fixed(*X.columns)])
def test_where_nothing_may_vary_the_answer_comes_at_once(explainer, nothing):
    explainer = fitted(explainer, constraints=[nothing])
    query = REFUSED.iloc[:5]
    explanation = explainer.explain(query)
    assert (explanation.status == "infeasible").all()
    assert len(explanation.counterfactuals) == 0
    assert np.isposinf(explanation.lower_bound).all()
    with pytest.warns(CounterfactualNotFoundWarning, match="5 infeasible"):
        pd.testing.assert_frame_equal(explainer.transform(query), query)


@both
def test_no_rule_is_no_rule(explainer):
    query = REFUSED.iloc[:5]
    expected = fitted(explainer).transform(query)
    for nothing in ([], (), None, iter(())):
        told = fitted(explainer, constraints=nothing).transform(query)
        pd.testing.assert_frame_equal(told, expected)


@both
def test_what_is_fixed_stays(explainer):
    frozen = ["married", "trade"]
    explanation = fitted(explainer, constraints=[fixed(*frozen)]).explain(
        REFUSED.iloc[:10], n_counterfactuals=3
    )
    told = explanation.counterfactuals[frozen].reset_index(drop=True)
    asked = REFUSED.iloc[explanation.row][frozen].reset_index(drop=True)
    pd.testing.assert_frame_equal(told, asked)
    assert (explanation.status == "found").any()


@both
def test_ranges_are_never_dropped_to_find_an_answer(explainer):
    rules = [within("salary", 15, 30), within("years", 30, 45)]
    query = REFUSED.iloc[:20]
    explanation = fitted(explainer, constraints=rules).explain(query)
    told = explanation.counterfactuals
    assert len(told)
    assert told["salary"].between(15, 30).all()
    assert told["years"].between(30, 45).all()
    # a range so narrow that the model never says yes in it
    narrow = [within("salary", 1, 2), only("salary")]
    poor = fitted(explainer, constraints=narrow).explain(query)
    assert "found" not in poor.status
    assert set(poor.details.blocking_rules) & {"cf.salary in [1, 2]", 'only("salary")'}


@both
def test_a_range_reaches_beyond_what_was_seen_if_it_says_so(explainer):
    highest = X["salary"].max()
    rules = [within("salary", highest + 1, highest + 5), only("salary")]
    explanation = fitted(explainer, constraints=rules).explain(REFUSED.iloc[:5])
    if explainer is GeCoExplainer:
        assert (explanation.status == "found").any()
        assert (explanation.counterfactuals["salary"] > highest).all()
    else:
        # no training row lies there
        assert set(explanation.status) == {"not_found"}


@both
def test_an_own_value_that_breaks_a_rule_and_may_not_change(explainer):
    rules = [within("years", 30, 40), fixed("years")]
    inside = REFUSED[REFUSED["years"].between(30, 40)].iloc[:1]
    outside = REFUSED[REFUSED["years"] > 60].iloc[:2]
    explainer = fitted(explainer, constraints=rules)
    explanation = explainer.explain(pd.concat([outside, inside]))
    assert explanation.status.tolist()[:2] == ["infeasible"] * 2
    assert explanation.status[2] != "infeasible"
    blocking = explanation.details.blocking_rules
    assert all("years" in rule for rule in blocking[:2])
    with pytest.warns(CounterfactualNotFoundWarning):
        assert explainer.transform(outside)["years"].equals(outside["years"])


@both
def test_an_own_value_that_breaks_a_rule_is_repaired_where_it_may(explainer):
    outside = REFUSED[REFUSED["years"] > 60].iloc[:4]
    explanation = fitted(explainer, constraints=[within("years", 30, 40)]).explain(
        outside
    )
    assert (explanation.status == "found").all()
    assert explanation.counterfactuals["years"].between(30, 40).all()


def words():
    rng = np.random.default_rng(0)
    total = rng.integers(5, 80, 300)
    distinct = (total * rng.uniform(0.3, 1, 300)).astype(int)
    rows = pd.DataFrame({"total": total, "distinct": distinct})
    return rows, (rows["distinct"] > 30).to_numpy().astype(int)


@both
@pytest.mark.parametrize(
    "text",
    [
        "cf.distinct <= cf.total",
        "cf.total >= cf.distinct",
        "not cf.total < cf.distinct",
    ],
)
def test_a_relation_of_columns_holds_in_every_answer(explainer, text):
    rows, y = words()
    model = RandomForestClassifier(20, random_state=0).fit(rows, y)
    # most of these rows have too few words in all: both numbers have to rise
    query = rows[(model.predict(rows) == 0) & (rows["total"] < 28)].iloc[:15]
    explanation = fitted(explainer, model, rows, y, constraints=text).explain(
        query, n_counterfactuals=4
    )
    assert (explanation.status == "found").all()
    told = explanation.counterfactuals
    assert (told["distinct"] <= told["total"]).all()
    assert (explanation.prediction == 1).all()


def test_one_change_brings_another():
    rule = "cf.school > x.school => cf.years >= x.years + 4"
    explanation = fitted(constraints=[rule, fixed("salary", "trade")]).explain(
        REFUSED.iloc[:30], n_counterfactuals=4
    )
    told = explanation.counterfactuals.reset_index(drop=True)
    asked = REFUSED.iloc[explanation.row].reset_index(drop=True)
    risen = told["school"] > asked["school"]
    assert risen.any()
    assert (told["years"] >= asked["years"] + 4)[risen].all()


@both
def test_rules_of_one_call_come_on_top(explainer):
    explainer = fitted(explainer, constraints=[fixed("trade")])
    query = REFUSED.iloc[:10]
    first = explainer.explain(query)
    assert (first.counterfactuals["salary"].to_numpy() != query["salary"]).any()
    second = explainer.explain(query, constraints=[change_within("salary", 0, 5)])
    step = second.counterfactuals["salary"].to_numpy()
    step = step - query["salary"].to_numpy()[second.row]
    assert len(step) and (step >= 0).all() and (step <= 5).all()
    kept = second.counterfactuals["trade"].astype(str).to_numpy()
    assert (kept == query["trade"].astype(str).to_numpy()[second.row]).all()


def test_a_rule_of_one_call_can_open_a_range():
    explainer = fitted()
    query = REFUSED.iloc[:5]
    told = explainer.explain(query, constraints=[within("years", 75, 80)])
    assert (told.status == "found").all()
    assert told.counterfactuals["years"].between(75, 80).all()
    assert explainer.explain(query).counterfactuals["years"].max() <= X["years"].max()


@both
@pytest.mark.parametrize(
    "rules",
    [
        [within("years", 20, 30), within("years", 40, 50)],
        ["cf.salary > x.salary", fixed("salary")],
        ["cf.school > 'upper'"],
    ],
)
def test_rules_that_contradict_are_an_error_of_fit(explainer, rules):
    with pytest.raises(InfeasibleConstraintError, match="contradict one another: '"):
        fitted(explainer, constraints=rules)


@both
@pytest.mark.parametrize("column", [0, "x0"])
def test_columns_of_arrays_are_named_by_position(explainer, column):
    rows, y = words()
    model = RandomForestClassifier(10, random_state=0).fit(rows.to_numpy(), y)
    query = rows.to_numpy()[(model.predict(rows.to_numpy()) == 0)][:5]
    rules = [change_within(column, -5, 5), "cf[1] <= cf.x0 + 20"]
    explanation = fitted(
        explainer, model, rows.to_numpy(), y, constraints=rules
    ).explain(query)
    told, asked = explanation.counterfactuals, query[explanation.row]
    assert len(told)
    assert (np.abs(told[:, 0] - asked[:, 0]) <= 5).all()
    assert (told[:, 1] <= told[:, 0] + 20).all()


def test_the_answer_is_the_models():
    # None of the rules above is kept at the price of an answer that is none.
    rules = [within("salary", 15, 30), "cf.school >= x.school", max_changes(2)]
    explanation = fitted(constraints=rules, target="granted").explain(X)
    assert (MODEL.predict(explanation.counterfactuals) == "granted").all()
    assert (explanation.status == "already").sum() == (
        MODEL.predict(X) == "granted"
    ).sum()
    assert set(Y) == {"granted", "refused"}
