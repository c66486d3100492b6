"""The intervals of a number on which no tree changes its mind."""

import numpy as np

# Numbers on a grid of at most so many points may be encoded in any way at all.
MAX_LISTED = 200_000
# So few are tried in any case.
FEW = 2_048
N_SAMPLE = 512
# Into how many parts an interval is cut at a time.
N_PARTS = 16


class Lattice:
    """The possible numbers of a column, counted in their order.

    Point ``k`` is the k-th multiple of the column's step, or without a step the k-th
    float from zero on.

    Parameters
    ----------
    column : NumericColumn
    low, high : float
        The range of possible numbers.

    Attributes
    ----------
    first, last : int
        The ends of the range; there is no point at all where last < first.
    """

    def __init__(self, column, low, high):
        self.column, self.step = column, column.step
        if self.step is None:
            ends = column.snap(np.array([low, high]))
            self.first, self.last = (int(k) for k in self._order(ends))
        else:
            near = [np.floor(low / self.step) - 1, np.ceil(high / self.step) + 1]
            self.first, self.last = (int(k) for k in near)
        self.first += int((self.value(self.first + np.arange(3)) < low).sum())
        self.last -= int((self.value(self.last - np.arange(3)) > high).sum())

    @property
    def size(self):
        """Number of points."""
        return max(0, self.last - self.first + 1)

    def value(self, k):
        """Return the numbers at positions."""
        k = np.asarray(k, dtype=np.int64)
        if self.step is not None:
            return self.column.snap(k * self.step)
        whole, real = self._types
        size = np.abs(k).astype(whole).view(real)
        return np.where(k < 0, -size, size).astype(np.float64)

    def spread(self, n):
        """Return up to `n` positions over the range, ends and seen numbers included."""
        if self.size <= n:
            return np.arange(self.first, self.last + 1)
        seen = self.column.domain
        seen = seen[np.linspace(0, len(seen) - 1, min(n, len(seen))).astype(np.intp)]
        low, high = self.value([self.first, self.last])
        even = low + (high - low) * np.linspace(0.0, 1.0, n)
        k = self.position(np.concatenate([seen, even]))
        k = np.clip(k, self.first, self.last)
        return np.unique(np.concatenate([k, [self.first, self.last]]))

    def position(self, values):
        """Return the positions of numbers, rounded to the grid."""
        if self.step is None:
            return self._order(self.column.snap(values))
        return np.rint(values / self.step).astype(np.int64)

    @property
    def _types(self):
        single = self.column.single
        return (np.int32, np.float32) if single else (np.int64, np.float64)

    def _order(self, values):
        whole, real = self._types
        values = np.asarray(values).astype(real)
        size = np.abs(values).view(whole).astype(np.int64)
        return np.where(values < 0, -size, size)


class Cuts:
    """Where the trees tell numbers of single columns apart.

    Parameters
    ----------
    encode : callable
        Takes codes of shape (n, n_features), returns encoded rows.
    default : ndarray of shape (n_features,)
        Codes that may stand in the other columns.
    """

    def __init__(self, encode, default):
        self.encode, self.default = encode, default

    def intervals(self, lattices, edges):
        """Return the intervals of each column as positions (first, last).

        Parameters
        ----------
        lattices : dict of column position to Lattice
        edges : dict of column position to list of (encoded column, sorted thresholds)
        """
        plain = {j: a for j, a in lattices.items() if a.size and edges[j]}
        wrong = [j for j, a in plain.items() if a.size <= FEW]
        listed, plain = plain, {j: a for j, a in plain.items() if a.size > FEW}
        sample = self._encoded(
            {j: a.value(a.spread(N_SAMPLE)) for j, a in plain.items()}
        )
        falls = {}
        for j in plain:
            turn = [_direction(sample[j][:, e]) for e, _ in edges[j]]
            if None not in turn:
                falls[j] = np.array(turn) < 0
        tried = {j: plain[j] for j in falls}
        cuts = self._bisect(tried, edges, falls)
        out = {}
        for j, lattice in lattices.items():
            last = cuts.get(j)
            if last is None:
                last = np.array([lattice.last]) if lattice.size else np.empty(0, int)
            first = np.concatenate([[lattice.first], last[:-1] + 1])[: len(last)]
            out[j] = first.astype(np.int64), last.astype(np.int64)
        wrong += [j for j in plain if j not in falls]
        ends = self._encoded({j: plain[j].value(np.concatenate(out[j])) for j in tried})
        for j in tried:
            told = _signature(ends[j], edges[j])
            half = len(told) // 2
            if (told[:half] != told[half:]).any():
                wrong.append(j)
        out.update(self._listed({j: listed[j] for j in wrong}, edges))
        return out

    def _bisect(self, lattices, edges, falls):
        """Return the last position of every interval, by column."""
        low, high, column, mark, down = {}, {}, {}, {}, {}
        for j, a in lattices.items():
            column[j] = np.concatenate([np.full(len(t), e) for e, t in edges[j]])
            mark[j] = np.concatenate([t for _, t in edges[j]])
            size = [len(t) for _, t in edges[j]]
            down[j] = np.repeat(falls[j], size)
            low[j] = np.full(len(mark[j]), a.first - 1, dtype=np.int64)
            high[j] = np.full(len(mark[j]), a.last + 1, dtype=np.int64)
        open_ = set(lattices)
        while open_:
            points = {j: _between(low[j], high[j]) for j in open_}
            open_ = {j for j in open_ if (points[j][-1] != low[j]).any()}
            shown = {
                j: np.clip(points[j], lattices[j].first, lattices[j].last)
                for j in open_
            }
            told = self._encoded(
                {j: lattices[j].value(k.ravel()) for j, k in shown.items()}
            )
            for j in open_:
                n = len(mark[j])
                x = told[j][
                    np.arange(points[j].size), np.tile(column[j], len(points[j]))
                ]
                inside = (x.reshape(-1, n) <= mark[j]) != down[j]
                inside |= points[j] < lattices[j].first
                # They rise: those inside come first.
                count = inside.sum(axis=0)
                edge = np.vstack([low[j], points[j], high[j]])
                low[j] = edge[count, np.arange(n)]
                high[j] = edge[count + 1, np.arange(n)]
        out = {}
        for j, a in lattices.items():
            inner = low[j][(low[j] >= a.first) & (low[j] < a.last)]
            out[j] = np.unique(np.append(inner, a.last))
        return out

    def _listed(self, lattices, edges):
        """Return the intervals of columns that are looked at point by point."""
        points = {}
        for j, lattice in lattices.items():
            if lattice.size > MAX_LISTED:
                raise ValueError(
                    f"Column {lattice.column.name!r} is encoded in a way that neither "
                    "rises nor falls with its numbers, and there are too many of these "
                    "to try them all. Set a coarser resolution for it (at most "
                    f"{MAX_LISTED} numbers)."
                )
            points[j] = np.arange(lattice.first, lattice.last + 1)
        rows = self._encoded({j: lattices[j].value(k) for j, k in points.items()})
        out = {}
        for j, k in points.items():
            told = _signature(rows[j], edges[j])
            turns = np.flatnonzero((told[1:] != told[:-1]).any(axis=1))
            last = np.append(turns, len(k) - 1)
            out[j] = k[np.append(0, last[:-1] + 1)], k[last]
        return out

    def _encoded(self, numbers):
        """Return the encoded rows of numbers of each column, all in one call."""
        if not numbers:
            return {}
        n = max(map(len, numbers.values()))
        codes = np.tile(self.default, (n, 1))
        for j, values in numbers.items():
            codes[: len(values), j] = values
        rows = self.encode(codes)
        return {j: rows[: len(values)] for j, values in numbers.items()}


def _between(low, high):
    """Return rising positions between two, low ones where there are none."""
    low, high = low.view(np.uint64), high.view(np.uint64)
    # The difference of positions does not fit into their own type.
    width = high - low
    part, rest = width // N_PARTS, width % N_PARTS
    turn = np.arange(1, N_PARTS, dtype=np.uint64)[:, None]
    points = low + part * turn + rest * turn // np.uint64(N_PARTS)
    return np.where(width <= 1, low, points).view(np.int64)


def _direction(values):
    """Return 1 for numbers that rise, -1 for falling ones, None for others."""
    if np.isnan(values).any():
        return None
    step = np.diff(values)
    return 1 if (step >= 0).all() else -1 if (step <= 0).all() else None


def _signature(rows, edges):
    """Return what all comparisons with thresholds say of encoded rows."""
    columns = []
    for e, marks in edges:
        x = rows[:, e]
        columns += [np.searchsorted(marks, x), np.isnan(x)]
    return np.column_stack(columns)
