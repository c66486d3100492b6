"""The model as a search sees it: a margin, counted and kept within its budget."""

import time
from numbers import Real

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.base import is_classifier, is_regressor

from skcf._model._goal import TOLERANCE
from skcf._model._read_view import name_of, read_view
from skcf._model._threads import SingleThread
from skcf._model._wrappers import nested, predicts_by_probability, staged

N_SAMPLE = 200
MAX_ROWS = 50_000
NOISE = 1e-12


class Meter:
    """Counts the calls and rows of one search and knows when its time is up."""

    def __init__(self, deadline=None, share=None):
        self.deadline = deadline
        self.share = share
        self.n_calls = 0
        self.n_rows = 0
        self.cut = False

    @property
    def expired(self):
        """Whether the time limit has passed; remembered once it has."""
        if not self.cut and self.deadline is not None:
            self.cut = time.monotonic() >= self.deadline
        return self.cut

    @property
    def left(self):
        """Seconds until the time limit, None if there is none."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - time.monotonic())

    def add(self, n_rows):
        """Record one model call."""
        self.n_calls += 1
        self.n_rows += n_rows


class BlackBox:
    """Any fitted estimator, called on tables in the container it was trained on.

    `output` gives the raw scores behind `margin`: probabilities of all classes,
    decision values, the prediction of a regressor, or class positions where the
    estimator has nothing but predict. Which of them, and where the boundary lies, is
    settled once on sample rows so that the sign of the margin agrees with predict.
    The margin guides a search; predict decides. Unless `read` is False, the model is
    read as a view over the space of a table.
    """

    def __init__(self, estimator, space, X, y=None, threshold=None, read=True):
        self.estimator = estimator
        self._threads, self.rate, self.view = SingleThread(), 0.0, None
        self.space = space
        self.regression = _is_regression(estimator)
        self.bare = _wants_arrays(estimator, space.container.kind)
        rows = np.unique(np.linspace(0, len(X) - 1, N_SAMPLE).astype(np.intp))
        sample = space.container.take(X, rows)
        start = time.perf_counter()
        prediction = self._ask("predict", sample)
        self.rate = (time.perf_counter() - start) / len(rows)
        if prediction.ndim > 1 and prediction.shape[1:] != (1,):
            raise ValueError(
                f"Multi-output is not supported: predict returned {prediction.shape}."
            )
        self.classes_, self.has_proba = None, False
        self.needs_proba = threshold is not None
        self.cut, self.scale, self.method = None, 1.0, "predict"
        if self.regression:
            centre = np.abs(prediction).max() if len(prediction) else 1.0
            self.scale = float(max(centre, np.finfo(float).tiny))
            self.view = read_view(self, X) if read else None
            return
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            seen = [prediction] if y is None else [prediction, np.asarray(y)]
            classes = np.unique(np.concatenate([np.ravel(s) for s in seen]))
        if isinstance(classes, list):
            raise ValueError("Multi-output is not supported: classes_ is a list.")
        self.classes_ = np.asarray(classes)
        self._order = np.argsort(self.classes_, kind="stable")
        if threshold is not None and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"threshold={threshold} needs an estimator with predict_proba; "
                f"{name_of(estimator)} has none."
            )
        self.has_proba = hasattr(estimator, "predict_proba")
        self._calibrate(sample, self.positions(prediction))
        self.view = read_view(self, X) if read else None

    # -- calling the model --------------------------------------------------------

    def input(self, table):
        """Return a table as the estimator takes it: as an array if it has no names."""
        return table.to_numpy() if self.bare else table

    def predict(self, table):
        """Return the model's own prediction, one-dimensional."""
        return np.ravel(self._ask("predict", table))

    def positions(self, labels):
        """Return the position in ``classes_`` of each label."""
        labels = np.ravel(labels)
        ordered = self.classes_[self._order]
        at = np.minimum(np.searchsorted(ordered, labels), len(ordered) - 1)
        return np.where(ordered[at] == labels, self._order[at], -1)

    def output(self, table):
        """Return (scores, probabilities) of a table; the latter where needed."""
        if self.regression or self.method == "predict":
            scores = self.predict(table)
            if not self.regression:
                scores = self.positions(scores)
            scores = scores.astype(np.float64)
        else:
            scores = self._scores(self.method, table)
        if self.method == "predict_proba":
            return scores, scores
        probability = self._scores("predict_proba", table) if self.needs_proba else None
        return scores, probability

    def told(self, table):
        """Return (what `predict` and the methods behind margins say, number of calls).

        Preprocessing steps are gone through once for all of them.
        """
        methods = []
        if not self.regression and self.method != "predict":
            methods.append(self.method)
        if self.has_proba and self.method != "predict_proba":
            methods.append("predict_proba")
        with self._threads.limit(len(table), self.rate, self.compiled):
            final, X = staged(self.estimator, self.input(table))
            scores = {m: np.asarray(getattr(final, m)(X)) for m in methods}
            once = "predict_proba" in scores and predicts_by_probability(final)
            if once:
                best = np.argmax(scores["predict_proba"], axis=1)
                predict = final.classes_.take(best, axis=0)
            else:
                predict = np.ravel(np.asarray(final.predict(X)))
        told = {m: s.astype(np.float64, copy=False) for m, s in scores.items()}
        return {"predict": predict, **told}, len(methods) + (not once)

    def probability(self, table):
        """Return the probabilities of all classes, None where there are none."""
        if self.regression or not self.has_proba:
            return None
        return self._scores("predict_proba", table)

    def open(self, table, x, values):
        """Return a session that scores candidates: by the view if there is one."""
        if self.view is not None:
            return self.view.open(table, x, values)
        return BlackBoxSession(self, table, x, values)

    def margins(self, session, cands, goal, meter):
        """Return the margins of candidates; -inf for those that the budget cut off.

        A call never holds more of them than fit in memory or, under a time limit, in a
        quarter of it.
        """
        n = len(cands)
        out = np.full(n, -np.inf)
        begin, rate = 0, self.rate
        while begin < n and not meter.expired:
            size = self.batch
            if meter.share is not None:
                size = max(int(min(meter.share / max(rate, 1e-9), size)), 1)
            at = slice(begin, min(begin + size, n))
            start = time.perf_counter()
            output = session.output(cands.take(at))
            rate = (time.perf_counter() - start) / (at.stop - begin)
            if session.asks:
                meter.add(at.stop - begin)
            out[at] = self.margin(*output, goal.take(at))
            begin = at.stop
        return out

    @property
    def compiled(self):
        """Whether the model is read as trees, which compiled code walks through."""
        return self.view is not None and self.view.compiled

    @property
    def batch(self):
        """The most rows of one call."""
        bytes_a_row = max(1, self.space.n_features) * 64
        fits = int(get_config()["working_memory"] * 2**20 / bytes_a_row)
        return min(max(fits, 1), MAX_ROWS)

    # -- the margin ---------------------------------------------------------------

    def margin(self, scores, probability, goal):
        """Return how far outputs are inside (positive) the target of each row."""
        if self.regression:
            return self._closed(np.minimum(scores - goal.low, goal.high - scores))
        own = self.lead(scores, goal.label)
        margin = np.where(goal.opposite, -own, own)
        if goal.nu is not None:
            margin = np.minimum(margin, self._closed(goal.mass(probability) - goal.nu))
        return margin

    def _closed(self, gap):
        """Return gaps to a closed edge, which is in: beyond it by a digit is not."""
        edge = (gap >= 0) & (gap <= self._noise)
        return np.where(edge, 2 * TOLERANCE * self.scale, gap)

    @property
    def _noise(self):
        """What the sum of a score may be off by, from batch to batch."""
        return NOISE * (self.scale if self.regression else 1.0)

    def lead(self, scores, label):
        """Return the lead of a class over the best other one."""
        if self.method == "predict":
            return np.where(scores == label, 1.0, -1.0)
        if scores.ndim == 2 and scores.shape[1] == 1:
            return np.ones(len(scores))
        if scores.ndim == 1 or scores.shape[1] == 2:
            if self.cut is None:
                second = scores[:, 1] - scores[:, 0]
            else:
                second = (scores if scores.ndim == 1 else scores[:, 1]) - self.cut
            return np.where(label == 1, second, -second)
        at, rest = np.arange(len(scores)), scores.copy()
        rest[at, label] = -np.inf
        return scores[at, label] - rest.max(axis=1)

    def passes(self, margin):
        """Return where a margin is clear of the boundary."""
        return margin > TOLERANCE * self.scale

    def off_edge(self, margin):
        """Return where a margin is more than what a closed edge counts as."""
        return margin > 3 * TOLERANCE * self.scale

    def on_edge(self, goal, prediction, probability=None):
        """Return where rows lie on the closed edge of a target.

        There a batch may say yes to a row and no to it alone: sums of floats depend on
        how rows are grouped. Those of trees that are added up in their order do not.
        """
        if self.compiled:
            return np.zeros(len(goal), dtype=bool)
        if self.regression:
            gap = np.minimum(prediction - goal.low, goal.high - prediction)
        elif goal.nu is not None:
            gap = goal.mass(probability) - goal.nu
        else:
            return np.zeros(len(goal), dtype=bool)
        return np.abs(gap) <= self._noise

    def shortfall(self, margin):
        """Return a number in [0, 1] that falls as the margin rises: one less P."""
        return expit(-self.strength(margin))

    def strength(self, margin):
        """Return the margin on a scale on which effects roughly add up: log-odds."""
        if self.method == "predict_proba" and not self.regression:
            margin = np.maximum(margin, -1.0)  # -inf stands for not scored
            odds = (1.0 + margin) / np.maximum(1.0 - margin, 1e-12)
            return np.log(np.maximum(odds, 1e-12))
        return margin / self.scale

    def _calibrate(self, sample, predicted):
        """Choose the scores whose margin has the sign that predict has."""
        options = [
            m
            for m in ("predict_proba", "decision_function")
            if hasattr(self.estimator, m)
        ]
        for method in options:
            scores = self._scores(method, sample)
            self.method = method
            if scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 2):
                if len(self.classes_) != 2:
                    continue
                default = 0.0 if scores.ndim == 1 else None
                first = scores if scores.ndim == 1 else scores[:, 1]
                cuts = [default, _told(self.estimator), _boundary(first, predicted)]
            elif scores.ndim == 2 and scores.shape[1] == len(self.classes_):
                first, cuts = scores, [None]
            else:
                continue
            for cut in cuts:
                self.cut = cut
                lead = self.lead(scores, predicted)
                if (lead >= 0).all():
                    spread = np.median(np.abs(lead))
                    proba = method == "predict_proba"
                    self.scale = 1.0 if proba or not spread > 0 else float(spread)
                    return
        self.method, self.cut, self.scale = "predict", None, 1.0

    def _scores(self, method, table):
        return self._ask(method, table).astype(np.float64, copy=False)

    def _ask(self, method, table):
        with self._threads.limit(len(table), self.rate, self.compiled):
            return np.asarray(getattr(self.estimator, method)(self.input(table)))


class BlackBoxSession:
    """The queries of a problem; candidates are written as tables for the model."""

    asks = True

    def __init__(self, model, table, x, values):
        self.model, self.table, self.x, self.values = model, table, x, values

    def output(self, cands):
        """Return what the model's `output` does, of candidates."""
        codes = cands.codes(self.x, self.values)
        return self.model.output(self.model.space.decode(codes, self.table, cands.row))


def _told(estimator):
    """Return the threshold that a threshold classifier names, nan if there is none."""
    for layer in nested(estimator):
        cut = getattr(layer, "best_threshold_", getattr(layer, "threshold", None))
        if isinstance(cut, Real):
            return float(cut)
    return np.nan


def _boundary(score, predicted):
    """Return the cut between the scores of the two classes, nan if they overlap."""
    low, high = score[predicted == 0], score[predicted == 1]
    if not len(low) or not len(high) or low.max() >= high.min():
        return np.nan
    return float(low.max() + high.min()) / 2


def _is_regression(estimator):
    if is_regressor(estimator):
        return True
    if is_classifier(estimator):
        return False
    return not (hasattr(estimator, "classes_") or hasattr(estimator, "predict_proba"))


def _wants_arrays(estimator, kind):
    """Tell whether a model was trained without column names though X has them."""
    unnamed = hasattr(estimator, "n_features_in_") and not hasattr(
        estimator, "feature_names_in_"
    )
    return kind != "array" and unnamed
