"""Clusters of one outcome, each believed to have a shared change until it is asked."""

import numpy as np

from skcf.group._agreements import differences
from skcf.group._clusters import lawful_parts

# Whether a cluster has a shared change.
BELIEVED, LAWFUL, UNLAWFUL = 0, 1, -1
# How many pairs of rows and clusters are looked at in one go.
BLOCK = 20_000


class Family:
    """The clusters that some outcome may serve.

    A cluster that turns out to have no shared change is replaced by its lawful parts
    and, where only the largest clusters were given, by the largest clusters within it
    that differ on fewer features. So whatever can share a change is always part of a
    cluster that is believed or lawful, if it was to begin with.

    Parameters
    ----------
    rows : ndarray of int
        The rows for which the outcome counts.
    oracle : oracle
        What knows of shared changes that lead there.
    pattern : ndarray of shape (n_rows, n_features)
        Rows agree where they have the same number.
    members : ndarray of bool of shape (n_clusters, n_rows)
        Of all rows of the group.
    differ : ndarray of bool of shape (n_clusters, n_features)
    listed : bool
        Whether the smaller clusters that may be needed are there too.
    """

    def __init__(self, rows, oracle, pattern, members, differ, listed):
        self.rows, self.oracle, self.pattern = rows, oracle, pattern
        self.listed = listed
        self.alike = oracle.alike(rows, pattern)
        self.members = np.zeros((0, len(pattern)), dtype=bool)
        self.differ = np.zeros((0, pattern.shape[1]), dtype=bool)
        self.state = np.zeros(0, dtype=np.int8)
        self._seen, self._told = set(), 0
        self._add(members, differ, np.full(len(members), BELIEVED, dtype=np.int8))

    def believe(self, members):
        """Add clusters, one a row of bools over the rows of the group."""
        differ = differences(self.pattern, members)
        self._add(members, differ, np.full(len(members), BELIEVED, dtype=np.int8))

    def ask(self, c):
        """Find out whether a cluster has a shared change, and replace it if not."""
        if self.state[c] != BELIEVED:
            return
        members, differ = np.flatnonzero(self.members[c]), self.differ[c]
        if self.alike:
            some = members[:1]
            parts = [members] if self.oracle.lawful(some, differ) else []
        else:
            able = members[self.oracle.alone(members, differ)]
            parts = []
            if len(able):
                parts = lawful_parts(able, lambda i: self.oracle.lawful(i, differ))
        whole = len(parts) == 1 and len(parts[0]) == len(members)
        self.state[c] = LAWFUL if whole else UNLAWFUL
        if whole:
            return
        if parts:
            table = np.zeros((len(parts), len(self.pattern)), dtype=bool)
            for line, part in zip(table, parts, strict=True):
                line[part] = True
            state = np.full(len(parts), LAWFUL, dtype=np.int8)
            self._add(table, differences(self.pattern, table), state)
        if not self.listed:
            self._replace(c)

    def spread(self):
        """Mark the clusters that the points found so far serve."""
        if self.oracle.quick or not self.alike:
            return
        told = self.oracle.points[self._told :]
        self._told += len(told)
        if not len(told):
            return
        at = np.flatnonzero(self.state == BELIEVED)
        first = self.members[at].argmax(axis=1)
        for k in range(0, len(at), BLOCK):
            some = slice(k, k + BLOCK)
            ok = self.oracle.serve(told, first[some], self.differ[at[some]])
            self.state[at[some][ok]] = LAWFUL

    def _replace(self, c):
        """Put in the clusters within one that differ on fewer features."""
        members, found = np.flatnonzero(self.members[c]), []
        for j in np.flatnonzero(self.differ[c]):
            column = self.pattern[members, j]
            for value in np.unique(column):
                line = np.zeros(len(self.pattern), dtype=bool)
                line[members[column == value]] = True
                found.append(line)
        if not found:
            return
        table = np.unique(np.array(found), axis=0)
        table = table[np.argsort(-table.sum(axis=1), kind="stable")]
        live = self.members[self.state != UNLAWFUL]
        for line in table:
            # What is part of a live cluster comes when that one goes.
            if line.tobytes() in self._seen or live[:, line].all(axis=1).any():
                continue
            differ = differences(self.pattern, line[None])
            self._add(line[None], differ, np.array([BELIEVED], dtype=np.int8))
            live = np.vstack([live, line])

    def _add(self, members, differ, state):
        state = state.copy()
        new = np.array([m.tobytes() not in self._seen for m in members], dtype=bool)
        self._seen.update(m.tobytes() for m in members[state != LAWFUL])
        new |= state == LAWFUL
        members, differ, state = members[new], differ[new], state[new]
        if self.oracle.quick and self.listed:
            members, state = self._sifted(members, differ, state)
        self.members = np.concatenate([self.members, members])
        self.differ = np.concatenate([self.differ, differ])
        self.state = np.concatenate([self.state, state])

    def _sifted(self, members, differ, state):
        """Leave out rows that cannot even be flipped alone."""
        members = members.copy()
        for k in range(0, len(members), BLOCK):
            some = np.arange(k, min(k + BLOCK, len(members)))
            some = some[state[some] == BELIEVED]
            if self.alike:
                first = members[some].argmax(axis=1)
                ok = self.oracle.alone(first, differ[some])
                state[some] = np.where(ok, LAWFUL, UNLAWFUL)
                continue
            c, i = np.nonzero(members[some])
            ok = self.oracle.alone(i, differ[some][c])
            members[some[c[~ok]], i[~ok]] = False
            state[some[~members[some].any(axis=1)]] = UNLAWFUL
        return members, state
