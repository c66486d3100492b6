"""From text to tree by recursive descent; nothing is ever evaluated.

::

    rule       :  clause ["=>" clause]  |  structure
    clause     :  joint ("or" joint)*
    joint      :  unit ("and" unit)*
    unit       :  "not" unit  |  "(" clause ")"  |  "changed" "(" name ")"
               |  side OPERATOR side  |  cell ["not"] "in" collection
    side       :  ["-"] term (("+" | "-") term)*  |  STRING  |  truth
    term       :  NUMBER ["*" cell]  |  cell ["*" NUMBER]
    cell       :  ("cf" | "x") ("." WORD | "[" (STRING | INTEGER) "]")
    collection :  "{" value ("," value)* "}"  |  "[" number "," number "]"
    structure  :  ("together" | "one_hot" | "only") "(" [name ("," name)*] ")"
               |  "ordered" "(" name "," "[" value ("," value)* "]" ")"
               |  "max_changes" "(" INTEGER ")"
    name       :  WORD  |  STRING  |  INTEGER
    value      :  STRING  |  number  |  truth
    number     :  ["-"] NUMBER
    truth      :  "True"  |  "true"  |  "False"  |  "false"
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn

from skcf.constraints import _syntax as syntax

MAX_DEPTH = 50

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
_TRUTH = {"True": True, "true": True, "False": False, "false": False}
_COLUMNS = {kind.word: kind for kind in (syntax.Together, syntax.OneHot, syntax.Only)}
_STRUCTURES = (*_COLUMNS, "ordered", "max_changes")

# What is none of the rest is a symbol: the parser says what it expected instead.
_TOKEN = re.compile(
    r"""
    (?P<number> ([0-9]+\.?[0-9]*|\.[0-9]+) ([eE][+-]?[0-9]+)? )
  | (?P<string> "([^"\\]|\\.)*" | '([^'\\]|\\.)*' )
  | (?P<symbol> => | [=!<>]= | . )
    """,
    re.VERBOSE | re.DOTALL,
)


def parse(text: str) -> syntax.Tree:
    """Read one rule; a ValueError points at the first place that is wrong."""
    return _Parser(text).rule()


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        token = _token(text, position)
        position += len(token.text)
        if not token.text.isspace():
            yield token
    yield _Token("end", "", position)


def _token(text: str, start: int) -> _Token:
    if text[start].isidentifier():
        end = start + 1
        while end < len(text) and f"_{text[end]}".isidentifier():
            end += 1
        return _Token("word", text[start:end], start)
    match = _TOKEN.match(text, start)
    return _Token(match.lastgroup, match.group(), start)


class _Parser:
    def __init__(self, text: str):
        self.text = text
        self.tokens = _tokens(text)
        self.token = next(self.tokens)
        self.depth = 0

    def rule(self) -> syntax.Tree:
        if self.at(*_STRUCTURES):
            tree, more = self.structure(), ""
        else:
            tree, more = self.clause(), "'and', 'or', '=>' or "
            if self.accept("=>"):
                tree, more = syntax.Implies(tree, self.clause()), "'and', 'or' or "
        self.take("end", f"{more}the end of the rule")
        return tree

    def clause(self) -> syntax.Clause:
        return syntax.Or.of(self.series(self.joint, "or"))

    def joint(self) -> syntax.Clause:
        return syntax.And.of(self.series(self.unit, "and"))

    def unit(self) -> syntax.Clause:
        if self.at("not", "("):
            return self.nested()
        if self.accept("changed"):
            self.expect("(")
            column = self.name()
            self.expect(")")
            return syntax.Changed(column)
        if self.at(*_STRUCTURES):
            self.fail(f"{self.token.text}(...) is a rule of its own, not part of one")
        start, left = self.token, self.side()
        if self.at("not", "in"):
            return self.membership(start, left)
        if not self.at(*_COMPARISONS):
            self.expected("a comparison (==, !=, <, <=, >, >=) or 'in'")
        return syntax.Comparison(left, self.advance().text, self.side())

    def nested(self) -> syntax.Clause:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"parentheses and 'not' go no deeper than {MAX_DEPTH} levels")
        if self.accept("not"):
            clause = syntax.Not(self.unit())
        else:
            self.expect("(")
            clause = self.clause()
            self.expect(")", "'and', 'or' or ')'")
        self.depth -= 1
        return clause

    def membership(self, start: _Token, left) -> syntax.Clause:
        cell = left.cell if isinstance(left, syntax.Linear) else None
        if cell is None:
            self.fail("only a single cell, cf.name or x.name, can be 'in' a set", start)
        negated = self.accept("not")
        self.expect("in")
        opening = self.token
        if self.accept("{"):
            values = self.items(self.value, "}")
            return self.build(opening, syntax.Member, cell, values, negated)
        self.expect("[", "'{' or '['")
        low = self.number()
        self.expect(",")
        high = self.number()
        self.expect("]")
        return self.build(opening, syntax.Interval, cell, low, high, negated)

    def structure(self) -> syntax.Structure:
        head = self.advance()
        self.expect("(")
        if head.text in _COLUMNS:
            columns = () if self.accept(")") else self.items(self.name, ")")
            return self.build(head, _COLUMNS[head.text], columns)
        if head.text == "ordered":
            column = self.name()
            self.expect(",")
            self.expect("[")
            levels = self.items(self.value, "]")
            tree = self.build(head, syntax.Ordered, column, levels)
        else:
            tree = syntax.MaxChanges(self.integer("a whole number"))
        self.expect(")")
        return tree

    # Sides of a comparison, and what they are made of.

    def side(self) -> syntax.Side:
        start = self.token
        if start.kind == "string" or start.text in _TRUTH:
            value = self.value()
            if self.at("+", "-", "*"):
                self.alone(start)
            return syntax.Text(value) if start.kind == "string" else syntax.Flag(value)
        terms, constant = [], 0.0
        sign = -1.0 if self.accept("-") else 1.0
        while True:
            weight, cell = self.term()
            if cell is None:
                constant += sign * weight
            else:
                terms.append((sign * weight, cell))
            if not self.at("+", "-"):
                return self.build(start, syntax.Linear, tuple(terms), constant)
            sign = -1.0 if self.advance().text == "-" else 1.0

    def term(self) -> tuple[float, syntax.Cell | None]:
        if self.token.kind == "number":
            weight = self.magnitude()
            return weight, self.cell() if self.accept("*") else None
        if self.token.kind == "string" or self.token.text in _TRUTH:
            self.alone(self.token)
        cell = self.cell('a number, a cell (cf.name, x.name or cf["name"]) or a string')
        return self.magnitude() if self.accept("*") else 1.0, cell

    def cell(self, what: str = "a cell (cf.name or x.name)") -> syntax.Cell:
        if not self.at("cf", "x"):
            self.expected(what)
        table = self.advance().text
        if self.accept("."):
            return syntax.Cell(table, self.take("word", "the name of a column").text)
        self.expect("[", f"{table}.name, {table}['name'] or {table}[3]")
        column = self.column("a name in quotes or the position of a column")
        self.expect("]")
        return syntax.Cell(table, column)

    def name(self) -> syntax.Column:
        if self.token.kind == "word":
            return self.advance().text
        return self.column("the name or the position of a column")

    def column(self, what: str) -> syntax.Column:
        return self.string() if self.token.kind == "string" else self.integer(what)

    def value(self) -> syntax.Value:
        if self.token.kind == "string":
            return self.string()
        if self.token.text in _TRUTH:
            return _TRUTH[self.advance().text]
        return self.number("a number, a string, True or False")

    def items(self, item: Callable, closing: str) -> tuple:
        found = self.series(item, ",")
        self.expect(closing, f"',' or '{closing}'")
        return found

    def series(self, item: Callable, separator: str) -> tuple:
        found = [item()]
        while self.accept(separator):
            found.append(item())
        return tuple(found)

    def number(self, what: str = "a number") -> float:
        return -self.magnitude() if self.accept("-") else self.magnitude(what)

    def magnitude(self, what: str = "a number") -> float:
        token = self.take("number", what)
        if math.isinf(value := float(token.text)):
            self.fail(f"{token.text} is too large for a number", token)
        # Without leading zeros, since int() takes no more than some thousand digits.
        return int(token.text.lstrip("0") or 0) if token.text.isdigit() else value

    def integer(self, what: str) -> int:
        return self.magnitude() if self.token.text.isdigit() else self.expected(what)

    def string(self) -> str:
        token = self.take("string", "a string")

        def unescape(match):
            if match[1] not in "\\'\"":
                at = token._replace(start=token.start + 1 + match.start())
                self.fail("only a quote or a backslash can follow a backslash", at)
            return match[1]

        return re.sub(r"\\(.)", unescape, token.text[1:-1], flags=re.DOTALL)

    # Tokens and errors, told with a caret under the place.

    def at(self, *texts: str) -> bool:
        return self.token.text in texts

    def advance(self) -> _Token:
        token, self.token = self.token, next(self.tokens, self.token)
        return token

    def accept(self, text: str) -> bool:
        return self.at(text) and bool(self.advance())

    def expect(self, text: str, what: str | None = None) -> None:
        if not self.accept(text):
            self.expected(what or f"'{text}'")

    def take(self, kind: str, what: str) -> _Token:
        if self.token.kind != kind:
            self.expected(what)
        return self.advance()

    def build(self, start: _Token, kind: Callable, *parts: object):
        try:
            return kind(*parts)
        except ValueError as error:
            self.fail(str(error), start)

    def alone(self, token: _Token) -> NoReturn:
        self.fail("a string or a truth value is a side of its own, not a term", token)

    def expected(self, what: str) -> NoReturn:
        if self.at("'", '"'):
            self.fail("this quote is never closed")
        found = f"'{self.token.text}'" if self.token.text else "the end of the rule"
        self.fail(f"expected {what}; got {found}")

    def fail(self, message: str, token: _Token | None = None) -> NoReturn:
        position = (token or self.token).start
        before, after = self.text[:position], self.text[position:]
        indent = re.sub(r"[^\t]", " ", before.rpartition("\n")[2])
        rest, newline, others = after.partition("\n")
        marked = f"{before}{rest}\n{indent}^{newline}{others}"
        raise ValueError(f"cannot read a rule: {message}\n{marked}") from None
