"""Candidates of a search, held as the values that they change."""

import numpy as np

from skcf._space._hash import mix

PAD = -1


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
        self.value = value

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
        return Candidates(self.row[at], self.value[at])

    @property
    def n_changed(self):
        """Number of changed groups of each candidate."""
        return (self.value != PAD).sum(axis=1)

    def groups(self, values):
        """Return the group of every value, the number of groups for padding."""
        n_groups = len(values.single)
        return np.where(self.value == PAD, n_groups, values.group[self.value])

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
        group = np.where(ids == PAD, PAD, values.group[ids])
        kept = np.where(self.groups(values) == group[:, None], PAD, self.value)
        return Candidates(self.row, np.column_stack([kept, ids])).tidy(values)

    def drop(self, mask, values):
        """Return the candidates without the values at `mask`."""
        return Candidates(self.row, np.where(mask, PAD, self.value)).tidy(values)

    def tidy(self, values):
        """Sort the values of each candidate by group, padding last."""
        group = self.groups(values)
        order = np.argsort(group, axis=1, kind="stable")
        value = np.take_along_axis(self.value, order, axis=1)
        width = int((value != PAD).any(axis=0).sum())
        return Candidates(self.row, value[:, :width])

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
        state = np.full(len(self), 0x9E3779B97F4A7C15, dtype=np.uint64)
        for ids in self.value.T:
            mixed = mix(state ^ values.mark[np.maximum(ids, 0)])
            state = np.where(ids == PAD, state, mixed)
        return state
