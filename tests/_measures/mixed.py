"""A table of all kinds of columns, with missing values, in three containers."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from skcf.constraints import increasing, together
from skcf.tabular import GeCoExplainer

LIBRARIES = ["pandas", "polars", "numpy"]
TOWNS, GRADES = ["bern", "genf", "chur"], ["low", "mid", "high"]
NAMES = ["age", "rate", "town", "grade", "zip", "own"]


def table(library, n=120, seed=0):
    """Return rows and labels; `zip` tells more exactly what `town` tells.

    In an array, categories are numbers, and columns 2 and 4 are to be declared.
    """
    rng = np.random.default_rng(seed)
    town, part = rng.integers(0, 3, n), rng.integers(0, 2, n)
    columns = {
        "age": rng.integers(20, 60, n),
        "rate": np.where(rng.random(n) < 0.2, np.nan, rng.random(n).round(2)),
        "town": town,
        "grade": rng.integers(0, 3, n),
        "zip": 10 * town + part,
        "own": rng.random(n) < 0.5,
    }
    y = columns["age"] / 40 + np.nan_to_num(columns["rate"], nan=0.3) + part / 3
    y = np.where(y + columns["grade"] / 4 > 1.8, "yes", "no")
    if library == "numpy":
        return np.column_stack([np.asarray(c, float) for c in columns.values()]), y
    columns["town"] = [TOWNS[k] for k in town]
    columns["town"][7] = None
    columns["grade"] = [GRADES[k] for k in columns["grade"]]
    columns["zip"] = [f"z{k:02}" for k in columns["zip"]]
    if library == "polars":
        frame = pl.DataFrame(columns).with_columns(
            pl.col("grade").cast(pl.Enum(GRADES)),
            pl.col("town", "zip").cast(pl.Categorical),
        )
        return frame, y
    frame = pd.DataFrame(columns, index=[f"p{i}" for i in range(n)])
    kinds = {
        "town": pd.CategoricalDtype(TOWNS),
        "grade": pd.CategoricalDtype(GRADES, ordered=True),
        "zip": "category",
    }
    return frame.astype(kinds), y


def columns_of(library):
    """Return which columns are declared categories."""
    return [2, 4] if library == "numpy" else "from_dtype"


def rules_of(library):
    """Return rules: age does not fall, town and zip are taken together."""
    names = [0, 2, 4] if library == "numpy" else ["age", "town", "zip"]
    return [increasing(names[0]), together(*names[1:])]


@cache
def model_of(library):
    """Return fitted trees that take missing values."""
    trees = HistGradientBoostingClassifier(
        max_iter=5, categorical_features=columns_of(library), random_state=0
    )
    return trees.fit(*table(library))


def fitted(library, kind=GeCoExplainer, **params):
    """Return a fitted explainer of the trees, with its rows and labels."""
    X, y = table(library)
    if kind is GeCoExplainer:
        params = {"q": 20, "m_init": 5, "max_generations": 2} | params
    params.setdefault("constraints", rules_of(library))
    explainer = kind(
        FrozenEstimator(model_of(library)),
        categorical_features=columns_of(library),
        random_state=0,
        **params,
    )
    return explainer.fit(X, y), X, y
