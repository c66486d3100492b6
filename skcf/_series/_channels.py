"""Mixtures in which each channel has weights of its own, and few channels change."""

import numpy as np

from skcf._series._mixture import better

N_GREEDY = 8
N_ATOMS = 48
MAX_CHANNELS = 48
MAX_CELLS = 50_000_000
STEPS = 20_000


def in_channels(task, n_most):
    """Return mixtures of up to `n_most` prototypes, cheapest first.

    A heuristic beyond one channel. Exact are: one prototype in one channel; two
    channels with one prototype, until the steps are over. From there, channels are
    added greedily, dropped where they are not needed, and weighed one by one.
    """
    atoms = Atoms(task)
    found = [*_all_channels(task), *_single_channels(task, atoms)]
    best = min(found, key=lambda m: m.cost, default=None)
    found += _two_channels(task, atoms, best)
    found += _greedy(task, atoms, 1)
    best = min(found, key=lambda m: m.cost, default=None)
    if best is not None:
        best = refined(task, best)
        found.append(best)
    for size in range(2, n_most + 1):
        if task.meter.expired:
            break
        more = _greedy(task, atoms, size)
        if size == 2:
            more += _two_prototypes(task, atoms, best)
        best = min([*more, best], key=lambda m: m.cost) if best else best
        if best is not None:
            best = refined(task, best, n_most=size)
            found.append(best)
        found += more
    return sorted(found, key=lambda m: m.cost)


class Atoms:
    """The differences of single channels of single prototypes from the query."""

    def __init__(self, task):
        n = len(task.D)
        n_fits = MAX_CELLS // (task.n_channels * len(task.x))
        order = np.argsort((task.D**2).sum(axis=1), kind="stable")
        self.near = order[: max(1, min(n, n_fits))]
        self.masks = task.channel == np.arange(task.n_channels)[:, None]
        self.task = task

    def of(self, b):
        """Return the atoms of one prototype, (n_channels, n_features)."""
        return self.task.D[b] * self.masks

    def weights(self, parts):
        """Return the weights of [(prototype, channel, weight), ...]."""
        out = np.zeros((len(self.task.D), self.task.n_channels))
        for b, j, weight in parts:
            out[b, j] += weight
        return out


def _all_channels(task):
    mu, cost = task.gauge.lines(task.quadratic, task.x, task.D)
    found = []
    for b in np.argsort(cost, kind="stable")[:N_GREEDY]:
        if np.isfinite(cost[b]):
            weights = np.zeros((len(mu), task.n_channels))
            weights[b] = mu[b]
            found.append(task.mixture(weights))
    return [m for m in found if m is not None]


def _single_channels(task, atoms):
    found = []
    for b in atoms.near:
        if task.meter.expired:
            break
        mu, cost = task.gauge.lines(task.quadratic, task.x, atoms.of(b))
        j = int(np.argmin(cost))
        if np.isfinite(cost[j]):
            found.append(task.mixture(atoms.weights([(b, j, mu[j])])))
    return [m for m in found if m is not None]


def _two_channels(task, atoms, best):
    """Return the cheapest mixtures of one prototype in two channels.

    Of more than `MAX_CHANNELS`, those whose swaps gain most are paired.
    """
    few = min(MAX_CHANNELS, task.n_channels)
    pairs = np.column_stack(np.triu_indices(few, 1))
    found = []
    for b in atoms.near:
        limit = task.limit(best, 2)
        if limit <= 0 or task.meter.expired:
            break
        D, top = atoms.of(b), np.arange(task.n_channels)
        if few < task.n_channels:
            gains = task.gauge.margins(task.x + D)
            top = np.argsort(-gains, kind="stable")[:few]
        point, _, _ = task.gauge.triangles(
            task.quadratic, task.x, D[top], pairs, limit, task.meter, task.tol,
            simplex=False, most=STEPS,
        )  # fmt: skip
        if point is not None:
            i, k, a, c = point
            mixture = task.mixture(atoms.weights([(b, top[i], a), (b, top[k], c)]))
            if mixture is not None:
                found.append(mixture)
                best = better(best, mixture)
    return found


def _two_prototypes(task, atoms, best):
    """Return mixtures of two prototypes in one channel or in two, if cheaper."""
    chosen = _strongest(task, atoms)
    if len(chosen) < 2 or best is None:
        return []
    D = np.stack([atoms.of(b)[j] for b, j in chosen])
    owner, channel = np.array(chosen).T
    i, k = np.triu_indices(len(chosen), 1)
    found = []
    for same in (True, False):
        kept = ((channel[i] == channel[k]) == same) & (owner[i] != owner[k])
        limit = task.limit(best, 1 if same else 2)
        if limit <= 0 or not kept.any():
            continue
        point, _, _ = task.gauge.triangles(
            task.quadratic, task.x, D, np.column_stack([i[kept], k[kept]]), limit,
            task.meter, task.tol, simplex=same, most=STEPS,
        )  # fmt: skip
        if point is not None:
            parts = [(*chosen[point[0]], point[2]), (*chosen[point[1]], point[3])]
            mixture = task.mixture(atoms.weights(parts))
            if mixture is not None:
                found.append(mixture)
                best = better(best, mixture)
    return found


def _strongest(task, atoms):
    """Return the (prototype, channel) whose swap gains most."""
    gains = np.stack([task.gauge.margins(task.x + atoms.of(b)) for b in atoms.near])
    order = np.argsort(-gains, axis=None, kind="stable")[:N_ATOMS]
    rows, channels = np.unravel_index(order, gains.shape)
    return [(int(atoms.near[r]), int(j)) for r, j in zip(rows, channels, strict=True)]


def _greedy(task, atoms, n_most):
    """Swap channels one after another, always the one that gains most.

    There is one start for each of the nearest prototypes; with several, the first
    channel is that prototype's and further ones come from any.
    """
    found = []
    near = atoms.near[:N_GREEDY]
    blocks = {int(b): atoms.of(b) for b in near}
    for first in map(int, near):
        if task.meter.expired:
            break
        codes, parts, used = task.x, [], []
        while len(parts) < task.n_channels:
            sources = list(blocks) if 0 < len(used) < n_most else used or [first]
            rows = [
                (b, j)
                for b in sources
                for j in range(task.n_channels)
                if not any(j == other for _, other in parts)
            ]
            moved = codes + np.stack([blocks[b][j] for b, j in rows])
            margins = np.round(task.gauge.margins(moved), 9)
            b, j = rows[int(np.argmax(margins))]
            parts.append((b, j))
            used = sorted({*used, b})
            codes = codes + blocks[b][j]
            if task.gauge.holds(codes[None])[0]:
                mixture = task.mixture(atoms.weights([(*p, 1.0) for p in parts]))
                if mixture is not None:
                    found.append(refined(task, mixture, n_rounds=1))
                break
    return found


def refined(task, mixture, n_rounds=3, n_most=None):
    """Return a mixture without needless channels, each weight at its best."""
    best = mixture
    for _ in range(n_rounds):
        before = best.cost
        best = _dropped(task, best)
        for b, j in np.argwhere(best.weights > 0):
            if task.meter.expired:
                break
            weights = best.weights.copy()
            weights[b, j] = 0.0
            room = 1.0 - weights[:, j].sum()
            start = task.compose(weights)
            d = room * np.where(task.channel == j, task.D[b], 0.0)
            n = int(weights.any(axis=0).sum()) + (not weights[:, j].any())
            limit = task.limit(best, n)
            mu, _ = task.gauge.lines(task.quadratic, start, d[None], limit)
            if mu[0] >= 0:
                weights[b, j] = mu[0] * room
                best = better(best, task.mixture(weights))
        if best.cost > before * (1 - 1e-4):
            break
    return best


def _dropped(task, mixture):
    """Return a mixture from which no single channel can be dropped."""
    best = mixture
    while True:
        changed = np.flatnonzero(best.weights.any(axis=0))
        options = []
        for j in changed:
            weights = best.weights.copy()
            weights[:, j] = 0.0
            if weights.any() and task.gauge.holds(task.compose(weights)[None])[0]:
                options.append(task.mixture(weights))
        new = min((m for m in options if m), key=lambda m: m.cost, default=None)
        if new is None or new.cost >= best.cost:
            return best
        best = new
