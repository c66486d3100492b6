"""Feasible spaces: which values of a group each query may take."""

import numpy as np

from skcf.constraints._bind import holds, is_fixed
from skcf.constraints._lists import drawn_values, nth_values, places_of_own

MAX_CELLS = 4_000_000


class FeasibleSet:
    """The values of one group that satisfy its filters, by query.

    Queries that the filters cannot tell apart share one list of observed values, which
    is kept as runs of consecutive numbers. A query can have some values more of its
    own, which were not observed (`extend`). A query's own value is never proposed as a
    change: it is skipped where a list is read.

    Parameters
    ----------
    group : int
    parts : sequence of Part
        The filters of the group.
    values : Values
    members : tuple of column positions
    x : ndarray of shape (n_queries, n_features)
    own : ndarray of shape (n_queries,)
        The number of each query's own value, -1 if it was not observed.
    lifted : ndarray of shape (n_queries,), default=None
        The position of a rule that does not count for a query.

    Attributes
    ----------
    count : ndarray of shape (n_queries,)
        How many values each query may change to.
    """

    def __init__(self, group, parts, values, members, x, own, lifted=None):
        self._members = {j: i for i, j in enumerate(members)}
        self._running, self._first = values.running(group), values.offsets[group]
        off = np.full(len(x), -1) if lifted is None else lifted
        shut = np.zeros(len(x), dtype=bool)
        for part in parts if len(members) == 1 else ():
            if is_fixed(part.node):
                shut |= off != part.rule
        keys, self._key, columns = _keys(parts, x, off, shut)
        self._list(parts, values.table(group), keys, columns)
        place = own - self._first
        place[own < 0] = -1
        self._rank, self._before, self._own_weight, self._seen, self._weight = (
            places_of_own(place, self._key, self._runs, self._running)
        )
        self._extra = np.empty(0, dtype=np.intp)
        self._extra_ptr = np.zeros(len(x) + 1, dtype=np.intp)
        self.count = self._seen.copy()

    def extend(self, rows, ids):
        """Give queries values of their own, sorted by query; called once."""
        self._extra = ids
        more = np.bincount(rows, minlength=len(self.count))
        self._extra_ptr = np.concatenate([[0], np.cumsum(more)])
        self.count = self._seen + more

    def nth(self, rows, n):
        """Return the n-th value of each query's list; n is below its count."""
        rows, n = np.ascontiguousarray(rows), np.ascontiguousarray(n)
        return nth_values(self.part, rows, n)

    def draw(self, rows, u):
        """Return values drawn by frequency for `u` in [0, 1), shapes (n, m)."""
        rows, u = np.ascontiguousarray(rows), np.ascontiguousarray(u)
        return drawn_values(self.part, rows, u)

    @property
    def part(self):
        """What compiled loops read of the set."""
        own = self._rank, self._seen, self._before, self._own_weight, self._weight
        more = self._first, self._extra, self._extra_ptr
        return self._key, *own, *self._runs, self._running, *more

    def lists(self, rows):
        """Return (position in rows, value) of all values of the queries' lists."""
        return self.spread(rows, int(self.count.max(initial=0)))

    def spread(self, rows, most):
        """Return what `lists` does, evenly thinned to `most` values a query."""
        count = self.count[rows]
        size = np.minimum(count, most)
        who = np.repeat(np.arange(len(rows)), size)
        rank = np.arange(len(who)) - np.repeat(np.cumsum(size) - size, size)
        return who, self.nth(rows[who], rank * count[who] // size[who])

    # -- runs ---------------------------------------------------------------------

    def _list(self, parts, table, keys, columns):
        """Note the runs of values that satisfy the filters, for each key in turn."""
        start, stop, owner = [], [], []
        step = max(1, MAX_CELLS // len(table))
        seen = np.diff(self._running) > 0
        for begin in range(0, len(keys), step):
            some = keys[begin : begin + step]
            ok = np.zeros((len(some), len(table) + 2), dtype=bool)
            ok[:, 1:-1] = self._mask(parts, table, some, columns) & seen
            turn = ok[:, 1:] != ok[:, :-1]
            key, place = np.nonzero(turn)
            start.append(place[::2])
            stop.append(place[1::2])
            owner.append(key[::2] + begin)
        empty = [np.empty(0, dtype=np.intp)]
        start, stop, owner = (np.concatenate(empty + v) for v in (start, stop, owner))
        run = np.bincount(owner, minlength=len(keys) + 1)
        weight = self._running[stop] - self._running[start]
        sums = (run, stop - start, weight)
        ptr, counts, weights = (
            np.concatenate([np.zeros(1, dtype=v.dtype), np.cumsum(v)]) for v in sums
        )
        self._runs = ptr, start, counts, weights

    def _mask(self, parts, table, keys, columns):
        ok = np.ones((len(keys), len(table)), dtype=bool)
        known = {j: i for i, j in enumerate(columns)}

        def get(which, j):
            if which == "cf":
                return table[None, :, self._members[j]]
            return keys[:, known[j], None]

        for part in parts:
            ok &= holds(part.node, get) | (keys[:, -1, None] == part.rule)
        return ok


def _keys(parts, x, off, shut):
    """Return what filters read of the queries: distinct rows, where each is, columns.

    The last entry of a row is the lifted rule. Queries that are shut out get the number
    behind the last row: a list without values.
    """
    columns = tuple(dict.fromkeys(j for part in parts for j in part.x_columns))
    rules = {part.rule for part in parts}
    lifted = rules and (off >= 0).any()
    open_ = np.flatnonzero(~shut)
    if lifted or len(columns) > 1:
        off = np.where(np.isin(off, list(rules)), off, -1)
        known = np.column_stack([x[:, columns], off])[open_]
        keys, at = np.unique(known, axis=0, return_inverse=True)
    elif columns:
        keys, at = np.unique(x[open_, columns[0]], return_inverse=True)
        keys = np.column_stack([keys, np.full(len(keys), -1.0)])
    else:
        keys = np.full((min(len(open_), 1), 1), -1.0)
        at = np.zeros(len(open_), dtype=np.intp)
    key = np.full(len(x), len(keys), dtype=np.intp)
    key[open_] = at.ravel()
    return keys, key, columns
