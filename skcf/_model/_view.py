"""White-box views of a model: what a search may ask instead of the model itself."""

import logging

import numpy as np
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline

from skcf._model._dense import read_layers
from skcf._model._encoding import EncodedQueries, Encoding
from skcf._model._read_trees import read_trees
from skcf._space import Candidates

N_CHECKED = 64
N_CHANGED = 3
# They move the boundary and leave the scores alone; the margin learns where it is.
_THRESHOLD = (FixedThresholdClassifier, TunedThresholdClassifierCV)

logger = logging.getLogger("skcf")


class View:
    """A model read as tables from values to encoded cells, and a kernel over these.

    A view guides a search; whether a row is valid the model itself decides.

    Attributes
    ----------
    asks : bool
        Whether the kernel asks the final estimator, so that its calls count.
    """

    def __init__(self, encoding, kernel):
        self.encoding, self.kernel = encoding, kernel
        self.asks = isinstance(kernel, Opaque)

    def open(self, table, values):
        """Return a session over the queries of a problem."""
        return ViewSession(self, table, values)


class ViewSession:
    """A view with the queries of a problem worked out."""

    def __init__(self, view, table, values):
        self.asks = view.asks
        self.queries = EncodedQueries(view.encoding, table, values)
        self.kernel = view.kernel.open(self.queries.rows)

    def output(self, cands):
        """Return what the black box's `output` does, of candidates."""
        scores = self.kernel.scores(cands.row, *self.queries.cells(cands))
        return scores, scores


class Opaque:
    """A final estimator of which nothing is known: only its preprocessing is saved."""

    def __init__(self, estimator, method):
        self.estimator, self.method, self.dtype = estimator, method, None

    def __repr__(self):
        return f"a table before {type(self.estimator).__name__}"

    def encode(self, table):
        """Return encoded rows; the estimator has to have been trained on a matrix."""
        if not isinstance(table, np.ndarray) and not sparse.issparse(table):
            raise TypeError("the final estimator takes a frame")
        self.dtype = table.dtype
        return table

    def open(self, rows):
        """Return a session over encoded base rows."""
        return OpaqueSession(self, rows)


class OpaqueSession:
    """Base rows of an opaque estimator; candidates are written out in full."""

    def __init__(self, opaque, rows):
        self.opaque, self.rows = opaque, rows

    def scores(self, row, ptr, col, val):
        """Return the method's output of candidates given as changed cells."""
        X = self.rows[row]
        X[np.repeat(np.arange(len(row)), np.diff(ptr)), col] = val
        scores = getattr(self.opaque.estimator, self.opaque.method)
        return np.asarray(scores(X.astype(self.opaque.dtype)), dtype=np.float64)


def read_view(model, X):
    """Return the view of a wrapped model, None where there is none or it disagrees.

    `model` is the black box, which stays the judge: on sample rows with random changes
    both have to give the same scores.
    """
    steps, final = _unwrap(model.estimator)
    method = "predict" if model.regression else model.method
    if model.needs_proba and method != "predict_proba":
        return None
    options = [read_trees(final), read_layers(final)]
    if steps and (model.regression or method != "predict"):
        options.append(Opaque(final, method))
    for kernel in options:
        if kernel is None or kernel.method != method:
            continue
        encoding = Encoding.learn(_Preprocessing(model, steps, kernel), model.space)
        if encoding is None:
            logger.info("the preprocessing is no table; %s is not used", kernel)
            continue
        view = View(encoding, kernel)
        gap = _disagreement(view, model, X)
        if gap <= 1e-5:
            return view
        logger.info("%s is off by %.2g and is not used", kernel, gap)
    return None


class _Preprocessing:
    """What happens to a table before the final estimator gets numbers."""

    def __init__(self, model, steps, kernel):
        self.model, self.steps, self.kernel = model, steps, kernel

    def __call__(self, table):
        table = self.model.input(table)
        for step in self.steps:
            table = step.transform(table)
        return self.kernel.encode(table)


def _unwrap(estimator):
    """Return (preprocessing steps, final estimator) of nested wrappers."""
    steps = []
    while True:
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, _THRESHOLD):
            estimator = estimator.estimator_
        elif isinstance(estimator, Pipeline):
            steps += [
                s for _, s in estimator.steps[:-1] if s not in (None, "passthrough")
            ]
            estimator = estimator.steps[-1][1]
        else:
            break

    return steps, estimator


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
    told, _ = view.open(table, values.fork()).output(cands)
    codes = cands.codes(x, values)
    truth, _ = model.output(space.decode(codes, table, cands.row))
    if told.shape != truth.shape:
        return np.inf
    return float(np.abs(told - truth).max() / max(1.0, model.scale))
