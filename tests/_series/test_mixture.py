import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skcf._model import Meter
from skcf._series import in_channels, in_triangles, on_lines, with_more
from skcf._series._gauge import cost_rows
from tests._series.small import task


def ensure_mixture(case, mixture, n_most):
    """Check that a mixture is what it says it is."""
    weights = mixture.weights
    assert (weights >= 0).all()
    assert (weights.sum(axis=0) <= 1 + 1e-9).all()
    assert len(mixture.support) <= n_most
    np.testing.assert_allclose(case.compose(weights), mixture.codes, atol=1e-12)
    assert case.gauge.holds(mixture.codes[None])[0]
    square = cost_rows(case.quadratic, mixture.codes[None])[0]
    n_changed = len(np.unique(case.channel[mixture.codes != case.x]))
    total = case.lambda_0 * n_changed + case.lambda_2 * square
    assert mixture.cost == pytest.approx(total)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 60))
def test_more_prototypes_never_cost_more(seed):
    case = task(seed, n_times=6, n=20, n_trees=9, max_depth=3)
    lines = on_lines(case)
    if not lines:
        return
    for m in lines:
        ensure_mixture(case, m, 1)
    best, bound = in_triangles(case, lines)
    ensure_mixture(case, best, 2)
    assert best.cost * (1 - 1e-3) - 1e-9 <= bound <= best.cost + 1e-9
    assert best.cost <= lines[0].cost
    for n_most in (3, 5):
        more = with_more(case, lines, best, n_most)
        ensure_mixture(case, more, n_most)
        assert more.cost <= best.cost
        best = more


def test_the_cheapest_line_is_left_when_the_time_is_up():
    case = task(8, n_times=6, n=20, n_trees=9, max_depth=3)
    lines = on_lines(case)
    assert len(lines) > 1
    case.meter = Meter(deadline=0.0)
    (left,) = on_lines(case)
    assert left.cost == lines[0].cost


def test_three_prototypes_come_near_the_best_of_a_grid():
    case = task(8, n_times=6, n=12, n_trees=9, max_depth=3)
    lines = on_lines(case)
    best = with_more(case, lines, in_triangles(case, lines)[0], 3)
    random = np.random.default_rng(0)
    least = np.inf
    for _ in range(40):
        weights = np.zeros((2000, len(case.D)))
        chosen = random.choice(len(case.D), 3, replace=False)
        share = random.dirichlet(np.ones(3), size=2000) * random.random((2000, 1))
        weights[:, chosen] = share
        codes = case.x + weights @ case.D
        held = codes[case.gauge.holds(codes)]
        least = min([least, *cost_rows(case.quadratic, held)])
    assert best.cost <= least * 1.02


def several_channels(seed, lambda_0=1.0):
    """Return a task of three channels of two times."""
    case = task(seed, n_times=6, n=16, n_trees=7, max_depth=3)
    case.channel, case.n_channels = np.array([0, 1, 2, 0, 1, 2]), 3
    case.lambda_0 = lambda_0
    return case


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 60), lambda_0=st.sampled_from([0.0, 1.0]))
def test_channels_have_weights_of_their_own(seed, lambda_0):
    case = several_channels(seed, lambda_0)
    if not len(case.D):
        return
    one, two = in_channels(case, 1), in_channels(case, 2)
    for m in one:
        ensure_mixture(case, m, 1)
    for m in two:
        ensure_mixture(case, m, 2)
    if one:
        assert two[0].cost <= one[0].cost
        # No channel of the best answer can be left as it was.
        for j in np.flatnonzero(one[0].weights.any(axis=0)):
            weights = one[0].weights.copy()
            weights[:, j] = 0.0
            codes = case.compose(weights)
            held = case.gauge.holds(codes[None])[0]
            assert not held or case.total(codes) >= one[0].cost or not weights.any()
