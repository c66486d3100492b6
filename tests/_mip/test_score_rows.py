import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from skcf._mip._score_rows import ScoreRows
from skcf._model import Goal
from skcf.tabular import OptimalExplainer
from tests.tabular.enumerated import MODELS, World

REGRESSORS = [kind for kind in MODELS if "regressor" in kind]


def parts(kind, seed, **params):
    world = World(kind, seed)
    target = (0, 1) if world.regression else "opposite"
    explainer = OptimalExplainer(FrozenEstimator(world.model), target=target, **params)
    explainer.fit(world.X, world.y)
    solver = explainer._solver
    rows = world.grid.sample(200, random_state=0)
    return world, explainer._model, solver, rows


def told(solver, rows, alternatives):
    """Return (needed, sure): whether rows reach a target, by the leaves they are in."""
    boxes = solver.boxes
    x = boxes.encode_table(boxes.space.restore(rows))
    leaf = _leaves(boxes, x)
    needed, sure = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    for option in alternatives:
        score = option.base + option.weight[leaf].sum(axis=1)
        needed |= (score >= option.need).all(axis=1)
        sure |= (score >= option.sure).all(axis=1)
    return needed, sure


def _leaves(boxes, x):
    trees = boxes.trees
    place = np.full(len(trees.feature), -1)
    place[boxes.leaf] = np.arange(len(boxes.leaf))
    out = np.empty((len(x), len(trees.root)), dtype=int)
    for t, root in enumerate(trees.root):
        node = np.full(len(x), root)
        while (inner := trees.feature[node] >= 0).any():
            at = np.flatnonzero(inner)
            here = node[at]
            left = trees._goes_left_numpy(here, x[at, trees.feature[here]])
            node[at] = np.where(left, trees.left[here], trees.right[here])
        out[:, t] = place[node]
    return out


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("nu", [None, 0.6])
@pytest.mark.parametrize("kind", [k for k in MODELS if k not in REGRESSORS])
def test_rows_say_of_classes_what_the_model_says(kind, nu, seed):
    world, model, solver, rows = parts(kind, seed, threshold=nu)
    for label in range(world.n_classes):
        for opposite in (False, True):
            goal = Goal(np.array([label]), np.array([opposite]), nu=nu)
            needed, sure = told(solver, rows, solver.rows.alternatives(goal))
            truth = _truth(model, rows, goal)
            assert not (truth & ~needed).any()
            assert not (sure & ~truth).any()
            if nu is None:
                # What is left to the model is next to nothing.
                assert (needed & ~sure).mean() <= 0.02


def _truth(model, rows, goal):
    goal = goal.take(np.zeros(len(rows), dtype=int))
    scores, p = model.output(rows)
    place = model.positions(model.predict(rows))
    return model.passes(model.margin(scores, p, goal)) & goal.reached(place, p)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_rows_say_of_numbers_what_the_model_says(kind):
    world, model, solver, rows = parts(kind, 2)
    prediction = world.model.predict(rows)
    for low, high in [(-0.5, 0.7), (0.3, np.inf), (-np.inf, 0.1)]:
        goal = Goal(low=np.array([low]), high=np.array([high]))
        needed, sure = told(solver, rows, solver.rows.alternatives(goal))
        truth = (prediction >= low) & (prediction <= high)
        assert not (truth & ~needed).any() and not (sure & ~truth).any()
        assert (needed & ~sure).mean() <= 0.02


def test_no_class_is_another_one_of_a_single_class():
    class One:
        regression, classes_, view = False, np.array([0]), None

    rows = ScoreRows.__new__(ScoreRows)
    rows.model = One()
    assert rows.alternatives(Goal(np.array([0]), np.array([True]))) == []
