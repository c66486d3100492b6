"""What the columns of a point may become that several rows share."""

import numpy as np

from skcf._mip._lattice import Lattice
from skcf._mip._pieces import Pieces, clauses_of, pieces_of
from skcf.constraints._bind import holds

# Grids of at most so many numbers can be listed.
MAX_LISTED = 5_000


class SharedPieces:
    """Makes the Pieces of points that lie in the rules of all of some rows.

    Rules between groups do not read the rows' own values.

    Parameters
    ----------
    rules : RuleSet
    """

    def __init__(self, rules):
        self.rules, self.space = rules, rules.space
        self._filters = [
            list(rules.filters.get(g, ())) for g in range(len(self.space.groups))
        ]
        self._clauses = [
            clauses_of(rules.touching.get(g, ()), g, self.space)
            for g in range(len(self.space.groups))
        ]
        self._known = {}

    def of(self, g, x, listed):
        """Return the Pieces of a group for some rows.

        Parameters
        ----------
        g : int
        x : ndarray of shape (n_rows, n_features)
        listed : bool
            Whether numbers have to be points, not intervals.
        """
        members = list(self.space.groups[g])
        j = members[0]
        read = sorted({k for part in self._filters[g] for k in part.x_columns})
        rows = _distinct(x, read)
        own = _shared_value(x[:, members])
        if len(members) == 1 and self.space.numeric[j]:
            if listed:
                codes = self._grid(j)
            else:
                return self._intervals(g, j, rows, read, own)
        else:
            codes = self.space.values.table(g)
            seen = slice(*self.space.values.offsets[g : g + 2])
            codes = codes[self.space.values.weight[seen] > 0]
            keep = ~np.isnan(codes).any(axis=1)
            if own is not None:
                keep |= _same(codes, own).all(axis=1)
            codes, own = codes[keep], None
        home = -1
        if own is not None and not _same(codes, own).all(axis=1).any():
            # What all rows have may be missing, off the grid, or out of range.
            codes, home = np.vstack([own[None, :], codes]), 0
        ok = self._passed(g, rows, codes)
        home = home if home < 0 or ok[0] else -1
        return Pieces(tuple(members), codes[ok], codes[ok], home)

    def listable(self, j):
        """Tell whether a column has few enough numbers to list them."""
        if self.space.columns[j].step is None:
            return False
        low, high = self.rules.low[j], self.rules.high[j]
        if not low <= high:
            return True
        return (high - low) / self.space.columns[j].step <= MAX_LISTED

    def _grid(self, j):
        low, high = self.rules.low[j], self.rules.high[j]
        if not low <= high:
            return np.empty((0, 1))
        lattice = Lattice(self.space.columns[j], low, high)
        return lattice.value(np.arange(lattice.first, lattice.last + 1))[:, None]

    def _passed(self, g, rows, codes):
        """Return which values pass the rules of a group for all rows."""
        place = {j: m for m, j in enumerate(self.space.groups[g])}
        ok = np.ones(len(codes), dtype=bool)
        for part in self._filters[g]:
            for row in rows:

                def get(table, j, row=row):
                    if table == "cf":
                        return codes[:, place[j]]
                    return np.broadcast_to(row[j], len(codes))

                ok &= holds(part.node, get)
        return ok

    def _intervals(self, g, j, rows, read, own):
        """Return the intervals of a number that the rules of all rows allow."""
        column = self.space.columns[j]
        ends = None
        for row in rows:
            new = self._of_row(g, j, row, read)
            ends = new if ends is None else _both(*ends, *new)
        low, high = ends
        if not self._clauses[g]:
            low, high = _joined(low, high, column)
        plain = len(low) == 1
        home = -1
        if own is not None and not ((low <= own) & (own <= high)).any():
            if self._passed(g, rows, own[None, :])[0]:
                low, high = np.append(low, own), np.append(high, own)
                home, plain = len(low) - 1, False
        return Pieces((j,), low[:, None], high[:, None], home, column.step, plain)

    def _of_row(self, g, j, row, read):
        """Return (low ends, high ends) of what the rules of one row allow."""
        key = (g, *row[read].tolist())
        if key not in self._known:
            if j not in read:
                row = row.copy()
                row[j] = np.nan
            pieces = pieces_of(self.rules, row, g)
            low, high = pieces.low[:, 0], pieces.high[:, 0]
            ok = (low >= self.rules.low[j]) & (high <= self.rules.high[j])
            home = pieces.home
            if home >= 0 and ok[home]:
                ok[home] = self.space.columns[j].snap(low[home]) == low[home]
            self._known[key] = low[ok], high[ok]
        return self._known[key]


def _both(low, high, more_low, more_high):
    """Return the ends of the intersections of two lists of intervals, in order."""
    begin = np.maximum(low[:, None], more_low[None, :]).ravel()
    end = np.minimum(high[:, None], more_high[None, :]).ravel()
    some = np.flatnonzero(begin <= end)
    order = some[np.argsort(begin[some], kind="stable")]
    return begin[order], end[order]


def _joined(low, high, column):
    """Return intervals with those put together that have nothing between them."""
    if len(low) < 2:
        return low, high
    order = np.argsort(low, kind="stable")
    low, high = low[order], high[order]
    apart = low[1:] > column.beside(high[:-1])[:, 2]
    first = np.concatenate([[True], apart])
    return low[first], np.maximum.reduceat(high, np.flatnonzero(first))


def _distinct(x, columns):
    """Return rows, one for each combination of values in some columns."""
    if not columns:
        return x[:1]
    _, first = np.unique(x[:, columns], axis=0, return_index=True)
    return x[first]


def _shared_value(codes):
    """Return the codes that all rows have, None if they differ."""
    return codes[0] if _same(codes, codes[0]).all() else None


def _same(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))
