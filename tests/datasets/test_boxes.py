import itertools

import numpy as np
import pytest

from skcf.datasets import make_boxes
from skcf.metrics import proximity, validity
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer


def test_against_every_point_of_the_grid():
    known = make_boxes(60, 2, n_boxes=2, n_queries=15, random_state=1)
    axis = np.arange(101) / 100
    grid = np.array(list(itertools.product(axis, axis)))
    inside = grid[known.model.predict(grid) == 1]
    assert 0 < len(inside) < len(grid)
    for x, cost in zip(known.queries, known.cost, strict=True):
        assert cost == pytest.approx(np.abs(inside - x).mean(axis=1).min(), abs=1e-9)


def test_shapes_and_labels():
    known = make_boxes(random_state=0)
    assert known.data.shape == (300, 4) and known.queries.shape == (20, 4)
    np.testing.assert_array_equal(np.ptp(known.data, axis=0), 1)
    np.testing.assert_array_equal(known.model.predict(known.data), known.target)
    assert 0.05 < known.target.mean() < 0.5
    pairs = known.queries, known.nearest
    assert validity(*pairs, estimator=known.model) == 1.0
    near = proximity(*pairs, reference=known.data, sample_wise=True)
    np.testing.assert_allclose(near, known.cost)


def test_explainers_are_never_nearer_and_mostly_as_near():
    known = make_boxes(random_state=0)
    told = {}
    for kind in (GeCoExplainer, NearestUnlikeExplainer):
        explainer = kind(known.model, random_state=0).fit(known.data)
        explanation = explainer.explain(known.queries)
        assert (explanation.status == "found").all()
        assert (explanation.cost > known.cost - 1e-9).all()
        told[kind] = (explanation.cost < known.cost + 1e-9).mean()
    assert told[GeCoExplainer] >= 0.8 > told[NearestUnlikeExplainer]
