import pytest
from hypothesis import given
from hypothesis import strategies as st

from skcf.constraints._atoms import rule
from skcf.constraints._parser import MAX_DEPTH, parse
from skcf.constraints._rule import Rule
from skcf.constraints._syntax import (
    And,
    Cell,
    Changed,
    Comparison,
    Flag,
    Implies,
    Interval,
    Linear,
    MaxChanges,
    Member,
    Not,
    OneHot,
    Only,
    Or,
    Ordered,
    Text,
    Together,
)


def lone(table, column):
    return Linear(((1.0, Cell(table, column)),))


def number(value):
    return Linear((), value)


A, B, C = (Comparison(lone("cf", name), ">", number(0)) for name in "abc")


@pytest.mark.parametrize(
    "text, tree",
    [
        ("cf.a > 0 or cf.b > 0 and cf.c > 0", Or((A, And((B, C))))),
        ("(cf.a > 0 or cf.b > 0) and cf.c > 0", And((Or((A, B)), C))),
        ("not cf.a > 0 and cf.b > 0", And((Not(A), B))),
        ("not (cf.a > 0 and cf.b > 0)", Not(And((A, B)))),
        ("cf.a > 0 => cf.b > 0 or cf.c > 0", Implies(A, Or((B, C)))),
        ("cf.a > 0 and (cf.b > 0 and cf.c > 0)", And((A, B, C))),
        (
            "x[3] == cf['the age']",
            Comparison(lone("x", 3), "==", lone("cf", "the age")),
        ),
        ("cf.a == 'b'", Comparison(lone("cf", "a"), "==", Text("b"))),
        ("true != x.a", Comparison(Flag(True), "!=", lone("x", "a"))),
        (
            "-2 * cf.a + x.b * 0.5 - 1 <= .5e1",
            Comparison(
                Linear(((-2.0, Cell("cf", "a")), (0.5, Cell("x", "b"))), -1.0),
                "<=",
                number(5),
            ),
        ),
        ("cf.a in {1, -2.5, 'b', True}", Member(Cell("cf", "a"), (1, -2.5, "b", True))),
        ("x.a not in {2}", Member(Cell("x", "a"), (2,), negated=True)),
        ("cf.a in [-1, 2e3]", Interval(Cell("cf", "a"), -1.0, 2000.0)),
        ("x.a not in [0, 0]", Interval(Cell("x", "a"), 0.0, 0.0, negated=True)),
        ("changed(a)", Changed("a")),
        ("changed('not a')", Changed("not a")),
        ("changed(0)", Changed(0)),
        ("together(a, 'b c', 2)", Together(("a", "b c", 2))),
        ("one_hot('a', 'b')", OneHot(("a", "b"))),
        ("ordered('a', ['low', 'high'])", Ordered("a", ("low", "high"))),
        ("ordered(0, [-1, 2.5, true])", Ordered(0, (-1, 2.5, True))),
        ("max_changes(2)", MaxChanges(2)),
        ("only()", Only(())),
    ],
)
def test_tree(text, tree):
    assert parse(text) == tree
    assert parse(str(tree)) == tree


@pytest.mark.parametrize(
    "text, canonical",
    [
        ("  cf . a>=x . a+4 ", "cf.a >= x.a + 4"),
        ("4 + x.a <= cf.a", "x.a + 4 <= cf.a"),
        ("cf.a + 2*cf.b - cf.a + 1 - 3 > 0", "2 * cf.b - 2 > 0"),
        ("-cf.a - 0 < -0.0", "-cf.a < 0"),
        ("cf.a - cf.a == 0 * x.b", "0 == 0"),
        (
            "((cf.a > 0)) or (cf.b > 0 and cf.c > 0)",
            "cf.a > 0 or cf.b > 0 and cf.c > 0",
        ),
        ("not(not(cf.a > 0))", "not not cf.a > 0"),
        ("(cf.a == 1) => (cf.b == 2)", "cf.a == 1 => cf.b == 2"),
        ("cf['a'] == x[\"b c\"]", 'cf.a == x["b c"]'),
        ("cf['in'] == cf.class", 'cf["in"] == cf.class'),
        (r"cf['it\'s'] == 'a\\b\"c'", r'''cf["it's"] == "a\\b\"c"'''),
        ("cf.a in {1.0, 1, 01, 1e0, True, '1'}", 'cf.a in {1, True, "1"}'),
        (
            "cf.a in {1e17, 1234567890123456789}",
            f"cf.a in {{{10**17}, 1234567890123456789}}",
        ),
        ("cf.a in [1e300, 1.7e308]", "cf.a in [1e+300, 1.7e+308]"),
        ("cf.Größe < x.तिथि", "cf.Größe < x.तिथि"),
        ("cf.a\n  > 0\n\tand cf.b > 0", "cf.a > 0 and cf.b > 0"),
        ("changed( 'True' )", 'changed("True")'),
        ("only(a)", 'only("a")'),
    ],
)
def test_canonical_text(text, canonical):
    assert str(rule(text)) == repr(rule(text)) == canonical


_SIDE = 'a number, a cell (cf.name, x.name or cf["name"]) or a string'
_COMPARE = "expected a comparison (==, !=, <, <=, >, >=) or 'in'"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", f"expected {_SIDE}; got the end of the rule"),
        ("cf.a == ", f"expected {_SIDE}; got the end of the rule"),
        ("^age >= 3", f"expected {_SIDE}; got 'age'"),
        ("cf.hours-^per-week < 3", f"expected {_SIDE}; got 'per'"),
        ("cf.a >= ^(x.a + 1)", f"expected {_SIDE}; got '('"),
        ("cf.a ^= 3", f"{_COMPARE}; got '='"),
        ("cf.a ^=> cf.b == 1", f"{_COMPARE}; got '=>'"),
        ("cf.a ^", f"{_COMPARE}; got the end of the rule"),
        ("1 < cf.a ^< 3", "expected 'and', 'or', '=>' or the end of the rule; got '<'"),
        (
            "cf.a > 0 => cf.b > 0 ^=> cf.c > 0",
            "expected 'and', 'or' or the end of the rule; got '=>'",
        ),
        ("(cf.a > 0 ^=> cf.b > 0)", "expected 'and', 'or' or ')'; got '=>'"),
        ("cf ^> 0", "expected cf.name, cf['name'] or cf[3]; got '>'"),
        ("x^.3 > 0", "expected x.name, x['name'] or x[3]; got '.3'"),
        ("x.^'a' > 0", "expected the name of a column; got ''a''"),
        (
            "cf[^a] > 0",
            "expected a name in quotes or the position of a column; got 'a'",
        ),
        ("cf[^1.5] > 0", "a name in quotes or the position of a column; got '1.5'"),
        ("cf.a * ^cf.b > 0", "expected a number; got 'cf'"),
        ("2 * ^3 > cf.a", "expected a cell (cf.name or x.name); got '3'"),
        ("cf.a ^/ 2 > 0", f"{_COMPARE}; got '/'"),
        ("cf.a == x.a + ^'b'", "a string or a truth value is a side of its own"),
        ("cf.a == ^True + 1", "a string or a truth value is a side of its own"),
        ("cf.a == -^'b'", "a string or a truth value is a side of its own"),
        (
            "^cf.a + 1 in {2}",
            "only a single cell, cf.name or x.name, can be 'in' a set",
        ),
        ("^'a' in {'a'}", "only a single cell, cf.name or x.name, can be 'in' a set"),
        ("cf.a in ^(1, 2)", "expected '{' or '['; got '('"),
        ("cf.a in {^}", "expected a number, a string, True or False; got '}'"),
        ("cf.a in {1 ^2}", "expected ',' or '}'; got '2'"),
        ("cf.a in [1, ^'b']", "expected a number; got ''b''"),
        ("cf.a in ^[6, 1.5]", "low 6.0 is above high 1.5"),
        ("cf.a not ^== 1", "expected 'in'; got '=='"),
        ("cf.a == ^'b", "this quote is never closed"),
        (r"cf.a == 'C:^\data'", "only a quote or a backslash can follow a backslash"),
        ("cf.a > ^1e999", "1e999 is too large for a number"),
        ("cf.a > ^1e308 + 1e308", "a number must be finite; got inf"),
        ("cf.a > 0 and ^only('a')", "only(...) is a rule of its own, not part of one"),
        ("only('a') ^and cf.a > 0", "expected the end of the rule; got 'and'"),
        ("^together('a', \"a\")", 'column "a" is given twice'),
        ("^one_hot(a)", "one_hot needs 2 columns or more"),
        ("^ordered(a, [1, 1.0])", "level 1 is given twice"),
        ("^ordered(a, [1])", "ordered needs 2 levels or more"),
        ("max_changes(^-1)", "expected a whole number; got '-'"),
        ("max_changes(^1.5)", "expected a whole number; got '1.5'"),
        ("cf.a > 0 ^; import os", "or the end of the rule; got ';'"),
        ("^__import__('os') == 1", f"expected {_SIDE}; got '__import__'"),
    ],
)
def test_error_points_at_the_place(text, message):
    place = text.index("^") if "^" in text else len(text)
    text = text.replace("^", "")
    with pytest.raises(ValueError) as caught:
        parse(text)
    first, *marked = str(caught.value).split("\n")
    assert message in first
    assert marked == [text, " " * place + "^"]


def test_caret_stands_below_its_line():
    with pytest.raises(ValueError) as caught:
        parse("cf.a > 0\n\tand b > 0\n\tand cf.c > 0")
    assert str(caught.value).split("\n")[1:] == [
        "cf.a > 0",
        "\tand b > 0",
        "\t    ^",
        "\tand cf.c > 0",
    ]


@pytest.mark.parametrize("opening, closing", [("(", ")"), ("not ", ""), ("not(", ")")])
def test_nesting_is_bounded(opening, closing):
    levels = MAX_DEPTH // (2 if opening == "not(" else 1)
    assert rule(opening * levels + "cf.a > 0" + closing * levels).columns == ("a",)
    for depth in (levels + 1, 100_000):
        with pytest.raises(ValueError, match="no deeper than 50 levels"):
            parse(opening * depth + "cf.a > 0" + closing * depth)


def test_length_is_not_bounded():
    text = " or ".join(f"(cf.a == {i} and not x.b == {i})" for i in range(5_000))
    assert len(parse(text).operands) == 5_000
    assert parse("cf.a > " + "0" * 5_000 + "7") == parse("cf.a > 7")
    assert rule(f"cf['{'a' * 10**6}'] > 0").columns == ("a" * 10**6,)


names = (
    st.text()
    | st.integers(0, 99)
    | st.sampled_from(["a", "b", "in", "true", "cf", "changed", "class", "तिथि", "x²"])
)
floats = st.floats(-1e300, 1e300) | st.integers(-99, 99)
values = st.text() | st.booleans() | st.integers() | floats
cells = st.builds(Cell, st.sampled_from(["cf", "x"]), names)
sides = (
    st.builds(Linear, st.lists(st.tuples(floats, cells), max_size=3), floats)
    | st.builds(Text, st.text())
    | st.builds(Flag, st.booleans())
)
operators = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
atoms = (
    st.builds(Comparison, sides, operators, sides)
    | st.builds(Changed, names)
    | st.builds(Member, cells, st.lists(values, min_size=1), st.booleans())
    | st.tuples(cells, st.tuples(floats, floats).map(sorted), st.booleans()).map(
        lambda parts: Interval(parts[0], *parts[1], parts[2])
    )
)


def combine(clauses):
    several = st.lists(clauses, min_size=2, max_size=3).map(tuple)
    return st.builds(Not, clauses) | st.builds(And, several) | st.builds(Or, several)


clauses = st.recursive(atoms, combine, max_leaves=8)
columns = st.lists(names, min_size=2, unique=True).map(tuple)
trees = (
    clauses
    | st.builds(Implies, clauses, clauses)
    | st.builds(Together, columns)
    | st.builds(OneHot, columns)
    | st.builds(Only, columns)
    | st.builds(MaxChanges, st.integers(0))
    | st.builds(Ordered, names, st.lists(st.text(), min_size=2, unique=True))
)


@given(trees)
def test_round_trip(tree):
    written = Rule(tree)
    assert rule(str(written)) == written
    assert parse(str(tree)) == tree


words = st.sampled_from(
    "cf x . a [ ] 3 ( ) not and or in => == < + - * { } , 'b' \" 1e9 True only changed"
    " \\ ² é".split()
)


@given(st.lists(words, max_size=12).map(" ".join) | st.text(max_size=12))
def test_any_text_is_a_rule_or_an_explained_error(text):
    try:
        read = rule(text)
    except ValueError as error:
        assert str(error).startswith("cannot read a rule: ")
    else:
        assert rule(str(read)) == read
