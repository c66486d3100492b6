"""The finite problem of one query: values, their costs, and leaves as boxes of them."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of all trees as products of sets of values.

    A point, one value a group, is in leaf ``l`` if for each of the leaf's sides
    ``first[l] : first[l + 1]`` its value of `group` is in the side's set. The sets are
    masks over the values of the group, ``mask[begin[s] : begin[s] + n_values]``.

    Attributes
    ----------
    tree : int32 (n_leaves,)
        Sorted.
    weight : float64 (n_leaves, n_rows)
        What a leaf adds to each score row.
    first : int64 (n_leaves + 1,)
    group : int32 (n_sides,)
    begin : int64 (n_sides,)
    mask : bool (n_bytes,)
    """

    tree: np.ndarray
    weight: np.ndarray
    first: np.ndarray
    group: np.ndarray
    begin: np.ndarray
    mask: np.ndarray

    def __len__(self):
        return len(self.tree)


@dataclass(frozen=True, eq=False)
class Cells:
    """All that a search needs to know of one query.

    Variables are the groups of the space. The values of group ``g`` are numbered
    ``offsets[g] : offsets[g + 1]``. A value of a single numeric column is an interval
    [`low`, `high`] of the column's grid on which no tree changes its mind; any other
    value is a point. Each value is represented by its cheapest code that the rules
    on its group alone allow.

    Attributes
    ----------
    x : float64 (n_features,)
        Codes of the query.
    groups : tuple of tuples of column positions
    offsets : int64 (n_groups + 1,)
    code : float64 (n_values, widest group)
        Representative codes of the group's columns, filled up with NaN.
    low, high : float64 (n_values,)
        Ends of the interval of a numeric value; its code for any other value.
    cost : float64 (n_values,)
        The separable part of the cost, inf where the rules allow no code.
    peak : float64 (n_values,)
        What counts in the largest single difference; `linf` times the largest of these
        is the rest of the cost.
    linf : float
    home : int64 (n_groups,)
        The value that is the query's own, -1 where it is not allowed.
    leaves : Leaves
    base, need : float64 (n_rows,)
        A point can only be in the target if ``base`` plus the weights of its leaves is
        at least ``need`` in every row.
    sure : float64 (n_rows,)
        At least `need`; from here on it certainly is. In between the model decides.
    limits : tuple of (bool mask (n_groups,), int)
        Of the groups in the mask, at most so many are not at home.
    couplings : tuple of (groups, bool table)
        Which combinations of the values of some groups the rules allow.
    open_parts : tuple of Part
        Rules between groups that the values do not decide: their points do.
    """

    x: np.ndarray
    groups: tuple
    offsets: np.ndarray
    code: np.ndarray
    low: np.ndarray
    high: np.ndarray
    cost: np.ndarray
    peak: np.ndarray
    linf: float
    home: np.ndarray
    leaves: Leaves
    base: np.ndarray
    need: np.ndarray
    sure: np.ndarray
    limits: tuple = ()
    couplings: tuple = ()
    open_parts: tuple = ()

    def point(self, choice):
        """Return the row of codes of a choice of one value a group."""
        out = self.x.copy()
        for columns, value in zip(self.groups, choice, strict=True):
            out[list(columns)] = self.code[value, : len(columns)]
        return out

    def cost_of(self, choice):
        """Return the cost of a choice of one value a group."""
        choice = np.asarray(choice)
        total = float(self.cost[choice].sum())
        return total + self.linf * float(self.peak[choice].max(initial=0.0))
