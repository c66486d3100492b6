"""Compiled: the encoded cells in which candidates differ from their queries."""

import numpy as np

from skcf._jit import jit
from skcf._space import PAD


@jit
def _write(line, cells, n, column, cell):
    """Put a cell into a line sorted by column; a later one replaces an earlier one."""
    t = n
    while t > 0 and line[t - 1] > column:
        t -= 1
    if t > 0 and line[t - 1] == column:
        cells[t - 1] = cell
        return n
    for s in range(n, t, -1):
        line[s], cells[s] = line[s - 1], cells[s - 1]
    line[t], cells[t] = column, cell
    return n + 1


@jit
def _source(v, tables, beyond):
    """Return (begin, end, whether it was observed) of the cells that a value writes."""
    ids, start = beyond[0], beyond[1]
    if v < len(tables[0]) - 1:
        return tables[0][v], tables[0][v + 1], True
    at = np.searchsorted(ids, v)
    return start[at], start[at + 1], False


@jit
def changed_cells(row, value, group, own, default, tables, beyond):
    """Return (ptr, col, val): the cells of each candidate, sorted by column.

    What the query's own value of a changed group wrote goes back to the default, then
    comes what the new value writes.

    Parameters
    ----------
    row, value : what `Candidates` holds
    group : ndarray
        The group of each value.
    own : (ptr, col, n_groups)
        Query i has cells ``ptr[i * n_groups + g : ...]`` of group g off the default.
    default : ndarray of shape (n_encoded,)
    tables : (ptr, col, val) of the observed values
    beyond : (values, ptr, col, val) of the others that occur, sorted
    """
    own_ptr, own_col, n_groups = own
    n = len(row)
    room = np.zeros(n + 1, np.int64)
    for i in range(n):
        for s in range(value.shape[1]):
            v = value[i, s]
            if v != PAD:
                key = row[i] * n_groups + group[v]
                begin, end, _ = _source(v, tables, beyond)
                room[i + 1] += own_ptr[key + 1] - own_ptr[key] + end - begin
        room[i + 1] += room[i]
    col, val = np.empty(room[n], np.int64), np.empty(room[n])
    ptr = np.zeros(n + 1, np.int64)
    for i in range(n):
        size, at = 0, ptr[i]
        line, cells = col[at:], val[at:]
        for s in range(value.shape[1]):
            v = value[i, s]
            if v == PAD:
                continue
            key = row[i] * n_groups + group[v]
            for c in range(own_ptr[key], own_ptr[key + 1]):
                size = _write(line, cells, size, own_col[c], default[own_col[c]])
            begin, end, observed = _source(v, tables, beyond)
            for c in range(begin, end):
                if observed:
                    size = _write(line, cells, size, tables[1][c], tables[2][c])
                else:
                    size = _write(line, cells, size, beyond[2][c], beyond[3][c])
        ptr[i + 1] = at + size
    return ptr, col[: ptr[n]].copy(), val[: ptr[n]].copy()
