"""
==========================================
No way out, and which rules are in the way
==========================================

Sometimes a person can do nothing: under the rules, no row is in the target. A heuristic
that finds nothing cannot tell that from bad luck. A proof can, and it tells which rules
block the way.
"""

# %%
# A decision about a loan
# -----------------------
# Three hundred made-up applications, and a forest that learned who paid back.

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

rng = np.random.default_rng(0)
n = 300
loans = pd.DataFrame(
    {
        "age": rng.integers(19, 70, n),
        "savings": rng.gamma(2.0, 4.0, n).round(1),
        "months": rng.integers(6, 61, n),
        "job": rng.choice(["none", "temporary", "permanent"], n, p=[0.2, 0.4, 0.4]),
    }
)
score = loans["savings"] / 8 + loans["age"] / 50 - loans["months"] / 30
score += loans["job"].map({"none": -1.5, "temporary": 0.0, "permanent": 1.0})
paid = np.where(score + rng.normal(0, 0.3, n) > 0.6, "paid", "defaulted")
encoder = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["job"]), remainder="passthrough"
)
model = make_pipeline(encoder, RandomForestClassifier(50, max_depth=5, random_state=0))

# %%
# The rules of the one who asks
# -----------------------------
# No more savings, no shorter loan, the same job, and nobody gets younger.

from skcf.constraints import decreasing, fixed, increasing
from skcf.tabular import OptimalExplainer

rules = [increasing("age"), decreasing("savings"), increasing("months"), fixed("job")]
explainer = OptimalExplainer(model, target="paid", constraints=rules)
explainer.fit(loans, paid)
explanation = explainer.explain(loans.head(60))
status, counts = np.unique(explanation.status, return_counts=True)
print(dict(zip(status.tolist(), counts.tolist(), strict=True)))

# %%
# ``infeasible`` is a proof, by all trees of the forest: whatever this person changes
# within the rules, the answer stays no.
#
# What would have to give
# -----------------------
# A smallest set of rules to lift, and the conflicts that prove that fewer will not do:
# of each conflict at least one rule has to go.

from skcf.tabular import blocking_rules

stuck = np.flatnonzero(explanation.status == "infeasible")
results = [blocking_rules(explainer, loans.iloc[[i]]) for i in stuck[:8]]
person = loans.iloc[[stuck[0]]]
print(person.to_string(index=False), "\n")
print("lift:", *results[0].rules)
for conflict in results[0].conflicts:
    print("conflict:", " | ".join(map(str, conflict)))

# %%
# Without them there is a way, and it is the cheapest one.

from skcf.display import ChangesDisplay

_ = ChangesDisplay.from_explanation(results[0].explanation).plot()

# %%
# Over all of these people: which rules are in the way?

freed = pd.Series([str(r) for result in results for r in result.rules])
print(freed.value_counts().to_string())
