"""Random spaces, candidates and problems without a model, for tests of loops."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from skcf._search import Problem
from skcf._space import PAD, Candidates, FeatureSpace
from skcf.constraints._ground import Ground
from skcf.constraints._rule import check_rules
from skcf.constraints._rule_set import RuleSet
from skcf.costs import Cost

FEW = settings(max_examples=25, deadline=None, derandomize=True, database=None)
seeds = st.integers(0, 2**32 - 1)


def space_of(rng, groups=()):
    X = rng.integers(0, 6, (40, 5)) / 2.0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = 1.0
    return FeatureSpace(X, categorical_features=[4], groups=groups, allow_missing=True)


def some_candidates(rng, values, n, n_rows):
    """Return tidy candidates of random values, some without any."""
    n_groups = len(values.single)
    size = np.diff(values.offsets)
    ids = values.offsets[:-1] + (rng.random((n, n_groups)) * size).astype(np.intp)
    ids[rng.random(ids.shape) < 0.5] = PAD
    return Candidates(rng.integers(0, n_rows, n), ids).tidy(values)


class Bare(Problem):
    """A problem without a model: what costs are worked out from."""

    def __init__(self, x, values, cost, ground=None):
        self.x, self.values, self.cost, self.ground = x, values, cost, ground


def grounded(rng, groups):
    """Return a problem of seven queries with a few rules."""
    space = space_of(rng, groups)
    rules = ["cf[1] >= x[1]", "cf[3] in [0, 2]", "not changed(4)"]
    some = rng.random(3) < 0.5
    rules = RuleSet(
        check_rules([r for r, use in zip(rules, some, strict=True) if use]), space
    )
    x = rng.integers(0, 6, (7, 5)) / 2.0
    ground = Ground(rules, x)
    cost = Cost(*rng.random(4), up={3: 2.0}, scale="std")._bind(space)
    return Bare(x, ground.values, cost, ground)
