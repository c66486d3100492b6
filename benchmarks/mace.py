"""MACE on the networks of its paper, beside the fewest changes there are.

    SKCF_DATA=folder python benchmarks/mace.py [--queries 50] [--environments folder]

A network of 32 and 16 units on Adult and on COMPAS, four fifths of the rows to train
on. Queries are the first 50 of the others that are denied. Rules: on Adult sex, race,
country and marital status stay, age and education may only rise; on COMPAS sex and race
stay, age may only rise. The fewest changes to observed values are found by looking at
all changes of one column, then of two, then of three.

NICE runs in an environment of its own, as in `peers.py`, on the same rows and the same
network; there is no way to tell it rules. What the paper says of its own networks and
rows comes last. Times are those of the processor, on one thread.
"""

import argparse
import os
import subprocess
import tempfile
import time
import warnings
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
from _common import ADULT_RULES, adult, pipeline, report
from peers import FIXED, INCREASING, Race, environment, run_peer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

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
KEPT = {"adult": (FIXED, INCREASING), "compas": (("sex", "race"), ("age",))}
# Mean numbers of changes, from Yang et al. (2022).
PUBLISHED = {
    "adult": {"MACE-RL": 1.52, "MACE-GLD": 1.57, "DiCE": 2.93},
    "compas": {"MACE-RL": 1.44, "MACE-GLD": 1.53, "DiCE": 2.10},
}


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


def methods(rules):
    """Return what makes each explainer, and the rules that it is told."""
    return {
        "MACE, rl": (MACEExplainer, rules),
        "MACE, gld": (with_(MACEExplainer, optimizer="gld"), rules),
        "MACE, rl, by cost alone": (with_(MACEExplainer, min_saving=0.0), rules),
        "MACE, rl, without the finish": (with_(MACEExplainer, finish=False), rules),
        "GeCo": (GeCoExplainer, rules),
        "NICE's steps, no rules": (with_(GreedyExplainer, reward="proximity"), ()),
        "NICE's steps, sparsity, no rules": (
            with_(GreedyExplainer, reward="sparsity"),
            (),
        ),
    }


def with_(explainer, **params):
    """Return what makes an explainer with some parameters."""
    return lambda model, **more: explainer(model, **params, **more)


def measure(name, n_queries, environments):
    """Yield the rows of the table for one data set."""
    load, rules = DATA[name]
    X, y = load()
    X, held, y, _ = train_test_split(X, y, test_size=0.2, stratify=y, random_state=0)
    model = pipeline(X, MLPClassifier((32, 16), random_state=0, max_iter=60))
    model.fit(X, y)
    queries = held[model.predict(held) == 0].head(n_queries)
    fewest = [fewest_changes(model, X, row, rules) for _, row in queries.iterrows()]
    for label, (make, kept) in methods(rules).items():
        explainer = make(
            FrozenEstimator(model), target=1, constraints=kept, random_state=0
        )
        start = time.process_time()
        explainer.fit(X, y)
        fitted = time.process_time() - start
        explainer.explain(queries.head(2))
        spent = np.inf
        for _ in range(3):
            start = time.process_time()
            told = explainer.explain(queries)
            spent = min(spent, time.process_time() - start)
        sparse = explainer.set_params(cost="sparse").fit(X, y).explain(queries)
        yield {
            "data": name,
            "method": label,
            "valid": float(np.mean(told.status == "found")),
            "changes": float(told.n_changed.mean()),
            "changes, sparse cost": float(sparse.n_changed.mean()),
            "fewest": float(np.mean(fewest)) if len(kept) else np.nan,
            "median gower": float(np.median(told.cost)),
            "fit_s": fitted,
            "query_ms": 1000 * spent / len(queries),
            "rows": told.details.n_rows / len(queries),
        }
    race = Race(X, y, model, queries, *KEPT[name])
    yield from nice(name, race, environments)
    for label, changes in PUBLISHED[name].items():
        yield {"data": name, "method": f"{label}, published", "changes": changes}


def nice(name, race, environments):
    """Yield the rows of NICE."""
    try:
        python = environment(environments, "nice")
    except subprocess.CalledProcessError:
        print("NICE cannot be installed here")
        return
    before = race.codes(race.queries)
    for method in ("proximity", "sparsity"):
        with tempfile.TemporaryDirectory() as folder:
            race.write(Path(folder))
            result = run_peer(race, Path(folder), python, "nice", method)
        answered, valid, _, cost = race.judge(result.answers)
        changed = (result.answers != before[: len(answered)]).sum(axis=1)
        yield {
            "data": name,
            "method": f"NICE {method}, no rules",
            "valid": float(np.mean(answered & valid)),
            "changes": float(changed[answered].mean()),
            "median gower": float(np.median(cost[answered])),
            "query_ms": 1000 * result.cpu,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    home = Path(tempfile.gettempdir()) / "skcf-peers"
    parser.add_argument("--environments", type=Path, default=home)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    with threadpool_limits(1):
        for name in args.data:
            for row in measure(name, args.queries, args.environments):
                print(row, flush=True)
                # All rows have the columns of the first.
                rows.append({k: row.get(k, np.nan) for k in (rows or [row])[0]})
    report("mace", rows)


if __name__ == "__main__":
    main()
