"""Machines that draw themselves: ``plot(X=None, y=None, ax=None)`` returns the axes.

X and y are the points to draw, the training data or others. Without them a machine draws what it
has kept of its fit. The drawing itself is in :mod:`mercer._plot`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._plot import Cloud, margins, regions
from mercer._plot.curves import (
    draw_against,
    draw_band,
    draw_curve,
    draw_rug,
    draw_surface,
    places_of,
)
from mercer._typing import Array, Axes, Labels, Objects, Targets
from mercer.exceptions import InvalidInput
from mercer.kernels.encoders import as_narwhals, column_names, is_frame

MARGINS = {-1.0: "f = −1", 0.0: "0", 1.0: "1"}
"""The values of f at the margins and on the boundary, as they are written on their lines."""
SHARES = {0.1: "10 %", 0.5: "50 %", 0.9: "90 %"}
"""Probabilities of the second class that are drawn as lines."""


@contextmanager
def _unnamed_rows() -> Iterator[None]:
    """Let machines that were fitted on named columns be asked about rows without names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


class Held(NamedTuple):
    """Rows and targets that a fit has kept; None where it has not."""

    rows: Any = None
    targets: Any = None


class DrawnMachine:
    """What all machines that draw themselves share: how they read the data of a picture."""

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the machine; return the axes."""
        raise NotImplementedError

    def _held(self) -> Held:
        """Return what the fit has kept of its data."""
        kept = (getattr(self, name, None) for name in ("X_train_", "X_fit_", "support_vectors_"))
        return Held(next((rows for rows in map(plain_rows, kept) if rows is not None), None))

    def _read_picture(self, X: Objects, y: Targets, most: int | None = 2) -> tuple[Cloud, Targets]:
        """Return the points to draw, of at most so many columns, and their targets."""
        check_is_fitted(self)
        if X is None:
            X, held = self._held()
            y = held if y is None else y
        name = type(self).__name__
        if X is None:
            raise InvalidInput(
                f"{name}.plot: the machine has kept no rows of numbers. Give the rows to draw: "
                "plot(X, y)."
            )
        rows, columns = _numbers(X, name)
        if y is not None:
            check_consistent_length(rows, y)
        if most is not None and rows.shape[1] > most:
            raise InvalidInput(
                f"{name}.plot draws one or two columns, and X has {rows.shape[1]}. Fit it on two "
                "of the columns, X[:, [0, 1]], or on two components: PCA(2).fit_transform(X)."
            )
        return Cloud(rows, columns=columns or _column_names(self, rows.shape[1])), y

    def _asking(self, method: str, X: Objects) -> Any:
        """Return a method that takes rows of numbers in the form of the data that were given."""
        asked = getattr(self, method)

        def ask(rows: Array) -> Any:
            if is_frame(X):
                return asked(_frame_like(X, rows))
            with _unnamed_rows():
                return asked(rows)

        return ask


class DrawnClassifier(DrawnMachine):
    """A classifier that draws its regions in the plane, or its function over one column."""

    classes_: Labels
    _drawn_function: ClassVar[str] = "decision_function"
    _drawn_levels: ClassVar[Mapping[float, str]] = {0.0: ""}

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the regions of the classes with their boundaries, and points.

        Two columns are drawn as a plane, one as a curve. Machines with a margin show the lines
        f = ±1, thin lines from points with slack to their margin, and rings around support vectors:
        full where 0 < α < C, dotted where α = C. Crosses are points of another class than is said.

        Parameters
        ----------
        X : array or frame of one or two columns, optional
            The points to draw; those that the fit has kept by default.
        y : array, optional
            Their classes.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        cloud, y = self._read_picture(X, y)
        cloud = Cloud(cloud.rows, self._codes(y), [str(c) for c in self.classes_], cloud.columns)
        if len(self.classes_) > 2:
            if cloud.rows.shape[1] == 1:
                raise InvalidInput(
                    f"{type(self).__name__}.plot draws one column for two classes, and there are "
                    f"{len(self.classes_)}. Fit it on two columns."
                )
            ax = regions.draw_several_classes(self._deciding(X), cloud, ax)
            return self._finish(ax, cloud, X, None)
        if cloud.rows.shape[1] == 1:
            probability = self._drawn_function == "predict_proba"
            name = f"probability of {cloud.names[1]}" if probability else "f(x)"
            ends = (0.0, 1.0) if probability else (-1.0, 1.0)
            return regions.draw_curve(self._values_on(X), cloud, self._drawn_levels, ends, name, ax)
        lines = regions.draw_two_classes(self._values_on(X), cloud, self._drawn_levels, ax)
        return self._finish(lines.axes, cloud, X, lines)

    def _finish(self, ax: Any, cloud: Cloud, X: Objects, lines: Any) -> Any:
        """Draw the points and what is known of them; return the axes."""
        wrong = None
        if cloud.codes is not None:
            wrong = (cloud.codes >= 0) & (self._deciding(X)(cloud.rows) != cloud.codes)
        self._draw_below(ax, cloud)
        regions.draw_points(ax, cloud, wrong)
        margins.draw_support(ax, *self._drawn_support())
        if lines is not None and len(self._drawn_levels) > 1 and self._has_margin():
            self._draw_slacks(ax, cloud, X, lines)
        if lines is not None:
            regions.name_lines(lines, self._drawn_levels, cloud)
        margins.name_kinds(ax)
        return regions.frame(ax, cloud)

    def _draw_slacks(self, ax: Any, cloud: Cloud, X: Objects, lines: Any) -> None:
        if cloud.codes is None:
            return
        known = cloud.codes >= 0
        rows, signs = cloud.rows[known], np.where(cloud.codes[known] > 0, 1.0, -1.0)
        slack = np.maximum(0.0, 1.0 - signs * self._values_on(X)(rows))
        margins.draw_slacks(ax, lines, rows, signs, slack)

    def _draw_below(self, ax: Any, cloud: Cloud) -> None:
        """Draw what lies below the points."""

    def _has_margin(self) -> bool:
        return self._drawn_function == "decision_function"

    def _drawn_support(self) -> tuple[Array, Array, str]:
        """Return rows with full rings, rows with dotted ones, and what the full ones are."""
        return np.empty((0, 2)), np.empty((0, 2)), ""

    def _values_on(self, X: Objects) -> Any:
        ask = self._asking(self._drawn_function, X)
        if self._drawn_function == "predict_proba":
            return lambda rows: np.asarray(ask(rows))[:, 1]
        return ask

    def _deciding(self, X: Objects) -> Any:
        ask = self._asking("predict", X)
        return lambda rows: self._codes(ask(rows))

    def _codes(self, y: Targets) -> Any:
        """Return the numbers of classes, −1 for what is none of them."""
        if y is None:
            return None
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise InvalidInput(
                f"{type(self).__name__}.plot draws one class for each point, and y has the shape "
                f"{labels.shape}."
            )
        numbers = {label: code for code, label in enumerate(self.classes_.tolist())}
        return np.array([numbers.get(label, -1) for label in labels.tolist()], dtype=np.intp)


class DrawnProbabilities(DrawnClassifier):
    """A classifier that draws where the second class has a probability of 10, 50 and 90 %."""

    _drawn_function = "predict_proba"
    _drawn_levels = SHARES


class DrawnRegressor(DrawnMachine):
    """A regression that draws its curve, its surface, or its predictions against the targets."""

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the function and points.

        One column is drawn as a curve, with the tube of a support vector machine and rings around
        the points on or outside of it; two columns as labelled contours; more as predictions
        against targets, which need ``y``.

        Parameters
        ----------
        X : array or frame, optional
            The points to draw; those that the fit has kept by default.
        y : array, optional
            Their targets.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        cloud, y = self._read_picture(X, y, None)
        targets = None if y is None else np.asarray(y, dtype=np.float64)
        predict, columns = self._asking("predict", X), cloud.rows.shape[1]
        if columns == 1:
            ax = draw_curve(predict, cloud, targets, self._tube_width(), ax)
            places = self._drawn_places()
            if targets is None and len(places):
                draw_rug(ax, places)
            return ax
        if targets is not None and targets.ndim > 1 and targets.shape[1] > 1:
            raise InvalidInput(
                f"{type(self).__name__}.plot draws one target over {columns} columns, and y has "
                f"{targets.shape[1]}. Fit them one by one."
            )
        if columns == 2:
            return draw_surface(predict, cloud, None if targets is None else targets.ravel(), ax)
        if targets is None:
            raise InvalidInput(
                f"{type(self).__name__}.plot draws {columns} columns as predictions against "
                "targets. Give them too: plot(X, y)."
            )
        return draw_against(np.ravel(predict(cloud.rows)), targets.ravel(), ax)

    def _tube_width(self) -> float | None:
        """Return half the width of the tube in which errors cost nothing, None without one."""
        return None

    def _drawn_places(self) -> Array:
        """Return where support vectors lie along the one column."""
        return np.empty(0)


class DrawnProcess(DrawnMachine):
    """A Gaussian process that draws its band and functions from it."""

    y_train_: Array
    _y_train_mean: Any
    _y_train_std: Any

    def _held(self) -> Held:
        rows = super()._held().rows
        if rows is None:
            return Held()
        return Held(rows, self.y_train_ * self._y_train_std + self._y_train_mean)

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the mean, the band that holds 95 % of new observations, three samples, and the data.

        Over two columns the mean is drawn as labelled contours. Before ``fit`` it is the prior, and
        X says where to draw it.

        Parameters
        ----------
        X : array or frame of one or two columns, optional
            The points to draw; the training data by default.
        y : array, optional
            Their targets.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        cloud, y = self._read_picture(X, y)
        targets = None if y is None else np.asarray(y, dtype=np.float64)
        predict: Any = self._asking("predict", X)
        if cloud.rows.shape[1] == 2:
            return draw_surface(predict, cloud, targets, ax)
        x = places_of(cloud)
        rows = _frame_like(X, x[:, None]) if is_frame(X) else x[:, None]
        machine: Any = self
        with _unnamed_rows():
            mean, deviation = machine.predict(rows, return_std=True)
            if mean.ndim > 1:
                raise InvalidInput(
                    f"{type(self).__name__}.plot draws one target, and there are {mean.shape[1]}. "
                    "Fit them one by one."
                )
            _, covariance = machine.predict(rows, return_cov=True)
            # Functions are smooth; White noise is that of new observations, as the band is.
            covariance = covariance - np.diag(machine.white_noise(rows))
        samples = np.random.default_rng(0).multivariate_normal(
            mean, covariance, _SAMPLES, check_valid="ignore", method="eigh"
        )
        return draw_band(x, mean, deviation, samples.T, cloud, targets, ax)


_SAMPLES = 3
"""Functions drawn from a process: enough to see how they vary."""


def plain_rows(kept: Any) -> Array | None:
    """Return what a fit has kept as rows of numbers, None where it is something else."""
    rows = kept.toarray() if sparse.issparse(kept) else kept
    plain = isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.size > 0
    return rows if plain and rows.dtype.kind in "fiu" else None


def _numbers(X: Objects, name: str) -> tuple[Array, list[str]]:
    """Return data as rows of numbers, and the names of their columns where they have some."""
    columns: list[str] = []
    if is_frame(X):
        columns = [str(column) for column in column_names(X)]
        X = as_narwhals(X).to_numpy()
    try:
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2 or not rows.size:
        raise InvalidInput(
            f"{name}.plot draws rows of numbers, and X holds something else. Objects of any kind "
            "are drawn by KernelPCA(2, kernel=...).fit(X).plot(y=y)."
        )
    return rows, columns


def _column_names(machine: Any, count: int) -> list[str]:
    known = getattr(machine, "feature_names_in_", None)
    if known is not None and len(known) == count:
        return [str(name) for name in known]
    return ["x"] if count == 1 else [f"x{'₁₂'[j]}" if j < 2 else f"x{j + 1}" for j in range(count)]


def _frame_like(X: Objects, rows: Array) -> Any:
    """Return rows as a frame of the kind and with the columns of another one."""
    import narwhals.stable.v2 as nw

    columns = dict(zip(column_names(X), np.asarray(rows).T, strict=True))
    space = nw.get_native_namespace(as_narwhals(X))
    return nw.from_dict(columns, backend=space).to_native()
