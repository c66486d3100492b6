"""The fewest sets that hold all rows, against another way to solve the program."""

import numpy as np
import pytest
from scipy import optimize

from skcf.group._cover import fewest


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
