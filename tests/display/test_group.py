"""The picture of a group: cells, order, clusters and what is left out."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skcf.display import GroupDisplay
from skcf.group import SparseOneForManyExplainer
from skcf.tabular import NearestUnlikeExplainer

pytest.importorskip("matplotlib")

CHANGES = [
    (0, "age", 30, 40),
    (1, "age", 35, 40),
    (1, "city", "a", "b"),
    (3, "pay", 9.0, 4.0),
]


def display(**more):
    given = {
        "changes": CHANGES,
        "labels": ["Ann", "Bob", "Cid", "Dan"],
        "assignment": [1, 1, -1, 0],
        "texts": {0: "pay to 4", 1: "age to 40"},
        **more,
    }
    return GroupDisplay(**given).plot()


def test_rows_stand_by_cluster_and_features_by_frequency():
    shown = display()
    assert shown.rows_.tolist() == [3, 0, 1, 2]
    assert shown.features_ == ["age", "city", "pay"]
    assert [t.get_text() for t in shown.ax_.get_yticklabels()] == [
        "Dan",
        "Ann",
        "Bob",
        "Cid",
    ]
    texts = [t.get_text() for t in shown.ax_.texts]
    assert {"pay to 4", "age to 40", "no counterfactual", "b"} <= set(texts)


def test_colors_tell_direction_and_size():
    cells = np.asarray(display().image_.get_array())
    red, blue = 0, 2
    dan, ann, bob, cid = cells
    assert ann[0][blue] > ann[0][red] and dan[2][red] > dan[2][blue]
    # Ten years are more than five: further from white.
    assert ann[0][:3].sum() < bob[0][:3].sum()
    assert (cid == 1.0).all() and (ann[2] == 1.0).all()


def test_explanations_with_and_without_clusters():
    random = np.random.default_rng(0)
    X = random.integers(0, 3, size=(60, 4)).astype(float)
    y = (X.sum(axis=1) > 4).astype(int)
    rows = X[:12]
    shared = SparseOneForManyExplainer(LogisticRegression(), target=1).fit(X, y)
    shown = GroupDisplay.from_explainer(shared, rows).plot()
    details = shared.explain(rows).details
    taken = details.assignment[shown.rows_]
    assert (np.diff(taken[taken >= 0]) >= 0).all() and (taken[-1] == -1)
    assert set(shown.texts) == set(range(details.n_clusters))
    alone = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    shown = GroupDisplay.from_explainer(alone, rows, max_rows=5).plot()
    assert len(shown.rows_) == 5 and shown.n_hidden == 7
    assert "7 more rows" in shown.ax_.get_xlabel()


def test_nothing_changes():
    shown = display(changes=[], assignment=[-1] * 4)
    assert shown.features_ == [] and len(shown.rows_) == 4
    with pytest.raises(ValueError, match="max_rows"):
        GroupDisplay.from_explanation(None, max_rows=0)
