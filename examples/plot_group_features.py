"""
===========================================
Few features for a whole group of patients
===========================================

Each of thirty tumours that a model takes for malignant gets its own counterfactual. Row
by row, nearly every feature changes in some of them. The group explainer asks how much
dearer it is if only a few features may change at all, and proves each answer.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcf.display import GroupDisplay
from skcf.group import OneForOneExplainer

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :10]
model = make_pipeline(StandardScaler(), LogisticRegression())
explainer = OneForOneExplainer(model, target=1, resolution=None).fit(X, y)
rows = X[explainer.estimator_.predict(X) == 0][:30]

# %%
# The front
# ---------
#
# One feature, or two, do not suffice for all of them. From three on the total cost
# falls with the number of features, and soon hardly at all.

front = explainer.pareto(rows)
figure, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(front.max_features, front.objective, "o-")
ax.set_xlabel("Features that may change in the group")
ax.set_ylabel("Total cost")
figure.tight_layout()

for most, names in zip(front.max_features[:4], front.features[:4], strict=True):
    print(most, names)

# %%
# Three features for everybody
# ----------------------------

explainer.set_params(max_features=3)
GroupDisplay.from_explainer(explainer, rows).plot()
plt.show()
