"""Kernels as text: ``rbf(age, bmi, gamma=0.1) + 0.5 * words(note).normalized()``.

The grammar, from the loosest binding to the tightest; nothing is ever evaluated as Python::

    sum      = product { "+" product }
    product  = power { "*" power }
    power    = postfix [ "**" number ]
    postfix  = atom { "." method }
    atom     = number | "(" sum ")" | "exp" "(" sum ")" | "normalized" "(" sum ")" | call
    call     = name [ "(" { column | keyword "=" value } ")" ]
    method   = "normalized()" | "exp()" | "on(" columns ")" | "power_series(" list [radius] ")"
    column   = name | quoted text | whole number
    value    = number | quoted text | word | true | false | none | inf | "[" values "]" | sum
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from mercer._typing import Parameter
from mercer.exceptions import InvalidExpression, InvalidParameter
from mercer.kernels import registry
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.writing import write

_MAX_LENGTH, _MAX_DEPTH, _MAX_KERNELS = 10_000, 40, 200
_WORDS = {"true": True, "false": False, "none": None, "inf": math.inf}
_FUNCTIONS = ("exp", "normalized")
_METHODS = ("normalized", "exp", "on", "power_series")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<symbol>\*\*|[-+*().,=\[\]])""",
    re.VERBOSE | re.DOTALL,
)


def parse_kernel(expression: str) -> Kernel:
    """Return the kernel that a text describes, such as ``"rbf(age, bmi) + delta(sex)"``.

    Names are those of the registry (``mercer kernels`` lists them). Arguments without a name are
    columns: names, quoted names or positions; without any the kernel is on everything. Arguments
    with a name are parameters. ``+``, ``*``, ``**``, numbers, brackets, ``exp(k)``,
    ``normalized(k)``, ``k.normalized()`` and ``k.on(columns)`` combine kernels as in Python. A text
    that cannot be read gives :class:`InvalidExpression`, which points at the character.

    Parameters
    ----------
    expression : str
        The text.

    Examples
    --------
    >>> from mercer import parse_kernel
    >>> k = parse_kernel("2 * rbf(0, gamma=0.5) + linear(1)")
    >>> k([[0.0, 1.0]], [[0.0, 3.0]])  # 2 exp(0) + 1·3
    array([[5.]])
    """
    if not isinstance(expression, str):
        raise InvalidParameter(
            f"parse_kernel: expected a text, got {type(expression).__name__}. Kernel objects need "
            "no parsing."
        )
    return _Parser(expression).kernel()


def format_kernel(kernel: Kernel) -> str:
    """Return the text of a kernel, from which ``parse_kernel`` makes an equal one.

    Parameters
    ----------
    kernel : Kernel
        Any kernel whose parameters can be written down.

    Examples
    --------
    >>> from mercer import RBF, Delta, format_kernel
    >>> format_kernel(2 * RBF(gamma=0.5).on("age") + Delta().on("sex"))
    '2 * rbf(age, gamma=0.5) + delta(sex)'
    """
    return write(kernel)


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int

    @property
    def words(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


class _Parser:
    """One pass over the tokens; each rule of the grammar is a method."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.depth = self.kernels = self.at = 0
        if len(source) > _MAX_LENGTH:
            self.fail(
                f"The expression has {len(source):,} characters; at most {_MAX_LENGTH:,} are read",
                _MAX_LENGTH,
            )
        self.tokens = list(self.scan())

    # ---- tokens ------------------------------------------------------------------------------

    def scan(self) -> Iterable[_Token]:
        position = 0
        while position < len(self.source):
            match = _TOKEN.match(self.source, position)
            if match is None:
                character = self.source[position]
                if character in "\"'":
                    self.fail("A quoted text has no closing quote", position)
                self.fail(f"{character!r} has no meaning here", position)
            kind = str(match.lastgroup)
            if kind != "space":
                yield _Token(kind, match.group(), position)
            position = match.end()
        yield _Token("end", "", len(self.source))

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def following(self) -> _Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def advance(self) -> _Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, symbol: str) -> bool:
        found = self.token.kind == "symbol" and self.token.text == symbol
        if found:
            self.advance()
        return found

    def expect(self, symbol: str, where: str) -> None:
        if not self.accept(symbol):
            self.fail(f"Expected '{symbol}' {where}, found {self.token.words}")

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        at = self.token.position if position is None else position
        start = max(0, at - 50)
        shown = "".join(c if c.isprintable() else " " for c in self.source[start : at + 25])
        dots = "…" if start else ""
        caret = " " * (len(dots) + at - start)
        raise InvalidExpression(
            f"{message} (character {at + 1}).\n  {dots}{shown}\n  {caret}^", at
        ) from None

    def suggest(self, word: str, known: Iterable[str]) -> str:
        names = list(known)
        near = difflib.get_close_matches(word.lower()[:40], names, n=1, cutoff=0.6)
        return f"did you mean '{near[0]}'?" if near else f"there are {', '.join(names[:40])}"

    # ---- grammar -----------------------------------------------------------------------------

    def kernel(self) -> Kernel:
        if self.token.kind == "end":
            self.fail("The expression is empty; expected a kernel such as rbf(age)")
        value = self.sum()
        if self.token.kind != "end":
            self.fail(f"Expected '+', '*' or the end, found {self.token.words}")
        return self.as_kernel(value, 0)

    def sum(self) -> Kernel | float:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(f"Brackets are nested more than {_MAX_DEPTH} deep")
        value = self.product()
        while self.token.text in ("+", "-") and self.token.kind == "symbol":
            sign = self.advance()
            if sign.text == "-":
                self.fail("A difference of kernels is not a kernel; use '+'", sign.position)
            value = self.combine(sign, value, self.product())
        self.depth -= 1
        return value

    def product(self) -> Kernel | float:
        value = self.power()
        while self.token.text == "*" and self.token.kind == "symbol":
            value = self.combine(self.advance(), value, self.power())
        return value

    def power(self) -> Kernel | float:
        value = self.postfix()
        if self.token.text == "**" and self.token.kind == "symbol":
            sign = self.advance()
            exponent = self.number("after '**'")
            value = self.combine(sign, value, exponent)
            if self.token.text == "**" and self.token.kind == "symbol":
                self.fail("Two powers in a row; use brackets, as in (k ** 2) ** 3")
        return value

    def combine(self, sign: _Token, left: Kernel | float, right: Kernel | float) -> Any:
        """Apply an operator to kernels, or to plain numbers."""
        if isinstance(left, int | float) and isinstance(right, int | float):
            # Whole numbers of Python would grow without bound.
            left, right = float(left), float(right)
            if sign.text == "**":
                return self.build(sign.position, lambda: math.pow(left, right))
        if sign.text == "+":
            return self.build(sign.position, lambda: left + right)
        if sign.text == "*":
            return self.build(sign.position, lambda: left * right)
        return self.build(sign.position, lambda: left**right)  # type: ignore[operator]

    def postfix(self) -> Kernel | float:
        start = self.token.position
        value = self.atom()
        while self.token.text == "." and self.token.kind == "symbol":
            kernel = self.as_kernel(value, start)
            self.advance()
            value = self.method(kernel)
        return value

    def atom(self) -> Kernel | float:
        token = self.token
        if token.kind == "number" or token.text == "-":
            return self.number("here")
        if self.accept("("):
            value = self.sum()
            self.expect(")", "to close the bracket")
            return value
        if token.kind == "name":
            return self.call()
        self.fail(f"Expected a kernel, a number or '(', found {token.words}")

    def call(self) -> Kernel:
        token = self.advance()
        if token.text in _FUNCTIONS:
            self.expect("(", f"after {token.text}")
            inner = self.as_kernel(self.sum(), token.position)
            self.expect(")", f"to close {token.text}(")
            return self.build_kernel(token.position, getattr(inner, token.text))
        row = _rows().get(token.text) or _rows().get(token.text.lower())
        if row is None:
            self.fail(
                f"There is no kernel '{token.text[:40]}'; {self.suggest(token.text, _rows())}",
                token.position,
            )
        columns, parameters = self.arguments(row) if self.accept("(") else ([], {})
        gaps = parameters.pop("missing", "error") if columns else "error"
        missing = [n for n, p in _parameters(row).items() if p and n not in parameters]
        if missing:
            self.fail(f"{token.text} needs {missing[0]}=…", token.position)
        kernel = self.build_kernel(token.position, lambda: row.kernel(**parameters))
        return self.on(kernel, columns, gaps, token.position) if columns else kernel

    def arguments(self, row: registry.Row) -> tuple[list[Any], dict[str, Any]]:
        columns: list[Any] = []
        parameters: dict[str, Any] = {}
        known, names = _parameters(row), row.kernel.parameter_names()
        before: Mapping[str, str] = getattr(row.kernel, "OLD_NAMES", {})
        while not self.accept(")"):
            token = self.token
            if token.kind == "name" and self.following().text == "=":
                gaps = token.text == "missing" and columns
                if token.text not in known and token.text not in before and not gaps:
                    self.fail(
                        f"{row.name} has no parameter '{token.text[:40]}'; "
                        f"{self.suggest(token.text, names) if names else 'it has none'}"
                    )
                if token.text in parameters:
                    self.fail(f"{token.text} is given twice")
                self.advance(), self.advance()
                if token.text == "kernel":
                    parameters["kernel"] = self.as_kernel(self.sum(), self.token.position)
                else:
                    parameters[token.text] = self.value()
            else:
                columns.append(self.column(row, known))
            if self.token.text != ")" or self.token.kind != "symbol":
                self.expect(",", "or ')' after an argument")
        return columns, parameters

    def column(self, row: registry.Row | None = None, known: Iterable[str] = ()) -> str | int:
        token = self.token
        if token.kind == "text":
            return _unquoted(self.advance().text)
        if token.kind == "name" and self.following().text != "(":
            return self.advance().text
        if token.kind == "number" or token.text == "-":
            position = self.number("as a column")
            if isinstance(position, int):
                return position
            remedy = f" such as {next(iter(known))}={token.text}" if known else ""
            self.fail(
                f"A column is a name or a whole number; a parameter needs its name{remedy}",
                token.position,
            )
        if token.kind == "name" and row is not None:
            self.fail(
                f"{row.name}(…) takes columns and parameters, not kernels; combine kernels with "
                "'+' or '*'"
            )
        self.fail(f"Expected a column (a name, a quoted name or a position), found {token.words}")

    def method(self, kernel: Kernel) -> Kernel:
        token = self.advance()
        if token.kind != "name" or token.text not in _METHODS:
            self.fail(
                f"{token.words} cannot follow a '.'; {self.suggest(token.text, _METHODS)}",
                token.position,
            )
        self.expect("(", f"after .{token.text}")
        if token.text in _FUNCTIONS:
            self.expect(")", f"after .{token.text}(")
            return self.build_kernel(token.position, getattr(kernel, token.text))
        if token.text == "on":
            columns, gaps = self.columns()
            return self.on(kernel, columns, gaps, token.position)
        coefficients, radius = self.value(), math.inf
        if self.accept(","):
            if self.token.text == "radius":
                self.advance()
                self.expect("=", "after radius")
            radius = self.number("for the radius")
        self.expect(")", "to close .power_series(")
        return self.build_kernel(token.position, lambda: kernel.power_series(coefficients, radius))

    def columns(self) -> tuple[list[Any], Any]:
        """Read columns, and what to do where values are missing in them."""
        columns, gaps = [self.column()], "error"
        while not self.accept(")"):
            self.expect(",", "or ')' after a column")
            if self.token.text == "missing" and self.following().text == "=":
                self.advance(), self.advance()
                gaps = self.value()
            else:
                columns.append(self.column())
        return columns, gaps

    def value(self) -> Any:
        """Read the value of a parameter."""
        token, after = self.token, self.following().text
        if token.kind == "text":
            return _unquoted(self.advance().text)
        if token.kind == "name" and after not in ("(", "."):
            return _WORDS.get(self.advance().text.lower(), token.text)
        if token.kind == "number" or token.text == "-":
            return self.number("as a value")
        if self.accept("["):
            return self.values()
        if token.kind == "name" or token.text == "(":
            return self.as_kernel(self.sum(), token.position)
        self.fail(f"Expected a value (a number, a text, a word or a list), found {token.words}")

    def values(self) -> list[Any]:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.fail(f"Lists are nested more than {_MAX_DEPTH} deep")
        values: list[Any] = []
        while not self.accept("]"):
            if values:
                self.expect(",", "or ']' in a list")
            values.append(self.value())
        self.depth -= 1
        return values

    def number(self, where: str) -> float:
        sign = -1 if self.accept("-") else 1
        token = self.token
        if token.kind == "name" and token.text.lower() == "inf":
            self.advance()
            return sign * math.inf
        if token.kind != "number":
            self.fail(f"Expected a number {where}, found {token.words}")
        self.advance()
        if token.text.isdecimal() and len(token.text) <= 15:
            return sign * int(token.text)
        value = float(token.text)
        if math.isinf(value):
            self.fail(f"{token.text[:20]} is too large a number", token.position)
        return sign * value

    # ---- kernels -----------------------------------------------------------------------------

    def as_kernel(self, value: Kernel | float, position: int) -> Kernel:
        if is_kernel(value):
            return value
        self.fail(f"Expected a kernel, found the number {value:g}", position)

    def on(self, kernel: Kernel, columns: list[Any], missing: Parameter, position: int) -> Kernel:
        return self.build_kernel(position, lambda: kernel.on(*columns, missing=missing))

    def build_kernel(self, position: int, make: Callable[[], Any]) -> Kernel:
        kernel: Kernel = self.build(position, make)
        return kernel

    def build(self, position: int, make: Callable[[], Any]) -> Any:
        """Make a kernel; whatever it refuses is said together with the place."""
        self.kernels += 1
        if self.kernels > _MAX_KERNELS:
            self.fail(f"The expression has more than {_MAX_KERNELS} parts", position)
        try:
            return make()
        except (InvalidParameter, ArithmeticError, TypeError, ValueError) as error:
            self.fail(str(error).rstrip("."), position)


def _rows() -> dict[str, registry.Row]:
    """Return the rows of the registry by names and aliases, and by the names of the classes."""
    named = {name: row for row in registry.ROWS for name in (row.name, *row.aliases)}
    classes = {row.kernel.__name__.lower(): row for row in registry.ROWS}
    return {**named, **{name: row for name, row in classes.items() if name not in named}}


def _parameters(row: registry.Row) -> dict[str, bool]:
    """Return the parameters of a kernel, and whether each has to be given."""
    found = inspect.signature(row.kernel).parameters
    return {name: found[name].default is inspect.Parameter.empty for name in found}


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
