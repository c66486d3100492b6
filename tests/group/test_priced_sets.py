"""Features of a group over trees, by prices of the features, against all sets."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf.constraints import fixed, max_changes
from skcf.costs import Cost
from skcf.group import OneForOneExplainer
from skcf.group._priced_master import Master
from skcf.group._priced_sets import PricedSets
from skcf.group._priced_trees import PricedTrees, Way

pytestmark = pytest.mark.filterwarnings(
    "ignore::skcf.exceptions.CounterfactualNotFoundWarning"
)
N_FEATURES, SIZE = 4, 3
POINTS = np.array(list(product(range(SIZE), repeat=N_FEATURES)), dtype=float)


def table(seed, n_classes=2):
    random = np.random.default_rng(seed)
    X = random.integers(0, SIZE, size=(70, N_FEATURES)).astype(float)
    X[:SIZE] = np.arange(SIZE)[:, None]
    score = X @ random.normal(size=N_FEATURES) + random.normal(size=len(X))
    return X, np.digitize(
        score, np.quantile(score, np.arange(1, n_classes) / n_classes)
    )


def least(model, cost, rows, weights, price, most, n_served, may):
    """Return the least objective over all sets of features and all points."""
    after, best = model.predict(POINTS), np.inf
    share = np.sort(model.predict_proba(POINTS), axis=1)
    clear = share[:, -1] - share[:, -2] > 1e-9
    before = model.predict(rows)
    for k in range(min(most, N_FEATURES) + 1):
        for some in combinations(range(N_FEATURES), k):
            rest = [j for j in range(N_FEATURES) if j not in some]
            paid = []
            for x, label, weight in zip(rows, before, weights, strict=True):
                ok = (POINTS[:, rest] == x[rest]).all(axis=1) & clear
                ok &= (after != label) & may(x)
                costs = cost.rows(np.broadcast_to(x, POINTS[ok].shape), POINTS[ok])
                paid.append(weight * costs.min() if ok.any() else np.inf)
            best = min(best, np.sort(paid)[:n_served].sum() + price * k)
    return best


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10_000),
    price=st.sampled_from([0.0, 0.03, 0.2]),
    most=st.sampled_from([None, 1, 2]),
    n_served=st.sampled_from([3, 5]),
    n_classes=st.sampled_from([2, 3]),
    cost=st.sampled_from([Cost(l1=0, l2=1), Cost(l0=0.1, l1=1, linf=0.5)]),
    rule=st.sampled_from([(), fixed(1), max_changes(1)]),
)
def test_the_best_set_is_that_of_all_sets(
    seed, price, most, n_served, n_classes, cost, rule
):
    X, y = table(seed, n_classes)
    model = RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y)
    explainer = OneForOneExplainer(
        FrozenEstimator(model),
        group_sparsity=price,
        max_features=most or N_FEATURES,
        coverage=n_served,
        cost=cost,
        constraints=rule,
    ).fit(X)
    rows = X[3:8]
    weights = np.random.default_rng(seed).integers(0, 4, size=5) / 2

    def may(x):
        moved = POINTS != x
        if rule == ():
            return np.ones(len(POINTS), dtype=bool)
        return ~moved[:, 1] if rule == fixed(1) else moved.sum(axis=1) <= 1

    explained = explainer.explain(rows, weights=weights)
    best = least(model, explainer._cost, rows, weights, price, most or 9, n_served, may)
    told = explained.details
    assert told.objective == pytest.approx(best, abs=1e-6)
    assert told.lower_bound == pytest.approx(best, abs=1e-6)
    if np.isfinite(best):
        assert explained.optimal.all() and len(explained.row) == n_served
        paid = (weights[explained.row] * explained.cost).sum()
        assert paid + price * len(told.features) == pytest.approx(best, abs=1e-6)


class Interrupted(PricedSets):
    """A search whose time is up after so many looks at the clock."""

    looks = 0

    @property
    def expired(self):
        self.looks -= 1
        return self.looks < 0


def test_wherever_it_stops_the_bound_is_below_and_the_answer_above_the_best():
    X, y = table(7)
    model = RandomForestClassifier(12, max_depth=3, random_state=0).fit(X, y)
    explainer = OneForOneExplainer(FrozenEstimator(model), target=1).fit(X)
    rows, solver = X[model.predict(X) == 0][:4], explainer._solver
    query = explainer._open(rows, None)
    encoded = solver.encode(query.state.table)
    goals = [query.goal.take(np.array([i])) for i in range(4)]
    ended = []
    for looks in (0, 3, 5, 8, 12, 20, 40, 10_000):
        priced = [
            PricedTrees(solver, *parts, 1.0, lambda codes: model.predict(codes) == 1)
            for parts in zip(query.state.codes, encoded, goals, strict=True)
        ]
        search = Interrupted(priced, 0.05, None, 4, N_FEATURES)
        search.looks = looks
        ended.append(search.solve())
    best = ended[-1].total
    assert ended[-1].bound == best < np.inf
    assert all(e.bound <= best + 1e-9 <= e.total + 2e-9 for e in ended)
    assert all(np.isfinite(e.total) for e in ended)


@pytest.mark.parametrize("seed", range(3))
def test_no_prices_bound_more_than_the_best_choice(seed):
    random = np.random.default_rng(seed)
    n_rows, n_features, price, n_served = 4, 3, 0.3, 3
    master = Master(price, 2, n_served, n_rows, n_features, 100.0)
    sets = np.array(list(product([False, True], repeat=n_features)))
    for s in range(n_rows):
        for changed in sets[1:]:
            master.add(s, Way(np.zeros(n_features), changed, random.random()))
    best = min(master.within(changed)[0] for changed in sets)
    nothing = np.zeros(n_features, dtype=bool)
    chosen = master.chosen(nothing, nothing)
    assert master.within(chosen)[0] == pytest.approx(best)
    value, _, prices, _ = master.relaxed(nothing, nothing)
    assert value <= best + 1e-9
    for factor in (0.0, 0.5, 1.0, 2.0):
        trial = factor * prices + 0.1 * random.random(prices.shape)
        values = np.array(
            [master.cheapest(s, trial[s], ~nothing) for s in range(n_rows)]
        )
        assert master.bound(values, trial, nothing, nothing) <= value + 1e-9
    values = np.array([master.cheapest(s, prices[s], ~nothing) for s in range(n_rows)])
    bound = master.bound(values, prices, nothing, nothing)
    assert bound == pytest.approx(value, abs=1e-7)
