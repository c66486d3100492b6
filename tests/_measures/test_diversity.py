import itertools

import numpy as np
import pytest

from skcf._explanation._cells import take
from skcf.metrics import diversity, proximity
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("method", ["features", "changes", "distance"])
def test_against_pairs_one_by_one(library, method):
    explainer, X, _ = fitted(library)
    e = explainer.explain(X[:10], n_counterfactuals=4)
    x = take(e.queries, e.row)
    options = {
        "reference": X,
        "constraints": rules_of(library),
        "categorical_features": columns_of(library),
    }
    whole = {"row": e.row, "method": method, **options}
    told = diversity(x, e.counterfactuals, sample_wise=True, **whole)
    space = explainer._space
    cf, before = space.encode(e.counterfactuals), space.encode(x)
    for row, value in zip(np.unique(e.row), told, strict=True):
        gaps = []
        for a, b in itertools.combinations(np.flatnonzero(e.row == row), 2):
            if method == "features":
                gaps.append(explainer._cost.n_changed(cf[a], cf[b]) / 5)
            elif method == "changes":
                one, other = changed(before[a], cf[a]), changed(before[b], cf[b])
                gaps.append(1 - len(one & other) / len(one | other))
            else:
                one, other = (take(e.counterfactuals, [int(i)]) for i in (a, b))
                gaps.append(proximity(one, other, **options))
        assert value == pytest.approx(np.mean(gaps), abs=1e-12)
    assert diversity(x, e.counterfactuals, **whole) == pytest.approx(told.mean())


def changed(before, after):
    """Return the changed columns; 2 and 4 are tied, and so are one."""
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    return {2 if j == 4 else j for j in np.flatnonzero(~same).tolist()}


def test_single_answers_have_no_diversity():
    x, x_cf = np.zeros((3, 2)), np.array([[1.0, 0], [2, 0], [3, 3]])
    told = diversity(x, x_cf, row=[4, 9, 4], sample_wise=True)
    np.testing.assert_array_equal(told, [1.0, np.nan])
    assert diversity(x, x_cf, row=[4, 9, 4]) == 1.0
    assert np.isnan(diversity(x, x_cf, row=[0, 1, 2]))
    assert np.isnan(diversity(x[:0], x_cf[:0]))


def test_equal_answers():
    x, x_cf = np.zeros((2, 2)), np.ones((2, 2))
    for method in ("features", "changes", "distance"):
        assert diversity(x, x_cf, method=method, reference=x) == 0.0


def test_what_does_not_fit():
    x = np.zeros((2, 2))
    with pytest.raises(ValueError, match="method must be one of"):
        diversity(x, x, method="all")
    with pytest.raises(ValueError, match="needs reference"):
        diversity(x, x, method="distance")
    with pytest.raises(ValueError, match="each of the 2 pairs.*\\(3,\\)"):
        diversity(x, x, row=[0, 1, 2])
