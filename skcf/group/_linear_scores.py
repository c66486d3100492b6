"""Scores that add up over features, read from the view of a linear model."""

import numpy as np
from scipy.special import logit

from skcf._model._black_box import NOISE
from skcf._model._dense import Layers

# How far off the boundary a sum has to be for the model to say the same.
ROOM = 1e-9


def is_linear(model):
    """Tell whether a model is seen as a linear one."""
    kernel = getattr(model.view, "kernel", None)
    return isinstance(kernel, Layers) and len(kernel.weights) == 1


def parts(problem, rows, menu):
    """Return (scores of values by feature, of own values, constant) per output.

    Shapes (n_values, n_outputs), (n_rows, n_features, n_outputs) and (n_outputs,).
    """
    kernel = problem.model.view.kernel
    queries = problem.session.queries
    encoding, weight = queries.encoding, kernel.weights[0]
    n_features = len(problem.space.groups)
    owner = encoding.group_of
    of_feature = (owner[:, None] == np.arange(n_features)).astype(float)
    encoded = queries.rows[rows]
    own = np.stack(
        [(encoded * w) @ of_feature for w in weight.T],
        axis=2,
    )
    rest = owner < 0
    constant = kernel.biases[0] + encoded[0, rest] @ weight[rest]
    scores = []
    for g in range(n_features):
        ids = menu.ids[g]
        out = np.empty((len(ids), weight.shape[1]))
        seen = ids >= 0
        out[seen] = _of_values(queries, ids[seen], owner == g, weight)
        holder = np.full(len(ids), -1)
        holder[menu.own[:, g]] = np.arange(len(rows))
        out[~seen] = own[holder[~seen], g]
        scores.append(out)
    return scores, own, constant


def _of_values(queries, ids, mine, weight):
    """Return what the values `ids` of one feature add to each output."""
    encoding = queries.encoding
    cells = np.tile(encoding.default * mine, (len(ids), 1))
    usual = ids < queries.values.n_observed
    rep, col, val = encoding.cells(ids[usual])
    cells[np.flatnonzero(usual)[rep], col] = val
    if not usual.all():
        rep, col, val = queries._between(ids[~usual])
        cells[np.flatnonzero(~usual)[rep], col] = val
    return cells @ weight


def needs(model, goal):
    """Yield (rows, directions, needs): which rows share which wanted sums.

    A row is in the target where outputs times `directions` reach `needs`, shapes
    (n_outputs, n_scores) and (n_scores,). Rows that may go to several classes are in
    several of them.
    """
    if model.regression:
        ends = np.column_stack([goal.low, goal.high])
        for low, high in np.unique(ends, axis=0):
            rows = np.flatnonzero((ends == (low, high)).all(axis=1))
            side = np.isfinite([low, -high])
            yield rows, np.array([[1.0, -1.0]])[:, side], np.array([low, -high])[side]
        return
    for c in range(len(model.classes_)):
        rows = np.flatnonzero((goal.label == c) != goal.opposite)
        if len(rows):
            yield rows, *_class_needs(model, goal.nu, c)


def rooms_of(goal):
    """Return how far off the boundary to stay: of a closed edge, not at first."""
    closed = goal.label is None or goal.nu is not None
    return (-NOISE, ROOM) if closed else (ROOM,)


def _class_needs(model, nu, c):
    """Return the directions and needs of one class."""
    n_classes = len(model.classes_)
    if n_classes > 2:
        others = np.delete(np.arange(n_classes), c)
        direction = np.zeros((n_classes, n_classes - 1))
        direction[c] = 1.0
        direction[others, np.arange(n_classes - 1)] = -1.0
        return direction, np.zeros(n_classes - 1)
    sign = 1.0 if c == 1 else -1.0
    cut = 0.0 if model.cut is None else model.cut
    if model.method == "predict_proba":
        cut = 0.0 if model.cut is None else logit(model.cut)
    need = sign * cut
    if nu is not None:
        need = max(need, logit(nu)) if nu < 1 else np.inf
    return np.array([[sign]]), np.array([need])
