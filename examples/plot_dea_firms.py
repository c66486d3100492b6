"""
==================================
Four firms and a wanted efficiency
==================================

A firm that could do with two thirds of its inputs could use a third less of each. That
is the textbook's answer, and seldom the easiest one. This example finds the changes of
least cost to an efficiency of 80 %, on the four firms of Bogetoft, Ramírez-Ayerbe and
Romero Morales (`doi:10.1016/j.ejor.2024.01.005
<https://doi.org/10.1016/j.ejor.2024.01.005>`__).
"""

# %%
# The firms
# ---------
# Each makes one unit of output from two inputs.

import pandas as pd

firms = pd.DataFrame(
    {"x1": [0.5, 1.5, 1.75, 2.5], "x2": [1.0, 0.5, 1.25, 1.25], "y": 1.0},
    index=["firm 1", "firm 2", "firm 3", "firm 4"],
)

# %%
# :class:`~skcf.dea.DEA` measures which share of its inputs a firm would get by with, if
# it did as well as mixtures of the others show to be possible.

from skcf.dea import DEA

dea = DEA(inputs=["x1", "x2"], outputs=["y"]).fit(firms)
evaluation = dea.evaluate(firms)
for name, efficiency, peers in zip(
    firms.index, evaluation.efficiency, evaluation.peers, strict=True
):
    print(f"{name}: {efficiency:.3f}, held against {' and '.join(peers)}")

# %%
# The cheapest change
# -------------------
# The radial projection shrinks both inputs by one factor. With squared changes as the
# cost, something else is nearer; if every input that changes costs extra, one is
# enough.

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer

costs = {
    "l2": Cost(l1=0, l2=1, scale="none", average=False),
    "l0 + l2": Cost(l0=1, l1=0, l2=1, scale="none", average=False),
}
explanations = {}
for name, cost in costs.items():
    explainer = DEATargetExplainer(
        inputs=["x1", "x2"], outputs=["y"], efficiency=0.8, cost=cost
    ).fit(firms)
    explanations[name] = explainer, explainer.explain(firms)
    print(f"\n{name}\n{explanations[name][1].counterfactuals.round(4)}")

print(f"\nradial\n{explanations['l2'][1].details.farrell.iloc[2:].round(4)}")

# %%
# Every target is the best there is, and a linear program confirms its efficiency:

for name, (_, explanation) in explanations.items():
    print(name, explanation.optimal, explanation.prediction)

# %%
# As a picture
# ------------
# More efficiency lies towards the origin; plans in the shaded region have at least
# 80 %. Firm 4 has so much of the first input that only the second one counts: its
# target is on a part of the curve that the radial projection never sees.

import matplotlib.pyplot as plt

from skcf.display import FrontierDisplay

figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
explainer, explanation = explanations["l2"]
for row, ax in zip((2, 3), axes, strict=True):
    FrontierDisplay.from_explanation(explanation, explainer, row=row).plot(ax=ax)
    ax.set_title(firms.index[row])

# %%
# A menu
# ------
# Other sets of inputs are more costly, but one of them may be what the firm can change.

menu = explainer.explain(firms.loc[["firm 3"]], n_counterfactuals=3)
print(menu.counterfactuals.assign(cost=menu.cost).round(4))
