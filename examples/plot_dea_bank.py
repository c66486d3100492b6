"""
=====================================
What a bank's branches have to change
=====================================

A bank compares its branches. Which kind of staff is it that keeps branches from being
efficient? The answer depends on what a change costs: if each kind of staff that changes
takes an agreement of its own, one kind is enough.

The branches are made; the kinds of staff are those of a study of Canadian branches.
"""

# %%
# The branches
# ------------
# Branches differ in size, in the mix of their staff and in skill.

import numpy as np
import pandas as pd

random = np.random.default_rng(0)
n_branches = 60
inputs = ["teller", "typing", "ledgers", "supervision", "credit"]
outputs = ["deposits", "loans", "services"]
size = random.lognormal(2, 0.5, n_branches)
mix = random.lognormal(0, 0.3, (n_branches, 5))
skill = np.exp(-random.exponential(0.3, n_branches))
made = (mix**0.2).prod(axis=1) * size * skill
branches = pd.DataFrame(
    np.hstack(
        [
            size[:, None] * mix,
            made[:, None] * random.lognormal(0, 0.25, (n_branches, 3)),
        ]
    ).round(2),
    columns=[*inputs, *outputs],
    index=[f"branch {k}" for k in range(n_branches)],
)

# %%
# Targets
# -------
# Each branch is to reach an efficiency of 90 %, with the outputs it has. Staff is
# counted in units of its mean over all branches. All targets are proved to be the
# cheapest.

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer
from skcf.display import FrontierDisplay

costs = {
    "squares": Cost(l1=0, l2=1, scale="mean", average=False),
    "counts and squares": Cost(l0=0.05, l1=0, l2=1, scale="mean", average=False),
}
displays = {}
for name, cost in costs.items():
    explainer = DEATargetExplainer(
        inputs=inputs, outputs=outputs, efficiency=0.9, cost=cost
    ).fit(branches)
    explanation = explainer.explain(branches)
    displays[name] = FrontierDisplay.from_explanation(explanation, explainer)
    print(f"\n{name}: {explanation}")
    print(displays[name].summary().round(2).to_string(index=False))

# %%
# Under squared costs a little of several kinds changes. With a price on each kind that
# changes, it is one in every branch, by more:

import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(10, 8), layout="constrained")
for (name, display), ax in zip(displays.items(), axes, strict=True):
    display.plot_changes(ax=ax)
    ax.set_title(name)
    ax.set_yticks([])

# %%
# Rules
# -----
# A branch says: our tellers stay, and no other staff falls by more than a quarter.
# Where this leaves no way to 90 %, that is proved, and ``blocking_rules`` names the
# rule without which there is one.

from skcf.constraints import change_within, fixed

rules = [fixed("teller")]
rules += [change_within(name, low=-0.25, relative=True) for name in inputs[1:]]
explanation = explainer.explain(branches, constraints=rules)
print(pd.Series(explanation.status).value_counts().to_string())
kind_of = {str(rule): name for rule, name in zip(rules, inputs, strict=True)}
blocked = pd.Series(explanation.details.blocking_rules).map(kind_of)
print(f"\nin the way: the rule about\n{blocked.value_counts().to_string()}")

# %%
# The price of ambition
# ---------------------
# ``target`` gives an efficiency for each row. The cost of one branch grows with it:

one = branches.iloc[[explanation.status.tolist().index("found")]]
levels = np.linspace(0.8, 1.0, 9)
steps = explainer.explain(pd.concat([one] * len(levels)), target=levels)
price = np.zeros(len(levels))
price[steps.row] = steps.cost
figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
ax.step(levels, price, where="mid", marker="o")
ax.set(xlabel="wanted efficiency", ylabel="cost", title=one.index[0])
