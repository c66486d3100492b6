import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from skcf.constraints import together
from skcf.metrics import redundancy
from skcf.tabular import NearestUnlikeExplainer
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of

STACK = {"numpy": np.vstack, "pandas": pd.concat, "polars": pl.concat}


def weighted(*weights):
    """Return a model of whether a weighted sum exceeds 1."""
    model = LogisticRegression().fit(np.eye(len(weights)), np.arange(len(weights)) > 0)
    model.coef_, model.intercept_ = np.array([weights]), np.array([-1.0])
    return model


def test_counts_what_can_go_back_alone():
    model = weighted(2.0, 0.6, 0.6)
    x = np.zeros((5, 3))
    x_cf = np.array(
        [
            [1.0, 0, 0],  # needed
            [1, 1, 0],  # the second is not needed
            [0, 1, 1],  # both are
            [1, 1, 1],  # either: all but one at a time
            [0, 1, 0],  # not even valid: nothing is redundant
        ]
    )
    told = redundancy(x, x_cf, estimator=model, sample_wise=True)
    assert told.tolist() == [0, 1 / 2, 0, 1, 0]
    assert redundancy(x, x, estimator=model) == 0.0
    # Reverted together, the two tied columns are needed.
    tied = redundancy(
        x[2:3], x_cf[2:3], estimator=model, constraints=together(1, 2), reference=x_cf
    )
    assert tied == 0.0


def test_a_change_that_a_rule_asks_for_is_not_redundant():
    model, x, x_cf = weighted(2.0, 0.0), np.zeros((1, 2)), np.ones((1, 2))
    assert redundancy(x, x_cf, estimator=model) == 0.5
    rule = "cf[0] > x[0] => cf[1] >= x[1] + 1"
    told = redundancy(x, x_cf, estimator=model, constraints=rule, reference=x_cf)
    assert told == 0.0
    # A rule that was broken anyway does not hold a change back.
    rule = "cf[1] == x[1] + 5"
    told = redundancy(x, x_cf, estimator=model, constraints=rule, reference=x_cf)
    assert told == 0.5


@pytest.mark.parametrize("library", LIBRARIES)
def test_against_one_change_at_a_time(library):
    explainer, X, _ = fitted(library, NearestUnlikeExplainer)
    x, x_cf = explainer.explain(X[:10]).pairs()
    model = explainer.estimator_
    told = redundancy(
        x,
        x_cf,
        estimator=model,
        reference=X,
        constraints=rules_of(library),
        categorical_features=columns_of(library),
        sample_wise=True,
    )
    assert told.max() > 0
    groups = [[0], [1], [2, 4], [3], [5]]
    cells, cells_cf = (
        frame if library == "numpy" else frame.to_numpy() for frame in (x, x_cf)
    )
    where, trials = [], []
    for i in range(len(told)):
        for group in groups:
            pairs = [(cells[i, j], cells_cf[i, j]) for j in group]
            if not all(a == b or (missing(a) and missing(b)) for a, b in pairs):
                where.append(i)
                trials.append(set_cells(library, x, x_cf, i, group))
    trials = STACK[library](trials)
    needless = model.predict(trials) == model.predict(x_cf)[where]
    expected = np.bincount(where, needless) / np.bincount(where)
    np.testing.assert_array_equal(told, expected)


def missing(value):
    return value is None or value != value


def set_cells(library, x, x_cf, i, columns):
    """Return one counterfactual with some cells of its query."""
    if library == "numpy":
        row = x_cf[i : i + 1].copy()
        row[:, columns] = x[i, columns]
        return row
    if library == "polars":
        names = [x.columns[j] for j in columns]
        return x_cf[i].with_columns(x[i].get_column(name) for name in names)
    parts = [(x if j in columns else x_cf).iloc[[i], j] for j in range(x.shape[1])]
    return pd.concat(parts, axis=1)


@pytest.mark.parametrize("module", [pd, pl])
def test_a_missing_value_goes_back_into_a_column_of_integers(module):
    x = module.DataFrame({"a": [0.5, None], "b": [0, 0]})
    x_cf = module.DataFrame({"a": [2, 2], "b": [1, 1]})
    trees = HistGradientBoostingClassifier(min_samples_leaf=1)
    model = trees.fit([[0, 0], [2, 1], [np.nan, 0], [2, 0]] * 5, [0, 1, 0, 1] * 5)
    told = redundancy(x, x_cf, estimator=model, sample_wise=True)
    assert told.tolist() == [0.5, 0.5]


def test_rows_of_one_label_and_in_lots(monkeypatch):
    model = weighted(2.0, 0.6, 0.6)
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.random((30, 3)) < 0.2, columns=list("abc")).astype(float)
    x.index = ["same"] * 30
    x_cf = (1 - x).set_axis(x.index)
    whole = redundancy(x, x_cf, estimator=model, sample_wise=True)
    monkeypatch.setattr("skcf._measures._redundancy.MAX_ROWS", 7)
    lots = redundancy(x, x_cf, estimator=model, sample_wise=True)
    np.testing.assert_array_equal(whole, lots)
    assert 0 < whole.mean() < 1
