import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skcf._explanation._cells import take
from skcf.costs import Cost
from skcf.metrics import proximity
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of

PRICED = Cost(l0=0.1, l1=1.0, l2=0.5, linf=0.25, up={0: 3.0}, weights={1: 2.0})
NUMBERS = st.integers(-9, 9).map(float)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("cost", ["gower", "mace", "geco", PRICED], ids=str)
def test_is_the_cost_of_an_explanation(library, cost):
    explainer, X, _ = fitted(library, cost=cost)
    explanation = explainer.explain(X[:15], n_counterfactuals=2)
    values = proximity(
        take(explanation.queries, explanation.row),
        explanation.counterfactuals,
        reference=X,
        cost=cost,
        constraints=rules_of(library),
        categorical_features=columns_of(library),
        sample_wise=True,
    )
    assert len(values) > 15
    np.testing.assert_array_equal(values, explanation.cost)


def test_formulas():
    # Column 2 is a category; the median of column 1 is 0, and its MAD, so the range.
    reference = np.array([[2.0, 0, 0], [4, 0, 1], [6, 0, 2], [10, 8, 0], [4, 0, 1]])
    x, x_cf = np.array([[4.0, 0, 0]]), np.array([[8.0, 2, 1]])
    d_range, d_median = [4 / 8, 2 / 8, 1], [4 / 4, 2 / 8, 1]
    expected = {
        "gower": sum(d_range) / 3,
        "mace": sum(d_median),
        "geco": (1 + sum(d_range) / 3 + 1) / 3,
        Cost(l0=1, l1=0, average=False): 3,
        Cost(l1=0, l2=1, average=False): sum(d**2 for d in d_range),
    }
    for cost, value in expected.items():
        told = proximity(
            x, x_cf, reference=reference, cost=cost, categorical_features=[2]
        )
        assert told == pytest.approx(value, abs=1e-15)


def test_unknown_cost():
    with pytest.raises(ValueError, match="cost must be"):
        proximity([[1.0]], [[2.0]], reference=[[1.0]], cost="far")


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(float, (6, 3), elements=NUMBERS | st.just(np.nan)))
def test_zero_only_where_nothing_changes_and_symmetric(rows):
    X, X_cf, reference = rows[:3], rows[3:], rows
    near = proximity(X, X_cf, reference=reference, sample_wise=True)
    back = proximity(X_cf, X, reference=reference, sample_wise=True)
    same = ((X == X_cf) | (np.isnan(X) & np.isnan(X_cf))).all(axis=1)
    np.testing.assert_array_equal(near == 0, same)
    np.testing.assert_array_equal(near, back)
    # Within the reference, no distance is more than 1.
    assert (near <= 1 + 1e-12).all()
