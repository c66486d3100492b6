"""What the classes are called makes no difference to any group explainer."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from skcf.group import (
    ManyForOneExplainer,
    OneForAllExplainer,
    OneForManyExplainer,
    OneForOneExplainer,
    SparseOneForManyExplainer,
)

MODELS = {
    "linear": LogisticRegression(),
    "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
    "network": MLPClassifier((4,), max_iter=300, random_state=0),
}
EXPLAINERS = {
    "one for one": (OneForOneExplainer, {"group_sparsity": 0.1}),
    "many for one": (ManyForOneExplainer, {"feature": 0}),
    "one for all": (OneForAllExplainer, {}),
    "one for many": (OneForManyExplainer, {"n_centers": 2, "random_state": 0}),
    "sparse": (SparseOneForManyExplainer, {"max_features": 2}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize("name", EXPLAINERS)
def test_names_of_classes_make_no_difference(name, family):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 4)).astype(float)
    y = (X @ [1, 2, -1, 1] > 5).astype(int)
    model = MODELS[family]
    rows = X[model.fit(X, y).predict(X) == 0][:4]
    kind, options = EXPLAINERS[name]

    def answers(labels):
        fitted = FrozenEstimator(model.fit(X, labels[y]))
        explainer = kind(fitted, target=labels[1], time_limit=30, **options)
        return explainer.fit(X, labels[y]).explain(rows)

    numbers, words = answers(np.array([0, 1])), answers(np.array(["no", "yes"]))
    assert (words.status == "found").any()
    assert_array_equal(words.status, numbers.status)
    assert_array_equal(words.counterfactuals, numbers.counterfactuals)
