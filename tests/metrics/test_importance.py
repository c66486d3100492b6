"""Tests of the importance of features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import spearmanr
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from skcf.constraints import fixed
from skcf.metrics import compare_importance, feature_importance
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, fitted
from tests.lending import MODEL, REFUSED, Y, squares
from tests.lending import X as LOANS
from tests.lending import fitted as lending


@pytest.mark.parametrize("library", LIBRARIES)
def test_counts_changes(library):
    explainer, X, _ = fitted(library)
    e = explainer.explain(X[:8], n_counterfactuals=3)
    names = [f"x{j}" for j in range(6)] if library == "numpy" else list(X.columns)
    local = np.zeros((8, 6))
    for row, _, feature, _, _ in e._iter_changes():
        local[row, names.index(feature)] += 1 / (e.row == row).sum()
    for row in range(8):
        told = feature_importance(e, row=row)
        assert list(told["feature"]) == names
        np.testing.assert_allclose(told["importance"], local[row])
    told = feature_importance(e)
    np.testing.assert_allclose(told["importance"], local.mean(axis=0))
    assert isinstance(told, dict if library == "numpy" else type(X))


def test_of_best_answers_it_is_their_frequency():
    e = lending().explain(REFUSED[:10])
    told = feature_importance(e).sort_values(
        "importance", ascending=False, kind="stable"
    )
    expected = e.feature_frequency()
    assert told["feature"].tolist() == expected["feature"].tolist()
    np.testing.assert_allclose(told["importance"], expected["frequency"])


def test_only_rows_with_an_answer_count():
    rule = "cf.salary <= x.salary + 3 and cf.school == x.school"
    explainer = lending(NearestUnlikeExplainer, constraints=rule)
    e = explainer.explain(REFUSED[:40])
    missed = np.flatnonzero(e.status != "found")
    assert 0 < len(missed) < 40
    expected = e.feature_frequency().set_index("feature")["frequency"]
    told = feature_importance(e).set_index("feature")["importance"]
    np.testing.assert_allclose(told, expected[told.index])
    assert (feature_importance(e, row=int(missed[0]))["importance"] == 0).all()


def test_permutation_importance_is_that_of_scikit_learn():
    e = lending().explain(REFUSED[:30])
    told = compare_importance(
        e, MODEL, LOANS, Y, scoring="balanced_accuracy", n_repeats=3, random_state=4
    )
    expected = permutation_importance(
        MODEL, LOANS, Y, scoring="balanced_accuracy", n_repeats=3, random_state=4
    ).importances_mean
    np.testing.assert_allclose(told.table["permutation_importance"], expected)
    own = feature_importance(e)["importance"]
    np.testing.assert_array_equal(told.table["importance"], own)
    assert told.rank_correlation == pytest.approx(spearmanr(own, expected).statistic)


def test_ranks_agree_in_every_container():
    X, y = squares()
    y = (3 * X["p"] + X["q"] > 2).to_numpy().astype(int)
    told = []
    for table in (X, pl.from_pandas(X), X.to_numpy()):
        explainer = GeCoExplainer(
            LogisticRegression(), max_generations=2, random_state=0
        ).fit(table, y)
        result = compare_importance(
            explainer.explain(table[:60]),
            explainer.estimator_,
            table,
            y,
            random_state=0,
        )
        told.append(result.rank_correlation)
        assert list(result.table["permutation_importance"])[0] > 0.2
    assert told[0] > 0.8 and told == [told[0]] * 3


def test_no_correlation_where_nothing_changes():
    X, y = squares(60)
    explainer = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    e = explainer.explain(X[:4], constraints=fixed("p", "q"))
    assert not len(e.row)
    told = compare_importance(e, explainer.estimator_, X, y, random_state=0)
    assert np.isnan(told.rank_correlation)
    assert (told.table["importance"] == 0).all()


def test_what_does_not_fit():
    e = lending().explain(REFUSED[:2])
    for row in (2, -1, 0.5):
        with pytest.raises(ValueError, match="one of the 2 queries"):
            feature_importance(e, row=row)
    with pytest.raises(ValueError, match="in their order: years, salary"):
        compare_importance(e, MODEL, LOANS[LOANS.columns[::-1]], Y)
    assert isinstance(feature_importance(e), pd.DataFrame)
