"""Explainers of a model: estimator, target, threshold, and what reaches the target."""

from numbers import Real

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)

from skcf._base._explainer import BaseExplainer
from skcf._model import BlackBox, Goal, check_interval, check_target

MAX_ALONE = 64


class ModelExplainer(MetaEstimatorMixin, BaseExplainer):
    """Base of the explainers of a classifier or a regressor."""

    _parameter_constraints = {
        **BaseExplainer._parameter_constraints,
        "estimator": "no_validation",
        "target": "no_validation",
        "threshold": [Interval(Real, 0, 1, closed="right"), None],
    }

    def _fit_estimator(self, X, y, params):
        """Fit a clone of the estimator, and pass it what was routed to it."""
        if get_config()["enable_metadata_routing"]:
            params = process_routing(self, "fit", **params).estimator.fit
        model = clone(self.estimator)
        try:
            self.estimator_ = model.fit(X, y, **params)
        except Exception as error:
            if y is None:
                error.add_note(
                    f"{type(self).__name__}.fit was called without y, so the estimator "
                    "could not be fitted. Pass y, or a fitted model as "
                    "estimator=sklearn.frozen.FrozenEstimator(model)."
                )
            raise

    def _fit_model(self, X, y):
        """Wrap the fitted estimator for the search, and check the target."""
        self._model = BlackBox(self.estimator_, self._space, X, y, self.threshold)
        if self._model.regression:
            if self.threshold is not None:
                raise ValueError("threshold is for classifiers; use the interval target.")
            check_interval(self.target, 1)
        else:
            self.classes_ = self._model.classes_
            check_target(self.target, 1, self.classes_) if np.ndim(self.target) == 0 else None

    def _goal(self, query, table, target):
        """Judge the queries as they came, and set what they are to become."""
        model, n = self._model, len(query)
        given = self.target if target is None else target
        query.prediction = model.predict(table)
        query.state.n_calls, query.state.n_rows = 1, n
        if model.regression:
            low, high = check_interval(given, n)
            query.goal = Goal(low=low, high=high)
            query.score = query.prediction.astype(np.float64)
            inside = query.goal.reached(query.prediction)
            pairs = [
                tuple(None if np.isinf(v) else float(v) for v in pair)
                for pair in zip(low, high, strict=True)
            ]
            query.target = _objects(pairs)
        else:
            label, opposite = check_target(given, n, self.classes_)
            position = model.positions(query.prediction)
            label = np.where(opposite, position, label)
            query.goal = Goal(label=label, opposite=opposite, nu=self.threshold)
            probability = model.probability(table)
            query.state.n_calls += probability is not None
            query.state.n_rows += n * (probability is not None)
            query.score = self._said(query.goal, table, probability)
            inside = ~opposite & query.goal.reached(position, probability)
            query.target = self._named(label, opposite)
        query.status[inside] = "already"

    def _named(self, label, opposite):
        """Return the labels to reach; None where several are as good."""
        labels = _objects(self.classes_[label].tolist())
        if opposite.any():
            two = len(self.classes_) == 2
            other = self.classes_[1 - label[opposite]].tolist() if two else None
            labels[opposite] = _objects(other) if two else None
        return labels

    def _said(self, goal, table, probability):
        """Return the score that an Explanation reports of rows."""
        if probability is not None:
            return goal.mass(probability)
        return self._model.margin(*self._model.output(table), goal)

    def _judge(self, query, row, table):
        """Return (valid, prediction, score) of rows in the model's own container."""
        model, goal = self._model, query.goal.take(row)
        prediction = model.predict(table)
        query.state.n_calls += 1
        query.state.n_rows += len(row)
        if model.regression:
            score = prediction.astype(np.float64)
            margin = model.margin(score, None, goal)
            valid = goal.reached(score)
        else:
            scores, _ = model.output(table)
            sure = model.method == "predict_proba"
            probability = scores if sure else model.probability(table)
            margin = model.margin(scores, probability, goal)
            valid = goal.reached(model.positions(prediction), probability)
            score = margin if probability is None else goal.mass(probability)
            query.state.n_calls += 1 + (not sure and probability is not None)
            query.state.n_rows += len(row) * (1 + (not sure and probability is not None))
        valid &= model.passes(margin)
        on_edge = np.flatnonzero(valid & model.on_edge(margin))
        for i in on_edge[:MAX_ALONE]:
            one = self._space.container.take(table, np.array([i]))
            valid[i] = self._alone(one, goal.take(np.array([i])))
        valid[on_edge[MAX_ALONE:]] = False
        return valid, prediction, score

    def _alone(self, table, goal):
        """Tell whether a row on the closed edge of its target is so by itself too."""
        model = self._model
        if model.regression:
            return bool(goal.reached(model.predict(table))[0])
        position = model.positions(model.predict(table))
        return bool(goal.reached(position, model.probability(table))[0])

    def _targets(self, query, answers, prediction):
        """Return the target of every row; of several classes, the one reached."""
        target = query.target.copy()
        first = np.flatnonzero(np.diff(answers.row, prepend=-1))
        for i, label in zip(answers.row[first], prediction[first].tolist(), strict=True):
            if target[i] is None:
                target[i] = label
        return target

    def _rate(self):
        return self._model.rate

    # -- routing and tags ---------------------------------------------------------

    def get_metadata_routing(self):
        """Return how metadata passed to `fit` reaches the estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        tags.input_tags.sparse = False
        tags.array_api_support = False
        return tags


def _objects(values):
    return np.fromiter(values, dtype=object, count=len(values))
