"""Repairs: what else has to change after a change."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._space import PAD, Candidates, FeatureSpace, mix
from skcf.constraints import only, together
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.constraints._structure import read_structure
from tests.constraints.tiny import (
    COLUMNS,
    codes_of,
    programs,
    queries,
    rule_set,
    satisfies,
)

N = 12
# All ways to fill three columns of small numbers.
GRID = pd.DataFrame(itertools.product(range(N), repeat=3), columns=list("abc"))
ZERO = {"a": 0, "b": 0, "c": 0}


def ground_of(*constraints, x=ZERO, X=GRID):
    rules = check_rules(constraints)
    space = FeatureSpace(X)
    space = FeatureSpace(X, **read_structure(rules, space.container))
    rules = RuleSet(rules, space)
    return Ground(rules, space.encode(pd.DataFrame([x], columns=X.columns)))


def seeds(n):
    return mix(np.arange(n, dtype=np.uint64))


def repaired(ground, changes, keep=None, n=1):
    """Return the distinct rows that repairs of one change set end in."""
    names, space = ground.space.names, ground.space
    ids = [
        ground.values.find(names.index(c), np.array([[float(v)]]))[0]
        for c, v in changes.items()
    ]
    out = set()
    for seed in seeds(n):
        cands = Candidates(np.zeros(1, dtype=np.intp), np.array([ids]))
        kept = None if keep is None else np.array([names.index(keep)])
        cands, _ = ground.cascade(cands, seed[None], kept)
        for row in space.decode(cands.codes(ground.x, ground.values)).itertuples():
            out.add(tuple(row[1:]))
    return out


# -- any rules ----------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(programs, queries, st.integers(0, 2**32), st.booleans())
def test_what_comes_out_satisfies_every_rule(program, xs, seed, keep):
    rules = rule_set(*program)
    ground = Ground(rules, codes_of(rules, xs))
    who, ids = map(
        np.concatenate,
        zip(*(s.lists(np.arange(len(xs))) for s in ground.sets), strict=True),
    )
    singles = Candidates(who, ids[:, None])
    pairs = np.array(list(itertools.combinations(range(len(who)), 2))[:400], dtype=int)
    pairs = pairs.reshape(-1, 2)
    two = Candidates(who[pairs[:, 0]], ids[pairs])
    group = ground.values.group[two.value]
    two = two.take(
        (who[pairs].min(1) == who[pairs].max(1)) & (group[:, 0] != group[:, 1])
    )
    cands = Candidates.concat([singles, two]).tidy(ground.values)
    kept = ground.values.group[cands.value[:, 0]] if keep and len(cands) else None
    done, at = ground.cascade(cands, seeds(len(xs)) ^ np.uint64(seed), kept)
    assert (np.diff(at) > 0).all()
    assert (done.row == cands.row[at]).all()
    told = rules.space.decode(done.codes(ground.x, ground.values)).astype(object)
    told = told.where(told.notna(), None).to_dict("records")
    for i, cf in zip(done.row, told, strict=True):
        assert cf != xs[i]
        assert satisfies(program, xs[i], cf)
    # What satisfied the rules as it was is left as it was.
    fine = np.flatnonzero(ground.mask(cands))
    assert set(fine) <= set(at)
    place = np.searchsorted(at, fine)
    assert (done.hash(ground.values)[place] == cands.hash(ground.values)[fine]).all()


@settings(max_examples=60, deadline=None)
@given(queries, st.integers(0, 99))
def test_a_lone_implication_is_repaired_wherever_it_can_be(xs, seed):
    # Every value of b is open, so that a repair exists whenever b > 0 does.
    rules = rule_set("changed(a) => cf.b >= 1")
    ground = Ground(rules, codes_of(rules, xs))
    who, ids = ground.sets[0].lists(np.arange(len(xs)))
    cands = Candidates(who, ids[:, None])
    _, at = ground.cascade(cands, seeds(len(xs)) ^ np.uint64(seed))
    assert at.tolist() == list(range(len(cands)))


# -- one after another --------------------------------------------------------------


def test_a_consequence_is_drawn():
    ground = ground_of("changed(a) => cf.b >= x.b + 9")
    assert repaired(ground, {"a": 5}, n=40) == {(5, 9, 0), (5, 10, 0), (5, 11, 0)}


def test_consequences_follow_one_another():
    ground = ground_of("cf.b > 3 => cf.c == 7", "cf.a > 3 => cf.b == cf.a + 1")
    assert repaired(ground, {"a": 5}) == {(5, 6, 7)}
    assert repaired(ground, {"a": 2}) == {(2, 0, 0)}


def test_two_rules_on_one_column_are_both_honoured():
    ground = ground_of("cf.a > 0 => cf.c >= 4", "cf.b > 0 => cf.c <= 5")
    assert repaired(ground, {"a": 1, "b": 1}, n=30) == {(1, 1, 4), (1, 1, 5)}
    none = ground_of("cf.a > 0 => cf.c >= 6", "cf.b > 0 => cf.c <= 5")
    assert repaired(none, {"a": 1, "b": 1}) == set()
    assert len(repaired(none, {"a": 1}, n=30)) == 6


def test_consequences_come_with_their_frequency():
    X = pd.DataFrame({"a": [0, 1] * 50, "b": [0] * 50 + [1] * 40 + [2] * 10})
    ground = ground_of("cf.a == 1 => cf.b > 0", X=X, x={"a": 0, "b": 0})
    n = 5000
    cands = Candidates(np.zeros(n, dtype=np.intp), np.full((n, 1), 1))
    drawn = []
    for lot, seed in zip(np.split(np.arange(n), 500), seeds(500), strict=True):
        done, _ = ground.cascade(cands.take(lot[:1]), seed[None])
        drawn += done.codes(ground.x, ground.values)[:, 1].tolist()
    # 0.8 of 500, and four standard deviations
    assert abs(np.mean(np.array(drawn) == 1) - 0.8) < 4 * np.sqrt(0.8 * 0.2 / 500)


def test_the_querys_own_value_comes_first():
    ground = ground_of("cf.a > 3 => cf.b >= 2", x={"a": 0, "b": 5, "c": 0})
    # b was changed to what the rule forbids, and its own value satisfies it
    assert repaired(ground, {"a": 5, "b": 1}, keep="a", n=10) == {(5, 5, 0)}
    assert repaired(ground, {"a": 5, "b": 7}) == {(5, 7, 0)}


def test_what_the_query_itself_breaks_is_repaired():
    ground = ground_of("cf.b >= 10", x=ZERO)
    assert repaired(ground, {"a": 1}, n=30) == {(1, 10, 0), (1, 11, 0)}
    ground = ground_of("cf.b + cf.c >= 21", x=ZERO)
    assert all(b + c >= 21 for _, b, c in repaired(ground, {"a": 1}, n=30))
    assert repaired(ground, {"b": 11}, n=30) == {(0, 11, 10), (0, 11, 11)}


def test_a_change_is_not_undone_but_followed():
    # b is what a cascade changes for the sake of the rule; just changed, it stays.
    for text in ("cf.b <= cf.a", "cf.a >= cf.b"):
        ground = ground_of(text)
        assert all(a >= 5 and b == 5 for a, b, _ in repaired(ground, {"b": 5}, n=20))
        done = repaired(ground, {"b": 5, "c": 1}, keep="b", n=20)
        assert done and all(a >= 5 and (b, c) == (5, 1) for a, b, c in done)


def test_rules_that_form_a_cycle():
    ground = ground_of("cf.a == cf.b", "cf.b == cf.c", "cf.c == cf.a")
    for column in "abc":
        assert repaired(ground, {column: 5}) == {(5, 5, 5)}
    ground = ground_of("cf.a > 0 => cf.b > 3", "cf.b > 3 => cf.a > 2")
    assert all(a > 2 and b > 3 for a, b, _ in repaired(ground, {"b": 5}, n=20))
    assert repaired(ground, {"a": 1}) == set()
    assert repaired(ground, {"a": 4}, n=20)


def test_a_number_that_was_not_seen_can_be_what_is_asked_for():
    X = pd.DataFrame(
        {"net": [1.0, 2.5, 4], "tax": [0.1, 0.3, 0.4], "sum": [1.1, 2.8, 4.4]}
    )
    query = X.iloc[0].to_dict()
    ground = ground_of("cf.sum == cf.net + cf.tax", "cf.tax == x.tax", X=X, x=query)
    assert repaired(ground, {"net": 2.5}, keep="net") == {(2.5, 0.1, 2.6)}
    # from the sum, the net follows
    assert repaired(ground, {"sum": 2.8}, keep="sum") == {(2.7, 0.1, 2.8)}


def test_columns_are_repaired_together():
    X = pd.DataFrame({"city": ["u", "v", "w"], "zip": [1, 2, 3], "rent": [5, 6, 7]})
    query = {"city": "u", "zip": 1, "rent": 5}
    ground = ground_of(
        together("city", "zip"), "cf.rent > 6 => cf.zip > 2", X=X, x=query
    )
    ids = ground.values.find(1, np.array([[7.0]]))
    cands, _ = ground.cascade(Candidates(np.array([0]), ids[:, None]), seeds(1))
    told = ground.space.decode(cands.codes(ground.x, ground.values))
    assert told.values.tolist() == [["w", 3, 7]]


@pytest.mark.parametrize("k, n_found", [(1, 0), (2, 1)])
def test_repairs_count_as_changes(k, n_found):
    ground = ground_of("changed(a) => cf.b == 4", f"max_changes({k})")
    assert len(repaired(ground, {"a": 5})) == n_found


def test_where_nothing_may_vary_nothing_comes_out():
    ground = ground_of(only("a"), "cf.a > 0 => cf.b > 0")
    assert repaired(ground, {"a": 5}) == set()


def test_streams_do_not_hang_on_the_batch():
    ground = ground_of("cf.a > 0 => cf.b > cf.c", "cf.a > 5 => cf.c > 0")
    value = np.column_stack([np.arange(1, N), np.full(N - 1, PAD)])
    cands = Candidates(np.zeros(N - 1, dtype=np.intp), value)
    done, at = ground.cascade(cands, seeds(1))
    assert len(at) == N - 1
    codes = done.codes(ground.x, ground.values)
    for i in range(N - 1):
        alone, _ = ground.cascade(cands.take(np.array([i])), seeds(1))
        assert alone.codes(ground.x, ground.values).tolist() == [codes[i].tolist()]


# -- the order of repairs -----------------------------------------------------------


@pytest.mark.parametrize(
    "texts, order",
    [
        (["cf.a > 0 => cf.b > 0", "cf.b > 0 => cf.c > 0"], "abc"),
        (["cf.c > 0 => cf.b > 0", "cf.b > 0 => cf.a > 0"], "cba"),
        # the column that is named first follows the others
        (["cf.a <= cf.b", "cf.b <= cf.c"], "cba"),
        # unless that would close a cycle
        (["cf.a <= cf.b", "cf.b <= cf.a + 3"], "bac"),
    ],
)
def test_order_of_visits(texts, order):
    rules = ground_of(*texts).rules
    place = {COLUMNS[g] if g < 3 else g: i for i, g in enumerate(rules.order)}
    told = sorted(order, key=place.get)
    joined = [c for c in told if any(f"cf.{c}" in t for t in texts)]
    assert joined == [c for c in order if c in joined]
