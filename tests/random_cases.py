"""Random tables, rules and models, with rules judged in plain Python.

A case is drawn in two parts: its structure, which hypothesis can simplify, and a seed
for the values. Every rule comes with a function that says whether a counterfactual
keeps it, so that no code under test has a part in the verdict.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from sklearn.base import is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.random_rules import NUMBERS, ORDER, TEMPLATES, Column, Rules

KINDS = ("int", "whole", "float", "bool", "category", "ordered", "str")
LEVELS = {
    "category": ("a", "b", "c", "never"),
    "ordered": ORDER,
    "str": ("p", "q", "r s"),
}
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=5, random_state=0),
    "logistic": LogisticRegression(),
    "svc": SVC(),
    "linear_svc": LinearSVC(),
    "hist": HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=3, categorical_features="from_dtype"
    ),
    "tree_regressor": DecisionTreeRegressor(max_depth=4, random_state=0),
    "ridge": Ridge(),
}


@dataclass(repr=False)
class Case:
    """A table with a model and rules, and what the rules mean."""

    made: tuple
    columns: dict
    X: object
    y: np.ndarray
    queries: object
    model: object
    target: object
    threshold: float | None = None
    rules: list = field(default_factory=list)
    holds: list = field(default_factory=list)
    ranges: dict = field(default_factory=dict)

    def __repr__(self):
        return f"build{self.made}"


# -- tables ---------------------------------------------------------------------------


def make_column(name, kind, n, missing, rng):
    """Return a column of random values, some of them missing if that is asked for."""
    decimals = 0
    if kind in ("int", "whole"):
        values = rng.integers(-4, 12, size=n).tolist()
    elif kind == "float":
        decimals = int(rng.choice([1, 2, 4]))
        values = np.round(rng.normal(0, 10, size=n), decimals).tolist()
    elif kind == "bool":
        values = (rng.random(n) < 0.5).tolist()
    else:
        levels = LEVELS[kind][:3] if kind == "category" else LEVELS[kind]
        values = rng.choice(levels, size=n).tolist()
    if missing and kind not in ("int", "bool"):
        gone = rng.random(n) < 0.15
        values = [None if g else v for g, v in zip(gone, values, strict=True)]
    return Column(name, kind, values, decimals)


def to_pandas(columns):
    """Return columns as a pandas frame with an index of its own."""
    dtypes = {"int": "int64", "whole": "float64", "float": "float64", "bool": bool}
    dtypes |= {"category": pd.CategoricalDtype(LEVELS["category"]), "str": "str"}
    dtypes["ordered"] = pd.CategoricalDtype(ORDER, ordered=True)
    data = {c.name: pd.Series(c.values, dtype=dtypes[c.kind]) for c in columns}
    frame = pd.DataFrame(data)
    return frame.set_axis([f"i{i}" for i in range(len(frame))])


def to_polars(columns):
    """Return columns as a polars frame."""
    dtypes = {"int": pl.Int32, "whole": pl.Float64, "float": pl.Float64}
    dtypes |= {"bool": pl.Boolean, "str": pl.String, "ordered": pl.Enum(ORDER)}
    dtypes["category"] = pl.Categorical()
    return pl.DataFrame(
        [pl.Series(c.name, c.values, dtype=dtypes[c.kind]) for c in columns]
    )


def to_array(columns):
    """Return columns as an array: of floats if there are numbers alone."""
    numbers = all(c.kind in NUMBERS for c in columns)
    values = [[np.nan if v is None else v for v in c.values] for c in columns]
    return np.array(values, dtype=float if numbers else object).T


def plain_rows(table):
    """Return the rows of a table as dicts of plain values, None where missing."""
    if isinstance(table, np.ndarray):
        columns = {j: table[:, j].tolist() for j in range(table.shape[1])}
    else:
        columns = {name: table[name].to_list() for name in table.columns}
    rows = zip(*columns.values(), strict=True)
    return [
        {
            n: None if v is None or v != v else v
            for n, v in zip(columns, row, strict=True)
        }
        for row in rows
    ]


def encoded(model, columns):
    """Return a model behind imputation, scaling and one-hot encoding."""
    numbers = [c.name for c in columns if c.kind in NUMBERS]
    others = [c.name for c in columns if c.kind not in NUMBERS]
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
        sparse_threshold=0.0,
    )
    return make_pipeline(encoder, model)


# -- cases ----------------------------------------------------------------------------

CONTAINERS = {"pandas": to_pandas, "polars": to_polars, "array": to_array}


@st.composite
def cases(draw, models=tuple(MODELS), max_rules=3):
    """Draw a case."""
    model = draw(st.sampled_from(models))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=5))
    missing, container = draw(st.booleans()), draw(st.sampled_from(list(CONTAINERS)))
    templates = draw(st.lists(st.sampled_from(TEMPLATES), max_size=max_rules))
    n, seed = draw(st.integers(30, 50)), draw(st.integers(0, 2**16))
    return build(model, kinds, missing, container, templates, n, seed)


def build(model, kinds, missing, container, templates, n, seed):
    """Return the case of a structure and a seed."""
    made = (model, kinds, missing, container, templates, n, seed)
    rng = np.random.default_rng(seed)
    if model == "hist":
        container = "pandas"
        kinds = ["category" if kind == "str" else kind for kind in kinds]
    names = ["c0", "c 1", *(f"c{j}" for j in range(2, len(kinds)))]
    if container == "array":
        names = range(len(kinds))
        kinds = ["str" if kind in ("category", "ordered") else kind for kind in kinds]
    columns = [
        make_column(name, kind, n, missing, rng)
        for name, kind in zip(names, kinds, strict=True)
    ]
    X = CONTAINERS[container](columns)
    estimator = MODELS[model] if model == "hist" else encoded(MODELS[model], columns)
    y, target, threshold = _outcome(columns, MODELS[model], rng)
    by_name = {c.name: c for c in columns}
    case = Case(made, by_name, X, y, X[:6], estimator, target, threshold)
    maker, used = Rules(columns, rng), set()
    for name in templates:
        if name in ("together", "few") and name in used:
            continue
        used.add(name)
        text, holds = getattr(maker, name)()
        case.rules.append(text)
        case.holds.append(holds)
    case.ranges = maker.ranges
    return case


def _outcome(columns, model, rng):
    """Return (y, target, threshold): what hangs on all columns, and what is wanted."""
    total = rng.normal(0, 0.3, size=len(columns[0].values))
    for c in columns:
        levels = sorted(set(c.known), key=str)
        codes = [0 if v is None else levels.index(v) for v in c.values]
        total += rng.choice([-1, 1]) * np.array(codes) / max(1, len(levels) - 1)
    if is_regressor(model):
        low = float(np.quantile(total, 0.6))
        return total, (low, None) if rng.random() < 0.5 else (low, low + 1.0), None
    n_classes = int(rng.choice([2, 2, 3]))
    edges = np.quantile(total, np.arange(1, n_classes) / n_classes)
    y = np.array(["no", "perhaps", "yes"])[np.searchsorted(edges, total)]
    target = "opposite" if rng.random() < 0.6 else y[0].item()
    sure = hasattr(model, "predict_proba") and rng.random() < 0.3
    return y, target, float(rng.choice([4 / 7, 0.6, 5 / 7])) if sure else None
