"""Small tables on which every point can be looked at."""

import itertools
import warnings

import numpy as np
from sklearn.frozen import FrozenEstimator

from skcf._model import Goal
from skcf.tabular import NearestUnlikeExplainer


def fitted(model, X, *, rules=(), cost="gower", categorical=(), resolution="observed"):
    """Return a fitted explainer, for its model, space, rules and cost."""
    explainer = NearestUnlikeExplainer(
        FrozenEstimator(model),
        constraints=rules,
        cost=cost,
        categorical_features=list(categorical),
        resolution=resolution,
        target=(0.0, 1.0) if not hasattr(model, "classes_") else "opposite",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return explainer.fit(X)


def parts_of(explainer):
    return explainer._model, explainer._space, explainer._rules, explainer._cost


def class_goal(model, label=None, leave=None, nu=None):
    """Return the goal of one row: a class to reach, or one to leave."""
    at = label if leave is None else leave
    return Goal(np.array([at]), np.array([leave is not None]), nu=nu)


def number_goal(low, high):
    return Goal(low=np.array([float(low)]), high=np.array([float(high)]))


def accepting(explainer, goal):
    """Return the judge of rows of codes: the estimator itself, and its margin."""
    model, space = explainer._model, explainer._space

    def accept(codes):
        table = space.decode(codes)
        many = goal.take(np.zeros(len(codes), dtype=np.intp))
        scores, probability = model.output(table)
        prediction, sure = model.predict(table), model.probability(table)
        if not model.regression:
            prediction = model.positions(prediction)
        probability = sure if probability is None else probability
        ok = model.passes(model.margin(scores, probability, many))
        return ok & many.reached(prediction, probability)

    return accept


def grid_of(explainer, x):
    """Return every point that a query may become, as codes."""
    space, rules = explainer._space, explainer._rules
    axes = []
    for g, members in enumerate(space.groups):
        j = members[0]
        column = space.columns[j]
        if len(members) == 1 and space.numeric[j] and column.step is not None:
            n = round((rules.high[j] - rules.low[j]) / column.step)
            rows = column.snap(rules.low[j] + column.step * np.arange(n + 1))[:, None]
        else:
            rows = space.values.table(g)
        own = x[list(members)]
        rows = rows[~(rows == own).all(axis=1)]
        axes.append(np.vstack([own, rows]))
    out = []
    for point in itertools.product(*axes):
        row = np.empty(len(x))
        for members, values in zip(space.groups, point, strict=True):
            row[list(members)] = values
        out.append(row)
    return np.array(out)


def brute(explainer, x, accept, k=1):
    """Return the costs of the k best answers, each with a change set of its own.

    A later answer does not change all that one before it changes.
    """
    grid = grid_of(explainer, x)
    many = np.broadcast_to(x, grid.shape)
    grid = grid[explainer._rules.holds(many, grid)]
    changed = ~((grid == x) | (np.isnan(grid) & np.isnan(x)))
    some = changed.any(axis=1)
    grid, changed = grid[some], changed[some]
    if not len(grid):
        return []
    grouped = np.column_stack(
        [changed[:, list(m)].any(axis=1) for m in explainer._space.groups]
    )
    ok = np.concatenate(
        [accept(lot) for lot in np.array_split(grid, len(grid) // 20000 + 1)]
    )
    grid, grouped = grid[ok], grouped[ok]
    cost = explainer._cost.rows(np.broadcast_to(x, grid.shape), grid)
    out = []
    while len(out) < k and len(cost):
        best = int(np.argmin(cost))
        out.append(float(cost[best]))
        left = ~(grouped | ~grouped[best]).all(axis=1)
        grid, grouped, cost = grid[left], grouped[left], cost[left]
    return out
