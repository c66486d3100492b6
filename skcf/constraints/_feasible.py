"""Feasible spaces: which values of a group each query may take."""

import numpy as np

from skcf.constraints._bind import holds, is_fixed

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
        self._values, self._own = values, own
        self._members = {j: i for i, j in enumerate(members)}
        first, last = values.offsets[group], values.offsets[group + 1]
        self._running = np.concatenate([[0.0], np.cumsum(values.weight[first:last])])
        self._first = first
        off = np.full(len(x), -1) if lifted is None else lifted
        shut = np.zeros(len(x), dtype=bool)
        for part in parts if len(members) == 1 else ():
            if is_fixed(part.node):
                shut |= off != part.rule
        keys, self._key, columns = _keys(parts, x, off, shut)
        self._list(parts, values.table(group), keys, columns)
        self._find_own()
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
        seen = self._seen[rows]
        listed = n < seen
        out = np.empty(len(rows), dtype=np.intp)
        out[listed] = self._nth(rows[listed], n[listed])
        at = self._extra_ptr[rows[~listed]] + (n - seen)[~listed]
        out[~listed] = self._extra[at]
        return out

    def draw(self, rows, u):
        """Return values drawn by frequency for `u` in [0, 1), shapes (n, m)."""
        weight, more = self._weight[rows], np.diff(self._extra_ptr)[rows]
        # Frequencies are whole numbers: rounded down, sums of them stay exact.
        total = (weight + more)[:, None]
        at = np.minimum(np.floor(u * total), total - 1)
        listed = at < weight[:, None]
        who, _ = np.nonzero(listed)
        out = np.empty(u.shape, dtype=np.intp)
        out[listed] = self._at_weight(rows[who], at[listed])
        who, _ = np.nonzero(~listed)
        beyond = (at[~listed] - weight[who]).astype(np.intp)
        last = np.maximum(more[who] - 1, 0)
        if len(who):
            place = self._extra_ptr[rows[who]] + np.minimum(beyond, last)
            out[~listed] = self._extra[place]
        return out

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
        self._start = start
        run = np.bincount(owner, minlength=len(keys) + 1)
        self._ptr = np.concatenate([[0], np.cumsum(run)])
        self._counts = np.concatenate([[0], np.cumsum(stop - start)])
        weight = self._running[stop] - self._running[start]
        self._weights = np.concatenate([[0.0], np.cumsum(weight)])
        self._owner = owner

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

    def _find_own(self):
        """Find the place of each query's own value in its list, and what is left."""
        begin, end = self._ptr[self._key], self._ptr[self._key + 1]
        own = self._own - self._first
        # Runs are sorted by list and start: the last that starts at or before own.
        top = len(self._running)
        run = np.searchsorted(
            self._owner * top + self._start, self._key * top + own, side="right"
        )
        inside = (self._own >= 0) & (run > begin)
        # A last run, without values, stands for none.
        run = np.where(inside, run - 1, -1)
        start, size = np.append(self._start, 0), np.append(np.diff(self._counts), 0)
        ahead = own - start[run]
        inside &= ahead < size[run]
        rank = self._counts[run] - self._counts[begin] + ahead
        self._rank = np.where(inside, rank, -1)
        at = np.where(inside, own, 0)
        before = self._weights[run] - self._weights[begin]
        before += self._running[at] - self._running[start[run]]
        self._before = np.where(inside, before, np.inf)
        self._own_weight = np.where(inside, np.diff(self._running)[at], 0.0)
        self._seen = self._counts[end] - self._counts[begin] - inside
        self._weight = self._weights[end] - self._weights[begin] - self._own_weight

    def _nth(self, rows, n):
        key, rank = self._key[rows], self._rank[rows]
        n = n + ((rank >= 0) & (n >= rank))
        at = self._counts[self._ptr[key]] + n
        run = np.searchsorted(self._counts, at, side="right") - 1
        return self._first + self._start[run] + at - self._counts[run]

    def _at_weight(self, rows, at):
        at = at + np.where(at >= self._before[rows], self._own_weight[rows], 0.0)
        at = self._weights[self._ptr[self._key[rows]]] + at
        run = np.searchsorted(self._weights, at, side="right") - 1
        at = self._running[self._start[run]] + at - self._weights[run]
        return self._first + np.searchsorted(self._running, at, side="right") - 1


def _keys(parts, x, off, shut):
    """Return what filters read of the queries: distinct rows, where each is, columns.

    The last entry of a row is the lifted rule. Queries that are shut out get the number
    behind the last row: a list without values.
    """
    columns = tuple(dict.fromkeys(j for part in parts for j in part.x_columns))
    rules = {part.rule for part in parts}
    off = np.where(np.isin(off, list(rules)), off, -1)
    known = np.column_stack([x[:, columns], off])
    keys, at = np.unique(known[~shut], axis=0, return_inverse=True)
    key = np.full(len(x), len(keys), dtype=np.intp)
    key[~shut] = at.ravel()
    return keys, key, columns
