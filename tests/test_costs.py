import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from skcf._search import Problem
from skcf._space import Candidates, FeatureSpace
from skcf.constraints._ground import Ground
from skcf.costs import Cost, check_cost
from skcf.tabular import GeCoExplainer


@pytest.fixture
def space():
    # Ranges: a 10, b 4. Category with 3 levels, ordered category with 4 (span 3).
    X = pd.DataFrame(
        {
            "a": [0.0, 10.0, 5.0, 5.0],
            "b": [1, 5, 3, 3],
            "c": pd.Categorical(["x", "y", "z", "x"]),
            "o": pd.Categorical(
                ["s", "m", "l", "xl"], ["s", "m", "l", "xl"], ordered=True
            ),
        }
    )
    return FeatureSpace(X)


# a: 5 -> 7.5 is .25 of its range, b: 3 -> 1 is .5, c changes, o: s -> l is 2/3.
BEFORE = np.array([[5.0, 3.0, 0.0, 0.0]])
AFTER = np.array([[7.5, 1.0, 1.0, 2.0]])
D = np.array([0.25, 0.5, 1.0, 2 / 3])


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (Cost(), D.mean()),
        (Cost(average=False), D.sum()),
        (Cost(l0=1, l1=0), 1.0),
        (Cost(l0=2, l1=0, average=False), 8.0),
        (Cost(l1=0, l2=1), (D**2).mean()),
        (Cost(l1=0, linf=3), 3.0),
        (Cost(l0=0.5, l1=2, l2=1, linf=1), 0.5 + 2 * D.mean() + (D**2).mean() + 1),
        (Cost(weights={"a": 3}), (3 * 0.25 + 0.5 + 1 + 2 / 3) / 6),
        (Cost(up={"a": 2}, average=False), D.sum() + 0.25),
        (Cost(down={"a": 2}, average=False), D.sum()),
        (Cost(down={"b": 3}, average=False), D.sum() + 1.0),
        (Cost(up={"o": 4, "c": 9}, average=False), D.sum() + 2.0),
        (Cost(weights={"c": 0}, linf=1, l1=0), 2 / 3),
        (check_cost("gower"), D.mean()),
        (check_cost("geco"), (1 + D.mean() + 1) / 3),
    ],
)
def test_values_by_hand(space, cost, expected):
    assert cost._bind(space).rows(BEFORE, AFTER) == pytest.approx([expected])


def test_l0_counts_changes_only(space):
    after = BEFORE.copy()
    after[0, 1] = 5
    assert Cost(l0=1, l1=0)._bind(space).rows(BEFORE, after) == pytest.approx([0.25])
    assert Cost(l0=1)._bind(space).rows(BEFORE, BEFORE) == [0.0]


def test_a_missing_value_that_comes_or_goes_differs_by_one(space):
    bound = Cost(average=False, up={"a": 5}, down={"a": 5})._bind(space)
    gone = BEFORE.copy()
    gone[0, [0, 3]] = np.nan
    assert bound.rows(BEFORE, gone) == [2.0]
    assert bound.rows(gone, BEFORE) == [2.0]
    assert bound.rows(gone, gone) == [0.0]
    assert bound.n_changed(BEFORE, gone) == [2]


def test_a_group_is_one_feature_with_its_largest_difference():
    X = pd.DataFrame({"a": [0, 10, 4], "b": [0, 2, 1], "z": [0.0, 1.0, 0.5]})
    space = FeatureSpace(X, groups=[(0, 1)])
    before, after = np.array([[0.0, 0.0, 0.0]]), np.array([[4.0, 1.0, 0.0]])
    # a differs by .4 and b by .5: the group by .5, out of two features.
    assert Cost()._bind(space).rows(before, after) == pytest.approx([0.25])
    heavy = Cost(weights={"a": 3})._bind(space)
    assert heavy.rows(before, after) == pytest.approx([3 * 0.5 / 4])
    assert heavy.n_changed(before, after) == [1]


@pytest.mark.parametrize(
    ("scale", "unit"),
    [
        ("range", 9.0),
        ("std", np.std([1, 2, 4, 10])),
        ("median", 3.0),
        ("mad", 1.5),
        ("iqr", np.subtract(*np.quantile([1, 2, 4, 10], [0.75, 0.25]))),
        ("mean", 4.25),
        ("none", 1.0),
    ],
)
def test_scales(scale, unit):
    space = FeatureSpace(np.array([[1.0], [2.0], [4.0], [10.0]]))
    bound = Cost(scale=scale)._bind(space)
    assert bound.rows(np.array([[1.0]]), np.array([[4.0]])) == pytest.approx([3 / unit])


@pytest.mark.parametrize(
    ("values", "scale", "unit"),
    [
        ([0, 0, 0, 0, 8], "median", 8.0),  # median, MAD and IQR are 0: the range
        ([0, 0, 0, 8, 8], "median", 8.0),  # median and MAD are 0: IQR is 8
        ([-1, -1, 0, 1, 1], "mad", 1.0),
        ([5, 5, 5, 5, 9], "mad", 4.0),  # MAD and IQR are 0: the range
        ([5, 5, 5], "mad", 1.0),
        ([5, 5, 5], "range", 1.0),
        ([0, 0, 0], "mean", 1.0),
    ],
)
def test_a_scale_of_zero_falls_through_the_chain(values, scale, unit):
    space = FeatureSpace(np.array(values, dtype=float)[:, None])
    assert Cost(scale=scale)._bind(space).unit == [unit]


def test_scale_by_name(space):
    unit = Cost(scale={"a": "none", "b": "mean"})._bind(space).unit
    assert unit.tolist() == [1.0, 3.0, 1.0, 3.0]


def test_sparse_is_lexicographic(space):
    sparse = check_cost("sparse")._bind(space)
    far_one, near_two = BEFORE.copy(), BEFORE.copy()
    far_one[0, 0] = 0.0
    near_two[0, [0, 1]] = [5.1, 3.1]
    assert sparse.rows(BEFORE, far_one) < sparse.rows(BEFORE, near_two)
    nearer = BEFORE.copy()
    nearer[0, 0] = 4.0
    assert sparse.rows(BEFORE, nearer) < sparse.rows(BEFORE, far_one)


def test_mace_is_the_sum_of_median_scaled_changes(space):
    bound = check_cost("mace")._bind(space)
    expected = 2.5 / 5 + 2 / 3 + 1 + 2 / 3
    assert bound.rows(BEFORE, AFTER) == pytest.approx([expected])


@pytest.mark.parametrize("name", ["gower", "sparse", "mace", "squared", "geco"])
def test_compact_cost_of_candidates_equals_the_cost_of_rows(name):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 5, (40, 5)), columns=list("abcde"))
    explainer = GeCoExplainer(
        DecisionTreeClassifier(), cost=name, constraints="together('a', 'b')"
    )
    explainer.fit(X, [0] * 20 + [1] * 20)
    space, query = explainer._space, explainer._open(X.head(6), None)
    problem = _problem(explainer, query)
    size = np.diff(space.values.offsets)
    row = np.arange(6)
    ids = space.values.offsets[:3] + random.integers(0, size[:3], (6, 3))
    cands = Candidates(row, ids)
    dense = explainer._cost.rows(problem.x[row], cands.codes(problem.x, space.values))
    np.testing.assert_allclose(problem.cost_of(cands), dense, atol=1e-12)


def _problem(explainer, query):
    state = query.state
    ground = Ground(state.rules, state.codes)
    return Problem(
        state.codes,
        state.table,
        ground,
        explainer._cost,
        explainer._model,
        query.goal,
        state.seed,
        query.meter(),
    )


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"l1": -1}, "l1 must be a number of at least 0, got -1"),
        ({"l1": 0}, "at least one positive norm"),
        ({"l2": np.nan}, "l2 must be"),
        ({"l0": "x"}, "l0 must be"),
        ({"weights": {"a": -2}}, r"weights\['a'\] must be"),
        ({"up": {"a": None}}, r"up\['a'\] must be"),
        ({"scale": "wide"}, "scale must be one of"),
        ({"scale": {"a": "wide"}}, "scale must be one of"),
    ],
)
def test_errors_name_parameter_and_value(kwargs, message):
    with pytest.raises(ValueError, match=message):
        Cost(**kwargs)


def test_unknown_names_and_columns(space):
    with pytest.raises(ValueError, match="cost must be a Cost or one of"):
        check_cost("manhattan")
    with pytest.raises(ValueError, match="no column 'q'"):
        Cost(weights={"q": 1})._bind(space)
    with pytest.raises(ValueError, match="must not all be 0"):
        Cost(weights=dict.fromkeys("abco", 0))._bind(space)
    with pytest.raises(TypeError, match="weights must map"):
        Cost(weights=3)


def test_a_cost_is_a_value():
    one, two = Cost(up={"a": 2, "b": 1}), Cost(up={"b": 1, "a": 2})
    assert one == two and hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert clone(one, safe=False) == one
    with pytest.raises(AttributeError):
        one.l1 = 3
