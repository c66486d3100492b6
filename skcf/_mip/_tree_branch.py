"""Best-first branch and bound over the values of one query."""

import heapq
import time
from dataclasses import dataclass

import numpy as np

from skcf._mip._tree_incumbent import Arrays, Climber
from skcf._mip._tree_kernels import fix
from skcf._mip._tree_lp import Relaxation
from skcf._mip._tree_reduce import compact
from skcf._mip._tree_tighten import tighten

# Points within this of the best one, relative to its cost, are as good as it.
GAP = 5e-10
# Values whose reduced cost is within this part of the gap to the incumbent are tight.
TIGHT = 0.1
# What a cut is worth at least that leaves all shares of the relaxation on one side.
IDLE = 0.02
# The problem is written anew when the root leaves less than this part of its values.
SHRUNK = 0.75


@dataclass(eq=False)
class Node:
    """A part of the space that is still open."""

    bound: float
    number: int
    alive: np.ndarray
    live: np.ndarray

    def __lt__(self, other):
        return (self.bound, self.number) < (other.bound, other.number)


class TreeSearch:
    """The cheapest point of some cells in the target, with proof.

    Parameters
    ----------
    cells : Cells
    ordered : bool ndarray of shape (n_groups,)
        Whether the values of a group are intervals in order.
    limits : sequence of (mask of groups, int)
        More limits than those of the cells.
    decide : callable
        Takes a row of codes and its score rows and returns whether it is in the target.
    deadline : float, default=None
        By ``time.monotonic``.
    callback : callable, default=None
        Called with (incumbent cost, lower bound).

    Attributes
    ----------
    cost, point : float, ndarray
        The best point found, as values of the cells.
    bound : float
        No point of less than `cost` is below it.
    done : bool
        Whether the search came to its end.
    n_nodes : int
    """

    def __init__(self, cells, ordered, limits, decide, deadline=None, callback=None):
        self.cells, self.ordered, self.decide = cells, ordered, decide
        self.extra = tuple(limits)
        self.limits = (*cells.limits, *limits)
        self.arrays = Arrays(cells, limits)
        self.deadline, self.callback = deadline, callback
        self.alive = np.isfinite(cells.cost)
        self.live = np.ones(len(cells.leaves), dtype=bool)
        finite = np.where(self.alive, cells.cost, 0.0)
        peak = np.where(self.alive, cells.peak, 0.0)
        most = np.maximum.reduceat(finite, cells.offsets[:-1]).sum()
        # No point costs more than this.
        self.ceiling = float(most + cells.linf * peak.max(initial=0.0)) * 1.001 + 1e-9
        self.cost, self.point = np.inf, None
        self.bound, self.done, self.n_nodes = 0.0, False, 0
        self.climber = None

    @property
    def cutoff(self):
        """Nothing above this cost is of interest."""
        best = min(self.cost, self.ceiling)
        return best - GAP * min(1.0, best)

    def climb(self, starts=()):
        """Look for a good point before the search."""
        alive, live = self.alive.copy(), self.live.copy()
        if self.expired or not self._tighten(self.arrays, self.cells, alive, live):
            return
        climber = Climber(self.arrays, self.cells.sure, alive)
        _, point = climber.run(starts)
        self.climber = climber
        if point is not None:
            self.offer(point)

    def run(self, upper=np.inf):
        """Search until nothing below `upper` is left, or the time is up."""
        self.ceiling = min(self.ceiling, upper)
        if self.expired:
            return self
        if self._rows_hold():
            alive, live = self.alive.copy(), self.live.copy()
            self._reduce(self.cells, None, alive, live)
        else:
            self.done, self.bound = True, np.inf
        if self.done:
            self.bound = self.cost
            self._tell()
        return self

    def _rows_hold(self):
        return bool((self.cells.need < np.inf).all())

    # -- points ---------------------------------------------------------------------

    def offer(self, point):
        """Take a point as incumbent if it is in the target and cheaper."""
        cost = self.arrays.price(point)
        if not cost < self.cutoff or not self.arrays.keeps_rules(point):
            return
        score = self.arrays.score(point)[0]
        if (score < self.cells.need).any():
            return
        if self.decide(self.cells.point(point), score):
            self.cost, self.point = cost, point.copy()
            self._tell()

    def _tell(self):
        if self.callback is not None:
            self.callback(self.cost, self.bound)

    # -- search ---------------------------------------------------------------------

    def _tighten(self, arrays, cells, alive, live):
        return tighten(
            arrays.leaves,
            arrays.offsets,
            arrays.base,
            cells.need,
            arrays.prices,
            arrays.rules,
            arrays.home,
            self.cutoff,
            alive,
            live,
        )

    def _reduce(self, cells, origin, alive, live):
        """Tighten, solve the root, and write the problem anew while it shrinks."""
        arrays = self.arrays if origin is None else Arrays(cells, self.extra)
        while True:
            if not self._tighten(arrays, cells, alive, live):
                self.done = True
                return
            cells, chosen = compact(cells, alive, live)
            origin = chosen if origin is None else origin[chosen]
            arrays = Arrays(cells, self.extra)
            tree = _Part(self, cells, arrays, origin)
            alive = np.ones(len(cells.cost), dtype=bool)
            live = np.ones(len(cells.leaves), dtype=bool)
            node = tree.evaluate(Node(self.bound, 0, alive, live))
            if node is None or self.expired:
                break
            alive, live = node.alive, node.live
            few = alive.sum() < SHRUNK * len(alive) or live.sum() < SHRUNK * len(live)
            if not few:
                break
        self._search(tree, node)

    @property
    def expired(self):
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _search(self, tree, node):
        """Split the best open node until none is below the cutoff."""
        heap, number = [], 0
        if node is not None:
            heap = self._children(tree, node, heap, 1)
            number = 2
        self.done = True
        while heap:
            self.bound = max(self.bound, min(heap[0].bound, self.cost))
            if heap[0].bound > self.cutoff:
                break
            if self.expired:
                self.done = False
                break
            before = self.bound
            node = tree.evaluate(heapq.heappop(heap))
            if node is not None:
                heap = self._children(tree, node, heap, number)
                number += 2
            if self.callback is not None and self.bound > before:
                self._tell()

    def _children(self, tree, node, heap, number):
        for i, child in enumerate(tree.split(node)):
            child.number = number + i
            heapq.heappush(heap, child)
        return heap


class _Part:
    """The reduced problem that nodes are parts of."""

    def __init__(self, search, cells, arrays, origin):
        self.search, self.cells, self.arrays = search, cells, arrays
        self.origin = origin
        self.relaxation = Relaxation(cells, search.limits, search.ordered)
        self.dual = self.theta = None

    def evaluate(self, node):
        """Return a node with a better bound and fewer values, None if it is done."""
        search, alive, live = self.search, node.alive, node.live
        search.n_nodes += 1
        if not search._tighten(self.arrays, self.cells, alive, live):
            return None
        if self._alone(alive):
            return None
        seconds = None
        if search.deadline is not None:
            seconds = search.deadline - time.monotonic()
        self.dual = self.theta = None
        for dual in self.relaxation.solve(alive, live, search.cutoff, seconds):
            if not self._apply(dual, node):
                return None
        if self._alone(alive):
            return None
        if self.theta is None:
            self.theta = self.cells.cost
        self._try(alive)
        return None if node.bound > search.cutoff else node

    def _alone(self, alive):
        """Try the point that is left if there is only one, and tell so."""
        if alive.sum() > len(self.cells.groups):
            return False
        self.search.offer(self.origin[np.flatnonzero(alive)])
        return True

    def _apply(self, dual, node):
        """Raise the bound of a node and fix by reduced costs; return if it is open."""
        search = self.search
        while True:
            lower, theta, lowest, value = self.relaxation.lower(
                dual, node.alive, node.live
            )
            if lower >= node.bound or self.theta is None:
                self.dual, self.theta = dual, theta
            node.bound = max(node.bound, lower)
            if lower > search.cutoff:
                return False
            changed = fix(
                self.cells.offsets,
                theta,
                lower,
                search.cutoff,
                lowest,
                value,
                self.cells.leaves.tree,
                node.alive,
                node.live,
            )
            if not changed:
                return True
            if not search._tighten(self.arrays, self.cells, node.alive, node.live):
                return False

    def _try(self, alive):
        """Offer the point that the relaxation leans to, and what local search makes.

        That is the one of the largest shares or, without them, of the least reduced
        costs.
        """
        search = self.search
        share = self.relaxation.share
        theta = self.theta if share is None else -share
        theta = np.where(alive, theta, np.inf)
        point = np.array(
            [
                begin + int(np.argmin(theta[begin:end]))
                for begin, end in zip(
                    self.cells.offsets[:-1], self.cells.offsets[1:], strict=True
                )
            ]
        )
        point = self.origin[point]
        search.offer(point)
        if search.climber is not None:
            climber = search.climber
            before = climber.best
            climber.climb(point.copy())
            if climber.best < before:
                search.offer(climber.point)

    def split(self, node):
        """Return two parts of a node, without those that are done."""
        left, right = node.alive.copy(), node.alive.copy()
        side = self._side(node)
        left[side], right[side] = False, False
        left[side[self._lower]] = True
        right[side[~self._lower]] = True
        out = []
        for alive in (left, right):
            child = Node(node.bound, 0, alive, node.live.copy())
            if not self.search._tighten(self.arrays, self.cells, alive, child.live):
                continue
            if self.dual is not None and not self._apply(self.dual, child):
                continue
            out.append(child)
        return out

    def _side(self, node):
        """Return the alive values of the group to branch on, and which are lower.

        Of the groups whose (nearly) tight values cost most differently, those below
        the middle of their costs go one way. What counts is that difference times the
        lesser share that the relaxation has on one side. Where all are alike, the best
        value of the group with the closest second goes alone.
        """
        cells, search = self.cells, self.search
        best, chosen = 0.0, None
        second, other = np.inf, None
        gap = max(search.cutoff - node.bound, 0.0)
        share = self.relaxation.share
        for begin, end in zip(cells.offsets[:-1], cells.offsets[1:], strict=True):
            some = begin + np.flatnonzero(node.alive[begin:end])
            if len(some) < 2:
                continue
            theta, cost = self.theta[some], cells.cost[some]
            if cells.linf:
                cost = cost + cells.linf * cells.peak[some]
            tight = cost[theta <= theta.min() + TIGHT * gap]
            span, middle = tight.max() - tight.min(), (tight.max() + tight.min()) / 2
            if share is not None and span > 0:
                near = share[some][cost <= middle].sum()
                span *= IDLE + min(near, 1.0 - near)
            if span > best:
                best, chosen = span, (some, cost <= middle)
            close = np.partition(theta, 1)[1] - theta.min()
            if close < second:
                second, other = close, (some, np.arange(len(some)) == theta.argmin())
        some, self._lower = chosen if chosen is not None else other
        return some
