"""Candidates that are expected to be cheaper: combinations of what is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from skcf._search._breed import UNLIKELY, compose, leading
from skcf._search._kernels import alike_of
from skcf._search._problem import Pool, top_in_row
from skcf._space import PAD, Candidates

N_ROUNDS = 10
N_SCORED = 100
N_PARENTS = 8
N_ALIKE = 4
N_MENDED = 10
N_REPAIRS = 64
LEVEL = 0.5
TRUST = 0.5


@dataclass
class Draft:
    """Candidates before they are scored, with their costs and expected strengths."""

    cands: Candidates
    cost: np.ndarray
    guess: np.ndarray

    def __len__(self):
        return len(self.cands)

    @property
    def row(self):
        """The query of each candidate."""
        return self.cands.row

    def take(self, at):
        """Return some of the candidates, by mask or position."""
        return Draft(self.cands.take(at), self.cost[at], self.guess[at])

    @classmethod
    def concat(cls, drafts):
        """Put several drafts behind one another."""
        return cls(
            Candidates.concat([d.cands for d in drafts]),
            np.concatenate([d.cost for d in drafts]),
            np.concatenate([d.guess for d in drafts]),
        )


def explore(problem, pool, n_rounds=N_ROUNDS):
    """Return a pool with candidates added that combine what is known of values.

    Each round fits the gains of values to all that was scored, composes candidates
    cheaper than the best one in a beam search on these gains, and scores those with
    the most to hope for: the chance to be valid times the cost saved. How far the
    guesses of a round were off, on average, corrects those of the next.
    """
    explorer, lots = _Explorer(problem), [pool]
    pools = [pool]
    for _ in range(n_rounds):
        if problem.meter.expired:
            break
        live = explorer.of_use(pools)
        found = explorer.round(live)
        if not len(found):
            break
        lots.append(found)
        pools = [live, found]
    return Pool.concat(lots)


class _Explorer:
    def __init__(self, problem):
        self.problem = problem
        self.bound = np.full(len(problem), np.inf)
        self.bias = np.zeros(len(problem))
        self.width = np.zeros(len(problem))

    def of_use(self, pools):
        """Return the pool of what may still lead on; what was found last comes last."""
        found = pools[-1]
        self.bound = np.minimum(self.bound, self.problem.least_cost(found))
        # Without a new candidate a query would not get one in the next round either.
        most = np.full(len(self.bound), -np.inf)
        most[found.row] = self.bound[found.row]
        most[np.isinf(most)] = -np.inf
        # What is dearer than the best one is of no use, nor will it be.
        parts = [pool.take(pool.cost <= most[pool.row]) for pool in pools]
        return Pool.concat(parts) if len(parts) > 1 else parts[0]

    def round(self, pool):
        """Return the pool of the candidates of one round."""
        problem = self.problem
        if not len(pool):
            return pool
        draft = self._compose(pool)
        draft = draft.take(problem.unseen(draft.cands))
        draft = self._lawful(draft)
        draft = self._choose(draft)
        problem.remember(draft.cands)
        scored = problem.score(draft.cands, draft.cost)
        self._learn(draft, scored)
        return scored

    # -- hope ---------------------------------------------------------------------

    def _chance(self, row, guess):
        """Return the chance of candidates to be valid."""
        return ndtr((guess + self.bias[row]) / self._spread()[row])

    def _spread(self):
        """Return how far guesses may be off, for each query."""
        return np.maximum(self.width, np.maximum(self.problem.effects.spread, 1e-3))

    def _hope(self, draft):
        """Return the cost that candidates save, times the chance that they do."""
        chance = self._chance(draft.row, draft.guess)
        saved = self.bound[draft.row] - draft.cost
        return np.round(np.where(chance > UNLIKELY, chance * saved, 0.0), 12)

    def _learn(self, draft, scored):
        """Take note of how far the guesses were off."""
        error = self.problem.model.strength(scored.margin) - draft.guess
        row, n = scored.row, len(self.problem)
        error, row = error[scored.margin > -np.inf], row[scored.margin > -np.inf]
        count = np.bincount(row, minlength=n)
        some = count > 0
        count = np.maximum(count, 1)
        mean = np.bincount(row, error, minlength=n) / count
        square = np.bincount(row, (error - mean[row]) ** 2, minlength=n) / count
        self.bias[some] = TRUST * mean[some]
        self.width[some] = np.sqrt(square)[some]

    # -- composing ----------------------------------------------------------------

    def _compose(self, pool):
        """Return what may be valid and cheaper, combined from what values gain."""
        problem, effects = self.problem, self.problem.effects
        known = effects.known()
        best = problem.best(self._leading(pool), N_PARENTS)
        strength = problem.model.strength(best.margin)
        # What a unit of strength costs in the best candidate known.
        price = self.bound / np.maximum(-effects.start, 1e-3)
        step = LEVEL * np.maximum(effects.spread, 1e-3)
        row, value, cost, guess = compose(
            (best.row, best.cands.value, best.cost, strength),
            known,
            (self.bound, self.bias, self._spread(), price, step, effects.start),
            *problem.priced,
            problem.values.mark,
            problem.values.n_observed,
        )
        cands = Candidates(row, value)
        # There was room for more changes than the values found make.
        cands.value = value[:, : int(cands.n_changed.max(initial=0))].copy()
        return Draft(cands, cost, guess)

    def _leading(self, pool):
        """Return what may be among the fittest: to sort it all would take longer."""
        fitness = self.problem.fitness(pool.row, pool.cost, pool.margin, pool.valid)
        fitness[pool.valid] = -1.0
        return pool.take(leading(pool.row, len(self.bound), N_PARENTS, fitness))

    # -- rules --------------------------------------------------------------------

    def _lawful(self, draft):
        """Return the lawful ones and, mended, the most hopeful of the others."""
        problem = self.problem
        draft.cost = problem.cost_of(draft.cands)
        lawful = problem.ground.mask(draft.cands)
        bad = draft.take(~lawful)
        bad = bad.take(top_in_row(bad.row, N_MENDED, -self._hope(bad)))
        if not len(bad):
            return draft.take(lawful)
        cands, at = problem.ground.cascade(bad.cands, problem.seed)
        drawn = Draft(cands, problem.cost_of(cands), bad.guess[at])
        draft = Draft.concat([draft.take(lawful), drawn, *self._mended(bad)])
        return draft.take(problem.unseen(draft.cands))

    def _mended(self, bad):
        """Yield the drafts that one value of a coupled group makes lawful."""
        problem, effects = self.problem, self.problem.effects
        parts = problem.ground.rules.joint
        for g in sorted({g for part in parts for g in part.groups}):
            who, ids = problem.ground.sets[g].spread(bad.row, N_REPAIRS)
            near = problem.own_cost(bad.row[who], ids) < self.bound[bad.row[who]]
            who, ids = who[near], ids[near]
            old = bad.cands.take(who)
            same = old.groups(problem.values) == g
            was = np.where(same, old.value, PAD).max(axis=1, initial=PAD)
            cands = old.put(ids, problem.values)
            guess = bad.guess[who] + effects.of(old.row, ids) - effects.of(old.row, was)
            ok = problem.ground.mask(cands)
            cands = cands.take(ok)
            yield Draft(cands, problem.cost_of(cands), guess[ok])

    def _choose(self, draft):
        """Return those with the most to hope for, not too many alike."""
        values, none = self.problem.values, np.empty(0)
        hope = self._hope(draft)
        ties = draft.cands.hash(values)
        alike = alike_of(draft.row, draft.cands.value, values.group)
        at = np.flatnonzero(hope > 0)
        at = at[top_in_row(alike[at], N_ALIKE, -hope[at], none, ties[at])]
        return draft.take(
            at[top_in_row(draft.row[at], N_SCORED, -hope[at], none, ties[at])]
        )
