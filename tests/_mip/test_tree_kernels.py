import numpy as np
import pytest

from skcf._mip._tree_incumbent import Arrays
from skcf._mip._tree_kernels import n_broken, pair_gains, sweep
from skcf._mip._tree_tighten import tighten
from tests._mip.random_cells import (
    KINDS,
    all_costs,
    all_points,
    all_scores,
    make_cells,
    possible,
)


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_sums_over_leaves(seed):
    cells = make_cells(seed, n_rows=1 + seed % 2)
    points = all_points(cells)
    np.testing.assert_allclose(Arrays(cells).score(points), all_scores(cells))


@pytest.mark.parametrize("seed", range(10))
def test_sweep_and_pairs_are_what_changes_really_add(seed):
    cells = make_cells(seed, n_rows=1 + seed % 2)
    a = Arrays(cells)
    points = all_points(cells)
    point = points[7 * seed % len(points)]
    score, gain = sweep(a.leaves, a.offsets, a.base, point)
    np.testing.assert_allclose(score, all_scores(cells, point[None])[0])
    n = len(cells.cost)
    more = pair_gains(a.leaves, a.offsets, a.base, point, np.arange(n), n)
    for u in range(n):
        one = point.copy()
        one[a.group_of[u]] = u
        told = all_scores(cells, one[None])[0]
        np.testing.assert_allclose(score + gain[u], told, atol=1e-12)
        for v in range(n):
            if a.group_of[v] == a.group_of[u]:
                continue
            two = one.copy()
            two[a.group_of[v]] = v
            told = all_scores(cells, two[None])[0]
            said = score + gain[u] + gain[v] + more[u, v]
            np.testing.assert_allclose(said, told, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_broken_rules_are_counted(seed):
    cells = make_cells(seed, coupled=True, limited=True)
    a, points = Arrays(cells), all_points(cells)
    keeps = np.array([n_broken(a.rules, a.home, a.offsets, p) == 0 for p in points])
    (_, most), (groups, table) = cells.limits[0], cells.couplings[0]
    at = tuple(points[:, g] - cells.offsets[g] for g in groups)
    truth = ((points != cells.home).sum(axis=1) <= most) & table[at]
    np.testing.assert_array_equal(keeps, truth)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_tighten_keeps_every_cheap_point_in_the_target(seed, kind):
    cells = make_cells(seed, **kind)
    a, points = Arrays(cells), all_points(cells)
    points = points[possible(cells, points)]
    costs = all_costs(cells, points)
    for cutoff in (0.3, 0.7, 1.5, np.inf):
        alive = np.isfinite(cells.cost)
        live = np.ones(len(cells.leaves), dtype=bool)
        left = tighten(
            a.leaves,
            a.offsets,
            a.base,
            cells.need,
            a.prices,
            a.rules,
            a.home,
            cutoff,
            alive,
            live,
        )
        cheap = points[costs <= cutoff - 1e-9]
        assert left or not len(cheap)
        if not left:
            continue
        assert alive[cheap].all()
        # Each tree still has the leaf of each such point.
        trees = cells.leaves
        for point in cheap:
            for k in np.flatnonzero(~live):
                sides = range(trees.first[k], trees.first[k + 1])
                at = [
                    trees.begin[s]
                    + point[trees.group[s]]
                    - cells.offsets[trees.group[s]]
                    for s in sides
                ]
                assert not trees.mask[at].all()
