import numpy as np
import pytest
from scipy.optimize import linprog

from skcf.datasets import make_halfspace
from skcf.metrics import proximity, validity
from skcf.tabular import GeCoExplainer, OptimalExplainer

KNOWN = make_halfspace(n_queries=12, random_state=0)


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_against_a_linear_program(n_features):
    known = make_halfspace(80, n_features, n_queries=10, random_state=n_features)
    model = known.model.estimator
    for x, nearest, cost in zip(known.queries, known.nearest, known.cost, strict=True):
        p = n_features
        # Rises and falls of each feature.
        told = linprog(
            np.ones(2 * p) / p,
            A_eq=np.concatenate([model.coef_[0], -model.coef_[0]])[None, :],
            b_eq=-model.intercept_ - x @ model.coef_.T,
            bounds=[*((0, 1 - v) for v in x), *((0, v) for v in x)],
        )
        assert cost == pytest.approx(told.fun, abs=1e-9)
        assert abs(model.decision_function(nearest[None, :])[0]) < 1e-9
    assert (nearest >= 0).all() and (nearest <= 1).all()


def test_shapes_and_labels():
    assert KNOWN.data.shape == (200, 4) and KNOWN.queries.shape == (12, 4)
    np.testing.assert_array_equal(np.ptp(KNOWN.data, axis=0), 1)
    np.testing.assert_array_equal(KNOWN.model.predict(KNOWN.data), KNOWN.target)
    assert 0.4 < KNOWN.target.mean() < 0.6
    near = proximity(
        KNOWN.queries, KNOWN.nearest, reference=KNOWN.data, sample_wise=True
    )
    np.testing.assert_allclose(near, KNOWN.cost)
    again = make_halfspace(n_queries=12, random_state=0)
    np.testing.assert_array_equal(again.cost, KNOWN.cost)


@pytest.mark.parametrize("kind", [GeCoExplainer, OptimalExplainer])
def test_explainers_come_as_near_as_one_likes(kind):
    explainer = kind(KNOWN.model, resolution=None, random_state=0).fit(KNOWN.data)
    told = explainer.explain(KNOWN.queries)
    assert (told.status == "found").all()
    assert (told.cost > KNOWN.cost).all()
    assert (told.cost < KNOWN.cost + 1e-3).mean() >= (
        1.0 if kind is OptimalExplainer else 0.8
    )
    assert validity(*told.pairs(), estimator=KNOWN.model) == 1.0
