"""What is left of the cells of a query that is not to cost more than so much."""

import numpy as np

from skcf._mip._tree_branch import TreeSearch
from skcf._mip._tree_kernels import fix
from skcf._mip._tree_lp import Relaxation
from skcf._mip._tree_reduce import compact


def cells_below(cells, ordered, top):
    """Return the Cells that points of at most a cost may have, None if there are none.

    A cell is taken out only if whatever lies in it costs too much, so what is left
    holds for points that do not stand for their cells, too.

    Parameters
    ----------
    cells : Cells
    ordered : bool ndarray of shape (n_groups,)
        Whether the values of a group are intervals in order.
    top : float
    """
    if not (cells.need < np.inf).all():
        return None
    top = top * (1 + 1e-9) + 1e-9
    for turn in range(2):
        search = TreeSearch(cells, ordered, (), None)
        search.ceiling = top
        alive, live = search.alive.copy(), search.live.copy()
        arrays = search.arrays
        if not search._tighten(arrays, cells, alive, live):
            return None
        if turn == 1 and not _fixed(search, cells, ordered, top, alive, live):
            return None
        cells, _ = compact(cells, alive, live, merge=False)
    return cells


def _fixed(search, cells, ordered, top, alive, live):
    """Take out what reduced costs forbid, in place; return whether a point is left."""
    relaxation = Relaxation(cells, cells.limits, ordered)
    for dual in relaxation.solve(alive, live, top):
        changed = True
        while changed:
            lower, theta, lowest, value = relaxation.lower(dual, alive, live)
            if lower > top:
                return False
            changed = fix(
                cells.offsets,
                theta,
                lower,
                top,
                lowest,
                value,
                cells.leaves.tree,
                alive,
                live,
            )
            if changed and not search._tighten(search.arrays, cells, alive, live):
                return False
    return True
