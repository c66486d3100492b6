"""
===========
Quick start
===========

A model says that a patient's diabetes will progress fast. Which measurements would
have to be different for it to say "slow"?

The answers below describe the model. They are not medical advice: that the model
would decide otherwise does not mean that the patient would fare better.
"""

# %%
# The data
# --------
# scikit-learn's diabetes data has ten measurements of 442 patients, here in their own
# units, and how far the disease progressed within a year. "Fast" means further than
# in half of the patients.

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = np.where(progression > progression.median(), "fast", "slow")
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

# %%
# The model
# ---------
# The scaler is a part of the model, so that explanations stay in the units above.

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(X_train, y_train)
print(f"Accuracy on held-out patients: {model.score(X_test, y_test):.2f}")

# %%
# The rules
# ---------
# Age and sex stay as they are, and the body mass index may only fall. Blood pressure
# and the six blood values stay within the range seen in training. The rules do not
# say that some blood values depend on others: ``s4`` is about ``s1`` divided by
# ``s3``, for instance.

from skcf.constraints import decreasing, fixed, within

constraints = [fixed("age", "sex"), decreasing("bmi")]
for name in ["bp", "s1", "s2", "s3", "s4", "s5", "s6"]:
    seen = X_train[name]
    constraints.append(within(name, float(seen.min()), float(seen.max())))

# %%
# The explanation
# ---------------
# The model is fitted already: ``FrozenEstimator`` keeps it from being fitted again.
# Eight held-out patients are explained in one call.

from sklearn.frozen import FrozenEstimator

from skcf.tabular import GeCoExplainer

explainer = GeCoExplainer(
    FrozenEstimator(model), target="slow", constraints=constraints, random_state=0
)
explainer.fit(X_train, y_train)

patients = X_test[model.predict(X_test) == "fast"].head(8)
explanation = explainer.explain(patients)
print(explanation)

# %%
# For each patient, what would have to be different:

changes = explanation.changes()
for row, patient in enumerate(patients.index):
    print(f"\nPatient {patient}: {explanation.status[row]}")
    for change in changes[changes["row"] == row].itertuples():
        print(f"    {change.feature}: {change.before:g} -> {change.after:g}")

# %%
# The same as a picture, which is saved to the path given on the command line, or else
# to ``quickstart.png``:

import sys

from skcf.display import ChangesDisplay

display = ChangesDisplay.from_explanation(explanation).plot()
path = sys.argv[1] if len(sys.argv) > 1 else "quickstart.png"
display.figure_.savefig(path, dpi=150, bbox_inches="tight")

# %%
# ``transform`` returns the patients as they would have to be, a row for each, and as
# it came where nothing was found:

print(explainer.transform(patients).head(3))
