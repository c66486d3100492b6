"""Values below a limit, found by bisection, against looking at all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._search import Problem
from skcf._search._cheaper import CheaperValues
from skcf._space import FeatureSpace
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.costs import Cost

FEW = settings(max_examples=40, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
both = pytest.mark.parametrize("groups", [(), ((0, 2),)], ids=["columns", "group"])
N = 9


class Bare(Problem):
    """A problem without a model: what costs are worked out from."""

    def __init__(self, x, ground, cost):
        self.x, self.values, self.ground, self.cost = x, ground.values, ground, cost

    def __len__(self):
        return len(self.x)


def problem_of(rng, groups):
    """Return a problem of queries of which some were not seen, or lack something."""
    X = rng.integers(0, 30, (60, 5)) / 4.0
    X[:, 3:] = np.floor(X[:, 3:])
    X[rng.random(X.shape) < 0.1] = np.nan
    space = FeatureSpace(X, categorical_features=[4], groups=groups, allow_missing=True)
    rules = ["cf[1] >= x[1]", "cf[3] != 2 and cf[3] != 5", "cf[3] <= x[3] + 1"]
    some = rng.random(3) < 0.5
    rules = [rule for rule, use in zip(rules, some, strict=True) if use]
    x = X[rng.integers(0, len(X), N)]
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, :3] += (rng.random((N, 3)) < 0.3) / 8
    x[:, 1] = np.where(rng.random(N) < 0.3, 7.25, x[:, 1])
    norms = rng.random(4) * (rng.random(4) < 0.6) + np.array([0, 1e-3, 0, 0])
    cost = Cost(*norms, up={1: 2.0}, down={0: 0.5}, weights={2: 3.0}, scale="std")
    ground = Ground(RuleSet(check_rules(rules), space), x)
    return Bare(x, ground, cost._bind(space))


def listed(problem, row, g):
    """Return the values of a list and what they cost, from numpy."""
    _, ids = problem.ground.sets[g].lists(np.array([row]))
    return ids, problem.own_cost(np.full(len(ids), row), ids)


def limits(rng, problem, n):
    limit = rng.random(n) * problem.cost.weight.max() * 2
    return np.where(rng.random(n) < 0.1, np.inf, limit)


@both
@FEW
@given(seed=seeds, most=st.integers(1, 60), observed=st.booleans())
def test_the_values_below_a_limit_are_told_by_cost(groups, seed, most, observed):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, groups)
    rows = np.flatnonzero(rng.random(N) < 0.8)
    limit = limits(rng, problem, len(rows))
    cheaper = CheaperValues(problem, rows, limit, 1000, observed)
    row, ids, cost = cheaper.listed(most)
    for i, r in enumerate(rows):
        lists = [listed(problem, r, g) for g in range(len(problem.values.single))]
        all_ids, costs = map(np.concatenate, zip(*lists, strict=True))
        ok = costs < limit[i]
        if observed:
            ok &= all_ids < problem.values.n_observed
        all_ids, costs = all_ids[ok], costs[ok]
        assert cheaper.count[i] == len(all_ids)
        rank, size = np.arange(len(all_ids)), max(len(all_ids), 1)
        few = min(size, most)
        some = (rank + 1) * few // size > rank * few // size
        all_ids, costs = all_ids[some], costs[some]
        order = np.argsort(costs, kind="stable")
        assert ids[row == r].tolist() == all_ids[order].tolist()
        assert cost[row == r].tolist() == costs[order].tolist()


@FEW
@given(seed=seeds, most=st.integers(1, 20))
def test_of_a_long_list_of_several_columns_some_are_looked_at(seed, most):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, ((0, 2),))
    g = int(np.flatnonzero(problem.values.single < 0)[0])
    rows, limit = np.arange(N), limits(rng, problem, N)
    row, ids, _ = CheaperValues(problem, rows, limit, most).listed(1000)
    for r in rows:
        values, costs = listed(problem, r, g)
        few = min(len(values), most)
        at = np.arange(few) * len(values) // max(few, 1)
        at = at[costs[at] < limit[r]]
        told = ids[row == r]
        told = told[problem.values.group[told] == g]
        assert sorted(told.tolist()) == values[at].tolist()


@both
@FEW
@given(seed=seeds, n_even=st.integers(1, 6))
def test_nearer_values_are_spread_and_get_ever_closer_to_the_limit(
    groups, seed, n_even
):
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, groups)
    n_groups = len(problem.values.single)
    rows, of = np.repeat(np.arange(N), n_groups), np.tile(np.arange(n_groups), N)
    limit = limits(rng, problem, len(rows))
    at, ids = problem.nearer(rows, of, limit, n_even)
    for i, (r, g) in enumerate(zip(rows, of, strict=True)):
        values, costs = listed(problem, r, g)
        values, costs = values[costs < limit[i]], costs[costs < limit[i]]
        order = np.argsort(-costs, kind="stable")
        rank = np.arange(len(values))
        some = rank % max(len(values) // n_even, 1) == 0
        some |= np.isin(rank + 1, 2 ** np.arange(9))
        assert ids[at == i].tolist() == values[order[some]].tolist()
