"""
===============================
Several ways out for one person
===============================

One counterfactual is one way out, and perhaps not one that this person can take. With
`n_counterfactuals`, answers that change different things come first, and further rules
can be given in the dialogue.
"""

# %%
# A scorecard
# -----------
# Made-up loan applications that are decided by points. The model is a black box to the
# explainer, but the nearest answer is known by construction.

from skcf.datasets import make_scorecard

loans = make_scorecard(as_frame=True, random_state=0)
person = loans.queries.iloc[[12]]
print(person.T.to_string(header=False))

# %%
# Ways out
# --------
# Nobody can wait to be older, and a pension is for life.

from skcf.constraints import fixed
from skcf.tabular import MACEExplainer

explainer = MACEExplainer(
    loans.model,
    target="granted",
    constraints=[fixed("age"), 'x.job == "retired" => cf.job == "retired"'],
    random_state=0,
)
explainer.fit(loans.data)
explanation = explainer.explain(person, n_counterfactuals=3)

from skcf.display import ChangesDisplay

display = ChangesDisplay.from_explanation(
    explanation, n_counterfactuals=3, reference=loans.data
).plot()

# %%
# The metrics of each answer: how near it is, how far from any real application, and how
# much it differs from the other two.

frame = explanation.evaluate(
    ["gower", "plausibility", "redundancy", "diversity"],
    reference=loans.data,
    estimator=loans.model,
)
columns = ["rank", "n_changed", "gower", "plausibility", "redundancy", "diversity"]
print(frame[columns].to_string(index=False, float_format="{:.3f}".format))

# %%
# What the decision hangs on, for this person: the share of the answers that change each
# feature.

from skcf.metrics import feature_importance

print(feature_importance(explanation, row=0).to_string(index=False))

# %%
# The dialogue
# ------------
# "I will not earn more, and I cannot buy a house. What else?"

other = explainer.explain(
    person,
    n_counterfactuals=3,
    constraints=["cf.income <= x.income", 'cf.housing != "own"'],
)
print(other.changes().to_string(index=False))
