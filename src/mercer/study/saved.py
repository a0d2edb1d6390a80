"""A study as plain data inside a model file, and back, with every part checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mercer._typing import Objects, Parameter
from mercer.exceptions import InvalidInput, InvalidModelFile
from mercer.io.table_schema import Schema
from mercer.report.record import Record

_VERSION = 1
"""The version of saved studies; a reader refuses others."""


def plain(study: Any) -> dict[str, Any]:
    """Return what a file keeps of a study besides its model."""
    return {
        "study": _VERSION,
        "schema": study.schema.to_json(),
        "record": study.record.to_dict(),
        "parameters": dict(study.parameters),
        "train_rows": np.asarray(study.train_rows, dtype=np.int64),
        "nonconformity": np.asarray(study.nonconformity, dtype=np.float64),
        **{name: list(getattr(study, name)) for name in _LISTS},
        **{name: getattr(study, name) for name in _TEXTS},
        **{name: getattr(study, attribute) for name, attribute in _NUMBERS.items()},
    }


def checked(data: Objects, path: str) -> dict[str, Any]:
    """Return the fields of a study; refuse what ``plain`` has not made."""
    if not isinstance(data, dict) or "study" not in data:
        raise InvalidModelFile(
            f"{path}: it holds a model, but not what mercer fit keeps beside it. Use mercer.load "
            "in Python, or fit it again with mercer fit."
        )
    if data["study"] != _VERSION:
        raise InvalidModelFile(
            f"{path}: the study has version {str(data['study'])[:20]!r}, and this mercer reads "
            f"{_VERSION}. Fit it again, or use the mercer that wrote it."
        )
    data = {**_LATER, **data}
    if set(data) != {"study", *_CHECKS}:
        raise InvalidModelFile(f"{path}: its study has other parts than expected.")
    for name, good in _CHECKS.items():
        if not good(data[name]):
            raise InvalidModelFile(f"{path}: {name} of its study is not what it should be.")
    rows = data["train_rows"]
    if len(rows) and not (rows.min() >= 0 and rows.max() < data["rows"]):
        raise InvalidModelFile(f"{path}: its study names training rows that there are not.")
    try:
        schema, record = Schema.from_json(data["schema"]), Record.from_dict(data["record"])
    except InvalidInput as error:
        raise InvalidModelFile(f"{path}: {error}") from None
    return {
        "schema": schema,
        "record": record,
        "parameters": dict(data["parameters"]),
        "train_rows": rows,
        "nonconformity": data["nonconformity"],
        **{name: tuple(data[name]) for name in _LISTS},
        **{name: data[name] for name in _TEXTS},
        **{attribute: data[name] for name, attribute in _NUMBERS.items()},
    }


def _texts(value: Parameter) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _whole(value: Parameter) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _parameters(value: Parameter) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(k, str) and isinstance(v, int | float | str) for k, v in value.items()
    )


def _rows(value: Parameter) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == np.int64


def _scores(value: Parameter) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype != np.float64:
        return False
    return bool((value[1:] >= value[:-1]).all())


def _seconds(value: Parameter) -> bool:
    return isinstance(value, float) and math.isfinite(value)


_TEXTS = ("source", "kernel", "machine", "why", "stopped")
_LISTS = ("reasons", "notes", "identifiers")
_NUMBERS = {"rows": "rows", "seed": "random_state", "seconds": "seconds"}
"""Names in files, and of the attributes of a study."""
_LATER: dict[str, Any] = {"nonconformity": np.empty(0)}
"""Parts that files of earlier versions do not have."""
_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_TEXTS, lambda value: isinstance(value, str)),
    **dict.fromkeys(_LISTS, _texts),
    **dict.fromkeys(("rows", "seed"), _whole),
    "seconds": _seconds,
    "parameters": _parameters,
    "train_rows": _rows,
    "nonconformity": _scores,
    "schema": lambda value: isinstance(value, dict),
    "record": lambda value: isinstance(value, dict),
}
