"""The search once over on a tiny problem, so that compiled code is there in time."""

from functools import cache

import numpy as np

from skcf._mip._cells import Cells, Leaves
from skcf._mip._tree_branch import TreeSearch
from skcf._mip._tree_kernels import fix
from skcf._mip._tree_lp import Relaxation


@cache
def warm_up():
    """Compile the loops of the search, or load them, once in a process.

    Else the first query of all would wait for it, whatever its time limit.
    """
    cells = _tiny()
    decide = _yes
    search = TreeSearch(cells, np.array([True, False]), (), decide)
    search.climb()
    search.run()
    relaxation = Relaxation(cells, (), search.ordered)
    alive, live = np.ones(4, dtype=bool), np.ones(4, dtype=bool)
    for dual in relaxation.solve(alive, live, 10.0):
        lower, theta, lowest, value = relaxation.lower(dual, alive, live)
        tree = cells.leaves.tree
        fix(cells.offsets, theta, lower, 10.0, lowest, value, tree, alive, live)


def _yes(codes, score):
    return True


def _tiny():
    """Return two groups of two values, both of which have to leave home."""
    value = np.arange(4.0)
    return Cells(
        x=np.zeros(2),
        groups=((0,), (1,)),
        offsets=np.array([0, 2, 4]),
        code=value[:, None],
        low=value,
        high=value,
        cost=np.array([0.0, 1.0, 0.0, 1.0]),
        peak=np.zeros(4),
        linf=0.0,
        home=np.array([0, 2]),
        leaves=Leaves(
            tree=np.array([0, 0, 1, 1], dtype=np.int32),
            weight=np.array([[0.0], [1.0], [0.0], [1.0]]),
            first=np.arange(5),
            group=np.array([0, 0, 1, 1], dtype=np.int32),
            begin=np.array([0, 2, 0, 2]),
            mask=np.array([True, False, False, True]),
        ),
        base=np.zeros(1),
        need=np.array([1.5]),
        sure=np.array([1.5]),
    )
