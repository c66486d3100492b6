import logging

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from skcf._model import BlackBox
from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf._model._view import Opaque
from skcf._space import Candidates, FeatureSpace
from skcf.tabular import GeCoExplainer
from tests._model.random_candidates import agree, wrap


def table(n=300, seed=0):
    random = np.random.RandomState(seed)
    X = pd.DataFrame(
        {
            "age": random.randint(18, 80, n),
            "income": random.gamma(2, 20, n).round(1),
            "job": random.choice(["clerk", "miner", "nurse"], n),
            "owner": random.rand(n) < 0.4,
        }
    )
    score = X.income / 40 + X.owner - (X.age < 30) + (X.job == "nurse") * 0.5
    return X, (score > score.median()).astype(int).to_numpy()


def encoder(**kwargs):
    return make_column_transformer(
        (StandardScaler(), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore", **kwargs), ["job"]),
        remainder="passthrough",
    )


SEEN_THROUGH = [
    (RandomForestClassifier(10, max_depth=4, random_state=0), FlatTrees),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), FlatTrees),
    (LogisticRegression(), Layers),
    (SGDClassifier(loss="log_loss", random_state=0), Layers),
    (LinearSVC(), Layers),
    (RidgeClassifier(), Layers),
    (MLPClassifier((8, 4), max_iter=500, tol=1e-2, random_state=0), Layers),
    (MLPClassifier((5,), activation="tanh", max_iter=500, tol=1e-2), Layers),
    (FixedThresholdClassifier(LogisticRegression(), threshold=0.3), Layers),
    (SVC(), Opaque),
]


@pytest.mark.parametrize(("model", "kind"), SEEN_THROUGH, ids=str)
@pytest.mark.parametrize("sparse", [True, False])
def test_a_view_scores_as_the_pipeline_does(model, kind, sparse):
    X, y = table()
    pipeline = make_pipeline(encoder(sparse_output=sparse), model).fit(X, y)
    box = wrap(FrozenEstimator(pipeline), X, y)
    assert isinstance(box.view.kernel, kind)
    agree(box, X.head(40))


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (RandomForestRegressor(10, random_state=0), FlatTrees),
        (Ridge(), Layers),
        (
            MLPRegressor(
                hidden_layer_sizes=(5,), max_iter=2000, tol=1e-2, random_state=0
            ),
            Layers,
        ),
    ],
    ids=str,
)
def test_regressors(model, kind):
    X, _ = table()
    pipeline = make_pipeline(encoder(), model).fit(X, X.income / 10)
    box = BlackBox(pipeline, FeatureSpace(X), X)
    assert isinstance(box.view.kernel, kind)
    agree(box, X.head(40))


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        RandomForestClassifier(10, random_state=0),
        MLPClassifier((6,), max_iter=500, tol=1e-2, random_state=0),
        LinearSVC(),
    ],
    ids=str,
)
def test_several_classes(model):
    X, _ = table()
    y = np.digitize(X.income, [20, 40])
    pipeline = make_pipeline(encoder(), model).fit(X, y)
    box = BlackBox(pipeline, FeatureSpace(X), X, y)
    assert box.view is not None
    agree(box, X.head(40))


def test_wrappers_are_seen_through():
    X, y = table()
    search = GridSearchCV(
        make_pipeline(encoder(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1]},
        cv=2,
    ).fit(X, y)
    box = wrap(FrozenEstimator(search), X, y)
    assert isinstance(box.view.kernel, Layers)
    agree(box, X.head(40))


def test_encoders_of_every_kind_become_tables():
    X, y = table()
    steps = make_column_transformer(
        (KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), ["age"]),
        (StandardScaler(), ["income"]),
        (OrdinalEncoder(), ["job", "owner"]),
    )
    pipeline = make_pipeline(steps, RandomForestClassifier(10, random_state=0))
    box = BlackBox(pipeline.fit(X, y), FeatureSpace(X), X, y)
    assert isinstance(box.view.kernel, FlatTrees)
    agree(box, X.head(40))


def test_columns_that_mix_in_the_encoder_are_left_to_the_model():
    X, y = table()
    mixed = make_pipeline(
        encoder(sparse_output=False), PolynomialFeatures(2), LogisticRegression(C=0.01)
    )
    box = BlackBox(mixed.fit(X, y), FeatureSpace(X), X, y)
    assert box.view is None


def test_columns_in_a_group_may_mix():
    X, y = table()
    numbers = X[["age", "income"]]
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression())
    model.fit(numbers, y)
    alone = BlackBox(model, FeatureSpace(numbers), numbers, y)
    grouped = BlackBox(model, FeatureSpace(numbers, groups=[(0, 1)]), numbers, y)
    assert alone.view is None and isinstance(grouped.view.kernel, Layers)


def test_columns_that_hold_one_value():
    X, y = table()
    X = X.assign(country="here", year=2000, job=pd.Categorical(X.job))
    names = ["age", "income", "year"]
    steps = make_column_transformer(
        (make_pipeline(StandardScaler(), PolynomialFeatures(1)), names),
        (OneHotEncoder(), ["job", "owner", "country"]),
    )
    box = wrap(make_pipeline(steps, LogisticRegression()).fit(X, y), X, y)
    assert isinstance(box.view.kernel, Layers)
    agree(box, X.head(40))


def test_queries_are_looked_up_where_their_values_are_known():
    X, y = table()
    scaled = make_column_transformer(
        (MinMaxScaler(clip=True), ["income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["job", "owner"]),
        remainder="passthrough",
    )
    box = wrap(make_pipeline(scaled, LogisticRegression()).fit(X, y), X, y)
    encoding, space = box.view.encoding, box.space
    seen = space.encode(X)
    truth = encoding.transform(X)
    np.testing.assert_allclose(encoding.known_rows(seen), truth, atol=1e-15)
    between = X.assign(income=50.05, age=18 + np.arange(300) % 60)
    truth = encoding.transform(between)
    told = encoding.known_rows(space.encode(between))
    np.testing.assert_allclose(told, truth, atol=1e-12)
    # Nothing is known of what lies beyond what was seen.
    beyond = X.assign(income=1e4)
    assert encoding.known_rows(space.encode(beyond)) is None
    agree(box, beyond.head(40))


def test_queries_with_columns_that_are_carried_along_are_encoded():
    X, y = table()
    X = X.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(X.age, unit="D"))
    steps = make_column_transformer(
        (FunctionTransformer(days), ["day"]), (StandardScaler(), ["age", "income"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(X, y)
    box = wrap(model, X, y, fixed={X.columns.get_loc("day")})
    x = box.space.encode(X.head(40))
    cands = Candidates.unchanged(np.arange(40))
    told, _ = box.open(X.head(40), x, box.space.values.fork()).output(cands)
    np.testing.assert_allclose(told, model.predict_proba(X.head(40)), atol=1e-9)


def test_dropped_columns_and_missing_values():
    X, y = table()
    X = X[["age", "income"]].assign(noise=np.arange(300) % 7).astype(float)
    X.iloc[::9, 0] = np.nan
    model = make_pipeline(
        SimpleImputer(), SelectKBest(k=2), RandomForestClassifier(10, random_state=0)
    ).fit(X, y)
    box = BlackBox(model, FeatureSpace(X), X, y)
    assert isinstance(box.view.kernel, FlatTrees)
    agree(box, X.head(40))


def days(X):
    return X.apply(lambda column: column.dt.day_of_year) / 100


def old_and_poor(X):
    return (X[:, 0] > 60) & (X[:, 1] < 20)


def no_pairs(X):
    """Turn down some mixtures of values, as a step that checks its rows might."""
    if old_and_poor(X).any():
        raise ValueError("old and poor")
    return X


class Offset(LogisticRegression):
    """A model whose attributes do not tell what it does."""

    __module__ = "sklearn.linear_model._logistic"

    def predict_proba(self, X):
        p = super().predict_proba(X) ** 2
        return p / p.sum(axis=1, keepdims=True)


def test_a_view_that_disagrees_is_dropped_and_logged(caplog):
    X, y = table()
    numbers = X[["age", "income"]].to_numpy(dtype=float)
    model = FrozenEstimator(make_pipeline(Offset()).fit(numbers, y))
    with caplog.at_level(logging.INFO, logger="skcf"):
        box = wrap(model, numbers, y)
    assert box.view is None
    assert caplog.messages[0].startswith("Offset: its view, 1 layers, is off by")


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (GaussianNB(), "GaussianNB: no reader knows it"),
        (VotingClassifier([("a", GaussianNB())]), "no continuous score"),
        (
            make_pipeline(PolynomialFeatures(2), RidgeClassifier()),
            "RidgeClassifier: its preprocessing is no table: columns mix",
        ),
        (
            make_pipeline(FunctionTransformer(no_pairs), Perceptron()),
            "Perceptron: its preprocessing is no table: old and poor",
        ),
    ],
    ids=["reader", "score", "columns mix", "values"],
)
def test_the_log_says_why_there_is_no_view(model, reason, caplog):
    X, y = table()
    numbers = X[["age", "income"]].to_numpy(dtype=float)
    kept = ~old_and_poor(numbers)
    numbers, y = numbers[kept], y[kept]
    model = FrozenEstimator(model.fit(numbers, y))
    with caplog.at_level(logging.INFO, logger="skcf"):
        box = wrap(model, numbers, y)
    assert box.view is None
    assert any(reason in message for message in caplog.messages)


def test_a_view_that_is_used_needs_no_word(caplog):
    X, y = table()
    model = make_pipeline(encoder(), LogisticRegression()).fit(X, y)
    with caplog.at_level(logging.INFO, logger="skcf"):
        box = wrap(model, X, y)
    assert box.view is not None and not caplog.messages


@pytest.mark.parametrize(("model", "kind"), SEEN_THROUGH[:3], ids=str)
def test_answers_are_the_same_with_and_without_a_view(model, kind):
    X, y = table()
    pipeline = FrozenEstimator(make_pipeline(encoder(), model).fit(X, y))
    explainer = GeCoExplainer(pipeline, random_state=0, constraints="cf.age >= x.age")
    explainer.fit(X, y)
    assert isinstance(explainer._model.view.kernel, kind)
    seen = explainer.transform(X.head(30))
    explainer._model.view = None
    pd.testing.assert_frame_equal(seen, explainer.transform(X.head(30)))
