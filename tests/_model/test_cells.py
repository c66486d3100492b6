"""Cells of candidates, and sums over them, against whole rows."""

import numpy as np
import pytest

from skcf._model._cells import changed_cells, first_sums
from skcf._space._growing import Growing

N_ROWS, N_GROUPS, N_COLUMNS, N_VALUES = 6, 5, 14, 40


def lists(random, owner, columns):
    """Return (ptr, col, val): cells of some of an owner's columns, sorted."""
    picked = [
        np.flatnonzero((columns == g) & (random.random(len(columns)) < 0.6))
        for g in owner
    ]
    col = np.concatenate(picked)
    return np.cumsum([0, *map(len, picked)]), col, random.normal(size=len(col))


@pytest.mark.parametrize("seed", range(5))
def test_changed_cells(seed):
    random = np.random.default_rng(seed)
    columns = random.integers(0, N_GROUPS, N_COLUMNS)
    default = random.normal(size=N_COLUMNS)
    group = random.integers(0, N_GROUPS, N_VALUES)
    tables = lists(random, group, columns)
    every = np.tile(np.arange(N_GROUPS), N_ROWS)
    own_ptr, own_col, own_val = lists(random, every, columns)
    rows = np.tile(default, (N_ROWS, 1))
    rows[np.repeat(np.arange(len(every)), np.diff(own_ptr)) // N_GROUPS, own_col] = (
        own_val
    )
    row = random.integers(0, N_ROWS, 50)
    value = np.full((50, N_GROUPS), -1)
    for i, g in np.argwhere(random.random(value.shape) < 0.5):
        if (group == g).any():
            value[i, g] = random.choice(np.flatnonzero(group == g))
    truth = rows[row]
    for i, g in np.argwhere(value >= 0):
        cells = slice(*tables[0][value[i, g] : value[i, g] + 2])
        truth[i, columns == g] = default[columns == g]
        truth[i, tables[1][cells]] = tables[2][cells]
    own = own_ptr, own_col, N_GROUPS
    ptr, col, val = changed_cells(row, value, group, own, default, tables)
    told, owner = rows[row], np.repeat(np.arange(50), np.diff(ptr))
    told[owner, col] = val
    np.testing.assert_array_equal(told, truth)
    assert len(np.unique(np.column_stack([owner, col]), axis=0)) == len(col)

    weight = random.normal(size=(N_COLUMNS, 3))
    sums = first_sums(rows @ weight, rows, weight, row, ptr, col, val)
    np.testing.assert_allclose(sums, truth @ weight, rtol=0, atol=1e-12)


def test_an_array_that_grows():
    begin = np.arange(3)
    growing = Growing(begin)
    seen = []
    for size in (2, 0, 3000, 5):
        growing.extend(np.arange(size))
        seen.append(growing.array)
    np.testing.assert_array_equal(
        growing.array, np.r_[begin, 0:2, np.arange(3000), np.arange(5)]
    )
    np.testing.assert_array_equal(seen[0], [0, 1, 2, 0, 1])
    np.testing.assert_array_equal(begin, [0, 1, 2])
