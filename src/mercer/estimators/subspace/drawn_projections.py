"""Pictures of maps: components, discriminants and sources."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._plot import Cloud
from mercer._plot.projections import (
    draw_mixtures,
    draw_projection,
    draw_shares,
    draw_unit_classes,
)
from mercer._typing import Array, Axes, Labels, Objects, Targets
from mercer.exceptions import InvalidInput

_MOST_CLASSES = 12
"""Different numbers up to which y is taken for classes; more are drawn on a scale."""


class DrawnComponents:
    """A map to components that draws the first two coordinates of objects."""

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw objects by their first two coordinates.

        Parameters
        ----------
        X : data, optional
            The objects to draw; the training objects by default, where the model has kept them,
            else the shares of the variance.
        y : array, optional
            Their classes, or numbers for a scale of colours.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        check_is_fitted(self)
        machine: Any = self
        T = self._kept_coordinates() if X is None else np.asarray(machine.transform(X))
        shares = self._variance_shares()
        if T is None:
            if y is not None:
                raise InvalidInput(
                    f"{type(self).__name__}.plot: y is of rows that the model has not kept. Give "
                    "both: plot(X, y)."
                )
            return draw_shares(shares, ax)
        names = [f"component {j + 1}" for j in range(T.shape[1])]
        if shares is not None:
            pairs = zip(names, shares, strict=False)
            names = [f"{name} ({share:.0%} of the variance)" for name, share in pairs]
        return draw_projection(*_coloured(T, y, names), ax)

    def _kept_coordinates(self) -> Array | None:
        """Return the coordinates of the training objects, None where they were not kept."""
        return None

    def _variance_shares(self) -> Any:
        """Return the share of the variance of each component, None where it is not known."""
        return None


class DrawnDiscriminant:
    """A discriminant that draws its projection, with the classes as it sees them."""

    classes_: Labels
    means_: Array

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the projection on the first two directions, scaled to S_w = I.

        The classes are Gaussians of covariance I there: circles hold 95 % of each. With one
        direction, densities over histograms.

        Parameters
        ----------
        X : data, optional
            Objects to draw; without them the classes alone are drawn.
        y : array, optional
            Their classes.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        check_is_fitted(self)
        machine: Any = self
        means, names = self._projected_means(), [str(name) for name in self.classes_]
        columns = [f"direction {j + 1}" for j in range(means.shape[1])]
        T = means[:0] if X is None else np.asarray(machine.transform(X))
        codes = None
        if X is not None and y is not None:
            check_consistent_length(T, y)
            numbers = {label: code for code, label in enumerate(self.classes_.tolist())}
            codes = np.array([numbers.get(label, -1) for label in np.asarray(y).tolist()])
        ax = draw_projection(Cloud(T, codes, names, columns), None, ax)
        draw_unit_classes(ax, means, names)
        return ax

    def _projected_means(self) -> Array:
        """Return the means of the classes in the projection."""
        return self.means_


class DrawnSources:
    """A model of sources that draws mixtures and sources side by side."""

    mixing_: Array

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw two columns of the mixtures, and two sources that were found in them.

        Arrows show where each of the two sources moves the mixtures: the columns of ``mixing_``.

        Parameters
        ----------
        X : array of shape (n, columns)
            The mixtures; the model keeps none itself.
        y
            Ignored.
        ax : two matplotlib axes, optional
            Where to draw; new axes by default.

        Returns
        -------
        array of two axes
        """
        check_is_fitted(self)
        name, machine = type(self).__name__, self
        if X is None:
            raise InvalidInput(f"{name}.plot: the model keeps no data. Give the mixtures: plot(X).")
        source: Any = machine
        S = np.asarray(source.transform(X))
        rows = np.asarray(X, dtype=np.float64)
        if S.shape[1] < 2:
            raise InvalidInput(f"{name}.plot draws two sources, and there is one.")
        return draw_mixtures(rows, S, self.mixing_, ax)


def _coloured(T: Array, y: Targets, names: list[str]) -> tuple[Cloud, Any]:
    """Return points with their classes, or with numbers where y has more than a few values."""
    if y is None:
        return Cloud(T, columns=names), None
    labels = np.asarray(y)
    check_consistent_length(T, labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if labels.dtype.kind == "f" and len(classes) > _MOST_CLASSES:
        return Cloud(T, columns=names), labels
    return Cloud(T, codes.ravel(), [str(name) for name in classes], names), None
