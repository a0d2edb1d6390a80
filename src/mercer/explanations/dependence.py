"""What a machine answers on average when one column has a given value."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mercer._deprecated import renamed
from mercer._typing import Array, Axes, Model, Objects
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.explanations.answer_functions import AnswerFunctions, unwrapped
from mercer.kernels.coalitions import Game
from mercer.kernels.encoders import column_names, is_frame

_STEPS = 40
"""Values of a grid by default: a curve looks smooth."""
_ROWS = 64
"""Rows whose single-column values are held at a time."""


@dataclass(frozen=True, eq=False, repr=False)
class PartialDependence:
    """The mean answer as a function of one column.

    Attributes
    ----------
    grid : array of shape (g,)
        The values of the column.
    values : array of shape (g,) or (g, c)
        The mean of the decision function over all rows with that value put in; one for each of c
        classes where there are more than two.
    column : int
        The column.
    classes : list, optional
        The classes, where there are more than two.

    Examples
    --------
    >>> from mercer import SVR, partial_dependence
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> machine = SVR("linear", C=100.0, epsilon=0.0).fit(X, [0.0, 2.0, 4.0, 6.0])
    >>> curve = partial_dependence(machine, X, 0, grid=[0.0, 1.0])
    >>> round(float(curve.values[1] - curve.values[0]), 2)  # two for each unit of the column
    2.0
    """

    grid: Array
    values: Array
    column: int
    classes: list[Any] | None = None

    @renamed(axes="ax")
    def plot(self, *, ax: Axes = None) -> Any:
        """Draw the curve, one for each class."""
        from mercer._plot.attributions import draw_curves

        labels = None if self.classes is None else [str(label) for label in self.classes]
        return draw_curves(self.grid, self.values, labels, f"column {self.column}", ax)

    def __repr__(self) -> str:
        low, high = float(self.grid.min()), float(self.grid.max())
        return f"PartialDependence on column {self.column}, from {low:.4g} to {high:.4g}"


def partial_dependence(
    model: Model, X: Objects, column: int | str, *, grid: Any = None
) -> PartialDependence:
    """Return the mean answer over the rows of ``X`` when one column has each value of a grid.

    For f(x) = Σᵢ aᵢ Πⱼ kⱼ(xᵢⱼ, xⱼ) + b the mean over rows z is

        PD(v) = Σᵢ aᵢ kⱼ(xᵢⱼ, v) · mean_z Π_{l≠j} kₗ(xᵢₗ, zₗ) + b,

    so that a grid of g values costs no more than g + m rows instead of g · m. Sums over columns
    have the same form; powers of sums are taken pair by pair.

    Parameters
    ----------
    model : estimator
        A fitted machine that :func:`explain` takes, on rows of numbers.
    X : array of shape (m, d)
        The rows to take the mean over, such as training rows.
    column : int or str
        The position of the column; or its name, where ``X`` is a table with names.
    grid : array, optional
        The values; 40 between the least and the greatest of the column by default.

    Returns
    -------
    PartialDependence
        ``grid``, ``values``, ``plot()``.

    Examples
    --------
    >>> from mercer import SVC, load_data, partial_dependence
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X, heart.y)
    >>> curve = partial_dependence(machine, heart.X, 7)
    >>> curve.values.shape
    (40,)

    References
    ----------
    J. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29
    (2001).
    """
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise InvalidInput(
            f"partial_dependence: X has shape {rows.shape}; rows of numbers are needed."
        )
    column = _position(column, [str(n) for n in column_names(X)] if is_frame(X) else [], rows)
    ends = rows[:, column].min(), rows[:, column].max()
    values = np.linspace(*ends, _STEPS) if grid is None else np.asarray(grid, dtype=np.float64)
    if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
        raise InvalidParameter("partial_dependence: grid has to be a list of finite numbers.")
    put_in = np.repeat(rows[:1], len(values), axis=0)
    put_in[:, column] = values
    machine, data, _ = unwrapped(model, rows)
    _, moved, _ = unwrapped(model, put_in)
    _check_own_columns(np.asarray(data), np.asarray(moved), rows.shape[1], column)
    functions = AnswerFunctions.of(machine)
    kernel, points = functions.expansion.kernel, functions.expansion.points
    encoded, others = kernel.encode(moved), kernel.encode(data)
    games = kernel.games(encoded, points)
    total = np.zeros((len(values), len(points)))
    for begin in range(0, len(rows), _ROWS):
        part = kernel.games(others.take(slice(begin, begin + _ROWS)), points)
        for mine, theirs in zip(games, part, strict=True):
            total += _summed(mine, theirs, column)
    found = total / len(rows) @ functions.coefficients + functions.constants
    single = functions.classes is None and found.shape[1] == 1
    return PartialDependence(values, found[:, 0] if single else found, column, functions.classes)


def _summed(mine: Game, theirs: Game, column: int) -> Array:
    """Return the sum of a summand of the kernel over rows with the column of others put in."""
    if column not in mine.players:
        return np.broadcast_to(theirs.full().sum(axis=0), mine.values.shape[:2])
    return mine.mixed(theirs, mine.players.index(column))


def _position(column: int | str, names: list[str], rows: Array) -> int:
    """Return where a column stands."""
    found = names.index(column) if isinstance(column, str) and column in names else column
    if not isinstance(found, Integral) or not 0 <= found < rows.shape[1]:
        known = f": {', '.join(names)}" if names else ""
        raise InvalidParameter(
            f"partial_dependence: column={column!r} is not one of the {rows.shape[1]} columns of "
            f"X{known}."
        )
    return int(found)


def _check_own_columns(data: Array, moved: Array, width: int, column: int) -> None:
    """Refuse steps of a pipeline that mix columns: each has to stay in its place."""
    if (
        data.shape[1] != width
        or (np.delete(moved, column, 1) != np.delete(moved[:1], column, 1)).any()
    ):
        raise InvalidInput(
            "partial_dependence: a step of the pipeline mixes the columns. Give the last machine "
            "and the rows that reach it."
        )
