"""One block of queries on its way to counterfactuals: what all searches share."""

from dataclasses import dataclass, fields

import numpy as np

from skcf._search._cheaper import nearer_values
from skcf._search._effects import Effects
from skcf._search._kernels import (
    costs,
    first_of_each,
    first_unseen,
    insert,
    ranks,
    sort_pool,
    top_of_each,
)
from skcf._space import Candidates
from skcf._space._candidates import picked, positions

# Answers that have to be apart are chosen from so many times as many.
WIDER = 6


@dataclass
class Pool:
    """Candidates with what is known of them."""

    cands: Candidates
    cost: np.ndarray
    margin: np.ndarray
    valid: np.ndarray

    def __len__(self):
        return len(self.cands)

    @property
    def row(self):
        """The query of each candidate."""
        return self.cands.row

    def take(self, at):
        """Return some of the candidates, by mask or position."""
        at = positions(at)
        rest = (picked(a, at) for a in (self.cost, self.margin, self.valid))
        return Pool(self.cands.take(at), *rest)

    @classmethod
    def concat(cls, pools):
        """Put several pools behind one another."""
        cands = Candidates.concat([pool.cands for pool in pools])
        rest = [
            np.concatenate([getattr(pool, f.name) for pool in pools])
            for f in fields(cls)[1:]
        ]
        return cls(cands, *rest)


class Problem:
    """The queries of one block with their rules, cost, model, goals and budget.

    Parameters
    ----------
    x : ndarray of shape (n_queries, n_features)
        Codes of the queries.
    table : the queries in their own container
    ground : Ground
    cost : BoundCost
    model : BlackBox
    goal : Goal
    seed : ndarray of uint64 of shape (n_queries,)
        The start of each query's own random stream.
    meter : Meter
    max_evaluations : int, default=None
        The most rows that a query may have scored.
    quick : bool, default=False
        Whether any answer will do.
    apart : float, default=None
        The least distance between two answers to a query.
    ruler : BoundCost, default=None
        What measures that distance.
    """

    def __init__(
        self,
        x,
        table,
        ground,
        cost,
        model,
        goal,
        seed,
        meter,
        max_evaluations=None,
        quick=False,
        apart=None,
        ruler=None,
    ):
        self.x, self.table = x, table
        self.ground, self.space, self.values = ground, ground.space, ground.values
        self.cost, self.model, self.goal = cost, model, goal
        self.seed, self.meter, self.quick = seed, meter, quick
        self.max_evaluations = max_evaluations
        self.apart, self.ruler = apart, ruler
        self.n_scored = np.zeros(len(x), dtype=np.int64)
        self.cut = np.zeros(len(x), dtype=bool)
        self.session = model.open(table, x, self.values)
        self.effects = Effects(self.values, len(x))
        # Queries for which any answer is wanted before a cheap one.
        self.urgent = np.zeros(len(x), dtype=bool)
        self._seen, self._n_seen = np.zeros(1024, dtype=np.uint64), 0

    def __len__(self):
        return len(self.x)

    def n_ways(self, k):
        """Return how many ways out to look at so that `k` can be chosen from them."""
        return k if self.apart is None else WIDER * k

    def cost_of(self, cands):
        """Return the cost of each candidate, from its changed cells alone."""
        row = np.ascontiguousarray(cands.row)
        cells, group, (ruler, weight, norms) = self.priced
        return costs(row, cands.value, *cells, group, ruler, weight, norms)

    def own_cost(self, rows, ids):
        """Return the cost of each single value as the only change of its query."""
        return self.cost_of(Candidates(rows, ids[:, None]))

    @property
    def priced(self):
        """What compiled loops read to price values: cells, groups, and the ruler."""
        values, cost = self.values, self.cost
        cells = self.x, values.ptr, values.col, values.code
        return cells, values.group, (cost.ruler, cost.weight, cost.norms)

    def nearer(self, rows, groups, limit, n_even):
        """Return (position, value) of some of the values that cost less than a limit.

        All where there are few; else `n_even` evenly spaced ones by cost, and some that
        lie ever closer to the limit.
        """
        lists, longest = self.ground.lists, int(self.ground.count.max(initial=0))
        # Group by group, so that each is looked up once.
        order = np.argsort(groups, kind="stable")
        args = lists, rows[order], groups[order], limit[order], longest, n_even
        at, ids = nearer_values(*args, *self.priced)
        return order[at], ids

    def unseen(self, cands):
        """Return the positions of candidates not scored before, each once."""
        return first_unseen(self._seen, self.key_of(cands))

    def remember(self, cands):
        """Note that candidates are about to be scored."""
        room = len(self._seen)
        while room < 2 * (self._n_seen + len(cands)):
            room *= 4
        if room > len(self._seen):
            old, self._seen = self._seen, np.zeros(room, dtype=np.uint64)
            insert(self._seen, old[old != 0])
        self._n_seen += insert(self._seen, self.key_of(cands))

    def key_of(self, cands):
        """Return 64 bits that stand for the query and the values of each candidate."""
        return cands.keys(self.values)

    def score(self, cands, cost=None):
        """Return the pool of the candidates, scored in one batch.

        What the budget does not allow is not scored: its margin is -inf.
        """
        cost = self.cost_of(cands) if cost is None else cost
        margin = np.full(len(cands), -np.inf)
        some, todo = cands, slice(None)
        if self.max_evaluations is not None or self.meter.deadline is not None:
            todo = self._affordable(cands)
            some = cands.take(todo)
        said = self.model.margins(
            self.session, some, self.goal.take(some.row), self.meter
        )
        # Digits that hang on the batch must not steer the search.
        margin[todo] = np.round(said / self.model.scale, 9) * self.model.scale
        done, scored = cands, margin > -np.inf
        if not scored.all():
            self.cut[cands.row[~scored]] = True
            done = cands.take(scored)
        self.n_scored += np.bincount(done.row, minlength=len(self))
        self.effects.learn(done, self.model.strength(margin[scored]))
        return Pool(cands, cost, margin, self.model.passes(margin))

    def _affordable(self, cands):
        """Return the positions of what the budget allows, in the order to ask in."""
        turn = rank_in_row(cands.row)
        todo = np.arange(len(cands))
        if self.max_evaluations is not None:
            todo = np.flatnonzero(
                turn < self.max_evaluations - self.n_scored[cands.row]
            )
        if self.meter.deadline is not None:
            # A batch that is cut short gives every query its share.
            todo = todo[np.argsort(turn[todo], kind="stable")]
        return todo

    def chance(self, rows, codes):
        """Return the probability of the target of rows of codes of queries, or less.

        Where there are no probabilities, a logistic function of the margin stands in.
        """
        out = np.zeros(len(codes))
        for begin in range(0, len(codes), self.model.batch):
            at = slice(begin, begin + self.model.batch)
            table = self.space.decode(codes[at], self.table, rows[at])
            margin = self.model.margin(
                *self.model.output(table), self.goal.take(rows[at])
            )
            self.meter.add(len(margin))
            out[at] = 1.0 - self.model.shortfall(margin)
        return np.round(out, 9)

    def order(self, pool, k=None):
        """Return the positions that sort a pool by query, fittest first.

        Valid candidates come first, by cost; the others by cost plus shortfall, or
        by shortfall alone where a query is urgent. Ties go to the fewer changes, then
        to the lexicographically smaller codes. With `k`, those of the first `k` of each
        query.
        """
        fitness = self.fitness(pool.row, pool.cost, pool.margin, pool.valid)
        values, cands = self.values, pool.cands
        cells = values.group, values.ptr, values.code
        most = len(pool) if k is None else k
        return sort_pool(
            cands.row, len(self), most, pool.valid, fitness, cands.value, *cells
        )

    def fitness(self, row, cost, margin, valid):
        """Return the fitness of candidates; lower is better, valid or not apart."""
        short = self.model.shortfall(margin)
        wanting = np.where(self.urgent[row], short, cost + short)
        return np.round(np.where(valid, cost, wanting), 9)

    def least_cost(self, pool):
        """Return the least cost of a valid candidate of each query, inf if none."""
        out = np.full(len(self), np.inf)
        np.minimum.at(out, pool.row[pool.valid], pool.cost[pool.valid])
        return out

    def best(self, pool, k):
        """Return the `k` fittest candidates of each query, in order."""
        return pool.take(self.order(pool, k))

    def best_of_each(self, pool):
        """Return the fittest candidate of each change set of each query, in order."""
        order = self.order(pool)
        first = first_of_each(order, pool.row, pool.cands.value, self.values.group)
        return pool.take(order.take(first))


def rank_in_row(row):
    """Return the rank of each entry among those of its row, in the order given."""
    return ranks(row, int(row.max(initial=-1)) + 1)


def rank_by(row, keys):
    """Return the rank of each entry among those of its row, sorted as by lexsort."""
    order = np.lexsort((*keys, row))
    rank = np.empty(len(row), dtype=np.intp)
    rank[order] = rank_in_row(row[order])
    return rank


def top_in_row(row, k, *keys):
    """Return the mask of the `k` first entries of each row, sorted by `keys` in turn.

    The first key counts most, ties of all keys go to the earlier entry.
    """
    keys = [*keys, *[np.empty(0)] * (2 - len(keys)), np.empty(0, dtype=np.uint64)]
    return top_of_each(row, int(row.max(initial=-1)) + 1, k, *keys[:3])
