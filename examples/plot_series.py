"""
================================
A series between two prototypes
================================

What would a series have to look like for a model to take it for one of another class?
The nearest mixture with two training series of that class answers, and it is proved
that none is nearer.
"""

# %%
# The data
# --------
# Trace is a set of 200 made series of 275 times: signals of a nuclear power plant, in
# four classes of failures. tslearn ships it. The model is a forest over the times.

from sklearn.ensemble import RandomForestClassifier
from tslearn.datasets import CachedDatasets

X, y, X_test, y_test = CachedDatasets().load_dataset("Trace")
X, X_test = X[:, ::5, 0], X_test[:, ::5, 0]
model = RandomForestClassifier(100, max_depth=4, random_state=0).fit(X, y)
print(f"Accuracy on held-out series: {model.score(X_test, y_test):.2f}")

# %%
# The nearest mixture
# -------------------
# Series of class 2 are to become class 1. One prototype first, then two: with a second
# one, the nearest mixture is often much nearer, and never farther.

from sklearn.frozen import FrozenEstimator

from skcf.timeseries import PrototypeExplainer

series = X_test[model.predict(X_test) == 2][:5]
for n in (1, 2):
    explainer = PrototypeExplainer(FrozenEstimator(model), target=1, max_prototypes=n)
    explanation = explainer.fit(X).explain(series)
    print(f"{n}: cost {explanation.cost.round(2)}, optimal {explanation.optimal}")

# %%
# The shaded times carry nine tenths of the squared change.

from skcf.display import SeriesDisplay

SeriesDisplay.from_explainer(explainer, series, row=0).plot()

# %%
# Whole stretches instead
# -----------------------
# A mixture changes all times a little. A swap changes few, and all the way.

from skcf.timeseries import ChannelSwapExplainer

swaps = ChannelSwapExplainer(FrozenEstimator(model), target=1, random_state=0).fit(X)
SeriesDisplay.from_explainer(swaps, series, row=0).plot()
