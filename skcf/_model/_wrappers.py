"""Estimators around estimators, read as formulas over what they wrap.

A wrapper is seen through where its output is a fixed function of its members' outputs;
each member may have preprocessing of its own.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skcf._model._dense import read_layers
from skcf._model._links import pair, shares
from skcf._model._merged import mean_of, sigmoid_of
from skcf._model._read_trees import read_trees


@dataclass(frozen=True)
class Leaf:
    """A member that a kernel computes, behind preprocessing steps."""

    name: str
    steps: tuple
    kernel: object

    @property
    def leaves(self):
        """The leaves of the formula that is this leaf alone."""
        return [self]

    def value(self, scores):
        """Return the next of the leaves' scores."""
        return next(scores)


@dataclass(frozen=True)
class Formula:
    """A function of the scores of members, formulas themselves."""

    members: list
    function: object
    leaves: list = field(init=False)

    def __post_init__(self):
        leaves = [leaf for member in self.members for leaf in member.leaves]
        object.__setattr__(self, "leaves", leaves)

    def value(self, scores):
        """Return the output from an iterator over the leaves' scores."""
        return self.function([member.value(scores) for member in self.members])


def read_estimator(estimator, method, steps=()):
    """Return the Leaf or Formula of an estimator's method, None if it is not known."""
    estimator, more = unwrap(estimator)
    steps = (*steps, *more)
    reader = _FORMULAS.get(type(estimator).__name__)
    if reader is not None and type(estimator).__module__.startswith("sklearn."):
        return reader(estimator, method, steps)
    kernel = read_trees(estimator, method) or read_layers(estimator, method)
    return kernel and Leaf(type(estimator).__name__, steps, kernel)


def unwrap(estimator):
    """Return what is inside wrappers that leave scores as they are, and the steps."""
    steps = []
    for layer in nested(estimator):
        if isinstance(layer, Pipeline):
            steps += [s for _, s in layer.steps[:-1] if not _is_idle(s)]
    return layer, tuple(steps)


def nested(estimator):
    """Yield an estimator and what it passes rows on to, one inside the other."""
    while estimator is not None:
        yield estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        elif isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif type(estimator).__name__ in _THRESHOLD:
            estimator = estimator.estimator_
        else:
            estimator = getattr(estimator, "best_estimator_", None)


def staged(estimator, X):
    """Return the estimator behind plain pipelines, and what it is given for rows.

    Its methods say of that what those of the whole say of the rows.
    """
    while type(estimator) in (FrozenEstimator, Pipeline):
        if type(estimator) is FrozenEstimator:
            estimator = estimator.estimator
            continue
        for _, step in estimator.steps[:-1]:
            X = X if step in (None, "passthrough") else step.transform(X)
        estimator = estimator.steps[-1][1]
    return estimator, X


def predicts_by_probability(estimator):
    """Tell whether `predict` is scikit-learn's own argmax over `predict_proba`.

    It is for forests, which take their time for either.
    """
    predict = getattr(type(estimator), "predict", None)
    of = getattr(predict, "__module__", None), getattr(predict, "__qualname__", None)
    return of == _FOREST and estimator.n_outputs_ == 1


_FOREST = "sklearn.ensemble._forest", "ForestClassifier.predict"

# They move the boundary and leave the scores alone; the margin learns where it is.
_THRESHOLD = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


def _is_idle(step):
    """Whether a step does nothing in predict; samplers resample in fit alone."""
    return step in (None, "passthrough") or hasattr(step, "fit_resample")


def _read_members(estimators, method, steps, function):
    members = [read_estimator(e, method, steps) for e in estimators]
    return None if None in members else Formula(members, function)


def _response(estimator):
    """Return the method that calibration and one-vs-rest prefer."""
    return next(
        (m for m in ("decision_function", "predict_proba") if hasattr(estimator, m)),
        None,
    )


# -- calibration ----------------------------------------------------------------------


def _read_calibrated(estimator, method, steps):
    """Read a mean over classifiers whose scores go through a map for each class."""
    if method != "predict_proba":
        return None
    members = []
    for part in estimator.calibrated_classifiers_:
        response = _response(part.estimator)
        member = read_estimator(part.estimator, response, steps)
        if member is None:
            return None
        function = partial(
            _calibrated,
            calibrators=part.calibrators,
            place=np.searchsorted(part.classes, part.estimator.classes_),
            n_classes=len(part.classes),
            temperature=part.method == "temperature",
            bounded=response == "predict_proba",
        )
        members.append(Formula([member], function))
    merged = _sigmoid(estimator.calibrated_classifiers_, members)
    return Formula(members, _mean) if merged is None else merged


def _sigmoid(parts, members):
    """Return the Leaf of one classifier of two classes behind a sigmoid, or None."""
    part, (member, *_) = parts[0], members[0].members
    two = len(part.classes) == len(part.estimator.classes_) == 2
    if len(parts) > 1 or part.method != "sigmoid" or not two:
        return None
    if not isinstance(member, Leaf):
        return None
    # The probability is expit(-(a_ score + b_)).
    slope, offset = -part.calibrators[0].a_, -part.calibrators[0].b_
    kernel = sigmoid_of(member.kernel, slope, offset)
    return kernel and Leaf(member.name, member.steps, kernel)


def _calibrated(scores, calibrators, place, n_classes, temperature, bounded):
    """Return calibrated probabilities of one classifier."""
    # The last digit of a sum must not make a probability look like another score.
    scores = np.clip(scores[0], 0.0, 1.0) if bounded else scores[0]
    if temperature:
        scores = scores[:, None] if scores.ndim == 1 else scores
        return calibrators[0].predict(scores)
    if n_classes == 2:
        scores = scores if scores.ndim == 1 else scores[:, 1]
        return pair(calibrators[0].predict(scores))
    if scores.ndim == 1:
        scores = scores[:, None]
    out = np.zeros((len(scores), n_classes))
    for k, score, calibrator in zip(place, scores.T, calibrators, strict=False):
        out[:, k] = calibrator.predict(score)
    return shares(out)


def _mean(parts):
    return sum(parts) / len(parts)


# -- one against the rest -------------------------------------------------------------


def _read_one_vs_rest(estimator, method, steps):
    if estimator.multilabel_ or method not in ("predict_proba", "decision_function"):
        return None
    function = _one_vs_rest if method == "predict_proba" else _stacked
    return _read_members(estimator.estimators_, method, steps, function)


def _one_vs_rest(parts):
    if len(parts) == 1:
        return pair(parts[0][:, 1])
    return shares(np.column_stack([part[:, 1] for part in parts]))


def _stacked(parts):
    return parts[0] if len(parts) == 1 else np.column_stack(parts)


# -- votes ----------------------------------------------------------------------------


def _read_voting(estimator, method, steps):
    wanted = "predict" if type(estimator).__name__ == "VotingRegressor" else None
    wanted = wanted or ("predict_proba" if estimator.voting == "soft" else None)
    if method != wanted:
        return None
    weights = estimator._weights_not_none
    weights = None if weights is None else np.asarray(weights, dtype=np.float64)
    function = partial(_weighted_mean, weights=weights)
    read = _read_members(estimator.estimators_, method, steps, function)
    if read is None or any(leaf.steps != steps for leaf in read.leaves):
        return read
    if not all(isinstance(member, Leaf) for member in read.members):
        return read
    kernel = mean_of([leaf.kernel for leaf in read.leaves], weights)
    return Leaf(type(estimator).__name__, steps, kernel) if kernel else read


def _weighted_mean(parts, weights):
    return np.average(parts, axis=0, weights=weights)


# -- a regressor of a transformed target ----------------------------------------------


def _read_transformed_target(estimator, method, steps):
    if method != "predict" or estimator._training_dim != 1:
        return None
    function = partial(_restored, transformer=estimator.transformer_)
    return _read_members([estimator.regressor_], method, steps, function)


def _restored(parts, transformer):
    return np.ravel(transformer.inverse_transform(parts[0][:, None]))


_FORMULAS = {
    "CalibratedClassifierCV": _read_calibrated,
    "OneVsRestClassifier": _read_one_vs_rest,
    "VotingClassifier": _read_voting,
    "VotingRegressor": _read_voting,
    "TransformedTargetRegressor": _read_transformed_target,
}
