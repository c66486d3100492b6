"""Which view a model gets: found by reading it, kept if it scores as the model does."""

import logging

import numpy as np

from skcf._model._dense import Layers
from skcf._model._encoding import Encoding
from skcf._model._trees import joined_splits
from skcf._model._view import Blend, Opaque, View
from skcf._model._wrappers import Leaf, read_estimator, unwrap
from skcf._space import Candidates

N_CHECKED = 64
N_CHANGED = 3
N_NUMBERS = 6
# Boosters that add up float32 numbers differ by up to a millionth from exact sums.
LARGEST_GAP = 1e-5

logger = logging.getLogger("skcf")


def read_view(model, X):
    """Return the view of a wrapped model, None where there is none or it disagrees.

    `model` is the black box, which stays the judge: on sample rows with random changes
    both have to give the same scores.
    """
    method = "predict" if model.regression else model.method
    if model.needs_proba and method != "predict_proba":
        return None
    name = name_of(model.estimator)
    for option in _options(model, method):
        try:
            view = _with_tables(option, model)
        except (TypeError, ValueError) as error:
            # What a step says that turns down a mixture of values.
            reason = str(error).partition("\n")[0]
            logger.info("%s: its preprocessing is no table: %s", name, reason)
            continue
        if view is None:
            logger.info("%s: its preprocessing is no table: columns mix", name)
            continue
        gap = _disagreement(view, model, X)
        if gap <= LARGEST_GAP:
            return view
        logger.info("%s: its view, %r, is off by %.2g and not used", name, view, gap)
    return None


def name_of(estimator):
    """Return the name of what an estimator is, inside wrappers that change nothing."""
    return type(unwrap(estimator)[0]).__name__


def _options(model, method):
    """Yield what a model was read as, the best first."""
    final, steps = unwrap(model.estimator)
    bare = method == "predict" and not model.regression
    name = type(final).__name__
    if bare:
        logger.info("%s: it has no continuous score that predict follows", name)
        return
    read = read_estimator(model.estimator, method)
    if read is not None:
        yield read
    else:
        logger.info("%s: no reader knows it; it is asked for its scores", name)
    if steps:
        yield Leaf(name, steps, Opaque(final, method))


def _with_tables(read, model):
    """Return the view of what was read; None if an encoding is no table by column."""
    alike, keys, known = {}, [], {}
    for leaf in read.leaves:
        if not all(hasattr(step, "transform") for step in leaf.steps):
            return None
        keys.append((*map(id, leaf.steps), leaf.kernel.coding))
        alike.setdefault(keys[-1], []).append(leaf)
    for key, leaves in alike.items():
        kernels = [leaf.kernel for leaf in leaves]
        transform = _Preprocessing(model, leaves[0].steps, kernels)
        known[key] = Encoding.learn(transform, model.space)
        if known[key] is None:
            return None
    pairs = zip(keys, read.leaves, strict=True)
    views = [View(known[key], leaf.kernel) for key, leaf in pairs]
    return views[0] if isinstance(read, Leaf) else Blend(views, read)


class _Preprocessing:
    """What happens to a table before final estimators get numbers, in one form."""

    def __init__(self, model, steps, kernels):
        self.model, self.steps, self.kernel = model, steps, kernels[0]
        self.splits = joined_splits(kernels)

    def __call__(self, table):
        return self.kernel.encode(self.before_kernel(table))

    @property
    def exact(self):
        """Whether the last digit of a float64 may make a difference.

        It cannot where it is rounded away, nor where scores are continuous.
        """
        rounded = getattr(self.kernel, "precision", None) == "float32"
        return not (rounded or isinstance(self.kernel, Layers))

    def before_kernel(self, table):
        """Return what the final estimator is given."""
        table = self.model.input(table)
        for step in self.steps:
            table = step.transform(table)
        return table


def _disagreement(view, model, X):
    """Return the largest difference between view and model on changed sample rows."""
    space = model.space
    rows = np.unique(np.linspace(0, len(X) - 1, N_CHECKED).astype(np.intp))
    table = space.container.take(X, rows)
    x = space.encode(table, check_missing=False)
    values = space.values.fork()
    cands = _changed_rows(space, values, len(rows))
    told, _ = view.open(table, x, values).output(cands)
    codes = cands.codes(x, values)
    truth, _ = model.output(space.decode(codes, table, cands.row))
    if told.shape != truth.shape:
        return np.inf
    gap = np.abs(told - truth).max()
    return 0.0 if gap == 0 else float(gap / model.scale)


def _changed_rows(space, values, n_rows):
    """Return the rows as they are, with random values, and with numbers between.

    Split thresholds stand half way between observed numbers or on them, so these and
    what comes right next to them show on which side a float goes.
    """
    random = np.random.default_rng(0)
    row = np.repeat(np.arange(n_rows), 4)
    group = np.argsort(random.random((len(row), len(space.groups))), axis=1)
    group = np.sort(group[:, : min(N_CHANGED, group.shape[1])], axis=1)
    size = np.diff(values.offsets)[group]
    ids = values.offsets[group] + (random.random(group.shape) * size).astype(np.intp)
    lots = [Candidates.unchanged(np.arange(n_rows)), Candidates(row, ids)]
    for g, column in enumerate(values.single):
        if column < 0 or space.columns[column].kind != "numeric":
            continue
        near = _near_thresholds(space.columns[column], values.table(g)[:, 0], random)
        near = values.add(np.full(len(near), g), near)
        row = random.integers(0, n_rows, len(near))
        lots.append(Candidates(row, near[:, None]))
    return Candidates.concat(lots)


def _near_thresholds(column, known, random):
    """Return numbers on, between and right beside some observed ones."""
    known = known[~np.isnan(known)]
    if len(known) < 2:
        return np.empty(0)
    at = random.integers(0, len(known) - 1, N_NUMBERS)
    low, high = known[at], known[at + 1]
    middle = low + (high - low) / 2
    near = [column.beside(v).ravel() for v in (low, middle, np.float32(middle))]
    near = np.unique(np.concatenate(near).astype(np.float64))
    return near[(near >= known[0]) & (near <= known[-1])]
