"""Candidates that are expected to be cheaper: combinations of what is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from skcf._search._problem import Pool, rank_by
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

    def pairs(self, rows):
        """Return (position in `rows`, position here) of all values of queries."""
        size = self.size[rows]
        who = np.repeat(np.arange(len(rows)), size)
        nth = np.arange(len(who)) - np.repeat(np.cumsum(size) - size, size)
        return who, self.start[rows][who] + nth


def explore(problem, pool):
    """Return a pool with candidates added that combine what is known of values.

    Each round fits the gains of values to all that was scored, composes candidates
    cheaper than the best one in a beam search on these gains, and scores those with
    the most to hope for: the chance to be valid times the cost saved. How far the
    guesses of a round were off, on average, corrects those of the next.
    """
    explorer, live = _Explorer(problem), pool
    for _ in range(N_ROUNDS):
        if problem.meter.expired:
            break
        found = explorer.round(live)
        pool = Pool.concat([pool, found])
        # A query without a new candidate would not get one in the next round either.
        live = pool.take(np.isin(pool.row, found.row))
        if not len(live):
            break
    return pool


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
        spread = self.problem.effects.spread
        width = np.maximum(self.width, np.maximum(spread, 1e-3))
        return ndtr((guess + self.bias[row]) / width[row])

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
            keep[at[rank_by(lot[at], (worth[at],)) < most]] = True
        size = np.bincount(row[keep], minlength=len(problem))
        return Options(ids[keep], gain[keep], cost[keep], np.cumsum(size) - size, size)

    def _compose(self, base, options):
        """Return children of the base, their children, and so on: a beam search."""
        found = [base.take(slice(0))]
        for _ in range(DEPTH):
            who, new, draft = self._children(base, options)
            hope = self._hope(draft)
            hopeful = np.flatnonzero(hope > 0)
            rank = rank_by(draft.row[hopeful], (-hope[hopeful],))
            hopeful = hopeful[rank < 2 * N_SCORED]
            found.append(self._put(base, who, new, draft, hopeful))
            lack = np.maximum(0.0, -draft.guess - self.bias[draft.row])
            fit = np.round(draft.cost + self.price[draft.row] * lack, 9)
            short = np.flatnonzero(lack > 0)
            short = short[rank_by(draft.row[short], (fit[short],)) < 3 * N_BEAM]
            beam = self._put(base, who, new, draft, short)
            first = np.sort(
                np.unique(self.problem.key_of(beam.cands), return_index=True)[1]
            )
            first = first[rank_by(beam.row[first], (fit[short][first],)) < N_BEAM]
            base = beam.take(first)
            if not len(base):
                break
        return Draft.concat(found)

    def _children(self, base, options):
        """Return (parent, value, draft) of every base with every value, not yet put."""
        values, effects = self.problem.values, self.problem.effects
        who, at = options.pairs(base.row)
        new = options.ids[at]
        old = np.full(len(who), PAD)
        for slot in base.cands.value.T:
            same = (slot[who] != PAD) & (values.group[slot[who]] == values.group[new])
            old[same] = slot[who[same]]
        cost = base.cost[who] + options.cost[at]
        guess = base.guess[who] + options.gain[at]
        swap = np.flatnonzero(old != PAD)
        rows = base.row[who[swap]]
        cost[swap] -= self.problem.own_cost(rows, old[swap])
        guess[swap] -= effects.of(rows, old[swap])
        ok = (old != new) & (cost < self.bound[base.row[who]])
        who = who[ok]
        draft = Draft(Candidates.unchanged(base.row[who]), cost[ok], guess[ok])
        return who, new[ok], draft

    def _put(self, base, who, new, draft, at):
        """Return children as candidates of their own."""
        cands = base.cands.take(who[at]).put(new[at], self.problem.values)
        return Draft(cands, draft.cost[at], draft.guess[at])

    # -- rules --------------------------------------------------------------------

    def _lawful(self, draft):
        """Return the lawful ones and, mended, the most hopeful of the others."""
        problem = self.problem
        draft.cost = problem.cost_of(draft.cands)
        lawful = problem.ground.mask(draft.cands)
        bad = draft.take(~lawful)
        bad = bad.take(rank_by(bad.row, (-self._hope(bad),)) < N_MENDED)
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
        changed = draft.cands.changed(self.problem.values)
        alike = np.unique(
            np.column_stack([draft.row, changed]), axis=0, return_inverse=True
        )[1].ravel()
        few = rank_by(alike, (ties, -hope)) < N_ALIKE
        draft, hope, ties = draft.take(few), hope[few], ties[few]
        return draft.take(rank_by(draft.row, (ties, -hope)) < N_SCORED)


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
