"""Loan applications that are decided by points."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from skcf._space import container_of

NUMBERS = ("age", "income", "debts")
ORDER = ("none", "school", "college", "university")
HOUSING = ("free", "rent", "own")
JOB = ("unskilled", "skilled", "manager", "retired")
NAMES = (*NUMBERS, "education", "housing", "job")
# Points of a number: those of the highest bound that it reaches.
BOUNDS = {
    "age": {18: 0, 25: 4, 35: 8, 50: 11, 65: 7},
    "income": {0: 0, 20: 6, 35: 11, 50: 17, 80: 22},
    "debts": {0: 15, 1: 9, 3: 4, 6: 0},
}
LEVELS = {
    "education": dict(zip(ORDER, (0, 3, 6, 9), strict=True)),
    "housing": dict(zip(HOUSING, (5, 0, 8), strict=True)),
    "job": dict(zip(JOB, (0, 5, 9, 3), strict=True)),
}


def make_scorecard(
    n_samples=400, *, n_queries=20, threshold=45, as_frame=False, random_state=None
):
    """Make loan applications, a scorecard, and the nearest counterfactuals.

    Six columns give points: three numbers by bands, an ordered and two unordered
    categories by level. A loan is granted from `threshold` points on. Since points add
    up, the least Gower distance to enough of them is found by dynamic programming over
    the number of points, among all whole numbers in the range of each column.

    Parameters
    ----------
    n_samples : int, default=400
        The number of applications.
    n_queries : int, default=20
        The number of refused applications to explain, at most.
    threshold : int, default=45
        The points that a loan takes. The most that there are is 74.
    as_frame : bool, default=False
        Whether the tables are pandas DataFrames, categories as such. Otherwise they are
        arrays in which categories are the positions of their levels, and
        `categorical_features` has to be passed to the explainer.
    random_state : int, RandomState instance or None, default=None
        The applications.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        - `data`: {ndarray, DataFrame} of shape (n_samples, 6);
        - `target`: ndarray of shape (n_samples,), "granted" or "refused";
        - `model`: the scorecard, frozen, to be the `estimator` of an explainer. It
          takes arrays, pandas and polars; its decision function counts points;
        - `categorical_features`: what to pass to the explainer;
        - `queries`: {ndarray, DataFrame} of shape (n_queries, 6), refused applications;
        - `nearest`: {ndarray, DataFrame} of shape (n_queries, 6), a nearest application
          that is granted for each of them; others may be as near;
        - `cost`: ndarray of shape (n_queries,), their Gower distances.

    Raises
    ------
    ImportError
        If `as_frame` and pandas is not installed.

    ValueError
        If the most points that there are do not reach `threshold`.

    See Also
    --------
    make_boxes : Numbers that interact.

    Examples
    --------
    >>> from skcf.datasets import make_scorecard
    >>> from skcf.tabular import GeCoExplainer
    >>> known = make_scorecard(as_frame=True, random_state=0)
    >>> explainer = GeCoExplainer(known.model, target="granted", random_state=0)
    >>> explanation = explainer.fit(known.data).explain(known.queries)
    >>> bool((explanation.cost > known.cost - 1e-9).all())
    True
    """
    random = check_random_state(random_state)
    codes = np.column_stack(
        [
            random.randint(18, 76, n_samples),
            random.gamma(3.0, 14.0, n_samples).round().clip(5, 150),
            random.poisson(2.0, n_samples).clip(0, 9),
            random.choice(4, n_samples, p=[0.2, 0.4, 0.25, 0.15]),
            random.choice(3, n_samples, p=[0.2, 0.5, 0.3]),
            random.choice(4, n_samples, p=[0.3, 0.4, 0.15, 0.15]),
        ]
    ).astype(np.float64)
    data = _as_frame(codes) if as_frame else codes
    model = Scorecard(threshold).fit(data)
    y = model.predict(data)
    refused = np.flatnonzero(y == "refused")[:n_queries]
    nearest, cost = _nearest(codes, refused, threshold)
    queries = data.iloc[refused] if as_frame else data[refused]
    if as_frame:
        nearest = _as_frame(nearest).set_axis(queries.index)
    return Bunch(
        data=data,
        target=y,
        model=FrozenEstimator(model),
        categorical_features="from_dtype" if as_frame else [4, 5],
        queries=queries,
        nearest=nearest,
        cost=cost,
    )


class Scorecard(ClassifierMixin, BaseEstimator):
    """Grants a loan from `threshold` points on.

    Parameters
    ----------
    threshold : int
    """

    def __init__(self, threshold):
        self.threshold = threshold

    def fit(self, X, y=None):
        """Take note of the classes."""
        self.classes_ = np.array(["granted", "refused"])
        self.n_features_in_ = len(NAMES)
        if container_of(X).kind != "array":
            self.feature_names_in_ = np.array(NAMES, dtype=object)
        return self

    def decision_function(self, X):
        """Return by how many points the threshold is missed, less a half."""
        check_is_fitted(self)
        return self.threshold - 0.5 - _points(X)

    def predict(self, X):
        """Return "granted" or "refused"."""
        return self.classes_[(self.decision_function(X) > 0).astype(np.intp)]


def _points(X):
    """Return the points of each row of a table in any container."""
    base, total = container_of(X), np.zeros(len(X))
    for j, name in enumerate(NAMES):
        column = base.column(X, j)
        if name in NUMBERS:
            total += _of_numbers(name, base.numbers(column))
            continue
        at, known = base.factorize(column)
        levels = LEVELS[name]
        by_place = list(levels.values())
        total += np.array(
            [levels[v] if isinstance(v, str) else by_place[int(v)] for v in known]
        )[at]
    return total


def _of_numbers(name, values):
    bounds, points = zip(*BOUNDS[name].items(), strict=True)
    at = np.searchsorted(bounds, values, side="right") - 1
    return np.asarray(points, dtype=np.float64)[np.maximum(at, 0)]


def _as_frame(codes):
    import pandas as pd

    frame = pd.DataFrame(codes[:, :3].astype(int), columns=NUMBERS)
    for j, name in enumerate(NAMES[3:], start=3):
        levels, ordered = list(LEVELS[name]), name == "education"
        frame[name] = pd.Categorical.from_codes(
            codes[:, j].astype(int), levels, ordered=ordered
        )
    return frame


def _nearest(codes, rows, threshold):
    """Return the nearest rows with enough points, and how near they are."""
    domains, points = [], []
    for j, name in enumerate(NAMES):
        low, high = codes[:, j].min(), codes[:, j].max()
        values = np.arange(low, high + 1) if j < 3 else np.unique(codes[:, j])
        domains.append(values)
        if j < 3:
            points.append(_of_numbers(name, values).astype(int))
        else:
            by_place = list(LEVELS[name].values())
            points.append(np.array([by_place[int(v)] for v in values]))
    if sum(p.max() for p in points) < threshold:
        raise ValueError(
            f"threshold={threshold} is more than the {sum(p.max() for p in points)} "
            "points that there are."
        )
    nearest, cost = codes[rows].copy(), np.empty(len(rows))
    for i, row in enumerate(rows):
        nearest[i], cost[i] = _cheapest(codes[row], domains, points, threshold)
    return nearest, cost


def _cheapest(x, domains, points, threshold):
    """Return the cheapest row with enough points, and its Gower distance.

    After each column, `best` has the least cost of each number of points; all from the
    threshold on are one.
    """
    best = np.full(threshold + 1, np.inf)
    best[0], chosen = 0.0, []
    for j, (values, gains) in enumerate(zip(domains, points, strict=True)):
        span = max(values[-1] - values[0], 1.0)
        gap = (values != x[j]) * 1.0 if j > 3 else np.abs(values - x[j]) / span
        after = np.full(threshold + 1, np.inf)
        choice = np.zeros((threshold + 1, 2), dtype=np.intp)
        for had in np.flatnonzero(np.isfinite(best)):
            now = np.minimum(had + gains, threshold)
            for k in np.argsort(gap, kind="stable"):
                if best[had] + gap[k] < after[now[k]]:
                    after[now[k]] = best[had] + gap[k]
                    choice[now[k]] = had, k
        best = after
        chosen.append(choice)
    out, at = x.copy(), threshold
    for j in reversed(range(len(domains))):
        at, k = chosen[j][at]
        out[j] = domains[j][k]
    return out, best[threshold] / len(domains)
