"""Small data sets that come with mercer; ``SOURCES.md`` beside this file gives their origin."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from mercer._typing import Array
from mercer.exceptions import InvalidParameter

NAMES = ("heart", "diabetes")
"""What ``load_data`` gives as arrays of numbers."""

TABLES = {
    "heart": ("heart.csv", "diagnosis"),
    "diabetes": ("diabetes.csv", "target"),
    "penguins": ("penguins.csv", "species"),
    "reviews": ("reviews.csv.gz", "label"),
    "gunpoint": ("gunpoint.ts.gz", "class"),
    "promoters": ("promoters.csv", "promoter"),
    "splice": ("splice.csv.gz", "site"),
    "solubility": ("solubility.zip", "target"),
}
"""What ``read_table`` gives as tables: the file and the column to predict."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """A table of numbers ``X`` with the names of its columns, and the target ``y``."""

    name: str
    X: Array
    y: np.ndarray[Any, Any]
    columns: tuple[str, ...]
    description: str


def load_data(name: str) -> DataSet:
    """Return one of the data sets in ``NAMES`` as arrays; ``read_table`` gives it as a table.

    Parameters
    ----------
    name : {"heart", "diabetes"}
        The data set.

    Examples
    --------
    >>> from mercer import load_data
    >>> heart = load_data("heart")
    >>> heart.X.shape, heart.columns[:3]
    ((270, 13), ('age', 'sex', 'chest_pain'))
    """
    if name == "heart":
        return _heart()
    if name == "diabetes":
        return _diabetes()
    if name in TABLES:
        raise InvalidParameter(
            f"{name} holds more than numbers. Use mercer.read_table({name!r}), which gives a table."
        )
    raise InvalidParameter(f"There is no data set {name!r}. There are {', '.join(NAMES)}.")


def table_path(name: str) -> Path:
    """Return the file of a data set in ``TABLES``."""
    return Path(str(resources.files(__name__).joinpath(TABLES[name][0])))


def _heart() -> DataSet:
    lines = resources.files(__name__).joinpath("heart_scale.txt").read_text().splitlines()
    X = np.zeros((len(lines), len(_HEART_COLUMNS)))
    for row, line in zip(X, lines, strict=True):
        for pair in line.split()[1:]:
            column, _, value = pair.partition(":")
            row[int(column) - 1] = float(value)
    y = np.where([line.startswith("+1") for line in lines], "disease", "healthy")
    return DataSet("heart", X, y, _HEART_COLUMNS, _HEART_DESCRIPTION)


def _diabetes() -> DataSet:
    header, *lines = table_path("diabetes").read_text().splitlines()
    values = np.array([line.split(",") for line in lines], dtype=np.float64)
    X, y = np.ascontiguousarray(values[:, :-1]), values[:, -1].copy()
    return DataSet("diabetes", X, y, tuple(header.split(",")[:-1]), _DIABETES_DESCRIPTION)


_HEART_COLUMNS = (
    "age", "sex", "chest_pain", "blood_pressure", "cholesterol", "blood_sugar", "ecg",
    "max_heart_rate", "angina", "st_depression", "st_slope", "vessels", "thal",
)  # fmt: skip
_HEART_DESCRIPTION = "270 patients, 13 measurements scaled to −1 … 1, with or without heart disease"
_DIABETES_DESCRIPTION = "442 patients, 10 measurements, and the progression of diabetes in a year"
