"""What is found is true, whatever the table, the rules and the model."""

import joblib
import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from skcf.exceptions import CounterfactualNotFoundWarning, InfeasibleConstraintError
from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
from tests.random_cases import MODELS, cases, plain_rows

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{CounterfactualNotFoundWarning.__module__}.CounterfactualNotFoundWarning",
    "ignore:Found unknown categories:UserWarning",
    "ignore:Skipping features without any observed values:UserWarning",
    # Threads of scikit-learn see one another's warning filters.
    "ignore:.sklearn.utils.parallel.delayed:UserWarning",
)
QUICK = [name for name in MODELS if name != "hist"]
SMALL = {"q": 15, "k": 3, "m_init": 4, "max_generations": 3, "random_state": 0}
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def fitted(explainer, case):
    """Return a fitted explainer of a case, None if its rules cannot all hold."""
    note(f"rules: {case.rules}, target: {case.target}, threshold: {case.threshold}")
    explainer.set_params(
        constraints=case.rules, target=case.target, threshold=case.threshold
    )
    try:
        return explainer.fit(case.X, case.y)
    except InfeasibleConstraintError:
        return None
    except ValueError as error:
        if "No training row is predicted" in str(error):
            return None
        raise


def assert_right(explainer, case):
    """Judge everything that an explainer says of a case."""
    explanation = explainer.explain(case.queries, n_counterfactuals=2)
    model, found = explainer.estimator_, explanation.counterfactuals
    before = model.predict(case.queries)
    assert (explanation.prediction_before == before).all()
    rows, answers = plain_rows(case.queries), plain_rows(found)
    in_batch = reached(case, model, found, before[explanation.row])
    assert in_batch.all()
    for i, row in enumerate(explanation.row):
        alone = found[int(i) : int(i) + 1]
        assert reached(case, model, alone, before[[row]]).all()
        x, cf = rows[row], answers[i]
        for text, holds in zip(case.rules, case.holds, strict=True):
            assert holds(x, cf), f"{text}: {x} -> {cf}"
        for name, column in case.columns.items():
            changed = cf[name] != x[name]
            assert not changed or possible(case, column, cf[name]), (
                f"{name}: {x} -> {cf}"
            )
    inside = reached(case, model, case.queries, before) & (case.target != "opposite")
    assert ((explanation.status == "already") == inside).all()
    for row in np.flatnonzero(explanation.status == "infeasible"):
        assert_no_way_out(case, rows[row])


def reached(case, model, table, before):
    """Tell which rows are in the target; `before` are the predictions to leave."""
    if not len(table):
        return np.ones(0, dtype=bool)
    prediction = model.predict(table)
    if isinstance(case.target, tuple):
        low, high = case.target
        return (low <= prediction) & (prediction <= (np.inf if high is None else high))
    opposite = case.target == "opposite"
    inside = prediction != before if opposite else prediction == case.target
    if case.threshold is None:
        return inside
    at = np.searchsorted(model.classes_, before if opposite else [case.target])
    probability = model.predict_proba(table)[np.arange(len(table)), at]
    return inside & ((1 - probability if opposite else probability) >= case.threshold)


def possible(case, column, value):
    """Tell whether a column may take a value."""
    if column.kind not in ("int", "whole", "float"):
        return value in column.known
    low, high = case.ranges.get(column.name, (-np.inf, np.inf))
    declared = column.name in case.ranges
    low = low if declared else min(column.known)
    high = high if declared else max(column.known)
    return low <= value <= high and round(value, column.decimals) == value


def assert_no_way_out(case, x):
    """Look for a point that keeps all rules, where there is said to be none."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        cf = dict(x)
        for name in rng.choice(list(case.columns), size=rng.integers(1, 3)):
            known = case.columns[name].known
            cf[name] = known[rng.integers(len(known))]
        different = any(cf[name] != x[name] for name in x)
        assert not (different and all(holds(x, cf) for holds in case.holds)), (
            f"{x} may become {cf} by {case.rules}"
        )


def assert_by_row(explainer, queries):
    """Check container and dtypes, and that rows get the same answers any way."""
    cf = explainer.transform(queries)
    assert type(cf) is type(queries)
    if isinstance(queries, np.ndarray):
        assert cf.dtype == queries.dtype
    else:
        assert list(cf.columns) == list(queries.columns)
        assert list(cf.dtypes) == list(queries.dtypes)
    if hasattr(queries, "index"):
        assert (cf.index == queries.index).all()
    for i in range(0, len(queries), 2):
        assert equal(explainer.transform(queries[i : i + 1]), cf[i : i + 1])
    explainer.set_params(n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        assert equal(explainer.transform(queries), cf)
    explainer.set_params(n_jobs=None)


def equal(a, b):
    """Tell whether two tables are equal; missing cells equal missing ones."""
    if isinstance(a, np.ndarray):
        return plain_rows(a) == plain_rows(b)
    return a.equals(b)


def judge(explainer, case):
    """Fit an explainer, and judge its answers to a case."""
    explainer = fitted(explainer, case)
    if explainer is not None:
        assert_right(explainer, case)
        assert_by_row(explainer, case.queries)


@FEW
@given(cases(models=QUICK))
def test_genetic(case):
    judge(GeCoExplainer(case.model, **SMALL), case)


@settings(FEW, max_examples=8)
@given(cases(models=["hist"]))
def test_genetic_where_the_model_takes_missing_values(case):
    # The threads of one row wait longer for one another than they work.
    with threadpool_limits(1):
        judge(GeCoExplainer(case.model, **SMALL), case)


@FEW
@given(cases(models=QUICK))
def test_nearest_unlike(case):
    judge(NearestUnlikeExplainer(case.model), case)


@pytest.mark.parametrize(
    "model",
    [MLPClassifier((8,), max_iter=30, random_state=0), LogisticRegression()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_answers_at_the_boundary_stay_valid_in_other_batches(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = (X.sum(axis=1) + X[:, 0] * X[:, 1] > 0).astype(int)
    explainer = GeCoExplainer(
        model, resolution=None, q=15, k=2, m_init=5, max_generations=2, random_state=0
    ).fit(X, y)
    queries = X[:40]
    explanation = explainer.explain(queries)
    found, told = explanation.counterfactuals, explanation.prediction
    predict = explainer.estimator_.predict
    assert len(found) > 30
    np.testing.assert_array_equal(predict(found), told)
    for size in (1, 2, 3, 7):
        parts = [predict(found[i : i + size]) for i in range(0, len(found), size)]
        np.testing.assert_array_equal(np.concatenate(parts), told)
    for other in (found[::-1], found[rng.permutation(len(found))], X):
        mixed = np.vstack([other, found])
        np.testing.assert_array_equal(predict(mixed)[len(other) :], told)
    # They lie on the boundary, where floats alone would decide.
    lead = np.abs(np.diff(explainer.estimator_.predict_proba(found))).ravel()
    assert np.median(lead) < 1e-3 and (lead > 1e-9).all()
