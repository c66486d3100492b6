"""Compiled loops against what numpy says in several passes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcf._search._kernels import (
    alike_of,
    first_of_each,
    first_unseen,
    insert,
    once,
    sort_pool,
)
from skcf._search._problem import rank_by, rank_in_row, top_in_row
from skcf._space import PAD, Candidates
from skcf.costs import Cost
from tests._search.random_problems import (
    FEW,
    Bare,
    seeds,
    some_candidates,
    space_of,
)

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
    told = alike_of(cands.row, cands.value, values.group)
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
