"""Candidates of a search, held as the values that they change."""

import numpy as np

from skcf._space._kernels import (
    PAD,
    count_changes,
    drop_values,
    groups_of,
    hash_values,
    key_values,
    put_values,
)


def positions(at):
    """Return the positions of a mask; positions and slices as they are."""
    if isinstance(at, slice):
        return at
    at = np.asarray(at)
    return at.nonzero()[0] if at.dtype == bool else at


def picked(array, at):
    """Return entries at `positions`; numpy's `take` is the fast way for wide ones."""
    return array[at] if isinstance(at, slice) else array.take(at, axis=0)


class Candidates:
    """Rows that differ from their query in a few values.

    Only the changes are stored: candidate ``i`` is query ``row[i]`` with the values
    ``value[i]`` (numbers of `Values`, filled up with -1), at most one a group. Memory
    grows with the changes, not with the columns.

    Parameters
    ----------
    row : ndarray of shape (n,)
    value : ndarray of shape (n, width)
    """

    def __init__(self, row, value):
        self.row = row
        self.value = np.ascontiguousarray(value)
        self._groups = self._keys = None

    def __len__(self):
        return len(self.row)

    @classmethod
    def unchanged(cls, row):
        """Return one candidate a row that changes nothing."""
        return cls(
            np.asarray(row, dtype=np.intp), np.empty((len(row), 0), dtype=np.intp)
        )

    @classmethod
    def concat(cls, parts):
        """Put several lots of candidates behind one another."""
        width = max(part.value.shape[1] for part in parts)
        value = np.full((sum(map(len, parts)), width), PAD, dtype=np.intp)
        begin = 0
        for part in parts:
            value[begin : begin + len(part), : part.value.shape[1]] = part.value
            begin += len(part)
        return cls(np.concatenate([part.row for part in parts]), value)

    def take(self, at):
        """Return some of the candidates, by mask or position."""
        at = positions(at)
        some = Candidates(picked(self.row, at), picked(self.value, at))
        if self._keys is not None:
            some._keys = picked(self._keys, at)
        return some

    @property
    def n_changed(self):
        """Number of changed groups of each candidate."""
        return count_changes(self.value)

    def groups(self, values):
        """Return the group of every value, the number of groups for padding."""
        if self._groups is None:
            self._groups = groups_of(self.value, values.group, len(values.single))
        return self._groups

    def changed(self, values):
        """Return the mask of changed groups, shape (n, n_groups)."""
        n_groups = len(values.single)
        out = np.zeros((len(self), n_groups + 1), dtype=bool)
        np.put_along_axis(out, self.groups(values), True, axis=1)
        return out[:, :n_groups]

    def put(self, ids, values):
        """Return the candidates with one more value each; it replaces its group's.

        Where an id is -1 the candidate stays as it is.
        """
        ids = np.ascontiguousarray(ids)
        return Candidates(self.row, put_values(self.value, ids, values.group))

    def drop(self, mask, values):
        """Return the candidates without the values at `mask`."""
        mask = np.ascontiguousarray(mask)
        return Candidates(self.row, drop_values(self.value, mask, values.group))

    def tidy(self, values):
        """Sort the values of each candidate by group, padding last."""
        return self.drop(np.zeros(self.value.shape, dtype=bool), values)

    def cells(self, values):
        """Return (candidate, column, code, slot) of all changed cells."""
        who, slot = np.nonzero(self.value != PAD)
        rep, column, code = values.cells(self.value[who, slot])
        return who[rep], column, code, slot[rep]

    def codes(self, x, values):
        """Return the candidates as full rows of codes."""
        out = x[self.row]
        who, column, code, _ = self.cells(values)
        out[who, column] = code
        return out

    def hash(self, values):
        """Return 64 bits that stand for what each candidate writes."""
        return hash_values(self.value, values.mark)

    def keys(self, values):
        """Return 64 bits that stand for the query and what each candidate writes."""
        if self._keys is None:
            self._keys = key_values(self.row, self.value, values.mark)
        return self._keys
