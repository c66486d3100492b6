"""GeCo's genetic search: mutation, crossover, selective mutation, selection."""

import numpy as np

from skcf._search._problem import Pool, rank_in_row
from skcf._space import PAD, Candidates, mix, uniform


class GeneticSearch:
    """The population of all queries of a problem, advanced together.

    Parameters
    ----------
    problem : Problem
    q : int
        Candidates of a query that survive a generation.
    k : int
        Fittest candidates that must be valid and unchanged for a query to stop.
    m_init, m_mut : int
        Values tried for each group in the first and the later generations.
    mutate : {"best", "all"}
        Whether the fittest of each change set is mutated, or every survivor.
    max_generations : int
    patience : int
        Generations without a fitter candidate after which a query stops that has
        no valid one yet.
    """

    def __init__(
        self, problem, *, q, k, m_init, m_mut, mutate, max_generations, patience
    ):
        self.problem = problem
        self.q, self.k, self.m_init, self.m_mut = q, k, m_init, m_mut
        self.mutate, self.max_generations = mutate, max_generations
        self.patience = patience
        self.n_generations = 0

    def run(self, rows):
        """Return the last population of the queries at `rows`, in order."""
        problem = self.problem
        start = Candidates.unchanged(rows)
        pool = problem.score(*self._cheap(problem.admit(*self._mutate(start, self.m_init)), None))
        pool = problem.best(pool, self.q)
        live = np.zeros(len(problem), dtype=bool)
        live[pool.row] = True
        stale = np.zeros(len(problem), dtype=np.intp)
        while live.any() and not problem.meter.expired:
            self.n_generations += 1
            if self.n_generations > self.max_generations:
                break
            before = self._top(pool)
            children = self._children(pool.take(live[pool.row]))
            if len(children):
                pool = problem.best(Pool.concat([pool, problem.score(*children)]), self.q)
            live &= ~self._settled(before, self._top(pool), stale)
        return pool

    # -- the operators ------------------------------------------------------------

    def _children(self, pool):
        """Return (candidates, costs) bred from a population."""
        problem = self.problem
        best = problem.best_of_each(pool)
        parents = (best if self.mutate == "best" else pool).cands
        lots = [
            self._mutate(parents, self.m_mut),
            self._crossover(best.cands),
            self._selective(best.cands),
        ]
        cands = Candidates.concat([lot for lot, _ in lots])
        keep = np.concatenate([kept for _, kept in lots])
        bound = self._bound(pool)
        # A repair only adds to what a mutation costs where it changes another group,
        # so candidates that are too dear already are not worth repairing.
        cands, _, keep = self._within(cands, bound, keep)
        return self._cheap(problem.admit(cands, keep), bound)

    def _mutate(self, parents, m):
        """Change each group that a parent left alone to `m` values drawn for it."""
        problem, ground = self.problem, self.problem.ground
        free = ~parents.changed(problem.values) & (ground.count[parents.row] > 0)
        free &= (parents.n_changed < ground.limit[parents.row])[:, None]
        bits = parents.hash() ^ problem.seed[parents.row]
        whose, ids = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for g in np.flatnonzero(free.any(axis=0)):
            at = np.flatnonzero(free[:, g])
            drawn = self._draw(g, parents.row[at], bits[at], m)
            who, which = np.nonzero(drawn != PAD)
            whose.append(at[who])
            ids.append(drawn[who, which])
        whose, ids = np.concatenate(whose), np.concatenate(ids)
        order = np.argsort(whose, kind="stable")
        whose, ids = whose[order], ids[order]
        children = parents.take(whose).put(ids, problem.values)
        return children, problem.values.group[ids]

    def _draw(self, g, rows, bits, m):
        """Return `m` values of a group for each row: all if there are no more."""
        values = self.problem.ground.sets[g]
        count = values.count[rows]
        nth = np.arange(m)
        few = count <= m
        out = np.full((len(rows), m), PAD, dtype=np.intp)
        take = few[:, None] & (nth < count[:, None])
        who, n = np.nonzero(take)
        out[who, n] = values.nth(rows[who], n)
        many = np.flatnonzero(~few)
        if len(many):
            salt = mix(np.uint64(g + 1) * np.uint64(1 << 20) + nth.astype(np.uint64))
            u = (nth + uniform(mix(bits[many, None] ^ salt))) / m
            out[many] = values.draw(rows[many], u)
        return out

    def _crossover(self, best):
        """Join the fittest of every two change sets of a query; toss for a clash."""
        problem = self.problem
        size = np.bincount(best.row, minlength=len(problem))
        first = np.cumsum(size) - size
        left, right = [], []
        for n in np.unique(size[size > 1]):
            i, j = np.triu_indices(n, 1)
            start = first[size == n][:, None]
            left.append((start + i).ravel())
            right.append((start + j).ravel())
        if not left:
            return best.take(slice(0)), np.empty(0, dtype=np.intp)
        left, right = np.concatenate(left), np.concatenate(right)
        order = np.lexsort((right, left))
        one, two = best.take(left[order]), best.take(right[order])
        a, b = one.groups(problem.values), two.groups(problem.values)
        clash = (a[:, :, None] == b[:, None, :]) & (one.value != PAD)[:, :, None]
        coin = uniform(mix(one.hash() ^ mix(two.hash()) ^ problem.seed[one.row])) < 0.5
        lose_one = clash.any(axis=2) & coin[:, None]
        lose_two = clash.any(axis=1) & ~coin[:, None]
        value = np.column_stack(
            [np.where(lose_one, PAD, one.value), np.where(lose_two, PAD, two.value)]
        )
        return Candidates(one.row, value).tidy(problem.values), np.full(len(one), PAD)

    def _selective(self, best, tries=8):
        """Move each changed number or rank nearer: one child a group, one for all."""
        problem, values = self.problem, self.problem.values
        nearer = np.full(best.value.shape, PAD, dtype=np.intp)
        groups = best.groups(values)
        bits = best.hash() ^ problem.seed[best.row]
        ordered = np.append(~problem.space.categorical[np.maximum(values.single, 0)], False)
        ordered[:-1] |= values.single < 0
        for g in np.unique(groups[best.value != PAD]):
            if not ordered[g]:
                continue
            who, slot = np.nonzero(groups == g)
            rows = best.row[who]
            drawn = self._draw(g, rows, mix(bits[who]), tries)
            now = problem.own_cost(rows, best.value[who, slot])
            flat = np.where(drawn == PAD, best.value[who, slot][:, None], drawn)
            cost = problem.own_cost(np.repeat(rows, tries), flat.ravel()).reshape(flat.shape)
            hit = cost < now[:, None] - 1e-12
            pick = hit.argmax(axis=1)
            at = np.arange(len(who))
            nearer[who, slot] = np.where(hit.any(axis=1), flat[at, pick], PAD)
        moved = nearer != PAD
        who, slot = np.nonzero(moved)
        each = best.take(who).put(nearer[who, slot], values)
        several = moved.sum(axis=1) > 1
        joint = np.where(moved, nearer, best.value)[several]
        together = Candidates(best.row[several], joint)
        keep = np.concatenate([groups[who, slot], np.full(len(together), PAD)])
        return Candidates.concat([each, together]), keep

    # -- selection ----------------------------------------------------------------

    def _bound(self, pool):
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

    def _within(self, cands, bound, keep=None):
        cost = self.problem.cost_of(cands)
        if bound is None:
            return cands, cost, keep
        ok = cost < bound[cands.row]
        return cands.take(ok), cost[ok], None if keep is None else keep[ok]

    def _cheap(self, cands, bound):
        """Return the candidates below the bound and their costs."""
        return self._within(cands, bound)[:2]

    def _top(self, pool):
        """Return the k fittest of each query."""
        return pool.take(rank_in_row(pool.row) < self.k)

    def _settled(self, before, after, stale):
        """Return which queries stop: top k valid and the same twice, or stuck."""
        n = len(self.problem)
        marks = np.zeros((2, n), dtype=np.uint64)
        for mark, top in zip(marks, (before, after), strict=True):
            np.bitwise_xor.at(mark, top.row, mix(top.cands.hash()))
        same = marks[0] == marks[1]
        all_valid = np.ones(n, dtype=bool)
        all_valid[after.row[~after.valid]] = False
        stale[same] += 1
        stale[~same] = 0
        return same & (all_valid | (stale >= self.patience))
