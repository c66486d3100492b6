"""White-box views of a model: what a search may ask instead of the model itself."""

import logging

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from skcf._model._dense import read_layers
from skcf._model._encoding import EncodedQueries, Encoding
from skcf._model._trees import read_trees
from skcf._space import Candidates

N_CHECKED = 64
N_CHANGED = 3

logger = logging.getLogger("skcf")


class View:
    """A model read as tables from values to encoded cells, and a kernel over these.

    A view guides a search; whether a row is valid the model itself decides.
    """

    def __init__(self, encoding, kernel):
        self.encoding, self.kernel = encoding, kernel
        self.method = kernel.method

    def open(self, table, x, values):
        """Return a session over the queries of a problem."""
        return ViewSession(self, table, x, values)


class ViewSession:
    """A view with the queries of a problem worked out."""

    def __init__(self, view, table, x, values):
        self.queries = EncodedQueries(view.encoding, table, x, values)
        self.kernel = view.kernel.open(self.queries.rows)

    def scores(self, cands):
        """Return the scores of candidates, as the model's method gives them."""
        return self.kernel.scores(cands.row, *self.queries.cells(cands))


def read_view(model, X):
    """Return the view of a wrapped model, None where there is none or it disagrees.

    `model` is the black box, which stays the judge: on sample rows with random changes
    both have to give the same scores.
    """
    transform, final = _unwrap(model.estimator)
    kernel = read_trees(final) or read_layers(final)
    if kernel is None or kernel.method != model.method_of_scores:
        return None
    encoding = Encoding.learn(transform, model.space, X)
    if encoding is None:
        logger.info("no tables for the preprocessing; the model stays a black box")
        return None
    view = View(encoding, kernel)
    gap = _disagreement(view, model, X)
    if gap > 1e-5:
        logger.info("a view of the model is off by %.2g and was dropped", gap)
        return None
    return view


def _unwrap(estimator):
    """Return (preprocessing, final estimator) of nested wrappers."""
    steps = []
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, BaseSearchCV):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, FixedThresholdClassifier):
            estimator = estimator.estimator_
        elif isinstance(estimator, Pipeline):
            steps += [s for _, s in estimator.steps[:-1] if s not in (None, "passthrough")]
            estimator = estimator.steps[-1][1]
        else:
            break

    def transform(table):
        for step in steps:
            table = step.transform(table)
        return table if steps else _as_matrix(table)

    return transform, estimator


def _as_matrix(table):
    """Return a table of numbers as a matrix."""
    return table if isinstance(table, np.ndarray) else table.to_numpy()


def _disagreement(view, model, X):
    """Return the largest difference between view and model on changed sample rows."""
    space = model.space
    rows = np.unique(np.linspace(0, len(X) - 1, N_CHECKED).astype(np.intp))
    table = space.container.take(X, rows)
    x = space.encode(table, check_missing=False)
    random = np.random.default_rng(0)
    values = space.values
    row = np.repeat(np.arange(len(rows)), 4)
    group = np.argsort(random.random((len(row), len(space.groups))), axis=1)
    group = np.sort(group[:, : min(N_CHANGED, group.shape[1])], axis=1)
    size = np.diff(values.offsets)[group]
    ids = values.offsets[group] + (random.random(group.shape) * size).astype(np.intp)
    cands = Candidates.concat(
        [Candidates.unchanged(np.arange(len(rows))), Candidates(row, ids)]
    )
    told = view.open(table, x, values.fork()).scores(cands)
    codes = cands.codes(x, values)
    truth, _ = model.output(space.decode(codes, table, cands.row))
    if told.shape != truth.shape:
        return np.inf
    return float(np.abs(told - truth).max() / max(1.0, model.scale))
