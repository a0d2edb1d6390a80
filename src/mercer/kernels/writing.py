"""Kernels written as text, the inverse of reading them."""

from __future__ import annotations

import inspect
import numbers
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import Column, Parameter
from mercer.exceptions import InvalidParameter
from mercer.kernels import registry
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.base import Kernel, is_kernel
from mercer.kernels.parameters import same_value
from mercer.kernels.wrappers import Normalized, On

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_BARE = re.compile(r"[^\W\d]\w*\Z")
_RESERVED = ("true", "false", "none", "inf")
_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write(kernel: Kernel, strength: int = _SUM) -> str:
    """Return the text of a kernel, in brackets if it binds less than ``strength``."""
    text = _WRITERS.get(type(kernel), _leaf)(kernel)
    return f"({text})" if kernel.binds < strength else text


def _sum(kernel: Sum) -> str:
    return f"{write(kernel.left)} + {write(kernel.right, _PRODUCT)}"


def _product(kernel: Product) -> str:
    return f"{write(kernel.left, _PRODUCT)} * {write(kernel.right, _POWER)}"


def _scaled(kernel: Scaled) -> str:
    return f"{_number(kernel.factor)} * {write(kernel.kernel, _POWER)}"


def _power(kernel: Power) -> str:
    return f"{write(kernel.kernel, _ATOM)} ** {_number(kernel.exponent)}"


def _exp(kernel: Exp) -> str:
    return f"exp({write(kernel.kernel)})"


def _normalized(kernel: Normalized) -> str:
    return f"{write(kernel.kernel, _ATOM)}.normalized()"


def _series(kernel: PowerSeries) -> str:
    radius = "" if kernel.radius == np.inf else f", radius={_number(kernel.radius)}"
    terms = _value(kernel.coefficients)
    return f"{write(kernel.kernel, _ATOM)}.power_series({terms}{radius})"


def _on(kernel: On) -> str:
    columns = [_column(column) for column in kernel.columns]
    if kernel.missing != "error":
        columns.append(f"missing={_value(kernel.missing)}")
    if type(kernel.kernel) in _WRITERS:
        return f"{write(kernel.kernel, _ATOM)}.on({', '.join(columns)})"
    return _leaf(kernel.kernel, columns)


def _leaf(kernel: Kernel, columns: list[str] | None = None) -> str:
    row = next((row for row in registry.ROWS if row.kernel is type(kernel)), None)
    if row is None:
        raise InvalidParameter(
            f"{kernel} cannot be written as text: {type(kernel).__name__} is not in the registry."
        )
    defaults = inspect.signature(row.kernel).parameters
    given = [
        f"{name}={_value(value)}"
        for name, value in kernel.get_params(deep=False).items()
        if not same_value(value, defaults[name].default)
    ]
    return f"{row.name}({', '.join([*(columns or []), *given])})"


_WRITERS: dict[type, Callable[[Any], str]] = {
    Sum: _sum,
    Product: _product,
    Scaled: _scaled,
    Power: _power,
    Exp: _exp,
    Normalized: _normalized,
    PowerSeries: _series,
    On: _on,
}


def _column(column: Column) -> str:
    if isinstance(column, str):
        plain = _BARE.match(column) and column not in _RESERVED
        return column if plain else _quoted(column)
    if isinstance(column, numbers.Integral) and not isinstance(column, bool):
        return str(int(column))
    raise InvalidParameter(
        f"A column named {column!r} cannot be written as text: names are texts or whole numbers."
    )


def _value(value: Parameter) -> str:
    if is_kernel(value):
        return write(value)
    if value is None or isinstance(value, bool | np.bool_):
        return "none" if value is None else str(bool(value)).lower()
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, numbers.Real):
        return _number(value)
    if isinstance(value, np.ndarray | list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    raise InvalidParameter(f"The parameter {value!r} cannot be written as text.")


def _number(value: Parameter) -> str:
    if isinstance(value, numbers.Integral):
        return str(int(value))
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPED.get(character, character) for character in text) + '"'
