"""How the cost of a call grows: queries, training rows, columns, trees, doubled.

    python benchmarks/speed.py [--large]

On a made table. `--large` adds a million training rows.
"""

import argparse
import resource

from _common import pipeline, report, seconds, wide
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf.tabular import GeCoExplainer

BASE = {"queries": 100, "training rows": 5000, "columns": 16, "trees": 50}


def measure(queries, training, columns, trees):
    X, y = wide(training, columns // 2, columns - columns // 2, 8)
    model = pipeline(X, RandomForestClassifier(trees, max_depth=6, random_state=0))
    model.fit(X.head(20_000), y[:20_000])
    explainer = GeCoExplainer(FrozenEstimator(model), target=1, random_state=0)
    fit, _ = seconds(lambda: explainer.fit(X, y), 1)
    rows = X[model.predict(X.head(200_000)) == 0] if training <= 200_000 else X
    rows = rows.sample(queries, replace=True, random_state=0)
    explainer.transform(rows.head(2))
    spent, _ = seconds(lambda: explainer.transform(rows), 1)
    return fit, 1000 * spent / queries


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true")
    large = parser.parse_args().large
    cases = [dict(BASE)]
    for name in BASE:
        cases += [{**BASE, name: BASE[name] * 2**k} for k in (1, 2)]
    cases.append({**BASE, "queries": 10_000})
    if large:
        cases.append({**BASE, "training rows": 1_000_000})
    table = []
    for case in cases:
        fit, query = measure(*case.values())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        table.append({**case, "fit s": fit, "ms a query": query, "peak GiB": peak})
    report("speed", table)


if __name__ == "__main__":
    main()
