"""How the cost of a call grows: queries, training rows, columns, trees, doubled.

    python benchmarks/speed.py [--large]

On a made table; each case runs in a process of its own and is told in seconds of the
processor, which other work on the machine does not change. `--large` adds 10,000
queries, a million training rows and a column of 5,000 levels. "growth" is the time of
the call over that of the first case, "explainer MiB" what an explainer takes beside its
model.
"""

import argparse
import multiprocessing
import pickle
import resource
import time

from _common import report, wide
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from skcf.tabular import GeCoExplainer

BASE = {
    "queries": 100,
    "training rows": 5000,
    "columns": 16,
    "levels": 8,
    "trees": 50,
}
# Beyond this many rows the model is trained on the first ones.
MOST = 20_000


def fitted(X, y, trees):
    numbers = [c for c in X if c.startswith("n")]
    encoder = make_column_transformer(
        (MinMaxScaler(), numbers),
        (OneHotEncoder(handle_unknown="ignore"), [c for c in X if c not in numbers]),
    )
    forest = RandomForestClassifier(trees, max_depth=6, random_state=0)
    return make_pipeline(encoder, forest).fit(X.head(MOST), y[:MOST])


def cpu_seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def measure(queries, training, columns, levels, trees):
    # Many levels are those of one column alone.
    n_categories = columns // 2 if levels == BASE["levels"] else 1
    X, y = wide(training, columns - n_categories, n_categories, levels)
    model = fitted(X, y, trees)
    explainer = GeCoExplainer(FrozenEstimator(model), target=1, random_state=0)
    fit = cpu_seconds(lambda: explainer.fit(X, y))
    some = X.head(MOST)
    rows = some[model.predict(some) == 0].sample(queries, replace=True, random_state=0)
    explainer.transform(rows.head(2))
    spent = cpu_seconds(lambda: explainer.transform(rows))
    size = len(pickle.dumps(explainer)) - len(pickle.dumps(model))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "fit s": fit,
        "ms a query": 1000 * spent / queries,
        "explainer MiB": size / 2**20,
        "peak GiB": peak,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    cases = [dict(BASE)]
    for name in ("queries", "training rows", "columns", "trees"):
        cases += [{**BASE, name: BASE[name] * 2**k} for k in (1, 2)]
    if parser.parse_args().large:
        cases.append({**BASE, "queries": 10_000})
        cases.append({**BASE, "training rows": 1_000_000})
        cases.append({**BASE, "training rows": 20_000, "levels": 5000})
    context = multiprocessing.get_context("spawn")
    table = []
    for case in cases:
        with context.Pool(1) as pool:
            told = pool.apply(measure, tuple(case.values()))
        spent = case["queries"] * told["ms a query"]
        first = table[0]["ms a query"] * BASE["queries"] if table else spent
        table.append({**case, **told, "growth": spent / first})
        print(table[-1], flush=True)
    report("speed", table)


if __name__ == "__main__":
    main()
