"""Feasible spaces: which values of a group each query may take."""

import numpy as np

from skcf.constraints._bind import holds

MAX_CELLS = 20_000_000


class FeasibleSet:
    """The observed values of one group that satisfy its filters, by query.

    Queries that a filter cannot tell apart share one list: list ``k`` is
    ``ids[ptr[k] : ptr[k + 1]]`` and query ``i`` has list ``key[i]``. A query's own
    value is never proposed as a change; it is skipped where a list is read.
    """

    def __init__(self, group, parts, values, members, x, own, lifted=None):
        columns = tuple(dict.fromkeys(j for p in parts for j in p.x_columns))
        known = x[:, columns]
        if lifted is not None:
            known = np.column_stack([known, lifted])
        if known.shape[1]:
            keys, self.key = np.unique(known, axis=0, return_inverse=True)
            self.key = self.key.ravel()
        else:
            keys, self.key = np.empty((1, 0)), np.zeros(len(x), dtype=np.intp)
        ids = [np.empty(0, dtype=np.intp)]
        counts = []
        table = values.table(group)
        step = max(1, MAX_CELLS // max(1, len(table)))
        for begin in range(0, len(keys), step):
            some = keys[begin : begin + step]
            ok = self._mask(parts, table, members, columns, some, lifted is not None)
            ids.append(np.nonzero(ok)[1] + values.offsets[group])
            counts.append(ok.sum(axis=1))
        self.ids = np.concatenate(ids)
        self.ptr = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        self._running = np.concatenate([[0.0], np.cumsum(values.weight[self.ids])])
        self._locate(own)

    def _mask(self, parts, table, members, columns, keys, has_lifted):
        ok = np.ones((len(keys), len(table)), dtype=bool)
        place = {j: i for i, j in enumerate(members)}
        known = {j: i for i, j in enumerate(columns)}

        def get(which, j):
            if which == "cf":
                return table[None, :, place[j]]
            return keys[:, known[j], None]

        for part in parts:
            passed = holds(part.node, get)
            if has_lifted:
                passed = passed | (keys[:, -1, None] == part.rule)
            ok &= passed
        return ok

    def _locate(self, own):
        """Find the position of each query's own value in its list."""
        begin, end = self.ptr[self.key], self.ptr[self.key + 1]
        list_of = np.repeat(np.arange(len(self.ptr) - 1), np.diff(self.ptr))
        top = int(max(self.ids.max(initial=0), own.max(initial=0))) + 2
        flat = list_of * top + self.ids
        at = np.searchsorted(flat, self.key * top + own)
        safe = np.minimum(at, max(len(self.ids) - 1, 0))
        inside = (own >= 0) & (at < end) & (at >= begin)
        if len(self.ids):
            inside &= self.ids[safe] == own
        self.own_at = np.where(inside, at, -1)
        self.count = end - begin - inside

    def nth(self, rows, n):
        """Return the n-th value of each query's list; n is below its count."""
        at = self.ptr[self.key[rows]] + n
        skip = (self.own_at[rows] >= 0) & (at >= self.own_at[rows])
        return self.ids[at + skip]

    def draw(self, rows, u):
        """Return values drawn by frequency for `u` in [0, 1), shapes (n, m)."""
        begin = self.ptr[self.key[rows]][:, None]
        end = self.ptr[self.key[rows] + 1][:, None]
        own = self.own_at[rows][:, None]
        run = self._running
        gap = np.where(own >= 0, run[own + 1] - run[own], 0.0)
        total = run[end] - run[begin] - gap
        at = run[begin] + u * total
        at = at + np.where((own >= 0) & (at >= run[own]), gap, 0.0)
        place = np.searchsorted(run, at, side="right") - 1
        return self.ids[np.clip(place, begin, end - 1)]

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
