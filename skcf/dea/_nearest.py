"""The cheapest plan of a wanted efficiency: the best over all facets.

A plan has at least the efficiency E if one facet says so, and each facet says so on a
half-space. So the plans to choose from are a union of half-spaces, within the plans of
which the measure is finite, and each of them has its cheapest plan.
"""

import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from skcf.dea._coupled import UnprovedError, coupled_step, lazily
from skcf.dea._facets import NEGLIGIBLE
from skcf.dea._project import Task, cheapest_steps

CHUNK = 256
# Costs that differ by less are equal.
TIE = 1e-11
# With more columns, which of them change is left to the mixed-integer program.
MAX_FREE = 12


@dataclass(frozen=True)
class _Clock:
    """Raises UnprovedError after a deadline, by ``time.monotonic``."""

    deadline: float | None

    def check(self):
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise UnprovedError("The deadline has passed.")


@dataclass(frozen=True)
class Found:
    """A plan: its cost, the steps of the free columns, its facet and its room."""

    cost: float
    steps: np.ndarray
    facet: int
    room: int


@dataclass(frozen=True)
class Halfspaces:
    """Half-spaces of steps ``a.s >= need``, one for each of some facets.

    Attributes
    ----------
    facets : ndarray of shape (m,)
    a : ndarray of shape (m, n)
    need : ndarray of shape (m,)
    whole : ndarray of shape (m,)
        What the unit has in the denominator of the efficiency by each facet.
    growth : ndarray of shape (m, n)
        By how much steps add to it.
    """

    facets: np.ndarray
    a: np.ndarray
    need: np.ndarray
    whole: np.ndarray
    growth: np.ndarray

    def take(self, rows):
        """Return some of the half-spaces."""
        return Halfspaces(
            *(
                getattr(self, name)[rows]
                for name in ("facets", "a", "need", "whole", "growth")
            )
        )

    def real(self, steps):
        """Tell which steps lead to a plan with an efficiency, not to 0 by 0.

        Plans next to one without it have any efficiency, but none of them is the
        cheapest.
        """
        after = self.whole + np.einsum("ij,ij->i", self.growth, steps)
        return after > NEGLIGIBLE * np.maximum(np.abs(self.whole), NEGLIGIBLE)


@dataclass(frozen=True)
class Room:
    """Where the steps of one query may go: a box, and rows ``rows @ s <= at_most``."""

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray
    at_most: np.ndarray

    def within(self, rows, at_most):
        """Return the room with more rows; those of one column narrow the box."""
        low, high = self.low.copy(), self.high.copy()
        single = (rows != 0).sum(axis=1) == 1
        for row, bound in zip(rows[single], at_most[single], strict=True):
            j = np.flatnonzero(row)[0]
            if row[j] > 0:
                high[j] = min(high[j], bound / row[j])
            else:
                low[j] = max(low[j], bound / row[j])
        several = (rows != 0).sum(axis=1) > 1
        return Room(
            low,
            high,
            np.vstack([self.rows, rows[several]]),
            np.r_[self.at_most, at_most[several]],
        )


class Nearest:
    """The search over the facets of a technology.

    Parameters
    ----------
    technology : Technology
        With facets.
    free : ndarray of bool of shape (n_inputs + n_outputs,)
        The columns of plans that may change.
    measure : {"input", "output"}
    """

    def __init__(self, technology, free, measure):
        self.technology, self.free, self.measure = technology, free, measure
        u, v, w = technology.prices()
        self.prices = np.hstack([u, v])
        self.u, self.v, self.w = u, v, w
        some_u, some_v = u.max(axis=1) > 0, v.max(axis=1) > 0
        if measure == "input":
            self.idle, never = ~some_u, ~some_v & (w <= 0)
        else:
            self.idle, never = ~some_v, ~some_u & (w >= 0)
            self.idle = self.idle | never
        # Facets whose ratio can be positive and finite.
        self.effective = ~self.idle & ~never
        self.inputs_free = bool(free[technology.is_input].any())
        self.outputs_free = bool(free[~technology.is_input].any())

    def _ratio(self, plan):
        """Return (part, whole, masks of those above 0): efficiency is part / whole."""
        x, y = self.technology.split(plan)
        paid, earned = self.u @ x, self.v @ y
        # Sums of amounts are 0 only if all are; differences are 0 up to rounding.
        if self.measure == "input":
            part, whole = earned + self.w, paid
            return part, whole, part > NEGLIGIBLE * (earned + np.abs(self.w)), paid > 0
        part, whole = earned, paid - self.w
        return part, whole, earned > 0, whole > NEGLIGIBLE * (paid + np.abs(self.w))

    def halfspaces(self, plan, wanted):
        """Return the half-spaces of plans that are efficient enough."""
        part, whole, shows, takes = self._ratio(plan)
        sign = np.where(self.technology.is_input, -wanted, 1.0)
        a = (self.prices * sign)[:, self.free]
        usable = self.effective & (a != 0).any(axis=1)
        if not self.outputs_free:
            # With nothing to show for its inputs, a plan has no efficiency.
            usable &= shows
        if not self.inputs_free:
            usable &= takes
        at = np.flatnonzero(usable)
        growth = np.where(self.technology.is_input, self.prices, 0.0)[:, self.free]
        return Halfspaces(at, a[at], (wanted * whole - part)[at], whole[at], growth[at])

    def domain(self, plan):
        """Return rows ``rows @ s <= at_most`` within which the measure is finite."""
        part, whole, shows, takes = self._ratio(plan)
        idle = self.idle
        if not self.inputs_free:
            # At these prices the inputs do for no more outputs.
            idle = idle | ~takes
        elif not self.outputs_free and self.measure == "output":
            idle = idle | ~shows
        sign = np.where(self.technology.is_input, -1.0, 1.0)
        rows = (self.prices * sign)[:, self.free]
        idle = idle & (rows != 0).any(axis=1)
        return rows[idle], (whole - part)[idle]

    def search(self, plan, wanted, rooms, prices, k=1, limit=None, deadline=None):
        """Return the cheapest plans of the k cheapest sets of changed columns.

        Parameters
        ----------
        plan : ndarray of shape (n_inputs + n_outputs,)
        wanted : float
            The efficiency to reach.
        rooms : list of Room
            Alternatives, over the free columns, in scaled units.
        prices : Prices
        k : int, default=1
        limit : int, default=None
            How many columns may change.
        deadline : float, default=None
            By ``time.monotonic``.

        Returns
        -------
        found : list of Found
            By cost, of different sets of columns.
        bound : float
            No plan costs less; infinite if there is none, NaN if nothing is proved.
        """
        best, clock = _Menu(k, len(rooms)), _Clock(deadline)
        spaces, domain = self.halfspaces(plan, wanted), self.domain(plan)
        try:
            for number, room in enumerate(rooms):
                room = room.within(*domain)
                if (room.low > room.high).any():
                    continue
                task = Task.of(spaces.a, spaces.need, room.low, room.high, prices)
                for inside in _supports(room, prices, k, limit):
                    with best.only(inside, number) as one:
                        _search_support(spaces, room, task, inside, prices, one, clock)
        except UnprovedError:
            return best.sorted(), np.nan
        found = best.sorted()
        return found, min(found[0].cost if found else np.inf, best.infimum)


def _search_support(spaces, room, task, inside, prices, best, clock):
    """Look for the cheapest plan of columns `inside`, over all facets."""
    clock.check()
    # A plan that moves fewer of them is found with the smaller set.
    fixed = prices.entry[inside].sum() + _start_cost(task.start, prices)
    bound = fixed + task.lower_bound(inside)
    at = np.flatnonzero(bound < best.worst - TIE)
    at = at[np.argsort(bound[at], kind="stable")]
    here = Room(
        np.where(inside, room.low, 0.0),
        np.where(inside, room.high, 0.0),
        room.rows,
        room.at_most,
    )
    for begin in range(0, len(at), CHUNK):
        some = at[begin : begin + CHUNK]
        some = some[bound[some] < best.worst - TIE]
        if not len(some):
            return
        clock.check()
        part = task.take(some, inside)
        possible = part.possible
        some, part = some[possible], part.take(possible, inside)
        if not len(some):
            continue
        steps = cheapest_steps(part, prices)
        steps[np.abs(steps) < TIE] = 0.0
        if len(room.rows):
            _couple(spaces.take(some), steps, here, prices, best, clock)
        else:
            best.offer(spaces.take(some), steps, prices.of_steps(steps))


def _couple(spaces, steps, room, prices, best, clock):
    """Keep steps that satisfy the rows, and solve a program for the others."""
    free = _without_entry(prices)
    cost = free.of_steps(steps)
    held = (steps @ room.rows.T <= room.at_most + 1e-12).all(axis=1)
    held &= np.einsum("ij,ij->i", spaces.a, steps) >= spaces.need - 1e-12
    for i in np.argsort(cost, kind="stable"):
        if cost[i] >= best.worst - TIE:
            return
        step = steps[i]
        clock.check()
        if not held[i]:
            step = _coupled(spaces.a[i], spaces.need[i], room, free)
            if step is None:
                continue
            step[np.abs(step) < 1e-10] = 0.0
        best.offer(spaces.take([i]), step[None], prices.of_steps(step[None]))


class _Best:
    """The cheapest plan so far, and what plans near one without efficiency cost."""

    def __init__(self, worst, room):
        self.worst, self.room, self.found = worst, room, None
        self.infimum = np.inf

    def offer(self, spaces, steps, cost):
        """Take the cheapest plan if it is better than what there is."""
        real = spaces.real(steps)
        self.infimum = min(self.infimum, cost[~real].min(initial=np.inf))
        at = np.flatnonzero(real)
        if len(at):
            i = at[np.lexsort((*steps[at].T[::-1], np.round(cost[at], 11)))[0]]
            if cost[i] < self.worst - TIE:
                self.worst = cost[i]
                facet = int(spaces.facets[i])
                self.found = Found(float(cost[i]), steps[i], facet, self.room)


class _Menu:
    """The cheapest plan of each set of columns that may change."""

    def __init__(self, k, n_rooms):
        self.k, self.found, self.infimum = k, {}, np.inf
        # A set may do better in another room, and then by other columns.
        self.prunes = k == 1 or n_rooms == 1

    @contextmanager
    def only(self, inside, room):
        """Collect the plans of one set in a room."""
        costs = [f.cost for f in self.sorted()]
        enough = self.prunes and len(costs) == self.k
        one = _Best(costs[-1] if enough else np.inf, room)
        try:
            yield one
        finally:
            self.infimum = min(self.infimum, one.infimum)
            key, found = inside.tobytes(), one.found
            if found and found.cost < getattr(self.found.get(key), "cost", np.inf):
                self.found[key] = found

    def sorted(self):
        """Return the plans by cost, one for each set of columns that do change."""
        out = {}
        for one in sorted(
            self.found.values(), key=lambda f: (round(f.cost, 11), f.steps.tolist())
        ):
            out.setdefault((one.steps != 0).tobytes(), one)
        return list(out.values())[: self.k]


def _supports(room, prices, k, limit):
    """Yield the sets of columns to change, those of the lowest entry prices first."""
    forced = (room.low > 0) | (room.high < 0)
    able = np.flatnonzero((room.low < room.high) & ~forced)
    most = len(able) if limit is None else min(len(able), limit - forced.sum())
    if most < 0:
        return
    if k == 1 and most == len(able) and not prices.entry[able].any():
        yield (room.low < room.high) | forced
        return
    sets = [s for n in range(most + 1) for s in combinations(able, n)]
    if not forced.any():
        sets = sets[1:]
    for one in sorted(sets, key=lambda s: (prices.entry[list(s)].sum(), len(s))):
        inside = forced.copy()
        inside[list(one)] = True
        yield inside


def _start_cost(start, prices):
    return _without_entry(prices).of_steps(start) if start.any() else 0.0


def _without_entry(prices):
    return type(prices)(
        prices.slope, prices.curve, prices.reach, 0.0 * prices.entry, prices.most
    )


def _coupled(a, need, room, prices):
    def solve(rows, at_most):
        return coupled_step(
            np.vstack([-a, rows]), np.r_[-need, at_most], room.low, room.high, prices
        )

    return lazily(solve, room.rows, room.at_most)
