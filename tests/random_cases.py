"""Random tables, rules and models, with rules judged in plain Python.

A case is drawn in two parts: its structure, which hypothesis can simplify, and a seed
for the values. Every rule comes with a function that says whether a counterfactual
keeps it, so that no code under test has a part in the verdict.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st
from sklearn.base import is_regressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

KINDS = ("int", "whole", "float", "bool", "category", "ordered", "str")
ORDER = ("low", "mid", "high", "top")
LEVELS = {
    "category": ("a", "b", "c", "never"),
    "ordered": ORDER,
    "str": ("p", "q", "r s"),
}
NUMBERS = ("int", "whole", "float")
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(7, max_depth=5, random_state=0),
    "logistic": LogisticRegression(),
    "svc": SVC(),
    "linear_svc": LinearSVC(),
    "hist": HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=3, categorical_features="from_dtype"
    ),
    "tree_regressor": DecisionTreeRegressor(max_depth=4, random_state=0),
    "ridge": Ridge(),
}


@dataclass
class Column:
    """A column of a case; the values are plain, None where missing."""

    name: str
    kind: str
    values: list
    decimals: int = 0

    @property
    def known(self):
        """The values without missing ones."""
        return [v for v in self.values if v is not None]

    def rank(self, value):
        """Return a value as a number that compares as the column does."""
        if self.kind == "ordered" and value is not None:
            return ORDER.index(value)
        return value


@dataclass(repr=False)
class Case:
    """A table with a model and rules, and what the rules mean."""

    made: tuple
    columns: dict
    X: object
    y: np.ndarray
    queries: object
    model: object
    target: object
    threshold: float | None = None
    rules: list = field(default_factory=list)
    holds: list = field(default_factory=list)
    ranges: dict = field(default_factory=dict)

    def __repr__(self):
        return f"build{self.made}"


# -- tables ---------------------------------------------------------------------------


def make_column(name, kind, n, missing, rng):
    """Return a column of random values, some of them missing if that is asked for."""
    decimals = 0
    if kind in ("int", "whole"):
        values = rng.integers(-4, 12, size=n).tolist()
    elif kind == "float":
        decimals = int(rng.choice([1, 2, 4]))
        values = np.round(rng.normal(0, 10, size=n), decimals).tolist()
    elif kind == "bool":
        values = (rng.random(n) < 0.5).tolist()
    else:
        levels = LEVELS[kind][:3] if kind == "category" else LEVELS[kind]
        values = rng.choice(levels, size=n).tolist()
    if missing and kind not in ("int", "bool"):
        gone = rng.random(n) < 0.15
        values = [None if g else v for g, v in zip(gone, values, strict=True)]
    return Column(name, kind, values, decimals)


def to_pandas(columns):
    """Return columns as a pandas frame with an index of its own."""
    dtypes = {"int": "int64", "whole": "float64", "float": "float64", "bool": bool}
    dtypes |= {"category": pd.CategoricalDtype(LEVELS["category"]), "str": "str"}
    dtypes["ordered"] = pd.CategoricalDtype(ORDER, ordered=True)
    data = {c.name: pd.Series(c.values, dtype=dtypes[c.kind]) for c in columns}
    frame = pd.DataFrame(data)
    return frame.set_axis([f"i{i}" for i in range(len(frame))])


def to_polars(columns):
    """Return columns as a polars frame."""
    dtypes = {"int": pl.Int32, "whole": pl.Float64, "float": pl.Float64}
    dtypes |= {"bool": pl.Boolean, "str": pl.String, "ordered": pl.Enum(ORDER)}
    dtypes["category"] = pl.Categorical()
    return pl.DataFrame(
        [pl.Series(c.name, c.values, dtype=dtypes[c.kind]) for c in columns]
    )


def to_array(columns):
    """Return columns as an array: of floats if there are numbers alone."""
    numbers = all(c.kind in NUMBERS for c in columns)
    values = [[np.nan if v is None else v for v in c.values] for c in columns]
    return np.array(values, dtype=float if numbers else object).T


def plain_rows(table):
    """Return the rows of a table as dicts of plain values, None where missing."""
    if isinstance(table, np.ndarray):
        columns = {j: table[:, j].tolist() for j in range(table.shape[1])}
    else:
        columns = {name: table[name].to_list() for name in table.columns}
    rows = zip(*columns.values(), strict=True)
    return [
        {
            n: None if v is None or v != v else v
            for n, v in zip(columns, row, strict=True)
        }
        for row in rows
    ]


def encoded(model, columns):
    """Return a model behind imputation, scaling and one-hot encoding."""
    numbers = [c.name for c in columns if c.kind in NUMBERS]
    others = [c.name for c in columns if c.kind not in NUMBERS]
    encoder = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore"), others),
        sparse_threshold=0.0,
    )
    return make_pipeline(encoder, model)


# -- rules ----------------------------------------------------------------------------


def same(a, b):
    """Compare values of one column: a missing value equals a missing one."""
    return a == b


def over(a, b, step=0.0):
    """Tell whether a >= b + step: never where one is missing, but where both are."""
    if a is None or b is None:
        return a is b and step == 0
    return a >= b + step


def cell(table, name):
    """Write a cell of a rule."""
    if isinstance(name, str) and name.isidentifier():
        return f"{table}.{name}"
    return f"{table}[{quoted(name)}]"


def quoted(value):
    """Write a literal of a rule."""
    return f'"{value}"' if isinstance(value, str) else str(value)


class Rules:
    """Makes rules about the columns of a case, with their meaning."""

    def __init__(self, columns, rng):
        self.columns, self.rng = columns, rng
        self.numbers = [c for c in columns if c.kind in NUMBERS]
        self.ranked = [c for c in columns if c.kind in (*NUMBERS, "ordered")]
        self.named = [c for c in columns if c.kind not in NUMBERS]
        self.ranges = {}
        self.group = set()

    def pick(self, columns):
        """Return one of some columns, of all if there are none."""
        columns = columns or self.columns
        return columns[int(self.rng.integers(len(columns)))]

    def value(self, column):
        """Return a value of a column."""
        return column.known[int(self.rng.integers(len(column.known)))]

    def fixed(self):
        """Return: the column stays."""
        c = self.pick(self.columns)
        text = f"{cell('cf', c.name)} == {cell('x', c.name)}"
        return text, lambda x, cf: same(cf[c.name], x[c.name])

    def increasing(self):
        """Return: the column does not fall."""
        if not self.ranked:
            return self.fixed()
        c = self.pick(self.ranked)
        text = f"{cell('cf', c.name)} >= {cell('x', c.name)}"
        return text, lambda x, cf: over(c.rank(cf[c.name]), c.rank(x[c.name]))

    def within(self):
        """Return: the column is in an interval."""
        if not self.numbers:
            return self.one_of()
        c = self.pick(self.numbers)
        low, high = sorted([self.value(c), self.value(c)])
        high += 1
        have = self.ranges.get(c.name, (-np.inf, np.inf))
        self.ranges[c.name] = (max(have[0], low), min(have[1], high))
        text = f"{cell('cf', c.name)} in [{low}, {high}]"

        def holds(x, cf):
            return cf[c.name] is not None and low <= cf[c.name] <= high

        return text, holds

    def one_of(self):
        """Return: the column is one of two values."""
        c = self.pick(self.named)
        if c.kind in NUMBERS:
            return self.within()
        some = sorted({self.value(c), self.value(c)})
        text = f"{cell('cf', c.name)} in {{{', '.join(map(quoted, some))}}}"
        return text, lambda x, cf: cf[c.name] in some

    def few(self):
        """Return: few columns change."""
        k = int(self.rng.integers(1, 4))

        def holds(x, cf):
            changed = {c.name for c in self.columns if not same(x[c.name], cf[c.name])}
            as_one = self.group & changed
            return len(changed) - len(as_one) + bool(as_one) <= k

        return f"max_changes({k})", holds

    def implies(self):
        """Return: a column that rises takes another one along."""
        if not (self.ranked and self.numbers):
            return self.follows()
        a, b = self.pick(self.ranked), self.pick(self.numbers)
        step = int(self.rng.integers(0, 3))
        text = (
            f"{cell('cf', a.name)} > {cell('x', a.name)} => "
            f"{cell('cf', b.name)} >= {cell('x', b.name)} + {step}"
        )

        def holds(x, cf):
            rank = a.rank(cf[a.name]), a.rank(x[a.name])
            rises = None not in rank and rank[0] > rank[1]
            return not rises or over(cf[b.name], x[b.name], step)

        return text, holds

    def follows(self):
        """Return: a column changes only together with another one."""
        a, b = self.pick(self.columns), self.pick(self.columns)
        text = f"changed({self._name(a)}) => changed({self._name(b)})"
        return (
            text,
            lambda x, cf: (
                same(cf[a.name], x[a.name]) or not same(cf[b.name], x[b.name])
            ),
        )

    def either(self):
        """Return: a column stays, or another one is below a value."""
        a, b = self.pick(self.columns), self.pick(self.numbers)
        if b.kind not in NUMBERS:
            return self.follows()
        most = self.value(b)
        text = f"not changed({self._name(a)}) or {cell('cf', b.name)} < {most}"

        def holds(x, cf):
            low = cf[b.name] is not None and cf[b.name] < most
            return same(cf[a.name], x[a.name]) or low

        return text, holds

    def total(self):
        """Return: two numbers do not fall by more than a bit, taken together."""
        if not self.numbers:
            return self.few()
        a, b = self.pick(self.numbers), self.pick(self.numbers)
        text = (
            f"{cell('cf', a.name)} + 2 * {cell('cf', b.name)} >= "
            f"{cell('x', a.name)} + 2 * {cell('x', b.name)} - 3"
        )

        def holds(x, cf):
            cells = (cf[a.name], cf[b.name], x[a.name], x[b.name])
            if None in cells:
                return False
            gap = cells[0] + 2 * cells[1] - cells[2] - 2 * cells[3] + 3
            return gap >= -1e-9

        return text, holds

    def together(self):
        """Return: two columns take pairs that were seen."""
        if len(self.columns) < 2:
            return self.few()
        at = self.rng.choice(len(self.columns), size=2, replace=False)
        a, b = (self.columns[i] for i in at)
        self.group = {a.name, b.name}
        pairs = zip(a.values, b.values, strict=True)
        seen = {pair for pair in pairs if None not in pair}
        text = f"together({quoted(a.name)}, {quoted(b.name)})"

        def holds(x, cf):
            pair = cf[a.name], cf[b.name]
            return pair == (x[a.name], x[b.name]) or pair in seen

        return text, holds

    def _name(self, column):
        return quoted(column.name)


TEMPLATES = (
    "fixed",
    "increasing",
    "within",
    "one_of",
    "few",
    "implies",
    "follows",
    "either",
    "total",
    "together",
)


# -- cases ----------------------------------------------------------------------------

CONTAINERS = {"pandas": to_pandas, "polars": to_polars, "array": to_array}


@st.composite
def cases(draw, models=tuple(MODELS), max_rules=3):
    """Draw a case."""
    model = draw(st.sampled_from(models))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=5))
    missing, container = draw(st.booleans()), draw(st.sampled_from(list(CONTAINERS)))
    templates = draw(st.lists(st.sampled_from(TEMPLATES), max_size=max_rules))
    n, seed = draw(st.integers(30, 50)), draw(st.integers(0, 2**16))
    return build(model, kinds, missing, container, templates, n, seed)


def build(model, kinds, missing, container, templates, n, seed):
    """Return the case of a structure and a seed."""
    made = (model, kinds, missing, container, templates, n, seed)
    rng = np.random.default_rng(seed)
    if model == "hist":
        container = "pandas"
        kinds = ["category" if kind == "str" else kind for kind in kinds]
    names = ["c0", "c 1", *(f"c{j}" for j in range(2, len(kinds)))]
    if container == "array":
        names = range(len(kinds))
        kinds = ["str" if kind in ("category", "ordered") else kind for kind in kinds]
    columns = [
        make_column(name, kind, n, missing, rng)
        for name, kind in zip(names, kinds, strict=True)
    ]
    X = CONTAINERS[container](columns)
    estimator = MODELS[model] if model == "hist" else encoded(MODELS[model], columns)
    y, target, threshold = _outcome(columns, MODELS[model], rng)
    by_name = {c.name: c for c in columns}
    case = Case(made, by_name, X, y, X[:6], estimator, target, threshold)
    maker, used = Rules(columns, rng), set()
    for name in templates:
        if name in ("together", "few") and name in used:
            continue
        used.add(name)
        text, holds = getattr(maker, name)()
        case.rules.append(text)
        case.holds.append(holds)
    case.ranges = maker.ranges
    return case


def _outcome(columns, model, rng):
    """Return (y, target, threshold): what hangs on all columns, and what is wanted."""
    total = rng.normal(0, 0.3, size=len(columns[0].values))
    for c in columns:
        levels = sorted(set(c.known), key=str)
        codes = [0 if v is None else levels.index(v) for v in c.values]
        total += rng.choice([-1, 1]) * np.array(codes) / max(1, len(levels) - 1)
    if is_regressor(model):
        low = float(np.quantile(total, 0.6))
        return total, (low, None) if rng.random() < 0.5 else (low, low + 1.0), None
    n_classes = int(rng.choice([2, 2, 3]))
    edges = np.quantile(total, np.arange(1, n_classes) / n_classes)
    y = np.array(["no", "perhaps", "yes"])[np.searchsorted(edges, total)]
    target = "opposite" if rng.random() < 0.6 else y[0].item()
    sure = hasattr(model, "predict_proba") and rng.random() < 0.3
    return y, target, float(rng.choice([4 / 7, 0.6, 5 / 7])) if sure else None
