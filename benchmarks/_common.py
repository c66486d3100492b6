"""Data, models and tables that the benchmarks share."""

import csv
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

RESULTS = Path(__file__).parents[1] / "docs" / "performance"
ADULT = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status",
    "occupation", "relationship", "race", "sex", "capital_gain", "capital_loss",
    "hours_per_week", "native_country", "income",
]  # fmt: skip
ADULT_RULES = [
    "cf.sex == x.sex and cf.race == x.race",
    "cf.native_country == x.native_country",
    "cf.marital_status == x.marital_status",
    "cf.age >= x.age",
    "cf.education_num >= x.education_num",
]


def adult(n=None):
    """Return (X, y) of UCI Adult from the folder that SKCF_DATA names."""
    folder = os.environ.get("SKCF_DATA")
    if not folder:
        raise SystemExit("set SKCF_DATA to a folder with adult_uci_train.data.gz")
    frame = pd.read_csv(
        Path(folder) / "adult_uci_train.data.gz",
        names=ADULT,
        skipinitialspace=True,
        na_values=[],
        keep_default_na=False,
    )
    y = (frame.pop("income") == ">50K").astype(int).to_numpy()
    frame = frame.drop(columns=["fnlwgt", "education"])
    return (frame, y) if n is None else (frame.head(n), y[:n])


def wide(n_rows, n_numeric=30, n_categorical=12, n_levels=12, seed=0):
    """Return (X, y) of a made table; 174 columns after encoding by default."""
    random = np.random.default_rng(seed)
    data = {f"n{j}": random.gamma(2.0, 10.0, n_rows).round(1) for j in range(n_numeric)}
    levels = np.array([f"v{k}" for k in range(n_levels)])
    for j in range(n_categorical):
        share = random.dirichlet(np.full(n_levels, 2.0))
        data[f"c{j}"] = random.choice(levels, n_rows, p=share)
    X = pd.DataFrame(data)
    score = sum(random.normal() * X[f"n{j}"] / 20 for j in range(n_numeric))
    for j in range(n_categorical):
        effect = dict(zip(levels, random.normal(size=n_levels), strict=True))
        score = score + X[f"c{j}"].map(effect)
    return X, (score + random.normal(size=n_rows) > score.median()).astype(
        int
    ).to_numpy()


def pipeline(X, model):
    """Return min-max scaled numbers and one-hot categories before a model."""
    numbers = [c for c in X if pd.api.types.is_numeric_dtype(X[c])]
    others = [c for c in X if c not in numbers]
    encoder = make_column_transformer(
        (MinMaxScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )
    return make_pipeline(encoder, model)


def seconds(function, repeats=3):
    """Return the least time of some runs and the last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def cpu_seconds(function, repeats=5):
    """Return the least processor time of some runs and the last result.

    It does not count what other work on the machine takes.
    """
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def report(name, rows):
    """Print rows as a table and write them as the CSV that the docs show."""
    print(pd.DataFrame(rows).to_string(index=False, float_format=lambda v: f"{v:.4g}"))
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / f"{name}.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            )
