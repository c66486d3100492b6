"""GeCo's genetic search: mutation, crossover, selective mutation, selection."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skcf._search._draws import offers_of
from skcf._search._finish import shrink
from skcf._search._kernels import first_of_each
from skcf._search._operators import bits_of, crosses, mutants, nearer
from skcf._search._problem import Pool, rank_in_row
from skcf._search._selection import standing, worthwhile
from skcf._space import Candidates, mix

PATIENCE = 2
SLACK = 3
TRIES = 8
N_RESCUED = 2
N_FIRST = 2
NO_LIMIT = np.iinfo(np.int64).max


@dataclass
class Brood:
    """Children before they are scored.

    `keep` is the group that was just changed, -1 for none; `guess` is the strength
    that is expected of the child if effects add up.
    """

    cands: Candidates
    keep: np.ndarray
    guess: np.ndarray

    @classmethod
    def of(cls, litters):
        """Put what several operators return behind one another."""
        return cls(
            Candidates.concat([Candidates(*litter[:2]) for litter in litters]),
            np.concatenate([litter[2] for litter in litters]),
            np.concatenate([litter[3] for litter in litters]),
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

    @cached_property
    def _offers(self):
        """What operators read of the values on offer."""
        return offers_of(self.problem)

    def run(self, rows, start=None):
        """Return the last population of the queries at `rows`, in order.

        `start` is a pool of candidates that were scored before, to begin with.
        """
        problem = self.problem
        origin = problem.score(Candidates.unchanged(rows))
        pools = []
        if self.rescue is not None and problem.meter.deadline is not None:
            pools.append(self._score_unlike(rows))
        litter = self._mutate(self._parents(origin), self.m_init, self._known())
        pools.append(self._score(Brood.of([litter])))
        if start is not None:
            pools.append(start)
        pool = problem.best(Pool.concat(pools), self.q)
        pool = self._evolve(pool, pool.row, self.max_generations)
        lost = np.setdiff1d(rows, pool.row[pool.valid])
        if len(lost) and self.rescue is not None and not problem.meter.expired:
            # The draws must not hang on how long the other queries took.
            self._generation = self.max_generations
            pool = self._restart(pool, lost)
            pool = self._evolve(pool, lost, self.max_generations)
        return pool

    def _score_unlike(self, rows):
        """Return the nearest ones of what to start from again, where time is limited.

        With a model that takes long for a row there may be no time for more.
        """
        problem = self.problem
        cands = self.rescue(problem, rows)
        cands = cands.take(rank_in_row(cands.row) < N_FIRST)
        cands, _ = problem.ground.cascade(cands, problem.seed)
        cands = cands.take(problem.unseen(cands))
        problem.remember(cands)
        return problem.score(cands)

    def _evolve(self, pool, rows, max_generations):
        """Return the population after the queries at `rows` have settled.

        Those that have are put aside, so that only the others cost time.
        """
        problem = self.problem
        live = np.zeros(len(problem), dtype=bool)
        live[rows] = True
        aside = []
        pool = _put_aside(pool, ~live[pool.row], aside)
        stale = np.zeros(len(problem), dtype=np.intp)
        before = self._standing(pool)
        for _ in range(max_generations):
            if not len(pool) or problem.meter.expired:
                break
            self._generation += 1
            self._bound = before[2]
            bred = self._score(self._children(pool), self.q)
            pool = problem.best(Pool.concat([pool, bred]), self.q)
            after = self._standing(pool)
            pool = _put_aside(pool, _settled(before, after, stale)[pool.row], aside)
            before = after
        if not aside:
            return pool
        pool = Pool.concat([*aside, pool])
        return pool.take(np.argsort(pool.row, kind="stable"))

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

    def _score(self, brood, most=NO_LIMIT):
        """Repair and score the children, or the `most` of which most is expected."""
        problem = self.problem
        cands, guess = brood.cands, brood.guess
        if problem.ground.coupled:
            cands, at = problem.ground.cascade(cands, problem.seed, brood.keep)
            guess = guess[at]
        best, cost = worthwhile(
            cands.row,
            cands.value,
            guess,
            problem.unseen(cands),
            problem.values.mark,
            problem.priced,
            (self._bound, problem.ground.limit, problem.urgent),
            most,
        )
        cands = cands.take(best)
        problem.remember(cands)
        return problem.score(cands, cost)

    # -- the operators ------------------------------------------------------------

    def _children(self, pool):
        """Return what is bred from a population."""
        args = pool.row, pool.cands.value, self.problem.values.group
        best = self._parents(pool.take(first_of_each(np.arange(len(pool)), *args)))
        every = best if self.mutate == "best" else self._parents(pool)
        known = self._known()
        litters = [
            self._mutate(every, self.m_init if self._helped else self.m_mut, known),
            self._crossover(best),
            self._selective(best, known),
        ]
        return Brood.of(litters)

    def _parents(self, pool):
        """Return what operators read of parents."""
        row, value = pool.row, pool.cands.value
        turn = mix(np.uint64(self._generation))
        bits = bits_of(row, value, self.problem.values.mark, self.problem.seed, turn)
        return row, value, pool.cost, self.problem.model.strength(pool.margin), bits

    def _known(self):
        """Return what is known of single values, and how many these may be."""
        known, _, size = self.problem.effects.table()
        return known, size

    def _mutate(self, parents, m, known):
        """Change each group that a parent left alone to `m` values drawn for it."""
        problem, ground = self.problem, self.problem.ground
        of_query = self._bound, ground.limit, ground.count, problem.urgent
        args = of_query, self._offers, problem.priced, known
        return mutants(parents, *args, m, self._slack)

    def _crossover(self, parents):
        """Join the fittest of every two change sets of a query; toss for a clash."""
        problem = self.problem
        of_query = problem.effects.start, self._bound, problem.urgent
        args = of_query, problem.values.mark, problem.priced
        return crosses(parents, *args, self._slack)

    def _selective(self, parents, known):
        """Move each changed number or rank nearer: one child a group, one for all."""
        args = self._bound, self._offers, self.problem.priced, known
        return nearer(parents, *args, TRIES)

    @property
    def _slack(self):
        """The most children of a query that an operator returns."""
        return SLACK * self.q if self._generation else NO_LIMIT

    # -- selection ----------------------------------------------------------------

    def _standing(self, pool):
        """Return what the search goes by of a population; see `standing`.

        A candidate dearer than the k-th best valid one cannot enter the answer, nor can
        what is bred from it by adding changes.
        """
        row, value = pool.row, pool.cands.value
        args = pool.cost, pool.valid, self.problem.values.mark, len(self.problem)
        return standing(row, value, *args, self.n_settled, self.k)


def _put_aside(pool, mask, aside):
    """Return the candidates of a pool that are not at the mask; the others go aside."""
    if not mask.any():
        return pool
    aside.append(pool.take(np.flatnonzero(mask)))
    return pool.take(np.flatnonzero(~mask))


def _settled(before, after, stale):
    """Return which queries stop.

    A query stops when its fittest are valid and the same as a generation ago, or when
    it has no valid one and the fittest have long been the same.
    """
    same = before[0] == after[0]
    stale[same] += 1
    stale[~same] = 0
    return same & (after[1] | (stale >= PATIENCE))
