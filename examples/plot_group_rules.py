"""
=============================================
As few different ways out as there can be
=============================================

Forty applicants were refused. How few different changes, of at most three features
each, would turn all of these refusals around? The answer is a list of rules: who they
are for, and what would have had to be different. That there are no fewer is proved.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skcf.constraints import fixed
from skcf.display import GroupDisplay
from skcf.group import SparseOneForManyExplainer

random = np.random.default_rng(0)
n = 400
X = pd.DataFrame(
    {
        "duration": random.integers(6, 48, n),
        "amount": random.integers(5, 150, n) * 100,
        "savings": random.choice(["none", "some", "much"], n),
        "housing": random.choice(["own", "rent"], n),
        "job": random.choice(["none", "skilled", "manager"], n),
        "age": random.integers(20, 70, n),
    }
)
score = (
    2 * (X["savings"] == "much")
    + (X["housing"] == "own")
    + (X["job"] == "manager")
    - 1.5 * (X["duration"] > 24)
    - (X["amount"] > 8000)
)
y = np.where(score + random.normal(size=n) > 0, "granted", "refused")

encoder = make_column_transformer(
    (OneHotEncoder(), ["savings", "housing", "job"]), remainder="passthrough"
)
explainer = SparseOneForManyExplainer(
    make_pipeline(encoder, LogisticRegression(max_iter=5000)),
    max_features=3,
    n_bins=2,
    target="granted",
    constraints=fixed("age"),
).fit(X, y)
refused = X[explainer.estimator_.predict(X) == "refused"][:40]

# %%
# The rules
# ---------

explanation = explainer.explain(refused)
details = explanation.details
print(f"{details.n_clusters} changes; fewer than {details.lower_bound} will not do")
for text in details.rules:
    print("-", text)

# %%
# Who changes what
# ----------------

GroupDisplay.from_explanation(explanation).plot()
plt.show()
