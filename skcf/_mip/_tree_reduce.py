"""What is left of a problem once dead values and leaves are taken out."""

from dataclasses import replace

import numpy as np

from skcf._mip._cells import Leaves


def compact(cells, alive, live, merge=True):
    """Return the Cells of the alive values and live leaves, and which values they are.

    Values that no leaf tells apart become one, with the cheapest of them to stand for
    it, except where a rule between groups reads them, or not `merge`. Trees with one
    leaf left become constants.
    """
    trees = cells.leaves
    kept = _kept_leaves(trees, live)
    base = cells.base + kept.constant
    coupled = {g for groups, _ in cells.couplings for g in groups}
    offsets, origin, masks = [0], [], [None] * len(kept.side)
    for g in range(len(cells.groups)):
        begin, end = cells.offsets[g : g + 2]
        values = np.flatnonzero(alive[begin:end])
        mine = np.flatnonzero(trees.group[kept.side] == g)
        at = trees.begin[kept.side[mine]][:, None] + values
        table = trees.mask[at]
        first = begin + values
        if g in coupled or not merge:
            chosen = np.arange(len(values))
        else:
            chosen = _distinct(table, first == cells.home[g], cells, first)
        table = table[:, chosen]
        for i, row in zip(mine, table, strict=True):
            masks[i] = row
        origin.append(first[chosen])
        offsets.append(offsets[-1] + len(chosen))
    origin = np.concatenate(origin)
    place = np.full(len(alive) + 1, -1)
    place[origin] = np.arange(len(origin))
    return replace(
        cells,
        offsets=np.array(offsets, dtype=np.int64),
        code=cells.code[origin],
        low=cells.low[origin],
        high=cells.high[origin],
        cost=cells.cost[origin],
        peak=cells.peak[origin],
        home=np.where(cells.home < 0, -1, place[cells.home]),
        base=base,
        leaves=_rebuilt(trees, kept, masks),
        couplings=tuple(
            (groups, _sub_table(table, groups, cells.offsets, origin))
            for groups, table in cells.couplings
        ),
    ), origin


class _kept_leaves:
    """The live leaves of trees with several of them, and what the others add."""

    def __init__(self, trees, live):
        count = np.bincount(trees.tree[live], minlength=trees.tree.max(initial=-1) + 1)
        alone = live & (count[trees.tree] == 1)
        self.constant = trees.weight[alone].sum(axis=0)
        self.leaf = np.flatnonzero(live & ~alone)
        size = trees.first[self.leaf + 1] - trees.first[self.leaf]
        self.owner = np.repeat(np.arange(len(self.leaf)), size)
        start = np.cumsum(size) - size
        self.side = (
            trees.first[self.leaf][self.owner]
            + np.arange(len(self.owner))
            - start[self.owner]
        )


def _distinct(table, home, cells, ids):
    """Return the positions of the values to keep of those that leaves tell apart."""
    bits = np.packbits(table, axis=0).T
    order = np.lexsort((cells.peak[ids], cells.cost[ids], ~home))
    best = {}
    for i in order:
        best.setdefault(bits[i].tobytes(), i)
    return np.array(sorted(best.values()), dtype=np.intp)


def _rebuilt(trees, kept, masks):
    """Return the kept leaves with their new masks; what holds for all values goes."""
    size = np.array([len(m) for m in masks], dtype=np.int64)
    inner = np.array([not m.all() for m in masks], dtype=bool)
    owner = kept.owner[inner]
    begin = np.cumsum(np.where(inner, size, 0)) - size
    _, tree = np.unique(trees.tree[kept.leaf], return_inverse=True)
    some = [m for m, used in zip(masks, inner, strict=True) if used]
    return Leaves(
        tree=tree.astype(np.int32),
        weight=np.ascontiguousarray(trees.weight[kept.leaf]),
        first=np.searchsorted(owner, np.arange(len(kept.leaf) + 1)),
        group=trees.group[kept.side[inner]],
        begin=begin[inner],
        mask=np.concatenate(some) if some else np.zeros(0, dtype=bool),
    )


def _sub_table(table, groups, offsets, origin):
    """Return the part of a coupling's table for the values that are left."""
    at = []
    for g in groups:
        mine = origin[(origin >= offsets[g]) & (origin < offsets[g + 1])]
        at.append(mine - offsets[g])
    return np.ascontiguousarray(table[np.ix_(*at)])
