"""Explainers side by side."""

import time
from collections import Counter
from collections.abc import Mapping

import numpy as np
from sklearn.utils import Bunch, check_random_state

from skcf._explanation import STATUSES
from skcf._measures._diversity import spread
from skcf._measures._plausibility import (
    MAX_SAMPLES,
    N_NEIGHBORS,
    nearest,
    outlier_factor,
)
from skcf._measures._ruler import Ruler
from skcf._measures._violations import broken_rules
from skcf.metrics._coverage import coverage
from skcf.metrics._measured import Measured, unwrap
from skcf.metrics._stability import by_row, stability
from skcf.metrics._table import table_like

COSTS = ("gower", "mace", "geco")


def compare(
    explainers,
    X,
    *,
    target=None,
    n_counterfactuals=1,
    reference=None,
    constraints=None,
    on="found",
    n_repeats=0,
    random_state=None,
):
    """Explain the same rows by several explainers, and measure all answers alike.

    Parameters
    ----------
    explainers : dict of str to explainer, or list of explainers
        Fitted explainers. A Pipeline that ends in one is compared in the columns that
        reach its last step, a search by its best explainer. In a list, the names are
        those of the classes, numbered where there are several of one.
    X : {array-like, DataFrame} of shape (n_queries, n_features)
        The rows to explain.
    target : label, array-like of shape (n_queries,) or (n_queries, 2), default=None
        Passed to each `explain`; None uses the `target` of each explainer.
    n_counterfactuals : int, default=1
        The most counterfactuals of a row. Metrics are averaged over the answers of a
        row first.
    reference : {array-like, DataFrame} of shape (n_samples, n_features), default=None
        The training rows, for `plausibility`, `lof`, `stability`, and the violations of
        `constraints`.
    constraints : rule, str or list of these, default=None
        The rules whose violations are counted, whether an explainer was given them or
        not. By default, for each explainer those that it was given.
    on : {"found", "common"}, default="found"
        Whether averages are over the rows that an explainer found an answer for, or
        over those that all of them did. By the first, an explainer that gives up on
        hard rows looks better than it is.
    n_repeats : int, default=0
        How many slightly moved copies of each row are explained again for `stability`.
    random_state : int, RandomState instance or None, default=None
        For `stability`, and for the rows drawn for `lof`.

    Returns
    -------
    comparison : DataFrame or Bunch
        A row for each explainer, in the order given; a frame of the library of `X`. For
        arrays, a Bunch of one array for each column, which any library makes a frame
        of. An average over no rows is nan.

        - `method`: the name;
        - `n_queries`, and how many of them have each status: `found`, `already`,
          `infeasible`, `not_found`, `budget`;
        - `coverage`: of the rows that are not in the target already, the share with an
          answer;
        - `validity`: the share whose best answer reaches the target by the model;
        - `n_averaged`: the number of rows that the averages that follow are over;
        - `sparsity`: the mean number of changed features;
        - `gower`, `mace`, `geco`: the mean distances of these names;
        - `redundancy`: the mean share of changes that were not needed;
        - `violations`: the mean number of broken rules;
        - `diversity`: the mean share of features in which two answers to a row differ,
          if `n_counterfactuals` is more than 1;
        - `plausibility`: the mean distance to the 5 nearest training rows, and `lof`,
          the mean local outlier factor, if `reference` is given;
        - `stability`: if `n_repeats` is at least 1 and `reference` is given;
        - `seconds`: wall time of the call of `explain`;
        - `n_calls`, `n_rows`: calls of the model and rows in them.

    Raises
    ------
    ValueError
        If there is no explainer, `on` is unknown, or `constraints` or `n_repeats` are
        given without `reference`.

    See Also
    --------
    skcf.display.TradeoffDisplay : The comparison as a picture.

    Notes
    -----
    The units of distances are those of the training rows of each explainer, so that
    its figures are those of its explanation. Explainers that were fitted to the same
    rows share them. What an explainer has no means to tell is nan: without a model,
    `redundancy` and `stability`; for series, all that compares columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.metrics import compare
    >>> from skcf.tabular import GeCoExplainer, NearestUnlikeExplainer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000)
    >>> comparison = compare(
    ...     {
    ...         "nearest": NearestUnlikeExplainer(model).fit(X, y),
    ...         "geco": GeCoExplainer(model, random_state=0).fit(X, y),
    ...     },
    ...     X[:20],
    ... )
    >>> comparison[["method", "found", "validity"]]
        method  found  validity
    0  nearest     20       1.0
    1     geco     20       1.0
    """
    named = _named(explainers)
    if on not in ("found", "common"):
        raise ValueError(f'on must be "found" or "common", got {on!r}.')
    for name, given in (("constraints", constraints), ("n_repeats", n_repeats or None)):
        if given is not None and reference is None:
            raise ValueError(f"{name} need reference, the training rows.")
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    told = [
        _explained(e, X, reference, target=target, n_counterfactuals=n_counterfactuals)
        for e in named.values()
    ]
    found = np.array([one.measured.explanation.status == "found" for one in told])
    everywhere = found.all(axis=0)
    columns = {"method": list(named)}
    for one, own in zip(told, found, strict=True):
        counted = own if on == "found" else everywhere
        row = _counts(one) | {"n_averaged": int(counted.sum())}
        each = _values(one, constraints)
        if n_counterfactuals > 1:
            each["diversity"] = _diversity(one.measured)
        if reference is not None:
            each |= _beside_reference(one, random_state)
            if n_repeats:
                each["stability"] = _stability(one, target, n_repeats, random_state)
        row |= {name: _mean(one, values, counted) for name, values in each.items()}
        details = one.measured.explanation.details
        row |= {"seconds": one.seconds}
        row |= {name: int(details.get(name, 0)) for name in ("n_calls", "n_rows")}
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
    return table_like(X, columns)


def _named(explainers):
    """Return explainers by name."""
    if isinstance(explainers, Mapping):
        named = {str(name): explainer for name, explainer in explainers.items()}
    else:
        names = [type(unwrap(explainer)[0]).__name__ for explainer in explainers]
        several, seen = Counter(names), Counter()
        named = {}
        for name, explainer in zip(names, explainers, strict=True):
            seen[name] += 1
            number = f" {seen[name]}" if several[name] > 1 else ""
            named[f"{name}{number}"] = explainer
    if not named:
        raise ValueError("There is no explainer to compare.")
    return named


def _explained(explainer, X, reference, *, target, n_counterfactuals):
    """Explain the rows, and return what is needed to measure the answers."""
    explainer, X, reference = unwrap(explainer, X, reference)
    begin = time.perf_counter()
    explanation = explainer.explain(
        X, target=target, n_counterfactuals=n_counterfactuals
    )
    seconds = time.perf_counter() - begin
    measured = Measured(explainer, explanation, target)
    return Bunch(measured=measured, reference=reference, seconds=seconds)


def _counts(one):
    """Return how many queries there are of each kind, and two shares."""
    measured = one.measured
    explanation = measured.explanation
    status, best = explanation.status, explanation.rank == 0
    row = {"n_queries": len(status)}
    row |= {name: int((status == name).sum()) for name in STATUSES}
    row["coverage"] = coverage(explanation)
    needed = int((status != "already").sum())
    valid = int(measured.valid()[best].sum())
    row["validity"] = valid / needed if needed else 1.0
    return row


def _values(one, constraints):
    """Return the metrics of each counterfactual by name."""
    measured = one.measured
    each = {"sparsity": measured.explanation.n_changed}
    each |= {name: measured.distance(name) for name in COSTS}
    each["redundancy"] = measured.redundancy()
    each["violations"] = _nothing(measured)
    if measured.ruler is not None:
        ruler, codes = measured.ruler, measured.codes
        if constraints is not None:
            ruler = _ruler_of(one, constraints)
            codes = ruler.read(measured.X, measured.explanation.counterfactuals)
        each["violations"] = broken_rules(ruler, *codes).sum(axis=1)
    return each


def _diversity(measured):
    if measured.ruler is None:
        return _nothing(measured)
    return spread(measured.ruler, *measured.codes, measured.explanation.row)


def _beside_reference(one, random_state):
    """Return how far each counterfactual is from the training rows."""
    measured = one.measured
    if measured.ruler is None:
        return dict.fromkeys(("plausibility", "lof"), _nothing(measured))
    ruler = _ruler_of(one, measured.explainer.constraints)
    known = ruler.read_one(one.reference, "reference")
    after = ruler.read_one(measured.explanation.counterfactuals, "counterfactuals")
    random = check_random_state(random_state)
    return {
        "plausibility": nearest(ruler, after, known, N_NEIGHBORS["knn"]),
        "lof": outlier_factor(
            ruler, after, known, N_NEIGHBORS["lof"], MAX_SAMPLES, random
        ),
    }


def _stability(one, target, n_repeats, random_state):
    """Return the stability of the best answer of a row, for each of its answers."""
    measured = one.measured
    if not measured.of_model:
        return _nothing(measured)
    explanation = measured.explanation
    X, X_cf = explanation.pairs()
    rows = explanation.row[explanation.rank == 0]
    if by_row(target, measured.explainer):
        target = [target[i] for i in rows]
    values = stability(
        X,
        X_cf,
        explainer=measured.explainer,
        reference=one.reference,
        n_repeats=n_repeats,
        target=target,
        random_state=random_state,
        sample_wise=True,
    )
    return values[np.searchsorted(rows, explanation.row)]


def _ruler_of(one, constraints):
    columns = getattr(one.measured.explainer, "categorical_features", "from_dtype")
    return Ruler.of(one.reference, constraints, columns)


def _nothing(measured):
    return np.full(len(measured.explanation.row), np.nan)


def _mean(one, values, counted):
    """Return the mean over the rows that count of the means over their answers."""
    row = one.measured.explanation.row
    at = counted[row] & ~np.isnan(values)
    total = np.bincount(row[at], np.asarray(values, dtype=float)[at])
    number = np.bincount(row[at])
    return (
        float((total[number > 0] / number[number > 0]).mean()) if at.any() else np.nan
    )
