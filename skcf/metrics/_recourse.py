"""Whether the way out costs some groups of people more than others."""

from numbers import Integral

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import check_random_state

from skcf._space import container_of
from skcf.constraints import fixed
from skcf.metrics._measured import unwrap
from skcf.metrics._table import table_like


def recourse_by_group(
    explainer,
    X,
    *,
    by,
    target=None,
    n_bootstrap=1000,
    confidence=0.95,
    random_state=None,
):
    """Compare what counterfactuals cost the rows of different groups.

    Only rows that are not in the target count. Where the groups are those of a column,
    the rows are explained twice: with the column as the explainer's rules have it, and
    fixed. A model that decides by the column itself shows in the first case as a cheap
    way out that nobody can take, and in the second as a dear one, or as none.

    Parameters
    ----------
    explainer : explainer
        A fitted one, with the rules and the cost that matter here. The better its
        answers, the less the comparison says of the explainer itself.
    X : {array-like, DataFrame} of shape (n_queries, n_features)
    by : str, int, or array-like of shape (n_queries,)
        The name or position of the column that holds the groups, or the group of each
        row.
    target : label, array-like of shape (n_queries,) or (n_queries, 2), default=None
        Passed to `explain`; None uses the `target` of the explainer.
    n_bootstrap : int, default=1000
        How often rows are drawn anew, with replacement within each group, for the
        intervals.
    confidence : float, default=0.95
        The share of the drawn ratios that an interval holds.
    random_state : int, RandomState instance or None, default=None
        Draws the rows.

    Returns
    -------
    recourse : DataFrame or Bunch
        A row for each group and case; a frame of the library of `X`, a Bunch of arrays
        for an array.

        - `group`: the value of the group;
        - `attribute`: "free" or "fixed"; "free" alone where `by` is no column;
        - `n_queries`: rows that are not in the target;
        - `found`, `infeasible`: their shares with these statuses;
        - `mean_cost`: of the rows with a counterfactual; nan where there is none;
        - `ratio`: the mean cost by that of all other groups together;
        - `low`, `high`: the ends of its bootstrap interval (percentiles).

    Raises
    ------
    ValueError
        If `by` is neither a column nor one group for each row.

    See Also
    --------
    compare : Explainers side by side.

    Notes
    -----
    A ratio of costs leaves out the rows without any way out, so read it beside their
    share. Differences in the cost of recourse are no proof of discrimination, nor does
    an equal cost prove its absence [1]_.

    References
    ----------
    .. [1] Ustun, B., Spangher, A., Liu, Y. (2019). Actionable Recourse in Linear
       Classification. Proceedings of the Conference on Fairness, Accountability, and
       Transparency, 10-19. doi:10.1145/3287560.3287566

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skcf.metrics import recourse_by_group
    >>> from skcf.tabular import OptimalExplainer
    >>> X = pd.DataFrame({"sex": [0, 1] * 20, "pay": [v % 10 for v in range(40)]})
    >>> y = X["pay"] + 2 * X["sex"] > 5
    >>> explainer = OptimalExplainer(LogisticRegression(), target=True).fit(X, y)
    >>> recourse = recourse_by_group(explainer, X, by="sex", random_state=0)
    >>> recourse[["group", "attribute", "n_queries", "found"]]
       group attribute  n_queries  found
    0      0      free         12    1.0
    1      1      free          8    1.0
    2      0     fixed         12    1.0
    3      1     fixed          8    1.0
    """
    if not isinstance(n_bootstrap, Integral) or n_bootstrap < 1:
        raise ValueError(f"n_bootstrap must be an integer >= 1, got {n_bootstrap!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be in (0, 1), got {confidence!r}.")
    if isinstance(X, (list, tuple)):
        X = np.asarray(X)
    explainer, X = unwrap(explainer, X)
    labels, column = _groups(X, by)
    cases = {"free": None}
    if column is not None:
        cases["fixed"] = fixed(column)
    random = check_random_state(random_state)
    columns = {}
    for case, rules in cases.items():
        told = explainer.explain(X, target=target, constraints=rules)
        for row in _compared(told, labels, n_bootstrap, confidence, random):
            group, rest = row.pop("group"), row
            for name, value in {"group": group, "attribute": case, **rest}.items():
                columns.setdefault(name, []).append(value)
    return table_like(X, columns)


def _groups(X, by):
    """Return (group of each row, name of the column or None)."""
    container = container_of(X)
    if isinstance(by, (str, Integral)) and not isinstance(by, bool):
        try:
            j = container.position(by)
        except ValueError as error:
            raise ValueError(f"by: {error}") from None
        at, known = container.factorize(container.column(X, j))
        labels = np.array([known[k] if k >= 0 else None for k in at], dtype=object)
        return labels, container.names[j]
    series = nw.from_native(by, series_only=True, pass_through=True)
    values = series.to_list() if isinstance(series, nw.Series) else list(by)
    if len(values) != len(X):
        raise ValueError(f"by has {len(values)} groups for {len(X)} rows.")
    labels = np.empty(len(values), dtype=object)
    labels[:] = [v.item() if isinstance(v, np.generic) else v for v in values]
    return labels, None


def _compared(explanation, labels, n_bootstrap, confidence, random):
    """Yield the figures of each group."""
    status = explanation.status
    cost = np.full(len(status), np.nan)
    first = explanation.rank == 0
    cost[explanation.row[first]] = explanation.cost[first]
    counted = status != "already"
    groups = sorted(set(labels[counted]), key=lambda v: (str(type(v)), str(v)))
    ends = [50 * (1 - confidence), 50 * (1 + confidence)]
    for group in groups:
        mine = counted & np.array([label == group for label in labels])
        own, others = cost[mine], cost[counted & ~mine]
        drawn = _drawn(own, n_bootstrap, random) / _drawn(others, n_bootstrap, random)
        known = drawn[np.isfinite(drawn)]
        low, high = np.percentile(known, ends) if len(known) else (np.nan, np.nan)
        yield {
            "group": group,
            "n_queries": int(mine.sum()),
            "found": float((status[mine] == "found").mean()),
            "infeasible": float((status[mine] == "infeasible").mean()),
            "mean_cost": _mean(own),
            "ratio": _mean(own) / _mean(others),
            "low": float(low),
            "high": float(high),
        }


def _mean(cost):
    """Return the mean of the costs that are known, nan if none are."""
    known = cost[~np.isnan(cost)]
    return float(known.mean()) if len(known) else float("nan")


def _drawn(cost, n, random):
    """Return means of the known costs of rows drawn with replacement."""
    if np.isnan(cost).all():
        return np.full(n, np.nan)
    drawn = cost[random.randint(len(cost), size=(n, len(cost)))]
    known = ~np.isnan(drawn)
    count = known.sum(axis=1)
    total = np.where(known, drawn, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
