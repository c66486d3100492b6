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

N_COPIES = 9


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

    def _fit_model(self, X, y, read=True):
        """Wrap the fitted estimator for the search, and check the target."""
        self._model = BlackBox(
            self.estimator_, self._space, X, y, self.threshold, read=read
        )
        if self._model.regression:
            if self.threshold is not None:
                raise ValueError(
                    "threshold is for classifiers; the target of a regressor is an "
                    "interval."
                )
            several = np.ndim(self.target) == 2
            check_interval(self.target, len(self.target) if several else 1)
        else:
            self.classes_ = self._model.classes_
            if np.ndim(self.target) == 0:
                check_target(self.target, 1, self.classes_)

    def _goal(self, query, table, target):
        """Judge the queries as they came, and set what they are to become."""
        model, n = self._model, len(query)
        given = self.target if target is None else target
        told, n_calls = model.told(table)
        query.prediction = told["predict"]
        query.state.n_calls, query.state.n_rows = n_calls, n * n_calls
        if model.regression:
            low, high = check_interval(given, n)
            query.goal = Goal(low=low, high=high)
            query.score = query.prediction.astype(np.float64)
            inside = query.goal.reached(query.prediction)
            edge = model.on_edge(query.goal, query.score)
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
            probability = told.get("predict_proba")
            _, query.score = self._said(query.goal, position, told)
            inside = ~opposite & query.goal.reached(position, probability)
            edge = ~opposite & model.on_edge(query.goal, position, probability)
            query.target = self._named(label, opposite)
        inside[edge] = self._alone(query, table, query.goal, np.flatnonzero(edge))
        query.status[inside] = "already"

    def _named(self, label, opposite):
        """Return the labels to reach; None where several are as good."""
        labels = _objects(self.classes_[label].tolist())
        if opposite.any():
            two = len(self.classes_) == 2
            other = self.classes_[1 - label[opposite]].tolist() if two else None
            labels[opposite] = _objects(other) if two else None
        return labels

    def _said(self, goal, place, told):
        """Return (margin, score that an Explanation reports) of rows."""
        model, probability = self._model, told.get("predict_proba")
        scores = place if model.method == "predict" else told[model.method]
        margin = model.margin(scores.astype(np.float64, copy=False), probability, goal)
        return margin, margin if probability is None else goal.mass(probability)

    def _judge(self, query, row, table):
        """Return (valid, prediction, score) of rows in the model's own container."""
        model, goal = self._model, query.goal.take(row)
        told, n_calls = model.told(table)
        prediction, probability = told["predict"], told.get("predict_proba")
        if model.regression:
            place = score = prediction.astype(np.float64)
            margin = model.margin(place, None, goal)
        else:
            place = model.positions(prediction)
            margin, score = self._said(goal, place, told)
        query.state.n_calls += n_calls
        query.state.n_rows += n_calls * len(row)
        clear = model.passes(margin)
        valid = clear & goal.reached(place, probability)
        edge = clear & model.on_edge(goal, place, probability)
        valid[edge] = self._alone(query, table, goal, np.flatnonzero(edge))
        return valid, prediction, score

    def _alone(self, query, table, goal, rows):
        """Return whether rows are in their targets whatever they are grouped with.

        Each is asked for alone and in a group of its copies: the answer depends on
        the row and on nothing else in the call.
        """
        model, told = self._model, np.ones(len(rows), dtype=bool)
        for i, row in enumerate(rows):
            for size in (1, N_COPIES):
                at = np.full(size, row)
                copies = self._space.container.take(table, at)
                prediction, probability = model.predict(copies), None
                if not model.regression:
                    prediction = model.positions(prediction)
                    probability = model.probability(copies)
                told[i] &= goal.take(at).reached(prediction, probability).all()
                query.state.n_calls += 1 + (probability is not None)
                query.state.n_rows += size * (1 + (probability is not None))
        return told

    def _targets(self, query, answers, prediction):
        """Return the target of every row; of several classes, the one reached."""
        target = query.target.copy()
        first = np.flatnonzero(np.diff(answers.row, prepend=-1))
        reached = prediction[first].tolist()
        for i, label in zip(answers.row[first], reached, strict=True):
            if target[i] is None:
                target[i] = label
        return target

    def _rate(self):
        return self._model.rate

    def _prefer(self):
        return "threads" if self._model.compiled else None

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
