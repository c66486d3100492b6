"""Made-up loan applications, and a model of who gets one."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer

EXPLAINERS = [GeCoExplainer, NearestUnlikeExplainer]
TRADE = pd.CategoricalDtype(["baker", "mason", "tailor"])
SCHOOL = pd.CategoricalDtype(["basic", "middle", "upper"], ordered=True)


def applications(n=300, seed=0):
    """Return a table of all kinds of columns, and who got a loan."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "years": rng.integers(20, 70, n),
            "salary": rng.lognormal(3, 0.5, n).round(2),
            "married": rng.random(n) < 0.5,
            "trade": rng.choice(TRADE.categories, n),
            "school": rng.choice(SCHOOL.categories, n),
        },
        index=[f"case {i}" for i in range(n)],
    ).astype({"trade": TRADE, "school": SCHOOL})
    points = X["salary"] / 20 + 0.4 * X["school"].cat.codes + 0.3 * X["married"]
    points += 0.4 * (X["trade"] == "mason") + X["years"] / 100
    return X, np.where(points > points.median(), "granted", "refused")


def pipeline(model=None):
    """Return a model of raw columns, with its preprocessing inside."""
    encoder = make_column_transformer(
        (OneHotEncoder(), ["trade", "school"]),
        (StandardScaler(), ["years", "salary"]),
        remainder="passthrough",
    )
    model = RandomForestClassifier(20, random_state=0) if model is None else model
    return make_pipeline(encoder, model)


X, Y = applications()
MODEL = pipeline().fit(X, Y)
REFUSED = X[MODEL.predict(X) == "refused"]


def fitted(explainer=GeCoExplainer, model=MODEL, X=X, y=Y, **params):
    """Return an explainer of a fitted model."""
    params.setdefault("random_state", 0)
    return explainer(FrozenEstimator(model), **params).fit(X, y)


def squares(n=200, seed=1):
    """Return points of the unit cube with two decimals, and which lie high."""
    rng = np.random.default_rng(seed)
    points = pd.DataFrame(rng.random((n, 3)).round(2), columns=["p", "q", "r"])
    return points, (points["p"] + points["q"] > 1).to_numpy().astype(int)
