"""What values gain is told query by query."""

from types import SimpleNamespace

import numpy as np
import pytest

from skcf._search._effects import Effects
from skcf._space import PAD, Candidates

N_GROUPS, N_VALUES = 4, 24
GROUP = np.repeat(np.arange(N_GROUPS), N_VALUES // N_GROUPS)


def effects(n_queries):
    """Return effects of queries of the strength 0."""
    values = SimpleNamespace(
        n_observed=N_VALUES, group=GROUP, single=np.arange(N_GROUPS)
    )
    out = Effects(values, n_queries)
    out.learn(Candidates.unchanged(np.arange(n_queries)), np.zeros(n_queries))
    return out


def lots(row, seed, n_lots=5):
    """Yield candidates of a query with their strengths, some at a time."""
    rng = np.random.default_rng(seed)
    for _ in range(n_lots):
        n = rng.integers(1, 8)
        value = rng.integers(0, N_VALUES // N_GROUPS, (n, N_GROUPS))
        value += np.arange(N_GROUPS) * (N_VALUES // N_GROUPS)
        value[rng.random(value.shape) < 0.5] = PAD
        value = np.sort(np.where(value == PAD, N_VALUES, value), axis=1)
        value[value == N_VALUES] = PAD
        value = value[(value != PAD).any(axis=1)]
        yield Candidates(np.full(len(value), row), value), rng.normal(size=len(value))


def gains(told, row):
    """Return the gains of all values on a query."""
    return told.of(np.full(N_VALUES, row), np.arange(N_VALUES))


@pytest.mark.parametrize("seed", range(5))
def test_a_query_is_fitted_as_if_it_were_alone(seed):
    together, alone = effects(2), [effects(1), effects(1)]
    for pair in zip(lots(0, seed), lots(1, seed + 100), strict=True):
        for row, (cands, strength) in enumerate(pair):
            together.learn(cands, strength)
            alone[row].learn(Candidates(0 * cands.row, cands.value), strength)
            # The other query is asked about as well, so that both are fitted.
            for k in range(2):
                np.testing.assert_array_equal(gains(together, k), gains(alone[k], 0))
                assert together.spread[k] == alone[k].spread[0]


def test_what_is_learned_again_counts_alone():
    told, fresh = effects(1), effects(1)
    *former, last = lots(0, 3)
    for cands, strength in former:
        # What values do alone is kept.
        keep = cands.n_changed > 1
        told.learn(cands.take(keep), strength[keep])
    told.relearn(*last)
    fresh.learn(*last)
    np.testing.assert_array_equal(gains(told, 0), gains(fresh, 0))
