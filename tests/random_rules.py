"""Random rules about columns, each with its meaning in plain Python."""

from dataclasses import dataclass

import numpy as np

NUMBERS = ("int", "whole", "float")
ORDER = ("low", "mid", "high", "top")


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
