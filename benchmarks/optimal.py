"""How fast answers of tree ensembles are proved, and how far heuristics are from them.

    SKCF_DATA=folder python benchmarks/optimal.py [--queries 20] [--limit 10]
        [--patience 120]

Five data sets with an XGBoost model (100 trees of depth 4) and a random forest (100
trees of depth 6) on scaled numbers and one-hot categories; queries are test rows that
are predicted to be in the negative class, fractional numbers are searched as floats.
They are given to the plain mixed-integer program as well, one after another, until it
has run for so many seconds (`--patience`).
Seconds are those of the processor, so that other work on the machine does not count.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common import ADULT_RULES, adult, pipeline, report
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from skcf._mip._interval import IntervalSolver
from skcf._model import Goal
from skcf.tabular import GeCoExplainer, MACEExplainer, OptimalExplainer


def german():
    """Return (X, y, rules) of the German credit data."""
    path = Path(os.environ["SKCF_DATA"]) / "german_uci.data"
    frame = pd.read_csv(path, sep=" ", header=None).rename(columns=lambda j: f"c{j}")
    y = (frame.pop("c20") == 1).astype(int).to_numpy()
    return frame, y, ["cf.c8 == x.c8", "cf.c19 == x.c19", "cf.c12 >= x.c12"]


def compas():
    """Return (X, y, rules) of the COMPAS data."""
    path = Path(os.environ["SKCF_DATA"]) / "compas_two_years.csv.gz"
    columns = ["age", "priors_count", "juv_fel_count", "juv_misd_count", "sex", "race"]
    frame = pd.read_csv(path)
    y = (frame["two_year_recid"] == 0).astype(int).to_numpy()
    rules = ["cf.sex == x.sex", "cf.race == x.race", "cf.age >= x.age"]
    return frame[[*columns, "c_charge_degree"]], y, rules


def titanic():
    """Return (X, y, rules) of the Titanic data, rows with missing values left out."""
    path = Path(os.environ["SKCF_DATA"]) / "titanic_seaborn.csv"
    columns = ["age", "fare", "sibsp", "parch", "pclass", "sex", "embarked", "survived"]
    frame = pd.read_csv(path)[columns].dropna().reset_index(drop=True)
    y = frame.pop("survived").to_numpy()
    return frame, y, ["cf.sex == x.sex", "cf.age == x.age"]


def breast():
    """Return (X, y, rules) of the breast cancer data."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.rename(columns=lambda name: name.replace(" ", "_")), y.to_numpy(), []


DATA = {
    "adult": lambda: (*adult(15_000), ADULT_RULES),
    "german": german,
    "compas": compas,
    "titanic": titanic,
    "breast": breast,
}
HEURISTICS = {"GeCo": GeCoExplainer, "MACE": MACEExplainer}
# A busy machine gives a process so much less than its share of seconds.
SLACK = 4
MODELS = {
    "xgboost": XGBClassifier(
        n_estimators=100, max_depth=4, learning_rate=0.2, n_jobs=1
    ),
    "forest": RandomForestClassifier(100, max_depth=6, random_state=0, n_jobs=1),
}


def measure(data, kind, args):
    """Return a row of the table."""
    X, y, rules = DATA[data]()
    X, X_test, y, _ = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    model = FrozenEstimator(pipeline(X, MODELS[kind]).fit(X, y))
    params = {"target": 1, "constraints": rules, "resolution": None}
    explainer = OptimalExplainer(model, **params).fit(X)
    queries = X_test[model.predict(X_test) == 0].head(args.queries)
    solver = explainer._solver
    encoded = solver.encode(explainer._space.restore(queries))
    codes = explainer._space.encode(queries)
    goal = Goal(np.array([1]), np.array([False]))
    solver.solve(codes[0], goal, encoded=encoded[0])  # compiled code is warm from here
    seconds, solutions = [], []
    for x, row in zip(codes, encoded, strict=True):
        start = time.process_time()
        deadline = time.monotonic() + SLACK * args.limit
        solutions.append(solver.solve(x, goal, encoded=row, deadline=deadline))
        seconds.append(time.process_time() - start)
    ended = [s.status in ("optimal", "infeasible") for s in solutions]
    proved = np.array(ended) & (np.array(seconds) <= args.limit)
    cost = np.array([s.cost[0] if len(s) else np.inf for s in solutions])
    row = {
        "data": data,
        "model": kind,
        "queries": len(cost),
        "proved": f"{np.mean(proved):.0%}",
        "infeasible": sum(s.status == "infeasible" for s in solutions),
        "median s": float(np.median(seconds)),
        "90 % s": float(np.quantile(seconds, 0.9)),
        "max s": float(np.max(seconds)),
    }
    row |= _programs(solver, codes, encoded, goal, cost, seconds, args)
    for name, method in HEURISTICS.items():
        found = method(model, **params, random_state=0).fit(X).explain(queries)
        least, first = np.full(len(cost), np.inf), found.rank == 0
        least[found.row[first]] = found.cost[first]
        with np.errstate(invalid="ignore"):
            ratio = (least / cost)[np.isfinite(cost)]
        row[f"{name}/optimum"] = float(np.median(ratio))
        row[f"{name} optimal"] = f"{np.mean(ratio <= 1 + 1e-6):.0%}"
    return row


def _programs(solver, codes, encoded, goal, cost, seconds, args):
    """Return how much longer the plain program takes in the median, and how often."""
    program = IntervalSolver(
        solver.model, solver.space, solver.rules, solver.cost, solver.boxes
    )
    times = []
    for i in range(len(codes)):
        start = time.process_time()
        deadline = time.monotonic() + SLACK * args.limit
        told = program.solve(codes[i], goal, encoded=encoded[i], deadline=deadline)
        times.append(time.process_time() - start)
        if told.status == "optimal" and abs(told.cost[0] - cost[i]) > 1e-6:
            raise AssertionError(f"query {i}: {told.cost[0]} and {cost[i]}")
        if sum(times) > args.patience:
            break
    ratio = np.array(times) / np.array(seconds[: len(times)])
    return {"programs": len(ratio), "program/search": float(np.median(ratio))}


def main():
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--data", nargs="+", default=list(DATA))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for data in args.data:
        for kind in MODELS:
            rows.append(measure(data, kind, args))
            print(rows[-1], flush=True)
    report("optimal", rows)


if __name__ == "__main__":
    main()
