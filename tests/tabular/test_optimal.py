from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skcf.constraints import fixed, increasing, max_changes, rule
from skcf.costs import Cost
from skcf.tabular import GeCoExplainer, OptimalExplainer, blocking_rules
from tests.tabular.enumerated import World


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        120, 5, n_informative=3, n_redundant=0, random_state=0, class_sep=0.7
    )
    return np.round(X, 2), y


@pytest.fixture(scope="module")
def forest(data):
    model = RandomForestClassifier(15, max_depth=4, random_state=0).fit(*data)
    return FrozenEstimator(model)


def fitted(estimator, data, **params):
    return OptimalExplainer(estimator, **params).fit(*data)


# -- what is proved -------------------------------------------------------------------


def test_every_answer_is_proved_and_no_heuristic_undercuts_it(data, forest):
    explanation = fitted(forest, data).explain(data[0][:20])
    assert (explanation.status == "found").all() and explanation.optimal.all()
    np.testing.assert_allclose(explanation.lower_bound, explanation.cost, atol=1e-9)
    heuristic = GeCoExplainer(forest, random_state=0).fit(*data).explain(data[0][:20])
    cheapest = np.full(20, np.inf)
    cheapest[heuristic.row] = heuristic.cost
    assert (explanation.cost <= cheapest + 1e-9).all()


def test_a_row_without_a_way_out_is_infeasible_with_an_infinite_bound():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    tree = DecisionTreeClassifier()
    explanation = fitted(tree, (X, y), constraints=["cf[0] <= 0"]).explain(X[:1])
    assert explanation.status[0] == "infeasible"
    assert explanation.lower_bound[0] == np.inf and not len(explanation.cost)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearSVC(),
        MLPClassifier((6,), max_iter=60, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_linear_models_and_networks_are_proved_too(data, model):
    X, y = data
    explanation = fitted(model, (X[:, :3], y)).explain(X[:2, :3])
    assert explanation.optimal.all() and (explanation.status == "found").all()
    np.testing.assert_allclose(explanation.lower_bound, explanation.cost, rtol=1e-5)


def test_a_rule_between_fine_numbers_is_honoured_by_the_program():
    X, y = make_classification(
        60, 3, n_informative=3, n_redundant=0, random_state=1, class_sep=0.5
    )
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    explainer = OptimalExplainer(
        FrozenEstimator(tree), constraints=["cf[0] + cf[1] <= x[0] + x[1]"]
    ).fit(X, y)
    explanation = explainer.explain(X[:4])
    before, after = X[explanation.row], explanation.counterfactuals
    assert (after[:, :2].sum(axis=1) <= before[:, :2].sum(axis=1) + 1e-9).all()
    free = OptimalExplainer(FrozenEstimator(tree)).fit(X, y).explain(X[:4])
    assert explanation.optimal.all()
    assert (explanation.cost >= free.cost[explanation.row] - 1e-9).all()


# -- resolution -----------------------------------------------------------------------


def test_without_a_resolution_the_answer_is_the_float_beyond_the_threshold():
    X = np.array([[0.1], [0.3], [0.7], [0.9]])
    tree = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    found = OptimalExplainer(FrozenEstimator(tree), resolution=None).fit(X).transform(X)
    up, down = found[0, 0], found[2, 0]
    assert tree.predict([[up]])[0] == 1 and tree.predict([[down]])[0] == 0
    assert tree.predict([[np.nextafter(up, -1)]])[0] == 0
    assert tree.predict([[np.nextafter(down, 1)]])[0] == 1


def test_integers_stay_integers():
    X = pd.DataFrame({"n": [1, 2, 7, 9], "f": [0.5, 0.25, 0.5, 0.25]})
    explainer = OptimalExplainer(DecisionTreeClassifier(random_state=0))
    found = explainer.fit(X, [0, 0, 1, 1]).transform(X[:1])
    assert found["n"].dtype == "int64" and found["n"].iloc[0] == 5


def test_a_missing_value_can_stay_or_be_given_up():
    X = np.array([[np.nan, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0], [np.nan, 0.0]] * 8)
    y = np.array([0, 0, 1, 1, 0] * 8)
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=2)
    explanation = fitted(model, (X, y)).explain(X[:1])
    assert explanation.optimal.all()
    stays = fitted(model, (X, y), constraints=[fixed(0)]).explain(X[:1])
    if len(stays.cost):
        assert np.isnan(stays.counterfactuals[0, 0])
        assert stays.cost[0] >= explanation.cost[0] - 1e-12


# -- several answers ------------------------------------------------------------------


def test_a_further_answer_spares_something_that_each_earlier_one_changes(data, forest):
    explanation = fitted(forest, data).explain(data[0][:6], n_counterfactuals=4)
    for i in range(6):
        mine = explanation.row == i
        cf, cost = explanation.counterfactuals[mine], explanation.cost[mine]
        changed = [set(np.flatnonzero(row != data[0][i])) for row in cf]
        assert (np.diff(cost) >= -1e-12).all()
        for b in range(len(changed)):
            assert not any(changed[a] <= changed[b] for a in range(b))


# -- targets and costs ----------------------------------------------------------------


def test_pareto_gets_dearer_with_certainty_and_keeps_it(data, forest):
    thresholds = [0.5, 0.6, 0.7, 0.8, 1.0]
    front = fitted(forest, data).pareto(data[0][:1], thresholds)
    found = front.status == "found"
    assert found[:3].all() and front.optimal[found].all()
    assert (np.diff(front.cost[found]) >= -1e-12).all()
    assert (front.score[found] >= np.array(thresholds)[found] - 1e-12).all()
    assert np.isinf(front.lower_bound[front.status == "infeasible"]).all()


def test_pareto_says_what_it_needs(data, forest):
    explainer = fitted(forest, data)
    with pytest.raises(ValueError, match=r"in \(0, 1\]"):
        explainer.pareto(data[0][:1], [1.5])
    with pytest.raises(ValueError, match="one row, got 2"):
        explainer.pareto(data[0][:2], [0.5])
    regressor = fitted(DecisionTreeRegressor(), data, target=(0.5, None))
    with pytest.raises(ValueError, match="predict_proba"):
        regressor.pareto(data[0][:1], [0.5])


def test_lexicographic_costs_change_as_few_features_as_possible(data, forest):
    cost = Cost(l0=100.0, l1=1.0)
    least = fitted(forest, data, cost=cost).explain(data[0][:8])
    limited = fitted(forest, data, constraints=[max_changes(1)]).explain(data[0][:8])
    alone = np.zeros(8, dtype=bool)
    alone[limited.row] = True
    assert ((least.n_changed == 1) == alone).all()


# -- plausibility ---------------------------------------------------------------------


def test_plausible_answers_are_as_hard_to_isolate_as_training_rows(data, forest):
    explainer = fitted(forest, data, plausibility=0.3, random_state=0)
    explanation = explainer.explain(data[0][:4])
    isolation = explainer.isolation_forest_
    least = np.quantile(isolation.score_samples(data[0]), 0.3, method="lower")
    said = isolation.score_samples(explanation.counterfactuals)
    assert (said >= least - 1e-9).all() and explanation.optimal.all()
    free = fitted(forest, data).explain(data[0][:4])
    assert (explanation.cost >= free.cost[explanation.row] - 1e-9).all()
    assert (isolation.score_samples(free.counterfactuals) < least - 1e-9).any()


def test_plausibility_needs_trees_and_complete_rows(data):
    with pytest.raises(ValueError, match="for trees"):
        fitted(LogisticRegression(), data, plausibility=0.1)
    X = data[0].copy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="missing"):
        fitted(
            HistGradientBoostingClassifier(max_iter=2), (X, data[1]), plausibility=0.1
        )


# -- time, callback, refusals ---------------------------------------------------------


def test_callback_is_told_of_every_row(data, forest):
    heard = []
    explainer = fitted(forest, data)
    explanation = explainer.explain(
        data[0][5:8], callback=lambda *told: heard.append(told)
    )
    last = {row: (cost, bound) for row, cost, bound in heard}
    assert sorted(last) == [0, 1, 2]
    for row, cost in zip(explanation.row, explanation.cost, strict=True):
        np.testing.assert_allclose(last[row], cost, atol=1e-9)


def test_rows_that_the_time_does_not_reach_are_told_so(data, forest):
    many = np.repeat(data[0], 20, axis=0)
    explanation = fitted(forest, data, time_limit=0.2).explain(many)
    late = explanation.status == "budget"
    assert late.any() and np.isnan(explanation.lower_bound[late][-1])


def test_a_time_limit_keeps_bounds_true(data, forest):
    exact = fitted(forest, data).explain(data[0][:6])
    hurried = fitted(forest, data, time_limit=0.05).explain(data[0][:6])
    bound = hurried.lower_bound
    assert (np.isnan(bound) | (bound <= exact.cost + 1e-9)).all()
    assert (hurried.cost >= exact.cost[hurried.row] - 1e-9).all()


def test_black_boxes_are_refused_with_what_can_be_proved(data):
    with pytest.raises(TypeError, match="trees and ensembles of trees.*KNeighbors"):
        fitted(KNeighborsClassifier(), data)


# -- blocking rules -------------------------------------------------------------------


@pytest.fixture(scope="module")
def blocked():
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 4)
    y = ((X[:, 0] == 1) | (X[:, 1] == 1)).astype(int)
    rules = [fixed(0), "cf[1] <= x[1]", increasing(2), max_changes(1)]
    explainer = OptimalExplainer(DecisionTreeClassifier(), target=1, constraints=rules)
    return explainer.fit(X.astype(float), y)


def test_blocking_rules_are_the_fewest_to_lift(blocked):
    result = blocking_rules(blocked, [[0.0, 0.0, 0.0]])
    assert len(result.rules) == 1 and result.proved
    assert result.explanation.status[0] == "found"
    # One of the two, and the proof is that both together leave no way out.
    texts = [{str(r) for r in conflict} for conflict in result.conflicts]
    assert texts == [{"cf[0] == x[0]", "cf[1] <= x[1]"}]


def test_blocking_rules_agree_with_trying_all_sets():
    world = World("forest", seed=4)
    tried = 0
    for _ in range(12):
        case = world.case("l1", n_rules=3)
        if case is None or len(case.costs):
            continue
        words = [max_changes(int(w[12])) if w[:3] == "max" else w for w in case.rules]
        rules = list(dict.fromkeys(map(str, words)))
        words = [rule(r) if isinstance(r, str) else r for r in dict.fromkeys(rules)]
        explainer = OptimalExplainer(
            FrozenEstimator(world.model),
            target=case.target,
            threshold=case.threshold,
            constraints=words,
        ).fit(world.X, world.y)
        result = blocking_rules(explainer, case.query)
        least = _fewest(world, case, words)
        tried += 1
        assert (None if result.rules is None else len(result.rules)) == least
    assert tried


def _fewest(world, case, words):
    """Return the size of a smallest set of rules to lift, by trying all of them."""
    for size in range(len(words) + 1):
        for lifted in combinations(range(len(words)), size):
            explainer = OptimalExplainer(
                FrozenEstimator(world.model),
                target=case.target,
                threshold=case.threshold,
                constraints=[w for i, w in enumerate(words) if i not in lifted],
            ).fit(world.X, world.y)
            if explainer.explain(case.query).status[0] == "found":
                return size
    return None


def test_a_row_with_a_way_out_has_nothing_to_lift(data, forest):
    explainer = fitted(forest, data, constraints=[increasing(0)])
    result = blocking_rules(explainer, data[0][:1])
    assert result.rules == () and result.conflicts == []


def test_no_rules_to_lift_where_no_class_is_left():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 0])
    tree = DecisionTreeClassifier().fit(X, y)
    explainer = OptimalExplainer(FrozenEstimator(tree), constraints=[increasing(0)])
    result = blocking_rules(explainer.fit(X, y), X[:1])
    assert result.rules is None and result.explanation.status[0] == "infeasible"


def test_blocking_rules_ask_for_a_proof(data, forest):
    heuristic = GeCoExplainer(forest).fit(*data)
    with pytest.raises(TypeError, match="OptimalExplainer"):
        blocking_rules(heuristic, data[0][:1])
