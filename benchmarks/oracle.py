"""How often the search reaches the nearest counterfactual of small tables.

    python benchmarks/oracle.py [--seeds 300]

Tables of six features of 4 to 8 levels, two coupling rules, a forest of 20 trees; the
nearest counterfactual is known from looking at every point.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from _common import report
from sklearn.frozen import FrozenEstimator

from skcf.tabular import GeCoExplainer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tabular.exhaustive import make_case


def ratio_of(case, **params):
    """Return (cost over optimum, seconds, rows of the model)."""
    explainer = GeCoExplainer(
        FrozenEstimator(case.model),
        target=1,
        constraints=case.rules,
        categorical_features=case.categorical,
        random_state=0,
        **params,
    ).fit(case.X)
    explanation = explainer.explain(case.query[None])
    cost = explanation.cost[0] if len(explanation.cost) else np.inf
    return cost / case.optimum, explanation.details.seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    warnings.simplefilter("ignore")
    cases = [make_case(seed) for seed in range(parser.parse_args().seeds)]
    cases = [case for case in cases if np.isfinite(case.optimum)]
    rows = []
    for finish in (True, False):
        results = np.array([ratio_of(case, finish=finish) for case in cases])
        rows.append(
            {
                "finish": finish,
                "cases": len(cases),
                "two or more changes": np.mean([c.n_changed >= 2 for c in cases]),
                "optimal": np.mean(results[:, 0] < 1 + 1e-9),
                "below the optimum": int(np.sum(results[:, 0] < 1 - 1e-9)),
                "mean ratio": np.mean(results[np.isfinite(results[:, 0]), 0]),
                "ms": 1000 * np.median(results[:, 1]),
            }
        )
    report("oracle", rows)


if __name__ == "__main__":
    main()
