"""The cheapest values of features that add up to what is needed: one linear row."""

import numpy as np

# More combinations than that are left to a solver.
MAX_STATES = 200_000
MAX_TRIED = 500
NEAR = 1e-12


class Values:
    """A feature with a list of values.

    Parameters
    ----------
    gain, cost : ndarray of shape (n_values,)
        What each value adds to the row, and what it costs.

    Attributes
    ----------
    edges : ndarray
        The prices of a unit of gain at which the best value changes.
    """

    def __init__(self, gain, cost):
        self.gain, self.cost = gain, cost
        hull = [int(np.lexsort((-gain, cost))[0])]
        # From the cheapest value on, along the lower hull towards more gain.
        while True:
            more = np.flatnonzero(gain > gain[hull[-1]])
            if not len(more):
                break
            rate = (cost[more] - cost[hull[-1]]) / (gain[more] - gain[hull[-1]])
            best = more[rate <= rate.min() * (1 + NEAR)]
            hull.append(int(best[gain[best].argmax()]))
        self._hull = np.array(hull)
        self.edges = np.diff(cost[self._hull]) / np.diff(gain[self._hull])

    def at(self, price, side):
        """Return (what is chosen, gain, cost) at a price of gain.

        Of values that are equally good, that with the most gain for the side "right",
        and that with the least for "left".
        """
        i = self._hull[np.searchsorted(self.edges, price, side=side)]
        return i, self.gain[i], self.cost[i]

    def near(self, price, spare):
        """Return positions of values that are at most `spare` worse than the best."""
        value = self.cost - price * self.gain
        return np.flatnonzero(value <= value.min() + spare)


class Range:
    """A number in a range, with a convex cost.

    Parameters
    ----------
    own : SharedNumber
    low, high : float
    base, slope : float
        The gain is ``base + slope * number``; the slope is not 0.
    """

    def __init__(self, own, low, high, base, slope):
        self.own, self.base, self.slope = own, base, slope
        self.low, self.high = low, high
        start, end = own.least(low, high), high if slope > 0 else low
        inside = own.kinks[
            (own.kinks > min(start, end)) & (own.kinks < max(start, end))
        ]
        inside = inside if slope > 0 else inside[::-1]
        self._marks = np.concatenate([[start], inside, [end]])
        ahead, behind = ("right", "left") if slope > 0 else ("left", "right")
        begin = own.slope(self._marks[:-1], ahead) / slope
        finish = own.slope(self._marks[1:], behind) / slope
        # The rates never fall; rounding must not make them.
        self._begin = np.maximum.accumulate(np.maximum(begin, 0.0))
        self._finish = np.maximum(finish, self._begin)
        if start == end:
            self._begin = self._finish = np.empty(0)
        self.edges = np.concatenate([self._begin, self._finish])

    def at(self, price, side):
        """Return (number, gain, cost) at a price of gain; see `Values.at`."""
        i = int(np.searchsorted(self._begin, price, side=side))
        number = self._marks[0]
        if i:
            begin, finish = self._begin[i - 1], self._finish[i - 1]
            share = 1.0
            if finish > price:
                share = (price - begin) / (finish - begin)
            number = self._marks[i - 1] * (1 - share) + self._marks[i] * share
        return number, self.base + self.slope * number, self._cost(number)

    def _cost(self, number):
        return float(self.own.smooth(np.array([number]))[0])

    def listed(self, price, spare, snap, step):
        """Return the numbers of a grid at most `spare` worse than the best number."""
        best, gain, cost = self.at(price, "right")
        most = cost - price * gain + spare
        far = step * 2.0 ** np.arange(np.log2(MAX_STATES))
        ends = []
        for sign, end in ((-1.0, self.low), (1.0, self.high)):
            marks = np.clip(best + sign * far, self.low, self.high)
            over = np.flatnonzero(self._value(marks, price) > most)
            if not len(over) and marks[-1] != end:
                return None
            ends.append(marks[over[0]] if len(over) else end)
        n = round((ends[1] - ends[0]) / step)
        grid = np.unique(snap(ends[0] + step * np.arange(-1, n + 2)))
        grid = grid[(grid >= self.low) & (grid <= self.high)]
        return grid[self._value(grid, price) <= most]

    def _value(self, numbers, price):
        gain = self.base + self.slope * numbers
        return self.own.smooth(numbers) - price * gain

    def rounded(self, number, snap, step):
        """Return the next number of the grid with no less gain."""
        near = snap(number + step * np.arange(-1, 2))
        near = near[(near >= self.low) & (near <= self.high)]
        ahead = near[(near - number) * np.sign(self.slope) >= 0]
        if not len(ahead):
            return self.high if self.slope > 0 else self.low
        return float(ahead[np.abs(ahead - number).argmin()])


def fair_price(parts, need):
    """Return the price of gain at which the best choices just gain enough, or None.

    The choices at the prices below the result gain less than is needed, and those at it
    enough if the best of equals are taken. None where nothing gains enough.
    """
    edges = np.unique(np.concatenate([[0.0], *(p.edges for p in parts)]))

    def gained(price, side="right"):
        return sum(p.at(price, side)[1] for p in parts)

    low, high = -1, len(edges) - 1
    if gained(edges[high]) < need:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if gained(edges[middle]) >= need:
            high = middle
        else:
            low = middle
    if high == 0:
        return 0.0
    below, price = edges[high - 1], edges[high]
    some, enough = gained(below), gained(price, "left")
    if enough < need:
        return price
    # Between two edges the gain is a straight line.
    return below + (price - below) * min(1.0, (need - some) / (enough - some))


def filled(ranges, need):
    """Return (numbers, cost) of the cheapest numbers that gain enough, or None."""
    if not ranges:
        return ([], 0.0) if need <= 0 else None
    price = fair_price(ranges, need)
    if price is None:
        return None
    numbers, short = [], need - sum(r.at(price, "left")[1] for r in ranges)
    for r in ranges:
        number, gain, _ = r.at(price, "left")
        more, most, _ = r.at(price, "right")
        if short > 0 and most > gain:
            # At the fair price any mixture of both is as good.
            share = min(1.0, short / (most - gain))
            number += share * (more - number)
            short -= share * (most - gain)
        numbers.append(number)
    cost = sum(r._cost(v) for r, v in zip(ranges, numbers, strict=True))
    return numbers, cost


def merged(lists, price, spare):
    """Return (gain, cost, choices) of the combinations that may be best, or None.

    Parameters
    ----------
    lists : list of (gain, cost)
        Of the values of each feature that may be part of a best choice.
    price : float
        Of a unit of gain.
    spare : float
        How much worse at this price than the best a combination may be.
    """
    gain, cost = np.zeros(1), np.zeros(1)
    chosen = np.empty((1, 0), dtype=np.intp)
    least = [(c - price * g).min() for g, c in lists]
    floor = 0.0
    for (g, c), low in zip(lists, least, strict=True):
        floor += low
        if len(gain) * len(g) > MAX_STATES * 10:
            return None
        more, dearer = gain[:, None] + g, cost[:, None] + c
        at, value = np.nonzero(dearer - price * more <= floor + spare)
        more, dearer = more[at, value], dearer[at, value]
        order = np.lexsort((dearer, -more))
        # Others gain no more and cost no less.
        before = np.minimum.accumulate(np.append(np.inf, dearer[order][:-1]))
        order = order[dearer[order] < before]
        if len(order) > MAX_STATES:
            return None
        gain, cost = more[order], dearer[order]
        chosen = np.column_stack([chosen[at[order]], value[order]])
    return gain, cost, chosen


def cheapest(parts, need):
    """Return (choices, bound, infeasible) of one row, or None where it is too much.

    A relaxation prices the gain: at the fair price the features are chosen one by one.
    What differs from these choices by more than the distance of a known answer from
    that bound cannot be best; the combinations of what is left are gone through.

    Parameters
    ----------
    parts : list of (Values or Range, snap or None, step or None)
        With a grid where a Range has one.
    need : float

    Returns
    -------
    choices : list of int or float
        The position of each value, or the number.
    bound : float
    infeasible : bool
    """
    features = [p for p, _, _ in parts]
    price = fair_price(features, need)
    if price is None:
        return None, np.inf, True
    best = [p.at(price, "right") for p in features]
    bound = sum(cost - price * gain for _, gain, cost in best) + price * need
    free = [i for i, (p, _, step) in enumerate(parts) if step is None and _is_range(p)]
    fixed = [i for i in range(len(parts)) if i not in free]
    ranges = [features[i] for i in free]
    slack = NEAR * (1.0 + abs(bound) + sum(abs(price * gain) for _, gain, _ in best))
    answer, top = _first(parts, price, need, free, fixed)
    if answer is not None and top <= bound + slack:
        return answer, top, False
    if answer is None:
        return None
    lists, names = [], []
    for i in fixed:
        values = _listed(parts[i], price, top - bound + slack)
        if values is None:
            return None
        names.append(values[0])
        lists.append(values[1:])
    order = np.argsort([len(n) for n in names], kind="stable")
    rest = sum(best[i][2] - price * best[i][1] for i in free)
    low = sum((c - price * g).min(initial=np.inf) for g, c in lists) + rest
    spare = top - (low + price * need) + slack
    states = merged([lists[k] for k in order], price, spare)
    if states is None:
        return None
    spent = rest, price, need
    combined = _combined(states, ranges, spent, top)
    if combined is None:
        return None
    s, numbers, top = combined
    if s is not None:
        answer = [None] * len(parts)
        for k, value in zip(order, states[2][s], strict=True):
            answer[fixed[k]] = names[k][value]
        for i, number in zip(free, numbers, strict=True):
            answer[i] = number
    return answer, top, False


def _combined(states, ranges, spent, top):
    """Return (state, numbers, cost) of the best answer below `top`.

    The state is None where there is no better one; None in all if there are too many
    to try. `spent` has what the ranges cost at the price, the price, and the need.
    """
    (gain, cost, _), (rest, price, need) = states, spent
    rank = np.argsort(cost - price * gain, kind="stable")
    if not ranges:
        rank = rank[gain[rank] >= need]
        rank = rank[np.argsort(cost[rank], kind="stable")][:1]
    best = None, None
    for tried, s in enumerate(rank):
        if ranges and cost[s] + rest + price * (need - gain[s]) >= top:
            break
        if tried > MAX_TRIED:
            return None
        found = filled(ranges, need - gain[s])
        if found is not None and found[1] + cost[s] < top:
            best, top = (s, found[0]), found[1] + cost[s]
    return *best, top


def _is_range(part):
    return isinstance(part, Range)


def _listed(part, price, spare):
    """Return (choices, gain, cost) of what a feature may be in a best answer."""
    feature, snap, step = part
    if not _is_range(feature):
        at = feature.near(price, spare)
        return at, feature.gain[at], feature.cost[at]
    numbers = feature.listed(price, spare, snap, step)
    if numbers is None:
        return None
    gain, cost = feature.base + feature.slope * numbers, feature.own.smooth(numbers)
    return numbers, gain, cost


def _first(parts, price, need, free, fixed):
    """Return (answer, cost) of a good answer near the relaxation, or (None, inf)."""
    ranges = [parts[i][0] for i in free]
    best, top = None, np.inf
    for side in ("right", "left"):
        taken = {i: _taken(parts[i], price, side) for i in fixed}
        gain = sum(g for _, g, _ in taken.values())
        short = need - gain - sum(r.at(np.inf, "right")[1] for r in ranges)
        for i in [None, *fixed] if short > 0 else [None]:
            some = dict(taken)
            if i is not None:
                more = _with_more(parts[i], taken[i][1] + short)
                if more is None:
                    continue
                some[i] = more
            found = filled(ranges, need - sum(g for _, g, _ in some.values()))
            if found is None:
                continue
            cost = found[1] + sum(c for _, _, c in some.values())
            if cost < top:
                chosen = {i: name for i, (name, _, _) in some.items()}
                chosen.update(zip(free, found[0], strict=True))
                best, top = [chosen[i] for i in range(len(parts))], cost
    return best, top


def _taken(part, price, side):
    """Return (choice, gain, cost) of a feature with discrete values at a price."""
    feature, snap, step = part
    name, gain, cost = feature.at(price, side)
    if not _is_range(feature):
        return name, gain, cost
    if side == "right":
        number = feature.rounded(name, snap, step)
    else:
        number = float(np.clip(snap(np.array(name)), feature.low, feature.high))
    return number, feature.base + feature.slope * number, feature._cost(number)


def _with_more(part, least):
    """Return (choice, gain, cost) of the cheapest value that gains so much, or None."""
    feature, snap, step = part
    if not _is_range(feature):
        at = np.flatnonzero(feature.gain >= least)
        if not len(at):
            return None
        i = at[feature.cost[at].argmin()]
        return i, feature.gain[i], feature.cost[i]
    number = (least - feature.base) / feature.slope
    if not feature.low <= number <= feature.high:
        return None
    number = feature.rounded(number, snap, step)
    gain = feature.base + feature.slope * number
    return number, gain, feature._cost(number)
