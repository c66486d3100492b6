"""Tables instead of preprocessing: what a value becomes on its way into a model.

Many pipelines encode column by column: each encoded column depends on one raw column,
or on one group of columns that are taken together. Then the encoded form of a candidate
is that of its query with a few cells replaced, and the cells that a value writes can be
looked up. Whether a fitted transformer is of that kind is found out by trial.
"""

import numpy as np
from scipy import sparse

from skcf._model._cells import changed_cells
from skcf._model._lines import Lines
from skcf._space._growing import Growing

N_TRIAL = 256
CHUNK = 8192
MOST_CELLS = 2**21


class Encoding:
    """The cells that every value writes into the encoded row.

    Parameters
    ----------
    transform : callable
        Takes a table of the feature space, returns its encoded rows, dense or sparse.
    space : FeatureSpace
    group_of : ndarray of shape (n_encoded,)
        The group that each encoded column depends on, -1 for a constant column.

    Attributes
    ----------
    default : ndarray of shape (n_encoded,)
        What a cell holds that no value of its group is listed to write.
    ptr, col, val : ndarrays
        Value ``v`` writes ``val[ptr[v] : ptr[v + 1]]`` to the columns `col`.
    """

    def __init__(self, transform, space, group_of):
        self.transform, self.space = transform, space
        self.group_of, self.n_encoded = group_of, len(group_of)
        self._tabulate()
        self.lines = Lines(transform, space, group_of)

    @classmethod
    def learn(cls, transform, space):
        """Return the encoding of a fitted transformer, None if columns mix.

        What the transformer raises for a mixture of values is passed on.
        """
        codes = _some_rows(space, _n_trial(space))
        group_of = _owners(transform, space, codes)
        if group_of is None:
            return None
        encoding = cls(transform, space, group_of)
        return encoding if encoding._agrees(codes) else None

    def _tabulate(self):
        """Fill the tables: one encoded row shows a value of every group at once."""
        values, space = self.space.values, self.space
        size = np.diff(values.offsets)
        owned = [np.flatnonzero(self.group_of == g) for g in range(len(size))]
        self.default = np.zeros(self.n_encoded)
        # A model of constants has no cells at all.
        lots = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))]
        for row in _chunks(int(size.max()), self.n_encoded):
            codes = np.empty((len(row), space.n_features))
            for g, members in enumerate(space.groups):
                codes[:, list(members)] = values.table(g)[row % size[g]]
            encoded = sparse.csc_array(self.transform(space.decode(codes)))
            if row[0] == 0:
                self.default = _usual(encoded, owned, size)
                fixed = np.flatnonzero(self.group_of < 0)
                self.default[fixed] = encoded[[0]].toarray()[0, fixed]
            lots += self._cells_of(encoded, row, owned, size)
        ids, col, val = map(np.concatenate, zip(*lots, strict=True))
        order = np.lexsort((col, ids))
        self.col, self.val = col[order], val[order]
        count = np.bincount(ids, minlength=values.n_observed)
        self.ptr = np.concatenate([[0], np.cumsum(count)])

    def _cells_of(self, encoded, row, owned, size):
        """Yield (value, column, cell) of the cells that are not the default."""
        first = self.space.values.offsets
        for g, columns in enumerate(owned):
            new = np.flatnonzero(row < size[g])
            if not len(columns) or not len(new):
                continue
            block = encoded[new][:, columns]
            plain = self.default[columns]
            if (plain == 0).all():
                block = sparse.coo_array(block)
                at, column, cell = block.row, block.col, block.data
            else:
                block = block.toarray()
                at, column = np.nonzero(_differs(block, plain))
                cell = block[at, column]
            yield first[g] + row[new[at]], columns[column], cell

    def _agrees(self, codes):
        """Tell whether tables give what the transformer gives, cell for cell."""
        space = self.space
        for turn in range(4):
            codes = codes[np.roll(np.arange(len(codes)), turn)]
            mixed = np.column_stack(
                [
                    np.roll(codes[:, j], 3 * int(space.group_of[j]))
                    for j in range(codes.shape[1])
                ]
            )
            for at in _chunks(len(mixed), self.n_encoded):
                truth = _dense(self.transform(space.decode(mixed[at])))
                rows = self._look_up(mixed[at])
                if rows is None or truth.shape != rows.shape:
                    return False
                if _differs(rows, truth).any():
                    return False
        return True

    def known_rows(self, x):
        """Return the encoded form of rows of codes, None if it cannot be looked up.

        It can where values were observed in fit, or are numbers on a straight line.
        """
        if any(column.kind == "fixed" for column in self.space.columns):
            return None
        return self._look_up(x)

    def _look_up(self, x):
        space, values = self.space, self.space.values
        out = np.tile(self.default, (len(x), 1))
        for g, j in enumerate(values.single):
            codes = x[:, [j] if j >= 0 else list(space.groups[g])]
            ids = self._find(g, codes)
            new = np.flatnonzero(ids < 0)
            if len(new):
                number = codes[new, 0]
                inside = (number >= space.low[j]) & (number <= space.high[j])
                group = np.full(len(new), g)
                if not (inside & self.lines.tell(group, number)).all():
                    return None
                rep, col, val = self.lines.cells(group, number)
                out[new[rep], col] = val
            old = np.flatnonzero(ids >= 0)
            rep, col, val = self.cells(ids[old])
            out[old[rep], col] = val
        return out

    def _find(self, group, codes):
        """Return the values with given codes of a group, -1 for others."""
        values = self.space.values
        if values.single[group] < 0:
            return values.find(group, codes)
        table, codes = values.table(group)[:, 0], codes[:, 0]
        at = np.minimum(np.searchsorted(table, codes), len(table) - 1)
        return np.where(table[at] == codes, at + values.offsets[group], -1)

    def cells(self, ids):
        """Return (position in `ids`, column, cell) of all cells of observed values."""
        start = self.ptr[ids]
        count = self.ptr[ids + 1] - start
        rep = np.repeat(np.arange(len(ids)), count)
        first = np.cumsum(count) - count
        at = start[rep] + np.arange(len(rep)) - first[rep]
        return rep, self.col[at], self.val[at]


class EncodedQueries:
    """The queries of a problem in encoded form, and candidates as changed cells.

    Parameters
    ----------
    encoding : Encoding
    table : the queries in their own container
    x : ndarray of shape (n_queries, n_features)
        Their codes.
    values : Values
    """

    def __init__(self, encoding, table, x, values):
        self.encoding, self.values = encoding, values
        rows = encoding.known_rows(x)
        if rows is None:
            rows = _dense(encoding.transform(table)).astype(np.float64)
        self.rows = rows
        n_groups = len(values.single)
        differs = _differs(self.rows, encoding.default)
        row, col = np.nonzero(differs)
        group = encoding.group_of[col]
        mine = group >= 0
        row, col, group = row[mine], col[mine], group[mine]
        key = row * n_groups + group
        order = np.argsort(key, kind="stable")
        self._own_col = col[order]
        count = np.bincount(key, minlength=len(self.rows) * n_groups)
        self._own_ptr = np.concatenate([[0], np.cumsum(count)])
        tables = encoding.ptr, encoding.col, encoding.val
        self._tables = tuple(map(Growing, tables))

    def cells(self, cands):
        """Return (ptr, col, val): the encoded cells in which candidates differ."""
        values = self.values
        n_known = len(self._tables[0].array) - 1
        if len(values.group) > n_known:
            self._tabulate(np.arange(n_known, len(values.group)))
        return changed_cells(
            np.ascontiguousarray(cands.row),
            cands.value,
            values.group,
            (self._own_ptr, self._own_col, len(values.single)),
            self.encoding.default,
            tuple(table.array for table in self._tables),
        )

    def _tabulate(self, ids):
        """Put the cells of values that were not observed behind the others."""
        lots = []
        for cells, at in self._others(ids):
            rep, col, val = cells(ids[at])
            lots.append((at[rep], col, val))
        owner, col, val = map(np.concatenate, zip(*lots, strict=True))
        order = np.argsort(owner, kind="stable")
        count = np.bincount(owner, minlength=len(ids))
        end = self._tables[0].array[-1] + np.cumsum(count)
        for table, new in zip(self._tables, (end, col[order], val[order]), strict=True):
            table.extend(new)

    def _others(self, ids):
        """Yield (function that gives the cells, positions) of values not observed."""
        group, codes = self.values.group[ids], self.values.code_of(ids)
        line = self.encoding.lines.tell(group, codes)
        for cells, some in ((self._on_lines, line), (self._between, ~line)):
            if some.any():
                yield cells, np.flatnonzero(some)

    def _on_lines(self, ids):
        """Return the cells of numbers that are encoded by a straight line."""
        group = self.values.group[ids]
        return self.encoding.lines.cells(group, self.values.code_of(ids))

    def _between(self, ids):
        """Return the cells of values that were not observed, encoded in one batch."""
        known, at = np.unique(ids, return_inverse=True)
        space, values = self.encoding.space, self.values
        codes = _some_rows(space, 1)[np.zeros(len(known), dtype=np.intp)]
        group = values.group[known]
        codes[np.arange(len(known)), values.single[group]] = values.code_of(known)
        encoded = _dense(self.encoding.transform(space.decode(codes)))
        owner, col = np.nonzero(self.encoding.group_of[None, :] == group[:, None])
        count = np.bincount(owner, minlength=len(known))
        start = np.cumsum(count) - count
        rep = np.repeat(np.arange(len(ids)), count[at])
        first = np.cumsum(count[at]) - count[at]
        place = start[at][rep] + np.arange(len(rep)) - first[rep]
        return rep, col[place], encoded[owner[place], col[place]]


def _owners(transform, space, codes):
    """Return the group that moves each encoded column, None if two move one."""
    size = np.maximum(np.diff(space.values.offsets), N_TRIAL)
    width = _dense(transform(space.decode(codes[:2]))).shape[1]
    moves = np.zeros((len(space.groups), width), dtype=bool)
    for at in _chunks(len(codes), width):
        base = _dense(transform(space.decode(codes[at])))
        for g, members in enumerate(space.groups):
            if at[0] >= size[g]:
                continue  # all its values were seen in earlier rows
            members, moved = list(members), codes[at]
            moved[:, members] = codes[at - 1][:, members]
            after = _dense(transform(space.decode(moved)))
            moves[g] |= _differs(after, base).any(axis=0)
        if (moves.sum(axis=0) > 1).any():
            return None
    return np.where(moves.any(axis=0), moves.argmax(axis=0), -1)


def _chunks(n, width):
    """Yield positions of as many encoded rows as may be held at once."""
    size = int(np.clip(MOST_CELLS // max(width, 1), 2, CHUNK))
    for begin in range(0, n, size):
        yield np.arange(begin, min(begin + size, n))


def _n_trial(space):
    """Return how many rows show every category and enough of the numbers."""
    size = np.diff(space.values.offsets)
    single = space.values.single
    number = (single >= 0) & space.numeric[single]
    return int(max(min(size.max(), N_TRIAL), size[~number].max(initial=1), 2))


def _some_rows(space, n):
    """Return rows of codes that show different values of every group."""
    out = np.empty((n, space.n_features))
    for g, members in enumerate(space.groups):
        table = space.values.table(g)
        # Ends and middle come early: a clipping or binning step shows there.
        at = np.linspace(0, len(table) - 1, min(n, len(table))).round().astype(np.intp)
        out[:, list(members)] = table[np.resize(at, n)]
    return out


def _usual(encoded, owned, size):
    """Return what most values of a group leave in each encoded column."""
    default = np.zeros(encoded.shape[1])
    for g, columns in enumerate(owned):
        n = min(int(size[g]), encoded.shape[0])
        for column in columns:
            cells = encoded[:n, [column]]
            if cells.nnz * 2 <= n:
                continue
            known, count = np.unique(cells.toarray(), return_counts=True)
            default[column] = known[count.argmax()]
    return np.nan_to_num(default)


def _dense(rows):
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise TypeError("the encoded rows are not a matrix of numbers")
    return rows


def _differs(a, b):
    return ~((a == b) | (np.isnan(a) & np.isnan(b)))
