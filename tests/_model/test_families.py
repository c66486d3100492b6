"""Every family of models that is read: same scores, and same answers, as the model."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
    TweedieRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf.tabular import GeCoExplainer
from tests._model.random_candidates import agree, splits, wrap

N = 240
TASKS = ("binary", "multiclass", "regression")


@cache
def table(task, missing):
    """Return (X, y): numbers with and without a grid, categories, and gaps."""
    random = np.random.default_rng(5)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 80, N).astype(float),
            "income": random.gamma(2, 20, N),
            "ratio": random.normal(size=N).astype(np.float32),
            "job": random.choice(["clerk", "miner", "nurse", "smith"], N),
            "owner": random.choice(["no", "yes"], N),
        }
    )
    score = X.income / 40 + (X.owner == "yes") - (X.age < 30) + X.ratio
    score += X.job.map({"clerk": 0, "miner": 1.5, "nurse": 0.3, "smith": -1})
    X["job"] = pd.Categorical(X.job, categories=["smith", "nurse", "miner", "clerk"])
    X["owner"] = X.owner.astype("category")
    if missing:
        X.loc[::7, "income"] = np.nan
        X.loc[::9, "job"] = None
    if task == "regression":
        return X, (score - score.min() + 0.1).to_numpy()
    cuts = np.quantile(score, [0.6] if task == "binary" else [0.4, 0.75])
    return X, np.searchsorted(cuts, score)


def one_hot(model):
    """Return a model behind scaling and one-hot encoding of a complete table."""
    return make_pipeline(
        make_column_transformer(
            (StandardScaler(), ["age", "income"]),
            (OneHotEncoder(), ["job", "owner"]),
            remainder="passthrough",
        ),
        model,
    )


def imputed(model):
    """Return a model behind ranks of categories, numbers as they are, gaps filled."""
    numbers = SimpleImputer(strategy="median")
    ranks = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(
        make_column_transformer(
            (numbers, ["age", "income", "ratio"]), (ranks, ["job", "owner"])
        ),
        model,
    )


def seeded(model):
    names = model.get_params()
    return model.set_params(random_state=0) if "random_state" in names else model


def boosters(task):
    """Return XGBoost and LightGBM of a task, where they are installed."""
    kind = "Regressor" if task == "regression" else "Classifier"
    xgboost, lightgbm = (pytest.importorskip(m) for m in ("xgboost", "lightgbm"))
    few = {"n_estimators": 8, "n_jobs": 1}
    xgb = getattr(xgboost, f"XGB{kind}")
    lgbm = getattr(lightgbm, f"LGBM{kind}")
    lgbm_few = {**few, "verbose": -1, "min_child_samples": 5, "min_data_per_group": 5}
    return {
        "xgboost": one_hot(xgb(**few, max_depth=4)),
        "xgboost with gaps": imputed(xgb(**few, max_depth=4)),
        "xgboost categories": xgb(
            **few, max_depth=4, enable_categorical=True, max_cat_to_onehot=1
        ),
        "lightgbm": one_hot(lgbm(**lgbm_few)),
        "lightgbm categories": lgbm(**lgbm_few, max_cat_to_onehot=1),
    }


def trees(task):
    regression = task == "regression"
    kinds = {
        "tree": (DecisionTreeClassifier, DecisionTreeRegressor, {"max_depth": 5}),
        "forest": (
            RandomForestClassifier,
            RandomForestRegressor,
            {"n_estimators": 8, "max_depth": 6, "n_jobs": 2},
        ),
        "extra trees": (
            ExtraTreesClassifier,
            ExtraTreesRegressor,
            {"n_estimators": 8, "max_depth": 6},
        ),
        "gradient boosting": (
            GradientBoostingClassifier,
            GradientBoostingRegressor,
            {"n_estimators": 8},
        ),
        "hist": (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
            {"max_iter": 8, "min_samples_leaf": 5},
        ),
        "adaboost": (AdaBoostClassifier, AdaBoostRegressor, {"n_estimators": 6}),
    }
    models = {
        name: pair[regression](**params) for name, (*pair, params) in kinds.items()
    }
    depth = {"estimator": kinds["tree"][regression](max_depth=3)}
    models["adaboost"].set_params(**depth)
    told = {name: one_hot(seeded(model)) for name, model in models.items()}
    told["forest with gaps"] = imputed(seeded(models["forest"]))
    hist = kinds["hist"][regression](
        max_iter=8, min_samples_leaf=5, categorical_features="from_dtype"
    )
    told["hist categories"] = seeded(hist)
    return told


def layers(task):
    few = {"max_iter": 300, "tol": 1e-2, "random_state": 0}
    if task == "regression":
        models = {
            "ridge": Ridge(),
            "elastic net": ElasticNet(alpha=0.01),
            "sgd": SGDRegressor(random_state=0),
            "svr": LinearSVR(random_state=0),
            "kernel svr": SVR(kernel="linear"),
            "poisson": PoissonRegressor(),
            "tweedie": TweedieRegressor(power=1.5),
            "tweedie of a line": TweedieRegressor(power=0),
        }
        for activation in ("relu", "tanh", "logistic", "identity"):
            params = {"hidden_layer_sizes": (6, 4), "activation": activation, **few}
            models[f"mlp {activation}"] = MLPRegressor(**params)
    else:
        models = {
            "logistic": LogisticRegression(),
            "svc": LinearSVC(random_state=0),
            "ridge": RidgeClassifier(),
            "discriminant": LinearDiscriminantAnalysis(),
            "sgd hinge": SGDClassifier(random_state=0),
            "sgd log": SGDClassifier(loss="log_loss", random_state=0),
            "sgd huber": SGDClassifier(loss="modified_huber", random_state=0),
            "mlp relu": MLPClassifier((6, 4), **few),
            "mlp tanh": MLPClassifier((6,), activation="tanh", **few),
            "mlp logistic": MLPClassifier((6,), activation="logistic", **few),
        }
        if task == "binary":
            models["kernel svc"] = SVC(kernel="linear")
    return {name: one_hot(model) for name, model in models.items()}


FAMILIES = {"trees": trees, "boosters": boosters, "layers": layers}
# Sums of float32 numbers, in which XGBoost also has its link.
ROUGH = 2e-6


@cache
def fitted(family, task, name):
    """Return (box, X) of a model; fitted once."""
    model = FAMILIES[family](task)[name]
    X, y = table(task, "gaps" in name or "categories" in name)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")  # a few iterations are enough here
        model.fit(X, y)
    return wrap(model, X, y, resolution={"ratio": None}), X


def names(family):
    return [(task, name) for task in TASKS for name in FAMILIES[family](task)]


def check_scores(family, task, name, seed):
    box, X = fitted(family, task, name)
    kernel = Layers if family == "layers" else FlatTrees
    assert box.view is not None and isinstance(box.view.kernel, kernel)
    assert family == "layers" or splits(box, np.random.RandomState(seed), 5)
    atol = ROUGH if "xgboost" in name else 1e-9
    assert agree(box, X.iloc[seed % 7 :: 8], seed, n=20, atol=atol) >= 580


def few_examples(n):
    return settings(
        max_examples=n,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )


@pytest.mark.parametrize(("task", "name"), names("trees"))
@few_examples(2)
@given(seed=st.integers(0, 2**31 - 1))
def test_trees(task, name, seed):
    check_scores("trees", task, name, seed)


@pytest.mark.parametrize(("task", "name"), names("layers"))
@few_examples(2)
@given(seed=st.integers(0, 2**31 - 1))
def test_layers(task, name, seed):
    check_scores("layers", task, name, seed)


BOOSTERS = (
    "xgboost",
    "xgboost with gaps",
    "xgboost categories",
    "lightgbm",
    "lightgbm categories",
)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", BOOSTERS)
@few_examples(2)
@given(seed=st.integers(0, 2**31 - 1))
def test_boosters(task, name, seed):
    check_scores("boosters", task, name, seed)


ANSWERS = [
    ("trees", "binary", "forest"),
    ("trees", "multiclass", "hist categories"),
    ("trees", "regression", "gradient boosting"),
    ("trees", "binary", "adaboost"),
    ("trees", "regression", "adaboost"),
    ("boosters", "binary", "xgboost categories"),
    ("boosters", "regression", "lightgbm categories"),
    ("layers", "binary", "svc"),
    ("layers", "multiclass", "mlp tanh"),
    ("layers", "multiclass", "sgd log"),
    ("layers", "regression", "ridge"),
]


@pytest.mark.parametrize(("family", "task", "name"), ANSWERS)
def test_answers_are_the_same_with_and_without_the_view(family, task, name):
    box, X = fitted(family, task, name)
    _, y = table(task, False)
    target = "opposite"
    if task == "regression":
        target = (float(np.quantile(y, 0.7)), None)
    explainer = GeCoExplainer(
        FrozenEstimator(box.estimator),
        target=target,
        constraints=["cf.age >= x.age"],
        random_state=0,
    ).fit(X, y)
    assert explainer._model.view is not None
    queries = X.head(12)
    seen = explainer.explain(queries)
    explainer._model.view = None
    asked = explainer.explain(queries)
    assert seen.status.tolist() == asked.status.tolist()
    assert "found" in seen.status
    pd.testing.assert_frame_equal(seen.counterfactuals, asked.counterfactuals)
    np.testing.assert_array_equal(seen.cost, asked.cost)
