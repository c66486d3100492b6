"""Whether a model puts rows where they are to be."""

import numpy as np
from sklearn.base import is_regressor

from skcf._measures._ruler import as_table
from skcf._model._goal import Goal, check_interval, check_target


class Judge:
    """A fitted model and the target of each query.

    Parameters
    ----------
    estimator : object with `predict`
    X : table of shape (n_rows, n_features)
        The queries: they say which class is the opposite.
    target : label, "opposite", (low, high), or one of these a row
    threshold : float, default=None
        The least probability of the target.
    """

    def __init__(self, estimator, X, target="opposite", threshold=None):
        self.estimator, self.X = estimator, X
        self.regression = is_regressor(estimator)
        if self.regression:
            if threshold is not None:
                raise ValueError(
                    "threshold is for classifiers; the target of a regressor is an "
                    "interval."
                )
            low, high = check_interval(target, len(X))
            self.goal = Goal(low=low, high=high)
            return
        if threshold is not None and not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"threshold={threshold} needs an estimator with predict_proba; "
                f"{type(estimator).__name__} has none."
            )
        before = self.predict(X)
        classes = np.asarray(getattr(estimator, "classes_", np.unique(before))).tolist()
        if not hasattr(estimator, "classes_"):
            # A bare predict may be asked for labels that it has not said yet.
            classes += _labels(target)
        self._places = {label: k for k, label in enumerate(dict.fromkeys(classes))}
        classes = np.fromiter(self._places, dtype=object, count=len(self._places))
        label, opposite = check_target(target, len(X), classes)
        label = np.where(opposite, self._positions(before), label)
        self.goal = Goal(label=label, opposite=opposite, nu=threshold)

    def reached(self, table, row):
        """Return whether rows are in the targets of the queries at `row`."""
        if not len(table):
            return np.zeros(0, dtype=bool)
        goal, prediction = self.goal.take(row), self.predict(table)
        if self.regression:
            return goal.reached(prediction.astype(np.float64))
        probability = None
        if goal.nu is not None:
            probability = np.asarray(self.estimator.predict_proba(self._input(table)))
        return goal.reached(self._positions(prediction), probability)

    def predict(self, table):
        """Return the predictions of a table."""
        if not len(table):
            return np.empty(0)
        return np.ravel(np.asarray(self.estimator.predict(self._input(table))))

    def _input(self, table):
        """Return a table as the model takes it: as an array if it knows no names."""
        named = hasattr(self.estimator, "feature_names_in_")
        unnamed = hasattr(self.estimator, "n_features_in_") and not named
        return np.asarray(as_table(table, "X")) if unnamed else table

    def _positions(self, labels):
        """Return the number of each label; -1 for one that has none."""
        return np.array([self._places.get(v, -1) for v in labels.tolist()], np.intp)


def _labels(target):
    """Return the labels among the targets that were asked for."""
    given = [target] if np.ndim(target) == 0 else list(target)
    plain = [v.item() if isinstance(v, np.generic) else v for v in given]
    return [v for v in plain if not (v is None or v == "opposite")]
