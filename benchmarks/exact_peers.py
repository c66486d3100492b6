"""Proved optima and their time beside OCEAN, on the same models and queries.

    SKCF_DATA=folder python benchmarks/exact_peers.py [--queries 10] [--limit 15]
        [--python python3.12] [--environments folder]

XGBoost models of 100 trees of depth 4 and random forests of 100 trees of depth 6 on
scaled numbers and one-hot categories, no rules, the L1 distance over the raw columns.
OCEAN (`oceanpy`) is installed into a virtual environment of its own, which needs Python
3.12 or later: `--python` names one. Its constraint program runs on CP-SAT with one
worker; it gets the encoded rows, ours the pipeline and the frame. What is set up once
for a model counts for neither. Both search numbers as floats; "skcf, integers" is ours
told which columns are whole numbers.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common import pipeline, report
from optimal import DATA, MODELS
from sklearn import __version__ as sklearn_version
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from xgboost import __version__ as xgboost_version

from skcf.tabular import OptimalExplainer

HERE = Path(__file__).parent
PACKAGE = "oceanpy==2.0.7"
SETS = ("adult", "german", "breast")
AGREE = 1e-6


def environment(folder, python):
    """Return the Python of OCEAN's environment, made at the first run."""
    models = [f"xgboost=={xgboost_version}", f"scikit-learn=={sklearn_version}"]
    home = folder / "ocean"
    inside = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "complete").exists():
        venv = [python, "-m", "venv", "--clear", str(home)]
        pip = [str(inside), "-m", "pip", "install", "-q", PACKAGE]
        for command in (venv, [*pip, *models]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                said = (done.stderr or done.stdout).strip()
                raise SystemExit(f"{PACKAGE} cannot be installed:\n{said}")
        (home / "complete").touch()
    return inside


class Race:
    """The rows, the model and the queries of a data set."""

    def __init__(self, name, kind, n_queries):
        X, y, _ = DATA[name]()
        numbers = list(X.select_dtypes("number"))
        self.whole = list(X.select_dtypes("integer"))
        self.name, self.kind, self.types = name, kind, X.dtypes[self.whole].to_dict()
        X = X.astype(dict.fromkeys(numbers, np.float64))
        self.X, others, y, _ = train_test_split(
            X, y, test_size=0.2, random_state=0, stratify=y
        )
        self.model = pipeline(self.X, clone(MODELS[kind])).fit(self.X, y)
        seen = self.X.select_dtypes(exclude="number")
        known = [others[c].isin(seen[c].unique()) for c in seen]
        keep = np.logical_and.reduce([self.model.predict(others) == 0, *known])
        self.queries = others[keep].head(n_queries).reset_index(drop=True)
        encoder = self.model[0]
        self.scaler = encoder.named_transformers_["minmaxscaler"]
        self.numbers = list(encoder.transformers_[0][2])
        self.others = list(seen)
        self.hot = encoder.named_transformers_["onehotencoder"] if self.others else None
        # The trees read 32-bit numbers, so these are the rows that they see.
        self.encoded = np.float32(encoder.transform(self.queries)).astype(np.float64)

    def write(self, folder):
        """Write the task for OCEAN."""
        scaled = self.scaler.transform(self.X[self.numbers])
        scaled = np.vstack([scaled, self.encoded[:, : len(self.numbers)]])
        ranges = np.column_stack([scaled.min(axis=0), scaled.max(axis=0)]).tolist()
        features = [
            {"name": f"n{j}", "codes": [], "range": pair}
            for j, pair in enumerate(ranges)
        ]
        for j in range(len(self.others)):
            codes = [f"k{k}" for k in range(len(self.hot.categories_[j]))]
            features.append({"name": f"c{j}", "codes": codes})
        task = {"features": features, "queries": self.encoded.tolist()}
        (folder / "task.json").write_text(json.dumps(task))
        if self.kind == "xgboost":
            self.model[-1].get_booster().save_model(folder / "model.json")
        else:
            (folder / "model.pickle").write_bytes(pickle.dumps(self.model[-1]))

    def decode(self, encoded):
        """Return encoded rows as a frame of the raw columns."""
        m = len(self.numbers)
        numbers = self.scaler.inverse_transform(encoded[:, :m])
        out = pd.DataFrame(numbers, columns=self.numbers)
        if self.others:
            out[self.others] = self.hot.inverse_transform(encoded[:, m:])
        # What was not changed is the query's own number, to the last bit.
        same = encoded[:, :m] == self.encoded[: len(encoded), :m]
        before = self.queries[self.numbers].head(len(encoded))
        out[self.numbers] = out[self.numbers].mask(same, before)
        return out[list(self.X)]

    def distances(self, rows):
        """Return the Gower distances of raw rows from the queries."""
        span = self.X[self.numbers].max() - self.X[self.numbers].min()
        parts = [(rows[c] - self.queries[c]).abs() / span[c] for c in self.numbers]
        parts += [rows[c] != self.queries[c] for c in self.others]
        return np.mean(np.asarray(parts, dtype=np.float64), axis=0)


class Result:
    """The answers of a method to all queries, nan where there is none."""

    def __init__(self, proved, cost, seconds, cpu, flips, rounded):
        self.proved, self.cost = np.array(proved), np.array(cost)
        self.seconds, self.cpu = np.array(seconds), np.array(cpu)
        self.missed, self.missed_rounded = int((~flips).sum()), int((~rounded).sum())


def flips_rounded(race, rows):
    """Return which raw rows reach the target with whole numbers where these belong."""
    return race.model.predict(rows.round(dict.fromkeys(race.whole, 0))) == 1


def run_ours(race, limit, integers):
    """Return the Result of a call of `explain` for each query."""
    types = race.types if integers else {}
    X, queries = race.X.astype(types), race.queries.astype(types)
    explainer = OptimalExplainer(
        FrozenEstimator(race.model), target=1, resolution=None, time_limit=limit
    ).fit(X)
    explainer.explain(queries.head(1))
    told, seconds, cpu = [], [], []
    with threadpool_limits(1):
        for i in range(len(queries)):
            begin, spent = time.perf_counter(), time.process_time()
            told.append(explainer.explain(queries.iloc[[i]]))
            seconds.append(time.perf_counter() - begin)
            cpu.append(time.process_time() - spent)
    found = [len(t.cost) > 0 for t in told]
    proved = [
        t.status[0] == "infeasible" or (f and bool(t.optimal[0]))
        for t, f in zip(told, found, strict=True)
    ]
    cost = [t.cost[0] if f else np.nan for t, f in zip(told, found, strict=True)]
    rows = pd.concat([pd.DataFrame(t.counterfactuals, columns=list(X)) for t in told])
    flips = race.model.predict(rows) == 1
    return Result(proved, cost, seconds, cpu, flips, flips_rounded(race, rows))


def run_ocean(race, python, limit):
    """Return the Result of OCEAN in its environment."""
    with tempfile.TemporaryDirectory() as folder:
        race.write(Path(folder))
        command = [str(python), str(HERE / "_peer_ocean.py"), folder, str(limit)]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        patience = 120 + 3 * limit * len(race.queries)
        done = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=patience
        )
        if done.returncode:
            raise SystemExit(f"OCEAN failed:\n{done.stderr[-3000:]}")
        told = json.loads((Path(folder) / "told.json").read_text())
    print(f"{race.name}, {race.kind}: OCEAN was set up in {told['set up']:.1f} s")
    told = pd.DataFrame(told["queries"])
    found = told["answer"].notna().to_numpy()
    answers = race.encoded.copy()
    answers[found] = np.array(told["answer"][found].tolist())
    rows = race.decode(answers)
    predicted = race.model[-1].predict(np.float32(answers))
    cost = np.where(found, race.distances(rows), np.nan)
    return Result(
        told["status"].isin(["OPTIMAL", "INFEASIBLE"]),
        cost,
        told["seconds"],
        told["cpu"],
        predicted[found] == 1,
        flips_rounded(race, rows)[found],
    )


def row_of(race, method, result, ours):
    """Return a row of the table: a method beside the first of ours."""
    both, peer = result.proved & ours.proved, method == "OCEAN"
    same = np.isclose(result.cost, ours.cost, rtol=0, atol=AGREE, equal_nan=True)
    return {
        "data": race.name,
        "model": race.kind,
        "method": method,
        "queries": len(result.cost),
        "proved": int(result.proved.sum()),
        "median s": float(np.median(result.seconds)),
        "max s": float(np.max(result.seconds)),
        "median processor s": float(np.median(result.cpu)),
        "max processor s": float(np.max(result.cpu)),
        "median over skcf": float(np.median(result.seconds) / np.median(ours.seconds)),
        "processor over skcf": float(np.median(result.cpu) / np.median(ours.cpu)),
        "median Gower": float(np.nanmedian(result.cost)),
        "same optimum": f"{(both & same).sum()} of {both.sum()}" if peer else "",
        "does not flip": result.missed,
        "rounded, does not flip": result.missed_rounded if race.whole else "",
    }


def compare(name, kind, python, options):
    """Return the rows of the table for a data set and a model."""
    race = Race(name, kind, options.queries)
    ours = run_ours(race, options.limit, integers=False)
    results = {"skcf": ours, "OCEAN": run_ocean(race, python, options.limit)}
    if race.whole:
        results["skcf, integers"] = run_ours(race, options.limit, integers=True)
    cheaper = ours.proved & (results["OCEAN"].cost < ours.cost - AGREE)
    if cheaper.any():
        raise AssertionError(f"{name}, {kind}: OCEAN is cheaper at {cheaper.nonzero()}")
    gap = np.nanmax(np.abs(results["OCEAN"].cost - ours.cost))
    print(f"{name}, {kind}: the distances differ by {gap:.2g} at most")
    return [row_of(race, method, r, ours) for method, r in results.items()]


def main():
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10)
    parser.add_argument("--limit", type=int, default=15)
    parser.add_argument("--data", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--python", default=sys.executable)
    home = Path(tempfile.gettempdir()) / "skcf-peers"
    parser.add_argument("--environments", type=Path, default=home)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    python = environment(options.environments, options.python)
    rows = [
        row
        for name in options.data
        for kind in options.models
        for row in compare(name, kind, python, options)
    ]
    report("exact_peers", rows)


if __name__ == "__main__":
    main()
