"""The population of the genetic search: its order, its draws and what it never does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier

from skcf._model import Meter
from skcf._search import GeneticSearch, Pool, Problem, finish, rank_in_row
from skcf.constraints import fixed, increasing, max_changes, within
from skcf.constraints._ground import Ground
from skcf.tabular import GeCoExplainer

FEW = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def table(n=150, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, p)) / 4
    score = X[:, 0] + X[:, 1] - X[:, 2]
    return X, (score > np.quantile(score, 0.6)).astype(int)


X, Y = table()
QUERIES = X[Y == 0][:12]


class Recorder(Problem):
    """A problem that writes down what it scores, lot by lot."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.lots = []

    def score(self, cands, cost=None):
        pool = super().score(cands, cost)
        self.lots.append((cands.row.copy(), cands.codes(self.x, self.values), pool))
        return pool

    def scored(self, row):
        """Return the points scored for a query, in order."""
        return [
            tuple(point)
            for rows, codes, _ in self.lots
            for point in codes[rows == row].tolist()
        ]


def explainer_of(constraints=()):
    model = RandomForestClassifier(11, max_depth=5, random_state=0)
    return GeCoExplainer(model, constraints=constraints, random_state=0).fit(X, Y)


EXPLAINER = explainer_of()


def problem_of(explainer, queries, meter=None, **params):
    query = explainer._open(queries, None)
    state = query.state
    return Recorder(
        state.codes,
        state.table,
        Ground(state.rules, state.codes),
        explainer._cost,
        explainer._model,
        query.goal,
        state.seed,
        meter or Meter(),
        **params,
    )


def search(
    explainer, problem, q=30, k=3, mutate="best", max_generations=4, rescue=True
):
    genetic = GeneticSearch(
        problem,
        q=q,
        k=k,
        m_init=6,
        m_mut=3,
        mutate=mutate,
        max_generations=max_generations,
        rescue=explainer._unlike if rescue else None,
    )
    return genetic.run(np.arange(len(problem)))


# -- ranks -------------------------------------------------------------------------


@FEW
@given(st.lists(st.integers(0, 6)))
def test_the_rank_of_an_entry_counts_its_row_before_it(rows):
    expected = [rows[:i].count(row) for i, row in enumerate(rows)]
    assert rank_in_row(np.array(rows, dtype=np.intp)).tolist() == expected


# -- the order of a population -----------------------------------------------------


def fitness_of(problem, pool):
    """Return validity and fitness of candidates by their definitions."""
    codes = pool.cands.codes(problem.x, problem.values)
    x = problem.x[pool.row]
    cost = np.mean(np.abs(codes - x) / np.ptp(X, axis=0), axis=1)
    forest = EXPLAINER.estimator_
    before = forest.predict(x)
    p = forest.predict_proba(codes)[np.arange(len(codes)), 1 - before]
    valid = 2 * p - 1 > 1e-9
    return codes, valid, np.where(valid, cost, cost + 1 - p)


@pytest.mark.parametrize("mutate", ["best", "all"])
@pytest.mark.parametrize("max_generations", [0, 1, 5])
def test_a_population_is_sorted_by_validity_then_fitness(mutate, max_generations):
    problem = problem_of(EXPLAINER, QUERIES)
    pool = search(EXPLAINER, problem, mutate=mutate, max_generations=max_generations)
    codes, valid, fitness = fitness_of(problem, pool)
    assert (pool.valid == valid).all()
    assert (np.diff(pool.row) >= 0).all()
    assert np.bincount(pool.row, minlength=len(QUERIES)).max() <= 30
    assert valid.any() and not valid.all()
    n_changed = (codes != problem.x[pool.row]).sum(axis=1)
    assert (n_changed > 0).all()
    n_ties = 0
    for i in range(len(pool) - 1):
        if pool.row[i] != pool.row[i + 1]:
            continue
        assert valid[i] >= valid[i + 1]
        if valid[i] != valid[i + 1]:
            continue
        assert fitness[i] <= fitness[i + 1] + 2e-9
        if abs(fitness[i] - fitness[i + 1]) < 1e-12:
            n_ties += 1
            assert n_changed[i] <= n_changed[i + 1]
    assert n_ties or not max_generations


@pytest.mark.parametrize("shuffle", range(4))
def test_ties_go_to_fewer_changes_then_to_smaller_codes(shuffle):
    # Ranges are equal: of these, all cost the same where their sums do.
    corners = np.array([[0.0, 0.0, 0.0], [8.0, 8.0, 8.0]])
    rows = np.vstack([corners, np.indices((5, 5, 5)).reshape(3, -1).T])
    y = (rows.sum(axis=1) >= 2).astype(int)
    model = RandomForestClassifier(5, random_state=0, bootstrap=False)
    explainer = GeCoExplainer(model, random_state=0).fit(rows, y)
    query = np.zeros((1, 3))
    problem = problem_of(explainer, query)
    points = [p for p in rows.tolist() if 2 <= sum(p) <= 3]
    np.random.default_rng(shuffle).shuffle(points)
    cands = problem.ground.towards(np.zeros(len(points), np.intp), np.array(points))
    pool = problem.score(cands)
    pool = pool.take(pool.valid)
    pool = problem.best(pool, len(pool))
    got = pool.cands.codes(problem.x, problem.values).tolist()

    def key(point):
        changes = [(j, v) for j, v in enumerate(point) if v]
        return sum(point), len(changes), changes

    assert len(got) == len(points) == 16
    assert got == sorted(got, key=key)
    first = problem.best_of_each(pool).cands.codes(problem.x, problem.values).tolist()
    sets = {}
    for point in sorted(got, key=key):
        sets.setdefault(tuple(v > 0 for v in point), point)
    assert first == list(sets.values())


# -- what is scored ----------------------------------------------------------------

RULES = {
    "none": ([], lambda x, cf: True),
    "filters": (
        [increasing(0), within(1, low=2.0, high=7.5), fixed(3)],
        lambda x, cf: cf[0] >= x[0] and 2 <= cf[1] <= 7.5 and cf[3] == x[3],
    ),
    "joint": (
        ["changed(2) => cf[3] > x[3]", "cf[0] + cf[1] <= 16"],
        lambda x, cf: (cf[2] == x[2] or cf[3] > x[3]) and cf[0] + cf[1] <= 16,
    ),
    "few": ([max_changes(2)], lambda x, cf: np.sum(np.array(cf) != x) <= 2),
}


@pytest.mark.parametrize("mutate", ["best", "all"])
@pytest.mark.parametrize("rules", RULES)
def test_no_point_is_scored_twice_and_all_keep_the_rules(rules, mutate):
    constraints, holds = RULES[rules]
    explainer = explainer_of(constraints)
    problem = problem_of(explainer, QUERIES)
    pool = search(explainer, problem, mutate=mutate)
    assert len(pool) > len(QUERIES)
    for row in range(len(QUERIES)):
        x = problem.x[row]
        origin, *children = problem.scored(row)
        assert origin == tuple(x)
        assert len(set(children)) == len(children) > 10
        assert origin not in children
        for child in children:
            assert holds(x, child), (x, child)


@pytest.mark.parametrize("rules", RULES)
def test_the_finish_breaks_no_rule_and_makes_nothing_dearer(rules):
    constraints, holds = RULES[rules]
    explainer = explainer_of(constraints)
    problem = problem_of(explainer, QUERIES)
    rows = np.arange(len(QUERIES))
    pool = search(explainer, problem)
    before = len(problem.lots)
    least = problem.least_cost(pool)
    pool = finish(problem, pool, rows, 3)
    assert len(problem.lots) > before
    assert pool.valid.all()
    assert (problem.least_cost(pool) <= least + 1e-12).all()
    assert np.bincount(pool.row).max() <= 3
    for row in rows:
        x, points = problem.x[row], problem.scored(row)[1:]
        assert all(holds(x, point) for point in points)


@pytest.mark.parametrize("most", [1, 5, 40])
def test_no_query_has_more_scored_than_its_budget(most):
    problem = problem_of(EXPLAINER, QUERIES, max_evaluations=most)
    pool = search(EXPLAINER, problem)
    pool = finish(problem, pool, np.arange(len(QUERIES)), 3)
    n_scored = np.zeros(len(QUERIES), dtype=int)
    for rows, _, lot in problem.lots:
        np.add.at(n_scored, rows[lot.margin > -np.inf], 1)
    assert (n_scored == most).all() and (problem.n_scored == most).all()
    assert problem.cut.all()
    assert (pool.margin > 0).all()


def test_what_is_dearer_than_the_bound_is_not_scored():
    problem = problem_of(EXPLAINER, QUERIES)
    search(EXPLAINER, problem, k=2, rescue=False)
    # The origin and the first generation are scored whatever they cost.
    pool = Pool.concat([lot for _, _, lot in problem.lots[:2]])
    n_bound = 0
    for _, _, lot in problem.lots[2:]:
        for row in range(len(QUERIES)):
            known = np.sort(pool.cost[(pool.row == row) & pool.valid])
            bound = known[1] if len(known) > 1 else np.inf
            costs = lot.cost[lot.row == row]
            assert (costs < bound).all()
            n_bound += len(costs) and np.isfinite(bound)
        pool = Pool.concat([pool, lot])
    assert n_bound > 5


# -- draws -------------------------------------------------------------------------


@pytest.mark.parametrize("low", [None, 3.0])
@pytest.mark.parametrize("own", [0.0, 4.0, 9.0])
def test_values_are_drawn_by_frequency(own, low):
    rng = np.random.default_rng(0)
    values = np.repeat(np.arange(10.0), [1, 20, 3, 7, 40, 2, 11, 5, 30, 6])
    rows = np.column_stack([values, rng.permutation(values)])
    y = (values > 4).astype(int)
    rules = [] if low is None else [within(0, low=low)]
    explainer = GeCoExplainer(
        RandomForestClassifier(3, random_state=0), constraints=rules, random_state=0
    ).fit(rows, y)
    ground = problem_of(explainer, np.array([[own, 1.0]] * 3)).ground
    drawn = ground.sets[0].draw(np.array([0, 1, 2, 1]), rng.random((4, 3000)))
    seen, count = np.unique(ground.values.code_of(drawn.ravel()), return_counts=True)
    possible = values[(values != own) & (values >= (-np.inf if low is None else low))]
    expected, frequency = np.unique(possible, return_counts=True)
    assert seen.tolist() == expected.tolist()
    share = frequency / frequency.sum() * drawn.size
    assert chisquare(count, share).pvalue > 1e-3


def test_the_first_generation_is_drawn_by_frequency():
    # Of the weight that a query draws from, one value has a little more than half.
    rng = np.random.default_rng(0)
    column = np.append(np.arange(40.0), np.full(40, 17.0))
    rows = np.column_stack([column, rng.permutation(80) / 1.0])
    y = (rows.sum(axis=1) > 60).astype(int)
    model = RandomForestClassifier(3, random_state=0)
    explainer = GeCoExplainer(model, random_state=0).fit(rows, y)
    others = np.delete(np.arange(40.0), 17)
    queries = np.array([[a, b] for a in others for b in range(15)])
    problem = problem_of(explainer, queries)
    search(explainer, problem, max_generations=0, rescue=False)
    drawn = []
    for row, x in enumerate(queries):
        mine = [cf[0] for cf in problem.scored(row) if cf[0] != x[0]]
        # It fills at least two of six strata, and touches at most five.
        assert 17.0 in mine and 2 <= len(mine) <= 5
        drawn += [v for v in mine if v != 17.0]
    # One stratum a draw: each of the others is drawn with chance 6 / 79.
    share = 6 / 79 * (len(queries) - 15)
    count = np.array([drawn.count(v) for v in others])
    assert ((count - share) ** 2 / share).sum() < 75  # 0.999 quantile at 39 is 72


@pytest.mark.parametrize("mutate", ["best", "all"])
@pytest.mark.parametrize("rules", RULES)
def test_what_is_scored_for_a_row_hangs_on_the_row_alone(rules, mutate):
    explainer = explainer_of(RULES[rules][0])

    def run(queries):
        """Return the points of the search, and all those of the finish, by query."""
        problem = problem_of(explainer, queries)
        pool = search(explainer, problem, mutate=mutate)
        searched = [sorted(problem.scored(row)) for row in range(len(problem))]
        problem.lots.clear()
        finish(problem, pool, np.arange(len(problem)), 3)
        return searched, [set(problem.scored(row)) for row in range(len(problem))]

    whole, turned = run(QUERIES), run(QUERIES[::-1])
    for row in range(len(QUERIES)):
        alone = run(QUERIES[row : row + 1])
        for some, of_whole, of_turned in zip(alone, whole, turned, strict=True):
            assert some == [of_whole[row]] == [of_turned[-1 - row]]


def test_the_evaluations_of_a_row_do_not_grow_with_the_batch():
    whole = problem_of(EXPLAINER, QUERIES)
    finish(whole, search(EXPLAINER, whole), np.arange(len(QUERIES)), 3)
    for row in range(len(QUERIES)):
        alone = problem_of(EXPLAINER, QUERIES[row : row + 1])
        finish(alone, search(EXPLAINER, alone), np.arange(1), 3)
        assert whole.n_scored[row] == alone.n_scored[0]


def test_other_generations_draw_other_values():
    # Nothing that is reachable is valid, so that every generation has to draw again.
    explainer = explainer_of([within(0, high=0.5), within(1, high=0.5)])
    problem = problem_of(explainer, QUERIES[QUERIES[:, 0] < 3])
    search(explainer, problem, max_generations=1, rescue=False)
    short = [set(problem.scored(row)) for row in range(len(problem))]
    again = problem_of(explainer, QUERIES[QUERIES[:, 0] < 3])
    search(explainer, again, max_generations=4, rescue=False)
    for row, points in enumerate(short):
        more = set(again.scored(row))
        assert points < more


# -- little time -------------------------------------------------------------------


class Brief(Meter):
    """A meter whose time is up after so many rows; it knows no clock."""

    def __init__(self, most):
        super().__init__(deadline=np.inf, share=1e-12)
        self.most = most

    @property
    def expired(self):
        self.cut |= self.n_rows >= self.most
        return self.cut


class Asked(BaseEstimator, ClassifierMixin):
    """A model of which nothing is known but what it says."""

    def __init__(self, model=None):
        self.model = model

    def fit(self, X, y):
        self.model_ = clone(self.model).fit(X, y)
        self.classes_, self.n_features_in_ = self.model_.classes_, X.shape[1]
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)


def test_with_little_time_every_query_gets_a_training_row():
    explainer = GeCoExplainer(Asked(RandomForestClassifier(5, random_state=0)))
    explainer.fit(X, Y)
    assert explainer._model.view is None
    problem = problem_of(explainer, QUERIES, meter=Brief(3 * len(QUERIES)))
    pool = search(explainer, problem)
    assert set(pool.row[pool.valid]) == set(range(len(QUERIES)))
    assert problem.meter.n_rows == 3 * len(QUERIES)
