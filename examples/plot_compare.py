"""
==================================
Choose an explainer with `compare`
==================================

Explainers trade nearness, plausibility and time against one another. `compare` explains
the same rows by each of them and measures all answers alike, so that the choice can be
made on your own data and model.
"""

# %%
# Patients and a model
# --------------------
# scikit-learn's diabetes data: ten measurements of 442 patients, and whether the
# disease progressed further than in half of them. The model is a random forest.

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = np.where(progression > progression.median(), "fast", "slow")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = FrozenEstimator(
    RandomForestClassifier(100, max_depth=6, random_state=0).fit(X_train, y_train)
)
patients = X_test[model.predict(X_test) == "fast"].head(20)

# %%
# Candidates
# ----------
# All explainers get the same rules. One of them returns rows of the training data, two
# are heuristic searches, and one proves that nothing is nearer.

from skcf.constraints import decreasing, fixed
from skcf.tabular import (
    GeCoExplainer,
    MACEExplainer,
    NearestUnlikeExplainer,
    OptimalExplainer,
)

rules = [fixed("age", "sex"), decreasing("bmi")]
options = {"target": "slow", "constraints": rules, "random_state": 0}
candidates = {
    "nearest row": NearestUnlikeExplainer(model, **options),
    "GeCo": GeCoExplainer(model, **options),
    "MACE": MACEExplainer(model, **options),
    "optimal": OptimalExplainer(model, **options),
}
for explainer in candidates.values():
    explainer.fit(X_train, y_train)
    # The first call compiles what is compiled: it is not to count.
    explainer.explain(patients.head(2))

# %%
# The comparison
# --------------
# A row for each explainer. How many patients have an answer comes first: means over
# those that have one say nothing of the others.

from skcf.metrics import compare

comparison = compare(candidates, patients, reference=X_train, random_state=0)
print(comparison.set_index("method").T.to_string(float_format="{:.3g}".format))

# %%
# For many patients no training row keeps the rules: they have no nearest row. Where
# there is one, it is plausible, since it exists, but it changes every measurement that
# may change, most of them needlessly. The searches change few, and come close to the
# nearest answer in a fraction of the time that it takes to prove it.

from skcf.display import TradeoffDisplay

display = TradeoffDisplay.from_comparison(comparison).plot()

# %%
# By the number of changed features in place of the distance:

display = TradeoffDisplay.from_comparison(comparison, cost="sparsity").plot()

# %%
# Means over different patients do not compare well. With ``on="common"`` they are over
# those that all explainers found an answer for:

common = compare(candidates, patients, reference=X_train, on="common", random_state=0)
columns = ["method", "n_averaged", "sparsity", "gower", "redundancy", "plausibility"]
print(common[columns].to_string(index=False, float_format="{:.3g}".format))

# %%
# Several ways out
# ----------------
# With three answers for each patient, their diversity is measured too: the share of
# measurements in which two answers differ. Three nearest rows differ in almost all that
# may change.

several = {name: candidates[name] for name in ("nearest row", "GeCo", "MACE")}
three = compare(several, patients, n_counterfactuals=3)
columns = ["method", "n_averaged", "sparsity", "diversity", "gower", "seconds"]
print(three[columns].to_string(index=False, float_format="{:.3g}".format))

# %%
# Which measurements matter
# -------------------------
# How often the answers change each measurement, beside the permutation importance of
# the model on the held-out patients. What a rule fixes never changes.

from skcf.metrics import compare_importance

explanation = candidates["GeCo"].explain(patients, n_counterfactuals=3)
result = compare_importance(
    explanation, model, X_test, y_test, n_repeats=5, random_state=0
)
print(result.table.to_string(index=False, float_format="{:.2f}".format))
print(f"Rank correlation: {result.rank_correlation:.2f}")
