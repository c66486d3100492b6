"""The compiled costs are those of the cost."""

import numpy as np
import pandas as pd
import pytest

from skcf._index._kernel import costs
from skcf._space import FeatureSpace
from skcf.costs import Cost

COSTS = {
    "gower": Cost(),
    "sparse": Cost(l0=1.0, l1=1e-4, average=False),
    "all norms": Cost(0.3, 0.2, 0.4, 0.1, scale="std"),
    "prices": Cost(weights={"age": 3.0, "job": 0.0}, up={"age": 2.0}, down={"r": 5.0}),
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("groups", [(), [(0, 2)]])
def test_compiled_costs_are_those_of_rows(name, groups):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 80).astype(float),
            "r": rng.normal(size=80).round(2),
            "job": rng.choice(["cook", "nurse", "pilot"], 80),
        }
    )
    frame.loc[[3, 9], "age"] = np.nan
    space = FeatureSpace(frame, groups=groups, allow_missing=True)
    cost, codes = COSTS[name]._bind(space), space.encode(frame)
    got = costs(cost, codes[:30], codes)
    before, after = codes[:30, None], codes[None]
    expected = cost.rows(before, after)
    lacks = (np.isnan(after) & ~np.isnan(before)).any(axis=2)
    expected[lacks | (cost.n_changed(before, after) == 0)] = np.inf
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=0)
    assert np.isinf(got[:, [3, 9]]).sum() > 50
