"""Drawings of thresholds: the ROC curve, and precision against recall."""

from __future__ import annotations

from markupsafe import Markup

from mercer._typing import Array
from mercer.report.svg import Scale, axes, chart, line, mark, tag
from mercer.report.text import fixed, percent
from mercer.report.threshold_curves import ThresholdCurves


def roc(curves: ThresholdCurves) -> Markup:
    """Draw sensitivity against false alarms; the diagonal is a guess."""
    x, y = Scale(0, 1, 52, 418), Scale(0, 1, 300, 30)
    tip = (
        f"the model's answers: sensitivity {percent(curves.at_found)}, specificity "
        f"{percent(1 - curves.at_alarms)}"
    )
    return chart(
        440, 346, f"ROC curve, area {fixed(curves.auc)}.",
        axes(x, y, "false alarms (1 − specificity)", "sensitivity", percent=True),
        line(x(0), y(0), x(1), y(1), "ideal"),
        _steps(x, y, curves.alarms, curves.found),
        mark(x(curves.at_alarms), y(curves.at_found), 0, tip, "strong"),
    )  # fmt: skip


def precision(curves: ThresholdCurves) -> Markup:
    """Draw precision against recall; the level line is a guess."""
    x, y = Scale(0, 1, 52, 418), Scale(0, 1, 300, 30)
    tip = (
        f"the model's answers: recall {percent(curves.at_found)}, precision "
        f"{percent(curves.at_right)}"
    )
    return chart(
        440, 346, f"Precision and recall, average precision {fixed(curves.average_precision)}.",
        axes(x, y, "recall (sensitivity)", "precision", percent=True),
        line(x(0), y(curves.share), x(1), y(curves.share), "ideal"),
        _steps(x, y, curves.found, curves.right),
        mark(x(curves.at_found), y(curves.at_right), 0, tip, "strong"),
    )  # fmt: skip


def _steps(x: Scale, y: Scale, across: Array, up: Array) -> Markup:
    pairs = zip(across.tolist(), up.tolist(), strict=True)
    route = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in pairs)
    return tag("polyline", points=route, class_="route")
