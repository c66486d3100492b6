"""The tree of a rule.

Nodes are immutable and take their normal form when they are built. ``str(node)`` is
the one text of a node, and parsing that text gives the node back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

Column = str | int
Value = str | int | float | bool
# Words of the language; a column called like one of them is written in quotes.
RESERVED = frozenset({"and", "or", "not", "in", "True", "False", "true", "false"})


def literal(value: Value) -> str:
    """Write a value as it stands in a rule."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value).removesuffix(".0")


def is_word(column: Column) -> bool:
    """Tell whether a column can be written without quotes."""
    return str(column).isidentifier() and column not in RESERVED


def check_distinct(values: tuple[Value, ...], what: str) -> None:
    """Raise a ValueError that names the first value given twice."""
    seen = set()
    for text in map(literal, values):  # as text, because True and 1 are distinct
        if text in seen:
            raise ValueError(f"{what} {text} is given twice")
        seen.add(text)


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(f"a number must be finite; got {number}")
    return float(number) + 0.0  # the sum turns -0.0 into 0.0


def _plain(value: Value) -> Value:
    whole = isinstance(value, float) and _finite(value).is_integer()
    return int(value) if whole else value


@dataclass(frozen=True)
class Cell:
    """One column of the counterfactual (``"cf"``) or of the query (``"x"``)."""

    table: str
    column: Column

    def __str__(self):
        if is_word(self.column):
            return f"{self.table}.{self.column}"
        return f"{self.table}[{literal(self.column)}]"


@dataclass(frozen=True)
class Linear:
    """A weighted sum of cells plus a constant."""

    terms: tuple[tuple[float, Cell], ...]
    constant: float = 0.0

    def __post_init__(self):
        weights: dict[Cell, float] = {}
        for weight, cell in self.terms:
            weights[cell] = weights.get(cell, 0.0) + weight
        terms = tuple((_finite(w), cell) for cell, w in weights.items() if w != 0)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "constant", _finite(self.constant))

    @property
    def cell(self) -> Cell | None:
        """The one cell that this is, unless it is more than a cell."""
        alone = len(self.terms) == 1 and self.constant == 0
        return self.terms[0][1] if alone and self.terms[0][0] == 1 else None

    def __str__(self):
        parts = [
            (w, f"{cell}" if abs(w) == 1 else f"{literal(abs(w))} * {cell}")
            for w, cell in self.terms
        ]
        if self.constant or not parts:
            parts.append((self.constant, literal(abs(self.constant))))
        text = "".join(f" {'-' if w < 0 else '+'} {part}" for w, part in parts)
        return f"-{text[3:]}" if text[1] == "-" else text[3:]


@dataclass(frozen=True)
class Text:
    """A string that is one side of a comparison."""

    value: str

    def __str__(self):
        return literal(self.value)


@dataclass(frozen=True)
class Flag:
    """A truth value that is one side of a comparison."""

    value: bool

    def __str__(self):
        return literal(self.value)


@dataclass(frozen=True)
class Comparison:
    """Two sides and one of ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``."""

    left: Side
    op: str
    right: Side

    def __str__(self):
        return f"{self.left} {self.op} {self.right}"


@dataclass(frozen=True)
class Changed:
    """The counterfactual differs from the query in this column."""

    column: Column

    def __str__(self):
        word = is_word(self.column)
        return f"changed({self.column if word else literal(self.column)})"


@dataclass(frozen=True)
class Member:
    """A cell that is, or is not, one of the listed values."""

    cell: Cell
    values: tuple[Value, ...]
    negated: bool = False

    def __post_init__(self):
        if not self.values:
            raise ValueError("a set of values cannot be empty")
        distinct = {literal(value): value for value in map(_plain, self.values)}
        object.__setattr__(self, "values", tuple(distinct.values()))

    def __str__(self):
        values = ", ".join(map(literal, self.values))
        return f"{self.cell} {'not ' * self.negated}in {{{values}}}"


@dataclass(frozen=True)
class Interval:
    """A cell that lies inside, or outside, a closed interval."""

    cell: Cell
    low: float
    high: float
    negated: bool = False

    def __post_init__(self):
        object.__setattr__(self, "low", _finite(self.low))
        object.__setattr__(self, "high", _finite(self.high))
        if self.low > self.high:
            raise ValueError(f"low {self.low} is above high {self.high}")

    def __str__(self):
        low, high = literal(self.low), literal(self.high)
        return f"{self.cell} {'not ' * self.negated}in [{low}, {high}]"


@dataclass(frozen=True)
class Not:
    """The contrary of a clause."""

    operand: Clause

    def __str__(self):
        joined = isinstance(self.operand, And | Or)
        return f"not ({self.operand})" if joined else f"not {self.operand}"


@dataclass(frozen=True)
class _Joint:
    operands: tuple[Clause, ...]

    def __post_init__(self):
        flat: list[Clause] = []
        for operand in self.operands:
            nested = isinstance(operand, type(self))
            flat.extend(operand.operands if nested else [operand])
        if len(flat) < 2:
            raise ValueError(f"{type(self).__name__} joins two clauses or more")
        object.__setattr__(self, "operands", tuple(flat))

    @classmethod
    def of(cls, operands: tuple[Clause, ...]) -> Clause:
        """Join the operands; a lone one is returned as it is."""
        return operands[0] if len(operands) == 1 else cls(operands)


class And(_Joint):
    """Clauses that hold together; a nested And is merged into this one."""

    def __str__(self):
        parts = (f"({o})" if isinstance(o, Or) else str(o) for o in self.operands)
        return " and ".join(parts)


class Or(_Joint):
    """Clauses of which one holds; a nested Or is merged into this one."""

    def __str__(self):
        return " or ".join(map(str, self.operands))


@dataclass(frozen=True)
class Implies:
    """Where the condition holds, so does the consequent."""

    condition: Clause
    consequent: Clause

    def __str__(self):
        return f"{self.condition} => {self.consequent}"


@dataclass(frozen=True)
class _Columns:
    columns: tuple[Column, ...]
    word: ClassVar[str]
    fewest: ClassVar[int] = 2

    def __post_init__(self):
        check_distinct(self.columns, "column")
        if len(self.columns) < self.fewest:
            raise ValueError(f"{self.word} needs {self.fewest} columns or more")

    def __str__(self):
        return f"{self.word}({', '.join(map(literal, self.columns))})"


class Together(_Columns):
    """Columns whose values are only taken jointly."""

    word = "together"


class OneHot(_Columns):
    """Indicator columns of which exactly one is set."""

    word = "one_hot"


class Only(_Columns):
    """No change outside these columns."""

    word = "only"
    fewest = 0


@dataclass(frozen=True)
class Ordered:
    """A column whose levels rank from low to high."""

    column: Column
    levels: tuple[Value, ...]

    def __post_init__(self):
        object.__setattr__(self, "levels", tuple(map(_plain, self.levels)))
        check_distinct(self.levels, "level")
        if len(self.levels) < 2:
            raise ValueError("ordered needs 2 levels or more")

    def __str__(self):
        levels = ", ".join(map(literal, self.levels))
        return f"ordered({literal(self.column)}, [{levels}])"


@dataclass(frozen=True)
class MaxChanges:
    """No more than ``k`` changes."""

    k: int

    def __str__(self):
        return f"max_changes({self.k})"


Side = Linear | Text | Flag
Clause = Comparison | Changed | Member | Interval | Not | And | Or
Structure = Together | OneHot | Only | Ordered | MaxChanges
Tree = Clause | Implies | Structure
