"""A few counterfactuals for many rows: assign, locate, and again."""

from dataclasses import dataclass

import numpy as np

from skcf._mip._adapter import Mip
from skcf._space import mix, uniform
from skcf.group._cover import fewest

ROUNDS = 100
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Centers:
    """Points that rows are sent to.

    Attributes
    ----------
    codes : ndarray of shape (n_centers, n_features)
    assignment : ndarray of shape (n_rows,)
        The center of each row, -1 where none is lawful.
    total : float
        The weighted cost of the rows that have one.
    bound : float
        No choice of centers for as many rows costs less; nan where nothing is proved.
    """

    codes: np.ndarray
    assignment: np.ndarray
    total: float
    bound: float = np.nan

    @property
    def settled(self):
        """Whether the bound proves that nothing is better."""
        return bool(self.total - self.bound <= TOLERANCE * (1.0 + abs(self.total)))

    @property
    def rank(self):
        """What is compared: first how many rows have a center, then the cost."""
        return int((self.assignment < 0).sum()), self.total


def assign(price, weight, apart=None):
    """Return (assignment, total): each row to its cheapest lawful center.

    Parameters
    ----------
    price : ndarray of shape (n_rows, n_centers)
        inf where a center is not lawful for a row.
    weight : ndarray of shape (n_rows,)
    apart : ndarray of bool of shape (n_rows, n_pairs), default=None
        Each column marks two rows that must not share a center.
    """
    able = np.isfinite(price).any(axis=1)
    taken = np.where(able, price.argmin(axis=1), -1)
    if apart is not None and _clashes(taken, apart).any():
        taken = _assign_apart(price, weight, apart)
    row = np.flatnonzero(taken >= 0)
    return taken, float((weight[row] * price[row, taken[row]]).sum())


def _clashes(taken, apart):
    """Return which pairs share a center."""
    pairs = [np.flatnonzero(pair) for pair in apart.T]
    return np.array(
        [len(p) == 2 and taken[p[0]] == taken[p[1]] >= 0 for p in pairs], dtype=bool
    )


def _assign_apart(price, weight, apart):
    """Assign by an integer program; a row that finds no place has none."""
    n, n_centers = price.shape
    mip, sent, spent = Mip(), {}, []
    finite = np.where(np.isfinite(price), price, 0.0)
    # Dearer than all that any assignment can cost, so that few rows go without.
    alone = 1.0 + (weight * finite.max(axis=1)).sum()
    for i in range(n):
        row = []
        for c in np.flatnonzero(np.isfinite(price[i])):
            sent[i, c] = mip.binary("sent")
            row.append((sent[i, c], 1.0))
            spent.append((sent[i, c], float(weight[i] * price[i, c])))
        out = mip.variable("out", 0, 1)
        mip.require(mip.total([*row, (out, 1.0)]) == 1)
        spent.append((out, float(alone)))
    for pair in apart.T:
        both = np.flatnonzero(pair)
        for c in range(n_centers):
            here = [(sent[i, c], 1.0) for i in both if (i, c) in sent]
            if len(here) == 2:
                mip.require(mip.total(here) <= 1)
    mip.minimize(mip.total(spent))
    values = mip.solve().values
    out = np.full(n, -1)
    for (i, c), variable in sent.items():
        if mip.value(variable, values) > 0.5:
            out[i] = c
    return out


def alternate(codes, prices, locate, weight, apart, expired, rounds=ROUNDS):
    """Improve centers until the assignment stays: Lloyd's steps.

    Parameters
    ----------
    codes : ndarray of shape (n_centers, n_features)
    prices : callable
        Takes codes of centers, returns what each row pays for each of them, inf where
        that is not lawful.
    locate : callable
        Takes positions of rows and returns the codes of the best point for them, or
        None.
    weight, apart : as of `assign`
    expired : callable
    rounds : int
        The most steps.

    Returns
    -------
    centers : Centers
    trace : list of float
        The total after each step, which never rises while no row gains a center.
    """
    price = prices(codes)
    taken, total = assign(price, weight, apart)
    best = Centers(codes, taken, total)
    trace = [total]
    for _ in range(rounds):
        if expired():
            break
        codes = best.codes.copy()
        for c in range(len(codes)):
            rows = np.flatnonzero(best.assignment == c)
            if not len(rows):
                # It serves nobody: send it to the row that fares worst.
                rows = [_worst(price, best.assignment, weight)]
            point = locate(rows)
            if point is not None:
                codes[c] = point
        price = prices(codes)
        taken, total = assign(price, weight, apart)
        new = Centers(codes, taken, total)
        if new.rank >= best.rank:
            break
        trace.append(total)
        settled = (taken == best.assignment).all()
        best = new
        if settled:
            break
    return best, trace


def _worst(price, taken, weight):
    """Return the row that pays most, one without a center first."""
    paid = np.where(taken >= 0, weight * price[np.arange(len(taken)), taken], np.inf)
    return int(paid.argmax())


def spread_out(price, n, seed):
    """Return positions of `n` candidates, far from one another as rows see it.

    The first is the cheapest one of a random row. Each further one is that of a row
    drawn in proportion to what it would pay among those before (k-means++), rows that
    have none first.
    """
    seed = np.asarray([seed], dtype=np.uint64)
    able = np.flatnonzero(np.isfinite(price).any(axis=1))
    if not len(able):
        return np.empty(0, dtype=np.intp)
    chosen, paid = [], np.full(len(price), np.inf)
    for turn in range(n):
        draw = float(uniform(mix(seed + np.uint64(turn)))[0])
        open_ = able[np.isinf(paid[able])]
        if len(open_):
            row = open_[int(draw * len(open_))]
        else:
            share = np.cumsum(paid[able])
            if not share[-1] > 0:
                break
            row = able[np.searchsorted(share, draw * share[-1], side="right")]
        chosen.append(int(price[row].argmin()))
        paid = np.minimum(paid, price[:, chosen[-1]])
    return np.unique(chosen)


def best_observed(price, weight, n, worst, time_limit=None):
    """Return (positions, bound) of `n` candidates that serve rows best.

    The sum of what rows pay is least (a p-median), or what the row pays that pays most
    (`worst`, a p-center). Every row has a lawful candidate.
    """
    if worst:
        return _center(price, n, time_limit)
    return _median(price * weight[:, None], n, time_limit)


def _median(price, n, time_limit):
    start = _greedy(price, n)
    mip = Mip()
    n_rows, n_sites = price.shape
    use = [mip.binary("use") for _ in range(n_sites)]
    mip.require(mip.total((u, 1.0) for u in use) <= n)
    spent = []
    for i in range(n_rows):
        sent = []
        for c in np.flatnonzero(np.isfinite(price[i])):
            go = mip.variable("go", 0, 1)
            mip.require(mip.total([(go, 1.0), (use[c], -1.0)]) <= 0)
            sent.append((go, 1.0))
            spent.append((go, float(price[i, c])))
        mip.require(mip.total(sent) == 1)
    mip.minimize(mip.total(spent))
    said = mip.solve(time_limit=time_limit)
    if said.values is None:
        return start, said.bound
    chosen = [c for c in range(n_sites) if mip.value(use[c], said.values) > 0.5]
    return np.array(chosen, dtype=np.intp), said.bound


def _center(price, n, time_limit):
    """Try the possible radii: the least at which `n` candidates reach every row."""
    radii = np.unique(price[np.isfinite(price)])
    radii = radii[radii >= price.min(axis=1).max()]
    best, proved = _greedy(price, n), True
    low, high = 0, len(radii) - 1
    while low <= high:
        middle = (low + high) // 2
        near = [np.flatnonzero(column) for column in (price <= radii[middle]).T]
        sites = [c for c, rows in enumerate(near) if len(rows)]
        chosen, bound = fewest([near[c] for c in sites], len(price), time_limit)
        if len(chosen) <= n:
            best, high = np.array([sites[c] for c in chosen]), middle - 1
        else:
            proved &= bound > n
            low = middle + 1
    if not proved:
        return best, np.nan
    return best, float(radii[low]) if low < len(radii) else np.inf


def _greedy(price, n):
    """Return candidates that each save most when added to those before."""
    high = 1.0 + np.where(np.isfinite(price), price, 0.0).sum()
    filled = np.where(np.isfinite(price), price, high)
    paid, chosen = np.full(len(price), high), []
    for _ in range(n):
        total = np.minimum(filled, paid[:, None]).sum(axis=0)
        chosen.append(int(total.argmin()))
        paid = np.minimum(paid, filled[:, chosen[-1]])
    return np.unique(chosen)
