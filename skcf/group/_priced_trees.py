"""The cheapest way of one row where every feature has a price, over trees."""

from dataclasses import dataclass, replace

import numpy as np

from skcf._mip._tree_branch import TreeSearch

NEAR = 1e-9
# How many of the points found before a new search begins with.
N_STARTS = 3


@dataclass(frozen=True, eq=False)
class Way:
    """A counterfactual of a row.

    Attributes
    ----------
    codes : ndarray of shape (n_features,)
    changed : ndarray of bool of shape (n_groups,)
    paid : float
        Its weighted cost, without the prices of what is changed.
    """

    codes: np.ndarray
    changed: np.ndarray
    paid: float

    def total(self, price):
        """Return what it costs with the prices of what it changes."""
        return self.paid + float(price[self.changed].sum())

    def fits(self, allowed):
        """Tell whether it changes no more than some features."""
        return not (self.changed & ~allowed).any()


class PricedTrees:
    """Searches counterfactuals of one row at prices of the features that change.

    Parameters
    ----------
    solver : TreeSolver
    x, encoded : ndarray of shape (n_features,) and (n_encoded,)
    goal : Goal
        Of this row.
    weight : float
        How much its cost counts.
    accept : callable
        Takes rows of codes, returns which ones the model accepts.
    strict : bool, default=False
        Whether `accept` is asked about every point.

    Attributes
    ----------
    ceiling : float
        No way costs more, prices left aside.
    """

    def __init__(self, solver, x, encoded, goal, weight, accept, strict=False):
        self.weight, self.ordered = weight, solver.ordered
        self.accept, self.strict = accept, strict
        self.cells = [
            solver.maker.make(x, encoded, rows)
            for rows in solver.rows.alternatives(goal)
        ]
        self.ceiling = max((self._most(cells) for cells in self.cells), default=0.0)
        self._points = [[] for _ in self.cells]
        self._known = []

    def _most(self, cells):
        possible = np.isfinite(cells.cost)
        most = np.maximum.reduceat(
            np.where(possible, cells.cost, 0.0), cells.offsets[:-1]
        )
        peak = np.where(possible, cells.peak, 0.0).max(initial=0.0)
        return self.weight * float(most.sum() + cells.linf * peak)

    def guess(self, price, allowed, deadline=None):
        """Return a good Way at some prices, None if none is found at once.

        The parameters are those of `best`.
        """
        searches = self._searches(price, allowed, deadline)
        found = [(s.cost, i) for i, s in enumerate(searches) if s.point is not None]
        return self._way(searches, min(found)[1]) if found else None

    def best(self, price, allowed, deadline=None):
        """Return (Way or None, bound) of the least total at some prices.

        Parameters
        ----------
        price : ndarray of shape (n_groups,)
        allowed : ndarray of bool of shape (n_groups,)
            What may change.
        deadline : float, default=None
        """
        for known in self._known:
            if known.answers(price, allowed):
                return known.way, known.value
        floor = self.floor(price, allowed)
        if np.isposinf(floor):
            return None, floor
        searches = self._searches(price, allowed, deadline)
        top, chosen, bound, done = np.inf, None, np.inf, True
        for i in np.argsort([s.cost for s in searches], kind="stable"):
            search = searches[i].run(top)
            done &= search.done
            bound = min(bound, search.cost if search.done else search.bound)
            if search.point is not None and search.cost < top:
                top, chosen = search.cost, i
        way = None if chosen is None else self._way(searches, chosen)
        bound = max(floor, min(bound, top))
        if done:
            self._known.append(_Known(price, allowed, way, bound))
        return way, bound

    def floor(self, price, allowed):
        """Return what earlier searches prove that no way falls below."""
        return max((k.bound(price, allowed) for k in self._known), default=0.0)

    def _searches(self, price, allowed, deadline):
        """Return a search for each alternative of the target, with a first point."""
        out = []
        for cells, points in zip(self.cells, self._points, strict=True):
            group = np.repeat(np.arange(len(cells.groups)), np.diff(cells.offsets))
            own = np.zeros(len(cells.cost), dtype=bool)
            own[cells.home[cells.home >= 0]] = True
            possible = np.isfinite(cells.cost) & (own | allowed[group])
            cost = self.weight * np.where(possible, cells.cost, 0.0)
            cost = np.where(own, cost, cost + price[group])
            cost[~possible] = np.inf
            priced = replace(cells, cost=cost, linf=self.weight * cells.linf)
            search = TreeSearch(priced, self.ordered, (), self._decide(cells), deadline)
            starts = [p for p in points[-N_STARTS:] if possible[p].all()]
            search.climb(starts)
            out.append(search)
        return out

    def _decide(self, cells):
        def decide(codes, score):
            if (score >= cells.sure).all() and not self.strict:
                return True
            return bool(self.accept(codes[None, :])[0])

        return decide

    def _way(self, searches, i):
        cells, point = self.cells[i], searches[i].point
        self._points[i].append(point)
        paid = self.weight * cells.cost_of(point)
        return Way(cells.point(point), point != cells.home, paid)


@dataclass(frozen=True, eq=False)
class _Known:
    """What an exact search said at some prices of what was allowed."""

    price: np.ndarray
    allowed: np.ndarray
    way: Way | None
    value: float

    def answers(self, price, allowed):
        """Tell whether its way is also the best at other prices.

        It is where nothing became cheaper and what it changes costs the same.
        """
        way = self.way
        if way is None or (allowed & ~self.allowed).any() or not way.fits(allowed):
            return False
        dearer = (price >= self.price - NEAR)[allowed].all()
        return bool(dearer) and np.abs(price - self.price)[way.changed].sum() <= NEAR

    def bound(self, price, allowed):
        """Return what no way falls below at other prices."""
        if (allowed & ~self.allowed).any():
            return 0.0
        return self.value - np.maximum(self.price - price, 0.0)[allowed].sum()
