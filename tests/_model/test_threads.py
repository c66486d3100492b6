"""Short calls stay on one thread, and threads never change an answer."""

import pickle

import numpy as np
import pytest
from joblib import Parallel
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_info, threadpool_limits

from skcf._model._threads import FEW_ROWS, SHORT, SingleThread
from skcf.tabular import GeCoExplainer

RANDOM = np.random.RandomState(0)
X = RANDOM.normal(size=(300, 4)).round(2)
SCORE = X[:, 0] + X[:, 1] ** 2 + X[:, 2] * X[:, 3]


def openmp():
    return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "openmp"]


def jobs():
    return Parallel(n_jobs=2)._effective_n_jobs()


@pytest.mark.parametrize(
    ("n_rows", "rate", "limited"),
    [
        (1, 0.0, True),
        (FEW_ROWS - 1, 0.0, True),
        (FEW_ROWS, 0.0, False),
        (10, SHORT / 10, False),
        (10, SHORT / 20, True),
    ],
)
def test_only_short_calls_are_limited(n_rows, rate, limited):
    assert openmp(), "scikit-learn comes with OpenMP"
    with threadpool_limits(2, user_api="openmp"):
        with SingleThread().limit(n_rows, rate):
            assert set(openmp()) == ({1} if limited else {2})
            assert jobs() == (1 if limited else 2)
        assert set(openmp()) == {2}
        assert jobs() == 2


def test_jobs_of_a_long_call_can_be_kept_in_order():
    with threadpool_limits(2, user_api="openmp"):
        with SingleThread().limit(FEW_ROWS, in_order=True):
            assert set(openmp()) == {2}
            assert jobs() == 1
        assert jobs() == 2


def test_limits_end_with_an_error():
    with threadpool_limits(2, user_api="openmp"):
        with pytest.raises(ZeroDivisionError), SingleThread().limit(1):
            raise ZeroDivisionError
        assert set(openmp()) == {2}
        assert jobs() == 2


def test_pickle_leaves_the_handles_behind():
    threads = SingleThread()
    with threads.limit(1):
        pass
    again = pickle.loads(pickle.dumps(threads))
    with threadpool_limits(2, user_api="openmp"), again.limit(1):
        assert set(openmp()) == {1}


class Shaken(ClassifierMixin, BaseEstimator):
    """A forest whose trees are added up in another order at each call.

    That is what a pool of threads does, here on purpose.
    """

    def __init__(self, forest):
        self.forest = forest

    def fit(self, X, y):
        self.forest_ = self.forest.fit(X, y)
        self.classes_ = self.forest_.classes_
        self.random_ = np.random.RandomState(0)
        return self

    def predict_proba(self, X):
        order = self.random_.permutation(len(self.forest_.estimators_))
        trees = [self.forest_.estimators_[t] for t in order]
        return sum(tree.predict_proba(X) for tree in trees) / len(trees)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_the_order_of_sums_changes_no_answer(threshold):
    forest = RandomForestClassifier(31, max_depth=5, random_state=0)
    model = Shaken(forest).fit(X, SCORE > 0.8)
    told = model.predict_proba(X)
    assert (told != model.predict_proba(X)).any(), "the sums do differ"
    explainer = GeCoExplainer(
        FrozenEstimator(model), threshold=threshold, random_state=0
    ).fit(X, SCORE > 0.8)
    assert explainer._model.view is None
    first = explainer.explain(X[:20])
    for _ in range(2):
        again = explainer.explain(X[:20])
        np.testing.assert_array_equal(first.counterfactuals, again.counterfactuals)
        assert first.status.tolist() == again.status.tolist()


@pytest.mark.parametrize("view", [True, False])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_forests_with_jobs_give_the_answers_of_one_job(kind, view):
    y = SCORE > 0.8 if kind is RandomForestClassifier else SCORE
    target = "opposite" if kind is RandomForestClassifier else (1.0, None)
    told = []
    for n_jobs in (1, 2):
        model = kind(15, max_depth=5, random_state=0, n_jobs=n_jobs).fit(X, y)
        explainer = GeCoExplainer(
            FrozenEstimator(model), target=target, random_state=0
        ).fit(X, y)
        if not view:
            explainer._model.view = None
        told.append(explainer.explain(X[:15]))
    np.testing.assert_array_equal(told[0].counterfactuals, told[1].counterfactuals)
    assert told[0].status.tolist() == told[1].status.tolist()
