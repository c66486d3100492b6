import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

from skcf._model import Meter
from skcf._search import Problem
from skcf._search._single import N_SINGLE, single_changes
from skcf._space import Candidates
from skcf.constraints._ground import Ground
from skcf.tabular import GeCoExplainer

X = np.random.default_rng(0).random((300, 3)).round(4)
Y = (X[:, 0] + X[:, 1] > 1).astype(int)
MODEL = LogisticRegression().fit(X, Y)
RULE = "cf[0] > x[0] => cf[1] >= x[1] + 0.01"


def problem_of(constraints=(), cost="gower"):
    explainer = GeCoExplainer(MODEL, constraints=constraints, cost=cost).fit(X, Y)
    query = explainer._open(X[MODEL.predict(X) == 0][:8], None)
    state = query.state
    ground = Ground(state.rules, state.codes)
    return Problem(
        state.codes, state.table, ground, explainer._cost, explainer._model,
        query.goal, state.seed, Meter(),
    )  # fmt: skip


def changes_of(problem, bound):
    """Return the pool of the single changes that cost less than the bound."""
    rows = np.arange(len(problem))
    start = problem.score(Candidates.unchanged(rows))
    pool = single_changes(problem, start, rows, np.full(len(rows), bound))
    return pool.take(slice(len(start), None))


@pytest.mark.parametrize("cost, bound", [("gower", 0.1), ("geco", 0.6)])
@pytest.mark.parametrize("rules", [(), (RULE,)], ids=["free", "rule"])
def test_what_a_change_brings_along_counts(rules, cost, bound):
    problem = problem_of(rules, cost)
    pool = changes_of(problem, bound)
    assert (pool.cands.n_changed > 1).any() == bool(rules)
    assert_array_equal(pool.cost, problem.cost_of(pool.cands))
    assert (pool.cost < bound).all() and problem.ground.mask(pool.cands).all()


def test_of_many_changes_some_are_scored_the_cheapest_first():
    few, many = changes_of(problem_of(), 0.02), changes_of(problem_of(), np.inf)
    assert (np.bincount(few.row) < N_SINGLE).all()
    assert (np.bincount(many.row) == N_SINGLE).all()
    assert (np.diff(many.cost)[np.diff(many.row) == 0] >= 0).all()
    group = many.cands.value[:, 0] // 300
    shares = [np.bincount(group[many.row == r]) for r in range(8)]
    assert (np.ptp(shares, axis=1) <= 20).all()


def test_where_nothing_is_cheaper_nothing_is_scored():
    assert not len(changes_of(problem_of(), 0.0))
    # Changes of which rules leave none.
    assert not len(changes_of(problem_of(["cf[0] > 2 and cf[1] > 2"]), 0.1))
