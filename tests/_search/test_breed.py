"""The beam search on gains against the same search in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from skcf._search._breed import (
    DEPTH,
    N_BEAM,
    N_LIKELY,
    UNLIKELY,
    compose,
    leading,
)
from skcf._search._gains import nearest_gains
from skcf._search._options import N_VALUES, options_of
from skcf._search._problem import rank_by
from skcf._space import PAD, Candidates
from skcf.costs import Cost
from tests._search.random_problems import FEW, Bare, seeds, some_candidates, space_of

N_ROWS = 4


def priced(rng, groups=(), linf=0.0):
    """Return a problem of four queries, and gains that are known of some values."""
    space = space_of(rng, groups)
    x = rng.integers(0, 6, (N_ROWS, 5)) / 2.0
    cost = Cost(*rng.random(3), linf)._bind(space)
    problem = Bare(x, space.values, cost)
    known = rng.random((N_ROWS, problem.values.n_observed)) < 0.7
    row, ids = map(np.ascontiguousarray, np.nonzero(known))
    # Rounded, so that there are equal ones.
    return problem, (row, ids, np.round(rng.normal(size=len(ids)), 1))


def front(cost, gain, group, bound, price, step):
    """Return the positions of the values worth trying, from sorts of all of them."""
    near = np.flatnonzero(cost < bound)
    level, worth = np.rint(gain / step)[near], (cost - price * gain)[near]
    group, cost = group[near], cost[near]
    order = np.lexsort((-level, cost))
    leads = np.zeros(len(near), dtype=bool)
    for i, at in enumerate(order):
        before = order[:i][group[order[:i]] == group[at]]
        leads[at] = level[at] > level[before].max(initial=-np.inf)
    rank = np.empty(len(near), dtype=np.intp)
    for some in (leads, ~leads):
        rank[some] = rank_by(group[some], (worth[some],))
    return near[rank < np.where(leads, N_VALUES, 1)]


@FEW
@given(seed=seeds)
def test_options_gain_more_than_cheaper_ones(seed):
    rng = np.random.default_rng(seed)
    problem, (row, ids, gain) = priced(rng, ((0, 2),))
    group = problem.values.group
    bound, price, step = rng.random() * 3, rng.random(), 0.3
    for r in range(N_ROWS):
        mine = row == r
        gains = ids[mine], gain[mine]
        cost = problem.own_cost(row[mine], ids[mine])
        told, (of, first, best) = options_of(
            r, gains, bound, price, step, *problem.priced
        )
        at = front(cost, gains[1], group[gains[0]], bound, price, step)
        for have, want in zip(told, (*gains, cost), strict=True):
            np.testing.assert_allclose(have, want[at], rtol=1e-12)
        for k, g in enumerate(of):
            lot = slice(first[k], first[k + 1])
            assert (group[told[0][lot]] == g).all()
            worth = told[2][lot] - price * told[1][lot]
            least = told[2][lot].min(), -told[1][lot].max(), worth.min()
            np.testing.assert_allclose(best[k], least, rtol=1e-12, atol=1e-12)
        assert first[-1] == len(at)


class Search:
    """The search of one query, on drafts of ({group: value}, cost, guess)."""

    def __init__(self, problem, r, parents, gains, row_of):
        self.problem, self.r, self.gains = problem, r, gains
        self.bound, self.bias, self.spread, self.price, step, start = row_of
        self.group = problem.values.group
        costs = problem.own_cost(np.full(len(gains[0]), r), gains[0])
        args = self.bound, self.price, step
        at = front(costs, gains[1], self.group[gains[0]], *args)
        self.options = gains[0][at]
        whole = [
            ({self.group[v]: v for v in line if v != PAD}, cost, strength)
            for line, cost, strength in zip(*parents, strict=True)
        ]
        drafts = list(whole)
        for slot in range(parents[0].shape[1]):
            for values, _, strength in whole:
                if slot < len(values):
                    out = sorted(values)[slot]
                    rest = {g: v for g, v in values.items() if g != out}
                    cost = self.cost_of(rest)
                    drafts.append((rest, cost, strength - self.gain(values[out])))
        self.drafts = [*drafts, ({}, 0.0, start)]

    def cost_of(self, values):
        line = np.array([[*values.values()]], dtype=np.intp)
        return self.problem.cost_of(Candidates(np.array([self.r]), line))[0]

    def gain(self, v):
        known = np.array([0, len(self.gains[0])]), *self.gains
        size = self.problem.values.n_observed
        return nearest_gains(known, np.array([0]), np.array([v]), self.group, size)[0]

    def children(self):
        for values, cost, guess in self.drafts:
            for v in self.options:
                g = self.group[v]
                old = values.get(g)
                c = cost + self.cost_of({g: v})
                e = guess + self.gain(v)
                if old is not None:
                    c, e = c - self.cost_of({g: old}), e - self.gain(old)
                if c < self.bound and old != v:
                    yield {**values, g: v}, c, e

    def run(self):
        """Return what is found, each once."""
        found = {}
        for _ in range(DEPTH):
            likely, short = [], []
            for turn, (values, c, e) in enumerate(self.children()):
                chance = ndtr((e + self.bias) / self.spread)
                hope = np.round(chance * (self.bound - c), 12)
                if chance > UNLIKELY and hope > 0:
                    likely.append((-hope, turn, values, c, e))
                if (lack := -e - self.bias) > 0:
                    fit = np.round(c + self.price * lack, 9)
                    short.append((fit, turn, values, c, e))
            likely = sorted(likely, key=lambda one: one[:2])[:N_LIKELY]
            for _, _, values, c, e in likely:
                found.setdefault(tuple(v for _, v in sorted(values.items())), (c, e))
            beam = []
            for one in short:
                # Of equal ones the first counts, as long as it is held.
                if all(one[2] != other[2] for other in beam):
                    beam = sorted([*beam, one], key=lambda one: one[:2])[:N_BEAM]
            self.drafts = [one[2:] for one in beam]
        return found


@pytest.mark.parametrize("groups", [(), ((0, 2),)])
@pytest.mark.parametrize("linf", [0.0, 0.5])
@FEW
@given(seed=seeds)
def test_what_is_composed_is_what_a_plain_beam_search_finds(groups, linf, seed):
    rng = np.random.default_rng(seed)
    problem, (row, ids, gain) = priced(rng, groups, linf)
    values, some = problem.values, rng.integers(0, 3)
    cands = some_candidates(rng, values, 10, N_ROWS)
    cands = cands.take(np.argsort(cands.row, kind="stable"))
    cands = cands.take(cands.row != some)
    cost, strength = problem.cost_of(cands), rng.normal(size=len(cands))
    start, bias = -3 * rng.random(N_ROWS), rng.normal(size=N_ROWS) / 10
    bound = rng.random(N_ROWS) * 2.5
    row_of = bound, bias, rng.random(N_ROWS) + 0.1, bound / 3, bias * 0 + 0.3, start
    told = compose(
        (cands.row, cands.value, cost, strength),
        (row, ids, gain),
        row_of,
        *problem.priced,
        values.mark,
        values.n_observed,
    )
    for r in range(N_ROWS):
        mine, known = cands.row == r, row == r
        found = {}
        if mine.any():
            parents = cands.value[mine], cost[mine], strength[mine]
            of_query = [of[r] for of in row_of]
            gains = ids[known], gain[known]
            found = Search(problem, r, parents, gains, of_query).run()
        at = np.flatnonzero(told[0] == r)
        lines = [tuple(v for v in line if v != PAD) for line in told[1][at].tolist()]
        assert lines == list(found)
        wanted = np.array(list(found.values())).reshape(-1, 2)
        np.testing.assert_allclose(told[2][at], wanted[:, 0], atol=1e-12)
        np.testing.assert_allclose(told[3][at], wanted[:, 1], atol=1e-12)


@FEW
@given(seed=seeds, k=st.integers(1, 9))
def test_all_that_may_be_among_the_first_is_kept(seed, k):
    rng = np.random.default_rng(seed)
    row, fitness = rng.integers(0, 5, 60), rng.integers(0, 12, 60) / 4
    told = leading(row, 5, k, fitness)
    n_fitter = [
        (fitness[row == r] < f).sum() for r, f in zip(row, fitness, strict=True)
    ]
    assert told.tolist() == np.flatnonzero(np.array(n_fitter) < k).tolist()
