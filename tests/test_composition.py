"""Explainers put together with the rest of scikit-learn."""

import pickle
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skcf.constraints import fixed, increasing
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer

JOBS = ["clerk", "cook", "smith"]
GRADES = ["low", "mid", "high"]
NUMBERS, WORDS = ["age", "income"], ["job", "grade"]
SMALL = {"q": 20, "m_init": 5, "max_generations": 2, "random_state": 0}


def credit(n=80):
    """Return a pandas frame of four kinds of column, with an index, and labels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(20, 60, size=n),
            "income": rng.uniform(10, 90, size=n).round(1),
            "job": pd.Categorical(rng.choice(JOBS, size=n), categories=JOBS),
            "grade": pd.Categorical(
                rng.choice(GRADES, size=n), categories=GRADES, ordered=True
            ),
        },
        index=[f"p{i}" for i in range(n)],
    )
    wealth = X["income"] + 15 * X["grade"].cat.codes + 0.3 * X["age"]
    return X, np.where(wealth > wealth.median(), "good", "bad")


def credit_polars():
    """Return the same rows in polars."""
    X, y = credit()
    columns = {name: X[name].tolist() for name in X}
    return pl.DataFrame(columns).with_columns(
        pl.col("job").cast(pl.Enum(JOBS)), pl.col("grade").cast(pl.Enum(GRADES))
    ), y


def encoded(model):
    """Put a model behind encoders that choose their columns by name."""
    encoder = make_column_transformer(
        (StandardScaler(), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore"), ["job"]),
        (OrdinalEncoder(categories=[GRADES]), ["grade"]),
    )
    return make_pipeline(encoder, model)


@pytest.fixture(params=["nearest", "geco"])
def explainer(request):
    """Return an explainer of a pipeline that takes the frame as it is."""
    model = encoded(LogisticRegression())
    if request.param == "nearest":
        return NearestUnlikeExplainer(model, random_state=0)
    return GeCoExplainer(model, **SMALL)


def test_pipeline_with_a_column_transformer_inside(explainer):
    X, y = credit()
    explainer.set_params(constraints=[fixed("job"), increasing("age")]).fit(X, y)
    queries = X[explainer.estimator_.predict(X) == "bad"][:10]
    cf = explainer.transform(queries)
    assert (explainer.estimator_.predict(cf) == "good").all()
    assert (cf.dtypes == X.dtypes).all() and (cf.index == queries.index).all()
    assert (cf["job"] == queries["job"]).all() and (cf["age"] >= queries["age"]).all()


def test_last_step_of_a_pipeline():
    X, y = credit()
    numbers = X[NUMBERS]
    steps = Pipeline(
        [
            ("scale", StandardScaler().set_output(transform="pandas")),
            ("explain", GeCoExplainer(LogisticRegression(), **SMALL)),
        ]
    )
    cf = steps.fit(numbers, y).transform(numbers[:6])
    explained = steps[-1]
    scaled = steps[:-1].transform(numbers[:6])
    assert list(cf.columns) == NUMBERS and (cf.index == scaled.index).all()
    before, after = map(explained.estimator_.predict, (scaled, cf))
    assert (before != after).all()
    assert 0 < steps.score(numbers[:6], y[:6]) <= 1
    assert list(steps.get_feature_names_out()) == NUMBERS


def test_grid_search_needs_no_scoring():
    X, y = credit()
    explainer = GeCoExplainer(encoded(DecisionTreeClassifier(random_state=0)), **SMALL)
    grid = {"cost": ["gower", "sparse"], "max_generations": [0, 2]}
    search = GridSearchCV(explainer, grid, cv=2, error_score="raise").fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert len(scores) == 4 and ((scores > 0) & (scores <= 1)).all()
    assert search.best_score_ == scores.max()
    best = search.best_estimator_
    changed = best.estimator_.predict(X[:5]) != best.estimator_.predict(
        search.transform(X[:5])
    )
    assert changed.all()


def test_grid_search_over_a_frozen_model():
    X, y = credit()
    frozen = FrozenEstimator(encoded(LogisticRegression()).fit(X, y))
    search = GridSearchCV(
        NearestUnlikeExplainer(frozen), {"cost": ["gower", "mace"]}, cv=2
    )
    search.fit(X)
    assert search.best_estimator_.estimator_ is frozen
    assert 0 < search.best_score_ <= 1


def test_grid_search_inside_the_explainer():
    X, y = credit()
    model = GridSearchCV(
        encoded(DecisionTreeClassifier(random_state=0)),
        {"decisiontreeclassifier__max_depth": [1, 3]},
        cv=2,
    )
    explainer = GeCoExplainer(model, **SMALL).fit(X, y)
    cf = explainer.transform(X[:5])
    assert (
        explainer.estimator_.predict(cf) != explainer.estimator_.predict(X[:5])
    ).all()


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("load", [credit, credit_polars], ids=["pandas", "polars"])
def test_set_output(explainer, load, output):
    X, y = load()
    own = "pandas" if load is credit else "polars"
    explainer.set_output(transform=output).fit(X, y)
    cf = explainer.transform(X[:5])
    wanted = own if output == "default" else output
    assert type(cf).__module__.split(".")[0] == wanted
    assert list(cf.columns) == list(X.columns)
    if wanted == own:
        assert list(cf.dtypes) == list(X.dtypes)
    elif wanted == "pandas":
        assert [d.kind for d in cf.dtypes] == ["i", "f", "O", "O"]
        assert list(cf["job"].cat.categories) == JOBS
        assert list(cf["grade"].cat.categories) == GRADES
    else:
        assert cf.schema["age"] == pl.Int64 and cf.schema["income"] == pl.Float64
    plain = explainer.set_output(transform="default").transform(X[:5])
    for name in NUMBERS:
        assert cf[name].to_list() == plain[name].to_list()


@pytest.mark.parametrize("load", [credit, credit_polars], ids=["pandas", "polars"])
def test_copies_give_the_same_answers(explainer, load, tmp_path):
    X, y = load()
    cf = explainer.fit(X, y).transform(X[:6])
    joblib.dump(explainer, tmp_path / "explainer.joblib")
    for copy in (
        pickle.loads(pickle.dumps(explainer)),
        joblib.load(tmp_path / "explainer.joblib"),
        clone(explainer).fit(X, y),
    ):
        assert copy.transform(X[:6]).equals(cf)


def test_clone_is_not_fitted(explainer):
    X, y = credit()
    copy = clone(explainer.fit(X, y))
    assert repr(copy) == repr(explainer)
    assert not [name for name in vars(copy) if name.endswith("_")]


def test_two_jobs(explainer):
    X, y = credit()
    one = explainer.fit(X, y).transform(X[:9])
    explainer.set_params(n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        two = explainer.transform(X[:9])
    assert two.equals(one)


def test_two_processes():
    X, y = credit()
    explainer = GeCoExplainer(encoded(LogisticRegression()), **SMALL).fit(X, y)
    one = explainer.transform(X[:4])
    assert explainer.set_params(n_jobs=2).transform(X[:4]).equals(one)


def test_progress_counts_found_rows(explainer, capsys):
    X, y = credit()
    explainer.set_params(verbose=1).fit(X, y).transform(X[:4])
    out, err = capsys.readouterr()
    assert not out
    assert re.search(r"4/4 .*found=4", err)


# -- metadata -------------------------------------------------------------------------


def weights(y):
    """Return weights under which a model predicts otherwise."""
    return np.where(y == "good", 20.0, 1.0) * np.linspace(0.1, 5, len(y))


@pytest.mark.parametrize("routing", [False, True])
def test_sample_weight_reaches_the_estimator(routing):
    X, y = credit()
    numbers, weight = X[NUMBERS], weights(y)
    alone = LogisticRegression().fit(numbers, y, sample_weight=weight)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = LogisticRegression()
        if routing:
            model.set_fit_request(sample_weight=True)
        explainer = NearestUnlikeExplainer(model)
        explainer.fit(numbers, y, sample_weight=weight)
    np.testing.assert_array_equal(explainer.estimator_.coef_, alone.coef_)


def test_sample_weight_that_nobody_asked_for():
    X, y = credit()
    with sklearn.config_context(enable_metadata_routing=True):
        explainer = NearestUnlikeExplainer(
            LogisticRegression().set_fit_request(sample_weight=False)
        )
        with pytest.raises(TypeError, match="sample_weight"):
            explainer.fit(X[NUMBERS], y, sample_weight=weights(y))


def test_sample_weight_through_a_pipeline():
    X, y = credit()
    weight = weights(y)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        steps = make_pipeline(StandardScaler(), NearestUnlikeExplainer(model))
        steps[0].set_fit_request(sample_weight=False)
        steps.fit(X[NUMBERS].to_numpy(), y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X[NUMBERS].to_numpy())
    alone = LogisticRegression().fit(scaled, y, sample_weight=weight)
    np.testing.assert_array_equal(steps[-1].estimator_.coef_, alone.coef_)


def test_target_of_each_row_through_a_pipeline():
    X, y = credit()
    numbers = X[NUMBERS].to_numpy()
    target = ["good", "bad", "good", "bad"]
    with sklearn.config_context(enable_metadata_routing=True):
        explainer = NearestUnlikeExplainer(DecisionTreeClassifier(random_state=0))
        steps = make_pipeline(StandardScaler(), explainer).fit(numbers, y)
        cf = steps.transform(numbers[:4], target=target)
    assert steps[-1].estimator_.predict(cf).tolist() == target
