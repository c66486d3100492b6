import numpy as np
import pytest

from skcf._mip._tree_branch import TreeSearch
from skcf._mip._tree_reduce import compact
from tests._mip.random_cells import (
    KINDS,
    all_costs,
    all_points,
    all_scores,
    make_cells,
    optimum,
    possible,
)


def search(cells, **params):
    ordered = np.arange(len(cells.groups)) % 2 == 0
    return TreeSearch(cells, ordered, (), lambda codes, score: True, **params)


@pytest.mark.parametrize("climbs", [True, False])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(16))
def test_search_finds_the_cheapest_point(seed, kind, climbs):
    cells = make_cells(100 + seed, **kind)
    found = search(cells)
    if climbs:
        found.climb()
    found.run()
    assert found.done
    least = optimum(cells)
    assert found.cost == least or abs(found.cost - least) <= 1e-9
    assert found.bound == found.cost


@pytest.mark.parametrize("seed", range(8))
def test_what_the_model_turns_down_is_passed_over(seed):
    # Between `need` and `sure` the model decides: here it turns down most points.
    cells = make_cells(seed)
    object.__setattr__(cells, "sure", np.full(1, np.inf))
    points = all_points(cells)
    ok = possible(cells, points)
    score = all_scores(cells, points)[:, 0]

    def decide(codes, row):
        return int(abs(row[0]) * 1e6) % 3 == 0

    told = np.array([decide(None, [s]) for s in score])
    some = points[ok & told]
    least = all_costs(cells, some).min() if len(some) else np.inf
    ordered = np.zeros(len(cells.groups), dtype=bool)
    found = TreeSearch(cells, ordered, (), decide)
    found.climb()
    found.run()
    assert found.cost == least or abs(found.cost - least) <= 1e-9


def test_an_upper_bound_cuts_off_what_is_not_cheaper():
    cells = make_cells(3)
    least = optimum(cells)
    assert search(cells).run(upper=least * 0.99).point is None
    assert search(cells).run(upper=least * 1.01).cost == pytest.approx(least)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_compact_problems_have_the_same_optimum(seed, kind):
    cells = make_cells(50 + seed, **kind)
    alive = np.isfinite(cells.cost)
    live = np.ones(len(cells.leaves), dtype=bool)
    small, origin = compact(cells, alive, live)
    assert len(small.cost) <= alive.sum()
    np.testing.assert_array_equal(small.cost, cells.cost[origin])
    points = all_points(small)
    np.testing.assert_allclose(
        all_scores(small, points), all_scores(cells, origin[points]), atol=1e-9
    )
    least, known = optimum(small), optimum(cells)
    assert least == known or abs(least - known) <= 1e-12
