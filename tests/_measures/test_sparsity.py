import numpy as np
import pandas as pd
import pytest

from skcf._explanation._cells import take
from skcf.constraints import together
from skcf.metrics import sparsity
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of


@pytest.mark.parametrize("library", LIBRARIES)
def test_is_the_n_changed_of_an_explanation(library):
    explainer, X, _ = fitted(library)
    explanation = explainer.explain(X[:25], n_counterfactuals=3)
    options = {"constraints": rules_of(library)}
    options["categorical_features"] = columns_of(library)
    pairs = take(explanation.queries, explanation.row), explanation.counterfactuals
    for reference in (None, X):
        values = sparsity(*pairs, reference=reference, sample_wise=True, **options)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, explanation.n_changed)
        assert sparsity(*pairs, reference=reference, **options) == values.mean()
    assert len(np.unique(explanation.n_changed)) > 1


def test_counts_cells():
    X = pd.DataFrame(
        {"a": [1.0, np.nan, np.nan], "b": ["u", "v", None], "c": [1, 2, 3]}
    )
    X_cf = pd.DataFrame(
        {"a": [2.0, np.nan, 0.0], "b": ["u", "u", None], "c": [9, 9, 9]}
    )
    assert sparsity(X, X_cf, sample_wise=True).tolist() == [2, 2, 2]
    tied = sparsity(X, X_cf, constraints=together("a", "b", "c"), sample_wise=True)
    assert tied.tolist() == [1, 1, 1]
    tied = sparsity(X, X_cf, constraints=together("b", "c"), sample_wise=True)
    assert tied.tolist() == [2, 1, 2]


def test_without_pairs_there_is_no_mean():
    X = np.empty((0, 3))
    assert np.isnan(sparsity(X, X))
    assert sparsity(X, X, sample_wise=True).shape == (0,)
