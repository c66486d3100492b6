"""Gains of values, fitted and looked up in compiled loops, against numpy."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._search._effects import N_SWEEPS, NEAR, RIDGE, Effects
from skcf._search._gains import nearest_gains
from skcf._space import PAD, Candidates

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
N_GROUPS, N_EACH, N_QUERIES = 4, 5, 3
SIZE = N_GROUPS * N_EACH
GROUP = np.repeat(np.arange(N_GROUPS), N_EACH)
# Three more numbers stand for values that were not observed.
VALUES = SimpleNamespace(
    n_observed=SIZE, group=np.append(GROUP, [0, 1, 3]), single=np.arange(N_GROUPS)
)


def some_scored(rng, n):
    """Return candidates, some of them twice, and their strengths."""
    value = rng.integers(0, N_EACH, (n, N_GROUPS)) + N_EACH * np.arange(N_GROUPS)
    value[rng.random(value.shape) < 0.5] = PAD
    value[rng.random(n) < 0.1, 0] = SIZE
    cands = Candidates(rng.integers(0, N_QUERIES, n), value).tidy(VALUES)
    _, same = np.unique(
        np.column_stack([cands.row, cands.value]), axis=0, return_inverse=True
    )
    return cands, rng.normal(size=n)[same.ravel()]


def nearest(told, group, v):
    """Return the gain of the nearest value of a group, the higher one of two."""
    same = [w for w in told if GROUP[w] == group]
    return told[min(same, key=lambda w: (abs(w - v), -w))] if same else 0.0


def fitted(value, y, weight):
    """Return what a fit says of one query: gains by value, and the spread.

    Ridge regression starts from what values do alone, a group at a time.
    """
    who, slot = np.nonzero(value != PAD)
    known, at = np.unique(value[who, slot], return_inverse=True)
    one = (value != PAD).sum(axis=1) == 1
    alone = dict(zip(value[one].max(axis=1).tolist(), y[one], strict=True))
    prior = np.array([nearest(alone, GROUP[v], v) for v in known])
    left = y - np.bincount(who, prior[at], minlength=len(y))
    extra = np.zeros(len(known))
    mass = np.bincount(at, weight[who], minlength=len(known)) + RIDGE
    for _ in range(N_SWEEPS):
        for g in range(N_GROUPS):
            lot = GROUP[known[at]] == g
            pull = (weight * left)[who[lot]]
            step = np.bincount(at[lot], pull, minlength=len(known))
            step = np.where(GROUP[known] == g, (step - RIDGE * extra) / mass, 0.0)
            extra += step
            left[who[lot]] -= step[at[lot]]
    spread = np.sqrt((weight * left**2).sum() / max(weight.sum(), 1e-12))
    return dict(zip(known.tolist(), prior + extra, strict=True)), spread


@FEW
@given(seed=seeds)
def test_gains_are_fitted_query_by_query(seed):
    rng = np.random.default_rng(seed)
    effects = Effects(VALUES, N_QUERIES)
    start = rng.normal(size=N_QUERIES)
    effects.learn(Candidates.unchanged(np.arange(N_QUERIES)), start)
    cands, strength = some_scored(rng, 80)
    strength[cands.n_changed == 0] = start[cands.row[cands.n_changed == 0]]
    # Told in lots, the second one of one query alone, and asked after some of them.
    first = np.arange(80) < 30
    for lot in (first & (cands.row < 2), first & (cands.row == 2), ~first):
        effects.learn(cands.take(lot), strength[lot])
        if rng.random() < 0.7:
            effects.known()
    rows, ids, gain = effects.known()
    np.testing.assert_array_equal(effects.start, start)
    usual = (cands.n_changed > 0) & (cands.value.max(axis=1) < SIZE)
    for r in range(N_QUERIES):
        mine = usual & (cands.row == r)
        y, weight = strength[mine] - start[r], 1 / (NEAR + np.abs(strength[mine]))
        truth, spread = fitted(cands.value[mine], y, weight)
        assert ids[rows == r].tolist() == list(truth)
        np.testing.assert_allclose(gain[rows == r], list(truth.values()), atol=1e-12)
        np.testing.assert_allclose(effects.spread[r], spread, atol=1e-12)
        asked = np.arange(SIZE)
        told = effects.of(np.full(SIZE, r), asked)
        assert told.tolist() == [nearest_of(rows, ids, gain, r, v) for v in asked]


def nearest_of(rows, ids, gain, r, v):
    """Return the nearest gain among those that are known of a query."""
    mine = rows == r
    told = dict(zip(ids[mine].tolist(), gain[mine].tolist(), strict=True))
    return nearest(told, GROUP[v], v)


@FEW
@given(seed=seeds)
def test_the_nearest_gain_is_looked_up_in_the_group_of_a_query(seed):
    rng = np.random.default_rng(seed)
    group = np.sort(rng.integers(0, 3, 12))
    keys = np.unique(rng.integers(0, 3 * 12, rng.integers(0, 30)))
    gains = rng.normal(size=len(keys))
    rows, ids = rng.integers(0, 3, 40), rng.integers(-1, 12, 40)
    known = np.searchsorted(keys, 12 * np.arange(4)), keys % 12, gains
    told = nearest_gains(known, rows, ids, group, 12)
    for row, v, gain in zip(rows, ids, told, strict=True):
        same = np.flatnonzero((keys // 12 == row) & (group[keys % 12] == group[v]))
        if v == PAD or not len(same):
            assert gain == 0
        else:
            assert gain == gains[min(same, key=lambda k: (abs(keys[k] % 12 - v), -k))]


@FEW
@given(seed=seeds)
def test_what_values_do_alone_outlives_what_was_learned(seed):
    rng = np.random.default_rng(seed)
    cands, strength = some_scored(rng, 60)
    told = Effects(VALUES, N_QUERIES)
    alone = (cands.n_changed == 1) & (cands.value.max(axis=1) < SIZE)
    told.learn(cands, strength)
    start = told.start.copy()
    several = np.flatnonzero(cands.n_changed > 1)[::2]
    told.relearn(cands.take(several), strength[several])
    # What was scored alone is known, as a guess that nothing holds.
    rows, ids, gain = told.known()
    for r in range(N_QUERIES):
        seen = cands.value[alone & (cands.row == r)].max(axis=1)
        again = cands.value[several][cands.row[several] == r]
        usual = again[again.max(axis=1, initial=PAD) < SIZE]
        known = np.union1d(seen, usual[usual != PAD])
        assert ids[rows == r].tolist() == known.tolist()
        for v in np.setdiff1d(seen, usual):
            at = alone & (cands.row == r) & (cands.value.max(axis=1) == v)
            truth = strength[at][0] - start[r]
            np.testing.assert_allclose(gain[(rows == r) & (ids == v)], truth)
