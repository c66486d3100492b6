"""Encoded columns that are straight lines over a raw number, found out by trial."""

import numpy as np
from scipy.sparse import issparse

N_POINTS = 129
# What two ways of working out the same line may differ by, relative to its size.
ROUNDING = 16 * np.finfo(np.float64).eps
# The same where cells were rounded to 32 bits on the way.
COARSE = 2 * float(np.finfo(np.float32).eps)


class Lines:
    """Encoded columns of which a number tells the cell without the transformer.

    A column that is scaled or passed on is a straight line over its raw column. That
    it is one is tried at points all over the range; a column that is passed on as it
    is stays exact, any other one up to rounding. Where cells come as 32-bit numbers,
    the line tells no more than about where they are: that will do for trees, unless
    one of them splits right there.

    Parameters
    ----------
    transform : callable
        Takes a table of the space and returns its encoded rows. Its `before_kernel`,
        if there is one, does so without rounding; its `exact` says whether the last
        digit counts, so that only a column that is passed on will do. Its `splits`,
        if there are any, are the sorted numbers at which each column is split, None
        for a column of which it matters more than on which side of these it is.
    space : FeatureSpace
    group_of : ndarray of shape (n_encoded,)

    Attributes
    ----------
    known : ndarray of bool of shape (n_groups,)
        Groups that are a number of which all encoded columns are lines.
    roughly : ndarray of bool of shape (n_groups,)
        Groups of which they are lines up to the rounding to 32 bits.
    """

    def __init__(self, transform, space, group_of):
        n_groups = len(space.groups)
        self._exact = getattr(transform, "exact", True)
        self._splits = getattr(transform, "splits", None)
        self.known, self.roughly = np.zeros((2, n_groups), dtype=bool)
        self._columns = [np.flatnonzero(group_of == g) for g in range(n_groups)]
        self._slope, self._start = np.ones(len(group_of)), np.zeros(len(group_of))
        self._error = np.zeros(len(group_of))
        numbers = [
            g
            for g, j in enumerate(space.values.single)
            if j >= 0 and space.columns[j].kind == "numeric"
        ]
        if not numbers:
            return
        first = [space.values.table(g)[0] for g in range(n_groups)]
        codes = np.empty((N_POINTS, space.n_features))
        for members, row in zip(space.groups, first, strict=True):
            codes[:, list(members)] = row
        for g in numbers:
            j = space.values.single[g]
            points = np.linspace(space.low[j], space.high[j], N_POINTS)
            codes[:, j] = space.columns[j].snap(points)
        encoded, dense = _matrix(transform, space.decode(codes))
        if encoded is None:
            return
        if not dense:
            self._splits = None  # a zero may stand for a missing cell
        for g in numbers:
            x = codes[:, space.values.single[g]]
            fits = [self._fit(c, x, encoded[:, c]) for c in self._columns[g]]
            self.known[g] = all(close for close, _ in fits)
            self.roughly[g] = all(rough for _, rough in fits) and not self.known[g]

    def _fit(self, column, x, cell):
        """Note the line of a column; return whether it is one, and whether roughly."""
        with np.errstate(over="ignore"):
            # A kernel that takes rounded numbers rounds what it gets by itself.
            if (cell == x).all() or (cell == x.astype(np.float32)).all():
                return True, True
        if self._exact or x[0] == x[-1] or not np.isfinite(cell).all():
            return False, False
        slope = (cell[-1] - cell[0]) / (x[-1] - x[0])
        start = cell[0] - slope * x[0]
        self._slope[column], self._start[column] = slope, start
        size = np.abs(cell).max() + np.abs(slope * x).max()
        off = np.abs(slope * x + start - cell).max()
        self._error[column] = 2 * COARSE * size
        split = self._splits is not None and self._splits[column] is not None
        return off <= ROUNDING * size, split and off <= COARSE * size

    def tell(self, group, codes):
        """Return which numbers of groups have cells that a line tells well enough."""
        out = self.known[group]
        rough = np.flatnonzero(self.roughly[group])
        for g in np.unique(group[rough]):
            at = rough[group[rough] == g]
            clear = np.ones(len(at), dtype=bool)
            for c in self._columns[g]:
                cell = self._slope[c] * codes[at] + self._start[c]
                low, high = cell - self._error[c], cell + self._error[c]
                splits = self._splits[c]
                clear &= np.searchsorted(splits, low) == np.searchsorted(splits, high)
            out[at] = clear
        return out

    def cells(self, group, codes):
        """Return (position, column, cell) of numbers of groups that are known."""
        count = np.array([len(c) for c in self._columns])
        first = np.cumsum(count) - count
        column = np.concatenate(self._columns)
        rep = np.repeat(np.arange(len(group)), count[group])
        nth = np.arange(len(rep)) - np.repeat(
            np.cumsum(count[group]) - count[group], count[group]
        )
        column = column[first[group][rep] + nth]
        return rep, column, self._slope[column] * codes[rep] + self._start[column]


def _matrix(transform, table):
    """Return (encoded rows as float64, whether they came dense), None if it fails."""
    try:
        encoded = getattr(transform, "before_kernel", transform)(table)
        if not (isinstance(encoded, np.ndarray) or issparse(encoded)):
            encoded = transform(table)
    except (TypeError, ValueError):
        return None, False
    dense = not issparse(encoded)
    encoded = encoded if dense else encoded.toarray()
    numbers = encoded.dtype.kind in "fiub"
    return encoded.astype(np.float64) if numbers else None, dense
