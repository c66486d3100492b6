"""Checks of the clauses that bind every explainer."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from io import StringIO

import numpy as np
from joblib import parallel_config
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

from skcf import STATUSES, Explanation
from skcf.exceptions import CounterfactualNotFoundWarning
from skcf.testing._tables import is_frame, labels, library, same, schema, take
from skcf.testing._verdict import ensure, heard, quiet, refuses

MISSED = ("infeasible", "not_found", "budget")


def check_init_sets_parameters_alone(setting):
    """Check that __init__ sets the parameters alone, and fit changes none."""
    explainer = setting.new()
    given = explainer.get_params(deep=False)
    extra = sorted(set(vars(explainer)) - set(given))
    ensure(not extra, 1, f"__init__ sets {extra}, which are no parameters.")
    before = {name: repr(value) for name, value in given.items()}
    with quiet():
        returned = explainer.fit(setting.X, setting.y)
    ensure(returned is explainer, 1, f"fit returned {returned!r} instead of self.")
    for name, value in explainer.get_params(deep=False).items():
        kept = value is given[name] and repr(value) == before[name]
        ensure(kept, 1, f"fit changed the parameter {name} to {value!r}.")


def check_nothing_is_set_outside_fit(setting):
    """Check that the verbs leave the fitted explainer as it is."""
    explainer = setting.fitted()
    ensure(
        getattr(explainer, "n_features_in_", None) == setting.X.shape[1],
        1,
        "n_features_in_ should be the number of columns seen in fit.",
    )
    if is_frame(setting.X):
        names = list(getattr(explainer, "feature_names_in_", ()))
        expected = list(setting.X.columns)
        ensure(names == expected, 1, f"feature_names_in_ is {names}, not {expected}.")
    before = dict(vars(explainer))
    with quiet():
        explainer.transform(setting.queries)
        explainer.explain(setting.queries)
        explainer.score(setting.queries)
    changed = {k for k, v in vars(explainer).items() if before.get(k, ...) is not v}
    changed |= set(before) - set(vars(explainer))
    ensure(not changed, 1, f"transform, explain or score set {sorted(changed)}.")


def check_refused_in_fit(setting):
    """Check that sparse tables and lazy frames are refused by name."""
    flat = np.ones((len(setting.X), 2))
    refuses(
        1, "sparse X", lambda: setting.new().fit(csr_matrix(flat), setting.y), "sparse"
    )
    polars = library("polars")
    if polars is not None:
        lazy = polars.DataFrame(flat).lazy()
        refuses(
            1, "a LazyFrame", lambda: setting.new().fit(lazy, setting.y), "LazyFrame"
        )


def check_transform_keeps_the_table(setting):
    """Check that a row comes out for a row in, in the table of the query."""
    explainer = setting.fitted()
    with quiet():
        X_cf = explainer.transform(setting.queries)
        explanation = explainer.explain(setting.queries)
    got, expected = schema(X_cf), schema(setting.queries)
    ensure(got == expected, 3, f"transform returned {got} for {expected}.")
    same_index = labels(X_cf) == labels(setting.queries)
    ensure(same_index, 3, f"the index became {labels(X_cf)}.")
    ensure(len(X_cf) == len(setting.queries), 3, f"{len(X_cf)} rows came back.")
    for i, status in enumerate(explanation.status):
        kept = same(take(X_cf, [i]), take(setting.queries, [i]))
        ensure(
            kept != (status == "found"),
            3,
            f"row {i} is {status!r} and {'unchanged' if kept else 'changed'}.",
        )
    best = np.flatnonzero(explanation.rank == 0)
    ensure(
        same(
            take(X_cf, explanation.row[best]), take(explanation.counterfactuals, best)
        ),
        3,
        "transform does not return the counterfactuals of rank 0.",
    )


def check_one_warning_with_counts(setting):
    """Check that a call warns once of rows that were not found, with counts."""
    explainer = setting.fitted()
    ensure_one_warning(explainer, setting.queries)


def ensure_one_warning(explainer, queries):
    """Check the warnings of one transform against the statuses of explain."""
    with quiet():
        status = explainer.explain(queries).status.tolist()
    with heard() as caught:
        explainer.transform(queries)
    told = [w for w in caught if issubclass(w.category, CounterfactualNotFoundWarning)]
    missed = {s: status.count(s) for s in MISSED if s in status}
    ensure(
        len(told) == bool(missed),
        3,
        f"{len(told)} warnings for rows with the statuses {missed}.",
    )
    for name, count in missed.items():
        said = f"{count} {name}" in str(told[0].message)
        ensure(said, 3, f"the warning does not say '{count} {name}': {told[0].message}")


def check_explanation(setting):
    """Check that an explanation is complete and agrees with itself."""
    explainer = setting.fitted()
    with quiet():
        one = explainer.explain(setting.queries, n_counterfactuals=1)
        more = explainer.explain(setting.queries, n_counterfactuals=3)
    for explanation, most in ((one, 1), (more, 3)):
        ensure(
            isinstance(explanation, Explanation), 7, f"explain gave {explanation!r}."
        )
        ensure(
            explanation.rank.max(initial=0) < most, 7, "more answers than asked for."
        )
        unknown = set(explanation.status.tolist()) - set(STATUSES)
        ensure(not unknown, 7, f"unknown statuses {unknown}.")
        good = np.isfinite(explanation.cost) & (explanation.cost >= 0)
        ensure(good.all(), 7, f"costs should be finite, at least 0: {explanation.cost}")
        ensure((explanation.n_changed > 0).all(), 7, "an answer changes nothing.")
        bound = np.nan_to_num(explanation.lower_bound[explanation.row], nan=-np.inf)
        low = bound <= explanation.cost + 1e-9
        ensure(low.all(), 7, f"costs {explanation.cost} below the bounds {bound}.")
        for name in ("n_calls", "n_rows", "seconds"):
            ensure(name in explanation.details, 7, f"details lack {name!r}.")
        _ensure_distinct(explanation)
    firsts = [take(e.counterfactuals, np.flatnonzero(e.rank == 0)) for e in (one, more)]
    ensure(same(*firsts), 3, "rank 0 depends on n_counterfactuals.")


def _ensure_distinct(explanation):
    table = explanation.counterfactuals
    for i in np.unique(explanation.row):
        at = np.flatnonzero(explanation.row == i)
        for j, one in enumerate(at):
            twice = any(same(take(table, [one]), take(table, [k])) for k in at[:j])
            ensure(not twice, 7, f"a counterfactual of row {i} is given twice.")


def check_repeated_calls(setting):
    """Check that calls, copies, pickles and fits can be repeated."""
    explainer = setting.fitted()
    with quiet():
        first = explainer.transform(setting.queries)
        others = {
            "a second call": explainer,
            "a copy": copy.deepcopy(explainer),
            "a pickle": pickle.loads(pickle.dumps(explainer)),
            "a second fit": setting.fitted(),
            "a fit of the fitted": explainer.fit(setting.X, setting.y),
        }
        for what, other in others.items():
            equal = same(first, other.transform(setting.queries))
            ensure(equal, 8, f"{what} gives other answers.")


def check_rows_alone(setting):
    """Check that the answer of a row depends on nothing but the row."""
    explainer = setting.fitted()
    rows = np.arange(len(setting.queries))
    with quiet():
        together = explainer.transform(setting.queries)
        back = explainer.transform(take(setting.queries, rows[::-1]))
        for i in rows:
            alone = explainer.transform(take(setting.queries, [i]))
            expected = take(together, [i])
            ensure(same(alone, expected), 8, f"row {i} has another answer alone.")
            turned = take(back, [len(rows) - 1 - i])
            ensure(same(turned, expected), 8, f"row {i} has another when permuted.")


def check_two_jobs(setting):
    """Check that two jobs, or two threads at once, change no answer."""
    explainer = setting.fitted()
    with quiet():
        one = explainer.transform(setting.queries)
        explainer.set_params(n_jobs=2)
        with parallel_config(backend="threading"):
            two = explainer.transform(setting.queries)
        explainer.set_params(n_jobs=None)
        with ThreadPoolExecutor(2) as pool:
            at_once = list(pool.map(explainer.transform, [setting.queries] * 2))
    ensure(same(one, two), 11, "n_jobs=2 gives other answers.")
    for other in at_once:
        ensure(same(one, other), 11, "two calls at once disturb each other.")


def check_score(setting):
    """Check that a score is a number between 0 and 1, with or without y."""
    explainer = setting.fitted()
    with quiet():
        score = explainer.score(setting.queries)
        other = explainer.score(setting.queries, None)
        status = explainer.explain(setting.queries).status
    ensure(isinstance(score, float), 10, f"score returned {type(score).__name__}.")
    ensure(0.0 <= score <= 1.0, 10, f"score is {score}.")
    ensure(score == other, 10, "score depends on y.")
    counted = status != "already"
    most = (status[counted] == "found").mean() if counted.any() else 1.0
    ensure(
        score <= most + 1e-12, 10, f"score is {score} with {most} of the rows found."
    )


def check_nothing_is_printed(setting):
    """Check that nothing goes to stdout, nor to stderr without verbose."""
    for verbose in (0, 1):
        explainer, err = setting.new(verbose=verbose), StringIO()
        with quiet() as out, redirect_stderr(err):
            explainer.fit(setting.X, setting.y).transform(setting.queries)
        printed = out.getvalue()
        ensure(not printed, 12, f"verbose={verbose} prints to stdout: {printed!r}")
        silent = verbose or not err.getvalue()
        ensure(silent, 12, f"without verbose, stderr gets {err.getvalue()!r}")


def check_refused_calls(setting):
    """Check that calls that make no sense raise errors that say why."""
    explainer, X = setting.fitted(), setting.queries
    refuses(13, "no rows", lambda: explainer.transform(X[:0]), "0 sample")
    refuses(
        13,
        "transform before fit",
        lambda: setting.new().transform(X),
        kind=NotFittedError,
    )
    for k in (0, -1, 1.5, True):
        refuses(
            13,
            f"n_counterfactuals={k}",
            lambda k=k: explainer.explain(X, n_counterfactuals=k),
            "n_counterfactuals",
            repr(k),
        )
    if not is_frame(X):
        refuses(
            13, "a missing column", lambda: explainer.transform(X[:, :-1]), "features"
        )


def check_refused_columns(setting):
    """Check that missing, extra and permuted columns are named."""
    if not is_frame(setting.X):
        return
    explainer, X = setting.fitted(), setting.queries
    names = list(X.columns)
    refuses(
        13, "a missing column", lambda: explainer.transform(X[names[:-1]]), names[-1]
    )
    extra = _with_column(X, "surplus")
    refuses(13, "an extra column", lambda: explainer.transform(extra), "surplus")
    refuses(
        13, "permuted columns", lambda: explainer.transform(X[names[::-1]]), "order"
    )


def _with_column(X, name):
    frame = X.clone() if hasattr(X, "clone") else X.copy()
    if hasattr(frame, "with_columns"):
        return frame.with_columns(frame.to_series(0).alias(name))
    frame[name] = frame.iloc[:, 0]
    return frame


def check_time_limit(setting):
    """Check that a call with a time limit returns."""
    ensure_returns(setting.fitted(time_limit=0.5), setting.queries, 0.5)


def ensure_returns(explainer, queries, limit):
    """Check that a call comes back, twice the limit and a second being generous."""
    start = time.monotonic()
    with quiet():
        explainer.explain(queries)
    seconds = time.monotonic() - start
    late = seconds > 2 * limit + 1
    ensure(not late, 9, f"a call with time_limit={limit} took {seconds:.1f} seconds.")
