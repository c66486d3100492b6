"""NICE on the task of `peers.py`; runs in its own environment.

    python _peer_nice.py folder method n budget

The method is what NICE optimises: "proximity" or "sparsity".
"""

import sys

import numpy as np
from _peer_task import Task
from nice import NICE


def main(folder, method, n, budget):
    task = Task(folder)
    explainer = NICE(
        task.proba,
        task.train.copy(),
        task.categories,
        task.numbers,
        y_train=task.y,
        optimization=method,
    )
    explainer.explain(task.queries[:1].copy())
    task.run(lambda row: np.ravel(explainer.explain(row)), int(n), float(budget))


if __name__ == "__main__":
    main(*sys.argv[1:])
