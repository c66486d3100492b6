"""Whether proofs are true: the exact search against looking at every possible row.

    python benchmarks/proofs.py [--seeds 4] [--cases 28] [--first 100]

Small tables with a number of every kind and a category, all families of tree ensembles,
seven costs, up to three rules, targets of all kinds, missing values.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from _common import report

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests._mip.test_tree_solver import Exact, check
from tests.tabular.enumerated import COSTS, MODELS


def count(kind, args):
    """Return a row of the table; a wrong proof raises."""
    start, n, none = time.process_time(), 0, 0
    names = list(COSTS)
    for seed in range(args.first, args.first + args.seeds):
        exact = Exact(kind, seed)
        for i in range(args.cases):
            case = exact.world.case(names[i % len(names)], n_rules=i % 4)
            if case is None:
                continue
            check(exact, case, k=3 if i % 4 == 0 else 1)
            n, none = n + 1, none + (not len(case.costs))
    return {
        "model": kind,
        "cases": n,
        "infeasible": none,
        "wrong": 0,
        "seconds": time.process_time() - start,
    }


def main():
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--cases", type=int, default=28)
    parser.add_argument("--first", type=int, default=100)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    report("proofs", [count(kind, args) for kind in MODELS])


if __name__ == "__main__":
    main()
