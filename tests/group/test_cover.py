"""The fewest sets that hold all rows, against another way to solve the program."""

import numpy as np
import pytest
from scipy import optimize

from skcf.group._cover import bound_of, fewest, greedily, membership, prices


@pytest.mark.parametrize("seed", range(20))
def test_fewest_sets_of_random_covers(seed):
    random = np.random.default_rng(seed)
    n, m = 50, 80
    holds = random.random((n, m)) < 0.05
    holds[np.arange(n), random.integers(m, size=n)] = True
    holds = holds[:, holds.any(axis=0)]
    members = [np.flatnonzero(column) for column in holds.T]
    chosen, bound = fewest(members, n)
    other = optimize.milp(
        np.ones(len(members)),
        integrality=np.ones(len(members)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(holds.astype(float), lb=1.0),
    )
    assert holds[:, chosen].any(axis=1).all()
    assert len(chosen) == bound == round(other.fun)


@pytest.mark.parametrize("seed", range(3))
def test_swaps_prices_and_proofs_of_covers_with_a_gap(seed):
    # The linear program is below the fewest sets.
    random = np.random.default_rng(seed)
    members = [np.sort(random.choice(24, 5, replace=False)) for _ in range(60)]
    members += [np.array([i]) for i in range(24)]
    holds = membership(members, 24)
    other = optimize.milp(
        np.ones(len(members)),
        integrality=np.ones(len(members)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(holds.T, lb=1.0),
    )
    best = round(other.fun)
    greedy = greedily(holds)
    assert (holds[greedy].sum(axis=0) >= 1).all()
    quick, least = fewest(members, 24, prove=False)
    assert (holds[quick].sum(axis=0) >= 1).all()
    assert least <= best <= len(quick) <= len(greedy)
    chosen, bound = fewest(members, 24)
    assert (holds[chosen].sum(axis=0) >= 1).all()
    assert len(chosen) == bound == best
    assert bound_of(prices(holds), holds) > least - 1
    # Whatever the prices, their bound is one.
    assert bound_of(random.random(24), holds) <= best
