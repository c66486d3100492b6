"""The genetic search keeps what it promises, judged from outside."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skcf.constraints import (
    fixed,
    increasing,
    max_changes,
    one_hot,
    only,
    ordered,
    together,
    within,
)
from skcf.exceptions import CounterfactualNotFoundWarning, UnsupportedConstraintError
from skcf.tabular import GeCoExplainer, MACEExplainer
from tests.lending import squares


class AtLeast(ClassifierMixin, BaseEstimator):
    """Predicts 1 where a column is at least a threshold; it has no score."""

    def __init__(self, t=0.0, column=0):
        self.t = t
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        values = np.asarray(X, dtype=np.float64)
        return (values[:, self.column] >= self.t).astype(int)


class AnyAtLeast(AtLeast):
    """Predicts 1 where one of the columns reaches its own threshold."""

    def predict(self, X):
        return (np.asarray(X, dtype=np.float64) >= self.t).any(axis=1).astype(int)


class Counting(ClassifierMixin, BaseEstimator):
    """A classifier that keeps the rows that it is asked about, call by call."""

    def __init__(self, model, wait=0.0):
        self.model = model
        self.wait = wait

    def fit(self, X, y):
        self.model.fit(X, y)
        self.classes_ = self.model.classes_
        self.calls_ = []
        return self

    def predict(self, X):
        self._note(X)
        return self.model.predict(X)

    def predict_proba(self, X):
        self._note(X)
        return self.model.predict_proba(X)

    def _note(self, X):
        self.calls_.append(np.array(X))
        time.sleep(self.wait)


def blobs(n=160, p=4, seed=0):
    """Return numbers of one decimal, and a class that takes several columns."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (n, p)) / 10
    score = X[:, 0] + 0.7 * X[:, 1] - X[:, 2] + 0.3 * X[:, 0] * (X[:, 1] > 3)
    return X, (score > np.median(score)).astype(int)


X, Y = blobs()
FOREST = RandomForestClassifier(15, max_depth=6, random_state=0)
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=7, random_state=0),
    "forest": FOREST,
    "linear": LogisticRegression(),
}


def gower(x, cf, X=X):
    return np.mean(np.abs(cf - x) / np.ptp(X, axis=0), axis=-1)


def fitted(model=FOREST, X=X, Y=Y, **params):
    return GeCoExplainer(model, random_state=0, **params).fit(X, Y)


# -- rules of a call and what stands in the way ------------------------------------


def test_rules_of_a_call_tighten_it_and_nothing_else():
    explainer = fitted()
    model, before = explainer.estimator_, explainer.transform(X[:20])
    free = explainer.explain(X[:20])
    told = explainer.explain(X[:20], constraints=[fixed(0), "cf[1] >= x[1]"])
    assert (free.counterfactuals[:, 0] != X[free.row, 0]).any()
    assert len(told.row) > 10
    assert (told.counterfactuals[:, 0] == X[told.row, 0]).all()
    assert (told.counterfactuals[:, 1] >= X[told.row, 1]).all()
    assert explainer.estimator_ is model
    assert (explainer.transform(X[:20]) == before).all()


def test_rules_of_a_call_add_to_those_of_the_explainer():
    explainer = fitted(constraints=fixed(0))
    told = explainer.explain(X[:20], constraints=max_changes(1))
    changed = told.counterfactuals != X[told.row]
    assert len(told.row) > 3
    assert (changed.sum(axis=1) == 1).all() and not changed[:, 0].any()
    shut = explainer.explain(X[:20], constraints=fixed(1, 2, 3))
    assert (shut.status == "infeasible").all()
    assert np.isposinf(shut.lower_bound).all()


class FirstOfFrame(AtLeast):
    """Reads the first column of a frame alone, which can hold strings elsewhere."""

    def predict(self, X):
        return (X.iloc[:, 0].to_numpy() >= self.t).astype(int)


@pytest.mark.parametrize(
    "structure",
    [together("a", "b"), one_hot("b", "c"), "together(a, b)", ordered("d", ["v", "u"])],
)
def test_how_columns_are_read_is_settled_in_fit(structure):
    frame = pd.DataFrame({"a": [0, 1] * 6, "b": [0, 0, 1] * 4, "d": list("uvv") * 4})
    frame.insert(2, "c", 1 - frame["b"])
    explainer = GeCoExplainer(FirstOfFrame(t=0.5)).fit(frame, frame["a"])
    with pytest.raises(UnsupportedConstraintError, match="belongs in the constraints"):
        explainer.explain(frame.iloc[:2], constraints=["cf.b == x.b", structure])


GRID = np.array([[a, b] for a in range(8) for b in range(8)], dtype=float)


def test_the_rule_in_the_way_is_named():
    # Class 1 takes a first column of 5; only one of the rules forbids that to all.
    rules = [within(0, high=4), "cf[1] >= x[1]"]
    explainer = fitted(AtLeast(t=5), GRID, GRID[:, 0] >= 5, constraints=rules)
    query = np.array([[2.0, 2.0], [6.0, 2.0]])
    explanation = explainer.explain(query, target=1)
    assert explanation.status.tolist() == ["not_found", "already"]
    assert explanation.details.blocking_rules.tolist() == [str(rules[0]), None]


def test_no_rule_is_named_where_two_are_in_the_way():
    rules = [within(0, high=4), "cf[0] <= x[0]"]
    explainer = fitted(AtLeast(t=5), GRID, GRID[:, 0] >= 5, constraints=rules)
    explanation = explainer.explain([[2.0, 2.0]])
    assert explanation.status.tolist() == ["not_found"]
    assert explanation.details.blocking_rules.tolist() == [None]


@pytest.mark.parametrize("t, named", [((5, 3), 1), ((3, 5), 0)])
def test_of_several_rules_the_one_with_the_cheapest_way_out_is_named(t, named):
    rules = ["cf[0] <= x[0]", "cf[1] <= x[1]"]
    explainer = fitted(AnyAtLeast(t=t), GRID, (GRID >= t).any(axis=1))
    explanation = explainer.explain([[1.0, 1.0]], constraints=rules)
    assert explanation.status.tolist() == ["not_found"]
    assert explanation.details.blocking_rules.tolist() == [rules[named]]


def test_a_rule_of_the_call_can_be_the_one_that_blocks():
    explainer = fitted(AtLeast(t=5), GRID, GRID[:, 0] >= 5, constraints=[increasing(1)])
    explanation = explainer.explain([[1.0, 1.0], [3.0, 7.0]], constraints=only(1))
    told = explanation.details.blocking_rules.tolist()
    assert told == [str(only(1))] * 2
    with pytest.warns(CounterfactualNotFoundWarning, match="1 infeasible"):
        # Nothing is above 7: the second row has no other point at all.
        answer = fitted(
            AtLeast(t=5), GRID, GRID[:, 0] >= 5, constraints=[increasing(1), only(1)]
        ).transform([[3.0, 7.0]])
    assert answer.tolist() == [[3.0, 7.0]]


# -- several answers ---------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n, finish", [(3, True), (12, True), (12, False)])
def test_several_answers_are_distinct_and_different_ways_come_first(model, n, finish):
    query = X[:25]
    explainer = fitted(MODELS[model], finish=finish)
    explanation = explainer.explain(query, n_counterfactuals=n)
    assert (explanation.status == "found").all()
    several = False
    for row in range(len(query)):
        at = np.flatnonzero(explanation.row == row)
        answers, cost = explanation.counterfactuals[at], explanation.cost[at]
        assert 1 <= len(at) <= n
        assert explanation.rank[at].tolist() == list(range(len(at)))
        assert len(np.unique(answers, axis=0)) == len(at)
        sets = [tuple(np.flatnonzero(cf != query[row])) for cf in answers]
        again = np.array([s in sets[:i] for i, s in enumerate(sets)])
        assert (np.diff(again.astype(int)) >= 0).all()
        for part in (cost[~again], cost[again]):
            assert (np.diff(part) >= -1e-9).all()
        several |= len(set(sets)) > 1
    assert several


@pytest.mark.parametrize("finish", [True, False])
@pytest.mark.parametrize("n", [1, 3, 12])
def test_the_first_answer_is_that_of_transform_however_many_are_wanted(n, finish):
    explainer = fitted(finish=finish)
    explanation = explainer.explain(X[:25], n_counterfactuals=n)
    first = explanation.counterfactuals[explanation.rank == 0]
    np.testing.assert_array_equal(first, explainer.transform(X[:25]))


def test_two_ways_out_are_both_told():
    explainer = fitted(AnyAtLeast(t=(6, 4)), GRID, (GRID >= (6, 4)).any(axis=1))
    explanation = explainer.explain([[1.0, 1.0]], n_counterfactuals=2)
    assert explanation.counterfactuals.tolist() == [[1.0, 4.0], [6.0, 1.0]]
    assert explanation.cost == pytest.approx([3 / 14, 5 / 14])


# -- what the finish promises ------------------------------------------------------

KEPT = {
    "none": ([], lambda x, cf: True),
    "follows": (
        ["changed(2) => cf[3] > x[3]"],
        lambda x, cf: cf[2] == x[2] or cf[3] > x[3],
    ),
    "sum": (["cf[0] + cf[1] <= 7"], lambda x, cf: cf[0] + cf[1] <= 7 + 1e-9),
}


def assert_no_needless_change(explainer, explanation, query, holds):
    predict = explainer.estimator_.predict
    for cf, row in zip(explanation.counterfactuals, explanation.row, strict=True):
        x = query[row]
        assert holds(x, cf)
        for j in np.flatnonzero(cf != x):
            back = cf.copy()
            back[j] = x[j]
            reached = predict(back[None])[0] != explanation.prediction_before[row]
            assert not (reached and holds(x, back)), f"{x} -> {cf}: column {j}"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rules", KEPT)
def test_no_change_is_needless(model, rules):
    constraints, holds = KEPT[rules]
    explainer = fitted(MODELS[model], constraints=constraints)
    explanation = explainer.explain(X[:30])
    assert (explanation.status == "found").sum() > 20
    assert_no_needless_change(explainer, explanation, X[:30], holds)


@pytest.mark.parametrize("model", MODELS)
def test_no_change_of_a_further_answer_is_needless(model):
    explainer = fitted(MODELS[model])
    explanation = explainer.explain(X[:20], n_counterfactuals=3)
    assert len(explanation.row) > 20
    assert_no_needless_change(explainer, explanation, X[:20], KEPT["none"][1])


def sparse_numbers(dtype):
    """Return training rows with wide gaps between the values of the first column."""
    rng = np.random.default_rng(0)
    first = np.array([0, 0.37, 2.25, 4.61, 5.03, 7.86, 9.12, 10])
    rows = np.column_stack([np.repeat(first, 4), rng.integers(0, 5, 32)])
    return (rows * 100).astype(dtype) if dtype == np.int64 else rows.astype(dtype)


@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize(
    "dtype, resolution, t, grid",
    [
        (np.float64, "observed", 6.1234, np.arange(1001) / 100),
        (np.float64, "observed", 6.12, np.arange(1001) / 100),
        (np.float32, "observed", 6.1234, (np.arange(1001) / 100).astype(np.float32)),
        (np.int64, "observed", 612.34, np.arange(1001)),
        (np.int64, "observed", 613, np.arange(1001)),
        (np.float64, 0.5, 6.1, np.arange(21) / 2),
        (np.float64, {0: 0.5}, 6.5, np.arange(21) / 2),
        (np.float32, 0.5, 6.1, np.arange(21) / 2),
    ],
)
def test_numbers_end_on_the_grid_point_next_to_the_boundary(
    dtype, resolution, t, grid, target
):
    rows = sparse_numbers(dtype)
    explainer = fitted(AtLeast(t=t), rows, rows[:, 0] >= t, resolution=resolution)
    query = rows[(rows[:, 0] >= t) != target]
    answer = explainer.transform(query)
    inside = grid[(grid.astype(np.float64) >= t) == target]
    expected = inside.min() if target else inside.max()
    assert answer.dtype == rows.dtype
    assert (answer[:, 0] == expected).all()
    assert (answer[:, 1] == query[:, 1]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("target", [0, 1])
def test_without_a_grid_numbers_end_at_the_boundary(dtype, target):
    t = 6.123456789
    rows = sparse_numbers(dtype)
    explainer = fitted(AtLeast(t=t), rows, rows[:, 0] >= t, resolution=None)
    query = rows[(rows[:, 0] >= t) != target]
    answer = explainer.transform(query)
    assert (explainer.estimator_.predict(answer) == target).all()
    assert np.abs(answer[:, 0].astype(np.float64) - t).max() <= 1e-6
    assert (answer[:, 1] == query[:, 1]).all()


@pytest.mark.parametrize("low", [6.5, 7.0])
def test_the_boundary_of_a_rule_stops_a_number_too(low):
    rows = sparse_numbers(np.float64)
    rule = f"cf[0] >= {low}"
    explainer = fitted(AtLeast(t=6.1234), rows, rows[:, 0] >= 6.1234, constraints=rule)
    answer = explainer.transform(rows[rows[:, 0] < 6])
    assert (answer[:, 0] == low).all()


@pytest.mark.parametrize("model", ["tree", "forest"])
@pytest.mark.parametrize("constraints", [(), (increasing(0), fixed(1))])
def test_no_single_change_to_an_observed_value_is_cheaper(model, constraints):
    explainer = fitted(MODELS[model], constraints=constraints)
    query = X[:40]
    explanation = explainer.explain(query)
    cost = np.full(len(query), np.inf)
    cost[explanation.row] = explanation.cost
    n_single = 0
    for row, x in enumerate(query):
        before = explanation.prediction_before[row]
        for j in range(X.shape[1]):
            values = np.unique(X[:, j])
            if constraints and j == 0:
                values = values[values >= x[0]]
            if constraints and j == 1:
                continue
            points = np.repeat(x[None], len(values), axis=0)
            points[:, j] = values
            p = explainer.estimator_.predict_proba(points)[:, 1 - before]
            good = p > 0.5 + 1e-6
            n_single += good.any()
            best = gower(x, points[good]).min(initial=np.inf)
            assert cost[row] <= best + 1e-9, (x, j)
    assert n_single > 20


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("cost", ["gower", "geco"])
def test_the_finish_makes_nothing_dearer(model, cost):
    with_, without = (
        fitted(MODELS[model], finish=f, cost=cost).explain(X[:25])
        for f in (True, False)
    )
    assert set(without.row) <= set(with_.row) and len(without.row) > 20
    better = dict(zip(with_.row, with_.cost, strict=True))
    gain = [c - better[r] for r, c in zip(without.row, without.cost, strict=True)]
    assert min(gain) >= -1e-9
    assert max(gain) > 1e-3


@pytest.mark.parametrize("finish", [True, False])
@pytest.mark.parametrize("mutate", ["best", "all"])
def test_answers_are_true_whoever_is_mutated(mutate, finish):
    rules = [increasing(0), "changed(1) => cf[3] > x[3]", max_changes(3)]
    explainer = fitted(mutate=mutate, finish=finish, constraints=rules, q=30)
    explanation = explainer.explain(X[:40], n_counterfactuals=3)
    x, cf = X[explanation.row], explanation.counterfactuals
    assert (explanation.status == "found").sum() > 25
    said = explainer.estimator_.predict(cf)
    assert (said != explanation.prediction_before[explanation.row]).all()
    assert (cf[:, 0] >= x[:, 0]).all()
    assert ((cf[:, 1] == x[:, 1]) | (cf[:, 3] > x[:, 3])).all()
    assert ((cf != x).sum(axis=1) <= 3).all()
    # By the definition of the cost, not by the library's own.
    assert explanation.cost == pytest.approx(gower(x, cf), abs=1e-12)
    assert (explanation.n_changed == (cf != x).sum(axis=1)).all()


# -- budgets, calls and chance -----------------------------------------------------


@pytest.mark.parametrize("finish", [True, False])
@pytest.mark.parametrize("most", [1, 2, 10, 75, 400, 3000])
def test_the_model_is_asked_about_no_more_rows_than_allowed(most, finish):
    explainer = fitted(Counting(FOREST), max_evaluations=most, finish=finish)
    calls = explainer.estimator_.calls_
    for query in X[:6]:
        calls.clear()
        explanation = explainer.explain(query[None])
        # The row itself is one of them; an answer was asked about before.
        assert len(np.unique(np.concatenate(calls), axis=0)) <= most
        if most == 1:
            assert explanation.status.tolist() == ["budget"]
        assert explanation.status[0] in ("found", "budget")
        if most == 3000:
            assert explanation.status.tolist() == ["found"]


@pytest.mark.parametrize("most", [10, 75])
def test_every_row_has_its_own_budget(most):
    explainer = fitted(Counting(FOREST), max_evaluations=most)
    together_ = explainer.explain(X[:12])
    for row in range(12):
        alone = explainer.explain(X[row : row + 1])
        assert alone.status[0] == together_.status[row]
        at = together_.row == row
        assert (alone.counterfactuals == together_.counterfactuals[at]).all()


@pytest.mark.parametrize("constraints", [(), [fixed(1), max_changes(1)]])
@pytest.mark.parametrize("n", [1, 4])
def test_calls_and_rows_of_the_model_are_told(constraints, n):
    explainer = fitted(Counting(FOREST), constraints=constraints)
    calls = explainer.estimator_.calls_
    calls.clear()
    explanation = explainer.explain(X[:30], n_counterfactuals=n)
    assert explanation.details.n_calls == len(calls)
    assert explanation.details.n_rows == sum(map(len, calls))
    if constraints:
        assert (explanation.status == "not_found").any()


def test_calls_do_not_grow_with_the_rows():
    explainer = fitted(Counting(FOREST))
    calls = explainer.estimator_.calls_
    number = {}
    for n in (1, 40):
        calls.clear()
        explainer.explain(X[:n])
        number[n] = len(calls)
    assert number[40] <= 3 * number[1]


@pytest.mark.parametrize("limit", [0.05, 0.4])
def test_a_time_limit_brings_back_what_there_is(limit):
    explainer = fitted(Counting(LogisticRegression(), wait=0.004), time_limit=limit)
    explanation = explainer.explain(X[:10])
    assert set(explanation.status) <= {"found", "budget"}
    said = explainer.estimator_.predict(explanation.counterfactuals)
    assert (said != explanation.prediction_before[explanation.row]).all()


def test_a_time_limit_that_is_too_short_is_told_as_such():
    explainer = fitted(Counting(LogisticRegression(), wait=0.05), time_limit=0.01)
    explanation = explainer.explain(X[:5])
    assert (explanation.status == "budget").all()
    with pytest.warns(CounterfactualNotFoundWarning, match="5 budget"):
        assert (explainer.transform(X[:5]) == X[:5]).all()


def test_chance_hangs_on_random_state():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 4))
    y = (rows.sum(axis=1) > 0).astype(int)
    answers = [
        GeCoExplainer(
            LogisticRegression(), random_state=seed, finish=False, max_generations=1
        )
        .fit(rows, y)
        .transform(rows[:30])
        for seed in (0, 0, 1)
    ]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] != answers[2]).any(axis=1).sum() > 15


@pytest.mark.parametrize(
    "constraints", [(), ["cf[0] > x[0] => cf[1] >= x[1]"]], ids=str
)
@pytest.mark.parametrize("n", [2, 5])
def test_the_first_of_several_answers_is_that_of_transform(constraints, n):
    explainer = fitted(constraints=constraints)
    one = explainer.transform(X[:20])
    several = explainer.explain(X[:20], n_counterfactuals=n)
    first = several.rank == 0
    assert first.sum() > 10 and several.rank.max() == n - 1
    assert (several.counterfactuals[first] == one[several.row[first]]).all()


@pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning")
@pytest.mark.parametrize("target", [(None, 0.45), (1.2, None), (0.9, 1.0)])
@pytest.mark.parametrize("kind", [GeCoExplainer, MACEExplainer])
def test_answers_on_the_closed_edge_of_an_interval_are_not_lost(kind, target):
    # Sums of hundredths end on the edge or, by a digit, beyond it.
    X, _ = squares(80)
    model = FrozenEstimator(LinearRegression().fit(X, X["p"] + X["q"]))
    explained = kind(model, target=target, random_state=0).fit(X).explain(X)
    assert (explained.status != "not_found").all()
    low, high = (-np.inf if target[0] is None else target[0]), target[1] or np.inf
    assert ((explained.prediction >= low) & (explained.prediction <= high)).all()


@pytest.mark.parametrize("kind", [GeCoExplainer, MACEExplainer])
def test_an_answer_does_not_hang_on_the_other_rows_of_a_call(kind):
    # Many changes to undo, so that queries are through at different times.
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(X, y)
    explainer = kind(FrozenEstimator(model), target=1, random_state=0).fit(X, y)
    queries = X[model.predict(X) == 0][:30]
    together = explainer.transform(queries)
    alone = np.vstack([explainer.transform(query[None]) for query in queries])
    np.testing.assert_array_equal(together, alone)
