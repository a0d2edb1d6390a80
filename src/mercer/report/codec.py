"""Records as plain dictionaries and back, by the types that their classes declare."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from mercer._typing import Objects, Parameter
from mercer.exceptions import InvalidInput

T = TypeVar("T")

_KINDS = {np.floating: "f", np.intp: "iu", np.uint8: "iu", np.bool_: "b"}


def encode(value: Parameter) -> Any:
    """Return dictionaries, lists, texts, numbers and arrays; no NaN outside of arrays."""
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def decode(cls: type[T], data: Objects, place: str) -> T:
    """Return the dataclass ``cls`` made of ``data``; refuse what its annotations do not allow.

    A field with a default may be absent: it is younger than some files.
    """
    if not isinstance(data, Mapping):
        raise InvalidInput(f"Report record: {place} has to be a dictionary.")
    hints = get_type_hints(cls)
    wrong = sorted(map(str, (set(data) - set(hints)) | (_required(cls) - set(data))))
    if wrong:
        raise InvalidInput(
            f"Report record: {place} lacks or has to lack {', '.join(wrong[:5])}. The file was "
            "made by another version, or changed: make the report again from the data."
        )
    return cls(**{name: _value(hints[name], data[name], f"{place}.{name}") for name in data})


def _required(cls: type) -> set[str]:
    """Return the fields without a default."""
    return {
        field.name
        for field in fields(cls)
        if field.default is MISSING and field.default_factory is MISSING
    }


def _value(kind: Any, data: Objects, place: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        return None if data is None else _value(inner[0], data, place)
    if origin is list:
        if not isinstance(data, list | tuple):
            raise _refusal(place, "a list", data)
        return [_value(arguments[0], item, f"{place}[{i}]") for i, item in enumerate(data)]
    if origin is np.ndarray:
        return _array(arguments, data, place)
    if is_dataclass(kind):
        return decode(kind, data, place)  # type: ignore[arg-type]
    if kind is float:
        if isinstance(data, bool) or not isinstance(data, int | float | str):
            raise _refusal(place, "a number", data)
        if isinstance(data, str) and data not in ("nan", "inf", "-inf"):
            raise _refusal(place, "a number", data)
        return float(data)
    if type(data) is not kind:
        raise _refusal(place, kind.__name__, data)
    return data


def _array(arguments: tuple[Any, ...], data: Objects, place: str) -> Any:
    scalar = get_args(arguments[1])[0]
    scalar = get_origin(scalar) or scalar
    array = np.asarray(data)
    if array.size and array.dtype.kind not in _KINDS[scalar]:
        raise _refusal(place, f"an array of {scalar.__name__}", array.dtype)
    return array.astype(np.float64 if scalar is np.floating else scalar)


def _refusal(place: str, wanted: str, found: Any) -> InvalidInput:
    kind = found if isinstance(found, np.dtype) else type(found).__name__
    return InvalidInput(f"Report record: {place} has to be {wanted}, and is {kind}.")


def check(holds: bool, place: str) -> None:
    """Refuse a record whose parts contradict each other."""
    if not holds:
        raise InvalidInput(
            f"Report record: the parts of {place} do not fit together. The file was changed: make "
            "the report again from the data."
        )


def check_lengths(place: str, *parts: Any) -> None:
    """Refuse lists of a record that should be of one length and are not."""
    check(len({len(part) for part in parts}) == 1, place)
