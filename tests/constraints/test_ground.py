"""Masks, feasible sets and verdicts, against every point of a tiny table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._space import PAD, Candidates
from skcf.constraints._ground import Ground
from tests.constraints.tiny import (
    SEEN,
    codes_of,
    points,
    programs,
    queries,
    rule_set,
    satisfies,
)

patient = settings(max_examples=40, deadline=None)


def every_candidate(ground):
    """Return a candidate for each query and each way to take observed values."""
    sizes = np.diff(ground.values.offsets) + 1
    grid = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1)
    grid = grid.reshape(-1, len(sizes)) - 1
    ids = np.where(grid < 0, PAD, grid + ground.values.offsets[:-1])
    n = len(ground.x)
    row = np.repeat(np.arange(n), len(ids))
    cands = Candidates(row, np.tile(ids, (n, 1))).tidy(ground.values)
    own = np.take_along_axis(
        np.column_stack([ground.own, np.full(n, -2)])[row],
        np.minimum(cands.groups(ground.values), len(sizes)),
        axis=1,
    )
    return cands.take(~((cands.value == own) & (own >= 0)).any(axis=1))


def values_of(rules, cands, ground):
    """Return candidates as dicts of values."""
    frame = rules.space.decode(cands.codes(ground.x, ground.values))
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


@patient
@given(programs, queries)
def test_rules_hold_where_they_hold_for_values(program, xs):
    rules = rule_set(*program)
    for x in xs:
        cfs = points(x)
        got = rules.holds(codes_of(rules, [x] * len(cfs)), codes_of(rules, cfs))
        assert got.tolist() == [satisfies(program, x, cf) for cf in cfs]


@patient
@given(programs, queries)
def test_masks_admit_what_satisfies_the_rules(program, xs):
    rules = rule_set(*program)
    ground = Ground(rules, codes_of(rules, xs))
    cands = every_candidate(ground)
    got = ground.mask(cands) & ground.filtered(cands)
    told = values_of(rules, cands, ground)
    expected = [
        cf != xs[i] and satisfies(program, xs[i], cf)
        for i, cf in zip(cands.row, told, strict=True)
    ]
    assert got.tolist() == expected


@patient
@given(programs, queries)
def test_infeasible_is_never_said_in_vain(program, xs):
    rules = rule_set(*program)
    ground = Ground(rules, codes_of(rules, xs))
    for x, dead in zip(xs, ground.infeasible, strict=True):
        if dead:
            others = [cf for cf in points(x, rules) if cf != x]
            assert not any(satisfies(program, x, cf) for cf in others)


limits = st.one_of(
    st.integers(0, 5).map(str),
    st.sampled_from(["x.a", "x.b", "x.a + 1", "2 * x.b", "x.a - x.b", "4 - x.a"]),
)
about_a = st.one_of(
    st.builds(
        "cf.a {} {}".format, st.sampled_from(["<", "<=", ">", ">=", "!="]), limits
    ),
    st.builds("cf.a == {}".format, limits),
    st.builds("2 * cf.a > 3 + {}".format, limits),
    st.sampled_from(["changed(a)", "cf.a in {0, 2, 4}", "cf.a not in [1, 3]"]),
)
about_a = st.one_of(
    about_a,
    st.builds("not ({} and {})".format, about_a, about_a),
    st.builds("{} or {}".format, about_a, about_a),
    st.builds("x.o == 'mid' => {}".format, about_a),
)


@patient
@given(st.lists(about_a, min_size=1, max_size=3), queries)
def test_feasible_values_of_a_number(program, xs):
    rules = rule_set(*program)
    ground = Ground(rules, codes_of(rules, xs))
    who, ids = ground.sets[0].lists(np.arange(len(xs)))
    told = ground.values.code_of(ids)
    for i, x in enumerate(xs):
        mine = told[who == i].tolist()
        assert len(mine) == ground.count[i, 0] == len(set(mine))
        cfs = [cf for cf in points(x, rules) if satisfies(program, x, cf)]
        allowed = {cf["a"] for cf in cfs} - {x["a"]}
        # All that was seen is there; of what was not seen, some, if there is little.
        assert set(SEEN["a"]) & allowed <= set(mine) <= allowed
        assert bool(mine) == bool(allowed)


@patient
@given(programs, queries, st.data())
def test_a_lifted_rule_does_not_count(program, xs, data):
    rules = rule_set(*program)
    off = [data.draw(st.integers(-1, len(program) - 1)) for _ in xs]
    ground = Ground(rules, codes_of(rules, xs), np.array(off))
    cands = every_candidate(ground)
    told = values_of(rules, cands, ground)
    left = [[r for k, r in enumerate(program) if k != o] for o in off]
    expected = [
        cf != xs[i] and satisfies(left[i], xs[i], cf)
        for i, cf in zip(cands.row, told, strict=True)
    ]
    got = ground.mask(cands) & ground.filtered(cands)
    assert got.tolist() == expected
    codes = cands.codes(ground.x, ground.values)
    held = rules.holds(ground.x[cands.row], codes, np.array(off)[cands.row])
    change = [cf != xs[i] for i, cf in zip(cands.row, told, strict=True)]
    assert (held & change).tolist() == expected


# -- examples -----------------------------------------------------------------------

X = {"a": 3, "b": 1, "c": "u", "o": "mid"}


def ground_of(*constraints, x=X, n=1):
    rules = rule_set(*constraints)
    return Ground(rules, codes_of(rules, [x] * n))


@pytest.mark.parametrize(
    "constraints, infeasible",
    [
        ([], False),
        (["only()"], True),
        (["max_changes(0)"], True),
        (["only('a')", "cf.a == x.a"], True),
        (["only('a')", "cf.a > x.a"], False),
        (["only('a')", "cf.a > 4"], True),
        # nothing was seen at 2, but it is a possible value
        (["cf.a == 2"], False),
        (["cf.a > 1 and cf.a < 3"], False),
        (["cf.a > 2 and cf.a < 3"], True),
        # the ends of a range are possible, seen or not
        (["cf.a in [7, 9]"], False),
        (["cf.a in [7, 9] and cf.a > 8"], False),
        (["cf.a in [7, 9] and cf.a > 9"], True),
        (["x.b == 2"], True),
        (["x.b == 1"], False),
        (["cf.c == 'w'"], True),
        # two columns have to change
        (["cf.a > x.a", "cf.b > x.b", "max_changes(1)"], True),
        (["cf.a > x.a", "cf.b > x.b", "max_changes(2)"], False),
    ],
)
def test_infeasible_queries(constraints, infeasible):
    assert ground_of(*constraints).infeasible.tolist() == [infeasible]


def test_a_group_must_change_where_the_query_breaks_a_filter():
    ground = ground_of("cf.a >= 4", "cf.o == x.o", "cf.b + cf.a <= 9")
    assert ground.must.tolist() == [[True, False, False, False]]


def test_two_limits_of_changes():
    rules = rule_set("max_changes(3)", "max_changes(1)")
    assert rules.limit(1).tolist() == [1]
    assert rules.limit(3, np.array([-1, 0, 1])).tolist() == [1, 1, 3]
    assert (rules.max_changes, rules.max_changes_rule) == (1, 1)


def test_values_of_another_row_are_taken_as_far_as_filters_allow():
    ground = ground_of("cf.a >= 3", "cf.o == x.o", "cf.b == 2")
    other = codes_of(ground.rules, [{"a": 1, "b": 2, "c": "v", "o": "high"}, X])
    cands = ground.towards(np.zeros(2, dtype=np.intp), other)
    told = values_of(ground.rules, cands, ground)
    assert told == [{"a": 3, "b": 2, "c": "v", "o": "mid"}, X]


def test_batches_do_not_matter_for_the_values_drawn():
    program = ["cf.a <= x.a", "changed(b) => cf.o > x.o"]
    xs = [{**X, "a": a, "b": b} for a in (0, 1, 3, 4, None) for b in (0, 2)]
    together = Ground(rule_set(*program), codes_of(rule_set(*program), xs))
    u = np.linspace(0, 0.999, 7)[None, :]
    for i, x in enumerate(xs):
        alone = ground_of(*program, x=x)
        for g in range(4):
            assert alone.count[0, g] == together.count[i, g]
            if alone.count[0, g]:
                first = alone.sets[g].draw(np.array([0]), u)
                second = together.sets[g].draw(np.array([i]), u)
                codes = alone.values.code_of(first), together.values.code_of(second)
                assert codes[0].tolist() == codes[1].tolist()
