"""What is claimed of all changes of one and two features, against looking at them."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf._search._complete import cheap_pairs
from skcf.constraints import increasing, max_changes, together, within
from skcf.costs import Cost
from skcf.tabular import GeCoExplainer

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
RNG = np.random.default_rng(0)
X = RNG.integers(0, 6, (120, 4)).astype(float)
Y = (X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] > 16).astype(int)
FOREST = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X, Y)
QUERIES = X[FOREST.predict(X) == 0][:25]
RULES = [
    (),
    [increasing(0), within(1, 1, 4)],
    ["cf[0] > x[0] => cf[1] >= x[1] + 1", "cf[2] + cf[3] <= 8"],
    [together(0, 1), max_changes(2)],
    [max_changes(1)],
]
COSTS = ["gower", "geco", Cost(l2=1.0, linf=0.5, up={0: 3.0}, weights={2: 2.0})]


class Bare(ClassifierMixin, BaseEstimator):
    """A model of which nothing is known but what it says."""

    def __init__(self, model):
        self.model = model
        self.classes_, self.n_features_in_ = model.classes_, 4

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return self.model.predict(np.asarray(X, dtype=float))

    def predict_proba(self, X):
        return self.model.predict_proba(np.asarray(X, dtype=float))


def changes_of(explainer, x, n_features):
    """Return all lawful rows that change so many features to observed values."""
    space, rules = explainer._space, explainer._rules
    rows = []
    for groups in combinations(range(len(space.groups)), n_features):
        some = x[None]
        for g in groups:
            table = space.values.table(g)
            some = np.repeat(some, len(table), axis=0)
            some[:, list(space.groups[g])] = np.resize(
                table, (len(some), table.shape[1])
            )
        rows.append(some)
    rows = np.concatenate(rows)
    n_changed = explainer._cost.n_changed(x, rows)
    return rows[
        (n_changed == n_features) & rules.holds(np.tile(x, (len(rows), 1)), rows)
    ]


def cheapest(explainer, x, n_features):
    rows = changes_of(explainer, x, n_features)
    if not len(rows):
        return np.inf
    cost = explainer._cost.rows(x, rows)
    return cost[FOREST.predict(rows) == 1].min(initial=np.inf)


@pytest.mark.parametrize("cost", COSTS, ids=["gower", "geco", "norms"])
@pytest.mark.parametrize("constraints", RULES, ids=str)
def test_no_change_that_is_said_to_be_tried_is_cheaper(constraints, cost):
    # A search that hardly looks leaves it to the completion.
    explainer = GeCoExplainer(
        FrozenEstimator(FOREST),
        constraints=constraints,
        cost=cost,
        random_state=0,
        q=1,
        m_init=1,
        max_generations=0,
    ).fit(X, Y)
    explanation = explainer.explain(QUERIES)
    level = explanation.details.complete_changes
    assert level.dtype == np.intp and len(level) == len(QUERIES)
    found = dict(zip(explanation.row, explanation.cost, strict=True))
    n_checked = 0
    for i, x in enumerate(QUERIES):
        for n_features in range(1, level[i] + 1):
            n_checked += 1
            best = cheapest(explainer, x, n_features)
            assert found.get(i, np.inf) <= best + 1e-9
        assert (level[i] == 2) <= (explanation.status[i] == "found")
    assert n_checked > len(QUERIES)


def test_a_claim_needs_a_search_to_its_end():
    model = FrozenEstimator(FOREST)
    off = GeCoExplainer(model, finish=False, random_state=0).fit(X, Y)
    assert (off.explain(QUERIES).details.complete_changes == 0).all()
    few = GeCoExplainer(model, max_evaluations=8, random_state=0).fit(X, Y)
    explanation = few.explain(QUERIES)
    level = explanation.details.complete_changes
    assert (level < 2).all()
    for i in np.flatnonzero(level == 1):
        cost = explanation.cost[explanation.row == i].min(initial=np.inf)
        assert cost <= cheapest(few, QUERIES[i], 1) + 1e-9
    already = GeCoExplainer(model, target=1, random_state=0).fit(X, Y)
    rows = X[FOREST.predict(X) == 1][:3]
    assert (already.explain(rows).details.complete_changes == 0).all()


def test_a_model_that_is_asked_itself_is_asked_for_few_changes_more():
    explainer = GeCoExplainer(FrozenEstimator(Bare(FOREST)), random_state=0).fit(X, Y)
    assert explainer._model.view is None
    explanation = explainer.explain(QUERIES)
    level = explanation.details.complete_changes
    assert (level >= 1).any()
    for i in np.flatnonzero(level):
        cost = explanation.cost[explanation.row == i].min(initial=np.inf)
        for n_features in range(1, level[i] + 1):
            assert cost <= cheapest(explainer, QUERIES[i], n_features) + 1e-9


def test_an_answer_that_a_judge_turns_down_takes_its_claim_along():
    explainer = GeCoExplainer(FrozenEstimator(FOREST), random_state=0).fit(X, Y)
    before = explainer.explain(QUERIES)
    assert (before.details.complete_changes == 2).any()
    first = {tuple(row) for row in before.counterfactuals}
    judge = explainer._reached

    def strict(query, row, table):
        valid, *rest = judge(query, row, table)
        return valid & [tuple(r) not in first for r in table.tolist()], *rest

    explainer._reached = strict
    assert (explainer.explain(QUERIES).details.complete_changes == 0).all()


@FEW
@given(seed=st.integers(0, 2**32 - 1), most=st.integers(1, 12))
def test_pairs_are_listed_where_they_are_cheap_and_few(seed, most):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(4), 3)
    begin = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 5))])
    ids = rng.integers(0, len(group), begin[-1])
    largest = rng.random(len(ids)) / 2 * (seed % 2)
    cost = largest + rng.random(len(ids))
    for a, b in zip(begin[:-1], begin[1:], strict=True):
        order = a + np.argsort(cost[a:b])
        cost[a:b], largest[a:b] = cost[order], largest[order]
    limit = rng.random(5) * 2
    size, pairs = cheap_pairs(begin, ids, cost, largest, group, limit, most)
    told = iter(pairs.reshape(-1, 2).tolist())
    for r, (a, b) in enumerate(zip(begin[:-1], begin[1:], strict=True)):
        truth = [
            sorted((ids[i], ids[j]), key=lambda v: group[v])
            for i, j in combinations(range(a, b), 2)
            if group[ids[i]] != group[ids[j]]
            and cost[i] + cost[j] - min(largest[i], largest[j]) < limit[r]
        ]
        if len(truth) > most:
            assert size[r] == -1
        else:
            assert [next(told) for _ in range(size[r])] == truth
    assert not list(told)
