import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._space import PAD, Candidates, mix, uniform
from skcf._space._values import Values

# Group 0: columns 0 and 2 (values 0 to 2); group 1: column 1 (3, 4); group 2: 3 (5, 6).
TABLES = [
    np.array([[0.0, 5.0], [0.0, 7.0], [3.0, 1.0]]),
    np.array([[-1.0], [2.5]]),
    np.array([[8.0], [9.0]]),
]
VALUES = Values([(0, 2), (1,), (3,)], TABLES, [np.ones(len(t)) for t in TABLES])
X = np.array([[10.0, 11.0, 12.0, 13.0], [20.0, 21.0, 22.0, np.nan]])

# The first call compiles.
PATIENT = settings(deadline=None)
lists = st.fixed_dictionaries(
    {}, optional={0: st.integers(0, 2), 1: st.integers(3, 4), 2: st.integers(5, 6)}
)


def made(choices, row=None):
    """Return candidates from dicts of group to value."""
    width = max(map(len, choices), default=0)
    value = [[*c.values(), *[PAD] * (width - len(c))] for c in choices]
    row = np.zeros(len(choices)) if row is None else row
    value = np.array(value, dtype=np.intp).reshape(len(choices), width)
    return Candidates(np.asarray(row, dtype=np.intp), value).tidy(VALUES)


def as_dicts(cands):
    """Return candidates as dicts of group to value."""
    return [
        {int(VALUES.group[v]): int(v) for v in row if v != PAD} for row in cands.value
    ]


@PATIENT
@given(st.lists(lists, min_size=1), st.data())
def test_put_and_drop_act_as_on_a_dict(choices, data):
    cands = made(choices)
    assert as_dicts(cands) == choices
    assert cands.n_changed.tolist() == [len(c) for c in choices]
    ids = data.draw(
        st.lists(st.integers(PAD, 6), min_size=len(choices), max_size=len(choices))
    )
    expected = [
        c if v == PAD else {**c, int(VALUES.group[v]): v}
        for c, v in zip(choices, ids, strict=True)
    ]
    assert as_dicts(cands.put(np.array(ids), VALUES)) == expected
    group = data.draw(st.integers(0, 2))
    rest = [{g: v for g, v in c.items() if g != group} for c in choices]
    assert as_dicts(cands.drop(cands.groups(VALUES) == group, VALUES)) == rest
    mask = [[g in c for g in range(3)] for c in choices]
    assert cands.changed(VALUES).tolist() == mask


def test_codes_are_the_query_with_the_changes():
    cands = made([{}, {0: 2}, {1: 4, 2: 5}], row=[0, 1, 1])
    expected = [[10, 11, 12, 13], [3, 21, 1, np.nan], [20, 2.5, 22, 8]]
    np.testing.assert_array_equal(cands.codes(X, VALUES), expected)
    np.testing.assert_array_equal(
        Candidates.unchanged([1, 0]).codes(X, VALUES), X[[1, 0]]
    )


def test_lots_of_different_width_are_joined():
    parts = [Candidates.unchanged([1]), made([{0: 1, 2: 5}]), made([{1: 3}], row=[1])]
    both = Candidates.concat(parts)
    assert both.row.tolist() == [1, 0, 1]
    assert as_dicts(both) == [{}, {0: 1, 2: 5}, {1: 3}]
    assert as_dicts(both.take(np.array([2, 0]))) == [{1: 3}, {}]


@PATIENT
@given(st.lists(lists, min_size=2, max_size=20))
def test_hashes_are_equal_where_the_changes_are(choices):
    hashes = made(choices).hash(VALUES).tolist()
    for one, a in zip(choices, hashes, strict=True):
        for two, b in zip(choices, hashes, strict=True):
            assert (one == two) == (a == b)


def test_hashes_do_not_hang_on_the_numbers_of_added_values():
    first, second = VALUES.fork(), VALUES.fork()
    first.add(np.array([1, 1]), np.array([0.0, 1.0]))
    a = first.add(np.array([1]), np.array([1.5]))
    b = second.add(np.array([1]), np.array([1.5]))
    assert a != b
    row = np.zeros(1, dtype=np.intp)
    hashes = [
        Candidates(row, ids[:, None]).hash(values)
        for values, ids in ((first, a), (second, b))
    ]
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("start", [0, 12345])
def test_mixed_bits_are_uniform(start):
    u = uniform(mix(np.arange(start, start + 20_000, dtype=np.uint64)))
    assert (u >= 0).all() and (u < 1).all()
    counts = np.histogram(u, bins=20, range=(0, 1))[0]
    # chi-squared with 19 degrees of freedom: 99.99 % lie below 52
    assert ((counts - 1000) ** 2 / 1000).sum() < 52
