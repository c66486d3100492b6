"""The cascade: changes that rules ask for after a change."""

import numpy as np

from skcf._space import PAD, mix, uniform
from skcf.constraints import _syntax as syntax

N_DRAWN = 64
MAX_TURNS = 4
# Candidates, and pairs of candidate and value, that are looked at in one go.
LOT = 30_000
MAX_PAIRS = 2_000_000


class Cascade:
    """Repairs candidates, group by group.

    For each group in topological order, where the rules that aim at it are broken: the
    query's own value if that satisfies all of them, else a value drawn by frequency
    from those that do, else the nearest possible number, observed or not. What is still
    broken then, such as rules that form a cycle, is mended one rule after another by
    changing groups that were not changed for this before.
    """

    def __init__(self, ground, seed):
        self.ground, self.rules = ground, ground.rules
        self.values, self.seed = ground.values, seed

    def run(self, cands, keep=None):
        """Return the candidates repaired as far as possible, in the same order."""
        keep = self._kept(cands, keep)
        for g in self.rules.order:
            parts = self.rules.couplings.get(g, ())
            must = self.ground.must[cands.row, g]
            if not parts and not must.any():
                continue
            broken = must & ~cands.changed(self.values)[:, g]
            get = self.ground.getter(cands)
            for part in parts:
                bad = ~self.ground.passes(part, get, cands.row)
                implied = isinstance(part.node, syntax.Implies)
                broken |= bad if implied else bad & (keep != g)
            cands, _ = self._repair(cands, np.flatnonzero(broken), g, parts)
        return self._mended(cands, keep)

    def _kept(self, cands, keep):
        """Return the group that each candidate is about; an only change is."""
        keep = np.full(len(cands), PAD) if keep is None else keep.copy()
        alone = (cands.n_changed == 1) & (keep == PAD)
        if alone.any():
            keep[alone] = cands.groups(self.values)[alone].min(axis=1)
        return keep

    def _mended(self, cands, keep):
        """Mend what the order of the rules left broken."""
        ok = np.ones(len(cands), dtype=bool)
        get = self.ground.getter(cands)
        for part in self.rules.joint:
            ok &= self.ground.passes(part, get, cands.row)
        if ok.all():
            return cands
        lost = np.flatnonzero(~ok)
        some = self._mend(cands.take(lost), keep[lost])
        both = type(cands).concat([cands, some])
        at = np.arange(len(cands))
        at[lost] = len(cands) + np.arange(len(lost))
        return both.take(at)

    def _mend(self, cands, keep):
        frozen = np.zeros((len(cands), len(self.ground.sets)), dtype=bool)
        frozen[np.arange(len(cands)), keep] = keep != PAD
        for _ in range(MAX_TURNS):
            before = frozen.sum()
            for part in self.rules.joint:
                for g in part.repairs:
                    ok = self.ground.passes(part, self.ground.getter(cands), cands.row)
                    todo = np.flatnonzero(~ok & ~frozen[:, g])
                    parts = self.rules.touching[g]
                    cands, done = self._repair(cands, todo, g, parts)
                    frozen[todo[done], g] = True
                    todo = todo[~done]
                    cands, done = self._repair(cands, todo, g, (part,))
                    frozen[todo[done], g] = True
            if frozen.sum() == before:
                break
        return cands

    def _repair(self, cands, todo, g, parts):
        """Give group `g` of the candidates at `todo` a value that satisfies `parts`.

        Return the candidates, and which of those at `todo` got one.
        """
        if not len(todo):
            return cands, np.empty(0, dtype=bool)
        some = cands.take(todo)
        some = some.drop(some.groups(self.values) == g, self.values)
        own = ~self.ground.must[some.row, g]
        get = self.ground.getter(some)
        for part in parts:
            own = own & self.ground.passes(part, get, some.row)
        ids = np.full(len(todo), PAD, dtype=np.intp)
        need = np.flatnonzero(~own)
        ids[need] = self._choose(some.take(need), g, parts)
        done = own | (ids != PAD)
        drop = np.zeros(len(cands), dtype=bool)
        drop[todo[done]] = True
        new = np.full(len(cands), PAD, dtype=np.intp)
        new[todo] = ids
        cands = cands.drop(
            (cands.groups(self.values) == g) & drop[:, None], self.values
        )
        return cands.put(new, self.values), done

    def _choose(self, cands, g, parts):
        """Return for each candidate a value of `g` that satisfies `parts`, or -1.

        A value is drawn by frequency out of some that are. Where none of these will do,
        the values of a number are looked for at the edges of what is allowed, and the
        levels of a category one by one.
        """
        out = np.full(len(cands), PAD, dtype=np.intp)
        for lot in np.split(np.arange(len(cands)), np.arange(LOT, len(cands), LOT)):
            some = cands.take(lot)
            out[lot] = self._pick(some, g, parts, *self._drawn(some, g))
        lost = np.flatnonzero(out == PAD)
        j = self.values.single[g]
        if j >= 0 and self.ground.space.numeric[j]:
            out[lost] = self._nearest(cands.take(lost), g, parts)
            return out
        few = self.ground.sets[g]
        count = few.count[cands.row[lost]]
        lost, total = lost[count > N_DRAWN], np.cumsum(count[count > N_DRAWN])
        for lot in np.split(lost, np.flatnonzero(np.diff(total // MAX_PAIRS)) + 1):
            some = cands.take(lot)
            who, ids = few.lists(some.row)
            weight = self.values.weight[ids]
            out[lot] = self._pick(some, g, parts, who, ids, weight)
        return out

    def _bits(self, cands, g):
        return cands.hash(self.values) ^ self.seed[cands.row] ^ np.uint64(g + 1)

    def _drawn(self, cands, g):
        """Return (candidate, value, weight): the whole list if short, or some draws."""
        few, rows = self.ground.sets[g], cands.row
        count = few.count[rows]
        short = count <= N_DRAWN
        nth = np.arange(N_DRAWN)
        listed = short[:, None] & (nth < count[:, None])
        ids = np.full(listed.shape, PAD, dtype=np.intp)
        who, n = np.nonzero(listed)
        ids[who, n] = few.nth(rows[who], n)
        weight = np.where(ids == PAD, 1.0, self.values.weight[ids])
        long = np.flatnonzero(~short)
        if len(long):
            bits = mix(self._bits(cands.take(long), g))[:, None]
            u = uniform(mix(bits ^ mix(nth.astype(np.uint64))))
            ids[long] = few.draw(rows[long], (nth + u) / N_DRAWN)
            weight[long] = 1.0
        who, n = np.nonzero(ids != PAD)
        return who, ids[who, n], weight[who, n]

    def _pick(self, cands, g, parts, who, ids, weight):
        """Return one of the values that satisfy `parts` for each candidate, or -1.

        `who` is the candidate of each value, in order.
        """
        outer = self.ground.getter(cands)
        _, column, code = self.values.cells(ids)
        members = set(self.ground.space.groups[g])

        def get(table, j):
            if table == "cf" and j in members:
                return code[column == j]
            return outer(table, j)[who]

        ok = np.ones(len(ids), dtype=bool)
        for part in parts:
            ok &= self.ground.passes(part, get, cands.row[who])
        who, ids, weight = who[ok], ids[ok], weight[ok]
        out = np.full(len(cands), PAD, dtype=np.intp)
        # Weights are whole numbers, so that their sums are exact.
        run = np.concatenate([[0.0], np.cumsum(weight)])
        begin = np.searchsorted(who, np.arange(len(cands)))
        end = np.searchsorted(who, np.arange(len(cands)), side="right")
        hit = end > begin
        at = np.floor(uniform(mix(self._bits(cands, g))) * (run[end] - run[begin]))
        place = np.searchsorted(run, (run[begin] + at)[hit], side="right") - 1
        out[hit] = ids[place]
        return out

    def _nearest(self, cands, g, parts):
        """Return the nearest number that satisfies `parts`, observed or not, or -1."""
        out = np.full(len(cands), PAD, dtype=np.intp)
        if not len(cands):
            return out
        j = self.values.single[g]
        parts = (*parts, *self.rules.filters.get(g, ()))
        get = self.ground.getter(cands)
        who, code = self.ground.between(j, parts, cands.row, get)
        gap = np.abs(code - self.ground.x[cands.row[who], j])
        order = np.lexsort((code, gap, who))
        who, code = who[order], code[order]
        best = np.flatnonzero(np.diff(who, prepend=-1))
        out[who[best]] = self.values.add(np.full(len(best), g), code[best])
        return out
