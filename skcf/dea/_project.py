"""The cheapest step onto a half-space within a box, for many half-spaces at once.

Variables move away from where they start, each in the one direction that helps. Along
it, variable j costs ``slope_j r + curve_j ((base_j + r)^2 - base_j^2)`` for a move of
``r <= room_j``, and brings ``gain_j r`` nearer: a continuous knapsack, which is solved
by its multiplier.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

# Moves that cost nothing would be arbitrary; at this price they are short.
TOKEN = 1e-9
COUNTED = 1e-6
N_SECTIONS = 80
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Prices:
    """What steps cost, by variable and direction; arrays of shape (2, n): down, up.

    ``slope |s| + curve s^2`` summed over variables, plus `most` times the largest of
    ``reach |s|``, plus `entry` (of shape (n,)) for each variable that moves.
    """

    slope: np.ndarray
    curve: np.ndarray
    reach: np.ndarray
    entry: np.ndarray
    most: float

    @classmethod
    def of(cls, cost, scale, columns):
        """Return the prices of a bound cost for steps in units of `scale`."""
        weight = cost.weight[cost.group_of[columns]]
        price = np.stack([cost.down[columns], cost.up[columns]])
        price = price * scale / cost.unit[columns]
        c, m = cost.cost, cost.divisor
        counts = not (c.l1 or c.l2 or c.linf)
        return cls(
            # Where changes are only counted, those that are equal in number are short.
            COUNTED * price if counts else c.l1 / m * weight * price,
            c.l2 / m * weight * price**2,
            weight * price,
            c.l0 / m * weight,
            c.linf,
        )

    def directed(self, name, up):
        """Return prices by variable for masks of variables that go up."""
        down_price, up_price = getattr(self, name)
        return np.where(up, up_price, down_price)

    def of_steps(self, steps):
        """Return the costs of steps along the last axis."""
        up, size = steps > 0, np.abs(steps)
        total = self.directed("slope", up) * size + self.directed("curve", up) * size**2
        total = total + self.entry * (size > 0)
        out = total.sum(axis=-1)
        if self.most:
            out = out + self.most * (self.directed("reach", up) * size).max(axis=-1)
        return out


@dataclass(frozen=True)
class Task:
    """Half-spaces ``a.s >= need`` to reach from a start, ready for `move`.

    Attributes
    ----------
    start : ndarray of shape (n,)
        The step to the nearest point of the box.
    up : ndarray of bool of shape (m, n)
    gain, slope, curve, base, room : ndarray of shape (m, n)
    need : ndarray of shape (m,)
        What is missing at the start; 0 where nothing is.
    """

    start: np.ndarray
    up: np.ndarray
    gain: np.ndarray
    slope: np.ndarray
    curve: np.ndarray
    base: np.ndarray
    room: np.ndarray
    need: np.ndarray

    @classmethod
    def of(cls, a, need, low, high, prices):
        """Return the task of half-spaces within the box of steps [low, high]."""
        start = np.clip(0.0, low, high)
        need = np.maximum(need - a @ start, 0.0)
        up = a > 0
        room = np.where(up, high - start, start - low)
        gain = np.abs(a)
        with np.errstate(divide="ignore"):
            # Nothing has to move further than it alone would have to.
            alone = np.where(gain > 0, need[:, None] / np.where(gain > 0, gain, 1), 0)
        slope = prices.directed("slope", up)
        curve = prices.directed("curve", up)
        free = (slope == 0) & (curve == 0)
        slope = np.where(free, TOKEN, slope)
        base = np.broadcast_to(np.abs(start), a.shape)
        return cls(start, up, gain, slope, curve, base, np.minimum(room, alone), need)

    def take(self, rows, inside):
        """Return some of the half-spaces, with moves of some columns alone."""
        some = Task(self.start, *(getattr(self, name)[rows] for name in _BY_ROW))
        return replace(some, gain=some.gain * inside)

    @property
    def possible(self):
        """Which half-spaces can be reached within the box."""
        return (self.gain * self.room).sum(axis=1) >= self.need * (1 - 1e-12)

    @cached_property
    def _rates(self):
        """The linear price of gain by column, and the gain bought at square prices."""
        slope = np.where(self.slope == TOKEN, 0.0, self.slope)
        with np.errstate(all="ignore"):
            rate = np.where(self.gain > 0, slope / self.gain, np.inf)
            return rate, np.where(self.gain > 0, self.gain**2 / self.curve, 0.0)

    def lower_bound(self, inside):
        """Return costs that no moves of some columns fall below.

        There is no box, and the linear and the square price have one move each.
        """
        rate, power = self._rates
        if not inside.all():
            rate, power = rate[:, inside], power[:, inside]
        with np.errstate(all="ignore"):
            square = self.need**2 / power.sum(axis=1)
            both = self.need * rate.min(axis=1, initial=np.inf) + square
        return np.where(self.need > 0, both, 0.0)

    def steps(self, moves):
        """Return the steps from the origin that moves from the start make."""
        return self.start + np.where(self.up, moves, -moves)


_BY_ROW = ("up", "gain", "slope", "curve", "base", "room", "need")


def cheapest_steps(task, prices):
    """Return the cheapest steps of shape (m, n) for tasks that are possible."""
    moves = _moves(task, task.room)
    if prices.most:
        moves = _capped(task, prices, moves)
    return task.steps(moves)


def _moves(task, room):
    """Return the cheapest moves, without the price of the longest."""
    gain, slope, curve, base = task.gain, task.slope, task.curve, task.base
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(gain > 0, (slope + 2 * curve * base) / gain, np.inf)
        last = np.where(gain > 0, (slope + 2 * curve * (base + room)) / gain, np.inf)
    marks = np.sort(np.concatenate([first, last], axis=1), axis=1)
    jump = curve == 0

    def reached(mark, after):
        """Return the moves at a multiplier; jumps at it are made if `after`."""
        mark = mark[:, None]
        done = (first <= mark) if after else (first < mark)
        with np.errstate(divide="ignore", invalid="ignore"):
            smooth = (mark * gain - slope) / (2 * curve) - base
        out = np.where(jump, np.where(done, room, 0.0), np.clip(smooth, 0.0, room))
        return np.where(gain > 0, out, 0.0)

    # The first mark at which enough is brought nearer.
    n_rows, n_marks = marks.shape
    low, high = np.zeros(n_rows, dtype=np.intp), np.full(n_rows, n_marks - 1)
    every = np.arange(n_rows)
    while (low < high).any():
        middle = (low + high) // 2
        brought = (gain * reached(marks[every, middle], True)).sum(axis=1)
        enough = brought >= task.need * (1 - 1e-13)
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    mark = marks[every, high]
    at = reached(mark, False)
    short = task.need - (gain * at).sum(axis=1)
    before = reached(np.where(high > 0, marks[every, high - 1], -np.inf), True)
    between = task.need - (gain * before).sum(axis=1)
    # Between two marks all is linear; at a mark, jumps fill up what is missing.
    span = (gain * (at - before)).sum(axis=1)
    share = np.where(span > 0, between / np.where(span > 0, span, 1.0), 1.0)
    out = before + np.clip(share, 0.0, 1.0)[:, None] * (at - before)
    short = np.maximum(short, 0.0)
    for j in range(gain.shape[1]):
        able = jump[:, j] & (first[:, j] == mark) & (gain[:, j] > 0)
        safe = np.where(able, gain[:, j], 1.0)
        more = np.where(able, np.minimum(short / safe, room[:, j]), 0.0)
        out[:, j] += more
        short = short - more * np.where(able, gain[:, j], 0.0)
    return np.where(task.need[:, None] > 0, out, 0.0)


def _capped(task, prices, moves):
    """Return the cheapest moves with a price on the longest reach.

    The cost is convex in the cap on the reaches, whose best value is found by golden
    section. No cap beyond the reach of the moves without that price is better.
    """
    reach = prices.directed("reach", task.up)

    def under(cap):
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(reach > 0, cap[:, None] / reach - task.base, np.inf)
        room = np.clip(room, 0.0, task.room)
        found = _moves(task, room)
        cost = prices.of_steps(task.steps(found))
        held = (task.gain * found).sum(axis=1) >= task.need * (1 - 1e-12)
        return found, np.where(held, cost, np.inf)

    high = (reach * (task.base + moves)).max(axis=1)
    low = np.zeros(len(high))
    best, least = moves, prices.of_steps(task.steps(moves))
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    (found_l, cost_l), (found_r, cost_r) = under(left), under(right)
    for _ in range(N_SECTIONS):
        for found, cost in ((found_l, cost_l), (found_r, cost_r)):
            better = cost < least
            best = np.where(better[:, None], found, best)
            least = np.where(better, cost, least)
        go_left = cost_l < cost_r
        high, low = np.where(go_left, right, high), np.where(go_left, low, left)
        new = np.where(
            go_left, high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        )
        found, cost = under(new)
        found_l, found_r = (
            np.where(go_left[:, None], found, found_r),
            np.where(go_left[:, None], found_l, found),
        )
        left, right = np.where(go_left, new, right), np.where(go_left, left, new)
        cost_l, cost_r = (
            np.where(go_left, cost, cost_r),
            np.where(go_left, cost_l, cost),
        )
    return best
