"""Tests of the comparison of explainers."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from skcf._explanation._cells import take
from skcf.constraints import fixed, increasing
from skcf.dea import DEATargetExplainer
from skcf.metrics import (
    compare,
    diversity,
    plausibility,
    proximity,
    redundancy,
    sparsity,
    stability,
    violations,
)
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
from skcf.timeseries import NearestUnlikeSeriesExplainer
from tests._measures.mixed import LIBRARIES, columns_of, fitted, rules_of
from tests.lending import MODEL, REFUSED, squares
from tests.lending import X as LOANS
from tests.lending import fitted as lending

FIRST = ["method", "n_queries", "found", "already", "infeasible", "not_found", "budget"]
FIRST += ["coverage", "validity", "n_averaged", "sparsity", "gower", "mace", "geco"]
FIRST += ["redundancy", "violations"]
LAST = ["seconds", "n_calls", "n_rows"]
HARD = "cf.salary <= x.salary + 3 and cf.school == x.school"
TYPES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "numpy": dict}


def column(comparison, name):
    return list(comparison[name])


@pytest.mark.parametrize("library", LIBRARIES)
def test_against_the_metrics_one_by_one(library):
    geco, X, _ = fitted(library)
    nearest, *_ = fitted(library, NearestUnlikeExplainer)
    queries = X[:12]
    told = compare(
        {"geco": geco, "nearest": nearest},
        queries,
        n_counterfactuals=2,
        reference=X,
        n_repeats=2,
        random_state=0,
    )
    assert isinstance(told, TYPES[library])
    more = ["diversity", "plausibility", "lof", "stability"]
    assert list(told.keys() if library == "numpy" else told.columns) == [
        *FIRST,
        *more,
        *LAST,
    ]
    assert column(told, "method") == ["geco", "nearest"]
    for k, explainer in enumerate([geco, nearest]):
        expected = one_by_one(explainer, queries, X, library)
        for name, value in expected.items():
            assert column(told, name)[k] == pytest.approx(value, rel=1e-12), name
        assert column(told, "seconds")[k] > 0 and column(told, "n_rows")[k] >= 12


def one_by_one(explainer, queries, X, library):
    e = explainer.explain(queries, n_counterfactuals=2)
    options = {
        "constraints": rules_of(library),
        "categorical_features": columns_of(library),
        "reference": X,
        "sample_wise": True,
    }
    pairs = {"X": take(e.queries, e.row), "X_cf": e.counterfactuals, **options}
    each = {
        "sparsity": sparsity(**pairs),
        "gower": proximity(**pairs),
        "mace": proximity(cost="mace", **pairs),
        "geco": proximity(cost="geco", **pairs),
        "redundancy": redundancy(estimator=explainer.estimator_, **pairs),
        "violations": violations(**pairs),
        "plausibility": plausibility(**pairs),
        "lof": plausibility(method="lof", **pairs),
    }
    n_answers = np.bincount(e.row)
    means = {
        name: (np.bincount(e.row, values) / n_answers).mean()
        for name, values in each.items()
    }
    best = dict(zip(("X", "X_cf"), e.pairs(), strict=True))
    return means | {
        "found": 12,
        "coverage": 1.0,
        "validity": 1.0,
        "n_averaged": 12,
        "diversity": np.nanmean(diversity(row=e.row, **pairs)),
        "stability": stability(
            explainer=explainer, reference=X, n_repeats=2, random_state=0, **best
        ),
    }


def test_failures_are_apart():
    strict = lending(NearestUnlikeExplainer, constraints=HARD)
    free = lending(NearestUnlikeExplainer)
    queries = pd.concat([REFUSED[:40], LOANS[MODEL.predict(LOANS) == "granted"][:3]])
    told = compare({"free": free, "strict": strict}, queries, target="granted")
    e = strict.explain(queries, target="granted")
    missed = int((e.status == "not_found").sum())
    assert 0 < missed < 40
    assert told["already"].tolist() == [3, 3]
    assert told["found"].tolist() == [40, 40 - missed]
    assert told["not_found"].tolist() == [0, missed]
    assert told["coverage"].tolist() == [1.0, 1 - missed / 40]
    assert told["validity"].tolist() == [1.0, 1 - missed / 40]
    assert told["n_averaged"].tolist() == [40, 40 - missed]
    common = compare([free, strict], queries, target="granted", on="common")
    assert common["n_averaged"].tolist() == [40 - missed] * 2
    assert common["coverage"].tolist() == told["coverage"].tolist()
    assert common["gower"][1] == told["gower"][1]
    own = free.explain(queries, target="granted")
    at = np.isin(own.row, e.row)
    assert common["gower"][0] == pytest.approx(own.cost[at].mean(), rel=1e-12)


def test_nothing_found():
    shut = lending(NearestUnlikeExplainer, constraints="cf.years >= x.years + 99")
    told = compare([shut], REFUSED[:3], reference=LOANS)
    assert told["infeasible"].tolist() == [3]
    assert told["validity"].tolist() == told["coverage"].tolist() == [0.0]
    averages = ["sparsity", "gower", "redundancy", "violations", "lof"]
    assert told[averages].isna().all(axis=None)


def test_rules_that_an_explainer_was_not_given():
    free = lending(NearestUnlikeExplainer)
    bound = lending(NearestUnlikeExplainer, constraints=increasing("years"))
    told = compare([free, bound], REFUSED[:20])
    assert told["violations"].tolist() == [0, 0]
    rules = [increasing("years"), fixed("school")]
    told = compare([free, bound], REFUSED[:20], constraints=rules, reference=LOANS)
    for k, explainer in enumerate([free, bound]):
        x, x_cf = explainer.explain(REFUSED[:20]).pairs()
        expected = violations(x, x_cf, constraints=rules, reference=LOANS)
        assert told["violations"][k] == expected
    assert told["violations"][0] > 0


def test_names():
    free, other = lending(NearestUnlikeExplainer), lending(NearestUnlikeExplainer)
    geco = lending(GeCoExplainer, max_generations=0)
    told = compare([free, geco, other], REFUSED[:2])
    assert told["method"].tolist() == [
        "NearestUnlikeExplainer 1",
        "GeCoExplainer",
        "NearestUnlikeExplainer 2",
    ]
    assert "plausibility" not in told and "diversity" not in told


def test_pipelines_and_searches():
    X, y = squares(80)
    plain = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    scaled = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        NearestUnlikeExplainer(LogisticRegression()),
    ).fit(X, y)
    search = GridSearchCV(scaled, {"nearestunlikeexplainer__cost": ["gower"]}, cv=2)
    search.fit(X, y)
    told = compare([plain, scaled, search], X[:10], reference=X)
    assert told["method"].tolist() == [f"NearestUnlikeExplainer {k}" for k in (1, 2, 3)]
    # The Gower distance does not depend on the units.
    scaled_e = scaled[-1].explain(scaled[:-1].transform(X[:10]))
    assert told["gower"][1] == told["gower"][2] == scaled_e.cost.mean()
    np.testing.assert_allclose(told["plausibility"][1], told["plausibility"][2])


BY_ROW = [(1.205, None), (None, 0.305), (0.895, 1.005)]


@pytest.mark.parametrize("target", [(1.2, None), BY_ROW])
def test_regressor(target):
    X, _ = squares(80)
    line = LinearRegression().fit(X, X["p"] + X["q"])
    explainer = GeCoExplainer(
        FrozenEstimator(line), target=(1.2, None), max_generations=2, random_state=0
    ).fit(X)
    queries = X[X["p"] + X["q"] < 0.8][:3]
    told = compare(
        [explainer], queries, target=target, reference=X, n_repeats=2, random_state=0
    )
    assert told["found"][0] == 3 and told["validity"][0] == 1.0
    assert told["redundancy"][0] == 0.0
    assert 0.5 < told["stability"][0] <= 1


def test_targets_by_row_with_failures():
    X, y = squares(80)
    explainer = NearestUnlikeExplainer(LogisticRegression()).fit(X, y)
    target = 1 - explainer.estimator_.predict(X[:6])
    target[2] = 1 - target[2]
    told = compare(
        [explainer],
        X[:6],
        target=target,
        reference=X,
        n_repeats=1,
        random_state=0,
    )
    assert told["already"].tolist() == [1] and told["found"].tolist() == [5]
    assert told["validity"].tolist() == [1.0]


def test_series_have_no_columns_to_compare():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6, 2))
    y = (X[:, :3, 0].mean(axis=1) > 0).astype(int)
    flat = FunctionTransformer(lambda X: np.reshape(X, (len(X), -1)))
    model = make_pipeline(flat, LogisticRegression())
    explainer = NearestUnlikeSeriesExplainer(model).fit(X, y)
    told = compare([explainer], X[:5], reference=X, n_repeats=1)
    assert told["coverage"] == told["validity"] == [1.0]
    assert told["sparsity"] == explainer.explain(X[:5]).n_changed.mean()
    for name in ("gower", "redundancy", "violations", "plausibility", "stability"):
        assert np.isnan(told[name]).all()


def test_plans_have_costs_but_no_model():
    X = pd.DataFrame(
        {"a": [0.5, 1.5, 1.75, 2.5], "b": [1, 0.5, 1.25, 1.25], "out": [1.0] * 4}
    )
    explainer = DEATargetExplainer(inputs=["a", "b"], outputs=["out"]).fit(X)
    told = compare([explainer], X, reference=X, n_repeats=1)
    assert told["already"].tolist() == told["found"].tolist() == [2]
    x, x_cf = explainer.explain(X).pairs()
    assert told["gower"].tolist() == [proximity(x, x_cf, reference=X)]
    assert told[["redundancy", "stability"]].isna().all(axis=None)


def test_arrays_need_no_frame_library():
    code = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in ("pandas", "polars", "matplotlib"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
import numpy as np
from sklearn.linear_model import LogisticRegression
from skcf.metrics import compare, feature_importance
from skcf.tabular import NearestUnlikeExplainer
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
explainer = NearestUnlikeExplainer(LogisticRegression()).fit(X, [0, 0, 1, 1])
print(compare([explainer], X, reference=X)["found"].tolist())
print(feature_importance(explainer.explain(X))["feature"].tolist())
"""
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["[4]", "['x0', 'x1']"]


def test_what_does_not_fit():
    free = lending(NearestUnlikeExplainer)
    with pytest.raises(ValueError, match="no explainer"):
        compare([], REFUSED[:2])
    with pytest.raises(ValueError, match='on must be "found" or "common"'):
        compare([free], REFUSED[:2], on="all")
    with pytest.raises(ValueError, match="constraints need reference"):
        compare([free], REFUSED[:2], constraints=fixed("years"))
    with pytest.raises(ValueError, match="n_repeats need reference"):
        compare([free], REFUSED[:2], n_repeats=2)
