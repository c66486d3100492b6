"""Compiled loops over candidates."""

import numpy as np

from skcf._jit import jit

PAD = -1
NONE, ONE = np.uint64(0), np.uint64(1)
SEED = np.uint64(0x9E3779B97F4A7C15)
PLACE = np.uint64(0xD6E8FEB86659FD93)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
LONG, MIDDLE, SHORT = np.uint64(31), np.uint64(30), np.uint64(27)


@jit
def mixed(state):
    """Return well-mixed 64 bits of 64 bits."""
    state = state + SEED
    state = (state ^ (state >> MIDDLE)) * FIRST
    state = (state ^ (state >> SHORT)) * SECOND
    return state ^ (state >> LONG)


@jit
def hash_values(value, mark):
    """Return 64 bits for the marks of the values of each candidate."""
    out = np.full(len(value), SEED)
    for i in range(len(value)):
        for s in range(value.shape[1]):
            if value[i, s] != PAD:
                out[i] = mixed(out[i] ^ mark[value[i, s]])
    return out


@jit
def key_values(row, value, mark):
    """Return 64 bits for the query and the marks of the values of each candidate."""
    out = np.full(len(value), SEED)
    for i in range(len(value)):
        for s in range(value.shape[1]):
            if value[i, s] != PAD:
                out[i] = mixed(out[i] ^ mark[value[i, s]])
        out[i] ^= np.uint64(row[i]) * PLACE
    return out


@jit
def count_changes(value):
    """Return the number of values of each candidate."""
    out = np.zeros(len(value), np.int64)
    for i in range(len(value)):
        for s in range(value.shape[1]):
            out[i] += value[i, s] != PAD
    return out


@jit
def spot(table, key):
    """Return where a key is in a table of a power of two, or where it would go."""
    last = np.uint64(len(table) - 1)
    at = key & last
    while table[at] != NONE and table[at] != key:
        at = (at + ONE) & last
    return at


@jit
def numbered(keys):
    """Return the number of each key, equal for equal keys, in order from 0 on."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    table, number = np.zeros(size, np.uint64), np.empty(size, np.int64)
    out = np.empty(len(keys), np.int64)
    n = 0
    for i in range(len(keys)):
        key = keys[i] if keys[i] != NONE else ONE
        at = spot(table, key)
        if table[at] == NONE:
            table[at], number[at] = key, n
            n += 1
        out[i] = number[at]
    return out


@jit
def groups_of(value, group, n_groups):
    """Return the group of every value, `n_groups` for padding."""
    out = np.empty(value.shape, np.int64)
    for i in range(len(value)):
        for s in range(value.shape[1]):
            v = value[i, s]
            out[i, s] = n_groups if v == PAD else group[v]
    return out


@jit
def put_values(value, ids, group):
    """Return the values with one more each, in place of that of its group, tidy.

    A padding as the one more leaves a candidate with what it has.
    """
    n, width = value.shape
    wide = np.empty((n, width + 1), np.int64)
    most = 0
    for i in range(n):
        new, count = ids[i], 0
        for s in range(width):
            v = value[i, s]
            if v != PAD and (new == PAD or group[v] != group[new]):
                wide[i, count] = v
                count += 1
        if new != PAD:
            wide[i, count] = new
            count += 1
        _sort(wide[i], count, group)
        wide[i, count:] = PAD
        most = max(most, count)
    return wide[:, :most].copy()


@jit
def drop_values(value, mask, group):
    """Return the values without those at `mask`, tidy."""
    n, width = value.shape
    wide = np.empty((n, width), np.int64)
    most = 0
    for i in range(n):
        count = 0
        for s in range(width):
            if value[i, s] != PAD and not mask[i, s]:
                wide[i, count] = value[i, s]
                count += 1
        _sort(wide[i], count, group)
        wide[i, count:] = PAD
        most = max(most, count)
    return wide[:, :most].copy()


@jit
def _sort(line, count, group):
    """Sort the first values of a candidate by group, in place and stable."""
    for s in range(1, count):
        v, t = line[s], s
        while t > 0 and group[line[t - 1]] > group[v]:
            line[t] = line[t - 1]
            t -= 1
        line[t] = v


@jit
def _before(one, two):
    """Tell whether a row comes before another; NaN comes last."""
    for k in range(len(one)):
        a, b = one[k], two[k]
        if a != b and (a == a or b == b):
            return a < b or b != b
    return False


@jit
def find_rows(table, rows):
    """Return the positions of rows in a sorted table, -1 for others.

    A row with a missing value is in no table.
    """
    out = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        low, high = 0, len(table)
        while low < high:
            middle = (low + high) // 2
            if _before(table[middle], rows[i]):
                low = middle + 1
            else:
                high = middle
        same = low < len(table)
        for k in range(table.shape[1]):
            same = same and table[low, k] == rows[i, k]
        out[i] = low if same else PAD
    return out
