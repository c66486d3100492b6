"""Checks of the clauses that bind explainers of rows of a table."""

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import get_tags

from skcf.constraints import fixed, only, together, within
from skcf.exceptions import InfeasibleConstraintError, UnsupportedConstraintError
from skcf.testing._base_checks import ensure_one_warning
from skcf.testing._setting import Setting
from skcf.testing._tables import (
    COLUMNS,
    GRADES,
    UNSEEN_JOB,
    cells,
    containers,
    labels,
    mixed_columns,
    same,
    schema,
    take,
)
from skcf.testing._verdict import ensure, quiet, refuses

COST = {"age": "range", "income": "range", "grade": "rank"}


def check_containers(setting):
    """Check that every container comes back as it came, whatever fit was given."""
    for kind in containers():
        fitted = Setting.mixed(setting.explainer, kind)
        explainer = fitted.fitted()
        for other in containers():
            queries = Setting.mixed(setting.explainer, other).queries
            with quiet():
                X_cf = explainer.transform(queries)
                again = explainer.transform(queries)
            if kind == "array":
                # Fitted on an array, columns have no names: a frame is read as one.
                queries = np.asarray(queries, dtype=object)
            got, expected = schema(X_cf), schema(queries)
            what = f"fitted on {kind}, transform of {other}"
            ensure(got == expected, 3, f"{what} gave {got}, not {expected}.")
            ensure(labels(X_cf) == labels(queries), 3, f"{what} changed the index.")
            ensure(same(X_cf, again), 8, f"{what} gives other answers again.")


def check_cells_are_possible(setting):
    """Check that a changed cell has a value that its column may take."""
    for kind in containers():
        mixed = Setting.mixed(setting.explainer, kind)
        with quiet():
            explanation = mixed.fitted().explain(mixed.queries, n_counterfactuals=3)
        seen = list(zip(*cells(mixed.X), strict=True))
        for row, changed in _pairs(explanation):
            for name, known, before, after in zip(
                COLUMNS, seen, row, changed, strict=True
            ):
                ensure(
                    after == before or _possible(name, after, known),
                    2,
                    f"{kind}: {name!r} was changed from {before!r} to {after!r}.",
                )


def _possible(name, value, known):
    if name not in ("age", "income"):
        return value in known
    decimals = 0 if name == "age" else 1
    return min(known) <= value <= max(known) and round(value, decimals) == value


def check_dtypes_follow_from_schemas(setting):
    """Check that dtypes stay those of the query where they hold the domain."""
    for kind in containers()[1:]:
        mixed = Setting.mixed(setting.explainer, kind)
        queries = nw.from_native(mixed.queries).with_columns(
            nw.col("age").cast(nw.Int8),
            nw.col("income").round(0).cast(nw.Int64),
            nw.col("job").cast(nw.String),
        )
        queries = queries.to_native()
        kept = (
            queries.with_columns if hasattr(queries, "with_columns") else queries.assign
        )
        kept = kept(income=mixed.queries["income"])
        expected, explainer = schema(kept), mixed.fitted()
        with quiet():
            for i in range(len(queries)):
                got = schema(explainer.transform(take(queries, [i])))
                ensure(got == expected, 3, f"{kind}: got {got}, expected {expected}.")


RULES = (
    ("cf.job == x.job", lambda x, cf: cf["job"] == x["job"]),
    ("cf.age >= x.age", lambda x, cf: cf["age"] >= x["age"]),
    ("cf.income in [20, 80]", lambda x, cf: 20 <= cf["income"] <= 80),
    (
        "cf.grade > x.grade => cf.age >= x.age + 2",
        lambda x, cf: (
            GRADES.index(cf["grade"]) <= GRADES.index(x["grade"])
            or cf["age"] >= x["age"] + 2
        ),
    ),
    ("max_changes(3)", lambda x, cf: sum(x[c] != cf[c] for c in COLUMNS) <= 3),
    ('not (changed(city) and cf.city == "Bonn")', lambda x, cf: _not_to_bonn(x, cf)),
)


def _not_to_bonn(x, cf):
    return cf["city"] == x["city"] or cf["city"] != "Bonn"


def check_rules_hold(setting):
    """Check that every answer keeps every rule that was not refused."""
    mixed = Setting.mixed(setting.explainer)
    rules = [(text, test) for text, test in RULES if _is_honoured(mixed, text)]
    texts = [text for text, _ in rules]
    with quiet():
        given = mixed.fitted(constraints=texts)
        explanations = [given.explain(mixed.queries, n_counterfactuals=3)]
        later = mixed.fitted().explain(mixed.queries, constraints=texts)
        explanations.append(later)
    for explanation in explanations:
        for row, changed in _pairs(explanation):
            x, cf = (dict(zip(COLUMNS, r, strict=True)) for r in (row, changed))
            for text, test in rules:
                ensure(test(x, cf), 6, f"{text!r} is broken from {row} to {changed}.")


def check_columns_taken_together(setting):
    """Check that columns that belong together take values seen together."""
    mixed, rule = Setting.mixed(setting.explainer), together("grade", "city")
    if not _is_honoured(mixed, rule):
        return
    with quiet():
        explainer = mixed.fitted(constraints=[rule])
        explanation = explainer.explain(mixed.queries, n_counterfactuals=2)
    seen = {tuple(row[4:]) for row in cells(mixed.X)}
    counts = explanation.n_changed.tolist()
    for (row, changed), told in zip(_pairs(explanation), counts, strict=True):
        known = changed[4:] == row[4:] or tuple(changed[4:]) in seen
        ensure(known, 6, f"{changed[4:]} was not seen together.")
        one = [*(a != b for a, b in zip(row[:4], changed, strict=False))]
        n = sum(one) + (row[4:] != changed[4:])
        ensure(told == n, 6, f"n_changed is {told} where {n} features changed.")


def _is_honoured(setting, rule):
    """Tell whether a rule is accepted; a refusal has to give its text."""
    try:
        setting.fitted(constraints=[rule])
    except UnsupportedConstraintError as error:
        told = str(rule) in str(error)
        ensure(told, 6, f"the refusal of {str(rule)!r} does not name it: {error}")
        return False
    return True


def check_infeasible_rows(setting):
    """Check that rows without a way out come back as they are, counted."""
    mixed = Setting.mixed(setting.explainer)
    for rule in (only(), "cf.age >= x.age + 100"):
        explainer = mixed.fitted(constraints=rule)
        with quiet():
            explanation = explainer.explain(mixed.queries)
            X_cf = explainer.transform(mixed.queries)
        status = explanation.status.tolist()
        live = [s for s in status if s != "already"]
        right = live and set(live) == {"infeasible"}
        ensure(right, 7, f"{str(rule)!r} gives {status}.")
        bound = explanation.lower_bound[explanation.status == "infeasible"]
        ensure(np.isposinf(bound).all(), 7, f"lower_bound is {bound}, not inf.")
        ensure(same(X_cf, mixed.queries), 3, f"{str(rule)!r}: a row was changed.")
        ensure_one_warning(explainer, mixed.queries)


def check_evaluations_are_limited(setting):
    """Check that rows cut off by max_evaluations are told as such."""
    if "max_evaluations" not in setting.explainer.get_params():
        return
    mixed = Setting.mixed(setting.explainer)
    with quiet():
        status = mixed.fitted(max_evaluations=1).explain(mixed.queries).status
    wrong = set(status.tolist()) - {"found", "budget", "already"}
    ensure(not wrong, 7, f"max_evaluations=1 gives the statuses {sorted(wrong)}.")


def check_cost_and_score(setting):
    """Check cost and score by hand: Gower, by the ranges of training."""
    mixed = Setting.mixed(setting.explainer)
    for cost in ("gower", "sparse"):
        explainer = mixed.fitted(cost=cost)
        with quiet():
            explanation = explainer.explain(mixed.queries, n_counterfactuals=1)
            score = explainer.score(mixed.queries)
        near = np.zeros(len(mixed.queries))
        near[explanation.row] = [1 - min(1, _gower(*p)) for p in _pairs(explanation)]
        counted = explanation.status != "already"
        expected = near[counted].mean() if counted.any() else 1.0
        ensure(
            np.isclose(score, expected, atol=1e-9),
            10,
            f"score is {score} with cost={cost!r}; by Gower it is {expected}.",
        )
        if cost == "gower":
            ensure(
                np.allclose(explanation.cost, 1 - near[explanation.row]),
                10,
                f"costs are {explanation.cost}, not {1 - near[explanation.row]}.",
            )


def _gower(row, changed):
    columns = mixed_columns()[0]
    total = 0.0
    for name, before, after in zip(COLUMNS, row, changed, strict=True):
        if name in ("age", "income"):
            total += abs(after - before) / float(np.ptp(columns[name]))
        elif name == "grade" and containers()[1:]:
            total += abs(GRADES.index(after) - GRADES.index(before)) / 2
        else:
            total += before != after
    return total / len(COLUMNS)


def check_levels(setting):
    """Check that an unknown level is an error, and one that is listed is not."""
    for kind in containers():
        mixed = Setting.mixed(setting.explainer, kind)
        explainer = mixed.fitted()
        strange = _with_cell(mixed.queries, "city", "Paris")
        name = "city" if kind != "array" else "5"
        refuses(
            13,
            f"an unknown level ({kind})",
            lambda e=explainer, X=strange: e.transform(X),
            name,
            "Paris",
            "Bonn",
        )
        if kind != "array":
            listed = _with_cell(mixed.queries, "job", UNSEEN_JOB)
            with quiet():
                explainer.transform(listed)


def check_missing_and_infinite(setting):
    """Check that infinity is refused, and NaN where the model takes none."""
    for kind in containers():
        mixed = Setting.mixed(setting.explainer, kind)
        explainer = mixed.fitted()
        name = "income" if kind != "array" else "1"
        holes = {"infinity": np.inf}
        if not get_tags(explainer).input_tags.allow_nan:
            holes["NaN"] = np.nan
        for word, value in holes.items():
            X = _with_cell(mixed.queries, "income", value)
            refuses(
                13,
                f"{word} in a query ({kind})",
                lambda e=explainer, X=X: e.transform(X),
                name,
                word,
            )


def check_refused_rules(setting):
    """Check that unknown names and contradictions in rules are refused."""
    mixed = Setting.mixed(setting.explainer)
    for rule, words in {
        "cf.height >= x.height": ("height", "age"),
        'cf.job == "astronaut"': ("job", "astronaut", "clerk"),
        "cf.job > x.job": ("job", "order"),
    }.items():
        refuses(
            13,
            f"the rule {rule}",
            lambda rule=rule: mixed.fitted(constraints=[rule]),
            *words,
        )
    against = [within("age", high=30), within("age", low=40)]
    refuses(
        13,
        "a contradiction",
        lambda: mixed.fitted(constraints=against),
        *map(str, against),
        kind=InfeasibleConstraintError,
    )
    refuses(13, "an unknown cost", lambda: mixed.fitted(cost="cheap"), "cost", "cheap")


def check_dates(setting):
    """Check that a column of dates is refused by name, unless it is fixed."""
    for kind in containers()[1:]:
        mixed = Setting.mixed(setting.explainer, kind)
        days = np.datetime64("2020-01-01") + np.arange(len(mixed.X))
        days = days.astype("datetime64[us]")
        frame = nw.from_native(mixed.X)
        born = nw.new_series("born", days, backend=frame.implementation)
        if kind == "pandas":
            X = mixed.X.assign(born=days)
        else:
            X = frame.with_columns(born).to_native()
        dated = Setting(mixed.explainer, X, mixed.y, take(X, np.arange(3)))
        refuses(1, "a column of dates", dated.fitted, "born", "fixed")
        with quiet():
            X_cf = dated.fitted(constraints=[fixed("born")]).transform(dated.queries)
        before, after = (list(t["born"]) for t in (dated.queries, X_cf))
        ensure(before == after, 6, f"fixed dates became {after}.")


def _with_cell(X, name, value):
    """Return a table with one value put into the first row of a column."""
    at = COLUMNS.index(name)
    if isinstance(X, np.ndarray):
        X = X.copy()
        X[0, at] = value
        return X
    frame = nw.from_native(X)
    cells = [value, *frame[name].to_list()[1:]]
    column = nw.new_series(name, cells, frame[name].dtype, backend=frame.implementation)
    if frame.implementation.is_pandas():
        native = column.to_native().astype(X[name].dtype).set_axis(X.index)
        return X.assign(**{name: native})
    return frame.with_columns(column).to_native()


def _pairs(explanation):
    """Return (query, counterfactual) of every answer as lists of Python values."""
    queries, found = cells(explanation.queries), cells(explanation.counterfactuals)
    return [(queries[i], cf) for i, cf in zip(explanation.row, found, strict=True)]
