"""Sets of rows that others contain."""

import numpy as np
import pytest

from skcf.group._clusters import undominated


@pytest.mark.parametrize("seed", range(10))
def test_sets_that_no_other_one_contains(seed):
    random = np.random.default_rng(seed)
    members = random.random((60, 9)) < random.uniform(0.1, 0.6)
    kept = set(undominated(members))
    for c, mine in enumerate(members):
        within = [
            d
            for d, other in enumerate(members)
            if d != c
            and not (mine & ~other).any()
            and (other.sum() > mine.sum() or d < c)
        ]
        assert (c in kept) == (mine.any() and not within)
