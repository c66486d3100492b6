"""Answers are chosen so that they are distinct, apart, and different ways out."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from skcf._search import diverse
from skcf.constraints import fixed
from skcf.tabular import (
    CERTIFAIExplainer,
    DiverseExplainer,
    GeCoExplainer,
    GreedyExplainer,
    MACEExplainer,
    NearestUnlikeExplainer,
    OptimalExplainer,
    SHAPOrderExplainer,
    SimCFExplainer,
)

FEW = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def naive(row, kind, place, k, apart):
    """Choose one after another, by the words of the docstring."""
    out = []
    for query in sorted(set(row)):
        mine, taken = [i for i in range(len(row)) if row[i] == query], []
        while len(taken) < k:
            open_ = [
                i
                for i in mine
                if i not in taken
                and (
                    apart is None
                    or all(abs(place[i] - place[t]) >= apart for t in taken)
                )
            ]
            if not open_:
                break
            new = [i for i in open_ if kind[i] not in {kind[t] for t in taken}]
            taken.append((new or open_)[0])
        out += taken
    return out


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 12))),
    st.integers(1, 5),
    st.sampled_from([None, 0, 1, 3, 7]),
)
def test_the_choice_is_that_of_a_loop(entries, k, apart):
    row, kind, place = np.array(sorted(entries), dtype=int).reshape(-1, 3).T
    at = diverse(row, kind, k, lambda a, b: np.abs(place[a] - place[b]), apart)
    assert at.tolist() == naive(row, kind, place, k, apart)


def table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 20, (n, 4)), columns=list("abcd"))
    X["job"] = rng.choice(["cook", "nurse", "pilot"], n)
    score = X["a"] + X["b"] - X["c"] + 8 * (X["job"] == "pilot")
    return X, (score > np.quantile(score, 0.6)).astype(int)


X, Y = table()
NUMBERS = X.assign(job=X["job"].map({"cook": 0, "nurse": 1, "pilot": 2}))
SMALL = {"epochs": 4, "batch_size": 20, "n_samples": 20, "n_steps": 4}
EXPLAINERS = {
    "certifai": CERTIFAIExplainer,
    "diverse": DiverseExplainer,
    "geco": GeCoExplainer,
    "greedy": GreedyExplainer,
    "mace": lambda model, **rest: MACEExplainer(model, **SMALL, **rest),
    "optimal": OptimalExplainer,
    "simcf": SimCFExplainer,
    "unlike": NearestUnlikeExplainer,
}
if find_spec("shap"):
    EXPLAINERS["shap"] = SHAPOrderExplainer


def fitted(name):
    model = RandomForestClassifier(5, max_depth=5, random_state=0)
    explainer = EXPLAINERS[name](
        model, categorical_features=["job"], constraints=fixed("d"), random_state=0
    )
    return explainer.fit(NUMBERS, Y)


FITTED = {name: fitted(name) for name in EXPLAINERS}


def gower(a, b):
    spread = np.ptp(NUMBERS.to_numpy(), axis=0)
    d = np.abs(a - b) / spread
    d[4] = a[4] != b[4]
    return d.mean()


def ranking(explainer, told, row):
    """Return what the answers to a query are sorted by."""
    cost, n_changed = told.cost[told.row == row], told.n_changed[told.row == row]
    # Further changes have to save their share.
    saving = explainer.get_params().get("min_saving", 0.0)
    return cost / (1 - saving) ** (n_changed - 1)


@pytest.mark.parametrize("name", EXPLAINERS)
@pytest.mark.parametrize("k, apart", [(2, None), (6, None), (3, 0.05), (6, 0.15)])
@pytest.mark.filterwarnings("ignore::skcf.exceptions.CounterfactualNotFoundWarning")
def test_answers_are_distinct_and_apart_and_different_ways_come_first(name, k, apart):
    queries = NUMBERS.iloc[:8]
    explainer = FITTED[name]
    told = explainer.explain(queries, n_counterfactuals=k, min_distance=apart)
    best = explainer.explain(queries)
    assert len(best.row) and np.array_equal(np.unique(told.row), best.row)
    assert apart is not None or (np.bincount(told.row) > 1).any()
    for i, x in enumerate(queries.to_numpy()):
        answers = told.counterfactuals[told.row == i].to_numpy()
        worth = ranking(explainer, told, i)
        assert len(answers) <= k
        one = best.counterfactuals[best.row == i].to_numpy()
        assert (answers[:1] == one).all()
        sets = [frozenset(np.flatnonzero(cf != x)) for cf in answers]
        for n, cf in enumerate(answers):
            for other in answers[:n]:
                assert (cf != other).any()
                assert apart is None or gower(cf, other) >= apart - 1e-9
        again = np.array([s in sets[:n] for n, s in enumerate(sets)], dtype=bool)
        if apart is None:
            assert (np.diff(again.astype(int)) >= 0).all()
        for part in (worth[~again], worth[again]):
            assert (np.diff(part) >= -1e-9).all()
    valid = explainer.estimator_.predict(told.counterfactuals)
    assert (valid != told.prediction_before[told.row]).all()


def test_all_training_rows_there_are_that_far_apart():
    # Numbers on a line, so that one can say how many fit.
    line = np.arange(41.0)[:, None]
    model = RandomForestClassifier(5, random_state=0)
    explainer = NearestUnlikeExplainer(model).fit(line, line[:, 0] >= 20)
    said = explainer.estimator_.predict(line)
    told = explainer.explain([[0.0]], n_counterfactuals=50, min_distance=5 / 40 - 1e-9)
    first = np.flatnonzero(said != said[0])[0]
    assert told.counterfactuals[:, 0].tolist() == list(np.arange(first, 41, 5.0))


@pytest.mark.parametrize("name", ["geco", "mace"])
def test_more_answers_than_change_sets_where_there_are_more_values(name):
    told = FITTED[name].explain(NUMBERS.iloc[:10], n_counterfactuals=40)
    x = NUMBERS.to_numpy()[told.row]
    sets = (told.counterfactuals.to_numpy() != x) @ (1 << np.arange(5))
    n_sets = [len(np.unique(sets[told.row == i])) for i in range(10)]
    assert (np.bincount(told.row) >= n_sets).all()
    assert np.bincount(told.row).sum() > np.sum(n_sets)


@pytest.mark.parametrize("distance", [-0.1, np.inf, "far", True])
def test_a_distance_that_is_none(distance):
    with pytest.raises(ValueError, match="min_distance"):
        FITTED["geco"].explain(NUMBERS.iloc[:2], min_distance=distance)
