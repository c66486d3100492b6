"""The genetic operators against what numpy says in several passes."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from skcf._search._draws import draws_below
from skcf._search._effects import Effects
from skcf._search._genetic import NO_LIMIT, TRIES, GeneticSearch
from skcf._search._operators import bits_of, crosses, mutants, nearer
from skcf._search._problem import Pool, rank_by
from skcf._search._selection import promising, standing, worthwhile
from skcf._space import PAD, Candidates, mix, uniform
from tests._search.random_problems import grounded, some_candidates

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)
N = 7
GROUPS = pytest.mark.parametrize("groups", [(), ((0, 2),)])


class Case:
    """Seven queries with scored parents, as the genetic search holds them."""

    def __init__(self, seed, groups):
        self.rng = rng = np.random.default_rng(seed)
        self.problem = problem = grounded(rng, groups)
        problem.space = problem.ground.space
        problem.seed = rng.integers(0, 2**63, N).astype(np.uint64)
        problem.urgent = rng.random(N) < 0.3
        problem.effects = effects = Effects(problem.values, N)
        problem.model = SimpleNamespace(strength=lambda margin: 2 * margin)
        self.values, self.ground = problem.values, problem.ground
        self.search = GeneticSearch(
            problem, q=1, k=1, m_init=3, m_mut=3, mutate="best", max_generations=1
        )
        effects.learn(Candidates.unchanged(np.arange(N)), rng.normal(size=N))
        cands = self.lawful(40)
        effects.learn(cands, rng.normal(size=len(cands)))
        cands = self.lawful(30)
        cands = cands.take(np.argsort(cands.row, kind="stable"))
        cost, margin = problem.cost_of(cands), rng.normal(size=len(cands))
        self.pool = Pool(cands, cost, margin, margin > 0)
        self.bound = np.where(rng.random(N) < 0.3, np.inf, 2.5 * rng.random(N))
        self.known = self.search._known()
        self.parents = self.search._parents(self.pool)

    def lawful(self, n):
        """Return candidates of values on offer, some of the queries' own left out."""
        cands = some_candidates(self.rng, self.values, n, N)
        own = self.ground.own[cands.row]
        own = np.column_stack([own, np.full(n, PAD)])
        mine = np.take_along_axis(own, cands.groups(self.values), axis=1)
        cands = cands.drop(cands.value == mine, self.values)
        return cands.take(cands.n_changed > 0)

    def draws(self, group, row, bits, m):
        """Return the values drawn of a group, all of them if there are few."""
        few = self.ground.sets[group]
        _, ids = few.lists(np.array([row]))
        if len(ids) <= m:
            return ids
        nth = np.arange(m)
        with np.errstate(over="ignore"):
            salt = np.uint64(group + 1) * np.uint64(1 << 20) + nth.astype(np.uint64)
        u = (nth + uniform(mix(bits ^ mix(salt)))) / m
        return few.draw(np.array([row]), u[None])[0]

    def price(self, row, ids, linf=True):
        """Return what values cost as the only changes, or as far as costs add up."""
        cost = self.problem.cost
        if not linf:
            self.problem.cost = SimpleNamespace(
                ruler=cost.ruler, weight=cost.weight, norms=(*cost.norms[:3], 0.0)
            )
        ids = np.asarray(ids, np.intp)
        price = self.problem.own_cost(np.full(len(ids), row), ids)
        self.problem.cost = cost
        return price

    def gain(self, row, v):
        return self.problem.effects.of(np.array([row]), np.array([v]))[0]


def told(children):
    """Return children as a list of tuples, in order."""
    row, value, keep, guess = children
    return [
        (int(r), tuple(v[v != PAD].tolist()), int(g), round(float(e), 9))
        for r, v, g, e in zip(row, value, keep, guess, strict=True)
    ]


# -- draws -------------------------------------------------------------------------


@GROUPS
@FEW
@given(seed=seeds, m=st.integers(1, 9))
def test_draws_below_a_budget_are_all_draws_that_cost_less(groups, seed, m):
    case = Case(seed, groups)
    rng, n_groups = case.rng, len(case.values.single)
    of, rows = np.sort(rng.integers(0, n_groups, 40)), rng.integers(0, N, 40)
    bits = rng.integers(0, 2**63, 40).astype(np.uint64)
    budget = np.where(rng.random(40) < 0.3, np.inf, rng.random(40))
    lists, even, least = case.search._offers
    entries = of, rows, bits, budget
    args = lists, entries, m, case.problem.priced, even
    who, ids, price = draws_below(*args, False)
    some, first, _ = draws_below(*args, True)
    for i in range(40):
        drawn = case.draws(of[i], rows[i], bits[i], m)
        cost = case.price(rows[i], drawn)
        near = cost < budget[i]
        assert ids[who == i].tolist() == drawn[near].tolist()
        assert first[some == i][:1].tolist() == drawn[near][:1].tolist()
        np.testing.assert_allclose(price[who == i], cost[near], rtol=1e-12)
        assert (cost >= least[rows[i], of[i]] - 1e-12).all()
    assert (np.diff(who) >= 0).all()


# -- the operators -----------------------------------------------------------------


@FEW
@given(seed=seeds)
def test_bits_hang_on_candidate_query_and_generation(seed):
    case = Case(seed, ())
    cands, turn = case.pool.cands, np.uint64(seed)
    args = case.values.mark, case.problem.seed, turn
    bits = bits_of(cands.row, cands.value, *args)
    truth = mix(cands.hash(case.values) ^ case.problem.seed[cands.row] ^ turn)
    assert (bits == truth).all()


@GROUPS
@FEW
@given(seed=seeds, m=st.integers(1, 4), most=st.sampled_from([3, NO_LIMIT]))
def test_mutants_change_each_group_that_is_free(groups, seed, m, most):
    case = Case(seed, groups)
    urgent, ground, cands = case.problem.urgent, case.ground, case.pool.cands
    row, _, cost, strength, bits = case.parents
    changed = cands.changed(case.values)
    found = []
    for g in range(len(case.values.single)):
        for i, r in enumerate(row):
            room = cands.n_changed[i] < ground.limit[r]
            if not (urgent[r] if changed[i, g] else room):
                continue
            drawn = case.draws(g, r, bits[i], m)
            for v, price in zip(drawn, case.price(r, drawn), strict=True):
                if cost[i] + price < case.bound[r]:
                    guess = strength[i] + case.gain(r, v)
                    found.append((i, v, cost[i] + price, guess))
    of_query = case.bound, ground.limit, ground.count, urgent
    args = of_query, case.search._offers, case.problem.priced, case.known, m, most
    children = mutants(case.parents, *args)
    if not found:
        assert not len(children[0])
        return
    who, ids, price, guess = map(np.array, zip(*found, strict=True))
    kept = np.flatnonzero(most_promising(row[who], price, guess, urgent, most))
    kept = kept[np.argsort(who[kept], kind="stable")]
    truth = cands.take(who[kept]).put(ids[kept], case.values)
    keep = case.values.group[ids[kept]]
    assert told(children) == told((truth.row, truth.value, keep, guess[kept]))
    assert children[1].shape[1] == truth.value.shape[1]


def most_promising(row, cost, guess, urgent, most):
    """Return which children are the `most` of their query, sorted by hand."""
    likely = guess > 0
    lack = np.where(urgent[row], 0.0, cost) + expit(-guess)
    fitness = np.round(np.where(likely, cost, lack), 9)
    return rank_by(row, (fitness, ~likely)) < most


@GROUPS
@FEW
@given(seed=seeds, most=st.sampled_from([2, NO_LIMIT]))
def test_crosses_join_every_two_parents(groups, seed, most):
    case = Case(seed, groups)
    row, value, cost, strength, bits = case.parents
    start, group = case.problem.effects.start, case.pool.cands.groups(case.values)
    left, right = np.triu_indices(len(row), 1)
    same = row[left] == row[right]
    left, right = left[same], right[same]
    of_query = start, case.bound, case.problem.urgent
    args = case.values.mark, case.problem.priced, most
    children = told(crosses(case.parents, of_query, *args))
    guess = strength[left] + strength[right] - start[row[left]]
    total = cost[left] + cost[right]
    best = most_promising(row[left], total, guess, case.problem.urgent, most)
    marks, truth = case.pool.cands.hash(case.values), []
    for i, j, e in zip(left[best], right[best], guess[best], strict=True):
        one, two = (
            {g: v for g, v in zip(group[k], value[k], strict=True) if v != PAD}
            for k in (i, j)
        )
        coin = uniform(mix(bits[i] ^ mix(marks[j]))) < 0.5
        both = one | two if coin else two | one
        line = np.array([both[g] for g in sorted(both)])
        if case.price(row[i], line, linf=False).sum() < case.bound[row[i]]:
            truth.append((int(row[i]), tuple(line.tolist()), PAD, round(float(e), 9)))
    assert children == truth


@GROUPS
@FEW
@given(seed=seeds)
def test_nearer_children_take_the_first_cheaper_draw(groups, seed):
    case = Case(seed, groups)
    row, value, cost, strength, bits = case.parents
    group = case.values.group
    each, together = [], []
    for i, r in enumerate(row):
        line, moved = value[i][value[i] != PAD], {}
        for s, v in enumerate(line):
            drawn = case.draws(group[v], r, mix(bits[i]), TRIES)
            cheaper = case.price(r, drawn) < case.price(r, [v]) - 1e-12
            if cheaper.any():
                moved[s] = drawn[np.argmax(cheaper)]
        gain = {s: case.gain(r, v) - case.gain(r, line[s]) for s, v in moved.items()}
        steps = [[s] for s in moved] + [list(moved)] * (len(moved) > 1)
        for some in steps:
            new = line.copy()
            new[some] = [moved[s] for s in some]
            total = cost[i] + (case.price(r, new) - case.price(r, line)).sum()
            keep = group[new[some[0]]] if len(some) == 1 else PAD
            child = r, new, keep, strength[i] + sum(gain[s] for s in some)
            if total < case.bound[r]:
                (each if len(some) == 1 else together).append(child)
    args = case.bound, case.search._offers, case.problem.priced, case.known, TRIES
    children = told(nearer(case.parents, *args))
    assert children == [
        (int(r), tuple(new.tolist()), int(g), round(float(e), 9))
        for r, new, g, e in each + together
    ]


# -- selection ---------------------------------------------------------------------


@FEW
@given(seed=seeds, most=st.integers(0, 9), tied=st.booleans())
def test_the_most_promising_are_the_likely_ones_by_cost_then_the_fittest(
    seed, most, tied
):
    rng = np.random.default_rng(seed)
    row, urgent = rng.integers(0, 4, 60), rng.random(4) < 0.5
    cost, guess = rng.integers(0, 3, 60) / 4, rng.integers(-2, 3, 60) / 2
    ties = rng.integers(0, 5, 60 if tied else 0).astype(np.uint64)
    got = promising(row, cost, guess, ties, urgent, most)
    likely = guess > 0
    lack = np.where(urgent[row], 0.0, cost) + expit(-guess)
    fitness = np.round(np.where(likely, cost, lack), 9)
    keys = (*([ties] if tied else []), fitness, ~likely)
    assert (got == (rank_by(row, keys) < most)).all()


@FEW
@given(seed=seeds, most=st.sampled_from([2, NO_LIMIT]))
def test_what_is_worth_scoring_is_new_cheap_and_promising(seed, most):
    case = Case(seed, ())
    rng, cands = case.rng, case.pool.cands
    new = np.flatnonzero(rng.random(len(cands)) < 0.7)
    guess, limit = rng.normal(size=len(cands)), rng.integers(1, 5, N)
    of_query = case.bound, limit, case.problem.urgent
    args = case.values.mark, case.problem.priced, of_query, most
    at, cost = worthwhile(cands.row, cands.value, guess, new, *args)
    near = case.pool.cost < case.bound[cands.row]
    near &= cands.n_changed <= limit[cands.row]
    new = new[near[new]]
    some, ties = cands.take(new), cands.hash(case.values)[new]
    best = promising(
        some.row, case.pool.cost[new], guess[new], ties, case.problem.urgent, most
    )
    assert at.tolist() == new[best].tolist()
    assert cost.tolist() == case.pool.cost[at].tolist()


@FEW
@given(seed=seeds, n_top=st.integers(1, 4), k=st.integers(1, 4))
def test_the_standing_of_a_population_is_read_off_its_order(seed, n_top, k):
    case = Case(seed, ())
    order = np.lexsort([case.pool.cost, ~case.pool.valid, case.pool.row])
    pool = case.pool.take(order)
    args = pool.cost, pool.valid, case.values.mark, N, n_top, k
    bits, certain, bound = standing(pool.row, pool.cands.value, *args)
    marks = mix(pool.cands.hash(case.values))
    for r in range(N):
        mine = np.flatnonzero(pool.row == r)
        top, valid = mine[:n_top], mine[pool.valid[mine]]
        assert bits[r] == np.bitwise_xor.reduce(marks[top], initial=np.uint64(0))
        assert certain[r] == pool.valid[top].all()
        assert bound[r] == (pool.cost[valid[k - 1]] if len(valid) >= k else np.inf)
