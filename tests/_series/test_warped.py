from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._series import SeriesCost, SeriesSpace, alternate, in_triangles, on_lines
from tests._series.small import task

pytest.importorskip("tslearn")


def solve(case):
    lines = on_lines(case)
    if not lines:
        return []
    best = in_triangles(case, lines)[0]
    return [best, *(m for m in lines if m.cost > best.cost)]


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 40), window=st.sampled_from([None, 2]))
def test_turns_never_raise_the_cost(seed, window):
    case = task(seed, n_times=8, n=20, n_trees=9, max_depth=3)
    space = SeriesSpace(case.prototypes, 2)
    cost = SeriesCost(space, "dtw", window)
    found, costs = alternate(case, cost, solve)
    euclidean = solve(case)
    assert bool(found) == bool(euclidean)
    if not found:
        return
    assert all(b <= a * (1 + 1e-9) for a, b in zip(costs, costs[1:], strict=False))
    best = found[0]
    assert case.gauge.holds(best.codes[None])[0]
    told = cost.rows(case.x[None], best.codes[None])[0]
    assert best.cost == pytest.approx(told, rel=1e-9)
    assert best.cost <= euclidean[0].cost * (1 + 1e-9)
    assert all(m.cost >= best.cost for m in found)


def test_the_diagonal_gives_the_euclidean_answer():
    case = task(5, n_times=8, n=20, n_trees=9, max_depth=3)
    space = SeriesSpace(case.prototypes, 2)
    still = SeriesCost(space, "dtw", window=0)
    best = alternate(replace(case), still, solve)[0][0]
    expected = solve(case)[0]
    assert best.cost == pytest.approx(expected.cost, rel=1e-9)
    np.testing.assert_allclose(best.codes, expected.codes, rtol=1e-6)
