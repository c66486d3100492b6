"""Rules grounded at the queries of one call: feasible sets and masks."""

from functools import cached_property

import numpy as np

from skcf._space import PAD, Candidates
from skcf.constraints._bind import holds
from skcf.constraints._cascade import Cascade
from skcf.constraints._edges import edge_points
from skcf.constraints._feasible import FeasibleSet
from skcf.constraints._lists import joined

# Queries with fewer observed values of a number are offered some that were not.
FEW = 8


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
    own : ndarray of shape (n_queries, n_groups)
        The number of each query's own values, -1 where it was not observed.
    must : ndarray of bool of shape (n_queries, n_groups)
        Groups whose own value breaks a filter: they have to change.
    count : ndarray of shape (n_queries, n_groups)
        To how many values each group can change.
    limit : ndarray of shape (n_queries,)
        How many groups may change.
    infeasible : ndarray of bool of shape (n_queries,)
        Queries of which it is certain that no other point satisfies the rules.
    """

    def __init__(self, rules, x, lifted=None):
        self.rules, self.x, self.lifted = rules, x, lifted
        self.space = rules.space
        self.values = self.space.values.fork()
        groups = range(len(self.space.groups))
        self.own = np.column_stack([self._ids(g, x) for g in groups])
        self.must = np.zeros((len(x), len(groups)), dtype=bool)
        for g, parts in rules.filters.items():
            for part in parts:
                self.must[:, g] |= ~self.passes(part, self._of_query)
        self.sets = [self._feasible(g) for g in groups]
        self.count = np.column_stack([s.count for s in self.sets])
        self.limit = rules.limit(len(x), lifted)
        dead = (self.must & (self.count == 0)).any(axis=1)
        dead |= (self.count == 0).all(axis=1)
        dead |= (self.limit == 0) | (self.must.sum(axis=1) > self.limit)
        self._shut = np.zeros(len(x), dtype=bool)
        for part in rules.facts:
            self._shut |= ~self.passes(part, self._of_query)
        self.infeasible = dead | self._shut

    @cached_property
    def coupled(self):
        """Whether a change may call for another one."""
        return bool(self.rules.joint) or self.must.any()

    @cached_property
    def lists(self):
        """The feasible sets of all groups, as compiled loops read them."""
        return joined([few.part for few in self.sets])

    def _feasible(self, g):
        """Return the feasible set of a group."""
        parts = self.rules.filters.get(g, ())
        members = self.space.groups[g]
        out = FeasibleSet(
            g, parts, self.values, members, self.x, self.own[:, g], self.lifted
        )
        j = self.values.single[g]
        rows = np.flatnonzero(out.count < FEW)
        if parts and j >= 0 and self.space.numeric[j] and len(rows):
            who, code = self.between(j, parts, rows, lambda table, k: self.x[rows, k])
            ids = self.values.add(np.full(len(who), g), code)
            new = ids >= self.values.n_observed
            out.extend(rows[who[new]], ids[new])
        return out

    def between(self, j, parts, rows, get):
        """Return (position in rows, code) of values that satisfy parts.

        They are those next to the edges of what the parts allow, observed or not.
        """

        def passes(part, inner):
            return self.passes(part, inner, rows[:, None])

        return edge_points(self.rules, j, parts, get, passes)

    def _ids(self, g, codes):
        """Return the number of the value of a group in each row, -1 if unseen."""
        return self.values.find(g, codes[:, list(self.space.groups[g])])

    def _of_query(self, table, j):
        return self.x[:, j]

    def passes(self, part, get, rows=slice(None)):
        """Return where a part holds, or does not count for the queries at `rows`."""
        ok = holds(part.node, get)
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

    def mask(self, cands):
        """Return which candidates change something and satisfy every rule.

        Their values are taken to pass the filters, as those of `sets` do.
        """
        n_changed = cands.n_changed
        ok = (n_changed > 0) & (n_changed <= self.limit[cands.row])
        if self._shut.any():
            ok &= ~self._shut[cands.row]
        if self.must.any():
            ok &= ~(self.must[cands.row] & ~cands.changed(self.values)).any(axis=1)
        if self.rules.joint:
            get = self.getter(cands)
            for part in self.rules.joint:
                ok &= self.passes(part, get, cands.row)
        return ok

    def filtered(self, cands):
        """Return which candidates have only values that pass the filters."""
        ok = np.ones(len(cands), dtype=bool)
        if not self.rules.filters or not len(cands):
            return ok
        changed = cands.changed(self.values)
        for g, parts in self.rules.filters.items():
            at = np.flatnonzero(changed[:, g])
            if len(at):
                some = cands if len(at) == len(cands) else cands.take(at)
                get = self.getter(some)
                for part in parts:
                    ok[at] &= self.passes(part, get, some.row)
        return ok

    def getter(self, cands):
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

    def cascade(self, cands, seed, keep=None):
        """Repair candidates until every rule holds.

        Parameters
        ----------
        cands : Candidates
        seed : ndarray of uint64 of shape (n_queries,)
        keep : ndarray of shape (n_candidates,), default=None
            The group just changed, -1 for none: it is not changed back.

        Returns
        -------
        cands : Candidates
            Those that satisfy all rules.
        at : ndarray
            Their positions among the ones given.
        """
        if self.coupled:
            cands = Cascade(self, seed).run(cands, keep)
        ok = np.flatnonzero(self.mask(cands))
        return (cands if len(ok) == len(cands) else cands.take(ok)), ok
