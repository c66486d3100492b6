"""Candidates that are expected to be cheaper: combinations of what is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from skcf._search._breed import breed
from skcf._search._kernels import alike_of, once
from skcf._search._problem import Pool, top_in_row
from skcf._space import PAD, Candidates

N_ROUNDS = 10
N_SCORED = 50
N_PARENTS = 8
N_BEAM = 16
DEPTH = 5
N_VALUES = 8
N_SECOND = 1
N_ALIKE = 4
N_MENDED = 10
N_REPAIRS = 64
UNLIKELY = 0.02
UNLIKELY_Z = float(ndtri(UNLIKELY))
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


@dataclass
class Options:
    """Values worth trying, sorted by query: those of query i from `start[i]` on."""

    ids: np.ndarray
    gain: np.ndarray
    cost: np.ndarray
    start: np.ndarray
    size: np.ndarray


def explore(problem, pool, n_rounds=N_ROUNDS):
    """Return a pool with candidates added that combine what is known of values.

    Each round fits the gains of values to all that was scored, composes candidates
    cheaper than the best one in a beam search on these gains, and scores those with
    the most to hope for: the chance to be valid times the cost saved. How far the
    guesses of a round were off, on average, corrects those of the next.
    """
    explorer, lots = _Explorer(problem), [pool]
    live = pool
    for _ in range(n_rounds):
        if problem.meter.expired:
            break
        # What is dearer than the best one is of no use, nor will it be.
        live = live.take(live.cost <= problem.least_cost(live)[live.row])
        found = explorer.round(live)
        lots.append(found)
        # A query without a new candidate would not get one in the next round either.
        more = np.zeros(len(problem), dtype=bool)
        more[found.row] = True
        if not more.any():
            break
        live = Pool.concat([live.take(more[live.row]), found.take(more[found.row])])
    return Pool.concat(lots)


class _Explorer:
    def __init__(self, problem):
        self.problem = problem
        self.bias = np.zeros(len(problem))
        self.width = np.zeros(len(problem))

    def round(self, pool):
        """Return the pool of the candidates of one round."""
        problem = self.problem
        self.bound = problem.least_cost(pool)
        pool = pool.take(np.isfinite(self.bound)[pool.row])
        pool = pool.take(pool.cost <= self.bound[pool.row])
        short = np.maximum(-problem.effects.start, 1e-3)
        # What a unit of strength costs in the best candidate known.
        self.price = np.where(np.isfinite(self.bound), self.bound / short, 0.0)
        if not len(pool):
            return pool
        draft = self._compose(self._base(pool), self._options())
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

    def _base(self, pool):
        """Return what to build upon: the fittest, each without one value, nothing."""
        problem = self.problem
        best = problem.best(pool, N_PARENTS)
        strength = problem.model.strength(best.margin)
        drafts = [Draft(best.cands, best.cost, strength)]
        for slot in range(best.cands.value.shape[1]):
            has = np.flatnonzero(best.cands.value[:, slot] != PAD)
            some = best.cands.take(has)
            mask = np.zeros(some.value.shape, dtype=bool)
            mask[:, slot] = True
            cands = some.drop(mask, problem.values)
            guess = strength[has] - problem.effects.of(some.row, some.value[:, slot])
            drafts.append(Draft(cands, problem.cost_of(cands), guess))
        rows = np.unique(best.row)
        start = problem.effects.start[rows]
        drafts.append(Draft(Candidates.unchanged(rows), np.zeros(len(rows)), start))
        return Draft.concat(drafts)

    def _options(self):
        """Return the values of each group that gain more than cheaper ones do.

        Gains are told apart in steps of half the spread of the residuals. The best of
        the others comes along: gains are guesses, and rules may ask for another value.
        """
        problem = self.problem
        row, ids, gain = problem.effects.known()
        live = self.price[row] > 0
        row, ids, gain = row[live], ids[live], gain[live]
        cost = problem.own_cost(row, ids)
        near = cost < self.bound[row]
        row, ids, gain, cost = row[near], ids[near], gain[near], cost[near]
        lot = row * len(problem.values.single) + problem.values.group[ids]
        step = LEVEL * np.maximum(problem.effects.spread, 1e-3)[row]
        front = _front(lot, cost, np.rint(gain / step))
        worth = cost - self.price[row] * gain
        keep = np.zeros(len(row), dtype=bool)
        for some, most in ((front, N_VALUES), (~front, N_SECOND)):
            at = np.flatnonzero(some)
            keep[at[top_in_row(lot[at], most, worth[at])]] = True
        size = np.bincount(row[keep], minlength=len(problem))
        return Options(ids[keep], gain[keep], cost[keep], np.cumsum(size) - size, size)

    def _compose(self, base, options):
        """Return children of the base, their children, and so on: a beam search."""
        found = [base.take(slice(0))]
        row_of = self.bound, self.bias, self.price, UNLIKELY_Z * self._spread() - 1e-9
        options = (options.ids, options.gain, options.cost, options.start, options.size)
        for _ in range(DEPTH):
            likely, short, fit = breed(
                (base.row, base.cands.value, base.cost, base.guess),
                self._slots(base.cands),
                options,
                self.problem.values.group,
                row_of,
                3 * N_BEAM,
            )
            found.append(self._hopeful(base, *likely))
            beam = self._put(base, *short)
            first = once(self.problem.key_of(beam.cands))
            first = first[top_in_row(beam.row[first], N_BEAM, fit[first])]
            base = beam.take(first)
            if not len(base):
                break
        return Draft.concat(found)

    def _slots(self, cands):
        """Return the cost and the gain of each single value of candidates."""
        shape = cands.value.shape
        rows, ids = np.repeat(cands.row, shape[1]), cands.value.ravel()
        cost = self.problem.own_cost(rows, ids).reshape(shape)
        return cost, self.problem.effects.of(rows, ids).reshape(shape)

    def _hopeful(self, base, who, new, told):
        """Return the children of which there is most to hope for."""
        draft = Draft(Candidates.unchanged(base.row[who]), told[:, 0], told[:, 1])
        hope = self._hope(draft)
        some = np.flatnonzero(hope > 0)
        some = some[top_in_row(draft.row[some], 2 * N_SCORED, -hope[some])]
        return self._put(base, who[some], new[some], told[some])

    def _put(self, base, who, new, told):
        """Return children as candidates of their own."""
        cands = base.cands.take(who).put(new, self.problem.values)
        return Draft(cands, told[:, 0], told[:, 1])

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
        return Draft.concat([draft.take(lawful), drawn, *self._mended(bad)])

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
        """Return the new ones with the most to hope for, not too many alike."""
        draft = draft.take(self.problem.unseen(draft.cands))
        hope = self._hope(draft)
        draft, hope = draft.take(hope > 0), hope[hope > 0]
        ties = draft.cands.hash(self.problem.values)
        alike = alike_of(draft.row, draft.cands.groups(self.problem.values))
        few = top_in_row(alike, N_ALIKE, -hope, np.empty(0), ties)
        draft, hope, ties = draft.take(few), hope[few], ties[few]
        return draft.take(top_in_row(draft.row, N_SCORED, -hope, np.empty(0), ties))


def _front(lot, cost, level):
    """Return which entries have a higher level than all cheaper ones of their lot."""
    order = np.lexsort((-level, cost, lot))
    nth = np.cumsum(np.diff(lot[order], prepend=-1) != 0)
    ordered = level[order]
    # One running maximum for all lots: each starts above the one before.
    lift = nth * (np.ptp(ordered) + 1.0) if len(ordered) else nth
    top = np.maximum.accumulate(ordered + lift)
    out = np.ones(len(lot), dtype=bool)
    out[order[1:]] = top[1:] > top[:-1]
    return out
