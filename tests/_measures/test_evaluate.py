"""Tests of the metrics that an explanation appends to its frame."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skcf import Explanation
from skcf._explanation._cells import take
from skcf.metrics import diversity, plausibility, proximity, redundancy, sparsity
from skcf.tabular import NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of
from tests.lending import REFUSED
from tests.lending import fitted as lending

NAMES = ["gower", "mace", "geco", "plausibility", "violations", "validity"]
NAMES += ["redundancy", "diversity"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_everything_that_is_asked_for(library):
    explainer, X, _ = fitted(library, NearestUnlikeExplainer)
    e = explainer.explain(X[:8], n_counterfactuals=3)
    rules, kinds = rules_of(library), columns_of(library)
    options = {"reference": X, "constraints": rules, "categorical_features": kinds}
    frame = e.evaluate(estimator=explainer.estimator_, **options)
    before = e.to_frame()
    assert type(frame) is type(before)
    assert list(frame.columns) == [*before.columns, *NAMES]
    assert_equal(frame[list(before.columns)], before)
    x = take(e.queries, e.row)
    pairs = {"X": x, "X_cf": e.counterfactuals, "sample_wise": True} | options
    expected = {name: proximity(cost=name, **pairs) for name in NAMES[:3]}
    expected["plausibility"] = plausibility(**pairs)
    expected["violations"] = np.zeros(len(e.row))
    expected["validity"] = np.ones(len(e.row))
    expected["redundancy"] = redundancy(
        estimator=explainer.estimator_, target=e.target[e.row], **pairs
    )
    for name, values in expected.items():
        np.testing.assert_array_equal(np.asarray(frame[name], dtype=float), values)
    by_row = np.bincount(e.row, np.asarray(frame["diversity"])) / np.bincount(e.row)
    np.testing.assert_allclose(by_row, diversity(row=e.row, **pairs))
    np.testing.assert_array_equal(frame["gower"], e.cost)


def assert_equal(one, other):
    if isinstance(one, pl.DataFrame):
        assert one.equals(other)
    else:
        pd.testing.assert_frame_equal(one, other)


def test_by_default_what_can_be_told():
    explanation = lending().explain(REFUSED[:4])
    told = {
        (): ["diversity"],
        ("reference",): [*NAMES[:4], "diversity"],
        ("estimator",): ["validity", "redundancy", "diversity"],
    }
    given = {"reference": REFUSED, "estimator": lending().estimator_}
    for names, expected in told.items():
        frame = explanation.evaluate(**{name: given[name] for name in names})
        assert list(frame.columns[-len(expected) :]) == expected
    assert frame["diversity"].isna().all()
    assert (
        list(explanation.evaluate("gower", reference=REFUSED).columns)[-2] == "school"
    )


def test_functions_of_pairs():
    explanation = lending().explain(REFUSED[:4], n_counterfactuals=2)
    frame = explanation.evaluate(
        {
            "count": partial(sparsity, sample_wise=True),
            "raise": lambda X, X_cf: X_cf["salary"].to_numpy() - X["salary"].to_numpy(),
        }
    )
    np.testing.assert_array_equal(frame["count"], explanation.n_changed)
    queries = REFUSED["salary"].to_numpy()[explanation.row]
    np.testing.assert_array_equal(frame["raise"], frame["salary"] - queries)
    with pytest.raises(ValueError, match="'mean' must return one value.*\\(\\)"):
        explanation.evaluate({"mean": sparsity})


def test_a_name_that_is_taken():
    X = pd.DataFrame({"gower": [1.0, 2.0], "cost": [3.0, 4.0]})
    explanation = by_hand(X, X[:1] + 1, [0])
    frame = explanation.evaluate(reference=X)
    assert "cf_gower" in frame and "cf_cost" in frame
    assert frame["cf_gower"].tolist() == [0.5 * (1 + 1)]
    assert frame["gower"].tolist() == [2.0]


def by_hand(queries, counterfactuals, row, **fields):
    n, m = len(queries), len(row)
    default = {
        "queries": queries,
        "counterfactuals": counterfactuals,
        "row": row,
        "rank": [0] * m,
        "status": ["found" if i in row else "not_found" for i in range(n)],
        "target": ["yes"] * n,
        "cost": np.ones(m),
        "n_changed": [1] * m,
        "prediction_before": ["no"] * n,
        "prediction": np.array(["yes"] * m, dtype="U3"),
        "score_before": np.zeros(n),
        "score": np.ones(m),
        "optimal": np.zeros(m, dtype=bool),
        "lower_bound": np.full(n, np.nan),
    }
    return Explanation(**default | fields)


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_counterfactuals(library):
    explainer, X, _ = fitted(library)
    none = by_hand(X[:3], X[:0], [])
    frame = none.evaluate(reference=X, estimator=explainer.estimator_)
    assert frame.shape == (0, 6 + 6 + 7)


def test_intervals_are_targets():
    from sklearn.linear_model import LinearRegression

    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]})
    explanation = by_hand(
        X,
        X[1:3].set_axis([0, 1]),
        [0, 1],
        target=[(1.0, None), (None, 1.0), (0, 1), (0, 1)],
        prediction_before=np.zeros(4),
        prediction=np.zeros(2),
    )
    line = LinearRegression().fit(X, X["a"] + 1e-3)
    frame = explanation.evaluate("validity", estimator=line)
    assert frame["validity"].tolist() == [True, False]


def test_series_have_functions_only():
    series = np.zeros((2, 5, 1))
    explanation = by_hand(series, series[:1] + 1, [0])
    frame = explanation.evaluate({"sum": lambda X, X_cf: (X_cf - X).sum(axis=(1, 2))})
    assert frame["sum"].tolist() == [5.0]
    with pytest.raises(ValueError, match="must be a table"):
        explanation.evaluate()


def test_what_does_not_fit():
    explanation = lending().explain(REFUSED[:2])
    with pytest.raises(ValueError, match="no metric 'lof'"):
        explanation.evaluate(["lof"])
    with pytest.raises(ValueError, match="'gower' needs reference"):
        explanation.evaluate(["gower"])
    with pytest.raises(ValueError, match="'violations' needs constraints and ref"):
        explanation.evaluate("violations")
