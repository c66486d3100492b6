"""Tree ensembles as linear rows over the values of a query's cells.

Every leaf has a variable between 0 and 1, those of a tree sum to 1, and a leaf needs
the values that lead to it. On the cells of the thresholds the model is constant and
so is any cost that is a sum over features, so that no number appears.
"""

import numpy as np

from skcf._mip._pieces import Pieces, pieces_of


class CellPieces:
    """The values of every group as pieces, and the cell that each belongs to.

    Values that the rules on their group forbid are left out. Where rules compare
    numbers that are not tabulated, or numbers have effects on others, a number's cells
    are intervals, cut where these rules turn over; elsewhere each is its cheapest
    point.

    Parameters
    ----------
    cells : Cells
    rules : RuleSet
    lifted : int
    causal : tuple of column positions, default=()
        Numbers with effects.
    """

    def __init__(self, cells, rules, lifted, causal=()):
        self.cells = cells
        read = {g for part in cells.open_parts for g in part.groups}
        read |= {int(rules.space.group_of[j]) for j in causal}
        self.pieces, self.cell = [], []
        for g, columns in enumerate(cells.groups):
            begin, end = cells.offsets[g], cells.offsets[g + 1]
            single = len(columns) == 1 and rules.space.numeric[columns[0]]
            if g in read and single:
                pieces, cell = self._intervals(rules, g, lifted)
            else:
                pieces, cell = self._points(columns, begin, end, cells.home[g])
            self.pieces.append(pieces)
            self.cell.append(cell)

    def _points(self, columns, begin, end, home):
        cells = self.cells
        kept = np.flatnonzero(np.isfinite(cells.cost[begin:end])) + begin
        codes = cells.code[kept, : len(columns)]
        order = np.lexsort(codes.T[::-1])  # NaN comes last
        kept, codes = kept[order], codes[order]
        at = np.flatnonzero(kept == home)
        pieces = Pieces(columns, codes, codes, int(at[0]) if len(at) else -1)
        return pieces, kept - begin

    def _intervals(self, rules, g, lifted):
        """Cut the pieces of a number at the ends of its cells."""
        cells = self.cells
        begin, end = cells.offsets[g], cells.offsets[g + 1]
        whole = pieces_of(rules, cells.x, g, lifted)
        lows, highs, owner, home = [], [], [], -1
        for k, (low, high) in enumerate(
            zip(whole.low[:, 0], whole.high[:, 0], strict=True)
        ):
            if k == whole.home:
                cell = self._home_cell(begin, end, low)
                if cell is not None:
                    home = len(lows)
                    lows.append(low)
                    highs.append(high)
                    owner.append(cell)
                continue
            for v in range(begin, end):
                first, last = max(low, cells.low[v]), min(high, cells.high[v])
                if first <= last:
                    lows.append(first)
                    highs.append(last)
                    owner.append(v - begin)
        pieces = Pieces(
            whole.columns,
            np.array(lows).reshape(-1, 1),
            np.array(highs).reshape(-1, 1),
            home,
            whole.step,
        )
        return pieces, np.array(owner, dtype=np.intp)

    def _home_cell(self, begin, end, own):
        """Return the cell of the query's own number, None where that is left out."""
        code = self.cells.code[begin:end, 0]
        same = (code == own) | (np.isnan(code) & np.isnan(own))
        return int(np.argmax(same)) if same.any() else None

    def choice(self, program, values):
        """Return the chosen piece of every group."""
        return np.array([group.chosen(values) for group in program.groups])


def add_trees(program, cells, owner, slack=None):
    """Add the leaves of all trees and the score rows to a program.

    Parameters
    ----------
    program : Program
    cells : Cells
    owner : list of ndarray
        For each group the cell, counted within the group, of every piece.
    slack : list of variables, default=None
        For each score row one that is added to its score.

    Returns
    -------
    leaves : list of variables
        None for a leaf that no value leads to.

    References
    ----------
    .. [1] Misic, V. V. (2020). Optimization of Tree Ensembles. Operations Research,
       68(5), 1605-1624. doi:10.1287/opre.2019.1928
    """
    mip, leaves = program.mip, cells.leaves
    sides = _sides(cells, owner)
    alive = np.ones(len(leaves), dtype=bool)
    for leaf, _, mask in sides:
        alive[leaf] &= mask.any()
    z = [mip.variable("z", 0, 1) if ok else None for ok in alive]
    by_tree = np.split(np.arange(len(leaves)), np.flatnonzero(np.diff(leaves.tree)) + 1)
    for members in by_tree:
        mip.require(mip.total([(z[i], 1.0) for i in members if alive[i]]) == 1.0)
    grouped = {}
    for leaf, g, mask in sides:
        if alive[leaf] and not mask.all():
            grouped.setdefault((leaves.tree[leaf], g), []).append((leaf, mask))
    for (_, g), some in grouped.items():
        which = np.array([leaf for leaf, _ in some])
        masks = np.array([mask for _, mask in some])
        for leaf_set, piece_set in _covers(masks):
            inside = mip.total([(z[i], 1.0) for i in which[leaf_set]])
            mip.require(inside - program.groups[g].where(piece_set) <= 0)
    for r in range(len(cells.need)):
        terms = [(z[i], leaves.weight[i, r]) for i in np.flatnonzero(alive)]
        terms += [] if slack is None else [(slack[r], 1.0)]
        mip.require(mip.total(terms, cells.base[r]) >= float(cells.need[r]))
    return z


def _sides(cells, owner):
    """Return (leaf, group, mask over the pieces of the group) of every side."""
    leaves = cells.leaves
    size = np.diff(cells.offsets)
    leaf = np.repeat(np.arange(len(leaves)), np.diff(leaves.first))
    out = []
    for side, (i, g) in enumerate(zip(leaf, leaves.group, strict=True)):
        begin = leaves.begin[side]
        out.append((i, g, leaves.mask[begin : begin + size[g]][owner[g]]))
    return out


def _covers(masks):
    """Yield (leaves, pieces): these leaves of a tree need one of these pieces.

    Where all masks are runs of pieces, the sets are all beginnings and ends at which
    a run stops or starts; elsewhere the masks themselves. Each counts every leaf that
    fits into it, which makes the rows tight.
    """
    n = masks.shape[1]
    place = np.arange(n)
    first, last = masks.argmax(axis=1), n - 1 - masks[:, ::-1].argmax(axis=1)
    if (masks.sum(axis=1) == last - first + 1).all():
        for stop in np.unique(last[last < n - 1]):
            yield np.flatnonzero(last <= stop), place <= stop
        for start in np.unique(first[first > 0]):
            yield np.flatnonzero(first >= start), place >= start
        return
    for mask in np.unique(masks, axis=0):
        yield np.flatnonzero(~(masks & ~mask).any(axis=1)), mask


def leaf_weights(cells, cell):
    """Return the sum of the weights of the leaves that a choice of cells is in.

    Parameters
    ----------
    cells : Cells
    cell : ndarray of shape (n_groups,)
        The chosen cell of each group, counted within the group.
    """
    leaves = cells.leaves
    inside = leaves.mask[leaves.begin + cell[leaves.group]]
    edge = np.concatenate([[0], np.cumsum(~inside)])
    reached = edge[leaves.first[1:]] == edge[leaves.first[:-1]]
    return leaves.weight[reached].sum(axis=0)
