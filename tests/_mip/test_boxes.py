import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from xgboost import XGBClassifier

from skcf.tabular import OptimalExplainer
from tests.tabular.enumerated import World


def boxes_of(world):
    explainer = OptimalExplainer(FrozenEstimator(world.model), resolution=None)
    return explainer.fit(world.X, world.y)._solver.boxes


@pytest.mark.parametrize("kind", ["forest", "xgb", "hist", "lgbm"])
def test_every_row_is_in_one_leaf_of_each_tree_and_scores_as_the_trees_do(kind):
    world = World(kind, seed=3)
    boxes = boxes_of(world)
    rows = world.X.dropna().head(30)
    codes = boxes.space.encode(rows)
    n = len(codes)
    inside = np.ones((len(boxes.leaf), n), dtype=bool)
    for g, members in enumerate(boxes.space.groups):
        at = [_place(boxes, g, members, row) for row in codes]
        np.logical_and.at(
            inside, boxes.sides[g][0], boxes.masks(g, boxes.left[g])[:, at]
        )
    count = np.zeros((len(boxes.trees.root), n), dtype=int)
    np.add.at(count, boxes.tree, inside)
    assert (count == 1).all()
    raw = np.tile(boxes.trees.base, (n, 1))
    for k, row in zip(*np.nonzero(inside), strict=True):
        slot = boxes.slots[k]
        raw[row, slot : slot + boxes.values.shape[1]] += boxes.values[k]
    truth = boxes.trees.raw(boxes.encode_table(boxes.space.restore(rows)))
    np.testing.assert_allclose(raw, truth, atol=1e-9)


def _place(boxes, g, members, row):
    own = row[list(members)]
    if boxes.low[g] is None:
        return int(np.flatnonzero((boxes.tables[g] == own).all(axis=1))[0])
    at = int(np.searchsorted(boxes.low[g], own[0], side="right")) - 1
    assert boxes.low[g][at] <= own[0] <= boxes.high[g][at]
    return at


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, max_depth=3, random_state=0),
        XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1),
        HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=3, max_bins=30),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_model_changes_its_mind_between_intervals_alone(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    explainer = OptimalExplainer(model, resolution=None).fit(X, y)
    boxes, fitted = explainer._solver.boxes, explainer.estimator_
    for g in range(2):
        other = np.tile(X[:20, None, :], (1, len(boxes.low[g]), 1))
        ends = []
        for values in (boxes.low[g], boxes.high[g]):
            rows = other.copy()
            rows[:, :, g] = values
            p = fitted.predict_proba(rows.reshape(-1, 2))[:, 1]
            ends.append(p.reshape(20, -1))
        np.testing.assert_array_equal(*ends)
        after = np.nextafter(boxes.high[g][:-1], np.inf)
        np.testing.assert_array_equal(after, boxes.low[g][1:])


def test_numbers_outside_the_range_of_fit_are_still_told_apart():
    # The query is beyond the last training row, where it is in the same cell or not.
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "k": ["p", "q", "p", "q"]})
    tree = RandomForestClassifier(3, random_state=0).fit(X[["a"]], [0, 0, 1, 1])
    explainer = OptimalExplainer(FrozenEstimator(tree)).fit(X[["a"]], [0, 0, 1, 1])
    explanation = explainer.explain(pd.DataFrame({"a": [99.0]}))
    assert explanation.optimal.all()
    assert tree.predict(explanation.counterfactuals)[0] == 0
