"""Distance and proof on ItalyPowerDemand, by the number of prototypes.

    SKCF_DATA=... python benchmarks/italy.py [--all] [--queries N]

A forest of 200 trees of depth 4; the first 50 test series predicted in class 1 are to
become class 2. `--all` also mixes all 1,096 series, for the first few queries.
"""

import argparse
import time

import numpy as np
from _common import report
from _series import italy
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf.timeseries import NearestUnlikeSeriesExplainer, PrototypeExplainer


def measure(name, explainer, X, queries):
    """Return what to report of an explainer: distances, proofs, processor time."""
    explainer.fit(X)
    explainer.explain(queries[:1])  # compiles
    spent, found = [], []
    for query in queries:
        begin = time.process_time()
        found.append(explainer.explain(query[None]))
        spent.append(time.process_time() - begin)
    l2 = np.array(
        [np.sqrt(((e.counterfactuals - e.queries) ** 2).sum()) for e in found]
    )
    cost = np.array([e.cost[0] for e in found])
    gap = 1 - np.array([e.lower_bound[0] for e in found]) / cost
    return cost, {
        "method": name,
        "training series": len(X),
        "queries": len(queries),
        "flipped": sum(e.status[0] == "found" for e in found),
        "median L2": float(np.median(l2)),
        "proved": sum(bool(e.optimal[0]) for e in found),
        "largest gap": float(gap.max()),
        "median CPU s": float(np.median(spent)),
        "largest CPU s": float(np.max(spent)),
        "median cost": float(np.median(cost)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--queries", type=int, default=50)
    options = parser.parse_args()
    X, y = italy("TRAIN")
    X_test, _ = italy("TEST")
    model = RandomForestClassifier(200, max_depth=4, random_state=0).fit(X, y)
    queries = X_test[model.predict(X_test) == 1][: options.queries]
    frozen, rows, before = FrozenEstimator(model), [], None
    nearest = NearestUnlikeSeriesExplainer(frozen)
    rows.append(measure("nearest unlike, halved", nearest, X, queries)[1])
    for n in (1, 2, 4, 8):
        explainer = PrototypeExplainer(frozen, max_prototypes=n)
        cost, row = measure(f"prototypes: {n}", explainer, X, queries)
        rows.append(row)
        if before is not None:
            assert (cost <= before + 1e-9).all(), "more prototypes cost more"
        before = cost
    if options.all:
        everything = np.concatenate([X, X_test])
        for n in (1, 2):
            explainer = PrototypeExplainer(frozen, max_prototypes=n, time_limit=120)
            few = queries[:6]
            rows.append(measure(f"prototypes: {n}", explainer, everything, few)[1])
    report("italy", rows)


if __name__ == "__main__":
    main()
