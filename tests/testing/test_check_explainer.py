"""The checks of the contract find explainers that break it."""

import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from skcf._base import Answers
from skcf.exceptions import CounterfactualNotFoundWarning
from skcf.tabular import NearestUnlikeExplainer
from skcf.testing import check_explainer, explainer_checks


class ChangesParameter(NearestUnlikeExplainer):
    def fit(self, X, y=None, **params):
        self.verbose = bool(self.verbose)
        return super().fit(X, y, **params)


class SetsInTransform(NearestUnlikeExplainer):
    def transform(self, X, *, target=None):
        self.n_seen_ = len(X)
        return super().transform(X, target=target)


class FitsTheEstimatorItself(NearestUnlikeExplainer):
    def _fit_estimator(self, X, y, params):
        super()._fit_estimator(X, y, params)
        if not isinstance(self.estimator, FrozenEstimator):
            self.estimator.fit(X, y)


class DropsFitParameters(NearestUnlikeExplainer):
    def _fit_estimator(self, X, y, params):
        super()._fit_estimator(X, y, {})


class CallsTheModelOnArrays(NearestUnlikeExplainer):
    def _fit_model(self, X, y):
        super()._fit_model(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.estimator_.predict(np.asarray(X, dtype=object))


class TurnsRowsAround(NearestUnlikeExplainer):
    def transform(self, X, *, target=None):
        return super().transform(X, target=target)[::-1]


class ReturnsArrays(NearestUnlikeExplainer):
    def transform(self, X, *, target=None):
        return np.asarray(super().transform(X, target=target), dtype=object)


class SaysNothing(NearestUnlikeExplainer):
    def transform(self, X, *, target=None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CounterfactualNotFoundWarning)
            return super().transform(X, target=target)


class JudgesNothing(NearestUnlikeExplainer):
    """Answers each query with the one before it, and takes its own word for it."""

    def _solve(self, problem, rows, k):
        codes = np.roll(problem.x[rows], 1, axis=0)
        extra = {
            name: np.zeros(len(rows), dtype=t) for name, t in self._extras().items()
        }
        return Answers(rows, codes, problem.cut, extra)

    def _reached(self, query, row, table):
        valid, prediction, score = super()._reached(query, row, table)
        return np.ones_like(valid), prediction, score


class BreaksRules(NearestUnlikeExplainer):
    def _solve(self, problem, rows, k):
        problem.ground.rules.parts = []
        return super()._solve(problem, rows, k)

    def _lawful(self, query, row, table):
        ok, cost, n_changed = super()._lawful(query, row, table)
        return np.ones_like(ok), cost, n_changed


class NeverSaysInfeasible(NearestUnlikeExplainer):
    def _status(self, query, answers):
        status = super()._status(query, answers)
        status[status == "infeasible"] = "not_found"
        return status


class DependsOnTheBatch(NearestUnlikeExplainer):
    def _solve(self, problem, rows, k):
        answers = super()._solve(problem, rows, k if len(rows) > 1 else k + 1)
        return (
            answers if len(rows) > 1 else answers.take(np.arange(len(answers.row)) > 0)
        )


class NeverReturns(NearestUnlikeExplainer):
    def _solve(self, problem, rows, k):
        if self.time_limit is not None:
            time.sleep(2.5)
        return super()._solve(problem, rows, k)


class CountsDistance(NearestUnlikeExplainer):
    def score(self, X, y=None):
        return 1.0 + super().score(X)


class ScoresByCost(NearestUnlikeExplainer):
    def _gower(self, query, answers):
        return np.minimum(1.0, query.state.cost)


class AnswersByThread(NearestUnlikeExplainer):
    def _fit_search(self, X):
        super()._fit_search(X)
        self._home = threading.get_ident()

    def transform(self, X, *, target=None):
        here = threading.get_ident() == self._home
        return super().transform(X, target=target) if here else X


class Prints(NearestUnlikeExplainer):
    def _fit_search(self, X):
        print("learning")
        super()._fit_search(X)


class TakesNoRows(NearestUnlikeExplainer):
    def transform(self, X, *, target=None):
        return super().transform(X, target=target) if len(X) else X


BROKEN = [
    (ChangesParameter, 1, "init_sets_parameters_alone"),
    (SetsInTransform, 1, "nothing_is_set_outside_fit"),
    (FitsTheEstimatorItself, 1, "estimator_is_cloned"),
    (DropsFitParameters, 1, "fit_parameters_reach_the_model"),
    (CallsTheModelOnArrays, 2, "model_sees_the_table_of_fit"),
    (TurnsRowsAround, 3, "transform_keeps_the_table"),
    (ReturnsArrays, 3, "containers"),
    (SaysNothing, 3, "infeasible_rows"),
    (JudgesNothing, 4, "opposite"),
    (JudgesNothing, 5, "answers_are_valid"),
    (BreaksRules, 6, "rules_hold"),
    (NeverSaysInfeasible, 7, "infeasible_rows"),
    (DependsOnTheBatch, 8, "rows_alone"),
    (NeverReturns, 9, "time_limit"),
    (CountsDistance, 10, "score"),
    (ScoresByCost, 10, "cost_and_score"),
    (AnswersByThread, 11, "two_jobs"),
    (Prints, 12, "nothing_is_printed"),
    (TakesNoRows, 13, "refused_calls"),
]


@pytest.mark.parametrize("broken, clause, name", BROKEN)
def test_a_broken_clause_is_named(broken, clause, name):
    checks = dict(explainer_checks(broken(DecisionTreeClassifier(max_depth=3))))
    with pytest.raises(AssertionError, match=rf"^Clause {clause} \("):
        checks[f"check_{name}"]()


def test_the_first_broken_clause_is_raised():
    explainer = ChangesParameter(DecisionTreeClassifier(max_depth=3))
    with pytest.raises(AssertionError, match="changed the parameter verbose to False"):
        check_explainer(explainer)


def test_own_data_and_a_frozen_model():
    X = np.array(
        [[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0], [4.0, 2.0], [5.0, 3.0]]
    )
    y = np.array([0, 0, 0, 1, 1, 1])
    frozen = FrozenEstimator(DecisionTreeClassifier(random_state=0).fit(X, y))
    checks = dict(explainer_checks(NearestUnlikeExplainer(frozen), X, y, X[:2]))
    for name in ("transform_keeps_the_table", "opposite", "score", "containers"):
        checks[f"check_{name}"]()


def test_checks_follow_the_layer():
    classifier = NearestUnlikeExplainer(DecisionTreeClassifier())
    regressor = NearestUnlikeExplainer(LinearRegression(), target=(0.0, None))
    names = [{name for name, _ in explainer_checks(e)} for e in (classifier, regressor)]
    assert {"check_opposite", "check_regression", "check_dates"} <= names[0]
    assert "check_opposite" not in names[1] and "check_dates" in names[1]


def test_only_explainers_are_checked():
    with pytest.raises(TypeError, match="DecisionTreeClassifier"):
        explainer_checks(DecisionTreeClassifier())
