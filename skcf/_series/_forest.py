"""White-box readings of a model of series: trees over cells, and linear scores."""

import logging
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from skcf._model._read_trees import read_trees
from skcf._model._wrappers import unwrap

# Margins of float32 sums are off by a few parts in a million.
FLOOR = {"identity": 2e-9, "sigmoid": 1e-6, "softmax": 1e-6}
NOISE = 1e-12
N_CHECKED = 64
MAX_PROBED = 4096

logger = logging.getLogger("skcf")


@dataclass(frozen=True)
class Goals:
    """Linear functions of the scores that are positive in the target of a row.

    Attributes
    ----------
    weight : ndarray of shape (n_goals, n_scores)
    offset : ndarray of shape (n_goals,)
    several : bool
        Whether one positive function is enough; otherwise all have to be positive.
    """

    weight: np.ndarray
    offset: np.ndarray
    several: bool


def goals_of(model, goal, link, n_scores, closed):
    """Return the Goals of one row, None where the target is not linear in the scores.

    `link` turns the scores into what the model's method returns. What has to reach a
    closed end is raised by `closed`.
    """
    if model.regression:
        if link != "identity" or n_scores != 1:
            return None
        ends = [(1.0, -goal.low[0]), (-1.0, goal.high[0])]
        kept = [(w, o + closed) for w, o in ends if np.isfinite(o)]
        if not kept:
            return None
        weight, offset = np.array(kept).T
        return Goals(weight[:, None], offset, False)
    n_classes, own, opposite = len(model.classes_), goal.label[0], goal.opposite[0]
    if n_classes == 1:
        return None
    if n_classes == 2:
        label = 1 - own if opposite else own
        return _binary(model, label, goal.nu, link, n_scores, closed)
    if n_scores != n_classes or model.cut is not None:
        return None
    others = np.delete(np.arange(n_classes), own)
    weight = np.zeros((len(others), n_scores))
    weight[np.arange(len(others)), others] = 1.0 if opposite else -1.0
    weight[:, own] = -1.0 if opposite else 1.0
    offset = np.zeros(len(others))
    if goal.nu is None:
        return Goals(weight, offset, bool(opposite))
    if link != "identity" or opposite:
        return None
    sure = np.zeros(n_scores)
    sure[own] = 1.0
    return Goals(np.vstack([weight, sure]), np.append(offset, closed - goal.nu), False)


def _binary(model, label, nu, link, n_scores, closed):
    sign = 1.0 if label == 1 else -1.0
    cut = 0.5 if model.cut is None else model.cut
    if link == "identity" and n_scores == 2:
        row, place = np.array([0.0, 1.0]), float
    elif link == "sigmoid" and n_scores == 1:
        row, place = np.array([1.0]), logit
    elif link == "softmax" and n_scores == 2:
        row, place = np.array([-1.0, 1.0]), logit
    else:
        return None
    weight, offset = [sign * row], [-sign * float(place(cut))]
    if nu is not None:
        least = nu if label == 1 else 1.0 - nu
        if not 0.0 < least < 1.0 and link != "identity":
            return None
        weight.append(sign * row)
        offset.append(closed - sign * float(place(least)))
    return Goals(np.array(weight), np.array(offset), False)


class TreeReader:
    """A tree ensemble whose columns are cells of series."""

    compiled = True

    def __init__(self, trees, feature, single):
        self.trees, self.single = trees, single
        self.feature = np.where(trees.feature >= 0, feature, -1).astype(np.int32)
        self.floor = FLOOR[trees.link]
        self.threshold = trees.threshold
        if trees.precision == "float32" or single:
            low = trees.threshold.astype(np.float32)
            high = low.astype(np.float64) > trees.threshold
            low[high] = np.nextafter(low[high], np.float32(-np.inf))
            above = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
            # What is written in double precision is rounded by the model, so that the
            # sides of a test meet halfway between two single numbers.
            self.threshold = low.astype(np.float64)
            if not single:
                self.threshold = (self.threshold + above) / 2
        if not single:
            # Far enough to be reached in spite of rounding.
            size = np.abs(self.threshold[self.feature >= 0])
            usual = float(size.mean()) if len(size) else 1.0
            step = NOISE * np.maximum(usual, np.abs(self.threshold))
            above = self.threshold + step
        self.above = above

    def forest(self, model, goal):
        """Return the forest of the kernels for the goal of one row, None without."""
        trees = self.trees
        closed = self.floor + NOISE * model.scale
        goals = goals_of(model, goal, trees.link, len(trees.base), closed)
        if goals is None:
            return None
        slot = np.repeat(trees.slot, np.diff(np.append(trees.root, len(self.feature))))
        value = np.zeros((len(goals.offset), len(self.feature)))
        for v in range(trees.value.shape[1]):
            value += goals.weight[:, slot + v] * trees.value[:, v]
        return (
            trees.root,
            self.feature,
            self.threshold,
            self.above,
            trees.left,
            trees.right,
            value,
            goals.weight @ trees.base + goals.offset,
            goals.several,
            bool(self.single),
        )


class LinearReader:
    """Scores that are linear in the cells of series."""

    compiled = False

    def __init__(self, weight, offset, sigmoid, scale):
        self.weight, self.offset, self.sigmoid = weight, offset, sigmoid
        self.floor = 1e-8 * scale

    def goals(self, model, goal):
        """Return (weight, offset, several) of the goals of one row over its cells.

        They are positive where the margin is clear of the boundary.
        """
        if model.regression or len(self.offset) > 1:
            goals = None
            if goal.nu is None:
                goals = goals_of(model, goal, "identity", len(self.offset), 0.0)
        elif self.sigmoid:
            goals = goals_of(model, goal, "sigmoid", 1, 0.0)
        elif goal.nu is None:
            sign = 1.0 if (goal.label[0] == 1) != goal.opposite[0] else -1.0
            goals = Goals(np.array([[sign]]), np.array([-sign * model.cut]), False)
        else:
            goals = None
        if goals is None:
            return None
        offset = goals.weight @ self.offset + goals.offset - self.floor
        return goals.weight @ self.weight, offset, goals.several


def read_model(model, space, codes):
    """Return the TreeReader or LinearReader of a model of series, None without.

    What is read has to give the model's own scores on series and on mixtures of them.
    """
    random = np.random.default_rng(0)
    rows = codes[np.unique(np.linspace(0, len(codes) - 1, N_CHECKED).astype(np.intp))]
    share = random.random((len(rows), 1))
    mixed = share * rows + (1 - share) * rows[random.permutation(len(rows))]
    sample = np.concatenate([rows, mixed])
    return _read_trees(model, space, sample) or _read_linear(model, space, sample)


def _read_trees(model, space, sample):
    method = "predict" if model.regression else model.method
    final, steps = unwrap(model.estimator)
    trees = read_trees(final, method)
    if trees is None or trees.method != method or (trees.category >= 0).any():
        return None
    if trees.link not in FLOOR:
        return None
    column = _columns(model, space, steps, sample)
    if column is None or len(column) != trees.n_features:
        logger.info("the columns of %s are no cells of series", type(final).__name__)
        return None
    table = space.decode(sample)
    gap = np.abs(trees.scores(space.encode(table)[:, column]) - model.output(table)[0])
    if gap.max() > 1e-5 * max(1.0, model.scale):
        logger.info("trees read are off by %.2g and are not used", gap.max())
        return None
    return TreeReader(trees, column[trees.feature], space.single)


def _columns(model, space, steps, sample):
    """Return the cell of each column that the final estimator gets, None without.

    Found out by trial: the columns of series of distinct cells name their cells.
    """
    if not steps:
        return np.arange(space.n_features) if _is_flat(space) else None
    codes = np.stack([np.arange(space.n_features) + 1.0, np.arange(space.n_features)])
    try:
        out = model.input(space.decode(codes))
        told = model.input(space.decode(sample))
        for step in steps:
            out, told = step.transform(out), step.transform(told)
        out, told = np.asarray(out, dtype=float), np.asarray(told, dtype=float)
    except (TypeError, ValueError):
        return None
    if out.ndim != 2 or told.ndim != 2:
        return None
    column = out[1].astype(np.intp)
    if (column < 0).any() or (column >= space.n_features).any():
        return None
    kept = np.array_equal(told, space.encode(space.decode(sample))[:, column])
    return column if kept and np.array_equal(out[0], column + 1.0) else None


def _is_flat(space):
    return len(space.shape) == 1


def _read_linear(model, space, sample):
    """Return the LinearReader of a model whose scores are linear, found by trial."""
    if space.n_features > MAX_PROBED:
        return None
    if not model.regression and model.method == "predict":
        return None
    scores = _linear_scores(model)
    if scores is None:
        return None
    centre = sample.mean(axis=0)
    step = np.maximum(sample.std(axis=0), 1e-3)
    probes = np.vstack([centre, centre + np.diag(step)])
    told = scores(space.decode(probes))
    weight = (told[1:] - told[0]).T / step
    offset = told[0] - weight @ centre
    truth = scores(space.decode(sample))
    gap = np.abs(sample @ weight.T + offset - truth).max()
    size = max(np.abs(truth).max(), np.abs(offset).max())
    if not np.isfinite(gap) or gap > 1e-9 * max(size, np.finfo(float).tiny):
        return None
    sigmoid = model.method == "predict_proba" and len(offset) == 1
    if sigmoid:
        told = model.output(space.decode(sample))[0]
        if told.ndim != 2 or np.abs(expit(truth[:, 0]) - told[:, 1]).max() > 1e-9:
            return None
    proba = model.method == "predict_proba"
    return LinearReader(weight, offset, sigmoid, 1.0 if proba else model.scale)


def _linear_scores(model):
    """Return the scores that may be linear: decisions or predictions, (n, n_scores)."""
    estimator = model.estimator
    if model.regression:
        name = "predict"
    elif hasattr(estimator, "decision_function"):
        name = "decision_function"
    else:
        return None

    def scores(table):
        out = np.asarray(getattr(estimator, name)(model.input(table)), dtype=float)
        return out.reshape(len(out), -1)

    return scores
