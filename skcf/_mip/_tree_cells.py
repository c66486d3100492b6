"""The finite problem of a query over a tree ensemble, its rules filled in."""

from math import prod

import numpy as np

from skcf._mip._cells import Cells, Leaves
from skcf.constraints._bind import Compare, Differs, Listed, cells_of, holds, leaves
from skcf.constraints._edges import turning_points

# A rule between groups is tabulated if it has at most so many combinations of values.
MAX_TABLE = 2_000_000
# Numbers that a comparison of several columns reads are taken one by one.
MAX_POINTS = 600


class CellMaker:
    """Makes the cells of queries from the boxes of an ensemble.

    Parameters
    ----------
    boxes : Boxes
    rules : RuleSet
    cost : BoundCost
    """

    def __init__(self, boxes, rules, cost):
        self.boxes, self.rules, self.cost = boxes, rules, cost
        self.space = boxes.space
        self.tables, self.open = [], []
        points = set()
        for part in rules.joint:
            numbers = self._compared(part)
            if self._fits(part, points | numbers):
                points |= numbers
                self.tables.append(part)
            else:
                self.open.append(part)
        self._points = {self._column(g) for g in points}
        self._cut = {g for part in self.tables for g in part.groups}
        self._order_sides()

    # -- rules between groups -------------------------------------------------------

    def _compared(self, part):
        """Return the numeric groups that one comparison reads beside other groups."""
        out = set()
        for leaf in leaves(part.node):
            groups = {
                int(self.space.group_of[j]) for t, j in cells_of(leaf) if t == "cf"
            }
            if len(groups) > 1:
                out |= {g for g in groups if self._column(g) is not None}
        return out

    def _fits(self, part, points):
        sizes = []
        for g in part.groups:
            j = self._column(g)
            if g in points:
                size = self._range_size(j)
                if size > MAX_POINTS:
                    return False
            else:
                size = len(self.boxes.tables[g]) + 16
            sizes.append(size)
        return prod(sizes) <= MAX_TABLE

    def _range_size(self, j):
        lattice = self.boxes.lattices.get(j)
        return 0 if lattice is None else lattice.size

    def _column(self, g):
        """Return the numeric column of a group, None where it has none."""
        members = self.space.groups[g]
        number = len(members) == 1 and self.space.numeric[members[0]]
        return members[0] if number else None

    def _couplings(self, x, code, offsets, lifted):
        """Return which combinations of values the rules between groups allow."""
        out = []
        for part in self.tables:
            if part.rule == lifted:
                continue
            axis = {}
            for i, g in enumerate(part.groups):
                for m, j in enumerate(self.space.groups[g]):
                    values = code[offsets[g] : offsets[g + 1], m]
                    shape = [1] * len(part.groups)
                    shape[i] = len(values)
                    axis[j] = values.reshape(shape)

            def get(table, j, axis=axis):
                return axis[j] if table == "cf" else x[j]

            sizes = [offsets[g + 1] - offsets[g] for g in part.groups]
            allowed = np.broadcast_to(holds(part.node, get), sizes)
            out.append((part.groups, np.ascontiguousarray(allowed)))
        return tuple(out)

    # -- values ---------------------------------------------------------------------

    def _order_sides(self):
        """Sort the sides of all leaves, leaf after leaf."""
        boxes = self.boxes
        leaf = np.concatenate([s[0] for s in boxes.sides])
        group = np.repeat(np.arange(len(boxes.sides)), [len(s[0]) for s in boxes.sides])
        self._order = np.argsort(leaf, kind="stable")
        self._first = np.searchsorted(leaf[self._order], np.arange(len(boxes.leaf) + 1))
        self._group = group[self._order].astype(np.int32)
        self._masks = [boxes.masks(g, left) for g, left in enumerate(boxes.left)]

    def make(self, x, encoded, rows, lifted=-1):
        """Return the Cells of one query.

        Parameters
        ----------
        x : ndarray of shape (n_features,)
        encoded : ndarray of shape (n_encoded,)
            The query as the trees see it.
        rows : Rows
        lifted : int
            The position of a rule that does not count.
        """
        boxes = self.boxes
        left_x = np.zeros(len(boxes.trees.feature), dtype=bool)
        tested = encoded[boxes.trees.feature[boxes.inner]]
        left_x[boxes.inner] = boxes.trees._goes_left_numpy(boxes.inner, tested)
        parts = [self._group_values(g, x, left_x, lifted) for g in range(self._n)]
        sizes = [len(p["code"]) for p in parts]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        width = max(map(len, self.space.groups))
        code = np.full((offsets[-1], width), np.nan)
        for g, part in enumerate(parts):
            code[offsets[g] : offsets[g + 1], : part["code"].shape[1]] = part["code"]
        home = np.array(
            [
                -1 if p["home"] < 0 else p["home"] + begin
                for p, begin in zip(parts, offsets[:-1], strict=True)
            ]
        )
        joined = {
            name: np.concatenate([p[name] for p in parts])
            for name in ("low", "high", "cost", "peak")
        }
        limit = int(self.rules.limit(1, np.array([lifted]))[0])
        whole = np.ones(self._n, dtype=bool)
        return Cells(
            x=x,
            groups=tuple(self.space.groups),
            offsets=offsets,
            code=code,
            linf=self.cost.cost.linf,
            home=home,
            leaves=self._leaves([p["masks"] for p in parts], rows.weight),
            base=rows.base,
            need=rows.need,
            sure=rows.sure,
            limits=((whole, limit),) if limit < self._n else (),
            couplings=self._couplings(x, code, offsets, lifted),
            open_parts=tuple(p for p in self.open if p.rule != lifted),
            **joined,
        )

    @property
    def _n(self):
        return len(self.space.groups)

    def _leaves(self, masks, weight):
        count = np.concatenate([[0], np.cumsum([m.size for m in masks])])
        place = np.concatenate(
            [
                begin + np.arange(len(m), dtype=np.int64) * m.shape[1]
                for m, begin in zip(masks, count, strict=False)
            ]
        )
        return Leaves(
            tree=self.boxes.tree,
            weight=np.ascontiguousarray(weight),
            first=self._first,
            group=self._group,
            begin=place[self._order],
            mask=np.concatenate([m.ravel() for m in masks]),
        )

    def _group_values(self, g, x, left_x, lifted):
        """Return the values of a group for one query."""
        boxes, members = self.boxes, list(self.space.groups[g])
        j = self._column(g)
        own = x[members]
        here = left_x[boxes.nodes[g]]
        if j is None:
            cell = np.arange(len(boxes.tables[g]))
            code = boxes.tables[g]
            low = high = np.full(len(code), np.nan)
            at = np.flatnonzero(_same(code, own).all(axis=1))
        else:
            cell, low, high = self._intervals(g, j, x, lifted)
            at = self._own_cell(g, cell, low, high, own[0], here)
            code = self._nearest(g, j, x, low, high, at, lifted)
        passed = self._passes(g, x, code, lifted)
        masks = self._masks[g]
        if len(cell) != masks.shape[1]:
            masks = masks[:, cell]
        if not len(at):
            # The query's own value is none of those that can be proposed.
            here = here[:, None]
            masks = np.hstack([masks, boxes.masks(g, here)])
            code = np.vstack([code, own[None, :]])
            low, high = np.append(low, own[0]), np.append(high, own[0])
            passed = np.append(passed, self._passes(g, x, own[None, :], lifted))
            at = np.array([len(code) - 1])
        cost, peak = self._costs(g, own, code)
        mine = _same(code[at[0]], own).all() and passed[at[0]]
        return {
            "code": code,
            "low": low,
            "high": high,
            "cost": np.where(passed, cost, np.inf),
            "peak": np.where(passed, peak, np.inf),
            "home": int(at[0]) if mine else -1,
            "masks": masks,
        }

    def _own_cell(self, g, cell, low, high, own, here):
        """Return the position of the interval of the query's own number, if any."""
        if np.isnan(own) or not len(low):
            return np.empty(0, dtype=np.intp)
        left = self.boxes.left[g]
        after = int(np.searchsorted(low, own, side="right"))
        for at in (after - 1, after):
            if 0 <= at < len(low) and (left[:, cell[at]] == here).all():
                if g not in self._cut or low[at] <= own <= high[at]:
                    return np.array([at])
        return np.empty(0, dtype=np.intp)

    def _intervals(self, g, j, x, lifted):
        """Return (cell, low, high) of the intervals of a number.

        Where rules between groups read the number, the cells are cut at the points
        where these rules turn over.
        """
        boxes = self.boxes
        low, high = boxes.low[g], boxes.high[g]
        cell = np.arange(len(low))
        if g not in self._cut or not len(low):
            return cell, low, high
        lattice = boxes.lattices[j]
        if j in self._points:
            k = np.arange(lattice.first, lattice.last + 1)
            points = lattice.value(k)
            return np.searchsorted(low, points, side="right") - 1, points, points
        marks = [x[j]]
        for part in self.tables:
            if g in part.groups and part.rule != lifted:
                marks += turns_of(part.node, j, x)
        marks = np.array([m for m in marks if np.isfinite(m)])
        k = lattice.position(np.clip(marks, low[0], high[-1]))
        k = np.unique(np.concatenate([k - 1, k, k + 1]))
        k = k[(k >= lattice.first) & (k <= lattice.last)]
        starts = np.concatenate([lattice.position(low), k, k + 1])
        starts = np.unique(starts[starts <= lattice.last])
        ends = np.append(starts[1:] - 1, lattice.last)
        begin = lattice.value(starts)
        return np.searchsorted(low, begin, side="right") - 1, begin, lattice.value(ends)

    def _nearest(self, g, j, x, low, high, at, lifted):
        """Return the cheapest number of each interval that the rules on it allow."""
        column, own = self.space.columns[j], x[j]
        if not len(low):
            return np.empty((0, 1))
        base = own
        if np.isnan(own):
            base = column.domain[len(column.domain) // 2]
        code = np.clip(base, low, high)
        code[at] = np.where(np.isnan(own), code[at], own)
        parts = self._filters(g, lifted)
        if not parts:
            return code[:, None]
        marks = [own, *(m for p in parts for m in turns_of(p.node, j, x))]
        marks = column.beside(np.array([m for m in marks if np.isfinite(m)])).ravel()
        points = np.column_stack(
            [code, low, high, *(np.full(len(low), m) for m in marks)]
        )
        outside = (points < low[:, None]) | (points > high[:, None])
        outside[:, 0] = False
        ok = ~outside & self._passes(g, x, points[..., None], lifted)
        _, price = self.cost.cells(j, own, points)
        size = np.abs(points - base)
        price, size = np.where(ok, price, np.inf), np.where(ok, size, np.inf)
        best = np.lexsort((size, price), axis=1)[:, 0]
        return points[np.arange(len(low)), best][:, None]

    def _filters(self, g, lifted):
        parts = self.rules.filters.get(g, ())
        return [part for part in parts if part.rule != lifted]

    def _passes(self, g, x, codes, lifted):
        """Return which values of a group, members last, pass its own rules."""
        place = {j: m for m, j in enumerate(self.space.groups[g])}

        def get(table, j):
            return codes[..., place[j]] if table == "cf" else x[j]

        ok = np.ones(codes.shape[:-1], dtype=bool)
        for part in self._filters(g, lifted):
            ok &= holds(part.node, get)
        return ok

    def _costs(self, g, own, code):
        """Return the separable cost of each value, and its largest difference."""
        members = list(self.space.groups[g])
        bound, c = self.cost, self.cost.cost
        d, gauge = bound.cells(np.array(members), own[None, :], code)
        d, gauge = d.max(axis=1, initial=0.0), gauge.max(axis=1, initial=0.0)
        weight = bound.weight[g]
        total = weight * (c.l0 * (d > 0) + c.l1 * gauge + c.l2 * gauge**2)
        return total / bound.divisor, weight * gauge


def turns_of(node, j, x):
    """Return the numbers at which clauses about one column alone may turn over."""
    out = []
    for leaf in leaves(node):
        if isinstance(leaf, (Compare, Differs, Listed)):
            cells = {k for table, k in cells_of(leaf) if table == "cf"}
            if cells == {j}:
                out += [float(m) for m in turning_points(leaf, j, lambda _, k: x[k])]
    return out


def _same(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))
