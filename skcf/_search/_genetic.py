"""GeCo's genetic search: mutation, crossover, selective mutation, selection."""

from dataclasses import dataclass

import numpy as np

from skcf._search._finish import shrink
from skcf._search._problem import Pool, rank_in_row, top_in_row
from skcf._space import PAD, Candidates, mix, uniform
from skcf.constraints._lists import draw_each

PATIENCE = 2
SLACK = 3
N_RESCUED = 2
N_FIRST = 2


@dataclass
class Brood:
    """Children before they are scored.

    `keep` is the group that was just changed, -1 for none; `guess` is the strength
    that is expected of the child if effects add up.
    """

    cands: Candidates
    keep: np.ndarray
    guess: np.ndarray

    def take(self, at):
        """Return some of the children."""
        return Brood(self.cands.take(at), self.keep[at], self.guess[at])

    @classmethod
    def concat(cls, broods):
        """Put several broods behind one another."""
        return cls(
            Candidates.concat([b.cands for b in broods]),
            np.concatenate([b.keep for b in broods]),
            np.concatenate([b.guess for b in broods]),
        )


class GeneticSearch:
    """The population of all queries of a problem, advanced together.

    Parameters
    ----------
    problem : Problem
    q : int
        Candidates of a query that survive a generation, and children of a query that
        are scored in one: those of which most is expected.
    k : int
        Valid candidates of a query beyond which dearer ones are of no use.
    m_init, m_mut : int
        Values tried for each group in the first and the later generations.
    mutate : {"best", "all"}
        Whether the fittest of each change set is mutated, or every survivor.
    max_generations : int
    rescue : callable, default=None
        Returns candidates to start again from, for the positions of queries that
        ended without a valid one.
    n_settled : int, default=None
        Fittest candidates that must be valid and unchanged for a query to stop; None
        stands for `k`.
    """

    def __init__(
        self,
        problem,
        *,
        q,
        k,
        m_init,
        m_mut,
        mutate,
        max_generations,
        rescue=None,
        n_settled=None,
    ):
        self.problem = problem
        self.q, self.k, self.m_init, self.m_mut = q, k, m_init, m_mut
        self.mutate, self.max_generations = mutate, max_generations
        self.rescue = rescue
        self.n_settled = k if n_settled is None else n_settled
        self._generation = 0
        self._helped = False
        self._bound = np.full(len(problem), np.inf)

    def run(self, rows, start=None):
        """Return the last population of the queries at `rows`, in order.

        `start` is a pool of candidates that were scored before, to begin with.
        """
        problem = self.problem
        origin = problem.score(Candidates.unchanged(rows))
        first = self._score_unlike(rows)
        pool = Pool.concat([first, self._score(self._mutate(origin, self.m_init))])
        pool = pool if start is None else Pool.concat([pool, start])
        pool = problem.best(pool, self.q)
        pool = self._evolve(pool, np.unique(pool.row), self.max_generations)
        lost = np.setdiff1d(rows, pool.row[pool.valid])
        if len(lost) and self.rescue is not None and not problem.meter.expired:
            # The draws must not hang on how long the other queries took.
            self._generation = self.max_generations
            pool = self._restart(pool, lost)
            pool = self._evolve(pool, lost, self.max_generations)
        return pool

    def _score_unlike(self, rows):
        """Return the nearest ones of what to start from again, if time is limited.

        With a model that takes long for a row there may be no time for more.
        """
        problem = self.problem
        if self.rescue is None or problem.meter.deadline is None:
            return problem.score(Candidates.unchanged(rows[:0]))
        cands = self.rescue(problem, rows)
        cands = cands.take(rank_in_row(cands.row) < N_FIRST)
        cands, _ = problem.ground.cascade(cands, problem.seed)
        cands = cands.take(problem.unseen(cands))
        problem.remember(cands)
        return problem.score(cands)

    def _evolve(self, pool, rows, max_generations):
        """Return the population after the queries at `rows` have settled."""
        problem = self.problem
        live = np.zeros(len(problem), dtype=bool)
        live[np.intersect1d(rows, pool.row)] = True
        stale = np.zeros(len(problem), dtype=np.intp)
        for _ in range(max_generations):
            if not live.any() or problem.meter.expired:
                break
            self._generation += 1
            before = self._top(pool)
            self._bound = self._limits(pool)
            bred = self._score(self._children(pool.take(live[pool.row])), self.q)
            pool = problem.best(Pool.concat([pool, bred]), self.q)
            live &= ~self._settled(before, self._top(pool), stale)
        return pool

    def _restart(self, pool, rows):
        """Look for any answer to some queries, from wherever there is one."""
        problem = self.problem
        problem.urgent[rows] = self._helped = True
        cands, _ = problem.ground.cascade(self.rescue(problem, rows), problem.seed)
        cands = cands.take(problem.unseen(cands))
        problem.remember(cands)
        scored = problem.score(cands)
        found = shrink(problem, scored, N_RESCUED)
        return problem.best(Pool.concat([pool, scored, found]), self.q)

    def _score(self, brood, most=None):
        """Repair and score the children, or the `most` of which most is expected."""
        problem = self.problem
        # A repair only adds to the cost, so what is too dear is not worth one.
        brood = brood.take(problem.cost_of(brood.cands) < self._bound[brood.cands.row])
        cands, at = problem.ground.cascade(brood.cands, problem.seed, brood.keep)
        brood = brood.take(at)
        brood.cands = cands
        brood = brood.take(problem.unseen(cands))
        cost = problem.cost_of(brood.cands)
        near = np.flatnonzero(cost < self._bound[brood.cands.row])
        brood, cost = brood.take(near), cost[near]
        if most is not None:
            row, ties = brood.cands.row, brood.cands.hash(problem.values)
            best = self._promises(row, cost, brood.guess, most, ties)
            brood, cost = brood.take(best), cost[best]
        problem.remember(brood.cands)
        return problem.score(brood.cands, cost)

    def _promises(self, row, cost, guess, most, ties=None):
        """Return the mask of the `most` children of each query to expect most of.

        First those that should be valid, by cost, then the others by fitness.
        """
        model = self.problem.model
        likely, margin = guess > 0, model.from_strength(guess)
        fitness = self.problem.fitness(row, cost, margin, likely)
        keys = [(~likely).astype(float), fitness]
        return top_in_row(row, most, *keys, *([] if ties is None else [ties]))

    # -- the operators ------------------------------------------------------------

    def _children(self, pool):
        """Return what is bred from a population."""
        best = self.problem.best_of_each(pool)
        parents = best if self.mutate == "best" else pool
        parents = parents.take(parents.cost < self._bound[parents.row])
        return Brood.concat(
            [
                self._mutate(parents, self.m_init if self._helped else self.m_mut),
                self._crossover(best),
                self._selective(best),
            ]
        )

    def _bits(self, cands):
        """Return random bits that hang on query, candidate and generation alone."""
        turn = mix(np.uint64(self._generation))
        return mix(
            cands.hash(self.problem.values) ^ self.problem.seed[cands.row] ^ turn
        )

    def _strength(self, pool):
        return self.problem.model.strength(pool.margin)

    def _mutate(self, pool, m):
        """Change each group that a parent left alone to `m` values drawn for it."""
        problem, ground = self.problem, self.problem.ground
        parents = pool.cands
        changed = parents.changed(problem.values)
        room = (parents.n_changed < ground.limit[parents.row])[:, None]
        # A query in need may also take another value where it has changed already.
        again = changed & problem.urgent[parents.row][:, None]
        free = (ground.count[parents.row] > 0) & (again | (~changed & room))
        group, at = np.nonzero(free.T)
        drawn = self._draw(group, parents.row[at], self._bits(parents)[at], m)
        who, which = np.nonzero(drawn != PAD)
        whose, ids = at[who], drawn[who, which]
        rows = parents.row[whose]
        cost = pool.cost[whose] + problem.own_cost(rows, ids)
        near = np.flatnonzero(cost < self._bound[rows])
        whose, ids, rows, cost = whose[near], ids[near], rows[near], cost[near]
        guess = self._strength(pool)[whose] + problem.effects.of(rows, ids)
        order = self._promising(rows, cost, guess)
        order = order[np.argsort(whose[order], kind="stable")]
        whose, ids = whose[order], ids[order]
        children = parents.take(whose).put(ids, problem.values)
        return Brood(children, problem.values.group[ids], guess[order])

    def _promising(self, row, cost, guess):
        """Return the positions of a few times more children than will be scored."""
        if not self._generation:
            return np.arange(len(row))
        return np.flatnonzero(self._promises(row, cost, guess, SLACK * self.q))

    def _draw(self, group, rows, bits, m):
        """Return `m` values of a group for each row: all if there are no more."""
        args = (np.ascontiguousarray(a) for a in (group, rows, bits))
        return draw_each(self.problem.ground.lists, *args, m)

    def _crossover(self, best):
        """Join the fittest of every two change sets of a query; toss for a clash."""
        problem = self.problem
        size = np.bincount(best.row, minlength=len(problem))
        first = np.cumsum(size) - size
        pairs = [np.empty((2, 0), dtype=np.intp)]
        for n in np.unique(size[size > 1]):
            start = first[size == n][:, None]
            ends = [(start + end).ravel() for end in np.triu_indices(n, 1)]
            pairs.append(np.stack(ends))
        left, right = np.concatenate(pairs, axis=1)
        strength = self._strength(best)
        guess = strength[left] + strength[right]
        guess -= problem.effects.start[best.row[left]]
        cost = best.cost[left] + best.cost[right]
        order = self._promising(best.row[left], cost, guess)
        order = order[np.lexsort((right[order], left[order]))]
        left, right, guess = left[order], right[order], guess[order]
        one, two = best.cands.take(left), best.cands.take(right)
        a, b = one.groups(problem.values), two.groups(problem.values)
        clash = (a[:, :, None] == b[:, None, :]) & (one.value != PAD)[:, :, None]
        coin = uniform(mix(self._bits(one) ^ mix(two.hash(problem.values)))) < 0.5
        lose_one = clash.any(axis=2) & coin[:, None]
        lose_two = clash.any(axis=1) & ~coin[:, None]
        value = np.column_stack(
            [np.where(lose_one, PAD, one.value), np.where(lose_two, PAD, two.value)]
        )
        cands = Candidates(one.row, value).tidy(problem.values)
        return Brood(cands, np.full(len(cands), PAD), guess)

    def _selective(self, pool, tries=8):
        """Move each changed number or rank nearer: one child a group, one for all."""
        problem, values, best = self.problem, self.problem.values, pool.cands
        nearer = np.full(best.value.shape, PAD, dtype=np.intp)
        groups = best.groups(values)
        bits = self._bits(best)
        rigid = np.append(problem.space.categorical, False)[values.single]
        who, slot = np.nonzero(~np.append(rigid, True)[groups])
        rows, now = best.row[who], best.value[who, slot]
        drawn = self._draw(groups[who, slot], rows, mix(bits[who]), tries)
        drawn = np.where(drawn == PAD, now[:, None], drawn)
        cost = problem.own_cost(np.repeat(rows, tries), drawn.ravel())
        limit = problem.own_cost(rows, now)[:, None] - 1e-12
        hit = cost.reshape(drawn.shape) < limit
        pick = drawn[np.arange(len(who)), hit.argmax(axis=1)]
        nearer[who, slot] = np.where(hit.any(axis=1), pick, PAD)
        moved = nearer != PAD
        who, slot = np.nonzero(moved)
        each = best.take(who).put(nearer[who, slot], values)
        several = np.flatnonzero(moved.sum(axis=1) > 1)
        value = np.where(moved, nearer, best.value)
        together = Candidates(best.row[several], value[several])
        cands = Candidates.concat([each, together])
        parent = np.concatenate([who, several])
        keep = np.concatenate([groups[who, slot], np.full(len(several), PAD)])
        gain = np.zeros(value.shape)
        rows = np.broadcast_to(best.row[:, None], value.shape)[moved]
        gain[moved] = problem.effects.of(rows, nearer[moved])
        gain[moved] -= problem.effects.of(rows, best.value[moved])
        change = np.concatenate([gain[who, slot], gain[several].sum(axis=1)])
        return Brood(cands, keep, self._strength(pool)[parent] + change)

    # -- selection ----------------------------------------------------------------

    def _limits(self, pool):
        """Return for each query the cost that a useful candidate stays below.

        It is that of the k-th best valid candidate: a dearer one cannot enter the
        answer, nor can what is bred from it by adding changes.
        """
        bound = np.full(len(self.problem), np.inf)
        valid = pool.take(pool.valid)
        valid = valid.take(self.problem.order(valid))
        last = valid.take(rank_in_row(valid.row) == self.k - 1)
        bound[last.row] = last.cost
        return bound

    def _top(self, pool):
        """Return the fittest of each query that have to settle."""
        return pool.take(rank_in_row(pool.row) < self.n_settled)

    def _settled(self, before, after, stale):
        """Return which queries stop.

        A query stops when its fittest are valid and the same as a generation ago, or
        when it has no valid one and the fittest have long been the same.
        """
        n = len(self.problem)
        marks = np.zeros((2, n), dtype=np.uint64)
        for mark, top in zip(marks, (before, after), strict=True):
            np.bitwise_xor.at(mark, top.row, mix(top.cands.hash(self.problem.values)))
        same = marks[0] == marks[1]
        all_valid = np.ones(n, dtype=bool)
        all_valid[after.row[~after.valid]] = False
        stale[same] += 1
        stale[~same] = 0
        return same & (all_valid | (stale >= PATIENCE))
