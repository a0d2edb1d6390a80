"""How much worse a model gets when a column is shuffled, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from narwhals import from_native
from scipy.stats import t as student
from sklearn.base import is_classifier

from mercer._deprecated import renamed
from mercer._typing import Array, Axes, IntArray, Model, Objects, Targets
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.encoders import as_narwhals, column_names, is_frame


@dataclass(frozen=True, eq=False, repr=False)
class PermutationImportance:
    """The growth of the error when a column is shuffled.

    Attributes
    ----------
    values : array of shape (d,)
        The mean growth of the error of a row: 0 or 1 for classes, the squared error for numbers.
    low, high : arrays of shape (d,)
        An interval for its mean over all rows of the kind.
    names : list of str
        The columns.
    error : float
        The mean error without shuffling.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Ridge, permutation_importance
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> found = permutation_importance(Ridge(0.1).fit(X, X[:, 0]), X, X[:, 0])
    >>> bool(found.low[0] > 1), bool(abs(found.values[1]) < 0.1)  # the second column is not used
    (True, True)
    """

    values: Array
    low: Array
    high: Array
    names: list[str]
    error: float

    @renamed(axes="ax")
    def plot(self, *, ax: Axes = None) -> Any:
        """Draw the values with their intervals, the largest on top."""
        from mercer._plot.attributions import draw_intervals

        order = np.argsort(-self.values)
        names = [self.names[j] for j in order]
        return draw_intervals(names, self.values[order], self.low[order], self.high[order], ax)

    def __repr__(self) -> str:
        top = np.argsort(-self.values)[:3]
        strongest = ", ".join(
            f"{self.names[j]} {self.values[j]:.2g} ({self.low[j]:.2g} to {self.high[j]:.2g})"
            for j in top
        )
        return f"PermutationImportance of {len(self.names):,} columns; strongest: {strongest}"


def permutation_importance(
    model: Model,
    X: Objects,
    y: Targets,
    *,
    repeats: int = 10,
    level: float = 0.95,
    random_state: int = 0,
) -> PermutationImportance:
    """Return how much the error grows when the values of one column are shuffled among the rows.

    For any model and any table. Let e(i ← j) be the error of row i with the value of row j put in,
    and eᵢ its usual error. The importance is the mean of e(i ← j) − eᵢ over shuffles. A row takes
    part twice, since it gets values and gives them: with aᵢ the mean of e(i ← ·) and cᵢ the mean of
    e(· ← i), the importance is a U-statistic whose variance is that of aᵢ + cᵢ − eᵢ over n
    (Hoeffding). The interval is Student's with that variance: what other rows of the kind would
    give. It is approximate: for squared errors of normal numbers, intervals of level 0.95 held the
    truth in 89 % of cases with 30 rows, 91 % with 100 and 94 % with 400.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor.
    X, y : data
        Rows that it never saw, and their answers.
    repeats : int
        Shuffles of each column.
    level : float
        The confidence of each interval, between 0 and 1.
    random_state : int
        The seed of the shuffles.

    Returns
    -------
    PermutationImportance
        ``values``, ``low``, ``high``, ``names``, ``plot()``.

    Examples
    --------
    >>> from mercer import SVC, load_data, permutation_importance
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X[:200], heart.y[:200])
    >>> found = permutation_importance(machine, heart.X[200:], heart.y[200:])
    >>> found.values.shape, bool((found.low <= found.high).all())
    ((13,), True)

    References
    ----------
    L. Breiman, Random forests, Machine Learning 45 (2001); W. Hoeffding, A class of statistics with
    asymptotically normal distribution, Annals of Mathematical Statistics 19 (1948).
    """
    if not 0 < level < 1:
        raise InvalidParameter(f"permutation_importance: level={level} has to be between 0 and 1.")
    if repeats < 1:
        raise InvalidParameter(f"permutation_importance: repeats={repeats} has to be 1 or more.")
    answers = np.asarray(y)
    n = len(answers)
    if n < 2:
        raise InvalidInput("permutation_importance: at least two rows are needed.")
    table = _table(X)
    if len(table) != n:
        raise InvalidInput(f"permutation_importance: X has {len(table)} rows and y has {n}.")

    def errors(rows: Objects) -> Array:
        said = np.asarray(model.predict(rows))
        if is_classifier(model):
            return np.asarray(said != answers, dtype=float)
        missed = np.asarray((said - answers) ** 2, dtype=float)
        return np.asarray(missed.reshape(n, -1).mean(axis=1))

    usual = errors(X)
    generator = np.random.default_rng(random_state)
    orders = [generator.permutation(n) for _ in range(repeats)]
    values, spread = np.empty(len(table.names)), np.empty(len(table.names))
    for j in range(len(table.names)):
        getting, giving = np.zeros(n), np.zeros(n)
        for order in orders:
            shuffled = errors(table.shuffled(j, order)) / repeats
            getting += shuffled
            giving[order] += shuffled
        values[j] = (getting - usual).mean()
        spread[j] = (getting + giving - usual).std(ddof=1)
    reach = student.ppf((1 + level) / 2, n - 1) * spread / np.sqrt(n)
    return PermutationImportance(
        values, values - reach, values + reach, table.names, float(usual.mean())
    )


@dataclass(frozen=True, eq=False)
class _Table:
    """A table whose columns can be shuffled."""

    names: list[str]
    rows: int
    shuffled: Callable[[int, IntArray], Objects]

    def __len__(self) -> int:
        return self.rows


def _table(X: Objects) -> _Table:
    if is_frame(X):
        frame = as_narwhals(X)

        def of_frame(j: int, order: IntArray) -> Objects:
            name = frame.columns[j]
            # The rows stay where they are, their index too: pandas would match shuffled rows by it.
            moved = frame.get_column(name)[order.tolist()].to_native()
            if hasattr(moved, "reset_index"):
                moved = moved.set_axis(X.index)
            return frame.with_columns(from_native(moved, series_only=True).alias(name)).to_native()

        return _Table([str(name) for name in column_names(X)], len(frame), of_frame)
    values = np.asarray(X)
    if values.ndim != 2:
        raise InvalidInput(
            "permutation_importance: X has to be a table: a frame, or an array of two dimensions."
        )

    def of_array(j: int, order: IntArray) -> Objects:
        moved = values.copy()
        moved[:, j] = values[order, j]
        return moved

    return _Table([f"x{j}" for j in range(values.shape[1])], len(values), of_array)
