import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from skcf._mip._plausible import N_TREES, Plausible, _last_left, _unbuilt
from skcf.tabular import OptimalExplainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, max_depth=3, random_state=0),
        HistGradientBoostingClassifier(max_iter=2, max_bins=20),
    ],
    ids=lambda m: type(m).__name__,
)
def test_depths_are_those_of_the_isolation_forest(model):
    explainer = OptimalExplainer(model).fit(X, Y)
    plausible = Plausible.learn(explainer._model, X, 0.2, 0)
    trees, kernel = plausible.trees, explainer._model.view.kernel
    rows = np.vstack([X[:40], RNG.normal(size=(40, 3)) * 3])
    x = trees.cast(rows)
    sums = np.zeros(len(rows))
    for root in trees.root[len(kernel.root) :]:
        node = np.full(len(rows), root)
        while (inner := trees.feature[node] >= 0).any():
            at = np.flatnonzero(inner)
            here = node[at]
            left = x[at, trees.feature[here]] <= trees.threshold[here]
            node[at] = np.where(left, trees.left[here], trees.right[here])
        sums += plausible.depth[node]
    whole = N_TREES * _unbuilt(np.array([plausible.forest.max_samples_]))[0]
    truth = -np.log2(-plausible.forest.score_samples(rows)) * whole
    np.testing.assert_allclose(sums, truth, rtol=1e-9)
    inside = truth[:40] >= plausible.least
    least = np.quantile(plausible.forest.score_samples(X), 0.2, method="lower")
    told = plausible.forest.score_samples(X[:40]) >= least - 1e-12
    np.testing.assert_array_equal(inside, told)
    # The leaves of the forest add nothing to the model's scores.
    np.testing.assert_allclose(trees.raw(x), kernel.raw(x))


def test_thresholds_are_the_last_floats_that_round_to_the_left():
    threshold = RNG.normal(size=200)
    for precision in ("float32", "float64"):
        last = _last_left(threshold, precision)
        if precision == "float32":
            after = np.nextafter(last.astype(np.float32), np.float32(np.inf))
        else:
            after = np.nextafter(last, np.inf)
        assert (last.astype(np.float32) <= threshold).all()
        assert (after.astype(np.float32) > threshold).all()
