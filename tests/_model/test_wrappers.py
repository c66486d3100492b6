"""Estimators around estimators: seen through where their output is a formula."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf._model._view import Blend, Opaque, View
from skcf._model._wrappers import nested, unwrap
from skcf.tabular import GeCoExplainer
from tests._model.random_candidates import agree, wrap

RANDOM = np.random.RandomState(0)
X = pd.DataFrame(
    {
        "age": RANDOM.randint(18, 80, 300),
        "income": RANDOM.gamma(2, 20, 300).round(1),
        "job": RANDOM.choice(["clerk", "miner", "nurse"], 300),
    }
)
SCORE = X.income / 40 - (X.age < 30) + (X.job == "nurse") * 0.5 + RANDOM.rand(300)
BINARY = np.where(SCORE > SCORE.median(), "yes", "no")
THREE = np.digitize(SCORE, SCORE.quantile([0.3, 0.7]))
ENCODER = make_column_transformer(
    (StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["job"])
)
encoded = partial(make_pipeline, ENCODER)
FOREST = RandomForestClassifier(6, max_depth=4, random_state=0)
CALIBRATED = partial(CalibratedClassifierCV, cv=2)
# It came with 1.8.
TEMPERATURE = "temperature" in str(CalibratedClassifierCV._parameter_constraints)


@pytest.fixture(autouse=True)
def one_thread():
    """Keep threads of OpenMP from waiting for each other on a busy machine."""
    with threadpool_limits(1):
        yield


def box_of(model, y):
    model = clone(model).fit(X, y)
    return wrap(FrozenEstimator(model), X, y)


BLENDS = [
    CALIBRATED(encoded(FOREST)),
    CALIBRATED(encoded(FOREST), method="isotonic"),
    CALIBRATED(encoded(LogisticRegression()), ensemble=False),
    CALIBRATED(encoded(LinearSVC())),
    CALIBRATED(encoded(GradientBoostingClassifier(n_estimators=5))),
    CALIBRATED(encoded(HistGradientBoostingClassifier(max_iter=5)), method="isotonic"),
    CALIBRATED(encoded(AdaBoostClassifier(n_estimators=4))),
    encoded(CALIBRATED(FOREST)),
    OneVsRestClassifier(encoded(LogisticRegression())),
    OneVsRestClassifier(encoded(LinearSVC())),
    encoded(OneVsRestClassifier(FOREST)),
    VotingClassifier(
        [("a", encoded(FOREST)), ("b", encoded(LogisticRegression()))], voting="soft"
    ),
    VotingClassifier(
        [
            ("a", encoded(FOREST)),
            ("b", CALIBRATED(encoded(LinearSVC()))),
            ("c", "drop"),
        ],
        voting="soft",
        weights=[3, 1, 7],
    ),
    FixedThresholdClassifier(CALIBRATED(encoded(FOREST)), threshold=0.4),
    GridSearchCV(
        CALIBRATED(encoded(LogisticRegression())), {"method": ["isotonic"]}, cv=2
    ),
]


if TEMPERATURE:
    BLENDS += [
        encoded(CALIBRATED(LogisticRegression(), method="temperature")),
        CALIBRATED(encoded(FOREST), method="temperature"),
    ]


def short(model):
    return "".join(repr(model).split())[:60]


@pytest.mark.parametrize("model", BLENDS, ids=short)
def test_blends_score_as_the_estimator_does(model):
    two_classes = isinstance(model, FixedThresholdClassifier)
    for labels in (BINARY,) if two_classes else (BINARY, THREE):
        box = box_of(model, labels)
        # One classifier behind one sigmoid is a model of its own kind.
        one = labels is BINARY and getattr(model, "ensemble", True) is False
        assert isinstance(box.view, View if one else Blend)
        agree(box, X.head(40))


REGRESSORS = [
    TransformedTargetRegressor(encoded(Ridge()), func=np.log1p, inverse_func=np.expm1),
    encoded(
        TransformedTargetRegressor(
            RandomForestRegressor(5, random_state=0), transformer=StandardScaler()
        )
    ),
    TransformedTargetRegressor(
        encoded(Ridge()), transformer=QuantileTransformer(n_quantiles=20)
    ),
    VotingRegressor(
        [
            ("a", encoded(Ridge())),
            ("b", encoded(RandomForestRegressor(5, random_state=0))),
        ],
        weights=[1, 2],
    ),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=short)
def test_blends_of_regressors(model):
    box = box_of(model, SCORE - SCORE.min())
    assert isinstance(box.view, Blend)
    agree(box, X.head(40))


def test_members_behind_one_preprocessing_share_its_table():
    shared = box_of(encoded(CALIBRATED(FOREST)), BINARY).view
    apart = box_of(CALIBRATED(encoded(FOREST)), BINARY).view
    assert len({id(view.encoding) for view in shared.views}) == 1
    assert len({id(view.encoding) for view in apart.views}) == 2
    assert shared.compiled and not shared.asks


THROUGH = [
    (FixedThresholdClassifier(encoded(FOREST), threshold=0.3), FlatTrees),
    (
        TunedThresholdClassifierCV(encoded(LogisticRegression()), cv=2, thresholds=9),
        Layers,
    ),
    (encoded(FixedThresholdClassifier(LogisticRegression(), threshold=0.3)), Layers),
    (make_pipeline("passthrough", encoded(FOREST)), FlatTrees),
    (make_pipeline(None, make_pipeline(ENCODER, make_pipeline(FOREST))), FlatTrees),
    (GridSearchCV(encoded(FOREST), {}, cv=2), FlatTrees),
    (
        GridSearchCV(
            FixedThresholdClassifier(encoded(LogisticRegression())),
            {"threshold": [0.2]},
            cv=2,
        ),
        Layers,
    ),
    (FrozenEstimator(encoded(FOREST).fit(X, BINARY)), FlatTrees),
]


@pytest.mark.parametrize(("model", "kernel"), THROUGH, ids=short)
def test_wrappers_that_leave_scores_alone(model, kernel):
    box = box_of(model, BINARY)
    assert isinstance(box.view.kernel, kernel)
    agree(box, X.head(40))
    predicted = box.positions(box.predict(X))
    lead = box.lead(box.output(X)[0], predicted)
    assert (lead >= 0).all()


def test_the_cut_of_a_threshold_is_found_inside_wrappers():
    model = GridSearchCV(
        FixedThresholdClassifier(encoded(LogisticRegression()), threshold=0.23), {}
    )
    assert box_of(model, BINARY).cut == 0.23


BLACK = [
    VotingClassifier(
        [("a", encoded(FOREST)), ("b", encoded(LogisticRegression()))], voting="hard"
    ),
    CALIBRATED(encoded(KNeighborsClassifier())),
    VotingClassifier(
        [("a", encoded(FOREST)), ("b", encoded(KNeighborsClassifier()))], voting="soft"
    ),
]


@pytest.mark.parametrize("model", BLACK, ids=short)
def test_what_is_no_formula_is_asked(model):
    assert box_of(model, BINARY).view is None


def test_an_unknown_member_leaves_the_table_of_the_preprocessing():
    box = box_of(encoded(CALIBRATED(KNeighborsClassifier())), BINARY)
    assert isinstance(box.view.kernel, Opaque)
    agree(box, X.head(40))


def test_a_class_that_a_fold_did_not_see():
    few = np.where(np.arange(300) < 3, "rare", BINARY)
    folds = [(np.arange(3, 300), np.arange(300)), (np.arange(300), np.arange(3, 300))]
    model = CalibratedClassifierCV(encoded(FOREST), cv=folds)
    box = box_of(model, few)
    assert isinstance(box.view, Blend)
    agree(box, X.head(40))


def test_layers_of_wrappers_from_the_outside_in():
    inner = LogisticRegression()
    model = GridSearchCV(FixedThresholdClassifier(encoded(inner)), {}, cv=2)
    model = FrozenEstimator(model.fit(X, BINARY))
    kinds = [type(layer).__name__ for layer in nested(model)]
    assert kinds == [
        "FrozenEstimator",
        "GridSearchCV",
        "FixedThresholdClassifier",
        "Pipeline",
        "LogisticRegression",
    ]
    final, steps = unwrap(model)
    assert type(final) is LogisticRegression and len(steps) == 1


@pytest.mark.parametrize(
    "model",
    [
        CALIBRATED(encoded(FOREST), method="isotonic"),
        encoded(CALIBRATED(SGDClassifier(random_state=0))),
    ],
    ids=short,
)
def test_answers_are_the_same_with_and_without_a_blend(model):
    explainer = GeCoExplainer(model, random_state=0, constraints="cf.age >= x.age")
    explainer.fit(X, BINARY)
    assert isinstance(explainer._model.view, Blend)
    explainer = pickle.loads(pickle.dumps(explainer))
    seen = explainer.transform(X.head(15))
    explainer._model.view = None
    pd.testing.assert_frame_equal(seen, explainer.transform(X.head(15)))
