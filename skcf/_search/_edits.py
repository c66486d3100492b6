"""Candidate features: which groups of a query to change, and to which values."""

from dataclasses import dataclass

import numpy as np

from skcf._search._problem import rank_by, rank_in_row
from skcf._space import PAD, Candidates, mix, uniform


@dataclass
class Edits:
    """The changes that a search may combine, a few groups with a few values each.

    Attributes
    ----------
    row : ndarray of shape (n,)
        The queries.
    group : ndarray of shape (n, n_columns)
        The groups of each query, the most promising first; -1 fills up.
    value : ndarray of shape (n, n_columns, n_values)
        Numbers of their values, the most promising first; -1 fills up.
    """

    row: np.ndarray
    group: np.ndarray
    value: np.ndarray

    @property
    def open(self):
        """The mask of groups, shape (n, n_columns)."""
        return self.group != PAD

    def take(self, at):
        """Return the edits of some of the queries."""
        return Edits(self.row[at], self.group[at], self.value[at])

    def candidates(self, who, chosen, which):
        """Return candidates that make the chosen changes.

        Parameters
        ----------
        who : ndarray of shape (m,)
            Positions of queries in `row`.
        chosen : ndarray of bool of shape (m, n_columns)
        which : ndarray of int of shape (m, n_columns)
            The position of the value of each group.
        """
        value = np.take_along_axis(self.value[who], which[:, :, None], axis=2)[:, :, 0]
        return Candidates(self.row[who], np.where(chosen, value, PAD))


def edits_of(problem, binned, rows, *, n_neighbors, n_columns, n_values):
    """Return the edits of queries: what neighbours in the target have instead.

    A group counts the neighbours whose bin differs from the query's, a bin of it those
    that are in it; the middle one of their values stands for the bin. Only values that
    rules allow count. Where neighbours offer fewer than asked for, values drawn by
    frequency from all that are allowed come behind them.
    """
    space, values = problem.space, problem.values
    who, at = binned.neighbours(problem.x[rows], problem.goal.take(rows), n_neighbors)
    ids = np.where(binned.actionable, binned.ids[at], PAD)
    pair, group = np.nonzero(ids != PAD)
    place, ids = who[pair], ids[pair, group]
    own = _own_bins(problem, binned, rows)
    differs = binned.bin_of[ids] != own[place, values.group[ids]]
    place, ids = place[differs], ids[differs]
    count = np.ones(len(ids))
    more_place, more_ids = _drawn(problem, rows, n_values)
    place = np.concatenate([place, more_place])
    ids = np.concatenate([ids, more_ids])
    count = np.concatenate([count, np.zeros(len(more_ids))])
    key, back = np.unique(place * len(values.group) + ids, return_inverse=True)
    count = np.bincount(back, count, minlength=len(key))
    place, ids = key // len(values.group), key % len(values.group)
    ok = problem.ground.filtered(Candidates(rows[place], ids[:, None]))
    place, ids, count = place[ok], ids[ok], count[ok]
    place, ids, count = _one_a_bin(place, ids, count, _bins(binned, ids))
    group = values.group[ids]
    lot = place * len(space.groups) + group
    rank = rank_by(lot, (ids, -count))
    votes = np.bincount(lot, count, minlength=len(rows) * len(space.groups))
    first = np.flatnonzero(rank == 0)
    turn = rank_by(place[first], (group[first], -votes[lot[first]]))
    column = np.full(len(rows) * len(space.groups), n_columns)
    column[lot[first]] = turn
    keep = (rank < n_values) & (column[lot] < n_columns)
    out = Edits(
        rows,
        np.full((len(rows), n_columns), PAD),
        np.full((len(rows), n_columns, n_values), PAD),
    )
    place, ids, rank, column = place[keep], ids[keep], rank[keep], column[lot[keep]]
    out.group[place, column] = values.group[ids]
    out.value[place, column, rank] = ids
    return out


def _own_bins(problem, binned, rows):
    """Return the bins of the queries' own values, -1 where a value was not observed."""
    own = problem.ground.own[rows].copy()
    for g, j in enumerate(problem.values.single):
        if j >= 0 and problem.space.numeric[j]:
            code = problem.x[rows, j]
            own[:, g] = np.where(np.isnan(code), own[:, g], binned.bins(g, code))
    return own


def _bins(binned, ids):
    """Return the bins of values; those that were not observed are their own."""
    seen = ids < len(binned.bin_of)
    return np.where(seen, binned.bin_of[np.where(seen, ids, 0)], ids)


def _drawn(problem, rows, n_values):
    """Return (place in rows, value): some allowed values of each group by frequency."""
    places, drawn = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    nth = np.arange(2 * n_values)
    for g, feasible in enumerate(problem.ground.sets):
        at = np.flatnonzero(feasible.count[rows] > 0)
        if len(at):
            salt = mix(np.uint64(g + 1) ^ mix(nth.astype(np.uint64)))
            u = uniform(mix(problem.seed[rows[at], None] ^ salt))
            ids = feasible.draw(rows[at], (nth + u) / len(nth))
            places.append(np.repeat(at, len(nth)))
            drawn.append(ids.ravel())
    return np.concatenate(places), np.concatenate(drawn)


def _one_a_bin(place, ids, count, bins):
    """Return the middle value of each bin of each query, with the counts of the bin.

    The middle is by counts, or among all where none counts. Drawn values in a bin that
    neighbours are in have no say.
    """
    # Values of a bin stand next to one another: numbers are sorted within a group.
    order = np.lexsort((ids, bins, place))
    place, ids, count, bins = place[order], ids[order], count[order], bins[order]
    new = (np.diff(place, prepend=-1) != 0) | (np.diff(bins, prepend=-1) != 0)
    lot = np.cumsum(new) - 1
    total = np.bincount(lot, count)
    weight = np.where(total[lot] > 0, count, 1.0)
    run = np.cumsum(weight)
    start = (run - weight)[new]
    half = np.bincount(lot, weight) / 2
    past = run - start[lot] >= half[lot]
    middle = np.flatnonzero(past & (weight > 0))
    middle = middle[rank_in_row(lot[middle]) == 0]
    return place[middle], ids[middle], total
