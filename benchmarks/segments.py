"""Where swaps of stretches lie, in made series with a bump at known times.

python benchmarks/segments.py
"""

import numpy as np
from _common import report
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from skcf.timeseries import ChannelSwapExplainer

N_TIMES = 60


def with_bump(begin, end, n=300):
    """Return (X, y): random walks, with a bump between two times in class 1."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, n)
    X = 0.3 * random.normal(size=(n, N_TIMES)).cumsum(axis=1)
    X -= X.mean(axis=1, keepdims=True)
    t = np.arange(begin, end)
    X[:, begin:end] += 2 * y[:, None] * np.sin(np.pi * (t - begin + 0.5) / len(t))
    return X, y


def main():
    rows = []
    for begin, end in ((20, 30), (33, 41), (5, 17)):
        X, y = with_bump(begin, end)
        model = RandomForestClassifier(200, max_depth=4, random_state=0)
        model.fit(X[:200], y[:200])
        queries = X[200:][model.predict(X[200:]) == 0][:30]
        for strategy in ("policy", "greedy", "climb"):
            explainer = ChannelSwapExplainer(
                FrozenEstimator(model), strategy=strategy, random_state=0
            ).fit(X[:200])
            found = explainer.explain(queries)
            square = (found.counterfactuals - queries[found.row]) ** 2
            near = square[:, max(begin - 2, 0) : end + 2]
            share = near.sum(axis=1) / square.sum(axis=1)
            rows.append(
                {
                    "bump": f"{begin} to {end - 1}",
                    "strategy": strategy,
                    "flipped": int((found.status == "found").sum()),
                    "queries": len(queries),
                    "change in the bump": float(near.sum() / square.sum()),
                    "mean by query": float(share.mean()),
                    "stretches": float(found.n_changed.mean()),
                    "model rows a query": found.details.n_rows / len(queries),
                }
            )
    report("segments", rows)


if __name__ == "__main__":
    main()
