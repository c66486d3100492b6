"""Functions that make the usual rules."""

from collections.abc import Iterable
from decimal import Decimal
from numbers import Integral

import numpy as np

from skcf.constraints import _syntax as syntax
from skcf.constraints._parser import parse
from skcf.constraints._rule import Rule, check_column, check_number, check_value


def rule(text):
    """Read a rule from text.

    Parameters
    ----------
    text : str
        The rule, in the language that the notes of `Rule` describe.

    Returns
    -------
    rule : Rule

    Raises
    ------
    ValueError
        If `text` is not a rule. The message points at the place.

    Examples
    --------
    >>> from skcf.constraints import rule
    >>> rule("changed(city) => cf.rent <= 1.2 * x.rent and cf.job not in {'none'}")
    changed(city) => cf.rent <= 1.2 * x.rent and cf.job not in {"none"}
    """
    if not isinstance(text, str):
        raise TypeError(f"a rule is read from a string; got {text!r}")
    return Rule(parse(text))


def fixed(*columns):
    """Let columns keep the value that they have in the query.

    Parameters
    ----------
    *columns : str or int
        Names or positions.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import fixed
    >>> fixed("sex", "race")
    cf.sex == x.sex and cf.race == x.race
    """
    return _against_query("fixed", columns, "==")


def increasing(*columns):
    """Let columns keep their value or go up.

    Parameters
    ----------
    *columns : str or int
        Names or positions.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import increasing
    >>> increasing("age")
    cf.age >= x.age
    """
    return _against_query("increasing", columns, ">=")


def decreasing(*columns):
    """Let columns keep their value or go down.

    Parameters
    ----------
    *columns : str or int
        Names or positions.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import decreasing
    >>> decreasing("debt")
    cf.debt <= x.debt
    """
    return _against_query("decreasing", columns, "<=")


def only(*columns):
    """Let no other columns change.

    Parameters
    ----------
    *columns : str or int
        Names or positions. Without any, nothing may change.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import only
    >>> only("income", "savings")
    only("income", "savings")
    """
    return Rule(syntax.Only(_columns(columns)))


def within(column, low=None, high=None):
    """Keep a column between bounds.

    Parameters
    ----------
    column : str or int
        Name or position.
    low, high : float, default=None
        The bounds, in the unit of the column and both included. None leaves that side
        open; one of the two is needed.

    Returns
    -------
    rule : Rule

    See Also
    --------
    change_within : Bounds on the change rather than on the value.

    Examples
    --------
    >>> from skcf.constraints import within
    >>> within("hours", 10, 60)
    cf.hours in [10, 60]
    >>> within("hours", high=60)
    cf.hours <= 60
    """
    column = check_column(column)
    bounds = _bounds("within", low, high)
    if len(bounds) == 2:
        cell = syntax.Cell("cf", column)
        return Rule(syntax.Interval(cell, *(bound for _, bound in bounds)))
    return Rule(_compare(column, [(op, syntax.Linear((), b)) for op, b in bounds]))


def change_within(column, low=None, high=None, *, relative=False):
    """Keep the change of a column between bounds.

    Parameters
    ----------
    column : str or int
        Name or position.
    low, high : float, default=None
        Bounds on counterfactual minus query, both included; a decrease is negative.
        None leaves that side open; one of the two is needed.
    relative : bool, default=False
        Whether the bounds are in the unit of the column or, if True, fractions of the
        absolute value in the query: 0.2 is a rise by a fifth.

    Returns
    -------
    rule : Rule

    See Also
    --------
    within : Bounds on the value rather than on the change.

    Notes
    -----
    Where the bounds allow a change of 0, an unchanged cell satisfies the rule even when
    its value is missing. Relative bounds are multiplied out, so that from a query of 0
    `low` allows no decrease and `high` no increase.

    Examples
    --------
    >>> from skcf.constraints import change_within
    >>> change_within("age", 1, 5)
    cf.age >= x.age + 1 and cf.age <= x.age + 5
    >>> change_within("rent", high=100)
    cf.rent == x.rent or cf.rent <= x.rent + 100
    """
    column = check_column(column)
    bounds = _bounds("change_within", low, high)
    if not isinstance(relative, bool | np.bool):
        raise TypeError(f"relative must be True or False; got {relative!r}")
    if relative:
        tree = syntax.Or((_scaled(column, bounds, 1), _scaled(column, bounds, -1)))
    else:
        sides = [(op, _query(column, constant=bound)) for op, bound in bounds]
        tree = _compare(column, sides)
    if all(bound <= 0 if op == ">=" else bound >= 0 for op, bound in bounds):
        tree = syntax.Or((_compare(column, [("==", _query(column))]), tree))
    return Rule(tree)


def one_of(column, values):
    """Let a column take only the listed values.

    Parameters
    ----------
    column : str or int
        Name or position.
    values : iterable of str, bool, int or float
        The values. Those of a set are sorted, since a set has no order of its own.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import one_of
    >>> one_of("housing", ["rent", "own"])
    cf.housing in {"rent", "own"}
    """
    cell = syntax.Cell("cf", check_column(column))
    return Rule(syntax.Member(cell, _values("values", values)))


def max_changes(k):
    """Let no more than k features change; a group of columns counts as one.

    Parameters
    ----------
    k : int
        The number of changes, 0 or more.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import max_changes
    >>> max_changes(2)
    max_changes(2)
    """
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise TypeError(f"k must be an int; got {k!r}")
    if k < 0:
        raise ValueError(f"k must be 0 or more; got {k!r}")
    return Rule(syntax.MaxChanges(int(k)))


def together(*columns):
    """Let columns take only combinations of values that were seen in fit.

    Parameters
    ----------
    *columns : str or int
        Names or positions, two or more.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import together
    >>> together("city", "zip")
    together("city", "zip")
    """
    return Rule(syntax.Together(_columns(columns)))


def one_hot(*columns):
    """Treat indicator columns as one category: exactly one of them is set.

    Parameters
    ----------
    *columns : str or int
        Names or positions, two or more.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import one_hot
    >>> one_hot("is_red", "is_blue")
    one_hot("is_red", "is_blue")
    """
    return Rule(syntax.OneHot(_columns(columns)))


def ordered(column, levels):
    """Give the levels of a column an order.

    Parameters
    ----------
    column : str or int
        Name or position.
    levels : iterable of str, bool, int or float
        Two levels or more, from low to high.

    Returns
    -------
    rule : Rule

    Examples
    --------
    >>> from skcf.constraints import ordered
    >>> ordered("education", ["school", "bachelor", "master"])
    ordered("education", ["school", "bachelor", "master"])
    """
    return Rule(syntax.Ordered(check_column(column), _values("levels", levels)))


def _columns(columns):
    return tuple(map(check_column, columns))


def _values(name, values):
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of values; got {values!r}")
    plain = [check_value(value, f"each of {name}") for value in values]
    if isinstance(values, set | frozenset):
        plain.sort(key=lambda value: (isinstance(value, str), value))
    return tuple(plain)


def _bounds(caller, low, high):
    """Return the bounds that are given, each with the comparison that it sets."""
    if low is None and high is None:
        raise ValueError(f"{caller} needs low, high or both")
    given = ((">=", low, "low"), ("<=", high, "high"))
    bounds = [(op, check_number(b, name)) for op, b, name in given if b is not None]
    if bounds[0][1] > bounds[-1][1]:
        raise ValueError(f"{caller}: low {low!r} is above high {high!r}")
    return bounds


def _query(column, weight=1.0, constant=0.0):
    return syntax.Linear(((weight, syntax.Cell("x", column)),), constant)


def _compare(column, sides):
    cell = syntax.Linear(((1.0, syntax.Cell("cf", column)),))
    return syntax.And.of(tuple(syntax.Comparison(cell, op, side) for op, side in sides))


def _against_query(caller, columns, op):
    columns = _columns(columns)
    if not columns:
        raise ValueError(f"{caller} needs one column or more")
    syntax.check_distinct(columns, "column")
    clauses = (_compare(column, [(op, _query(column))]) for column in columns)
    return Rule(syntax.And.of(tuple(clauses)))


def _scaled(column, bounds, sign):
    """Bound the relative change of a column whose query has this sign."""
    where = syntax.Comparison(
        _query(column), ">=" if sign > 0 else "<", syntax.Linear(())
    )
    # Added as decimals, so that 1 - 0.9 reads 0.1.
    sides = [
        (op, _query(column, float(1 + sign * Decimal(repr(bound)))))
        for op, bound in bounds
    ]
    return syntax.And((where, _compare(column, sides)))
