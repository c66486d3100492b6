"""
===================================
Tune an explainer with GridSearchCV
===================================

An explainer is a scikit-learn estimator, so its parameters can be searched like those
of a model. `counterfactual_scorer` scores validity, nearness, sparsity and redundancy
from one explanation of each fold.
"""

# %%
# The explainer
# -------------
# The model is fitted once and frozen: the search is over the explainer alone.

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf.constraints import fixed
from skcf.tabular import GeCoExplainer

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = np.where(progression > progression.median(), "fast", "slow")
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
explainer = GeCoExplainer(
    FrozenEstimator(model), constraints=fixed("age", "sex"), random_state=0
)

# %%
# The search
# ----------
# What is cheap: few changes, near values, or both in equal parts? And is the finish
# worth its time? Rows without an answer have the worst of all scores, so that no
# setting wins by giving up on hard rows. Sixty patients are enough.

from sklearn.model_selection import GridSearchCV

from skcf.metrics import counterfactual_scorer

search = GridSearchCV(
    explainer,
    {"cost": ["gower", "sparse", "geco"], "finish": [False, True]},
    scoring=counterfactual_scorer,
    refit="neg_sparsity",
    cv=3,
)
some = X.sample(60, random_state=0).index
search.fit(X.loc[some], y[some])

import pandas as pd

names = ["validity", "neg_proximity", "neg_sparsity", "neg_redundancy"]
results = pd.DataFrame(search.cv_results_["params"])
for name in names:
    results[name] = search.cv_results_[f"mean_test_{name}"]
results["seconds"] = search.cv_results_["mean_score_time"]
print(results.to_string(index=False, float_format="{:.3f}".format))

# %%
# Each cost is the best by its own measure: ``"gower"`` is the nearest, ``"sparse"``
# changes the fewest features. The finish brings the answers of every cost nearer.

import matplotlib.pyplot as plt

figure, ax = plt.subplots(layout="constrained")
for cost, group in results.groupby("cost"):
    group = group.sort_values("finish")
    x, y_ = -group["neg_sparsity"], -group["neg_proximity"]
    (line,) = ax.plot(x, y_, "-", label=cost)
    ax.plot(x.iloc[0], y_.iloc[0], "o", color=line.get_color(), mfc="white")
    ax.plot(x.iloc[1], y_.iloc[1], "o", color=line.get_color())
ax.set(xlabel="Changed features (mean)", ylabel="Gower distance (mean)")
ax.legend(title="cost (filled: with finish)")

# %%
# The search is an explainer itself, that of the best parameters:

print(search.best_params_)
print(search.transform(X.head(3)))
