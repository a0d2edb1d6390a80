"""Pictures of support vector machines: their margins, kinds of points and frontiers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer._plot import Cloud, margins, regions
from mercer._typing import Array, Axes, IntArray, Labels, Objects, Targets
from mercer.estimators.drawn import MARGINS, DrawnClassifier, DrawnMachine, Held, plain_rows
from mercer.estimators.svm.binary import BinaryMachine

_NONE = np.empty((0, 2))


class DrawnMargins(DrawnClassifier):
    """A classifier made of binary machines that draws their margins and support vectors."""

    _drawn_levels: ClassVar[dict[float, str]] = MARGINS
    _machines: list[BinaryMachine]
    _support_codes: IntArray
    support_: Any
    support_vectors_: Any
    classes_: Labels

    def _held(self) -> Held:
        points = self._machines[0].points.rows if self._machines else None
        if points is None:
            rows = plain_rows(self.support_vectors_)
            return Held() if rows is None else Held(rows, self.classes_[self._support_codes])
        targets = np.full(len(points), None, dtype=object)
        for machine in self._machines:
            for sign, label in zip((-1.0, 1.0), machine.classes, strict=True):
                if label in self.classes_.tolist():
                    targets[machine.rows[machine.signs == sign]] = label
        return Held(points, targets)

    def _drawn_support(self) -> tuple[Array, Array, str]:
        rows = plain_rows(self.support_vectors_)
        if rows is None:
            return _NONE, _NONE, ""
        if len(self._machines) != 1:
            return rows, _NONE, "support vector"
        machine = self._machines[0]
        free, bound = (
            rows[np.isin(self.support_, machine.rows[kind])]
            for kind in (machine.free_, machine.bound_)
        )
        return free, bound, "0 < α < C"


class DrawnFrontier(DrawnMachine):
    """A one-class machine that draws the frontier of the region where the data live."""

    def plot(self, X: Objects = None, y: Targets = None, ax: Axes = None) -> Any:
        """Draw the frontier f(x) = ρ, the support vectors as rings, and the points.

        Parameters
        ----------
        X : array or frame of one or two columns, optional
            The points to draw; the support vectors by default.
        y
            Ignored.
        ax : matplotlib axes, optional
            Where to draw; new axes by default.
        """
        cloud, _ = self._read_picture(X, None)
        inside = self._asking("decision_function", X)
        codes = (inside(cloud.rows) < 0).astype(np.intp)
        cloud = Cloud(cloud.rows, codes, ("inlier", "outlier"), cloud.columns)
        if cloud.rows.shape[1] == 1:
            return regions.draw_curve(
                lambda rows: -inside(rows), cloud, {0.0: ""}, (0.0, 0.0), "ρ − f(x)", ax
            )
        levels = {0.0: "f = ρ"}
        lines = regions.draw_two_classes(lambda rows: -inside(rows), cloud, levels, ax)
        ax = lines.axes
        regions.draw_points(ax, cloud)
        margins.draw_support(ax, self._held().rows, _NONE, "support vector")
        regions.name_lines(lines, levels, cloud)
        margins.name_kinds(ax)
        return regions.frame(ax, cloud)
