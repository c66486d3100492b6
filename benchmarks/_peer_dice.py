"""DiCE on the task of `peers.py`; runs in its own environment.

    python _peer_dice.py folder method n budget

It is told the rules as its interface takes them: which features may vary, and for each
query a range. A query may take as long as a sixth of the budget.
"""

import signal
import sys

import dice_ml
import numpy as np
import pandas as pd
from _peer_task import Task


class Model:
    """The model as DiCE calls it: on frames, categories as text."""

    def __init__(self, task):
        self.task = task

    def predict_proba(self, frame):
        return self.task.proba(frame[self.task.names].astype(np.float64).to_numpy())

    def predict(self, frame):
        return self.predict_proba(frame).argmax(axis=1)


def as_frame(task, rows):
    frame = pd.DataFrame(rows, columns=task.names).astype(int)
    for j in task.categories:
        frame[task.names[j]] = frame[task.names[j]].astype(str)
    return frame


def overdue(*_):
    raise TimeoutError("time-out")


def main(folder, method, n, budget):
    task = Task(folder)
    frame = as_frame(task, task.train)
    numbers = [task.names[j] for j in task.numbers]
    data = dice_ml.Data(
        dataframe=frame.assign(outcome=task.y),
        continuous_features=numbers,
        outcome_name="outcome",
    )
    model = dice_ml.Model(model=Model(task), backend="sklearn")
    explainer = dice_ml.Dice(data, model, method=method)
    vary = [name for name in task.names if name not in task.spec["fixed"]]
    top = {name: frame[name].max() for name in task.spec["increasing"]}

    def explain(row):
        query = as_frame(task, row)
        ranges = {name: [int(query[name].iat[0]), int(top[name])] for name in top}
        seed = {"random_seed": 0} if method == "random" else {}
        signal.setitimer(signal.ITIMER_REAL, float(budget) / 6)
        try:
            told = explainer.generate_counterfactuals(
                query,
                total_CFs=1,
                desired_class=1,
                features_to_vary=vary,
                permitted_range=ranges,
                **seed,
            )
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        found = told.cf_examples_list[0].final_cfs_df_sparse
        if found is None or not len(found):
            return None
        return found[task.names].astype(np.float64).to_numpy()[0]

    signal.signal(signal.SIGALRM, overdue)
    if method != "genetic":  # which has nothing to warm up, and may not come back
        explain(task.queries[:1])
    task.run(explain, int(n), float(budget))


if __name__ == "__main__":
    main(*sys.argv[1:])
