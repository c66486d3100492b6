import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcf._space._values import Values

# Columns 0 and 2 are taken together, 1 stands alone.
GROUPS = [(0, 2), (1,)]
TABLES = [np.array([[0.0, 5.0], [0.0, 7.0], [3.0, 1.0]]), np.array([[-1.0], [2.5]])]


@pytest.fixture
def values():
    return Values(GROUPS, TABLES, [np.array([4, 1, 1]), np.array([2, 3])])


def written(values, ids):
    """Return what each value writes, as a dict from column to code."""
    out = [{} for _ in ids]
    for i, column, code in zip(*values.cells(np.asarray(ids)), strict=True):
        out[i][int(column)] = float(code)
    return out


def test_values_are_numbered_group_by_group(values):
    assert values.n_observed == 5
    assert values.group.tolist() == [0, 0, 0, 1, 1]
    assert values.weight.tolist() == [4, 1, 1, 2, 3]
    assert values.single.tolist() == [-1, 1]
    assert values.table(0).tolist() == TABLES[0].tolist()
    assert written(values, [2, 4, 2]) == [{0: 3, 2: 1}, {1: 2.5}, {0: 3, 2: 1}]
    assert values.code_of(np.array([4, 3])).tolist() == [2.5, -1]


tables = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9, unique=True
)


@given(tables, st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), min_size=1))
def test_find_returns_the_number_of_a_row(table, rows):
    table = np.array(sorted(table), dtype=float)
    values = Values([(0, 1)], [table], [np.ones(len(table))])
    known = {tuple(row): i for i, row in enumerate(table)}
    expected = [known.get(row, -1) for row in rows]
    assert values.find(0, np.array(rows, dtype=float)).tolist() == expected


def test_find_knows_no_missing_value_and_no_stand_in(values):
    rows = np.array([[np.nan, 5.0], [0.0, np.nan], [0.0, 5.0]])
    assert values.find(0, rows).tolist() == [-1, -1, 0]
    empty = Values([(0,)], [np.zeros((1, 1))], [np.zeros(1)])
    assert empty.find(0, np.zeros((1, 1))).tolist() == [-1]
    assert empty.find(0, np.zeros((0, 1))).tolist() == []


def test_added_values_come_behind_the_observed_ones(values):
    more = values.fork()
    ids = more.add(np.array([1, 1, 1, 1]), np.array([7.0, 2.5, 0.0, 7.0]))
    assert ids.tolist() == [6, 4, 5, 6] or ids.tolist() == [5, 4, 6, 5]
    assert more.n_observed == 5
    assert written(more, ids) == [{1: 7}, {1: 2.5}, {1: 0}, {1: 7}]
    assert more.weight[5:].tolist() == [1, 1]
    # what was added before is found again
    again = more.add(np.array([1, 1]), np.array([0.0, 9.0]))
    assert again.tolist() == [ids[2], 7]
    assert more.group[again].tolist() == [1, 1]


def test_a_fork_leaves_the_others_alone(values):
    one, two = values.fork(), values.fork()
    assert one.add(np.array([1]), np.array([7.0])).tolist() == [5]
    assert two.add(np.array([1]), np.array([8.0])).tolist() == [5]
    assert len(values.group) == 5
    three = one.fork()
    assert three.add(np.array([1, 1]), np.array([9.0, 7.0])).tolist() == [6, 5]
    assert one.add(np.array([1]), np.array([10.0])).tolist() == [6]
    codes = [fork.code_of(np.arange(5, len(fork.group))) for fork in (one, two, three)]
    assert [c.tolist() for c in codes] == [[7, 10], [8], [7, 9]]


def test_many_additions(values):
    more = values.fork()
    codes = np.random.RandomState(0).permutation(5000) / 8
    for lot in np.split(codes, 10):
        ids = more.add(np.full(len(lot), 1), lot)
        assert (more.code_of(ids) == lot).all()
    assert len(np.unique(more.code_of(np.arange(3, len(more.group))))) == 5001


def test_marks_hang_on_what_is_written_and_not_on_the_number(values):
    one, two = values.fork(), values.fork()
    one.add(np.array([1, 1]), np.array([7.0, 8.0]))
    two.add(np.array([1]), np.array([8.0]))
    (seven, eight), (same,) = one.mark[5:], two.mark[5:]
    assert eight == same != seven
    assert len(set(values.mark.tolist())) == 5
    # 0.0 and -0.0 are one value
    a, b = (Values([(0,)], [np.array([[z]])], [np.ones(1)]) for z in (0.0, -0.0))
    assert a.mark.tolist() == b.mark.tolist()
