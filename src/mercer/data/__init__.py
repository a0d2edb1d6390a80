"""Small data sets that come with mercer; ``SOURCES.md`` beside this file gives their origin."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidParameter

NAMES = ("heart",)


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table of numbers ``X`` with the names of its columns, and the target ``y``."""

    name: str
    X: Array
    y: np.ndarray[Any, Any]
    columns: tuple[str, ...]
    description: str


def load_data(name: str) -> DataSet:
    """Return one of the data sets in ``NAMES``."""
    if name != "heart":
        raise InvalidParameter(f"There is no data set {name!r}. There are {', '.join(NAMES)}.")
    lines = resources.files(__name__).joinpath("heart_scale.txt").read_text().splitlines()
    X = np.zeros((len(lines), len(_HEART_COLUMNS)))
    for row, line in zip(X, lines, strict=True):
        for pair in line.split()[1:]:
            column, _, value = pair.partition(":")
            row[int(column) - 1] = float(value)
    y = np.where([line.startswith("+1") for line in lines], "disease", "healthy")
    return DataSet(name, X, y, _HEART_COLUMNS, _HEART_DESCRIPTION)


_HEART_COLUMNS = (
    "age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "ecg",
    "max_heart_rate", "angina", "st_depression", "st_slope", "vessels", "thal",
)  # fmt: skip
_HEART_DESCRIPTION = "270 patients, 13 measurements scaled to −1 … 1, with or without heart disease"
