"""The rule, and checks of what users write to make one."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real

import numpy as np

from skcf.constraints import _syntax as syntax
from skcf.constraints._parser import parse


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """One rule on what a counterfactual may be.

    Rules come from functions such as `fixed` or `within` and, for everything that
    these do not say, from `rule` and a text. They are all the same thing: a rule is
    printed as its text, and two rules are equal when their texts are.

    Parameters
    ----------
    tree : node of a parsed rule
        What `rule` makes of a text. It is not meant to be written by hand.

    Attributes
    ----------
    columns : tuple of str or int
        Every column that the rule names.
    cf_columns : tuple of str or int
        The columns whose value in the counterfactual the rule reads.
    x_columns : tuple of str or int
        The columns whose value in the query the rule reads.

    See Also
    --------
    rule : Read a rule from text.

    Notes
    -----
    ``cf.age`` is the age in the counterfactual and ``x.age`` that in the query. A name
    that is not one word goes in quotes, ``cf["hours per week"]``, and a column without
    a name is given by its position, ``cf[3]``.

    A condition compares two sums of cells and numbers (``==``, ``!=``, ``<``, ``<=``,
    ``>``, ``>=``), or a cell with a string, True or False; it says that a cell is
    ``in {"a", "b"}``, ``in [0, 10]`` (ends included) or ``not in`` them; or it is
    ``changed(age)``. A number can multiply a cell, as in ``1.2 * x.age``.

    ``not``, ``and`` and ``or``, in this order of strength, and parentheses combine
    conditions. ``condition => consequent`` makes a whole rule, and so does the call
    of `together`, `one_hot`, `ordered`, `max_changes` or `only` as it is printed.
    Inside a string, a backslash goes before a quote or another backslash.

    A comparison with a missing value is false, except that a column that is missing in
    both rows satisfies ``==``, ``<=`` and ``>=`` between its cells: it is unchanged.
    Ordered categories compare by their rank, other categories by ``==``, ``!=`` and
    ``in`` alone. What is computed equals a number if nothing but the rounding of floats
    lies between them, so that ``cf.total == cf.net + cf.tax`` can hold of decimals.

    Columns are listed in the order in which the text first names them.
    ``changed(column)`` reads both rows. The rules `together`, `one_hot`, `ordered` and
    `only` name columns but read neither row; `max_changes` names none.

    Examples
    --------
    >>> from skcf.constraints import rule
    >>> promotion = rule("cf.rank > x.rank => cf.age >= 4 + x.age")
    >>> promotion
    cf.rank > x.rank => cf.age >= x.age + 4
    >>> promotion.columns
    ('rank', 'age')
    >>> promotion == rule("(cf.rank > x.rank) => cf.age >= x.age + 4")
    True
    """

    tree: syntax.Tree

    def __post_init__(self):
        if not isinstance(self.tree, syntax.Tree):
            raise TypeError(
                "a Rule is built by skcf.constraints.rule(text) or by a function such "
                f"as skcf.constraints.fixed; got {self.tree!r}"
            )

    @property
    def columns(self) -> tuple[syntax.Column, ...]:
        """Every column that the rule names."""
        return tuple(dict.fromkeys(column for _, column in _mentions(self.tree)))

    @property
    def cf_columns(self) -> tuple[syntax.Column, ...]:
        """The columns whose value in the counterfactual the rule reads."""
        return self._columns_of("cf")

    @property
    def x_columns(self) -> tuple[syntax.Column, ...]:
        """The columns whose value in the query the rule reads."""
        return self._columns_of("x")

    def _columns_of(self, wanted: str) -> tuple[syntax.Column, ...]:
        found = (column for table, column in _mentions(self.tree) if table == wanted)
        return tuple(dict.fromkeys(found))

    def __str__(self):
        return str(self.tree)

    __repr__ = __str__

    def __eq__(self, other):
        if not isinstance(other, Rule):
            return NotImplemented
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def _mentions(node: object) -> Iterator[tuple[str | None, syntax.Column]]:
    """Yield table and column in reading order; the table of structure is None."""
    match node:
        case syntax.Cell(table, column):
            yield table, column
        case syntax.Changed(column):
            yield "cf", column
            yield "x", column
        case syntax.Together(columns) | syntax.OneHot(columns) | syntax.Only(columns):
            yield from ((None, column) for column in columns)
        case syntax.Ordered(column):
            yield None, column
        case tuple():
            for part in node:
                yield from _mentions(part)
        case _ if is_dataclass(node):
            for field in fields(node):
                yield from _mentions(getattr(node, field.name))


def check_rules(constraints: object) -> tuple[Rule, ...]:
    """Turn what a user gives as constraints into a tuple of rules.

    Parameters
    ----------
    constraints : Rule, str, iterable of Rule or str, or None
        None and an empty iterable are no rules. Text is parsed.

    Returns
    -------
    rules : tuple of Rule

    Raises
    ------
    TypeError
        If something is neither a rule nor text.
    ValueError
        If a text is not a rule.
    """
    if constraints is None:
        return ()
    if isinstance(constraints, Rule):
        return (constraints,)
    if isinstance(constraints, str):
        return (Rule(parse(constraints)),)
    if not isinstance(constraints, Iterable):
        raise TypeError(
            "constraints must be a rule, the text of one, or an iterable of these; "
            f"got {constraints!r}"
        )
    return tuple(_check_rule(item, place) for place, item in enumerate(constraints))


def _check_rule(item: object, place: int) -> Rule:
    if isinstance(item, Rule):
        return item
    if not isinstance(item, str):
        raise TypeError(
            f"constraints[{place}] must be a rule or the text of one; got {item!r}"
        )
    try:
        return Rule(parse(item))
    except ValueError as error:
        raise ValueError(f"constraints[{place}]: {error}") from None


def check_column(column: object) -> syntax.Column:
    """Return a name as a str and a position as an int."""
    plain = column.item() if isinstance(column, np.generic) else column
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise TypeError(f"a column is a name (str) or a position (int); got {column!r}")
    if isinstance(plain, int) and plain < 0:
        raise ValueError(f"the position of a column cannot be negative; got {column!r}")
    return plain


def check_number(number: object, name: str) -> float:
    """Return a finite number as a float."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a number; got {number!r}")
    try:
        plain = float(number)
    except OverflowError:
        plain = math.inf
    if not math.isfinite(plain):
        raise ValueError(f"{name} must be finite; got {number!r}")
    return plain


def check_value(value: object, name: str) -> syntax.Value:
    """Return a value of a cell as a str, a bool, an int or a float."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, str | bool):
        return plain
    if not isinstance(plain, Real):
        raise TypeError(f"{name} must be a string, a number or a bool; got {value!r}")
    number = check_number(plain, name)
    return plain if isinstance(plain, int) else number
