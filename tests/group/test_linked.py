"""Rows tied by distances and means, against all points and all pairs of cells."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from skcf.costs import Cost
from skcf.group import OneForOneExplainer
from tests.group.small import MODELS, POINTS, table

pytestmark = [
    pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def best_by_trial(model, rows, cost, keeps, n_served=3, price=0.0):
    """Return the least objective over all points of three rows."""
    share = model.predict_proba(POINTS)[:, 1]
    inside = share > 0.5 + 1e-9
    points, share = POINTS[inside], share[inside]
    n = len(points)
    best = np.inf
    for served in combinations(range(3), n_served):
        some = rows[list(served)]
        paid = np.array([cost.rows(np.tile(x, (n, 1)), points) for x in some])
        picks = np.indices((n,) * n_served).reshape(n_served, -1)
        total = sum(paid[s][k] for s, k in enumerate(picks))
        after = points[picks]
        moved = (after != some[:, None, :]).any(axis=0).sum(axis=1)
        ok = keeps(some, after, share[picks])
        total = np.where(ok, total + price * moved, np.inf)
        best = min(best, total.min())
    return best


def sure(some, after, share):
    return share.mean(axis=0) >= 0.7


def between(some, after, share):
    means = after[:, :, 0].mean(axis=0)
    return (means >= 1.0) & (means <= 1.5)


def both(some, after, share):
    return (share.mean(axis=0) >= 0.65) & (after[:, :, 1].mean(axis=0) <= 1.5)


def near(some, after, share):
    ok = True
    for i, k in combinations(range(len(some)), 2):
        most = np.linalg.norm(some[i] - some[k])
        ok &= np.linalg.norm(after[i] - after[k], axis=1) <= 0.8 * most + 1e-9
    return ok


CASES = {
    "threshold": ({"mean_threshold": 0.7}, sure, 3, 0.0),
    "bounds": ({"mean_bounds": {0: (1.0, 1.5)}}, between, 3, 0.0),
    "both, price": (
        {"mean_threshold": 0.65, "mean_bounds": {1: (None, 1.5)}}, both, 3, 0.05,
    ),
    "bounds, outlier": ({"mean_bounds": {0: (1.0, 1.5)}}, between, 2, 0.0),
    "threshold, outlier": ({"mean_threshold": 0.7}, sure, 2, 0.0),
    "distances, outlier": ({"lipschitz": 0.8}, near, 2, 0.0),
    "distances, price": ({"lipschitz": 0.8}, near, 3, 0.05),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("case", CASES)
def test_ties_are_kept_at_the_least_cost_of_all_points(kind, case):
    ties, keeps, n_served, price = CASES[case]
    X, y = table(2)
    model = MODELS[kind].fit(X, y)
    rows = np.unique(X[model.predict(X) == 0], axis=0)[[0, 3, 6]]
    explainer = OneForOneExplainer(
        FrozenEstimator(model),
        target=1,
        coverage=n_served,
        group_sparsity=price,
        **ties,
    ).fit(X)
    explained = explainer.explain(rows)
    best = best_by_trial(model, rows, explainer._cost, keeps, n_served, price)
    told = explained.details
    assert told.objective == pytest.approx(best, abs=2e-6)
    assert told.lower_bound == pytest.approx(best, abs=2e-6)
    if np.isfinite(best):
        after, some = explained.counterfactuals, rows[explained.row]
        share = model.predict_proba(after)[:, 1]
        assert keeps(some, after[:, None, :], share[:, None]).all()
        assert explained.optimal.all() and len(after) == n_served
    else:
        assert (explained.status == "infeasible").all()


def cells_of(model, low, high):
    """Return (low, high) of all cells of the thresholds that are in the target."""
    ends = []
    for j in range(2):
        cuts = np.concatenate([t.tree_.threshold[t.tree_.feature == j] for t in model])
        cuts = np.unique(cuts[(cuts > low[j]) & (cuts < high[j])])
        begin, end = np.append(low[j], cuts + 1e-7), np.append(cuts, high[j])
        ends.append(np.column_stack([begin, end]))
    cells = [np.transpose(pair) for pair in product(*ends)]
    inside = model.predict([c.mean(axis=0) for c in cells]) == 1
    return [c for c, ok in zip(cells, inside, strict=True) if ok]


def pulled(x, y, one, two, price):
    """Return the points of two boxes near x and y, at a price of their distance."""
    a, b = np.zeros(2), np.zeros(2)
    for j in range(2):
        # Free, or one of both at an end of its box.
        free = (x[j] + price * (x[j] + y[j])) / (1 + 2 * price)
        tried = [(free, y[j] - (free - x[j]))]
        tried += [(e, (y[j] + price * e) / (1 + price)) for e in one[:, j]]
        tried += [((x[j] + price * e) / (1 + price), e) for e in two[:, j]]
        tried = np.array(tried)
        tried[:, 0] = np.clip(tried[:, 0], *one[:, j])
        tried[:, 1] = np.clip(tried[:, 1], *two[:, j])
        u, v = tried.T
        paid = (u - x[j]) ** 2 + (v - y[j]) ** 2 + price * (u - v) ** 2
        a[j], b[j] = tried[paid.argmin()]
    return a, b


def paid_within(rows, one, two, most):
    """Return the least squares of two rows in two boxes at most so far apart."""
    low, high = 0.0, 1e7
    for _ in range(70):
        middle = (low + high) / 2 if low > 1 else min((low + high) / 2, 2 * low + 1e-3)
        a, b = pulled(*rows, one, two, middle)
        near = np.linalg.norm(a - b) <= most
        low, high = (low, middle) if near else (middle, high)
    a, b = pulled(*rows, one, two, high)
    if np.linalg.norm(a - b) > most * (1 + 1e-6):
        return np.inf
    return ((np.array([a, b]) - rows) ** 2).sum()


@pytest.mark.parametrize("seed", range(2))
def test_continuous_distances_over_trees_of_all_pairs_of_cells(seed):
    random = np.random.default_rng(seed)
    X = random.random((120, 2))
    model = RandomForestClassifier(4, max_depth=2, random_state=seed)
    model.fit(X, X @ [1.0, 0.7] + 0.2 * random.normal(size=120) > 0.9)
    rows = X[~model.predict(X)][:2]
    cost = Cost(l1=0.0, l2=1.0, scale="none", average=False)
    explainer = OneForOneExplainer(
        FrozenEstimator(model), target=True, cost=cost, resolution=None
    ).fit(X)
    free = explainer.explain(rows)
    most = 0.25 * np.linalg.norm(rows[0] - rows[1])
    assert np.linalg.norm(np.diff(free.counterfactuals, axis=0)) > most
    explained = explainer.set_params(lipschitz=0.25).explain(rows)
    cells = cells_of(model, X.min(axis=0), X.max(axis=0))
    alone = [[((np.clip(x, *c) - x) ** 2).sum() for c in cells] for x in rows]
    pairs = [
        (a + b, i, k) for i, a in enumerate(alone[0]) for k, b in enumerate(alone[1])
    ]
    best = np.inf
    for least, i, k in sorted(pairs):
        if least >= best:
            break
        best = min(best, paid_within(rows, cells[i], cells[k], most))
    assert explained.details.objective == pytest.approx(best, rel=1e-5)
    assert explained.details.lower_bound == pytest.approx(best, rel=1e-5)
    apart = np.linalg.norm(np.diff(explained.counterfactuals, axis=0))
    assert apart <= most * (1 + 1e-6)


def test_continuous_means_of_a_linear_model():
    random = np.random.default_rng(3)
    X = random.random((80, 3))
    model = LogisticRegression(C=10).fit(X, X @ [1.0, 2.0, -1.0] > 1.0)
    rows = X[~model.predict(X)][:3]
    cost = Cost(l1=0.0, l2=1.0, scale="none", average=False)
    explainer = OneForOneExplainer(
        FrozenEstimator(model),
        target=True,
        cost=cost,
        resolution=None,
        mean_threshold=0.8,
        mean_bounds={1: (None, 0.5)},
    ).fit(X)
    explained = explainer.explain(rows)
    w, b = model.coef_[0], model.intercept_[0]

    def share(v):
        return 1 / (1 + np.exp(-(v.reshape(3, 3) @ w + b)))

    found = minimize(
        lambda v: ((v - rows.ravel()) ** 2).sum(),
        np.tile([0.9, 0.5, 0.1], 3),
        bounds=list(zip(X.min(axis=0), X.max(axis=0), strict=True)) * 3,
        constraints=[
            {"type": "ineq", "fun": lambda v: share(v) - 0.5},
            {"type": "ineq", "fun": lambda v: share(v).mean() - 0.8},
            {"type": "ineq", "fun": lambda v: 0.5 - v.reshape(3, 3)[:, 1].mean()},
        ],
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    assert found.success
    assert explained.details.objective == pytest.approx(found.fun, rel=1e-4)
    assert explained.optimal.all()
    after = explained.counterfactuals
    assert model.predict_proba(after)[:, 1].mean() >= 0.8
    assert after[:, 1].mean() <= 0.5 + 1e-9


@pytest.mark.parametrize(
    "bounds, message",
    [
        ([(0, 1)], "must be a mapping"),
        ({"c": (0, 1)}, "'c', which is none of"),
        ({"a": (0, "x")}, r"mean_bounds\['a'\] must be a pair"),
        ({"a": 3}, r"mean_bounds\['a'\] must be a pair"),
        ({"a": (2, 1)}, "low 2.0 is above high 1.0"),
        ({"b": (0, 1)}, r"mean_bounds\['b'\]: the column has to be numeric"),
    ],
)
def test_bounds_that_make_no_sense_are_refused_by_column(bounds, message):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": ["u", "v", "u", "v"]})
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier())
    with pytest.raises(ValueError, match=message):
        OneForOneExplainer(model, mean_bounds=bounds).fit(X, [0, 1, 0, 1])


def test_models_without_a_probability_that_adds_up_are_refused():
    X, y = table(0)
    three = np.digitize(X.sum(axis=1), [3, 6])
    with pytest.raises(ValueError, match="regressor is an interval"):
        OneForOneExplainer(LinearRegression(), target=(0, 1), mean_threshold=0.6).fit(
            X, y
        )
    with pytest.raises(ValueError, match="needs an estimator with predict_proba"):
        OneForOneExplainer(LinearSVC(), mean_threshold=0.6).fit(X, y)
    with pytest.raises(ValueError, match="mean_threshold takes"):
        OneForOneExplainer(LogisticRegression(), mean_threshold=0.6).fit(X, three)
    forest = RandomForestClassifier(3, random_state=0)
    explainer = OneForOneExplainer(forest, mean_threshold=0.6).fit(X, three)
    with pytest.raises(ValueError, match="name the class"):
        explainer.explain(X[:2])
    assert len(explainer.explain(X[:2], target=2).row)
