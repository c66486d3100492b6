"""Which features a group may change: linear scores, one set for all rows."""

import heapq
from dataclasses import dataclass
from itertools import count, product

import numpy as np

from skcf._mip._adapter import Mip

N_HALVINGS = 60
MAX_COMBINATIONS = 256


@dataclass(frozen=True, eq=False)
class Moves:
    """What each row can gain by which feature, and at what price.

    A row has to gain `need` in its score. A number of feature ``f`` can be moved by up
    to ``cap``; a move of size d gains ``gain * d`` and costs ``line * d + square *
    d ** 2``. A listed feature has a few alternatives, each with its gain and cost.

    Attributes
    ----------
    need : ndarray of shape (n_rows,)
    gain, line, square, cap : ndarray of shape (n_rows, n_features)
        Zeros for listed features.
    listed : dict of feature to (gains, costs), ndarrays of shape (n_rows, n_options)
        Costs are inf for what a row cannot do; the first option is to stay.
    """

    need: np.ndarray
    gain: np.ndarray
    line: np.ndarray
    square: np.ndarray
    cap: np.ndarray
    listed: dict

    @property
    def n_features(self):
        """Number of features."""
        return self.gain.shape[1]

    @property
    def many(self):
        """Whether listed options have too many combinations to try them all."""
        sizes = [gains.shape[1] for gains, _ in self.listed.values()]
        return float(np.prod(sizes, dtype=np.float64)) > MAX_COMBINATIONS

    @property
    def most(self):
        """What each feature gains each row at most, of shape (n_rows, n_features)."""
        out = self.gain * self.cap
        for f, (gains, costs) in self.listed.items():
            out[:, f] = np.where(np.isfinite(costs), gains, 0.0).max(axis=1)
        return out

    def least(self, features):
        """Return what each row pays at least if only `features` may change.

        Parameters
        ----------
        features : ndarray of bool of shape (n_features,)

        Returns
        -------
        cost : ndarray of shape (n_rows,)
            inf where that does not suffice.
        """
        best = np.full(len(self.need), np.inf)
        for *_, total in self._ways(features):
            best = np.minimum(best, total)
        return best

    def choice(self, features):
        """Return (amounts, picks) of the cheapest way of each row.

        Shapes (n_rows, n_features) and dict of feature to (n_rows,).
        """
        n = len(self.need)
        best = np.full(n, np.inf)
        amounts = np.zeros((n, self.n_features))
        taken = {f: np.zeros(n, dtype=np.intp) for f in self.listed if features[f]}
        for picks, numbers, moved, total in self._ways(features):
            better = total < best
            best[better] = total[better]
            amounts[np.ix_(better, numbers)] = moved[better]
            for f, pick in zip(taken, picks, strict=True):
                taken[f][better] = pick
        return amounts, taken

    def _ways(self, features):
        """Yield (picks, numbers, moves of these, cost) of every choice of options."""
        numbers = np.flatnonzero(features & (self.gain > 0).any(axis=0))
        some = [f for f in self.listed if features[f]]
        for picks in product(*[range(self.listed[f][0].shape[1]) for f in some]):
            need, spent = self.need.copy(), np.zeros(len(self.need))
            for f, pick in zip(some, picks, strict=True):
                gains, costs = self.listed[f]
                need -= gains[:, pick]
                spent += costs[:, pick]
            moved, paid = self._moved(numbers, need)
            yield picks, numbers, moved, spent + paid

    def _moved(self, numbers, need):
        """Return the cheapest moves that gain what is needed, and what they cost.

        The price of a unit of score is found by halving: at price t a number moves
        until its next unit costs ``t * gain``. Numbers without a square move all at
        once, so what is too much at the upper end is given back in part.
        """
        gain, cap = self.gain[:, numbers], self.cap[:, numbers]
        line, square = self.line[:, numbers], self.square[:, numbers]
        short = (gain * cap).sum(axis=1) < need
        with np.errstate(divide="ignore", invalid="ignore"):
            steepest = np.where(gain > 0, (line + 2 * square * cap) / gain, 0.0)
        low = np.zeros(len(need))
        high = steepest.max(axis=1, initial=0.0) * (1 + 1e-12) + 1e-300

        def at(price):
            with np.errstate(divide="ignore", invalid="ignore"):
                bent = (price[:, None] * gain - line) / (2 * square)
            straight = np.where(price[:, None] * gain >= line, np.inf, 0.0)
            return np.clip(np.where(square > 0, bent, straight), 0.0, cap)

        for _ in range(N_HALVINGS):
            middle = (low + high) / 2
            enough = (gain * at(middle)).sum(axis=1) >= need
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle)
        amounts, below = at(high), at(low)
        # Between both ends lie the numbers without a square: part of them is enough.
        step = amounts - below
        more = (gain * step).sum(axis=1)
        over = (gain * amounts).sum(axis=1) - need
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(more > 0, np.clip(over / more, 0.0, 1.0), 0.0)
        amounts = amounts - share[:, None] * step
        paid = (line * amounts + square * amounts**2).sum(axis=1)
        return amounts, np.where(short, np.inf, paid)


@dataclass(frozen=True, eq=False)
class FeatureSet:
    """The best set of features for a group.

    Attributes
    ----------
    features : ndarray of bool of shape (n_features,) or None
    total : float
        What the served rows pay and the set itself; inf if there is none.
    bound : float
        No set costs less.
    """

    features: np.ndarray | None
    total: float
    bound: float


def can_serve(moves, n_served, most, seconds=None):
    """Tell whether some set of at most `most` features may gain what is needed.

    Costs aside, a row needs that the gains of a set add up: a small covering problem.
    False only where that is proved.

    Parameters
    ----------
    moves : Moves
    n_served, most : int
        How many rows have to be served, and by how many features.
    seconds : float, default=None
    """
    gain, need = np.maximum(moves.most, 0.0), moves.need
    size = np.maximum(np.abs(need), 1e-12)
    mip = Mip()
    taken = [mip.binary("taken") for _ in range(moves.n_features)]
    out = []
    for row, least in zip(gain / size[:, None], need / size, strict=True):
        if least > 0:
            out.append(mip.binary("out") if n_served < len(need) else mip.total([]))
            # What is less than needed by no more than rounding may do.
            pairs = [*zip(taken, row, strict=True), (out[-1], 1.0)]
            mip.require(mip.total(pairs) >= 1.0 - 1e-9)
    mip.require(mip.total([(o, 1.0) for o in out]) <= float(len(need) - n_served))
    mip.require(mip.total([(t, 1.0) for t in taken]) <= float(most))
    mip.minimize(mip.total([(t, 1.0) for t in taken]))
    return mip.solve(time_limit=seconds).status != "infeasible"


def total_of(cost, n_served, weight):
    """Return the weighted cost of the `n_served` rows that pay least."""
    with np.errstate(invalid="ignore"):
        paid = np.sort(np.where(np.isfinite(cost), weight * cost, np.inf))
    return float(paid[:n_served].sum())


def best_set(moves, weight, n_served, price, most, expired):
    """Return the FeatureSet of least total cost.

    A larger set never costs the rows more. So a set that is partly decided costs at
    least what the rows pay with all its undecided features, and the price of those
    that are decided to be in. Undecided sets are looked at in the order of that bound.

    Parameters
    ----------
    moves : Moves
    weight : ndarray of shape (n_rows,)
    n_served : int
        How many rows have to be served.
    price : float
        Of each feature in the set.
    most : int
        The most features in the set.
    expired : callable
    """
    known = {}

    def rows_pay(features):
        key = features.tobytes()
        if key not in known:
            known[key] = total_of(moves.least(features), n_served, weight)
        return known[key]

    useful = (moves.gain > 0).any(axis=0)
    for f, (gains, _) in moves.listed.items():
        useful[f] |= (gains > 0).any()
    best = _shrunk(rows_pay, useful, price, most)
    number = count()
    nothing = np.zeros(moves.n_features, dtype=bool)
    heap = [(rows_pay(useful), next(number), nothing, useful)]
    while heap:
        bound, _, inside, maybe = heapq.heappop(heap)
        if not _less(bound, best[0]):
            return FeatureSet(best[1], best[0], min(best[0], bound))
        if expired():
            return FeatureSet(best[1], best[0], bound)
        open_ = maybe & ~inside
        if inside.sum() == most:
            open_ &= False
        if not open_.any():
            total = rows_pay(inside) + price * inside.sum()
            best = min(best, (total, inside), key=lambda b: b[0])
            continue
        loss = {f: rows_pay(maybe & ~_one(f, maybe)) for f in np.flatnonzero(open_)}
        f = max(loss, key=loss.get)
        without = maybe & ~_one(f, maybe)
        within = inside | _one(f, maybe)
        fixed = price * inside.sum()
        for child, rest, least in (
            (inside, without, loss[f] + fixed),
            (within, maybe, rows_pay(maybe) + fixed + price),
        ):
            if _less(least, best[0]):
                heapq.heappush(heap, (least, next(number), child, rest))
        if maybe.sum() <= most:
            total = rows_pay(maybe) + price * maybe.sum()
            best = min(best, (total, maybe), key=lambda b: b[0])
    return FeatureSet(best[1], best[0], best[0])


def _shrunk(rows_pay, features, price, most):
    """Return (total, features): features dropped one by one, the cheapest way found."""
    best = (np.inf, None)
    while True:
        if features.sum() <= most:
            total = rows_pay(features) + price * features.sum()
            best = min(best, (total, features), key=lambda b: b[0])
        if not features.any():
            return best
        options = [features & ~_one(f, features) for f in np.flatnonzero(features)]
        features = min(options, key=rows_pay)


def _one(f, like):
    out = np.zeros(len(like), dtype=bool)
    out[f] = True
    return out


def _less(a, b):
    return a < b - 1e-9 * (1.0 + abs(b)) if np.isfinite(b) else a < b
