"""Shares of columns in answers, with their names and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._deprecated import renamed
from mercer._typing import Array, Axes, Objects
from mercer.exceptions import InvalidParameter
from mercer.kernels.encoders import as_narwhals, is_frame

_SHOWN = 12
"""Columns in a picture, as many as can be read."""


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """How much each column gives to each answer.

    Attributes
    ----------
    values : array of shape (m, d) or (m, d, c)
        The shares of d columns in the answers to m rows, for each of c classes where there are
        more than two; they add up to what the answer is above ``base``.
    base : float, or array of shape (c,)
        The answer when no column is known.
    names : list of str
        The columns.
    data : data
        The rows that are explained.
    classes : list, optional
        The classes, where there are more than two.
    error : float
        A bound on the error of a value besides rounding; 0 where the values are exact.

    Examples
    --------
    >>> from mercer import KernelRidge, explain
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 2.0, 1.0, 3.0]
    >>> machine = KernelRidge(1e-9, kernel="linear", fit_intercept=True).fit(X, y)  # 2x₁ + x₂
    >>> why = explain(machine, [[1.0, 1.0]])
    >>> why.values.round(4)
    array([[2., 1.]])
    """

    values: Array
    base: Any
    names: list[str]
    data: Objects
    classes: list[Any] | None = None
    error: float = 0.0

    @property
    def answers(self) -> Array:
        """What values and base add up to: the functions behind the answers, for each row."""
        return np.asarray(self.values.sum(axis=1) + self.base)

    @property
    def importance(self) -> Array:
        """The mean size of each column's share: one number a column, or one a column and class."""
        return np.asarray(np.abs(self.values).mean(axis=0))

    def of_class(self, label: Any) -> Explanation:
        """Return the explanation of one class."""
        if self.classes is None or label not in self.classes:
            known = "there are no classes to choose from" if self.classes is None else "not one of"
            raise InvalidParameter(
                f"explanation: {label!r} is {known} {self.classes or ''}".strip()
            )
        at = self.classes.index(label)
        return Explanation(
            self.values[:, :, at], self.base[at], self.names, self.data, None, self.error
        )

    @renamed(axes="ax")
    def plot(self, row: int | None = None, *, label: Any = None, ax: Axes = None) -> Any:
        """Draw the shares of one row as bars, or those of all rows as dots by their value.

        Parameters
        ----------
        row : int, optional
            The row to draw; all rows by default.
        label : optional
            The class to draw, where there are more than two; by default the one that the answer
            is largest for (one row), or the first.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.attributions import draw_bars, draw_dots

        if self.classes is not None:
            if label is None:
                label = self.classes[0 if row is None else int(self.answers[row].argmax())]
            return self.of_class(label).plot(row, ax=ax)
        if row is not None:
            self._check_row("plot", row)
        order = np.argsort(-(self.importance if row is None else np.abs(self.values[row])))
        chosen = order[:_SHOWN]
        names = [self.names[j] for j in chosen]
        if row is not None:
            return draw_bars(names, self.values[row][chosen], float(self.base), ax)
        ranks = [self._ranks(j) for j in chosen]
        return draw_dots(names, self.values[:, chosen], ranks, ax)

    def plot_importance(self, *, label: Any = None, ax: Axes = None) -> Any:
        """Draw the mean size of each column's share as a bar, the largest on top.

        Parameters
        ----------
        label : optional
            The class to draw, where there are more than two; all of them together by default.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.attributions import draw_sizes

        if label is not None:
            return self.of_class(label).plot_importance(ax=ax)
        size = self.importance if self.values.ndim == 2 else self.importance.mean(axis=1)
        chosen = np.argsort(-size)[:_SHOWN]
        what = "mean size of the share of the answer"
        return draw_sizes([self.names[j] for j in chosen], size[chosen], what, ax)

    def plot_series(self, row: int, *, label: Any = None, ax: Axes = None) -> Any:
        """Draw one row as a series whose steps are the columns, each on a colour by its share.

        Orange steps move the answer up, blue ones down.

        Parameters
        ----------
        row : int
            The row to draw.
        label : optional
            The class to draw, where there are more than two; by default the one that the answer is
            largest for.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.places import draw_series

        self._check_row("plot_series", row)
        if self.classes is not None:
            chosen = self.classes[int(self.answers[row].argmax())] if label is None else label
            return self.of_class(chosen).plot_series(row, ax=ax)
        steps = np.array([float(self._column(j)[row]) for j in range(len(self.names))])
        return draw_series(steps, self.values[row], ax)

    @renamed(axes="ax")
    def plot_dependence(self, column: int | str, *, label: Any = None, ax: Axes = None) -> Any:
        """Draw the shares of one column against its values, a dot a row.

        Parameters
        ----------
        column : int or str
            Its position among ``names``, or its name.
        label : optional
            The class to draw, where there are more than two; the first by default.
        ax : matplotlib axes, optional
            Where to draw.
        """
        from mercer._plot.attributions import draw_dependence

        if self.classes is not None:
            chosen = self.classes[0] if label is None else label
            return self.of_class(chosen).plot_dependence(column, ax=ax)
        known = isinstance(column, str) and column in self.names
        at = self.names.index(str(column)) if known else column
        if not isinstance(at, int) or not 0 <= at < len(self.names):
            raise InvalidParameter(
                f"plot_dependence: {column!r} is not one of the columns {', '.join(self.names)}."
            )
        return draw_dependence(self.names[at], self._column(at), self.values[:, at], ax)

    def _check_row(self, asker: str, row: int) -> None:
        if not -len(self.values) <= row < len(self.values):
            raise InvalidParameter(
                f"{asker}: row {row} is not one of the {len(self.values):,} rows that are "
                "explained."
            )

    def _ranks(self, at: int) -> Array | None:
        """Return how high each row is in a column, from 0 to 1; None where that means nothing."""
        try:
            values = np.asarray(self._column(at), dtype=float)
        except (InvalidParameter, TypeError, ValueError):
            return None
        low, high = np.nanpercentile(values, [5, 95]) if np.isfinite(values).any() else (0, 0)
        if not high > low:
            return None
        return np.asarray(np.nan_to_num(np.clip((values - low) / (high - low), 0, 1), nan=0.5))

    def _column(self, at: int) -> Any:
        """Return what the rows have in a column."""
        data = self.data
        if is_frame(data):
            frame = as_narwhals(data)
            if self.names[at] in frame.columns:
                return frame.get_column(self.names[at]).to_list()
        elif getattr(data, "ndim", 0) == 2 and data.shape[1] == len(self.names):
            column = data[:, [at]]
            return np.ravel(column.toarray() if hasattr(column, "toarray") else column)
        raise InvalidParameter(
            f"plot_dependence: the rows have no column {self.names[at]!r}: a step before the "
            "machine made it. Explain the last step of the pipeline with the rows that reach it."
        )

    def __repr__(self) -> str:
        rows, columns = self.values.shape[:2]
        size = np.ravel(self.importance if self.classes is None else self.importance.mean(axis=1))
        top = np.argsort(-size)[:3]
        strongest = ", ".join(f"{self.names[j]} {size[j]:.2g}" for j in top)
        return f"Explanation of {rows:,} rows by {columns:,} columns; strongest: {strongest}"
