"""How often MACE finds the fewest changes where changes act together.

    python benchmarks/mace_combining.py [--seeds 300]

Ten columns of four levels, of which at most three may change; all combinations were
looked at.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from _common import report
from sklearn.frozen import FrozenEstimator

from skcf.tabular import MACEExplainer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tabular.combining import MOST, make_combination


def changes(problem, **params):
    """Return how many changes the answer makes, 0 without an answer."""
    explainer = MACEExplainer(
        FrozenEstimator(problem.model),
        target=1,
        cost="sparse",
        categorical_features=list(range(problem.X.shape[1])),
        max_features=MOST,
        random_state=0,
        **params,
    ).fit(problem.X)
    explanation = explainer.explain(problem.query[None])
    n = int(explanation.n_changed[0]) if len(explanation.row) else 0
    return n if n <= MOST else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    warnings.simplefilter("ignore")
    problems = [make_combination(seed) for seed in range(parser.parse_args().seeds)]
    problems = [p for p in problems if p.fewest]
    fewest = np.array([p.fewest for p in problems])
    rows = []
    for optimizer in ("rl", "gld"):
        for finish in (False, True):
            n = np.array(
                [changes(p, optimizer=optimizer, finish=finish) for p in problems]
            )
            rows.append(
                {
                    "optimizer": optimizer,
                    "finish": finish,
                    "problems": len(problems),
                    "three changes needed": float(np.mean(fewest == 3)),
                    "flipped": float(np.mean(n > 0)),
                    "fewest changes": float(np.mean(n == fewest)),
                }
            )
    report("mace_combining", rows)


if __name__ == "__main__":
    main()
