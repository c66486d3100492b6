"""MACE on the networks of its paper, beside the fewest changes there are.

    SKCF_DATA=folder python benchmarks/mace.py [--queries 50]

A network of 32 and 16 units on Adult and on COMPAS, four fifths of the rows to train
on. Queries are the first 50 of the others that are denied. Rules: on Adult sex, race,
country and marital status stay, age and education may only rise; on COMPAS sex and race
stay, age may only rise. The fewest changes to observed values are found by looking at
all changes of one column, then of two, then of three.
"""

import argparse
import os
import time
import warnings
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from _common import ADULT_RULES, adult, pipeline, report
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skcf.tabular import GeCoExplainer, GreedyExplainer, MACEExplainer

COMPAS = [
    "age",
    "sex",
    "race",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "c_charge_degree",
]
LOT = 100_000


def compas():
    """Return (X, y) of COMPAS as ProPublica filtered it; 1 is no new offence."""
    frame = pd.read_csv(Path(os.environ["SKCF_DATA"]) / "compas_two_years.csv.gz")
    frame = frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
    ].reset_index(drop=True)
    return frame[COMPAS], (frame["two_year_recid"] == 0).astype(int).to_numpy()


COMPAS_RULES = ["cf.sex == x.sex", "cf.race == x.race", "cf.age >= x.age"]
DATA = {"adult": (adult, ADULT_RULES), "compas": (compas, COMPAS_RULES)}


def options(X, row, rules):
    """Return for each column the values that the rules leave, other than the row's."""
    fixed = {r[3 : r.index(" ")] for rule in rules for r in rule.split(" and ")}
    up = {r[3 : r.index(" ")] for r in rules if ">=" in r}
    out = {}
    for name in X:
        values = [v for v in X[name].unique().tolist() if v != row[name]]
        if name in up:
            values = [v for v in values if v > row[name]]
        if name not in fixed - up and values:
            out[name] = values
    return out


def fewest_changes(model, X, row, rules):
    """Return the least number of columns that have to change, up to three."""
    free = options(X, row, rules)
    for n in (1, 2, 3):
        for names in combinations(free, n):
            cells = product(*(free[name] for name in names))
            while lot := [cell for _, cell in zip(range(LOT), cells, strict=False)]:
                table = pd.DataFrame([row] * len(lot)).reset_index(drop=True)
                for name, column in zip(names, zip(*lot, strict=True), strict=True):
                    table[name] = list(column)
                table = table.astype(X.dtypes.to_dict())
                if model.predict(table).any():
                    return n
    return 4


def measure(name, n_queries):
    """Return the rows of the table for one data set."""
    load, rules = DATA[name]
    X, y = load()
    X, held, y, _ = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    model = pipeline(X, MLPClassifier((32, 16), random_state=0, max_iter=60))
    model.fit(X, y)
    queries = held[model.predict(held) == 0].head(n_queries)
    fewest = [fewest_changes(model, X, row, rules) for _, row in queries.iterrows()]
    out = []
    for label, make, kept in (
        ("MACE, rl", MACEExplainer, rules),
        ("MACE, gld", lambda m, **p: MACEExplainer(m, optimizer="gld", **p), rules),
        (
            "MACE, rl, without the finish",
            lambda m, **p: MACEExplainer(m, finish=False, **p),
            rules,
        ),
        ("GeCo", GeCoExplainer, rules),
        ("NICE's steps, no rules", greedy("proximity"), ()),
        ("NICE's steps, sparsity, no rules", greedy("sparsity"), ()),
    ):
        frozen = FrozenEstimator(model)
        explainer = make(frozen, target=1, constraints=kept, random_state=0)
        start = time.perf_counter()
        explainer.fit(X, y)
        fitted = time.perf_counter() - start
        explainer.explain(queries.head(2))
        start = time.perf_counter()
        told = explainer.explain(queries)
        seconds = time.perf_counter() - start
        sparse = explainer.set_params(cost="sparse").fit(X, y).explain(queries)
        out.append(
            {
                "data": name,
                "method": label,
                "valid": float(np.mean(told.status == "found")),
                "changes": float(told.n_changed.mean()),
                "changes, sparse cost": float(sparse.n_changed.mean()),
                "fewest": float(np.mean(fewest)) if len(kept) else np.nan,
                "median gower": float(np.median(told.cost)),
                "fit_s": fitted,
                "query_ms": 1000 * seconds / len(queries),
                "rows": told.details.n_rows / len(queries),
            }
        )
        print(out[-1], flush=True)
    return out


def greedy(reward):
    """Return what makes a greedy explainer."""
    return lambda model, **params: GreedyExplainer(model, reward=reward, **params)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report("mace", [row for name in args.data for row in measure(name, args.queries)])


if __name__ == "__main__":
    main()
