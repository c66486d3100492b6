"""The nearest unlike row is that of a loop over all training rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skcf.constraints import change_within, fixed, increasing, max_changes, within
from skcf.costs import Cost
from skcf.exceptions import CounterfactualNotFoundWarning
from skcf.tabular import NearestUnlikeExplainer

NAMES = ["age", "rate", "job"]


def table(n=70, seed=0):
    """Return a frame of few distinct values, so that there are ties and equal rows."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 28, n),
            "rate": rng.integers(0, 5, n) / 10,
            "job": rng.choice(["cook", "nurse", "pilot"], n),
        },
        index=pd.Index([f"r{i}" for i in range(n)]),
    )


X = table()
QUERIES = table(25, seed=1)
SCORE = (X["age"] - 20) / 8 + 2 * X["rate"] + (X["job"] == "pilot")
TWO = (SCORE > 1.5).astype(int)
THREE = np.where(SCORE > 1.9, "high", np.where(SCORE > 1.1, "mid", "low"))


def behind_encoder(model):
    return make_pipeline(
        make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"),
        model,
    )


def tree(**params):
    return behind_encoder(DecisionTreeClassifier(random_state=0, **params))


def forest():
    return behind_encoder(RandomForestClassifier(15, max_depth=4, random_state=0))


def changed(x, cf):
    return tuple(name for name in NAMES if x[name] != cf[name])


def gower(x, cf, weights=(1.0, 1.0, 1.0)):
    """Return the mean distance by feature in units of the training ranges."""
    d = [
        abs(cf["age"] - x["age"]) / (X["age"].max() - X["age"].min()),
        abs(cf["rate"] - x["rate"]) / (X["rate"].max() - X["rate"].min()),
        float(cf["job"] != x["job"]),
    ]
    return np.dot(weights, d) / np.sum(weights)


def brute_force(x, reached, allowed, price=gower):
    """Return the (cost, position) of all answers to a query, equal rows once."""
    answers, seen = [], set()
    for i, cf in enumerate(X.to_dict("records")):
        key = tuple(cf.values())
        if key in seen or not reached[i] or not changed(x, cf) or not allowed(x, cf):
            continue
        seen.add(key)
        answers.append((round(price(x, cf), 9), i))
    return sorted(answers)


def anything(x, cf):
    return True


RULES = {
    "none": ([], anything),
    "fixed": ([fixed("job")], lambda x, cf: cf["job"] == x["job"]),
    "increasing": ([increasing("age")], lambda x, cf: cf["age"] >= x["age"]),
    "within": ([within("rate", high=0.2)], lambda x, cf: cf["rate"] <= 0.2),
    "step": (
        [change_within("age", -2, 3)],
        lambda x, cf: -2 <= cf["age"] - x["age"] <= 3,
    ),
    "few": ([max_changes(2)], lambda x, cf: len(changed(x, cf)) <= 2),
    "follows": (
        ["changed(job) => cf.age > x.age"],
        lambda x, cf: cf["job"] == x["job"] or cf["age"] > x["age"],
    ),
    "two": (
        [increasing("age"), max_changes(1)],
        lambda x, cf: cf["age"] >= x["age"] and len(changed(x, cf)) <= 1,
    ),
}


def assert_brute_force(explanation, explainer, reach, allowed, price=gower):
    """Judge a call for one answer a row; `reach` is given the prediction before."""
    said = explainer.estimator_.predict(X)
    before = explainer.estimator_.predict(QUERIES)
    found = dict(zip(explanation.row, range(len(explanation.row)), strict=True))
    n_found = 0
    for row, x in enumerate(QUERIES.to_dict("records")):
        answers = brute_force(x, reach(said, before[row]), allowed, price)
        if explanation.status[row] == "already" or not answers:
            assert row not in found
            continue
        at = found[row]
        cost, position = answers[0]
        assert explanation.details.train_position[at] == position
        assert explanation.details.train_index[at] == X.index[position]
        assert explanation.cost[at] == pytest.approx(cost, abs=2e-9)
        assert (
            explanation.counterfactuals.iloc[at].tolist() == X.iloc[position].tolist()
        )
        n_found += 1
    assert n_found == (explanation.status == "found").sum() > 0


@pytest.mark.parametrize("rules", RULES)
def test_it_is_the_nearest_row_that_keeps_the_rules(rules):
    constraints, allowed = RULES[rules]
    explainer = NearestUnlikeExplainer(tree(), constraints=constraints).fit(X, TWO)
    explanation = explainer.explain(QUERIES)
    assert_brute_force(
        explanation, explainer, lambda said, before: said != before, allowed
    )
    assert set(explanation.status) <= {"found", "not_found", "infeasible"}
    said = explainer.estimator_.predict(X)
    for row, x in enumerate(QUERIES.to_dict("records")):
        other = said != explanation.prediction_before[row]
        missed = explanation.status[row] != "found"
        assert missed == (not brute_force(x, other, allowed))


@pytest.mark.parametrize("label", ["low", "mid", "high"])
def test_a_class_as_target(label):
    explainer = NearestUnlikeExplainer(tree(max_depth=5), target=label).fit(X, THREE)
    explanation = explainer.explain(QUERIES)
    already = explainer.estimator_.predict(QUERIES) == label
    assert ((explanation.status == "already") == already).all()
    assert_brute_force(explanation, explainer, lambda said, _: said == label, anything)


def test_opposite_is_any_other_class():
    explainer = NearestUnlikeExplainer(tree(max_depth=5)).fit(X, THREE)
    explanation = explainer.explain(QUERIES)
    assert (explanation.status == "found").all()
    assert_brute_force(explanation, explainer, lambda said, old: said != old, anything)


def test_targets_by_row_and_a_target_of_a_call():
    labels = np.resize(["high", "low", "mid"], len(QUERIES))
    explainer = NearestUnlikeExplainer(tree()).fit(X, THREE)
    said = explainer.estimator_.predict(X)
    explanation = explainer.explain(QUERIES, target=labels)
    for at, row in enumerate(explanation.row):
        x = QUERIES.to_dict("records")[row]
        (_, position), *_ = brute_force(x, said == labels[row], anything)
        assert explanation.details.train_position[at] == position
    assert (explanation.prediction == labels[explanation.row]).all()


@pytest.mark.parametrize("threshold", [0.7, 0.9])
def test_a_threshold_counts_the_probability_of_the_target(threshold):
    explainer = NearestUnlikeExplainer(forest(), target=1, threshold=threshold)
    explainer.fit(X, TWO)
    p = explainer.estimator_.predict_proba(X)[:, 1]
    inside = (explainer.estimator_.predict(X) == 1) & (p >= threshold)
    explanation = explainer.explain(QUERIES)
    assert_brute_force(explanation, explainer, lambda *_: inside, anything)
    assert (explanation.score >= threshold).all()


@pytest.mark.parametrize("low, high", [(1.5, 2.0), (None, 1.0), (2.0, None)])
def test_an_interval_of_a_regressor(low, high):
    model = behind_encoder(DecisionTreeRegressor(max_depth=6, random_state=0))
    explainer = NearestUnlikeExplainer(model, target=(low, high)).fit(X, SCORE)

    def reach(said, _):
        return (said >= (-np.inf if low is None else low)) & (
            said <= (np.inf if high is None else high)
        )

    explanation = explainer.explain(QUERIES)
    assert_brute_force(explanation, explainer, reach, anything)
    before = explainer.estimator_.predict(QUERIES)
    assert ((explanation.status == "already") == reach(before, None)).all()


def test_any_cost_decides_what_is_near():
    weights = (0.5, 4.0, 1.0)
    cost = Cost(weights=dict(zip(NAMES, weights, strict=True)))
    explainer = NearestUnlikeExplainer(tree(), cost=cost).fit(X, TWO)
    assert_brute_force(
        explainer.explain(QUERIES),
        explainer,
        lambda said, old: said != old,
        anything,
        lambda x, cf: gower(x, cf, weights),
    )


@pytest.mark.parametrize("rules", ["none", "increasing", "few"])
def test_all_distinct_rows_there_are_and_no_more(rules):
    constraints, allowed = RULES[rules]
    explainer = NearestUnlikeExplainer(tree(), constraints=constraints).fit(X, TWO)
    explanation = explainer.explain(QUERIES, n_counterfactuals=500)
    said = explainer.estimator_.predict(X)
    for row, x in enumerate(QUERIES.to_dict("records")):
        other = said != explanation.prediction_before[row]
        answers = brute_force(x, other, allowed)
        # The first of each set of changed features, then the others.
        first, later, seen = [], [], set()
        for _, i in answers:
            features = changed(x, X.iloc[i])
            (later if features in seen else first).append(i)
            seen.add(features)
        at = explanation.row == row
        assert explanation.details.train_position[at].tolist() == first + later
        assert explanation.rank[at].tolist() == list(range(len(answers)))


@pytest.mark.parametrize("k", [2, 3])
def test_equal_rows_do_not_use_up_the_answers(k):
    table = np.array([[0.0]] * 5 + [[4.0]] * 90 + [[5.0]] * 90 + [[9.0]])
    y = np.array([0] * 5 + [1] * 181)
    explainer = NearestUnlikeExplainer(DecisionTreeClassifier()).fit(table, y)
    explanation = explainer.explain([[0.0]], n_counterfactuals=k)
    assert explanation.counterfactuals[:, 0].tolist() == [4.0, 5.0, 9.0][:k]
    assert explanation.details.train_position.tolist() == [5, 95, 185][:k]


def test_of_rows_as_near_the_first_one_counts():
    table = np.array([[5.0, 5.0], [6.0, 5.0], [5.0, 4.0], [4.0, 5.0], [5.0, 6.0]])
    y = np.array([0, 1, 1, 1, 1])
    table = np.vstack([table, [[0.0, 0.0], [10.0, 10.0]]])
    y = np.append(y, [1, 1])
    for turn in range(4):
        order = [0, *np.roll([1, 2, 3, 4], turn), 5, 6]
        model = DecisionTreeClassifier(random_state=0)
        explainer = NearestUnlikeExplainer(model).fit(table[order], y[order])
        explanation = explainer.explain([[5.0, 5.0]])
        assert explanation.details.train_position.tolist() == [1]
        assert (explanation.counterfactuals == table[order][1]).all()


@pytest.mark.parametrize("k", [1, 2])
def test_a_row_on_the_boundary_does_not_hide_the_next_one(k):
    # The leaf of x = 2 holds one row of each class: predicted 0, by no margin at all.
    table = np.array([[0.0], [0.0], [2.0], [2.0], [4.0], [4.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    explainer = NearestUnlikeExplainer(DecisionTreeClassifier()).fit(table, y)
    explanation = explainer.explain([[4.0]], n_counterfactuals=k)
    assert explanation.status.tolist() == ["found"]
    assert explanation.counterfactuals[:, 0].tolist() == [0.0]


def test_labels_of_an_index_that_is_not_the_default():
    frame = X.iloc[::-1].set_axis(np.arange(len(X)) * 7 + 1000)
    explainer = NearestUnlikeExplainer(tree()).fit(frame, TWO[::-1].to_numpy())
    assert explainer.train_index_.tolist() == frame.index.tolist()
    explanation = explainer.explain(QUERIES, n_counterfactuals=2)
    told = frame.loc[explanation.details.train_index]
    assert told.to_numpy().tolist() == explanation.counterfactuals.to_numpy().tolist()
    position = explanation.details.train_position
    assert (explanation.details.train_index == position * 7 + 1000).all()


@pytest.mark.parametrize("target", ["good"])
def test_without_a_training_row_in_the_target_fit_says_so(target):
    # The class has too few rows for a leaf, so it is never predicted.
    table = np.arange(40.0)[:, None]
    y = np.where(np.arange(40) == 17, "good", "bad")
    model = DecisionTreeClassifier(min_samples_leaf=10)
    with pytest.raises(ValueError, match=f"target '{target}'.*'bad'"):
        NearestUnlikeExplainer(model, target=target).fit(table, y)


def test_rows_that_the_rules_leave_without_an_answer():
    # Of the class to reach, all rows are older than 30.
    table = pd.DataFrame({"age": [20, 25, 30, 35, 40], "cars": [0, 1, 2, 1, 0]})
    y = [0, 0, 0, 1, 1]
    rules = [within("age", high=31), fixed("cars")]
    explainer = NearestUnlikeExplainer(DecisionTreeClassifier(), constraints=rules)
    explainer.fit(table, y)
    query = table.iloc[[0, 2]]
    explanation = explainer.explain(query)
    assert explanation.status.tolist() == ["not_found", "not_found"]
    assert len(explanation.counterfactuals) == 0
    # A row with no car is there at 40; none with two cars.
    assert explanation.details.blocking_rules.tolist() == [str(rules[0]), None]
    with pytest.warns(CounterfactualNotFoundWarning, match="2 not_found"):
        pd.testing.assert_frame_equal(explainer.transform(query), query)


def test_of_two_rules_in_the_way_the_one_of_the_cheaper_answer_is_named():
    table = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 4.0], [8.0, 0.0], [9.0, 9.0]])
    y = np.array([0, 0, 1, 1, 1])
    rules = [fixed(0), fixed(1)]
    model = DecisionTreeClassifier(random_state=0)
    explainer = NearestUnlikeExplainer(model, constraints=rules).fit(table, y)
    assert explainer.estimator_.predict(table).tolist() == y.tolist()
    explanation = explainer.explain([[0.0, 0.0]])
    # [0, 4] is nearer than [8, 0], and it is the second column that it changes.
    assert explanation.details.blocking_rules.tolist() == [str(rules[1])]


def test_of_two_limits_the_other_one_holds_where_one_is_lifted():
    # One change reaches nothing, two changes are what the looser rule allows, and the
    # only way out takes three.
    table = np.array([[0.0, 0.0, 0.0], [5.0, 5.0, 0.0], [9.0, 9.0, 9.0]])
    rules = [max_changes(1), max_changes(2)]
    for last, named in ((0, str(rules[0])), (1, None)):
        y = np.array([0, 1 - last, 1])
        model = DecisionTreeClassifier(random_state=0)
        explainer = NearestUnlikeExplainer(model, constraints=rules).fit(table, y)
        explanation = explainer.explain([[0.0, 0.0, 0.0]])
        assert explanation.status.tolist() == ["not_found"]
        assert explanation.details.blocking_rules.tolist() == [named]


@pytest.mark.parametrize("rules", ["none", "fixed", "few", "follows", "two"])
def test_a_graph_gives_the_nearest_row_here_too(rules):
    pytest.importorskip("hnswlib")
    constraints, allowed = RULES[rules]
    explainer = NearestUnlikeExplainer(tree(), constraints=constraints, index="hnsw")
    explainer.fit(X, TWO)
    assert explainer._training.indexed
    # The graph offers more rows than there are: only the way to them is another one.
    assert_brute_force(
        explainer.explain(QUERIES), explainer, lambda said, old: said != old, allowed
    )


def test_a_graph_gives_about_the_nearest_of_many_rows():
    pytest.importorskip("hnswlib")
    frame, queries = table(6000, seed=2), table(60, seed=3)
    rng = np.random.default_rng(0)
    for one in (frame, queries):
        one["rate"] = rng.integers(0, 3000, len(one)) / 1000
        one["age"] = rng.integers(0, 3000, len(one))
    y = (frame["rate"] > 1.5).astype(int)
    told = {}
    for index in ("exact", "hnsw"):
        explainer = NearestUnlikeExplainer(
            tree(), index=index, constraints=fixed("job")
        ).fit(frame, y)
        told[index] = explainer.explain(queries)
        assert (told[index].status == "found").all()
    ratio = told["hnsw"].cost / told["exact"].cost
    assert (ratio >= 1 - 1e-9).all()
    assert np.mean(ratio < 1 + 1e-9) >= 0.95


@pytest.mark.parametrize("index", ["exact", "hnsw"])
def test_a_rule_that_leaves_only_far_rows(index):
    if index == "hnsw":
        pytest.importorskip("hnswlib")
    line = np.arange(3000.0)[:, None]
    explainer = NearestUnlikeExplainer(
        DecisionTreeClassifier(), constraints="cf[0] >= 2900", index=index
    ).fit(line, line[:, 0] >= 1000)
    explanation = explainer.explain([[0.0], [500.0], [2950.0]])
    # The third query is in the other class: what it is to become is not above 2900.
    assert explanation.counterfactuals[:, 0].tolist() == [2900.0, 2900.0]
    assert explanation.status.tolist() == ["found", "found", "not_found"]
