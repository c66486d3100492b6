"""Queries a second and distances beside DiCE and NICE, on the same rows and model.

    SKCF_DATA=folder python benchmarks/peers.py [--queries 200] [--environments folder]

Adult with XGBoost behind min-max and one-hot encoding. Each peer is installed into a
virtual environment of its own and gets the booster with a lean encoder in front; ours
gets the pipeline. DiCE is told the rules, NICE has no way to be told. All are run twice
in turn, on one thread, and the better time counts; the time of the processor hangs less
on what else the machine does. An answer solves a query when the
pipeline predicts the target for it and it keeps the rules.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common import ADULT_RULES, adult, pipeline, report
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier, __version__

from skcf.tabular import GeCoExplainer

HERE = Path(__file__).parent
FIXED = ("sex", "race", "native_country", "marital_status")
INCREASING = ("age", "education_num")
BUDGET = 60
PEERS = {
    "NICE proximity": ("nice", "proximity"),
    "NICE sparsity": ("nice", "sparsity"),
    "DiCE random": ("dice", "random"),
    "DiCE genetic": ("dice", "genetic"),
}
PACKAGE = {"nice": "NICEx", "dice": "dice-ml"}


def environment(folder, peer):
    """Return the Python of a peer's environment, made at the first run."""
    home = folder / peer
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not (home / "complete").exists():
        venv = [sys.executable, "-m", "venv", "--clear", str(home)]
        pip = [str(python), "-m", "pip", "install", "-q", PACKAGE[peer]]
        for command in (venv, [*pip, f"xgboost=={__version__}"]):
            subprocess.run(command, check=True, capture_output=True, text=True)
        (home / "complete").touch()
    return python


def adult_race(n_queries):
    """Return the race on Adult: a booster, and rows that it refuses."""
    X, y = adult()
    cut = int(0.8 * len(X))
    train, y = X.head(cut), y[:cut]
    model = XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.2, n_jobs=1)
    model = pipeline(train, model).fit(train, y)
    others = X.tail(len(X) - cut)
    seen = train.select_dtypes(exclude="number")
    known = np.all([others[c].isin(seen[c].unique()) for c in seen], axis=0)
    others = others[known & (model.predict(others) == 0)]
    return Race(train, y, model, others.head(n_queries), FIXED, INCREASING)


class Race:
    """The rows, the model, and what is asked of every method."""

    def __init__(self, X, y, model, queries, fixed, increasing):
        self.X, self.y, self.model, self.queries = X, y, model, queries
        self.fixed, self.increasing = fixed, increasing
        encoder = self.model[0]
        self.numbers = list(encoder.transformers_[0][2])
        hot = encoder.named_transformers_["onehotencoder"]
        self.levels = dict(
            zip(encoder.transformers_[1][2], map(list, hot.categories_), strict=True)
        )
        self.span = self.X[self.numbers].max() - self.X[self.numbers].min()

    def codes(self, frame):
        """Return rows as numbers: categories by the position of their level."""
        out = frame.copy()
        for name, levels in self.levels.items():
            out[name] = out[name].map({v: k for k, v in enumerate(levels)})
        return out.to_numpy(dtype=np.float64)

    def frame(self, codes):
        """Return rows of numbers as a frame of the original columns."""
        out = pd.DataFrame(codes, columns=self.X.columns)
        for name, levels in self.levels.items():
            out[name] = np.array(levels, dtype=object)[out[name].astype(int)]
        return out

    def write(self, folder):
        """Write the task for the peers."""
        scaler = self.model[0].named_transformers_["minmaxscaler"]
        names = list(self.X)
        np.savez(
            folder / "task.npz",
            train=self.codes(self.X),
            y=self.y,
            queries=self.codes(self.queries),
            scale=scaler.scale_,
            shift=scaler.min_,
        )
        spec = {
            "names": names,
            "numbers": [names.index(name) for name in self.numbers],
            "sizes": [len(levels) for levels in self.levels.values()],
            "fixed": self.fixed,
            "increasing": self.increasing,
        }
        if hasattr(self.model[-1], "coefs_"):
            net = self.model[-1]
            spec["layers"] = len(net.coefs_)
            arrays = {f"weight{i}": w for i, w in enumerate(net.coefs_)}
            arrays |= {f"bias{i}": b for i, b in enumerate(net.intercepts_)}
            np.savez(folder / "network.npz", **arrays)
        else:
            self.model[-1].get_booster().save_model(folder / "model.json")
        (folder / "task.json").write_text(json.dumps(spec))

    def judge(self, answers):
        """Return (answered, valid, lawful, Gower distance) of rows of numbers."""
        answered = ~np.isnan(answers).any(axis=1)
        valid, lawful = np.zeros((2, len(answers)), dtype=bool)
        cost = np.full(len(answers), np.nan)
        after = self.frame(answers[answered])
        before = self.queries.head(len(answers))[answered].reset_index(drop=True)
        valid[answered] = self.model.predict(after) == 1
        kept = [after[name] == before[name] for name in self.fixed]
        kept += [after[name] >= before[name] for name in self.increasing]
        lawful[answered] = np.all(kept, axis=0)
        parts = [(after[n] - before[n]).abs() / self.span[n] for n in self.numbers]
        parts += [after[name] != before[name] for name in self.levels]
        cost[answered] = np.mean(np.asarray(parts, dtype=np.float64), axis=0)
        return answered, valid, lawful, cost


class Result:
    """The answers of one run and what it took."""

    def __init__(self, answers, seconds, cpu, errors):
        self.answers, self.errors = answers, errors
        self.seconds, self.cpu = seconds / len(answers), cpu / len(answers)


def run_ours(race, explainer, one_by_one):
    """Return the Result of one transform of all rows, or of one a row."""
    lots = [race.queries]
    if one_by_one:
        lots = [race.queries.iloc[[i]] for i in range(len(race.queries))]
    with threadpool_limits(1):
        begin, cpu = time.time(), time.process_time()
        told = [explainer.transform(X) for X in lots]
        spent, cpu = time.time() - begin, time.process_time() - cpu
    answers = race.codes(pd.concat(told))
    answers[(answers == race.codes(race.queries)).all(axis=1)] = np.nan
    return Result(answers, spent, cpu, {})


def run_peer(race, folder, python, script, method):
    """Return the Result of a peer in its environment."""
    command = [str(python), str(HERE / f"_peer_{script}.py"), str(folder), method]
    command += [str(len(race.queries)), str(BUDGET)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=5 * BUDGET
    )
    if done.returncode:
        raise SystemExit(f"{script} {method} failed:\n{done.stderr[-2000:]}")
    told = json.loads((folder / "told.json").read_text())
    return Result(np.load(folder / "answers.npy"), **told)


def runners(race, explainer, folder, environments):
    """Yield (name, function) of every method that can be run here."""
    yield "skcf, all at once", lambda: run_ours(race, explainer, False)
    yield "skcf, one by one", lambda: run_ours(race, explainer, True)
    for name, (peer, method) in PEERS.items():
        try:
            python = environment(environments, peer)
        except subprocess.CalledProcessError as error:
            last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
            print(f"{name} cannot be installed here: {' '.join(last)}")
            continue
        yield name, lambda p=python, a=(peer, method): run_peer(race, folder, p, *a)


def row_of(name, race, result, ours):
    """Return a row of the table: a method beside the first of ours."""
    answered, valid, lawful, cost = race.judge(result.answers)
    mine = race.judge(ours.answers)
    n = len(result.answers)
    both = (answered & valid & lawful) & np.logical_and.reduce(mine[:3])[:n]
    return {
        "method": name,
        "queries": n,
        "queries a second": 1 / result.seconds,
        "processor ms a query": 1000 * result.cpu,
        "skcf is faster by": result.seconds / ours.seconds,
        "in processor time": result.cpu / ours.cpu,
        "answered": answered.mean(),
        "valid": valid[answered].mean() if answered.any() else 0.0,
        "breaks a rule": int((answered & ~lawful).sum()),
        "both solve": int(both.sum()),
        "median Gower": np.median(cost[both]) if both.any() else np.nan,
        "median Gower, skcf": np.median(mine[3][:n][both]) if both.any() else np.nan,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=200)
    home = Path(tempfile.gettempdir()) / "skcf-peers"
    parser.add_argument("--environments", type=Path, default=home)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    race = adult_race(options.queries)
    explainer = GeCoExplainer(
        FrozenEstimator(race.model), target=1, constraints=ADULT_RULES, random_state=0
    ).fit(race.X, race.y)
    explainer.transform(race.queries.head(2))
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        race.write(Path(folder))
        lot = list(runners(race, explainer, Path(folder), options.environments))
        for _ in range(2):
            for name, run in lot:
                result = run()
                if name in results and results[name].seconds < result.seconds:
                    result = results[name]
                results[name] = result
    ours = results["skcf, all at once"]
    report("peers", [row_of(name, race, r, ours) for name, r in results.items()])
    for name, result in results.items():
        for text, n in result.errors.items():
            print(f"{name}: {n} times {text}")


if __name__ == "__main__":
    main()
