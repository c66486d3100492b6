"""What an explainer found, and what there is to tell about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skcf._explanation._cells import row_labels, take
from skcf._explanation._changed import iter_changes
from skcf._explanation._checks import check_containers, check_lengths, check_rows
from skcf._explanation._frames import (
    changes_frame,
    counterfactual_frame,
    frequency_frame,
)
from skcf._explanation._plain import counted, format_value, is_missing, strict
from skcf._explanation._records import explanation_to_dict

STATUSES = ("found", "already", "infeasible", "not_found", "budget")

_PER_QUERY = ("status", "target", "prediction_before", "score_before", "lower_bound")
_PER_COUNTERFACTUAL = (
    "row",
    "rank",
    "cost",
    "n_changed",
    "prediction",
    "score",
    "optimal",
)
_DTYPES = {
    "status": np.str_,
    "row": np.intp,
    "rank": np.intp,
    "n_changed": np.intp,
    "cost": np.float64,
    "score_before": np.float64,
    "score": np.float64,
    "lower_bound": np.float64,
    "optimal": np.bool_,
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
    """Counterfactuals of some queries, and how they were judged.

    The `explain` method of every explainer returns one. There are `n_queries` queries
    and `n_counterfactuals` counterfactuals, from none to several for each query. The
    counterfactuals are sorted by query and then by rank. Only a query whose status is
    "found" has any.

    Attributes
    ----------
    queries : {ndarray, DataFrame} of shape (n_queries, n_features)
        The rows to explain, as they were given.

    counterfactuals : {ndarray, DataFrame} of shape (n_counterfactuals, n_features)
        The rows found, in the container of `queries`. In pandas, the index has the
        label of the query, once for each of its counterfactuals.

    row : ndarray of shape (n_counterfactuals,), dtype=intp
        The position in `queries` of the query that a counterfactual belongs to.

    rank : ndarray of shape (n_counterfactuals,), dtype=intp
        0 for the best counterfactual of a query, which is what `transform` returns,
        then 1, 2, ...

    status : ndarray of shape (n_queries,), dtype=str
        What became of each query:

        - "found": it has a counterfactual;
        - "already": it was in the target as it came, nothing has to change;
        - "infeasible": nothing else satisfies the rules, or it is proved that nothing
          that does reaches the target;
        - "not_found": the method ended by its own rule without an answer;
        - "budget": time or evaluations ran out before there was an answer.

    target : ndarray of shape (n_queries,), dtype=object
        The label that each query was to reach, or the interval `(low, high)` of a
        regressor.

    cost : ndarray of shape (n_counterfactuals,)
        The cost of the change, by the cost of the explainer.

    n_changed : ndarray of shape (n_counterfactuals,), dtype=intp
        The number of changed features. Features that change together count once.

    prediction_before : ndarray of shape (n_queries,)
        The prediction of the model for each query.

    prediction : ndarray of shape (n_counterfactuals,)
        The prediction of the model for each counterfactual.

    score_before : ndarray of shape (n_queries,)
        The probability of the target, the margin where the model has no
        probabilities, or the prediction of a regressor.

    score : ndarray of shape (n_counterfactuals,)
        The same for each counterfactual.

    optimal : ndarray of shape (n_counterfactuals,), dtype=bool
        Whether it is proved that nothing costs less. Never so for a heuristic.

    lower_bound : ndarray of shape (n_queries,)
        The cost below which it is proved that there is no counterfactual: NaN where
        nothing is proved, infinite where the query is proved infeasible.

    details : :class:`~sklearn.utils.Bunch`, default=Bunch()
        What one method alone has to tell. Its keys are documented by the `explain`
        method of that explainer.

    Raises
    ------
    ValueError
        If the lengths of the fields, the order of the counterfactuals, the statuses
        or the index do not fit together.

    TypeError
        If `queries` and `counterfactuals` are not both arrays or both frames of one
        library.

    Notes
    -----
    The features of an array are called `x0`, `x1`, ... in what the methods return.

    Examples
    --------
    >>> import numpy as np
    >>> from skcf import Explanation
    >>> explanation = Explanation(
    ...     queries=np.array([[30.0, 1.5], [45.0, 2.0]]),
    ...     counterfactuals=np.array([[30.0, 2.5]]),
    ...     row=[0],
    ...     rank=[0],
    ...     status=["found", "infeasible"],
    ...     target=["yes", "yes"],
    ...     cost=[0.25],
    ...     n_changed=[1],
    ...     prediction_before=["no", "no"],
    ...     prediction=["yes"],
    ...     score_before=[0.3, 0.1],
    ...     score=[0.75],
    ...     optimal=[True],
    ...     lower_bound=[0.25, np.inf],
    ... )
    >>> explanation
    Explanation(2 queries: 1 found, 1 infeasible; 1 counterfactual, median cost 0.25)
    >>> explanation.changes()
       row  rank feature  before  after
    0    0     0      x1     1.5    2.5
    """

    queries: Any
    counterfactuals: Any
    row: np.ndarray
    rank: np.ndarray
    status: np.ndarray
    target: np.ndarray
    cost: np.ndarray
    n_changed: np.ndarray
    prediction_before: np.ndarray
    prediction: np.ndarray
    score_before: np.ndarray
    score: np.ndarray
    optimal: np.ndarray
    lower_bound: np.ndarray
    details: Bunch = field(default_factory=Bunch)

    def __post_init__(self):
        for name in _PER_QUERY + _PER_COUNTERFACTUAL:
            values = getattr(self, name)
            if name == "target":
                # One by one: intervals would become a second axis of an array.
                values = [tuple(v) if isinstance(v, np.ndarray) else v for v in values]
                values = np.fromiter(values, dtype=object, count=len(values))
            else:
                values = np.asarray(values, dtype=_DTYPES.get(name))
            object.__setattr__(self, name, values)
        if not isinstance(self.details, Mapping):
            raise TypeError(f"details must be a Bunch, got {type(self.details)}.")
        if not isinstance(self.details, Bunch):
            object.__setattr__(self, "details", Bunch(**self.details))
        check_containers(self)
        check_lengths(self, _PER_QUERY, "queries")
        check_lengths(self, _PER_COUNTERFACTUAL, "counterfactuals")
        check_rows(self, STATUSES)

    def to_frame(self):
        """Return the counterfactuals as a frame, with what is known of each.

        Returns
        -------
        DataFrame of shape (n_counterfactuals, 6 + n_features)
            The columns `row`, `rank`, `cost`, `n_changed`, `prediction` and `score`,
            then the features. A leading column whose name is that of a feature is
            called `cf_<name>` instead. In the library of `queries`, with its index
            labels; for arrays in pandas, or in polars where pandas is not installed.

        Raises
        ------
        ImportError
            If `queries` is an array and neither pandas nor polars is installed.
        """
        return counterfactual_frame(self)

    def evaluate(
        self,
        metrics=None,
        *,
        reference=None,
        estimator=None,
        constraints=(),
        categorical_features="from_dtype",
    ):
        """Return :meth:`to_frame` with the metrics of each counterfactual behind it.

        Parameters
        ----------
        metrics : list of str or mapping of str to callable, default=None
            The names of the columns: out of "gower", "mace", "geco" (the distances of
            :func:`skcf.metrics.proximity`) and "plausibility", which need `reference`;
            "violations", which needs `constraints` and `reference`; "validity" (of the
            `target`) and "redundancy", which need `estimator`; and "diversity", the
            mean share of features in which an answer differs from the others to its
            query. By default, all those of which what they need is given.

            Or a mapping of other names to functions, which are called with the query
            of each counterfactual and the counterfactuals, as paired tables, and return
            an array with a value for each pair.

        reference : {array-like, DataFrame} of shape (n_rows, n_features), default=None
            The training rows: they have the kinds and units of the features.

        estimator : object, default=None
            The fitted model.

        constraints : rule, str or list of these, default=()
            The rules of the explainer.

        categorical_features : "from_dtype", or names, positions or a mask
            Which features are categories, as given to the explainer.

        Returns
        -------
        DataFrame of shape (n_counterfactuals, 6 + n_features + n_metrics)
            What :meth:`to_frame` returns, and a column for each metric. One whose name
            is that of a feature is called `cf_<name>` instead.

        Raises
        ------
        ValueError
            If a metric is unknown or lacks what it needs, or a function does not return
            one value for each counterfactual.

        ImportError
            If `queries` is an array and neither pandas nor polars is installed.

        See Also
        --------
        skcf.metrics : The metrics with their definitions.
        """
        from skcf._measures._evaluate import evaluate_pairs

        given = {
            "reference": reference,
            "estimator": estimator,
            "constraints": constraints,
            "categorical_features": categorical_features,
        }
        X, target = take(self.queries, self.row), self.target[self.row]
        values = evaluate_pairs(
            X, self.counterfactuals, self.row, target, metrics, given
        )
        return counterfactual_frame(self, values)

    def changes(self):
        """Return the changed cells, a row each.

        Returns
        -------
        DataFrame of shape (n_changed_cells, 5)
            The columns `row`, `rank`, `feature`, `before` and `after`, sorted by row,
            rank and the order of the features; a missing value that stays missing is
            no change. In the library of :meth:`to_frame`.

            `before` and `after` have the type of the features if all features have
            the same one. Otherwise, they are object columns of the features' own
            values in pandas. In polars, where a column has one type, they are Float64
            if all the features are numbers, else strings.

        Raises
        ------
        ImportError
            If `queries` is an array and neither pandas nor polars is installed.
        """
        return changes_frame(self)

    def feature_frequency(self):
        """Return how often each feature changes.

        Returns
        -------
        DataFrame of shape (n_features, 2)
            The columns `feature` and `frequency`: the share of the found queries whose
            best counterfactual changes the feature, 0 if none was found. The most
            frequent comes first, and equal ones are in the order of the features. In
            the library of :meth:`to_frame`.

        Raises
        ------
        ImportError
            If `queries` is an array and neither pandas nor polars is installed.
        """
        return frequency_frame(self)

    def pairs(self):
        """Return the queries that have a counterfactual, and the best one of each.

        Returns
        -------
        X : {ndarray, DataFrame} of shape (n_found, n_features)
            The found rows of `queries`.

        X_cf : {ndarray, DataFrame} of shape (n_found, n_features)
            Their counterfactuals of rank 0, row by row.
        """
        best = np.flatnonzero(self.rank == 0)
        return take(self.queries, self.row[best]), take(self.counterfactuals, best)

    def to_dict(self):
        """Return everything in plain Python.

        Returns
        -------
        dict
            "features" lists the names. "queries" has a dict for each query, with its
            position "row", its index "label" (the position where there is no index),
            the fields of the query, its "values" by feature and the list
            "counterfactuals"; each of these is a dict of its fields, "values", and
            "changes", a list of dicts of "feature", "before" and "after". "details"
            has the details. Missing values and NaN are None, dates are ISO text, and
            objects without a plain form are their `str`.
        """
        return explanation_to_dict(self, _PER_QUERY, _PER_COUNTERFACTUAL)

    def to_json(self, *, indent=None):
        """Return :meth:`to_dict` as a JSON text.

        Parameters
        ----------
        indent : int, default=None
            The number of spaces to indent by; one line by default.

        Returns
        -------
        str
            Strict JSON: NaN and infinite numbers are null.
        """
        return json.dumps(strict(self.to_dict()), indent=indent, allow_nan=False)

    def __repr__(self):
        statuses = self.status.tolist()
        counts = [f"{statuses.count(s)} {s}" for s in STATUSES if s in statuses]
        text = counted(len(statuses), "query", "queries")
        if counts:
            text += f": {', '.join(counts)}"
        if len(self.row):
            number = counted(len(self.row), "counterfactual", "counterfactuals")
            cost = format_value(np.median(self.cost[self.rank == 0]), 3)
            text += f"; {number}, median cost {cost}"
        return f"Explanation({text})"

    def _repr_html_(self):
        from skcf._explanation._html import explanation_to_html

        return explanation_to_html(self)

    def _label(self, position):
        """Return the index label of a query, its position where there is no index."""
        labels = row_labels(self.queries)
        return position if labels is None else labels[position]

    def _blocking_rule(self, position):
        """Return the one rule without which a query has an answer, if it is known."""
        rules = self.details.get("blocking_rules")
        if rules is None or len(rules) != len(self.status):
            return None
        return None if is_missing(rules[position]) else str(rules[position])

    def _iter_changes(self, positions=None):
        """Yield (row, rank, feature, before, after) for each changed cell.

        The values are plain Python scalars, None where missing, sorted by row, rank
        and the order of the features. `positions` chooses among the counterfactuals.
        """
        return iter_changes(self, positions)
