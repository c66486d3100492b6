"""Compiled loops against what numpy says in several passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._search import Problem
from skcf._search._kernels import (
    alike_of,
    first_of_each,
    first_unseen,
    insert,
    once,
    sort_pool,
)
from skcf._search._problem import rank_by, rank_in_row, top_in_row
from skcf._space import PAD, Candidates, FeatureSpace
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.costs import Cost

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)


def space_of(rng, groups=()):
    X = rng.integers(0, 6, (40, 5)) / 2.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = 1.0
    return FeatureSpace(X, categorical_features=[4], groups=groups, allow_missing=True)


def some_candidates(rng, values, n, n_rows):
    """Return tidy candidates of random values, some without any."""
    n_groups = len(values.single)
    size = np.diff(values.offsets)
    ids = values.offsets[:-1] + (rng.random((n, n_groups)) * size).astype(np.intp)
    ids[rng.random(ids.shape) < 0.5] = PAD
    return Candidates(rng.integers(0, n_rows, n), ids).tidy(values)


class Bare(Problem):
    """A problem without a model: what costs are worked out from."""

    def __init__(self, x, values, cost, ground=None):
        self.x, self.values, self.cost, self.ground = x, values, cost, ground


# -- costs -------------------------------------------------------------------------


@pytest.mark.parametrize("groups", [(), ((0, 2),)])
@FEW
@given(seed=seeds)
def test_costs_are_those_of_full_rows(groups, seed):
    rng = np.random.default_rng(seed)
    space = space_of(rng, groups)
    norms = rng.random(4) * (rng.random(4) < 0.7) + np.array([0, 1e-3, 0, 0])
    names = list(space.names)
    cost = Cost(
        *norms,
        weights={names[0]: 3.0},
        up={names[1]: 2.0},
        down={names[2]: 0.5},
        scale="std",
        average=bool(seed % 2),
    )._bind(space)
    x = np.where(rng.random((7, 5)) < 0.2, np.nan, rng.integers(0, 6, (7, 5)) / 2.0)
    cands = some_candidates(rng, space.values, 60, len(x))
    told = Bare(x, space.values, cost).cost_of(cands)
    before = x[cands.row]
    truth = cost.rows(before, cands.codes(x, space.values))
    np.testing.assert_allclose(told, truth, rtol=1e-12, atol=1e-15)


# -- values of feasible sets -------------------------------------------------------


def grounded(rng, groups):
    """Return a problem of seven queries with a few rules."""
    space = space_of(rng, groups)
    rules = ["cf[1] >= x[1]", "cf[3] in [0, 2]", "not changed(4)"]
    some = rng.random(3) < 0.5
    rules = RuleSet(
        check_rules([r for r, use in zip(rules, some, strict=True) if use]), space
    )
    x = rng.integers(0, 6, (7, 5)) / 2.0
    ground = Ground(rules, x)
    cost = Cost(*rng.random(4), up={3: 2.0}, scale="std")._bind(space)
    return Bare(x, ground.values, cost, ground)


def read_one_by_one(problem, rows, groups, limit):
    """Yield (position, values, costs) of lists, cut off at the limit, from numpy."""
    for i, (r, g) in enumerate(zip(rows, groups, strict=True)):
        _, ids = problem.ground.sets[g].lists(np.array([r]))
        cost = problem.own_cost(np.full(len(ids), r), ids)
        yield i, ids[cost < limit[i]], cost[cost < limit[i]]


@pytest.mark.parametrize("groups", [(), ((0, 2),)])
@FEW
@given(seed=seeds)
def test_values_below_a_limit(groups, seed):
    rng = np.random.default_rng(seed)
    problem = grounded(rng, groups)
    n_groups = len(problem.values.single)
    rows, of = np.repeat(np.arange(7), n_groups), np.tile(np.arange(n_groups), 7)
    limit = rng.random(len(rows)) * 2
    at, ids, cost = problem.cheaper(rows, of, limit, 1000)
    for i, values, costs in read_one_by_one(problem, rows, of, limit):
        assert ids[at == i].tolist() == values.tolist()
        np.testing.assert_allclose(cost[at == i], costs, rtol=1e-12)


# -- ranks and sets ----------------------------------------------------------------


@FEW
@given(seed=seeds, k=st.integers(0, 9))
def test_the_top_of_each_row_is_that_of_a_full_sort(seed, k):
    rng = np.random.default_rng(seed)
    row = rng.integers(0, 5, 80)
    first = rng.integers(0, 4, 80).astype(float)
    second = rng.integers(0, 3, 80).astype(float)
    third = rng.integers(0, 3, 80).astype(np.uint64)
    told = top_in_row(row, k, first, second, third)
    assert (told == (rank_by(row, (third, second, first)) < k)).all()
    assert (top_in_row(row, k, first) == (rank_by(row, (first,)) < k)).all()


@FEW
@given(seed=seeds)
def test_unseen_keys_are_told_once(seed):
    rng = np.random.default_rng(seed)
    old, keys = rng.integers(0, 40, (2, 60)).astype(np.uint64)
    table = np.zeros(256, dtype=np.uint64)
    assert insert(table, old) == len(np.unique(old)) - ((old == 0) & (1 in old)).any()
    _, first = np.unique(keys, return_index=True)
    fresh = [i for i in np.sort(first) if keys[i] not in old]
    if not {0, 1} & {*keys.tolist(), *old.tolist()}:
        assert first_unseen(table, keys).tolist() == fresh
        assert once(keys).tolist() == np.sort(first).tolist()


@FEW
@given(seed=seeds)
def test_equal_sets_of_groups_share_a_number(seed):
    rng = np.random.default_rng(seed)
    values = space_of(rng).values
    cands = some_candidates(rng, values, 50, 3)
    key = np.column_stack([cands.row, cands.changed(values)])
    _, truth = np.unique(key, axis=0, return_inverse=True)
    told = alike_of(cands.row, cands.groups(values))
    assert len(set(zip(told, truth.ravel(), strict=True))) == len(np.unique(truth))
    assert len(np.unique(told)) == len(np.unique(truth))


@FEW
@given(seed=seeds)
def test_a_pool_is_sorted_as_by_lexsort(seed):
    rng = np.random.default_rng(seed)
    values = space_of(rng).values
    cands = some_candidates(rng, values, 90, 4)
    valid = rng.random(90) < 0.5
    fitness = rng.integers(0, 3, 90) / 4
    args = valid, fitness, cands.value, values.group, values.ptr, values.code
    groups = cands.groups(values)
    codes = np.where(
        cands.value == PAD, 0.0, values.code_of(np.maximum(cands.value, 0))
    )
    slots = [k for pair in zip(groups.T, codes.T, strict=True) for k in pair]
    keys = [*slots[::-1], cands.n_changed, fitness, ~valid, cands.row]
    truth = np.lexsort(keys)
    assert sort_pool(cands.row, 4, 90, *args).tolist() == truth.tolist()
    few = truth[rank_in_row(cands.row[truth]) < 7]
    assert sort_pool(cands.row, 4, 7, *args).tolist() == few.tolist()


@FEW
@given(seed=seeds)
def test_the_first_of_each_change_set_of_each_query_is_found(seed):
    rng = np.random.default_rng(seed)
    values = space_of(rng).values
    cands = some_candidates(rng, values, 60, 3)
    order = rng.permutation(60)
    sets = np.column_stack([cands.row, cands.changed(values)])[order]
    truth = np.sort(np.unique(sets, axis=0, return_index=True)[1])
    told = first_of_each(order, cands.row, cands.value, values.group)
    assert told.tolist() == truth.tolist()


@FEW
@given(seed=seeds)
def test_candidates_share_a_key_where_query_and_values_are_equal(seed):
    rng = np.random.default_rng(seed)
    values = space_of(rng).values
    cands = some_candidates(rng, values, 80, 3)
    cands = Candidates.concat([cands, cands.take(rng.integers(0, 80, 20))])
    rows = np.column_stack([cands.row, cands.value])
    truth = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    _, told = np.unique(cands.keys(values), return_inverse=True)
    assert len(set(zip(told, truth, strict=True))) == len(np.unique(truth))
    assert told.max() == truth.max()


def test_the_rank_of_nothing_is_nothing():
    assert len(rank_in_row(np.empty(0, dtype=np.intp))) == 0
