"""Leaves of a tree ensemble as boxes in the values of a feature space."""

import numpy as np
from scipy import sparse

from skcf._mip._lattice import Cuts, Lattice
from skcf._model._trees import ZERO


class Boxes:
    """The values that trees tell apart, and which of them lead to each leaf.

    Parameters
    ----------
    view : View
        Of an ensemble of trees.
    space : FeatureSpace
    low, high : ndarray of shape (n_features,)
        The range of possible numbers.
    trees : FlatTrees, default=None
        Those of the view if None; more of them may stand behind.

    Attributes
    ----------
    tables : list of ndarray of shape (n_values, n_members)
        A code of every value, by group.
    low, high : list of ndarray of shape (n_values,)
        The ends of the intervals of numbers; None for other groups.
    lattices : dict of column position to Lattice
    nodes : list of ndarray
        The inner nodes that test a group.
    left : list of bool ndarray of shape (n_nodes, n_values)
        Which values go left at these nodes.
    leaf : ndarray of shape (n_leaves,)
        Their nodes, tree after tree.
    tree : ndarray of shape (n_leaves,)
    sides : list of (leaf, first, node, went left) by group
        The tests on the way to a leaf: those of side ``s`` stand from ``first[s]`` on.
    """

    def __init__(self, view, space, low, high, trees=None):
        self.trees = view.kernel if trees is None else trees
        self.encoding, self.space = view.encoding, space
        self._default = np.empty(space.n_features)
        for g, members in enumerate(space.groups):
            table = space.values.table(g)
            self._default[list(members)] = table[len(table) // 2]
        self._learn_values(low, high)
        self._learn_nodes()
        self._learn_leaves()

    # -- encoding -------------------------------------------------------------------

    def encode(self, codes):
        """Return encoded rows as the trees round them."""
        return self._rounded(self.encoding.transform(self.space.decode(codes)))

    def encode_table(self, table):
        """Return the encoded rows of a table as the trees see them."""
        return self.trees.cast(self._rounded(self.encoding.transform(table)))

    def _rounded(self, rows):
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        rows = rows.astype(np.float64)
        if self.trees.precision == "float32":
            with np.errstate(over="ignore"):
                rows = rows.astype(np.float32).astype(np.float64)
        return rows

    # -- values ---------------------------------------------------------------------

    def _learn_values(self, low, high):
        space = self.space
        numbers = [
            (g, members[0])
            for g, members in enumerate(space.groups)
            if len(members) == 1 and space.numeric[members[0]]
        ]
        self.lattices = {
            j: Lattice(space.columns[j], low[j], high[j])
            for _, j in numbers
            if len(space.columns[j].domain)
        }
        edges = {j: self._edges(g) for g, j in numbers if j in self.lattices}
        cuts = Cuts(self.encode, self._default).intervals(self.lattices, edges)
        n = len(space.groups)
        self.tables, self.low, self.high = [None] * n, [None] * n, [None] * n
        for g, j in numbers:
            first, last = cuts.get(j, (np.empty(0, int), np.empty(0, int)))
            if j in self.lattices:
                first, last = (self.lattices[j].value(k) for k in (first, last))
            self.low[g], self.high[g] = first.astype(float), last.astype(float)
            self.tables[g] = self.low[g][:, None]
        values = space.values
        for g in range(n):
            if self.tables[g] is None:
                seen = values.weight[values.offsets[g] : values.offsets[g + 1]] > 0
                self.tables[g] = values.table(g)[seen]

    def _edges(self, g):
        """Return the encoded columns of a group with the numbers they are cut at."""
        trees, out = self.trees, []
        for e in np.flatnonzero(self.encoding.group_of == g):
            at = trees.feature == e
            marks = trees.threshold[at & (trees.category < 0)]
            for begin in np.unique(trees.category[at & (trees.category >= 0)]):
                codes = np.arange((int(trees.bits[begin]) >> 1) + 1.0)
                marks = np.append(marks, np.nextafter(codes, -np.inf))
            if not len(marks):
                continue
            if not np.isnan(trees.missing):
                edge = np.nextafter(trees.missing - ZERO, -np.inf)
                marks = np.append(marks, [edge, trees.missing + ZERO])
            out.append((int(e), np.unique(marks)))
        return out

    # -- nodes and leaves -----------------------------------------------------------

    def _learn_nodes(self):
        trees, space = self.trees, self.space
        inner = np.flatnonzero(trees.feature >= 0)
        group = self.encoding.group_of[trees.feature[inner]]
        self.nodes, self.left = [], []
        for g, members in enumerate(space.groups):
            nodes, table = inner[group == g], self.tables[g]
            codes = np.tile(self._default, (len(table), 1))
            codes[:, list(members)] = table
            rows = trees.cast(self.encode(codes)) if len(table) else codes
            left = np.zeros((len(nodes), len(table)), dtype=bool)
            for i, row in enumerate(rows):
                left[:, i] = trees._goes_left_numpy(nodes, row[trees.feature[nodes]])
            self.nodes.append(nodes)
            self.left.append(left)
        self.group_of_node = np.full(len(trees.feature), -1)
        self.place = np.zeros(len(trees.feature), dtype=np.intp)
        for g, nodes in enumerate(self.nodes):
            self.group_of_node[nodes] = g
            self.place[nodes] = np.arange(len(nodes))
        self.inner = inner

    def _learn_leaves(self):
        """List every leaf, and the tests on the way to it by group."""
        trees = self.trees
        row = trees.cast(self.encode(self._default[None, :]))[0]
        settled = trees._goes_left_numpy(self.inner, row[trees.feature[self.inner]])
        settled = dict(zip(self.inner.tolist(), settled.tolist(), strict=True))
        leaf, tree, steps = [], [], []
        for t, root in enumerate(trees.root.tolist()):
            stack = [(root, ())]
            while stack:
                at, path = stack.pop()
                if trees.feature[at] < 0:
                    steps += [(len(leaf), *step) for step in path]
                    leaf.append(at)
                    tree.append(t)
                    continue
                left, right = int(trees.left[at]), int(trees.right[at])
                g = int(self.group_of_node[at])
                if g < 0:
                    # A column that is the same in all rows.
                    stack.append((left if settled[at] else right, path))
                    continue
                stack.append((right, (*path, (g, at, False))))
                stack.append((left, (*path, (g, at, True))))
        self.leaf = np.array(leaf, dtype=np.intp)
        self.tree = np.array(tree, dtype=np.int32)
        steps = np.array(steps, dtype=np.int64).reshape(-1, 4)
        self.sides = []
        for g in range(len(self.space.groups)):
            mine = steps[steps[:, 1] == g]
            first = np.flatnonzero(np.diff(mine[:, 0], prepend=-1))
            went = mine[:, 3] != 0
            self.sides.append((mine[first, 0], first, mine[:, 2], went))

    def masks(self, g, left):
        """Return for each side of a group which values are in it.

        `left` says which values, along its second axis, go left at the group's nodes.
        """
        _, first, node, went = self.sides[g]
        if not len(first):
            return np.zeros((0, left.shape[1]), dtype=bool)
        agrees = left[self.place[node]] == went[:, None]
        return np.logical_and.reduceat(agrees, first, axis=0)

    @property
    def slots(self):
        """The first score that each leaf adds to."""
        return self.trees.slot[self.tree]

    @property
    def values(self):
        """What each leaf adds, float64 of shape (n_leaves, n_values)."""
        return self.trees.value[self.leaf]
