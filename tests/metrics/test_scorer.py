"""Tests of the scorers, alone and in searches."""

import pickle

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf.metrics import (
    counterfactual_scorer,
    get_scorer,
    get_scorer_names,
    redundancy,
    sparsity,
)
from skcf.tabular import NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of
from tests.lending import REFUSED, squares
from tests.lending import fitted as lending

HARD = "cf.salary <= x.salary + 3 and cf.school == x.school"


@pytest.mark.parametrize("library", LIBRARIES)
def test_values(library):
    explainer, X, y = fitted(library, NearestUnlikeExplainer)
    queries = X[:20]
    scores = counterfactual_scorer(explainer, queries, y[:20])
    assert sorted(scores) == get_scorer_names()
    x, x_cf = explainer.explain(queries).pairs()
    kinds = {
        "constraints": rules_of(library),
        "categorical_features": columns_of(library),
    }
    share = redundancy(x, x_cf, estimator=explainer.estimator_, reference=X, **kinds)
    assert scores["validity"] == 1.0
    assert scores["neg_sparsity"] == -sparsity(x, x_cf, **kinds)
    assert scores["neg_redundancy"] == pytest.approx(-share)
    near = explainer.score(queries)
    assert scores["neg_proximity"] == pytest.approx(near - 1, abs=1e-12)
    for name, value in scores.items():
        scorer = pickle.loads(pickle.dumps(get_scorer(name)))
        assert scorer(explainer, queries) == value
        assert repr(scorer) == f"get_scorer({name!r})"


def test_a_row_without_an_answer_has_the_worst_of_all():
    explainer = lending(NearestUnlikeExplainer, constraints=HARD)
    e = explainer.explain(REFUSED)
    missed = (e.status != "found").mean()
    assert 0.1 < missed < 0.9
    scores = counterfactual_scorer(explainer, REFUSED)
    assert scores["validity"] == pytest.approx(1 - missed)
    changed = (1 - missed) * e.n_changed.mean() + missed * 5
    assert scores["neg_sparsity"] == pytest.approx(-changed)
    assert scores["neg_proximity"] == pytest.approx(explainer.score(REFUSED) - 1)
    shut = lending(NearestUnlikeExplainer, constraints="cf.years >= x.years + 99")
    assert counterfactual_scorer(shut, REFUSED[:4]) == {
        "neg_proximity": -1.0,
        "neg_redundancy": -1.0,
        "neg_sparsity": -5.0,
        "validity": 0.0,
    }


def test_rows_in_the_target_do_not_count():
    explainer = lending(NearestUnlikeExplainer, target="refused")
    assert counterfactual_scorer(explainer, REFUSED) == {
        "neg_proximity": 0.0,
        "neg_redundancy": 0.0,
        "neg_sparsity": 0.0,
        "validity": 1.0,
    }


def test_one_explain_a_fold(monkeypatch):
    calls, explain = [], NearestUnlikeExplainer.explain

    def counted(self, X, **options):
        calls.append(len(X))
        return explain(self, X, **options)

    monkeypatch.setattr(NearestUnlikeExplainer, "explain", counted)
    X, y = squares(60)
    search = GridSearchCV(
        NearestUnlikeExplainer(LogisticRegression()),
        {"cost": ["gower", "sparse"]},
        scoring=counterfactual_scorer,
        refit="neg_sparsity",
        cv=3,
        error_score="raise",
    ).fit(X, y)
    assert calls == [20] * 6
    assert search.best_params_ == {"cost": "sparse"}
    results = search.cv_results_
    for name in get_scorer_names():
        assert np.isfinite(results[f"mean_test_{name}"]).all()
    gower, sparse = results["mean_test_neg_proximity"]
    assert gower > sparse


def test_in_a_pipeline_and_alone():
    X, y = squares(60)
    frame = pl.from_pandas(X)
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="polars"),
        NearestUnlikeExplainer(LogisticRegression()),
    )
    search = GridSearchCV(
        pipeline,
        {"nearestunlikeexplainer__cost": ["gower", "sparse"]},
        scoring=get_scorer("neg_sparsity"),
        cv=2,
        error_score="raise",
    ).fit(frame, y)
    assert search.best_params_ == {"nearestunlikeexplainer__cost": "sparse"}
    assert get_scorer("validity")(search, frame) == 1.0


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="no scorer 'sparsity'; expected one of"):
        get_scorer("sparsity")
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="rows of a table, got LogisticRegression"):
        counterfactual_scorer(model, [[0.0]])
