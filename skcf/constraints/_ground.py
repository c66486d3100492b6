"""Rules grounded at the queries of one call: feasible sets, masks, cascade."""

import numpy as np

from skcf._space import PAD, Candidates, mix, uniform
from skcf.constraints._bind import holds
from skcf.constraints._feasible import FeasibleSet

MAX_PAIRS = 4_000_000


class Ground:
    """A rule set with the values of some queries filled in.

    Parameters
    ----------
    rules : RuleSet
    x : ndarray of shape (n_queries, n_features)
        Codes of the queries.
    lifted : ndarray of shape (n_queries,), default=None
        The position of a rule that does not count for a query, -1 for none.

    Attributes
    ----------
    values : Values
        The values of the space, with room for those of this call.
    must : ndarray of bool of shape (n_queries, n_groups)
        Groups whose own value breaks a filter: they have to change.
    infeasible : ndarray of bool of shape (n_queries,)
        Queries of which it is certain that no other point satisfies the rules.
    """

    def __init__(self, rules, x, lifted=None):
        self.rules, self.x, self.lifted = rules, x, lifted
        space = rules.space
        self.space = space
        self.values = space.values.fork()
        n_groups = len(space.groups)
        self.own = np.column_stack([self._ids(g, x) for g in range(n_groups)])
        self.must = np.zeros((len(x), n_groups), dtype=bool)
        for g, parts in rules.filters.items():
            for part in parts:
                self.must[:, g] |= ~self._passes(part, self._of_query)
        self.sets = [
            FeasibleSet(
                g,
                rules.filters.get(g, ()),
                self.values,
                space.groups[g],
                x,
                self.own[:, g],
                lifted,
            )
            for g in range(n_groups)
        ]
        self.count = np.column_stack([s.count for s in self.sets])
        self.limit = np.full(len(x), n_groups)
        if rules.max_changes is not None:
            self.limit[:] = rules.max_changes
            if lifted is not None:
                self.limit[lifted == rules.max_changes_rule] = n_groups
        dead = (self.must & (self.count == 0)).any(axis=1)
        dead |= (self.count == 0).all(axis=1)
        dead |= (self.limit == 0) | (self.must.sum(axis=1) > self.limit)
        for part in rules.facts:
            dead |= ~np.broadcast_to(self._passes(part, self._of_query), len(x))
        self.infeasible = dead

    def _ids(self, g, codes):
        """Return the number of the value of a group in each row, -1 if unseen."""
        members = list(self.space.groups[g])
        table, rows = self.values.table(g), codes[:, members]
        if len(members) == 1:
            at = np.searchsorted(table[:, 0], rows[:, 0])
            at = np.minimum(at, len(table) - 1)
            hit = table[at, 0] == rows[:, 0]
        else:
            seen = {tuple(row): i for i, row in enumerate(table.tolist())}
            at = np.array([seen.get(tuple(r), -1) for r in rows.tolist()], dtype=np.intp)
            hit = at >= 0
        return np.where(hit, at + self.values.offsets[g], PAD)

    def _of_query(self, table, j):
        return self.x[:, j]

    def _passes(self, part, get, rows=slice(None)):
        ok = np.asarray(holds(part.node, get))
        if self.lifted is not None:
            ok = ok | (self.lifted[rows] == part.rule)
        return ok

    def towards(self, rows, codes):
        """Return candidates that take from rows of `codes` all that filters allow."""
        ids = np.column_stack(
            [self._ids(g, codes) for g in range(len(self.space.groups))]
        )
        ids[ids == self.own[rows]] = PAD
        who, group = np.nonzero(ids != PAD)
        single = Candidates(rows[who], ids[who, group][:, None])
        bad = ~self.filtered(single)
        ids[who[bad], group[bad]] = PAD
        return Candidates(rows, ids).tidy(self.values)

    # -- masks --------------------------------------------------------------------

    def mask(self, cands):
        """Return which candidates satisfy every rule and change something."""
        ok = (cands.n_changed > 0) & (cands.n_changed <= self.limit[cands.row])
        ok &= ~(self.must[cands.row] & ~cands.changed(self.values)).any(axis=1)
        get = self._getter(cands)
        for part in self._joint_parts():
            ok &= self._passes(part, get, cands.row)
        return ok

    def filtered(self, cands):
        """Return which candidates have only values that pass the filters."""
        ok = np.ones(len(cands), dtype=bool)
        get = self._getter(cands)
        for parts in self.rules.filters.values():
            for part in parts:
                ok &= self._passes(part, get, cands.row)
        return ok

    def _joint_parts(self):
        for parts in self.rules.couplings.values():
            yield from parts
        yield from self.rules.loose

    def _getter(self, cands):
        """Return the function that reads columns of candidates and their queries."""
        who, column, code, _ = cands.cells(self.values)
        known = {}

        def get(table, j):
            if (table, j) not in known:
                cell = self.x[cands.row, j]
                if table == "cf":
                    at = column == j
                    cell[who[at]] = code[at]
                known[table, j] = cell
            return known[table, j]

        return get

    # -- cascade ------------------------------------------------------------------

    def cascade(self, cands, seed, keep=None):
        """Repair candidates group by group until every rule holds.

        For each group in topological order, where the rules that aim at it are
        broken: the query's own value if that satisfies all of them, else a value
        drawn by frequency from those that do. `keep` is the group just changed, by
        candidate: a repair that is not an implication leaves it alone.

        Returns the candidates that satisfy all rules, and their positions.
        """
        at = np.arange(len(cands))
        for g in self.rules.order:
            parts = self.rules.couplings.get(g, ())
            if not parts and not self.must[:, g].any():
                continue
            cands, alive = self._repair(cands, g, parts, seed)
            cands, at = cands.take(alive), at[alive]
        for part in self.rules.loose:
            for g in part.groups:
                broken = ~self._passes(part, self._getter(cands), cands.row)
                if keep is not None:
                    broken &= keep[at] != g
                if broken.any():
                    parts = (part, *self.rules.couplings.get(g, ()))
                    cands, _ = self._repair(cands, g, parts, seed, broken)
        ok = self.mask(cands)
        return cands.take(ok), at[ok]

    def _repair(self, cands, g, parts, seed, broken=None):
        """Give group `g` a value that satisfies `parts`; return also who could."""
        alive = np.ones(len(cands), dtype=bool)
        must = self.must[cands.row, g]
        if broken is None:
            broken = must & ~cands.changed(self.values)[:, g]
            get = self._getter(cands)
            for part in parts:
                broken |= ~self._passes(part, get, cands.row)
        if not broken.any():
            return cands, alive
        todo = np.flatnonzero(broken)
        back = cands.drop(
            (cands.groups(self.values) == g) & broken[:, None], self.values
        )
        get = self._getter(back)
        own_ok = ~must
        for part in parts:
            own_ok = own_ok & self._passes(part, get, back.row)
        ids = np.full(len(cands), PAD, dtype=np.intp)
        need = todo[~own_ok[todo]]
        for some in self._chunks(need, g, back):
            ids[some] = self._choose(back, some, g, parts, seed)
        alive[need] = ids[need] != PAD
        return back.put(ids, self.values), alive

    def _chunks(self, need, g, cands):
        """Split candidates so that their value lists fit in memory."""
        if not len(need):
            return []
        total = np.cumsum(self.sets[g].count[cands.row[need]])
        return np.split(need, np.flatnonzero(np.diff(total // MAX_PAIRS)) + 1)

    def _choose(self, cands, some, g, parts, seed):
        """Return for each candidate a value of `g` that satisfies `parts`, or -1."""
        some_cands = cands.take(some)
        rows = some_cands.row
        who, ids = self.sets[g].lists(rows)
        who_at = rows[who]
        outer = self._getter(some_cands)
        rep, column, code = self.values.cells(ids)
        members = set(self.space.groups[g])

        def get(table, j):
            if table == "x":
                return self.x[who_at, j]
            if j in members:
                return code[column == j]
            return outer("cf", j)[who]

        ok = np.ones(len(ids), dtype=bool)
        for part in parts:
            ok &= self._passes(part, get, who_at)
        who, ids = who[ok], ids[ok]
        out = np.full(len(some), PAD, dtype=np.intp)
        if not len(ids):
            return out
        run = np.concatenate([[0.0], np.cumsum(self.values.weight[ids])])
        begin = np.searchsorted(who, np.arange(len(some)))
        end = np.searchsorted(who, np.arange(len(some)), side="right")
        bits = some_cands.hash() ^ seed[rows] ^ np.uint64(g + 1)
        t = run[begin] + uniform(mix(bits)) * (run[end] - run[begin])
        place = np.clip(np.searchsorted(run, t, side="right") - 1, begin, end - 1)
        hit = end > begin
        out[hit] = ids[place[hit]]
        return out
