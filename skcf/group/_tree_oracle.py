"""Which rows one change can flip in an ensemble of trees."""

from dataclasses import replace

import numpy as np

from skcf._mip._tree_cells import CellMaker
from skcf.group._exact_oracle import ExactOracle


class TreeOracle(ExactOracle):
    """Shared changes under an ensemble of trees; see `ExactOracle`.

    Parameters
    ----------
    solver : TreeSolver
    """

    def __init__(self, problem, rows, menu, goal, most, solver):
        super().__init__(problem, rows, menu, goal, most)
        self.solver = solver
        self.encoded = solver.encode(problem.table)[rows]
        boxes = solver.boxes
        self.masks = [boxes.masks(g, self._left(g)) for g in range(len(menu.codes))]
        # Values that no tree tells apart have the same number.
        self.kinds = [
            np.unique(mask, axis=1, return_inverse=True)[1].ravel()
            if len(mask)
            else np.zeros(mask.shape[1], dtype=np.intp)
            for mask in self.masks
        ]

    def _left(self, g):
        """Return at which nodes of a feature each of its values goes left."""
        menu, boxes = self.menu, self.solver.boxes
        nodes, trees = boxes.nodes[g], boxes.trees
        ids, own = menu.ids[g], menu.own[:, g]
        left = np.zeros((len(nodes), len(ids)), dtype=bool)
        seen = np.flatnonzero(ids >= 0)
        members = list(self.problem.space.groups[g])
        codes = np.tile(boxes._default, (len(seen), 1))
        codes[:, members] = menu.codes[g][seen]
        rows = trees.cast(boxes.encode(codes)) if len(seen) else codes
        for i, row in zip(seen, rows, strict=True):
            left[:, i] = trees._goes_left_numpy(nodes, row[trees.feature[nodes]])
        for i in np.flatnonzero(ids < 0):
            row = self.encoded[np.flatnonzero(own == i)[0]]
            left[:, i] = trees._goes_left_numpy(nodes, row[trees.feature[nodes]])
        return left

    def _search(self, row, choice, price, home, charged, room):
        if not any(p.any() for p in price):
            # Any point will do. The search is led by costs: few changes come first.
            price = [
                (np.arange(len(c)) != h).astype(np.float64)
                for c, h in zip(choice, home, strict=True)
            ]
        kept = [
            self._telling(g, c, p, h)
            for g, (c, p, h) in enumerate(zip(choice, price, home, strict=True))
        ]
        parts = [
            self._values(g, choice[g][k], price[g][k], home[g], k)
            for g, k in enumerate(kept)
        ]
        solver = self.solver
        maker = ListedCells(solver.boxes, solver.rules, solver.cost, parts)
        maker.limits = ((charged, room),) if room < charged.sum() else ()
        told = _with_maker(solver, maker).solve(
            self.problem.x[self.rows[row]],
            self.goal,
            encoded=self.encoded[row],
            deadline=self.problem.meter.deadline,
            accept=self.accept(row),
        )
        self.sure &= len(told) > 0 or told.status == "infeasible"
        if not len(told):
            return None
        taken = []
        for g, k in enumerate(kept):
            members = list(self.problem.space.groups[g])
            code = told.codes[0][members]
            mine = parts[g]["code"]
            same = (mine == code) | (np.isnan(mine) & np.isnan(code))
            taken.append(k[np.flatnonzero(same.all(axis=1))[0]])
        return taken

    def _telling(self, g, choice, price, home):
        """Return the positions of the cheapest values of those that trees confuse."""
        order = np.argsort(price, kind="stable")
        _, first = np.unique(self.kinds[g][choice[order]], return_index=True)
        kept = order[first]
        if home >= 0:
            kept = np.append(kept, home)
        kept = np.unique(kept)
        # In the order of their codes.
        return kept[np.lexsort(self.menu.codes[g][choice[kept]].T[::-1])]

    def _values(self, g, values, price, home, kept):
        """Return what a CellMaker makes of a group, for a list of its values."""
        code = self.menu.codes[g][values]
        at = np.flatnonzero(kept == home)
        return {
            "code": code,
            "low": code[:, 0],
            "high": code[:, 0],
            "cost": price,
            "peak": np.zeros(len(code)),
            "home": int(at[0]) if len(at) else -1,
            "masks": np.ascontiguousarray(self.masks[g][:, values]),
        }


class ListedCells(CellMaker):
    """Makes cells of values that are given."""

    limits = ()

    def __init__(self, boxes, rules, cost, parts):
        super().__init__(boxes, rules, cost)
        self.parts = parts

    def make(self, x, encoded, rows, lifted=-1):
        """Return the Cells of one query."""
        cells = super().make(x, encoded, rows, lifted)
        return replace(cells, linf=0.0, limits=self.limits)

    def _group_values(self, g, x, left_x, lifted):
        return self.parts[g]


def _with_maker(solver, maker):
    copy = object.__new__(type(solver))
    copy.__dict__.update(solver.__dict__, maker=maker)
    return copy
