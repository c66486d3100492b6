"""Networks: seconds to the proved nearest counterfactual.

    python benchmarks/relu.py

Breast cancer (30 features, numbers without a grid), networks of 20 and of 20 x 20
rectified linear units behind a standard scaler. Every query starts in one class and
has to reach the other; the limit is 30 seconds a query.
"""

import time
import warnings

import numpy as np
from _common import report
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf._mip._network import NetworkSolver
from skcf._model import Goal
from skcf.costs import Cost
from skcf.tabular import NearestUnlikeExplainer

N_QUERIES = 6
LIMIT = 30.0
COSTS = {
    "l1": Cost(),
    "l0 + l1": Cost(l0=0.02, l1=1.0),
    "squared": Cost(l1=0.0, l2=1.0),
}


def main():
    X, y = load_breast_cancer(return_X_y=True)
    rows = []
    for sizes in ((20,), (20, 20)):
        net = MLPClassifier(sizes, random_state=0, max_iter=300)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make_pipeline(StandardScaler(), net).fit(X, y)
        for name, cost in COSTS.items():
            explainer = NearestUnlikeExplainer(
                FrozenEstimator(model), cost=cost, resolution=None
            ).fit(X)
            parts = [getattr(explainer, f"_{n}") for n in ("model", "space", "rules")]
            solver = NetworkSolver(*parts, explainer._cost)
            rows.append({"network": sizes, "cost": name, **measured(solver, model, X)})
            print(rows[-1], flush=True)
    report("relu", rows)


def measured(solver, model, X):
    """Return what it takes to solve the first queries."""
    wall, cpu, proved, gap = [], [], 0, []
    for x in X[:N_QUERIES]:
        label = model.predict(x[None])
        goal = Goal(label, np.array([True]))
        begin = time.perf_counter(), time.process_time()
        said = solver.solve(
            x,
            goal,
            deadline=time.monotonic() + LIMIT,
            accept=lambda codes, label=label: model.predict(codes) != label,
        )
        wall.append(time.perf_counter() - begin[0])
        cpu.append(time.process_time() - begin[1])
        proved += said.status == "optimal"
        if len(said):
            gap.append(1 - said.lower_bound / said.cost[0])
    return {
        "proved": f"{proved} of {N_QUERIES}",
        "median s": np.median(wall),
        "largest s": np.max(wall),
        "largest cpu s": np.max(cpu),
        "largest gap": np.max(gap),
    }


if __name__ == "__main__":
    main()
