"""
===============================================
How far from the optimum are heuristic answers?
===============================================

A heuristic search returns a counterfactual that flips the model and keeps the rules.
Whether a nearer one exists it cannot say. For ensembles of trees,
:class:`~skcf.tabular.OptimalExplainer` can: it proves the nearest one, so that the
distance of any other answer to the optimum can be measured.
"""

# %%
# A model of many numbers
# -----------------------
# Thirty measurements of a tumour, and a gradient boosting model. Answers have to change
# several of them at once, which makes the search hard.

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = GradientBoostingClassifier(n_estimators=50, max_depth=3, random_state=0)
model = FrozenEstimator(model.fit(X, y))
queries = X[model.predict(X) == 0].head(25)

# %%
# The optimum, with its proof
# ---------------------------

from skcf.tabular import OptimalExplainer

optimal = OptimalExplainer(model, target=1).fit(X).explain(queries)
print(f"{optimal.optimal.mean():.0%} of the answers are proved to be the nearest")

# %%
# And two heuristics
# ------------------
# Genetic search, and the nearest training row that is in the target.

import matplotlib.pyplot as plt

from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer

methods = {
    "genetic search": GeCoExplainer(model, target=1, random_state=0),
    "nearest unlike row": NearestUnlikeExplainer(model, target=1),
}
fig, ax = plt.subplots(layout="constrained")
for name, explainer in methods.items():
    found = explainer.fit(X).explain(queries)
    ratio = found.cost / optimal.cost[found.row]
    share = [(k + 1) / len(queries) for k in range(len(ratio))]
    ax.step(sorted(ratio), share, where="post", label=name)
    print(
        f"{name}: {sorted(ratio)[len(ratio) // 2]:.2f} times the optimum in the median"
    )
ax.axvline(1.0, color="black", linewidth=0.8)
ax.set(
    xscale="log",
    xlabel="cost as a multiple of the optimum",
    ylabel="share of the queries within it",
    ylim=(0, 1.02),
)
_ = ax.legend()

# %%
# Nothing is left of the line: no heuristic undercuts a proved optimum. How far to the
# right a method lies is what its speed, or its answers being real rows, costs here.
