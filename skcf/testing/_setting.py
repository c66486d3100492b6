"""What an explainer is checked on: the data, and models that the checks bring along."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from skcf._base import ModelExplainer, TabularExplainer
from skcf.testing._tables import CATEGORICAL, NUMERIC, containers, mixed_table, take
from skcf.testing._verdict import quiet

N_QUERIES = 5


@dataclass(frozen=True)
class Setting:
    """An explainer with the data that it is checked on."""

    explainer: Any
    X: Any
    y: Any
    queries: Any

    @classmethod
    def of(cls, explainer, X=None, y=None, queries=None):
        """Return the setting of the caller's data; what is missing is generated."""
        explainer = seeded(clone(explainer))
        if X is None and isinstance(explainer, TabularExplainer):
            return cls.mixed(explainer)
        if X is None:
            X, y = _numbers(explainer)
            queries = None
        if queries is None:
            queries = take(X, np.linspace(0, len(X) - 1, N_QUERIES).astype(int))
        return cls(explainer, X, y, queries)

    @classmethod
    def mixed(cls, explainer, kind=None, **params):
        """Return a setting on a table of mixed columns, the model behind an encoder."""
        X, wealth = mixed_table(containers()[:2][-1] if kind is None else kind)
        model = encoded(bare(explainer.estimator))
        neutral = {"constraints": (), "cost": "gower", "resolution": "observed"}
        neutral |= {"categorical_features": "from_dtype", "target": "opposite"}
        y = np.where(wealth > np.median(wealth), "yes", "no")
        if is_regressor(model):
            y, neutral["target"] = wealth, (float(np.median(wealth)), None)
        explainer = seeded(clone(explainer))
        explainer.set_params(estimator=model, **{**neutral, **params})
        return cls(explainer, X, y, take(X, np.arange(N_QUERIES)))

    @property
    def is_classifier(self):
        """Whether the explainer explains a classifier."""
        is_model = isinstance(self.explainer, ModelExplainer)
        return is_model and not is_regressor(self.explainer.estimator)

    @property
    def is_frozen(self):
        """Whether the model of the explainer is fitted already, and stays as it is."""
        return isinstance(self.explainer.estimator, FrozenEstimator)

    def new(self, **params):
        """Return a clone of the explainer with some parameters set."""
        return clone(self.explainer).set_params(**params)

    def fitted(self, **params):
        """Return a fitted clone of the explainer with some parameters set."""
        with quiet():
            return self.new(**params).fit(self.X, self.y)

    def inside(self, *steps):
        """Return the model of the explainer behind some steps."""
        model = clone(self.explainer.estimator)
        return Pipeline([*((type(s).__name__, s) for s in steps), ("model", model)])

    def trained(self):
        """Return the model of the explainer, fitted."""
        with quiet():
            return clone(self.explainer.estimator).fit(self.X, self.y)

    def regression(self):
        """Return the setting with a regressor in the place of the model."""
        tree = DecisionTreeRegressor(max_depth=4, random_state=0)
        if isinstance(self.explainer, TabularExplainer):
            # Some methods take linear models only, others only trees.
            module = type(self.explainer.estimator).__module__
            linear = module.startswith("sklearn.linear_model")
            return Setting.mixed(self.new(estimator=Ridge() if linear else tree))
        model = Pipeline([("flat", FunctionTransformer(_flat)), ("model", tree)])
        y = np.unique(self.y, return_inverse=True)[1].astype(float)
        explainer = self.new(estimator=model, target=(float(np.median(y)), None))
        return Setting(explainer, self.X, y, self.queries)


class Spy(TransformerMixin, BaseEstimator):
    """A step that changes nothing, remembers what it saw and can take its time."""

    def __init__(self, look=None, seconds=0.0):
        self.look = look
        self.seconds = seconds

    def fit(self, X, y=None):
        """Learn the columns, and forget what was seen."""
        validate_data(self, X, skip_check_array=True)
        self.seen_ = []
        return self

    def transform(self, X):
        """Return the table as it is."""
        if self.look is not None:
            self.seen_.append(self.look(X))
        if self.seconds:
            time.sleep(self.seconds * len(X))
        return X


def encoded(model):
    """Return a model of the mixed table: categories one-hot, numbers scaled."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), CATEGORICAL),
        (StandardScaler(), NUMERIC),
        sparse_threshold=0.0,
    )
    return Pipeline([("encoder", encoder), ("model", model)])


def bare(estimator):
    """Return a model without its preprocessing, to be fitted anew."""
    if isinstance(estimator, FrozenEstimator):
        return bare(estimator.estimator)
    return clone(estimator[-1] if isinstance(estimator, Pipeline) else estimator)


def seeded(estimator):
    """Set every random_state of an estimator that is not set."""
    state = {
        name: 0
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return estimator.set_params(**state)


def _numbers(explainer):
    """Return (X, y) of numbers, for explainers that are not of mixed tables."""
    X = np.round(np.random.RandomState(0).uniform(1, 9, size=(60, 4)), 1)
    total = X[:, 0] + X[:, 1]
    if get_tags(explainer).input_tags.three_d_array:
        X = X[:, :, None]
    model = getattr(explainer, "estimator", None)
    if model is None:
        return X, None
    return X, total if is_regressor(model) else np.where(total > 10, "yes", "no")


def _flat(X):
    return X.reshape(len(X), -1) if X.ndim > 2 else X
