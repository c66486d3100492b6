import numpy as np
import pandas as pd
import pytest

from skcf.constraints import fixed, increasing, max_changes, one_hot, together, within
from skcf.metrics import violations
from skcf.tabular import NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of


def test_counts_rules_once():
    reference = pd.DataFrame(
        {
            "age": [20, 30, 40],
            "town": ["bern", "genf", "genf"],
            "zip": ["z1", "z2", "z3"],
            "red": [1, 0, 0],
            "blue": [0, 1, 1],
        }
    )
    rules = [
        fixed("age"),
        increasing("age"),
        within("age", 10, 35),
        together("town", "zip"),
        one_hot("red", "blue"),
        max_changes(1),
        "changed(age) => cf.town != x.town and cf.zip != x.zip",
    ]

    def broken(row):
        X, X_cf = reference[:1], pd.DataFrame([row], columns=reference.columns)
        return violations(X, X_cf, constraints=rules, reference=reference)

    assert broken([20, "bern", "z1", 1, 0]) == 0
    assert broken([30, "bern", "z1", 1, 0]) == 2  # fixed, and the implication
    assert broken([10, "bern", "z1", 1, 0]) == 3  # and increasing
    assert broken([40, "genf", "z2", 1, 0]) == 3  # fixed, within, two changes
    assert broken([20, "genf", "z2", 1, 0]) == 0
    assert broken([20, "bern", "z2", 1, 0]) == 1  # never seen together
    assert broken([20, "bern", "z1", 1, 1]) == 1  # not one-hot
    assert broken([20, "bern", "z9", 0, 1]) == 2  # together, two changes


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_explainer_keeps_its_rules(library):
    rules, free = rules_of(library), []
    for given in (rules, free):
        explainer, X, _ = fitted(library, NearestUnlikeExplainer, constraints=given)
        told = violations(
            *explainer.explain(X[:30]).pairs(),
            constraints=rules,
            reference=X,
            categorical_features=columns_of(library),
        )
        assert told == 0 if given else told > 0


def test_sample_wise_and_none():
    X, X_cf = np.array([[1.0], [2.0]]), np.array([[0.0], [3.0]])
    given = {"constraints": increasing(0), "reference": X}
    assert violations(X, X_cf, sample_wise=True, **given).tolist() == [1, 0]
    assert violations(X, X_cf, constraints=(), reference=X) == 0
    assert np.isnan(violations(X[:0], X_cf[:0], **given))
    with pytest.raises(ValueError, match="no column 'age'"):
        violations(X, X_cf, constraints=increasing("age"), reference=X)
