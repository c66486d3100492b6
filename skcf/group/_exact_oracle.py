"""Which rows one change can flip, asked of an exact solver of the model."""

import numpy as np

from skcf._mip._queries import verdict
from skcf._model import Goal


class ExactOracle:
    """Shared changes of rows under a model that an exact solver can search.

    Rows that agree on all features but some become one point when these are set, so a
    cluster has a shared change if there is a point in the target that changes at most
    `most` features: those on which the rows differ at no further charge, every other
    one for one. What was asked is remembered by the features that are free, the
    values of the rest and the values that all rows may take.

    A subclass implements `_search`.

    Parameters
    ----------
    problem : Problem
    rows : ndarray of int
        The queries of the group.
    menu : Menu
    goal : Goal
        Of one row, which all share.
    most : int

    Attributes
    ----------
    sure : bool
        Whether no answer was cut off by time.
    points : list of ndarray of shape (n_features,)
        The points in the target that were found, in numbers of values.
    """

    # An answer takes a search of the model.
    quick = False

    def __init__(self, problem, rows, menu, goal, most):
        self.problem, self.rows, self.menu = problem, rows, menu
        self.goal, self.most, self.sure = goal, most, True
        self.points, self._known = [], {}

    def alike(self, rows, pattern):
        """Tell whether a change that flips one row of a cluster flips all of them."""
        allowed = self.menu.allowed
        return not self.menu.must[rows].any() and all(
            (ok[rows] == ok[rows[0]]).all() for ok in allowed
        )

    def serve(self, points, rows, differ):
        """Return for which rows a change that includes `differ` leads to a point.

        Parameters
        ----------
        points : list of ndarray of shape (n_features,)
        rows : ndarray of int of shape (n_pairs,)
        differ : ndarray of bool of shape (n_pairs, n_features)
        """
        served = np.zeros(len(rows), dtype=bool)
        for point in points:
            changed = differ | (self.menu.own[rows] != point)
            served |= changed.sum(axis=1) <= self.most
        return served

    def alone(self, rows, differ):
        """Return which rows can be flipped alone by changes that include `differ`."""
        return np.array([self.lawful((i,), differ) for i in rows], dtype=bool)

    def lawful(self, rows, differ):
        """Tell whether some shared change flips all of some rows."""
        return self._asked(rows, differ, None) is not None

    def cheapest(self, rows, differ, costs, seconds=None):
        """Return the shared change of least total cost, value numbers or -1."""
        rows = np.asarray(rows, dtype=np.intp)
        if seconds is None or seconds > 0:
            change = self._asked(rows, differ, costs)
            if change is not None:
                return change
        # The time is up: a point that was found before will do.
        own, allowed = self.menu.own, self.menu.allowed
        forced = differ | self.menu.must[rows].any(axis=0)
        for point in self.points:
            put = forced | (own[rows] != point).any(axis=0)
            if put.sum() <= self.most and all(
                allowed[g][rows, point[g]].all() for g in np.flatnonzero(put)
            ):
                return np.where(put, point, -1)
        return None

    def _asked(self, rows, differ, costs):
        rows = np.asarray(rows, dtype=np.intp)
        menu = self.menu
        forced = differ | menu.must[rows].any(axis=0)
        if forced.sum() > self.most:
            return None
        own = menu.own[rows[0]]
        allowed = [ok[rows].all(axis=0) for ok in menu.allowed]
        for g in np.flatnonzero(~forced):
            if forced.sum() == self.most:
                # No room for more changes.
                allowed[g] = np.arange(len(allowed[g])) == own[g]
        if any(not ok.any() for ok in allowed):
            return None
        key = None
        if costs is None:
            packed = b"".join(np.packbits(ok).tobytes() for ok in allowed)
            key = forced.tobytes(), own[~forced].tobytes(), packed
            if key in self._known:
                return self._known[key]
        change = self._changed(rows[0], allowed, forced, costs)
        if key is not None:
            self._known[key] = change
        return change

    def _changed(self, row, allowed, forced, costs):
        """Return the change to values that are allowed, None where there is none."""
        own = self.menu.own[row]
        choice = [np.flatnonzero(ok) for ok in allowed]
        price = [
            np.zeros(len(c)) if costs is None else costs[g][c]
            for g, c in enumerate(choice)
        ]
        if costs is not None:
            for g in np.flatnonzero(~forced):
                price[g] = np.where(choice[g] == own[g], 0.0, price[g])
        home = np.array(
            [
                np.append(np.flatnonzero(c == own[g]), -1)[0]
                for g, c in enumerate(choice)
            ]
        )
        room = self.most - int(forced.sum())
        taken = self._search(row, choice, price, home, ~forced, room)
        if taken is None:
            return None
        change = np.array([c[t] for c, t in zip(choice, taken, strict=True)])
        self.points.append(change)
        return np.where(forced | (change != own), change, -1)

    def _search(self, row, choice, price, home, charged, room):
        """Return the position of the value of each feature, None if there is no point.

        Parameters
        ----------
        row : int
            The point has the values of this row where its own are taken.
        choice : list of ndarray of int
            The numbers of the values that each feature may take.
        price : list of ndarray
            What they cost.
        home : ndarray of int
            The position of the row's own value in `choice`, -1 for none.
        charged : ndarray of bool of shape (n_features,)
            Of these features at most `room` may change.
        room : int
        """
        raise NotImplementedError

    def accept(self, row):
        """Return a function that asks the model about rows of codes."""
        problem, goal = self.problem, self.goal
        model, at = problem.model, self.rows[row]

        def accepted(codes):
            who, many = np.full(len(codes), at), np.zeros(len(codes), dtype=np.intp)
            table = problem.space.decode(codes, problem.table, who)
            return verdict(model, table, problem.meter)(goal.take(many))

        return accepted


def wanted_goals(model, goal):
    """Yield (rows, goal of one row) for every outcome that some rows may go to."""
    if model.regression:
        ends = np.column_stack([goal.low, goal.high])
        for one in np.unique(ends, axis=0):
            rows = np.flatnonzero((ends == one).all(axis=1))
            yield rows, goal.take(rows[:1])
        return
    for c in range(len(model.classes_)):
        rows = np.flatnonzero((goal.label == c) != goal.opposite)
        if len(rows):
            no = np.array([False])
            yield rows, Goal(np.array([c]), no, nu=goal.nu)
