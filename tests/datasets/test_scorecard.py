import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf.datasets import make_scorecard
from skcf.datasets._scorecard import BOUNDS, LEVELS
from skcf.metrics import proximity, validity
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer

KNOWN = make_scorecard(n_queries=12, as_frame=True, random_state=0)


def test_against_every_application():
    known = make_scorecard(30, n_queries=4, random_state=3)
    X = known.data
    # Between two bounds, only the values next to them and the query's own can be best.
    for x, cost in zip(known.queries, known.cost, strict=True):
        domains = []
        for j, bounds in enumerate(BOUNDS.values()):
            low, high = X[:, j].min(), X[:, j].max()
            edges = {v for b in bounds for v in (b - 1, b)} | {x[j]}
            domains.append(sorted(v for v in edges if low <= v <= high))
        domains += [np.unique(X[:, j]) for j in (3, 4, 5)]
        grid = np.array(list(itertools.product(*domains)))
        grid = grid[known.model.predict(grid) == "granted"]
        gaps = np.abs(grid - x) / np.ptp(X, axis=0)
        gaps[:, 4:] = grid[:, 4:] != x[4:]
        assert cost == pytest.approx(gaps.mean(axis=1).min(), abs=1e-12)


def test_the_same_in_every_container():
    arrays = make_scorecard(n_queries=12, random_state=0)
    np.testing.assert_array_equal(arrays.cost, KNOWN.cost)
    np.testing.assert_array_equal(arrays.target, KNOWN.target)
    points = arrays.model.decision_function(arrays.data)
    for frame in (KNOWN.data, pl.from_pandas(KNOWN.data)):
        np.testing.assert_array_equal(KNOWN.model.decision_function(frame), points)
    for known in (arrays, KNOWN):
        near = proximity(
            known.queries,
            known.nearest,
            reference=known.data,
            categorical_features=known.categorical_features,
            sample_wise=True,
        )
        np.testing.assert_allclose(near, known.cost)
        assert validity(known.queries, known.nearest, estimator=known.model) == 1.0
    assert (KNOWN.queries.index == KNOWN.nearest.index).all()
    assert 0.2 < (KNOWN.target == "granted").mean() < 0.8


def test_points_of_one_application():
    levels = {name: pd.CategoricalDtype(list(LEVELS[name])) for name in LEVELS}
    row = pd.DataFrame(
        {
            "age": [40],
            "income": [50],
            "debts": [2],
            "education": ["college"],
            "housing": ["own"],
            "job": ["skilled"],
        }
    ).astype(levels)
    points = 8 + 17 + 9 + 6 + 8 + 5
    assert KNOWN.model.decision_function(row).tolist() == [45 - 0.5 - points]
    assert KNOWN.model.predict(row).tolist() == ["granted"]


def test_explainers_are_never_nearer_and_mostly_as_near():
    told = {}
    for kind in (GeCoExplainer, NearestUnlikeExplainer):
        explainer = kind(KNOWN.model, target="granted", random_state=0).fit(KNOWN.data)
        explanation = explainer.explain(KNOWN.queries)
        assert (explanation.status == "found").all()
        assert (explanation.cost > KNOWN.cost - 1e-12).all()
        told[kind] = (explanation.cost < KNOWN.cost + 1e-12).mean()
    assert told[GeCoExplainer] >= 0.8 > told[NearestUnlikeExplainer]


def test_more_points_than_there_are():
    with pytest.raises(ValueError, match="threshold=99 is more than the 7[0-9] points"):
        make_scorecard(threshold=99, random_state=0)


def test_arrays_need_no_pandas():
    code = """
import sys
sys.modules["pandas"] = None
from skcf.datasets import make_scorecard
print(make_scorecard(50, random_state=0).queries.shape[1])
"""
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "6"
