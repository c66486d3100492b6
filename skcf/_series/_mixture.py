"""The cheapest mixture of one query and a few prototypes, all channels alike."""

from dataclasses import dataclass

import numpy as np

from skcf._series._gauge import cost_rows

N_SEEDS = 12
N_BEAM = 3
N_ROUNDS = 4
MAX_PAIRS = 200_000
STEPS = 40_000
# What the first point of a piece lacks when its cells are rounded once more.
NUDGES = (0.0, 1e-12, 1e-9, 1e-7, 1e-6)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A series with its weights of the prototypes, (n_prototypes, n_channels)."""

    weights: np.ndarray
    codes: np.ndarray
    cost: float

    @property
    def support(self):
        """The prototypes that have weight."""
        return np.flatnonzero(self.weights.any(axis=1))


@dataclass(eq=False)
class Task:
    """One query with its prototypes, gauge and cost.

    Parameters
    ----------
    x : ndarray of shape (n_features,)
    prototypes : ndarray of shape (n_prototypes, n_features)
    gauge : ForestGauge or LinearGauge
    quadratic : (up, down, mid, const)
    channel : ndarray of shape (n_features,)
    n_channels : int
    lambda_0, lambda_2 : float
    meter : Meter
    written : function
        Rounds codes to the dtype in which they are returned.
    tol : float
        How near to the cost a bound has to come.
    """

    x: np.ndarray
    prototypes: np.ndarray
    gauge: object
    quadratic: tuple
    channel: np.ndarray
    n_channels: int
    lambda_0: float
    lambda_2: float
    meter: object
    written: object
    tol: float = 1e-3

    def __post_init__(self):
        self.D = self.prototypes - self.x

    def compose(self, weights):
        """Return the series with these weights of the prototypes."""
        used = np.flatnonzero(weights.any(axis=1))
        x = self.x.copy()
        for b in used:
            x += weights[b, self.channel] * self.D[b]
        return x

    def mixture(self, weights):
        """Return the Mixture of weights, pushed on a little where rounding asks for it.

        None if that does not bring it into the target.
        """
        for nudge in NUDGES:
            pushed = weights * (1 + nudge)
            excess = pushed.sum(axis=0).max()
            if excess > 1.0:
                pushed = pushed / excess
            codes = self.written(self.compose(pushed))
            if self.gauge.holds(codes[None])[0]:
                return Mixture(pushed, codes, self.total(codes))
        return None

    def total(self, codes):
        """Return the cost of a series: of changed channels and of its distance."""
        n = len(np.unique(self.channel[codes != self.x]))
        square = float(cost_rows(self.quadratic, codes[None])[0])
        return self.lambda_0 * n + self.lambda_2 * square

    def limit(self, best, n_channels=1):
        """Return the square that a better mixture of so many channels is below."""
        if best is None:
            return np.inf
        return (best.cost - self.lambda_0 * n_channels) / self.lambda_2

    def even(self, weights):
        """Return weights that all channels share."""
        return np.repeat(weights[:, None], self.n_channels, axis=1)


def better(one, other):
    """Return the cheaper of two mixtures; either may be None."""
    if one is None or (other is not None and other.cost < one.cost):
        return other
    return one


def on_lines(task):
    """Return the mixtures with one prototype, cheapest first.

    When the time is up, those behind the first are left out.
    """
    mu, cost = task.gauge.lines(task.quadratic, task.x, task.D)
    order = np.argsort(cost, kind="stable")
    order = order[np.isfinite(cost[order])]
    found = []
    for b in order:
        if found and task.meter.expired:
            break
        weights = np.zeros(len(mu))
        weights[b] = mu[b]
        mixture = task.mixture(task.even(weights))
        if mixture is not None:
            found.append(mixture)
    return found


def in_triangles(task, lines):
    """Return (mixture, bound of the square) with two prototypes at most.

    The bound is that of all mixtures of two, NaN if not all of them were looked at.
    """
    best = lines[0] if lines else None
    n = len(task.D)
    near = [int(m.support[0]) for m in lines[:N_SEEDS]]
    if len(near) > 2:
        best = _best_of_pairs(task, best, _all_pairs(near), STEPS)[0]
    everything = n * (n - 1) // 2 <= MAX_PAIRS
    if everything:
        chosen = np.arange(n)
    else:
        most = int(np.sqrt(2 * MAX_PAIRS))
        order = np.argsort((task.D**2).sum(axis=1), kind="stable")
        chosen = np.sort(order[:most])
    best, bound = _best_of_pairs(task, best, _all_pairs(chosen), None)
    return best, bound if everything else np.nan


def _all_pairs(chosen):
    chosen = np.asarray(chosen)
    i, k = np.triu_indices(len(chosen), 1)
    return np.column_stack([chosen[i], chosen[k]])


def _best_of_pairs(task, best, pairs, most):
    point, _, bound = task.gauge.triangles(
        task.quadratic, task.x, task.D, pairs, task.limit(best), task.meter, task.tol,
        most=most,
    )  # fmt: skip
    if point is not None:
        weights = np.zeros(len(task.D))
        weights[point[0]], weights[point[1]] = point[2], point[3]
        found = task.mixture(task.even(weights))
        best = better(best, found)
    if best is not None:
        best = polish(task, best)
    return best, bound


def with_more(task, lines, best, n_most):
    """Return a mixture of up to `n_most` prototypes, no dearer than `best`.

    A heuristic: a mixture found stands in for a prototype in the triangles with each
    other one, and each prototype is then weighed anew against all the rest.
    """
    beam = [best, *lines[:N_BEAM]]
    for _ in range(3, n_most + 1):
        grown = [
            m for v in beam if (m := _grow(task, v, best, n_most)) is not None
        ]  # fmt: skip
        if not grown:
            break
        grown.sort(key=lambda m: m.cost)
        beam, new = grown[:N_BEAM], grown[0]
        for _ in range(N_ROUNDS):
            before = new.cost
            new = polish(task, _reweigh(task, new))
            if new.cost > before * (1 - 1e-4) or task.meter.expired:
                break
        beam[0] = new
        gained = new.cost < best.cost * (1 - 1e-9)
        best = better(best, new)
        if not gained or task.meter.expired:
            break
    return best


def _grow(task, mixture, best, n_most):
    """Return the cheapest point of the triangles of a mixture and each prototype."""
    n = len(task.D)
    if len(mixture.support) >= n_most:
        return mixture
    whole = mixture.weights[:, 0]
    whole = whole / whole.sum()
    D = np.vstack([task.D, whole @ task.D])
    others = np.setdiff1d(np.arange(n), mixture.support)
    if not len(others) or task.meter.expired:
        return None
    pairs = np.column_stack([np.full(len(others), n), others])
    limit = task.limit(mixture)
    point, _, _ = task.gauge.triangles(
        task.quadratic, task.x, D, pairs, limit, task.meter, task.tol, most=STEPS
    )
    if point is None:
        return None
    weights = point[2] * whole
    weights[point[1]] += point[3]
    return task.mixture(task.even(weights))


def _reweigh(task, mixture):
    """Weigh each prototype of a mixture anew against the rest of it."""
    best = mixture
    for b in mixture.support:
        if task.meter.expired:
            break
        weights = best.weights[:, 0].copy()
        weights[b] = 0.0
        if not weights.any():
            continue
        rest = weights / weights.sum()
        D = np.stack([rest @ task.D, task.D[b]])
        point, _, _ = task.gauge.triangles(
            task.quadratic, task.x, D, np.array([[0, 1]]), task.limit(best),
            task.meter, task.tol, most=STEPS,
        )  # fmt: skip
        if point is not None:
            weights = point[2] * rest
            weights[b] += point[3]
            best = better(best, task.mixture(task.even(weights)))
    return best


def polish(task, mixture, n_rounds=3):
    """Return a mixture of the same prototypes that single weights cannot improve."""
    best = mixture
    for _ in range(n_rounds):
        before = best.cost
        best = better(best, _pulled(task, best))
        for b in best.support:
            weights = best.weights[:, 0].copy()
            weights[b] = 0.0
            start = task.compose(task.even(weights))
            room = 1.0 - weights.sum()
            limit = task.limit(best)
            mu, _ = task.gauge.lines(
                task.quadratic, start, room * task.D[b][None], limit
            )
            if mu[0] >= 0:
                weights[b] = mu[0] * room
                best = better(best, task.mixture(task.even(weights)))
        if best.cost > before * (1 - 1e-7):
            break
    return best


def _pulled(task, mixture):
    """Return a mixture pulled towards the query, to where it enters the target."""
    d = task.compose(mixture.weights) - task.x
    mu, _ = task.gauge.lines(task.quadratic, task.x, d[None], task.limit(mixture))
    return task.mixture(mixture.weights * mu[0]) if mu[0] > 0 else None
