"""Small tables over which every possible row is looked at: the cheapest is known.

Nothing here uses the library: domains, rules, costs and the cheapest answer are numpy
and the model's own predictions.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier, XGBRegressor

CLEAR = 1e-9
QUIET = {"verbose": -1, "min_child_samples": 3, "n_jobs": 1}
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "full forest": RandomForestClassifier(4, random_state=0),
    "extra": ExtraTreesClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3),
    "ada": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=6, random_state=0
    ),
    "xgb": XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1),
    "lgbm": LGBMClassifier(n_estimators=8, max_depth=3, **QUIET),
    "forest regressor": RandomForestRegressor(6, max_depth=4, random_state=0),
    "boosting regressor": GradientBoostingRegressor(n_estimators=8, random_state=0),
    "hist regressor": HistGradientBoostingRegressor(max_iter=8, min_samples_leaf=3),
    "ada regressor": AdaBoostRegressor(n_estimators=5, random_state=0),
    "xgb regressor": XGBRegressor(n_estimators=8, max_depth=3, n_jobs=1),
    "lgbm regressor": LGBMRegressor(n_estimators=8, max_depth=3, **QUIET),
}
TAKES_MISSING = {"tree", "forest", "hist", "xgb", "lgbm", "hist regressor"}
COSTS = {
    "l1": {"l1": 1.0},
    "l2": {"l1": 0.0, "l2": 1.0},
    "l1l0": {"l1": 1.0, "l0": 0.1},
    "lex": {"l0": 100.0, "l1": 1.0},
    "l0": {"l0": 1.0, "l1": 0.0},
    "linf": {"l1": 0.3, "linf": 0.7},
    "skewed": {"l1": 1.0, "up": {"a": 3.0}, "down": {"b": 0.5}, "weights": {"c": 2.0}},
}
STEP = {"a": 1.0, "b": 0.1, "c": 1.0}


@dataclass
class Case:
    """One query with its target, cost and rules, and all rows that are possible.

    `costs` are those of all rows that keep the rules and are in the target, sorted;
    `changed` says which columns each changes.
    """

    query: pd.DataFrame
    target: object
    threshold: float | None
    cost: dict
    rules: list
    costs: np.ndarray
    changed: np.ndarray

    @property
    def optimum(self):
        """The least cost, inf where nothing is possible."""
        return self.costs[0] if len(self.costs) else np.inf


class World:
    """A table, a model, and what the model says of every possible row.

    Parameters
    ----------
    kind : str
        One of `MODELS`.
    seed : int
    """

    def __init__(self, kind, seed):
        self.rng = np.random.default_rng([seed, sorted(MODELS).index(kind)])
        self.regression = "regressor" in kind
        self.n_classes = 2 if self.regression else 2 + seed % 2
        missing = kind in TAKES_MISSING and seed % 3 != 1
        self.X, self.y = self._table(60, missing)
        encoder = make_column_transformer(
            (OneHotEncoder(sparse_output=False), ["k"]),
            (MinMaxScaler(), ["a", "b", "c"]),
        )
        self.model = make_pipeline(encoder, clone(MODELS[kind]))
        with threadpool_limits(1):
            self.model.fit(self.X, self.y)
        domains = [self._domain(name) for name in self.X]
        index = np.meshgrid(*[np.arange(len(d)) for d in domains], indexing="ij")
        columns = zip(self.X, domains, index, strict=True)
        self.grid = pd.DataFrame({n: d[i.ravel()] for n, d, i in columns})
        self.grid = self.grid.astype(self.X.dtypes)

    def _table(self, n, missing):
        rng = self.rng
        X = pd.DataFrame(
            {
                "a": rng.integers(0, 7, n),
                "b": np.round(rng.uniform(0, 3, n), 1),
                "c": rng.integers(-3, 3, n).astype(float),
                "k": rng.choice(["p", "q", "r", "s"], n),
            }
        )
        level = X["k"].map(dict(zip("pqrs", rng.normal(size=4), strict=True)))
        total = X[["a", "b", "c"]].to_numpy() @ rng.normal(size=3) + level.to_numpy()
        total = total + rng.normal(0, 0.5, n) + X["a"] * X["b"] * rng.normal(0, 0.4)
        if missing:
            X.loc[rng.random(n) < 0.2, "c"] = np.nan
        if self.regression:
            return X, total.to_numpy()
        edges = np.quantile(total, np.arange(1, self.n_classes) / self.n_classes)
        return X, np.searchsorted(edges, total)

    def _domain(self, name):
        column = self.X[name]
        if name == "k":
            return np.unique(column)
        step = STEP[name]
        first, last = np.rint(column.min() / step), np.rint(column.max() / step)
        domain = np.round(np.arange(first, last + 1) * step, 1)
        return np.append(domain, np.nan) if column.isna().any() else domain

    # -- cases ----------------------------------------------------------------------

    def case(self, cost, n_rules):
        """Return a case of a random query, target and rules; None if it is in it."""
        rng = self.rng
        query = self.X.iloc[[int(rng.integers(len(self.X)))]]
        target, threshold = self._target()
        if target != "opposite" and self.reached(query, query, target, threshold)[0]:
            return None
        rules, checks = [], []
        for _ in range(n_rules):
            words, check = self._rule(query)
            rules.append(words)
            checks.append(check)
        cost = COSTS[cost]
        d, g = self._differences(query, cost)
        changed = d > 0
        ok = changed.any(axis=1)
        # A missing value is possible where the query has it.
        ok &= ~self.grid["c"].isna().to_numpy() | bool(query["c"].isna().iloc[0])
        for check in checks:
            ok &= np.asarray(check(self.grid, changed))
        total = self._costs(d, g, cost)
        some = np.flatnonzero(ok)
        some = some[np.argsort(total[some], kind="stable")]
        hit = self.reached(query, self.grid, target, threshold)[some]
        some = some[hit]
        return Case(query, target, threshold, cost, rules, total[some], changed[some])

    def _target(self):
        rng = self.rng
        if self.regression:
            low, high = np.quantile(self.y, [0.3, 0.7])
            options = [(low, low + 0.8), (high, None), (None, low)]
            return options[int(rng.integers(3))], None
        target = "opposite" if rng.random() < 0.5 else int(rng.integers(self.n_classes))
        sure = rng.random() < 0.3
        return target, float(rng.choice([0.5, 0.6, 0.75])) if sure else None

    def _rule(self, query):
        """Return a rule in words, and as a function of rows and what they change."""
        x = {name: query[name].iloc[0] for name in query}
        a, b = x["a"], x["b"]
        # Beyond what was seen it would declare a wider range.
        more = min(a + 1, self.X["a"].max())
        options = [
            (f"cf.a >= {more}", lambda cf, _: cf["a"] >= more),
            ("cf.b >= x.b", lambda cf, _: cf["b"] >= b),
            ("cf.k == x.k", lambda cf, _: cf["k"] == x["k"]),
            ('cf.k in {"p", "q"}', lambda cf, _: cf["k"].isin(["p", "q"])),
            ("cf.b != 1.5", lambda cf, _: cf["b"] != 1.5),
            (
                "cf.a > x.a => cf.b >= x.b + 0.3",
                lambda cf, _: ~(cf["a"] > a) | (cf["b"] >= b + 0.3),
            ),
            ("cf.a + cf.c <= 3", lambda cf, _: cf["a"] + cf["c"] <= 3),
            (
                'cf.k == "r" => cf.a <= 2 or cf.b > 2',
                lambda cf, _: (cf["k"] != "r") | (cf["a"] <= 2) | (cf["b"] > 2),
            ),
            (
                "changed(b) => changed(k)",
                lambda _, changed: ~changed[:, 1] | changed[:, 3],
            ),
            ("max_changes(2)", lambda _, changed: changed.sum(axis=1) <= 2),
            ("max_changes(1)", lambda _, changed: changed.sum(axis=1) <= 1),
        ]
        return options[int(self.rng.integers(len(options)))]

    def reached(self, query, rows, target, threshold):
        """Return which rows the model puts in the target, clear of the boundary."""
        prediction, p = self._told(rows)
        if self.regression:
            low, high = target
            low = -np.inf if low is None else low
            high = np.inf if high is None else high
            return (prediction >= low) & (prediction <= high)
        if target == "opposite":
            old = int(self.model.predict(query)[0])
            rest = np.delete(p, old, axis=1).max(axis=1)
            hit, mass = (prediction != old) & (rest - p[:, old] > CLEAR), 1 - p[:, old]
        else:
            rest, mass = np.delete(p, target, axis=1).max(axis=1), p[:, target]
            hit = (prediction == target) & (mass - rest > CLEAR)
        return hit if threshold is None else hit & (mass >= threshold - 1e-12)

    def _told(self, rows):
        if rows is self.grid:
            if not hasattr(self, "_of_grid"):
                self._of_grid = self._ask(rows)
            return self._of_grid
        return self._ask(rows)

    def _ask(self, rows):
        # Threads that wait for one another take longer than such tables.
        with threadpool_limits(1):
            prediction = self.model.predict(rows)
            if self.regression:
                return prediction, None
            return prediction, self.model.predict_proba(rows).astype(float)

    def _differences(self, query, cost):
        """Return the differences of all rows to the query, and these times prices."""
        d = np.zeros(self.grid.shape)
        g = np.zeros(self.grid.shape)
        for j, name in enumerate(self.grid):
            own, values = query[name].iloc[0], self.grid[name].to_numpy()
            if name == "k":
                d[:, j] = g[:, j] = values != own
                continue
            step = (values - own) / (self.X[name].max() - self.X[name].min())
            up = cost.get("up", {}).get(name, 1.0)
            down = cost.get("down", {}).get(name, 1.0)
            price = np.where(step > 0, up, down)
            gone = (values != values) != (own != own)
            size = np.abs(np.nan_to_num(step))
            d[:, j] = np.where(gone, 1.0, size)
            g[:, j] = np.where(gone, 1.0, size * price)
        return d, g

    def _costs(self, d, g, cost):
        w = np.array([cost.get("weights", {}).get(name, 1.0) for name in self.X])
        total = cost.get("l0", 0.0) * (w * (d > 0)).sum(axis=1)
        total += cost.get("l1", 0.0) * (w * g).sum(axis=1)
        total += cost.get("l2", 0.0) * (w * g**2).sum(axis=1)
        return total / w.sum() + cost.get("linf", 0.0) * (w * g).max(axis=1)
