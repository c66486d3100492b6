"""Tests of stability under small moves of the queries."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skcf.metrics import stability
from skcf.metrics._stability import _moved
from skcf.tabular import NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, fitted
from tests.lending import REFUSED, X
from tests.lending import fitted as lending


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["geco", "nearest"])
def test_near_queries_get_near_answers(library, kind):
    kinds = {} if kind == "geco" else {"kind": NearestUnlikeExplainer}
    explainer, X, _ = fitted(library, **kinds)
    x, x_cf = explainer.explain(X[:8]).pairs()
    options = {"explainer": explainer, "reference": X, "random_state": 0}
    told = stability(x, x_cf, sample_wise=True, **options)
    assert told.shape == (8,) and (told > 0.5).all() and (told <= 1).all()
    assert stability(x, x_cf, **options) == told.mean()
    # Answers to other rows are not near.
    assert stability(x, x_cf[::-1], **options) < told.mean()


def test_moves_are_small_and_on_the_grid():
    explainer = lending(constraints='together("years", "married")')
    space = explainer._space
    before = np.repeat(space.encode(X), 20, axis=0)
    after = _moved(space, before, 0.01, np.random.RandomState(0))
    salary = list(X.columns).index("salary")
    moved = (before != after).any(axis=0)
    assert moved.tolist() == [j == salary for j in range(5)]
    gap = np.abs(after - before)[:, salary]
    assert gap.max() <= 0.01 * np.ptp(X["salary"]) + 0.005
    np.testing.assert_allclose(after[:, salary], after[:, salary].round(2), atol=1e-12)
    assert after[:, salary].min() == X["salary"].min()
    assert after[:, salary].max() <= X["salary"].max()
    # A query outside of the training range stays where it is, or moves inwards.
    before[0, salary] = 1e4
    after = _moved(space, before[:1], 0.01, np.random.RandomState(0))
    assert 9e3 < after[0, salary] <= 1e4


def test_a_row_without_an_answer_counts_zero():
    explainer = lending(NearestUnlikeExplainer)
    shut = lending(NearestUnlikeExplainer, constraints="cf.years >= x.years + 99")
    x, x_cf = explainer.explain(REFUSED[:4]).pairs()
    told = stability(x, x_cf, explainer=shut, reference=X, random_state=0)
    assert told == 0.0


def test_a_row_in_the_target_is_its_own_answer():
    explainer = lending(NearestUnlikeExplainer)
    x = REFUSED[:4]
    told = stability(
        x, x, explainer=explainer, reference=X, target="refused", random_state=0
    )
    assert 0.99 < told < 1
    told = stability(
        x,
        x,
        explainer=explainer,
        reference=X,
        target=["refused"] * 4,
        noise=1e-9,
        random_state=0,
    )
    assert told == 1.0


def test_a_query_that_is_moved_across_the_boundary_is_its_own_answer():
    points = np.arange(101.0).reshape(-1, 1) / 100
    explainer = NearestUnlikeExplainer(LogisticRegression(C=1e4), random_state=0)
    explainer.fit(points, points[:, 0] > 0.505)
    x, x_cf = np.array([[0.5]]), np.array([[0.51]])
    assert explainer.transform(x).tolist() == x_cf.tolist()
    told = stability(
        x,
        x_cf,
        explainer=explainer,
        reference=points,
        noise=0.05,
        n_repeats=50,
        random_state=0,
    )
    # Half of the moves cross; an answer back to the old class would be as far as 0.05.
    moves = np.random.RandomState(0).uniform(-0.05, 0.05, 50)
    moved = (0.5 + moves).round(2)
    own = np.where(moved > 0.505, moved, 0.51)
    assert told == pytest.approx(1 - np.abs(own - 0.51).mean())


def test_what_does_not_fit():
    options = {"explainer": lending(NearestUnlikeExplainer), "reference": X}
    for noise in (0, -1.0, np.inf, "a"):
        with pytest.raises(ValueError, match="noise must be a positive number"):
            stability(X, X, noise=noise, **options)
    for n in (0, True, 1.5):
        with pytest.raises(ValueError, match="n_repeats must be an integer"):
            stability(X, X, n_repeats=n, **options)
    assert np.isnan(stability(X[:0], X[:0], **options))
