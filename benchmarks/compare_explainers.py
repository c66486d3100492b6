"""All explainers of rows on the same rows of Adult, with the same model and rules.

    SKCF_DATA=folder python benchmarks/compare_explainers.py [--queries 40]

One table with one answer a row, a second one with three (sparsity, diversity and time),
and a picture of the first. The first call of each explainer, which compiles and learns
what is kept, does not count.
"""

import argparse

import matplotlib
import numpy as np
from _common import ADULT_RULES, RESULTS, adult, pipeline, report
from sklearn.frozen import FrozenEstimator
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from skcf.display import TradeoffDisplay
from skcf.metrics import compare
from skcf.tabular import (
    CERTIFAIExplainer,
    DiverseExplainer,
    GeCoExplainer,
    GreedyExplainer,
    MACEExplainer,
    NearestUnlikeExplainer,
    OptimalExplainer,
    SHAPOrderExplainer,
    SimCFExplainer,
)

FIRST = [
    "method", "found", "coverage", "validity", "sparsity", "gower", "mace", "geco",
    "redundancy", "violations", "plausibility", "lof", "seconds",
]  # fmt: skip
THREE = ["method", "found", "sparsity", "diversity", "gower", "seconds"]


def explainers(model):
    """Return one of each explainer by name."""
    options = {"target": 1, "constraints": ADULT_RULES, "random_state": 0, "n_jobs": 1}
    return {
        "NearestUnlike": NearestUnlikeExplainer(model, **options),
        "GeCo": GeCoExplainer(model, **options),
        "MACE (RL)": MACEExplainer(model, **options),
        "MACE (GLD)": MACEExplainer(model, optimizer="gld", **options),
        "CERTIFAI": CERTIFAIExplainer(model, **options),
        "SimCF": SimCFExplainer(model, **options),
        "Greedy": GreedyExplainer(model, **options),
        "SHAP order": SHAPOrderExplainer(model, **options),
        "Diverse": DiverseExplainer(model, **options),
        "Optimal": OptimalExplainer(model, time_limit=300, **options),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--sample", type=int, default=10_000)
    args = parser.parse_args()
    X, y = adult(args.sample)
    booster = XGBClassifier(n_estimators=50, max_depth=4, n_jobs=1, random_state=0)
    model = pipeline(X, booster).fit(X, y)
    refused = np.flatnonzero(model.predict(X) == 0)
    chosen = np.random.default_rng(0).choice(refused, args.queries, replace=False)
    queries = X.iloc[np.sort(chosen)]
    fitted = {}
    with threadpool_limits(1):
        for name, explainer in explainers(FrozenEstimator(model)).items():
            fitted[name] = explainer.fit(X, y)
            fitted[name].explain(queries.head(2))
        one = compare(fitted, queries, reference=X, random_state=0)
        several = {k: v for k, v in fitted.items() if k != "Optimal"}
        three = compare(several, queries, n_counterfactuals=3)
    report("compare", one[FIRST].to_dict("records"))
    report("compare_three", three[THREE].to_dict("records"))
    matplotlib.use("Agg")
    display = TradeoffDisplay.from_comparison(one).plot()
    display.figure_.savefig(RESULTS / "compare.png", dpi=110)


if __name__ == "__main__":
    main()
