"""The encoded cells in which candidates differ from their queries."""

import numpy as np

from skcf._jit import jit
from skcf._space import PAD


@jit
def changed_cells(row, value, group, own, default, tables):
    """Return (ptr, col, val): the cells of each candidate, value after value.

    What the query's own value of a changed group wrote goes back to the default, but
    where the new value writes another cell.

    Parameters
    ----------
    row, value : what `Candidates` holds
    group : ndarray
        The group of each value; no two groups write to one column.
    own : (ptr, col, n_groups)
        Query i has cells ``ptr[i * n_groups + g : ...]`` of group g off the default,
        sorted by column.
    default : ndarray of shape (n_encoded,)
    tables : (ptr, col, val)
        Value v writes the cells ``ptr[v] : ptr[v + 1]``, sorted by column.
    """
    own_ptr, own_col, n_groups = own
    first, to, cell = tables
    n, room = len(row), 0
    for i in range(n):
        for s in range(value.shape[1]):
            v = value[i, s]
            if v != PAD:
                key = row[i] * n_groups + group[v]
                room += own_ptr[key + 1] - own_ptr[key] + first[v + 1] - first[v]
    col, val = np.empty(room, np.int64), np.empty(room)
    ptr, size = np.zeros(n + 1, np.int64), 0
    for i in range(n):
        for s in range(value.shape[1]):
            v = value[i, s]
            if v == PAD:
                continue
            key = row[i] * n_groups + group[v]
            old, end = own_ptr[key], own_ptr[key + 1]
            for c in range(first[v], first[v + 1]):
                while old < end and own_col[old] < to[c]:
                    col[size], val[size] = own_col[old], default[own_col[old]]
                    old, size = old + 1, size + 1
                old += old < end and own_col[old] == to[c]
                col[size], val[size] = to[c], cell[c]
                size += 1
            for c in range(old, end):
                col[size], val[size] = own_col[c], default[own_col[c]]
                size += 1
        ptr[i + 1] = size
    return ptr, col[:size], val[:size]


@jit
def first_sums(first, rows, weight, row, ptr, col, val):
    """Return the sums of affine scores for candidates, from those of their rows.

    Parameters
    ----------
    first : ndarray of shape (n_rows, n_out)
        The sums of the rows themselves.
    rows : ndarray of shape (n_rows, n_in)
    weight : ndarray of shape (n_in, n_out)
    row, ptr, col, val : the candidates as changed cells
    """
    out = np.zeros((len(row), weight.shape[1]))
    for i in range(len(row)):
        line, own = out[i], rows[row[i]]
        for c in range(ptr[i], ptr[i + 1]):
            step, along = val[c] - own[col[c]], weight[col[c]]
            for j in range(len(along)):
                line[j] += step * along[j]
        line += first[row[i]]
    return out
