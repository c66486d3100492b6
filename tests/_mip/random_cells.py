"""Random finite problems so small that every point can be looked at."""

from itertools import product

import numpy as np

from skcf._mip._cells import Cells, Leaves

# What the finite problems of the tests are like.
KINDS = [
    {},
    {"n_rows": 2},
    {"linf": 0.6},
    {"coupled": True},
    {"limited": True, "n_rows": 2, "coupled": True},
]


def make_cells(seed, n_rows=1, linf=0.0, coupled=False, limited=False):
    """Return random Cells: trees over three or four groups of two to five values."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, int(rng.integers(3, 5)))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    n = int(offsets[-1])
    home = offsets[:-1] + rng.integers(0, sizes)
    cost, peak = rng.uniform(0.1, 1.0, n), np.zeros(n)
    cost[home] = 0.0
    if linf:
        peak = np.where(cost > 0, cost * rng.uniform(0.5, 1.5, n), 0.0)
    cost[rng.random(n) < 0.08] = np.inf
    leaves = _leaves(rng, sizes, int(rng.integers(2, 6)), n_rows)
    cells = Cells(
        x=np.zeros(len(sizes)),
        groups=tuple((g,) for g in range(len(sizes))),
        offsets=offsets.astype(np.int64),
        code=np.arange(n, dtype=float)[:, None],
        low=np.arange(n, dtype=float),
        high=np.arange(n, dtype=float),
        cost=cost,
        peak=np.where(np.isfinite(cost), peak, np.inf),
        linf=linf,
        home=np.where(np.isfinite(cost[home]), home, -1).astype(np.int64),
        leaves=leaves,
        base=rng.normal(size=n_rows),
        need=np.zeros(n_rows),
        sure=np.zeros(n_rows),
        limits=((np.ones(len(sizes), dtype=bool), 2),) if limited else (),
        couplings=(_coupling(rng, sizes),) if coupled else (),
    )
    score = all_scores(cells)
    level = np.quantile(score, 0.8, axis=0) + 1e-6
    object.__setattr__(cells, "need", level)
    object.__setattr__(cells, "sure", level)
    return cells


def _coupling(rng, sizes):
    groups = tuple(rng.choice(len(sizes), 2, replace=False).tolist())
    return groups, rng.random(sizes[list(groups)]) < 0.7


def _leaves(rng, sizes, n_trees, n_rows):
    tree, sides, weights = [], [], []
    for t in range(n_trees):
        stack = [({}, 0)]
        while stack:
            box, depth = stack.pop()
            g = int(rng.integers(len(sizes)))
            have = box.get(g, np.ones(sizes[g], dtype=bool))
            if depth == 3 or have.sum() < 2 or rng.random() < 0.15 * depth:
                tree.append(t)
                sides.append(box)
                weights.append(rng.normal(size=n_rows))
                continue
            left = rng.random(sizes[g]) < 0.5
            if rng.random() < 0.7:
                left = np.arange(sizes[g]) < rng.integers(1, sizes[g])
            for part in (have & left, have & ~left):
                if part.any():
                    stack.append(({**box, g: part}, depth + 1))
    first = np.concatenate([[0], np.cumsum([len(box) for box in sides])])
    masks = [mask for box in sides for mask in box.values()]
    size = np.array([len(m) for m in masks], dtype=np.int64)
    return Leaves(
        tree=np.array(tree, dtype=np.int32),
        weight=np.array(weights),
        first=first.astype(np.int64),
        group=np.array([g for box in sides for g in box], dtype=np.int32),
        begin=np.cumsum(size) - size,
        mask=np.concatenate(masks) if masks else np.zeros(0, dtype=bool),
    )


def all_points(cells):
    """Return every choice of a value a group."""
    spans = zip(cells.offsets[:-1], cells.offsets[1:], strict=True)
    return np.array(list(product(*(range(a, b) for a, b in spans))), dtype=np.int64)


def all_scores(cells, points=None):
    """Return the score rows of points, leaf by leaf in plain numpy."""
    points = all_points(cells) if points is None else points
    trees, out = cells.leaves, np.tile(cells.base, (len(points), 1))
    for k in range(len(trees)):
        inside = np.ones(len(points), dtype=bool)
        for s in range(trees.first[k], trees.first[k + 1]):
            g = trees.group[s]
            at = points[:, g] - cells.offsets[g]
            inside &= trees.mask[trees.begin[s] + at]
        out[inside] += trees.weight[k]
    return out


def all_costs(cells, points):
    """Return the cost of points."""
    return cells.cost[points].sum(axis=1) + cells.linf * cells.peak[points].max(axis=1)


def possible(cells, points):
    """Return which points are in the target and keep the rules."""
    ok = (all_scores(cells, points) >= cells.need).all(axis=1)
    ok &= np.isfinite(cells.cost[points]).all(axis=1)
    moved = points != cells.home
    for mask, most in cells.limits:
        ok &= moved[:, mask].sum(axis=1) <= most
    for groups, table in cells.couplings:
        at = tuple(points[:, g] - cells.offsets[g] for g in groups)
        ok &= table[at]
    return ok


def optimum(cells):
    """Return the least cost, inf if nothing is possible."""
    points = all_points(cells)
    ok = possible(cells, points)
    return all_costs(cells, points[ok]).min() if ok.any() else np.inf
