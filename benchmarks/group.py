"""Counterfactuals of groups: fronts, outliers and ties of rows on real data.

Usage: SKCF_DATA=folder python benchmarks/group.py [boston] [lipschitz] [trees] [limits]

The housing data are only there to compare with published figures (J. Ramírez Ayerbe,
2024); one of their columns is ethically unsound. Of these figures, the fronts and the
outliers are those of a logistic regression with C=10 on two thirds of the rows, for the
286 rows that it predicts to be negative.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common import report
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcf.costs import Cost
from skcf.group import OneForOneExplainer

SQUARES = Cost(l1=0.0, l2=1.0, scale="none", average=False)
# Least sums of squared distances by the number of features, of an enumeration of all
# 8,192 sets of features.
FRONT = {
    1: np.inf, 2: 37.148, 3: 32.303, 4: 30.386, 5: 28.978, 6: 28.425, 7: 27.928,
    8: 27.651, 9: 27.386, 10: 27.192, 11: 27.076, 12: 27.0757, 13: 27.0757,
}  # fmt: skip
OUTLIERS = [141, 373, 374, *range(384, 389), 398, 412, 414, 438, 489, 490]


def folder():
    """Return the folder that SKCF_DATA names."""
    return Path(os.environ["SKCF_DATA"])


def housing():
    """Return (X, model, rows predicted negative)."""
    data = pd.read_csv(folder() / "boston_normalized.csv")
    X, y = data.drop(columns="target"), data["target"]
    train, _, y_train, _ = train_test_split(X, y, test_size=0.33, random_state=0)
    model = LogisticRegression(C=10, solver="liblinear").fit(train, y_train)
    return X, FrozenEstimator(model), X[model.predict(X) == -1]


def boston():
    """Print the front of the number of features, and the outliers at 95 %."""
    X, model, rows = housing()
    explainer = OneForOneExplainer(
        model, target=1, cost=SQUARES, resolution=dict.fromkeys(X, None) | {"CHAS": 1}
    ).fit(X)
    begin = time.perf_counter()
    front = explainer.pareto(rows)
    seconds = time.perf_counter() - begin
    lines = [
        {
            "max_features": most,
            "objective": f"{value:.4f}",
            "lower_bound": f"{bound:.4f}",
            "enumerated": FRONT[most],
            "features": " ".join(names),
        }
        for most, value, bound, names in zip(
            front.max_features,
            front.objective,
            front.lower_bound,
            front.features,
            strict=True,
        )
    ]
    report("group_front", lines)
    print(f"{len(rows)} rows, the whole front in {seconds:.1f} s")
    explainer.set_params(coverage=0.95, group_sparsity=0.1)
    begin = time.perf_counter()
    outliers = rows.index[explainer.explain(rows).details.outliers].tolist()
    print(
        f"outliers at 95 %: {len(set(outliers) & set(OUTLIERS))} of {len(OUTLIERS)} "
        f"published, {len(outliers)} found, {time.perf_counter() - begin:.1f} s"
    )


def lipschitz():
    """Print how far apart the counterfactuals of rows 5 and 6 are."""
    X, _, _ = housing()
    y = pd.read_csv(folder() / "boston_normalized.csv")["target"]
    train, _, y_train, _ = train_test_split(X, y, test_size=0.33, random_state=0)
    model = RandomForestClassifier(100, max_depth=3, random_state=0)
    model.fit(train, y_train)
    rows = pd.read_csv(folder() / "boston_x0_OforO.csv")[list(X)].iloc[[4, 5]]
    lines = []
    for tau in (None, 1.0):
        explainer = OneForOneExplainer(
            FrozenEstimator(model),
            target=1,
            cost=Cost(l0=0.01, l1=0.0, l2=1.0, scale="none", average=False),
            resolution=None,
            lipschitz=tau,
            time_limit=120,
        ).fit(X)
        begin = time.perf_counter()
        found = explainer.explain(rows)
        seconds = time.perf_counter() - begin
        gap = np.linalg.norm(np.diff(found.counterfactuals.to_numpy(), axis=0))
        before = np.linalg.norm(np.diff(rows.to_numpy(), axis=0))
        lines.append(
            {
                "lipschitz": tau,
                "rows_apart": f"{before:.4f}",
                "apart": f"{gap:.4f}",
                "objective": f"{found.details.objective:.5f}",
                "lower_bound": f"{found.details.lower_bound:.5f}",
                "seconds": seconds,
            }
        )
    report("group_lipschitz", lines)


def trees():
    """Print group sparsity over forests of depth 3, for groups of 5 and 10 rows."""
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    model = RandomForestClassifier(100, max_depth=3, random_state=0).fit(X, y)
    rows = X[model.predict(X) == 0]
    lines = []
    # Twice the time for five rows, whose proof is wanted, on a machine that is shared.
    for size, limit in ((5, 120), (10, 60)):
        for price in (0.0, 0.2):
            explainer = OneForOneExplainer(
                FrozenEstimator(model),
                target=1,
                cost=SQUARES,
                resolution=None,
                group_sparsity=price,
                time_limit=limit,
            ).fit(X)
            begin, cpu = time.perf_counter(), time.process_time()
            found = explainer.explain(rows[:size])
            seconds = time.perf_counter() - begin
            cpu = time.process_time() - cpu
            told = found.details
            n = len(told.features)
            total = told.objective + (0.2 * n if price == 0 else 0.0)
            bound = told.lower_bound if price else np.nan
            name = "together" if price else "alone"
            lines.append(
                {
                    "rows": size,
                    "solved": name,
                    "features": n,
                    "objective": f"{total:.4f}",
                    "lower_bound": f"{bound:.4f}",
                    "seconds": seconds,
                    "cpu_seconds": cpu,
                }
            )
    report("group_trees", lines)


def ranged(X):
    """Return numbers between 0 and 1."""
    return (X - X.min()) / (X.max() - X.min())


def compas():
    """Return (X, y, categorical columns) of the COMPAS data, no reoffence as 1."""
    data = pd.read_csv(
        folder() / "compas_thesis_processed.csv", sep=";", encoding="utf-8-sig"
    )
    X = data.drop(columns="TwoYearRecid")
    X["AgeGroup"] = X["AgeGroup"].map({"Less25": 0, "25-45": 1, "More45": 2})
    numbers = X.columns.drop("Race")
    X[numbers] = ranged(X[numbers].astype(float))
    return X, 1 - data["TwoYearRecid"], ["Race"]


def students():
    """Return (X, y, categorical columns) of the students data, as published.

    Numbers stay as they are, and eight columns of yes and no are yes in every row: the
    published rows to explain show both.
    """
    X = pd.read_csv(folder() / "students_math.csv")
    y, some = X.pop("Class"), ["Mjob", "Fjob", "reason", "guardian"]
    ones = {
        "school": "MS",
        "sex": "F",
        "address": "U",
        "famsize": "GT3",
        "Pstatus": "A",
    }
    for name in X.columns.drop(some):
        if name in ones:
            X[name] = X[name] == ones[name]
        elif not pd.api.types.is_numeric_dtype(X[name]):
            X[name] = True
    return X.astype(dict.fromkeys(X.columns.drop(some), float)), y, some


def limits():
    """Print how many features two more groups need, and how many are enough."""
    lines = []
    for name, read, tried in (
        ("compas", compas, (1, 2, 3, None)),
        ("students", students, (1, 2, 3, 4, 5, 6, 13, None)),
    ):
        X, y, some = read()
        train, _, y_train, _ = train_test_split(X, y, test_size=0.33, random_state=0)
        encoder = make_column_transformer(
            (OneHotEncoder(), some), remainder="passthrough"
        )
        model = make_pipeline(encoder, LogisticRegression(C=10, solver="liblinear"))
        model.fit(train, y_train)
        rows = X[model.predict(X) == 0]
        steps = dict.fromkeys(X.columns.drop(some), 1.0)
        if name == "compas":
            steps |= {"AgeGroup": 0.5, "PriorsCount": None}
        explainer = OneForOneExplainer(
            FrozenEstimator(model), target=1, cost=SQUARES, resolution=steps
        ).fit(X)
        for most in tried:
            begin = time.perf_counter()
            found = explainer.set_params(max_features=most).explain(rows)
            seconds, told = time.perf_counter() - begin, found.details
            lines.append(
                {
                    "data": name,
                    "rows": len(rows),
                    "max_features": "any" if most is None else most,
                    "explained": len(found.row),
                    "objective": f"{told.objective:.4f}" if len(found.row) else "inf",
                    "features": len(told.features),
                    "status": found.status[0],
                    "seconds": seconds,
                }
            )
    report("group_limits", lines)


def main():
    """Run what the command line names, or all."""
    warnings.simplefilter("ignore")
    known = {f.__name__: f for f in (boston, lipschitz, trees, limits)}
    for name in sys.argv[1:] or known:
        print(f"\n{name}")
        known[name]()


if __name__ == "__main__":
    main()
