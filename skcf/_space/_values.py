"""The values that candidates are made of, each with a number of its own."""

import numpy as np


class Values:
    """Every value of every group of columns, numbered from 0 on.

    The values of group ``g`` are ``offsets[g] : offsets[g + 1]``, sorted by their
    codes. Value ``v`` writes the cells ``ptr[v] : ptr[v + 1]`` of (`col`, `code`):
    one for a single column, one for each member of a group of columns.

    A search that needs values between the observed ones works on a copy (`fork`)
    and adds them with `add`; they come behind the others.
    """

    def __init__(self, groups, tables, weights):
        sizes = np.array([len(t) for t in tables])
        width = np.array([len(g) for g in groups])
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.ptr = np.concatenate([[0], np.cumsum(np.repeat(width, sizes))])
        self.col = np.concatenate(
            [np.tile(g, len(t)) for g, t in zip(groups, tables, strict=True)]
        ).astype(np.intp)
        self.code = np.concatenate([np.asarray(t, float).ravel() for t in tables])
        self.group = np.repeat(np.arange(len(groups)), sizes)
        self.weight = np.concatenate(weights).astype(float)
        self.single = np.array([g[0] if len(g) == 1 else -1 for g in groups])

    @property
    def n_observed(self):
        """Number of values that were learned in fit."""
        return int(self.offsets[-1])

    def fork(self):
        """Return a copy that can be added to; the learned arrays are shared."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy

    def table(self, group):
        """Return the codes of a group's observed values, one row a value."""
        begin, end = self.offsets[group], self.offsets[group + 1]
        cells = self.code[self.ptr[begin] : self.ptr[end]]
        return cells.reshape(end - begin, -1)

    def cells(self, ids):
        """Return (position in `ids`, column, code) of all cells that `ids` write."""
        start = self.ptr[ids]
        count = self.ptr[ids + 1] - start
        rep = np.repeat(np.arange(len(ids)), count)
        first = np.cumsum(count) - count
        at = start[rep] + np.arange(len(rep)) - first[rep]
        return rep, self.col[at], self.code[at]

    def code_of(self, ids):
        """Return the code of values of single columns."""
        return self.code[self.ptr[ids]]

    def add(self, groups, codes):
        """Return the numbers of codes of single-column groups, new ones included."""
        out = np.empty(len(groups), dtype=np.intp)
        new = np.zeros(len(groups), dtype=bool)
        for g in np.unique(groups):
            at = np.flatnonzero(groups == g)
            known = self.table(g)[:, 0]
            place = np.searchsorted(known, codes[at])
            hit = known[np.minimum(place, len(known) - 1)] == codes[at]
            out[at] = self.offsets[g] + place
            new[at[~hit]] = True
        if not new.any():
            return out
        pairs = np.column_stack([groups[new], codes[new]])
        extra = self.n_observed
        old = np.column_stack([self.group[extra:], self.code_of(np.arange(extra, len(self.group)))])
        both, back = np.unique(
            np.vstack([old, pairs]), axis=0, return_index=True, return_inverse=True
        )[1:]
        fresh = both[both >= len(old)] - len(old)
        fresh.sort()
        number = np.empty(len(both), dtype=np.intp)
        is_old = both < len(old)
        number[is_old] = extra + both[is_old]
        rank = np.searchsorted(fresh, both[~is_old] - len(old))
        number[~is_old] = len(self.group) + rank
        out[new] = number[back.ravel()[len(old) :]]
        self._append(pairs[fresh, 0].astype(np.intp), pairs[fresh, 1])
        return out

    def _append(self, groups, codes):
        end = self.ptr[-1] + np.arange(1, len(groups) + 1)
        self.ptr = np.concatenate([self.ptr, end])
        self.col = np.concatenate([self.col, self.single[groups]])
        self.code = np.concatenate([self.code, codes])
        self.group = np.concatenate([self.group, groups])
        self.weight = np.concatenate([self.weight, np.ones(len(groups))])
