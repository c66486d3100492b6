"""Compiled: the rows that tie leaves to values in the linear relaxation."""

import numpy as np

from skcf._jit import jit


@jit
def _propose(side, ordered, first, out):
    """Write one of the two sets that belong to a leaf's set of values.

    For an interval of ordered values all up to its end, or from its beginning on; else
    the set itself, or the rest.
    """
    low, high, count = len(side), 0, 0
    for a in range(len(side)):
        if side[a]:
            low = min(low, a)
            high = a + 1
            count += 1
    for a in range(len(side)):
        if ordered and count == high - low:
            out[a] = a < high if first else a >= low
        else:
            out[a] = side[a] == first


@jit
def _is_new(sets, n_sets):
    """Return whether the set behind the first ones is another one, and not all."""
    new = sets[n_sets]
    if new.all():
        return False
    for z in range(n_sets):
        if (sets[z] == new).all():
            return False
    return True


@jit
def split_rows(leaves, side_leaf, order, pair_first, pair_group, offsets, ordered):
    r"""Return the rows "leaves within a set of values weigh at most what the set does".

    For a tree and a group they are, for each interval of values of a leaf, all up to
    its end and all from its beginning on; of another set, the set and the rest.

    Returns
    -------
    n_rows : int
    leaf_row, leaf : entries of leaves
    value_row, value_pair, value : which values are in the set of a row
    """
    begin, mask = leaves[4], leaves[5]
    leaf_row, leaf = [0], [0]
    value_row, value_pair, value = [0], [0], [0]
    n_rows = 0
    for p in range(len(pair_group)):
        g = pair_group[p]
        n = offsets[g + 1] - offsets[g]
        k = pair_first[p + 1] - pair_first[p]
        sets = np.zeros((2 * k, n), np.bool_)
        n_sets = 0
        for i in range(pair_first[p], pair_first[p + 1]):
            side = mask[begin[order[i]] : begin[order[i]] + n]
            for turn in range(2):
                _propose(side, ordered[g], turn == 0, sets[n_sets])
                if _is_new(sets, n_sets):
                    n_sets += 1
        for z in range(n_sets):
            some = False
            for i in range(pair_first[p], pair_first[p + 1]):
                s = order[i]
                within = True
                for a in range(n):
                    if mask[begin[s] + a] and not sets[z, a]:
                        within = False
                        break
                if within:
                    leaf_row.append(n_rows)
                    leaf.append(side_leaf[s])
                    some = True
            if some:
                for a in range(n):
                    if sets[z, a]:
                        value_row.append(n_rows)
                        value_pair.append(p)
                        value.append(a)
                n_rows += 1
    return (
        n_rows,
        np.array(leaf_row)[1:],
        np.array(leaf)[1:],
        np.array(value_row)[1:],
        np.array(value_pair)[1:],
        np.array(value)[1:],
    )
