"""
===============================
Several ways out for one person
===============================

One person, one model, several ways to another decision: MACE finds answers that change
different measurements, and its policy tells which changes matter for this person.

The answers below describe the model. They are not medical advice: that the model
would decide otherwise does not mean that the patient would fare better.
"""

# %%
# The model
# ---------
# scikit-learn's diabetes data again: ten measurements of 442 patients, and whether the
# disease progressed further than in half of them. A forest says "fast" or "slow".

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = np.where(progression > progression.median(), "fast", "slow")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = RandomForestClassifier(100, max_depth=6, random_state=0).fit(X_train, y_train)

# %%
# Three ways
# ----------
# Age and sex stay, and the body mass index may only fall. The patient is the one of
# whom the model is surest that the progression will be fast.

from sklearn.frozen import FrozenEstimator

from skcf.constraints import decreasing, fixed
from skcf.tabular import MACEExplainer

explainer = MACEExplainer(
    FrozenEstimator(model),
    target="slow",
    constraints=[fixed("age", "sex"), decreasing("bmi")],
    random_state=0,
)
explainer.fit(X_train, y_train)

fast = X_test[model.predict(X_test) == "fast"]
surest = model.predict_proba(fast)[:, 0].argmax()
patient = fast.iloc[[surest]]
explanation = explainer.explain(patient, n_counterfactuals=3)
print(explanation.changes().to_string(index=False))

# %%
# The same as a picture: a block of rows for each way out.

from skcf.display import ChangesDisplay

ChangesDisplay.from_explanation(explanation).plot()

# %%
# Why these
# ---------
# The policy was optimised for this patient. The probability of a change tells how much
# it helped while others were changed too, the values are those of patients like this
# one for whom the model says "slow".

for line in explanation.details.policy[0][:5]:
    values = ", ".join(f"{value:g}" for value in line["values"])
    print(f"{line['feature']:>4}: {line['probability']:.2f} to {values}")

# %%
# Further apart
# -------------
# ``min_distance`` asks for answers that differ by more: each is at least so far from
# the others, in the mean over features of the change in units of the range.

apart = explainer.explain(patient, n_counterfactuals=3, min_distance=0.03)
for name, found in (("by cost", explanation), ("apart", apart)):
    span = np.ptp(X_train.to_numpy(), axis=0)
    rows = found.counterfactuals.to_numpy()
    gaps = [np.mean(np.abs(a - b) / span) for i, a in enumerate(rows) for b in rows[:i]]
    print(f"{name:>8}: cost {found.cost.round(3)}, least gap {min(gaps):.3f}")
