"""Which values a query may take, and how often each is drawn."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._space import FeatureSpace
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet


def ground_of(X, queries, *constraints, **params):
    rules = RuleSet(check_rules(constraints), FeatureSpace(X, **params))
    return Ground(rules, rules.space.encode(queries))


weights = st.dictionaries(
    st.integers(0, 30), st.integers(1, 9), min_size=1, max_size=12
)


@settings(max_examples=60, deadline=None)
@given(weights, st.lists(st.integers(-2, 32), min_size=1, max_size=5), st.data())
def test_lists_and_draws_of_any_table(weights, own, data):
    text = data.draw(
        st.sampled_from(
            [None, "cf.n >= x.n", "cf.n not in [5, 9]", "cf.n > x.n + 3 or cf.n < 4"]
        )
    )
    X = pd.DataFrame({"n": np.repeat(list(weights), list(weights.values()))})
    queries = pd.DataFrame({"n": own})
    ground = ground_of(X, queries, *([text] if text else []), resolution=0.5)
    allowed = {
        None: lambda cf, x: True,
        "cf.n >= x.n": lambda cf, x: cf >= x,
        "cf.n not in [5, 9]": lambda cf, x: not 5 <= cf <= 9,
        "cf.n > x.n + 3 or cf.n < 4": lambda cf, x: cf > x + 3 or cf < 4,
    }[text]
    few = ground.sets[0]
    for i, x in enumerate(own):
        expected = {v: w for v, w in weights.items() if v != x and allowed(v, x)}
        row = np.array([i])
        who, ids = few.lists(row)
        codes = ground.values.code_of(ids).tolist()
        extra = [c for c in codes if c not in weights]
        assert sorted(set(codes) - set(extra)) == sorted(expected)
        assert not extra or len(expected) < 8
        assert all(allowed(c, x) for c in extra)
        # the list counts as it is read
        nth = few.nth(np.full(len(codes), i), np.arange(len(codes)))
        assert nth.tolist() == ids.tolist()
        total = sum(expected.values()) + len(extra)
        if total:
            # a grid finer than the weights draws each value as often as it weighs
            u = (np.arange(8 * total) + 0.5) / (8 * total)
            drawn = ground.values.code_of(few.draw(row, u[None, :])[0])
            counts = {v: int((drawn == v).sum()) for v in codes}
            assert counts == {v: 8 * expected.get(v, 1) for v in codes}


def test_values_are_drawn_as_often_as_they_were_seen():
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"c": ["u"] * 60 + ["v"] * 30 + ["w"] * 10})
    ground = ground_of(X, X.iloc[[0, 99]])
    u = rng.uniform(size=(2, 20_000))
    drawn = ground.values.code_of(ground.sets[0].draw(np.array([0, 1]), u))
    share = [np.bincount(row.astype(int), minlength=3) / 20_000 for row in drawn]
    # four standard deviations of a share of 0.75 are 0.0122
    np.testing.assert_allclose(share, [[0, 0.75, 0.25], [2 / 3, 1 / 3, 0]], atol=0.0123)


def test_the_ends_of_the_unit_interval_draw_values():
    ground = ground_of(pd.DataFrame({"n": [1, 2, 2, 3]}), pd.DataFrame({"n": [2]}))
    u = np.array([[0.0, np.nextafter(1, 0)]])
    drawn = ground.sets[0].draw(np.array([0]), u)
    assert ground.values.code_of(drawn).tolist() == [[1, 3]]


def test_a_list_is_thinned_evenly():
    X = pd.DataFrame({"n": np.arange(1000)})
    ground = ground_of(X, pd.DataFrame({"n": [500, 0]}), "cf.n >= x.n")
    who, ids = ground.sets[0].spread(np.array([0, 1]), 10)
    codes = ground.values.code_of(ids)
    assert who.tolist() == [0] * 10 + [1] * 10
    assert np.diff(codes[:10]).min() >= 49 and np.diff(codes[:10]).max() <= 50
    assert codes.min() >= 1 and len(set(codes[10:])) == 10
    # a list that is short enough is all there
    assert len(ground.sets[0].spread(np.array([0]), 5000)[0]) == 499


@pytest.mark.parametrize(
    "constraint, codes",
    [
        # nothing that was seen is left: what lies next to the edges is offered
        ("cf.n in [4, 6]", [4, 5, 6]),
        ("cf.n > x.n + 1 and cf.n < x.n + 4", [3, 4]),
        ("cf.n == x.n + 2", [3]),
        ("cf.n >= 10.5", [11, 20]),
    ],
)
def test_possible_values_that_were_not_seen(constraint, codes):
    X = pd.DataFrame({"n": [1, 2, 9, 20]})
    ground = ground_of(X, X.iloc[[0]], constraint)
    _, ids = ground.sets[0].lists(np.array([0]))
    found = sorted(ground.values.code_of(ids))
    assert set(codes) <= set(found)
    low, high = min(codes), max(codes)
    assert all(low <= c <= high and c == int(c) for c in found)


def test_values_next_to_the_querys_own_are_offered():
    X = pd.DataFrame({"n": [1, 9, 20]})
    ground = ground_of(X, X.iloc[[1]], "cf.n > 5", "cf.n < 15")
    _, ids = ground.sets[0].lists(np.array([0]))
    assert sorted(ground.values.code_of(ids)) == [6, 8, 10, 14]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floats_have_neighbours_too(dtype):
    X = pd.DataFrame({"n": np.array([0.25, 8.25], dtype=dtype)})
    ground = ground_of(X, X.iloc[[0]], "cf.n > 1", "cf.n < 2", resolution=None)
    _, ids = ground.sets[0].lists(np.array([0]))
    kind = np.dtype(dtype).type
    ends = [np.nextafter(kind(1), kind(9)), np.nextafter(kind(2), kind(0))]
    assert sorted(ground.values.code_of(ids)) == [float(e) for e in ends]


def test_many_values_and_queries_are_kept_as_runs():
    n = 200_000
    X = pd.DataFrame({"n": np.random.RandomState(0).permutation(n) / 100})
    ground = ground_of(X, X.iloc[:50], "cf.n >= x.n", "cf.n not in [100, 200]")
    few = ground.sets[0]
    x = X["n"].to_numpy()[:50]
    kept = X["n"].to_numpy()
    kept = kept[(kept < 100) | (kept > 200)]
    assert few.count.tolist() == [int((kept >= v).sum() - (v in kept)) for v in x]
    # no list of ids anywhere: memory does not grow with values times queries
    arrays = [v for v in vars(few).values() if isinstance(v, np.ndarray)]
    assert sum(a.nbytes for a in arrays) < 3 * 8 * n
