"""The linear relaxation of one query over trees, kept warm from node to node."""

import numpy as np
from scipy import sparse

from skcf._mip._highs import new_highs
from skcf._mip._tree_kernels import bound
from skcf._mip._tree_splits import split_rows

# Costs are brought to this size, far above the solver's tolerance of 1e-9.
SIZE = 100.0


class Relaxation:
    """The linear program over shares of values and leaves, and bounds from its duals.

    Of each group a point takes one value and in each tree it is in one leaf. Here both
    may be split into shares: the steps ``mu`` say how much of a group is at value ``a``
    or behind it, ``z`` how much of a tree is in a leaf. Any multipliers of its rows
    give a bound that holds, so nothing hangs on the solver's precision.

    Parameters
    ----------
    cells : Cells
    limits : sequence of (mask of groups, int)
    ordered : bool ndarray of shape (n_groups,)
        Whether the values of a group are intervals in order.
    """

    def __init__(self, cells, limits, ordered):
        self.cells, self.limits = cells, limits
        trees = cells.leaves
        self.leaves = (
            trees.tree,
            trees.weight,
            trees.first,
            trees.group,
            trees.begin,
            trees.mask,
        )
        self.n_leaves, self.n_groups = len(trees), len(cells.groups)
        self.size = np.diff(cells.offsets)
        self.group_of = np.repeat(np.arange(self.n_groups), self.size)
        self.rows_needed = np.flatnonzero(cells.need - cells.base > -1e300)
        self._pair_up()
        self._tie(ordered)
        self._build()

    # -- structure ------------------------------------------------------------------

    def _pair_up(self):
        """List the pairs of a tree and a group that it reads."""
        trees, offsets = self.cells.leaves, self.cells.offsets
        count = np.diff(trees.first)
        self.side_leaf = np.repeat(np.arange(self.n_leaves), count)
        key = trees.tree[self.side_leaf].astype(np.int64) * self.n_groups + trees.group
        pairs, side_pair = np.unique(key, return_inverse=True)
        self.pair_group = pairs % self.n_groups
        size = self.size[self.pair_group]
        self.pair_begin = np.cumsum(size) - size
        n_trees = int(trees.tree.max(initial=-1)) + 1
        first = np.searchsorted(pairs // self.n_groups, np.arange(n_trees + 1))
        self.pairs = first, self.pair_group, self.pair_begin
        self.side_price = self.pair_begin[side_pair]
        self.order = np.argsort(side_pair, kind="stable")
        self.side_first = np.searchsorted(
            side_pair[self.order], np.arange(len(pairs) + 1)
        )
        # Which value of the problem each price of a pair is for.
        n = int(size.sum())
        owner = np.repeat(np.arange(len(pairs)), size)
        within = np.arange(n) - self.pair_begin[owner]
        value = offsets[self.pair_group[owner]] + within
        ones = np.ones(n)
        self.paid = sparse.csr_array(
            (ones, (value, np.arange(n))), shape=(offsets[-1], n)
        )

    def _tie(self, ordered):
        """List the rows that tie leaves to values."""
        n, leaf_row, leaf, row, pair, value = split_rows(
            self.leaves,
            self.side_leaf,
            self.order,
            self.side_first,
            self.pair_group,
            self.cells.offsets,
            ordered,
        )
        self.n_ties = n
        price = self.pair_begin[pair] + value
        self.ties = sparse.csr_array(
            (np.ones(len(row)), (price, row)), shape=(self.paid.shape[1], n)
        )
        # A set of values is some runs; a run has the share mu_start - mu_end.
        group = self.pair_group[pair]
        start = np.ones(len(row), dtype=bool)
        start[1:] = (row[1:] != row[:-1]) | (value[1:] != value[:-1] + 1)
        end = np.append(start[1:], True) if len(row) else start
        self._runs = [
            (row[start], group[start], value[start], -1.0),
            (row[end], group[end], value[end] + 1, 1.0),
        ]
        self._tied = leaf_row, leaf

    # -- the program ----------------------------------------------------------------

    def _step_column(self, group, at):
        """Return the columns of mu; at 0 it is 1 and at the end 0, without a column."""
        return self.step_begin[group] + at - 1

    def _build(self):
        cells = self.cells
        self.step_begin = np.cumsum(self.size - 1) - (self.size - 1)
        n_steps = int((self.size - 1).sum())
        self.n_steps = n_steps
        n_columns = n_steps + self.n_leaves + (cells.linf > 0)
        row, column, value = [], [], []
        high = np.zeros(self.n_ties)
        leaf_row, leaf = self._tied
        row.append(leaf_row)
        column.append(n_steps + leaf)
        value.append(np.ones(len(leaf)))
        for r, g, at, sign in self._runs:
            np.add.at(high, r[at == 0], -sign)
            inner = (at > 0) & (at < self.size[g])
            row.append(r[inner])
            column.append(self._step_column(g, at)[inner])
            value.append(np.full(inner.sum(), sign))
        low = np.full(self.n_ties, -np.inf)
        blocks = [(low, high)]
        n = self.n_ties
        for block in (
            self._tree_rows(),
            self._value_rows(),
            self._score_rows(),
            self._limit_rows(),
            self._peak_rows(n_columns - 1),
        ):
            r, c, v, low, high = block
            row.append(r + n)
            column.append(c)
            value.append(v)
            blocks.append((low, high))
            n += len(low)
        matrix = sparse.csc_array(
            (np.concatenate(value), (np.concatenate(row), np.concatenate(column))),
            shape=(n, n_columns),
        )
        ends = [np.concatenate(side) for side in zip(*blocks, strict=True)]
        sizes = [len(low) for low, _ in blocks]
        self.at = np.cumsum([0, *sizes])
        self.scale = SIZE / max(float(cells.cost.max(initial=0.0)), 1e-12)
        cost = np.zeros(n_columns)
        inner = np.ones(len(cells.cost), dtype=bool)
        inner[cells.offsets[:-1]] = False
        step = np.diff(cells.cost, prepend=0.0)[inner]
        cost[:n_steps] = step * self.scale
        if cells.linf:
            cost[-1] = cells.linf * self.scale
        self.constant = float(cells.cost[cells.offsets[:-1]].sum()) * self.scale
        self._pass(matrix, *ends, cost)

    def _tree_rows(self):
        tree = self.cells.leaves.tree
        n = int(tree.max(initial=-1)) + 1
        ones = np.ones(n)
        return tree, self.n_steps + np.arange(len(tree)), np.ones(len(tree)), ones, ones

    def _value_rows(self):
        """Return the rows that the share of an inner value is not negative."""
        count = np.maximum(self.size - 2, 0)
        group = np.repeat(np.arange(self.n_groups), count)
        a = 1 + np.arange(len(group)) - np.repeat(np.cumsum(count) - count, count)
        self._inner = self.cells.offsets[group] + a
        r = np.arange(len(group))
        return (
            np.concatenate([r, r]),
            np.concatenate(
                [self._step_column(group, a), self._step_column(group, a + 1)]
            ),
            np.concatenate([np.ones(len(r)), -np.ones(len(r))]),
            np.zeros(len(r)),
            np.ones(len(r)),
        )

    def _score_rows(self):
        cells, some = self.cells, self.rows_needed
        weight = cells.leaves.weight[:, some]
        need = (cells.need - cells.base)[some]
        leaf, r = np.nonzero(weight)
        column = self.n_steps + leaf
        return r, column, weight[leaf, r], need, np.full(len(some), np.inf)

    def _limit_rows(self):
        """Return the rows that at most so many groups leave home."""
        rows = []
        high = []
        for i, (mask, k) in enumerate(self.limits):
            weight = self._away(mask)
            rows.append(self._over_values(i, weight))
            high.append(k - weight[self.cells.offsets[:-1]].sum())
        return _stacked(rows, np.full(len(high), -np.inf), np.array(high, dtype=float))

    def _away(self, mask):
        """Return 1 for the values of masked groups that are not home."""
        weight = mask[self.group_of].astype(np.float64)
        home = self.cells.home
        weight[home[home >= 0]] = 0.0
        return weight

    def _peak_rows(self, column):
        """Return the rows that the largest difference is at least that of a group."""
        cells = self.cells
        if not cells.linf:
            return _stacked([], np.zeros(0), np.zeros(0))
        rows, low = [], []
        for g in range(self.n_groups):
            weight = np.where(self.group_of == g, -cells.peak, 0.0)
            r, c, v = self._over_values(g, weight)
            rows.append((np.append(r, g), np.append(c, column), np.append(v, 1.0)))
            low.append(-weight[cells.offsets[g]])
        return _stacked(rows, np.array(low), np.full(len(low), np.inf))

    def _over_values(self, row, weight):
        """Return the entries of the sum of weights times shares of values.

        The constant, the weights of the first values, is left out.
        """
        inner = np.ones(len(weight), dtype=bool)
        inner[self.cells.offsets[:-1]] = False
        step = np.diff(weight, prepend=0.0)[inner]
        column = np.flatnonzero(step)
        return np.full(len(column), row), column, step[column]

    def _pass(self, matrix, low, high, cost):
        import highspy

        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = cost
        upper = np.ones(len(cost))
        if self.cells.linf:
            upper[-1] = np.inf
        lp.col_lower_, lp.col_upper_ = np.zeros(len(cost)), upper
        lp.row_lower_, lp.row_upper_ = low, high
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = matrix.indptr
        lp.a_matrix_.index_ = matrix.indices
        lp.a_matrix_.value_ = matrix.data
        self.highs = new_highs()
        for name, value in (
            ("presolve", "off"),
            ("dual_feasibility_tolerance", 1e-9),
        ):
            self.highs.setOptionValue(name, value)
        self.highs.passModel(lp)
        self._share = {}

    # -- solving --------------------------------------------------------------------

    def solve(self, alive, live, cutoff, seconds=None):
        """Return multipliers of the rows for the alive values and live leaves.

        They come in a list: none where the solver gave none, two to choose from where
        it only showed that there is no point.
        """
        import highspy

        highs, offsets = self.highs, self.cells.offsets
        lower = np.zeros(self.n_steps + self.n_leaves)
        upper = np.ones(len(lower))
        several = np.flatnonzero(self.size > 1)
        head, tail = offsets[:-1][several], offsets[1:][several] - 1
        lower[self.step_begin[several]] = ~alive[head]
        last = self.step_begin[several] + self.size[several] - 2
        upper[last] = np.minimum(upper[last], alive[tail])
        upper[self.n_steps :] = live
        index = np.arange(len(lower), dtype=np.int32)
        highs.changeColsBounds(len(index), index, lower, upper)
        rows = np.arange(self.at[2], self.at[3], dtype=np.int32)
        share = alive[self._inner].astype(np.float64)
        for r, top in zip(rows, share, strict=True):
            if top != self._share.get(r, 1.0):
                highs.changeRowBounds(int(r), 0.0, float(top))
                self._share[r] = top
        highs.setOptionValue("objective_bound", cutoff * self.scale - self.constant)
        if seconds is not None:
            highs.setOptionValue("time_limit", max(seconds, 0.01))
        highs.run()
        status = highs.getModelStatus()
        known = highspy.HighsModelStatus
        self.share = None
        if status == known.kInfeasible:
            return self._rays()
        if status not in (known.kOptimal, known.kObjectiveBound):
            return []
        solution = highs.getSolution()
        if not solution.dual_valid:
            return []
        if status == known.kOptimal:
            self.share = self._shares(np.array(solution.col_value[: self.n_steps]))
        return [np.array(solution.row_dual) / self.scale]

    def _shares(self, step):
        """Return the share of every value for given steps."""
        above = np.zeros(self.cells.offsets[-1])
        first = np.zeros(len(above), dtype=bool)
        first[self.cells.offsets[:-1]] = True
        above[first], above[~first] = 1.0, step
        after = np.append(above[1:], 0.0)
        after[self.cells.offsets[1:] - 1] = 0.0
        return above - after

    def _rays(self):
        """Return the multipliers that show that there is no point, of either sign."""
        _, there_is, ray = self.highs.getDualRay()
        if not there_is:
            return []
        ray = np.array(ray) * (1e6 / self.scale)
        return [ray, -ray]

    def lower(self, dual, alive, live):
        """Return the bound that multipliers give for some values and leaves.

        Returns
        -------
        lower : float
        theta : ndarray of shape (n_values,)
            Reduced costs of the values.
        lowest, value : ndarray of shape (n_trees,), (n_leaves,)
            Reduced costs of the leaves and the least of each tree.
        """
        cells, at = self.cells, self.at
        tie = np.maximum(-dual[: at[1]], 0.0)
        rho = np.zeros(len(cells.need))
        rho[self.rows_needed] = np.maximum(dual[at[3] : at[4]], 0.0)
        price = self.ties @ tie
        theta = cells.cost - self.paid @ price
        total = float(
            rho[self.rows_needed] @ (cells.need - cells.base)[self.rows_needed]
        )
        for (mask, k), y in zip(self.limits, dual[at[4] : at[5]], strict=True):
            theta += max(-y, 0.0) * self._away(mask)
            total -= max(-y, 0.0) * k
        if cells.linf:
            part = np.maximum(dual[at[5] : at[6]], 0.0)
            part *= min(1.0, cells.linf / max(part.sum(), 1e-300))
            theta += part[self.group_of] * cells.peak
        trees, lowest, value = bound(
            self.leaves,
            cells.offsets,
            self.side_price,
            price,
            self.pairs,
            rho,
            alive,
            live,
        )
        least = np.minimum.reduceat(np.where(alive, theta, np.inf), cells.offsets[:-1])
        return total + trees + float(least.sum()), theta, lowest, value


def _stacked(entries, low, high):
    """Return blocks of (row, column, value) as one, with the ends of the rows."""
    if not entries:
        none = np.empty(0, dtype=np.int64)
        return none, none, np.empty(0), low, high
    parts = [np.concatenate(part) for part in zip(*entries, strict=True)]
    return *parts, low, high
