"""Changed channels on NATOPS, and the model rows that swaps take.

    SKCF_DATA=... python benchmarks/natops.py [--queries N]

Two classes of 24 channels, and a made set of 563 channels of which five differ between
the classes. Half of the series train a forest, the rest are explained.
"""

import argparse
import time

import numpy as np
from _common import report
from _series import forest_of, natops
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from skcf.timeseries import ChannelSwapExplainer, PrototypeExplainer

PAIRS = {"all clear, not clear": (2, 3), "I have command, spread wings": (1, 4)}


def made(n=200, n_channels=563, n_times=20):
    """Return (X, y) of which five channels differ between the classes."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(n, n_channels, n_times)), random.integers(0, 2, n)
    for channel in (5, 100, 300, 301, 440):
        X[y == 1, channel] += 1.2 * np.sin(np.linspace(0, 3, n_times))
    return X, y


def measure(data, name, explainer, model, X, queries):
    """Return what to report of an explainer."""
    explainer.set_params(estimator=FrozenEstimator(model)).fit(X)
    explainer.explain(queries[:1])  # compiles
    begin = time.perf_counter()
    found = explainer.explain(queries)
    spent = time.perf_counter() - begin
    return found, {
        "data": data,
        "method": name,
        "queries": len(queries),
        "flipped": int((found.status == "found").sum()),
        "median channels": float(np.median(found.n_changed)),
        "mean channels": float(found.n_changed.mean()),
        "median cost": float(np.median(found.cost)),
        "model rows a query": found.details.n_rows / len(queries),
        "s a query": spent / len(queries),
    }


def explain(data, X, y, label, options, mixtures):
    """Yield rows of the report on one set."""
    X, X_test, y, _ = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = forest_of().fit(X, y)
    queries = X_test[model.predict(X_test) == label][: options.queries]
    before = None
    for n in (1, 2) if mixtures else ():
        explainer = PrototypeExplainer(
            model, channel_axis=1, lambda_0=1.0, lambda_2=0.005, max_prototypes=n
        )
        args = data, f"prototypes: {n}", explainer, model, X, queries
        found, row = measure(*args)
        yield row
        if before is not None:
            assert (found.n_changed <= before).all(), "more prototypes, more channels"
        before = found.n_changed
    for strategy in ("policy", "greedy", "climb"):
        explainer = ChannelSwapExplainer(
            model, channel_axis=1, strategy=strategy, random_state=0
        )
        few = queries if mixtures or strategy == "policy" else queries[:2]
        yield measure(data, f"swaps: {strategy}", explainer, model, X, few)[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=25)
    options = parser.parse_args()
    rows = []
    for data, pair in PAIRS.items():
        X, y, _ = natops(*pair)
        rows += explain(data, X, y, pair[0], options, mixtures=True)
    rows += explain("made, 563 channels", *made(), 0, options, mixtures=False)
    report("natops", rows)


if __name__ == "__main__":
    main()
