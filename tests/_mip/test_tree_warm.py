import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skcf._mip import _tree_climb, _tree_kernels, _tree_splits, _tree_tighten
from skcf._mip._tree_warm import warm_up
from skcf.tabular import OptimalExplainer

ROOMS = (_tree_climb, _tree_kernels, _tree_splits, _tree_tighten)


def signatures():
    compiled = {}
    for room in ROOMS:
        for name, function in vars(room).items():
            if type(function).__name__ == "jit":
                compiled[name] = len(function.compiled.signatures)
    return compiled


def test_a_query_compiles_nothing_that_was_not_compiled_in_fit():
    warm_up()
    before = signatures()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = RandomForestClassifier(10, max_depth=3, random_state=0)
    explanation = OptimalExplainer(model).fit(X, y).explain(X[:5])
    assert explanation.optimal.all()
    assert signatures() == before
