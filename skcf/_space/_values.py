"""The values that candidates are made of, each with a number of its own."""

import numpy as np

from skcf._space._growing import Growing
from skcf._space._hash import mix
from skcf._space._kernels import find_rows, numbered


class Values:
    """Every value of every group of columns, numbered from 0 on.

    The values of group ``g`` are ``offsets[g] : offsets[g + 1]``, sorted by their
    codes. Value ``v`` writes the cells ``ptr[v] : ptr[v + 1]`` of (`col`, `code`):
    one for a single column, one for each member of a group of columns.

    A search that needs values between the observed ones works on a copy (`fork`)
    and adds them with `add`; they come behind the others.

    Attributes
    ----------
    group : ndarray of shape (n_values,)
        The group of each value.
    weight : ndarray of shape (n_values,)
        How often a value was observed; 1 for added ones, 0 for a stand-in.
    mark : ndarray of uint64 of shape (n_values,)
        Bits that hang on what a value writes, and not on its number.
    single : ndarray of shape (n_groups,)
        The column of a group of one column, -1 for larger groups.
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
        self._sums = np.concatenate([[0.0], np.cumsum(self.weight)])
        cells = _marks(self.col, self.code)
        self.mark = np.bitwise_xor.reduceat(cells, self.ptr[:-1])
        self.single = np.array([g[0] if len(g) == 1 else -1 for g in groups])
        self._room = None

    @property
    def n_observed(self):
        """Number of values that were learned in fit."""
        return int(self.offsets[-1])

    def fork(self):
        """Return a copy that can be added to; the learned arrays are shared."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, _room=None)
        return copy

    def table(self, group):
        """Return the codes of a group's observed values, one row a value."""
        begin, end = self.offsets[group], self.offsets[group + 1]
        cells = self.code[self.ptr[begin] : self.ptr[end]]
        return cells.reshape(end - begin, -1)

    def running(self, group):
        """Return the sums of the weights of a group's observed values, from 0 on."""
        begin, end = self.offsets[group], self.offsets[group + 1]
        # Weights are whole numbers, so that differences of their sums are exact.
        return self._sums[begin : end + 1] - self._sums[begin]

    def find(self, group, rows):
        """Return the numbers of observed values by their codes, -1 for others."""
        at = find_rows(self.table(group), np.ascontiguousarray(rows))
        ids = at + self.offsets[group]
        return np.where((at >= 0) & (self.weight[ids] > 0), ids, -1)

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
        out = np.full(len(groups), -1, dtype=np.intp)
        for g in np.unique(groups):
            at = np.flatnonzero(groups == g)
            out[at] = self.find(g, codes[at, None])
        new = np.flatnonzero(out < 0)
        if len(new):
            out[new] = self._added(groups[new], codes[new])
        return out

    def _added(self, groups, codes):
        """Return the numbers of values that were not observed."""
        begin = self.n_observed
        n_old = len(self.group) - begin
        marks = _marks(self.single[groups], codes)
        number = numbered(np.concatenate([self.mark[begin:], marks]))[n_old:]
        # What comes for the first time gets the next number.
        top = np.maximum.accumulate(np.append(n_old - 1, number))
        fresh = number > top[:-1]
        self._append(groups[fresh], codes[fresh])
        return begin + number

    def _append(self, groups, codes):
        columns = self.single[groups]
        new = {
            "col": columns,
            "code": codes,
            "group": groups,
            "weight": np.ones(len(groups)),
            "mark": _marks(columns, codes),
            "ptr": self.ptr[-1] + np.arange(1, len(groups) + 1),
        }
        self._room = {} if self._room is None else self._room
        for name, values in new.items():
            room = self._room.setdefault(name, Growing(getattr(self, name)))
            room.extend(values)
            setattr(self, name, room.array)


def _marks(columns, codes):
    """Return well-mixed bits of cells."""
    bits = np.ascontiguousarray(codes + 0.0).view(np.uint64)
    return mix(bits ^ mix(columns.astype(np.uint64)))
