"""How fast an index of training rows is built and asked, and what it misses.

    SKCF_DATA=folder python benchmarks/index.py [--rows 100000 1000000] [--data ...]

The points are Adult's rows as they are encoded for the Gower cost, where new rows take
each column from either of two rows of a class, and rows made around 2,000 centres in 20
and in 100 dimensions. 200 queries ask for 30 neighbours. Times are those of the
processor, on one thread: they hang less on what else the machine does.
"""

import argparse
import time

import numpy as np
from _common import adult, report
from threadpoolctl import threadpool_limits

from skcf._index import CostPoints, NearestPoints
from skcf._space import FeatureSpace
from skcf.costs import Cost

N_QUERIES = 200
K = 30


def adult_points(n, seed=0):
    """Return encoded rows of Adult, recombined so that they are distinct."""
    X, y = adult()
    space = FeatureSpace(X)
    codes = space.encode(X)
    rng = np.random.default_rng(seed)
    mother = rng.integers(0, len(X), n)
    order = np.argsort(y, kind="stable")
    size = np.bincount(y)
    start = np.cumsum(size) - size
    label = y[mother]
    father = order[start[label] + (rng.random(n) * size[label]).astype(int)]
    coin = rng.random((n, codes.shape[1])) < 0.5
    embed = CostPoints(space, Cost()._bind(space))
    return embed(np.where(coin, codes[mother], codes[father]))


def made_points(n, d, seed=0):
    """Return rows around 2,000 centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(2000, d))
    points = centres[rng.integers(0, 2000, n)]
    return (points + 0.5 * rng.normal(size=(n, d))).astype(np.float32)


DATA = {
    "adult": adult_points,
    "made, 20": lambda n: made_points(n, 20),
    "made, 100": lambda n: made_points(n, 100),
}


def seconds(function, repeats):
    """Return the least processor time of some runs and the last result."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def measure(name, n):
    """Return a row of the table."""
    points = DATA[name](n + N_QUERIES)
    points, queries = points[:n], points[n:]
    label = np.zeros(n, dtype=np.intp)
    exact = NearestPoints(points, label, "exact")
    # The first call is warm-up, such as of BLAS.
    exact.nearest(queries[:5], K)
    exact_s, true = seconds(lambda: exact.nearest(queries, K), 2)
    build_s, graph = seconds(lambda: NearestPoints(points, label, "hnsw"), 1)
    graph_s, found = seconds(lambda: graph.nearest(queries, K), 2)
    last = np.full(N_QUERIES, 0.0)
    np.maximum.at(last, true[0], true[2])
    near = found[2] <= last[found[0]] * (1 + 1e-4) + 1e-5
    saved = (exact_s - graph_s) / N_QUERIES
    return {
        "data": name,
        "rows": n,
        "dimensions": points.shape[1],
        "method": graph.methods[0],
        "width": getattr(graph._parts[0], "width", 0),
        "build_s": build_s,
        "exact_ms": 1000 * exact_s / N_QUERIES,
        "graph_ms": 1000 * graph_s / N_QUERIES,
        "speedup": exact_s / graph_s,
        "queries_to_pay": build_s / saved if saved > 0 else np.inf,
        "recall": float(np.mean(near) * len(found[0]) / len(true[0])),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    args = parser.parse_args()
    rows = []
    with threadpool_limits(1):
        for n in args.rows:
            for name in args.data:
                rows.append(measure(name, n))
                print(rows[-1], flush=True)
    report("index", rows)


if __name__ == "__main__":
    main()
