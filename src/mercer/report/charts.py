"""The drawings of a report, from numbers that are already there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from mercer._typing import Array
from mercer.report import png
from mercer.report.phrases import difference, difference_interval, interval, value
from mercer.report.reasons import Vote, VoteLine
from mercer.report.record import (
    Calibration,
    GramPicture,
    Map,
    MeasuredScore,
    Reference,
    Residuals,
    Surface,
)
from mercer.report.svg import Scale, axes, chart, label, line, mark, names, scale_of, tag
from mercer.report.text import counted, fixed, number, percent

LEVELS = 10
"""Shades of a cell: tenths."""


def score_bar(score: MeasuredScore, large: bool = False) -> Markup:
    """Draw the interval of a score, its value and the baseline on one line."""
    width, height = (400.0, 52.0) if large else (180.0, 24.0)
    ends = (
        [0.0, 1.0]
        if score.form == "percent"
        else [score.low, score.high, score.baseline, score.value]
    )
    x = scale_of(ends, 8, width - 8, 0.0 if score.form == "percent" else 0.06)
    y = 18.0 if large else height / 2
    size = 6.0 if large else 4.5
    parts = [
        line(x.start, y, x.end, y, "track"),
        line(x(score.baseline), y - 1.6 * size, x(score.baseline), y + 1.6 * size, "baseline"),
        tag("circle", cx=x(score.value), cy=y, r=size, class_="value"),
    ]
    if math.isfinite(score.low):
        kind = "interval large" if large else "interval"
        parts.insert(1, line(x(score.low), y, x(score.high), y, kind))
    if large:
        at = x(score.baseline)
        side = "start" if at < 60 else "end" if at > width - 60 else "middle"
        parts.append(label(at, y + 27, f"baseline {value(score, score.baseline)}", f"tick {side}"))
    text = (
        f"{score.name} {value(score)}, 95 % interval {interval(score)}, "
        f"baseline {value(score, score.baseline)}"
    )
    return chart(width, height, text, *parts, class_="bar large" if large else "bar")


def difference_ends(references: list[Reference]) -> list[float]:
    """Return what the drawings of all references have to show, so that they share a scale."""
    ends = [end for r in references for end in (r.difference, r.low, r.high)]
    return [end for end in ends if math.isfinite(end)]


def difference_bar(reference: Reference, score: MeasuredScore, all_ends: list[float]) -> Markup:
    """Draw the difference from a reference with its interval; the upright stroke is none."""
    x = scale_of([0.0, *all_ends], 8, 172, 0.06)
    y, size = 12.0, 4.5
    parts = [
        line(x.start, y, x.end, y, "track"),
        line(x(0.0), y - 1.6 * size, x(0.0), y + 1.6 * size, "baseline"),
        tag("circle", cx=x(reference.difference), cy=y, r=size, class_="value"),
    ]
    if math.isfinite(reference.low):
        parts.insert(1, line(x(reference.low), y, x(reference.high), y, "interval"))
    text = (
        f"The model minus {reference.name}: {difference(score, reference.difference)}, 95 % "
        f"interval {difference_interval(score, reference)}"
    )
    return chart(180.0, 24.0, text, *parts, class_="bar")


def behind_bar(contender: VoteLine, vote: Vote) -> Markup:
    """Draw how far a candidate is behind the best one, and the noise of that."""
    ends = [end for v in vote.lines for end in (-v.behind - v.noise, -v.behind + v.noise)]
    x = scale_of([0.0, *ends], 8, 172, 0.06)
    y, size = 12.0, 4.5
    low, high = -contender.behind - contender.noise, -contender.behind + contender.noise
    text = f"Behind the best by {number(contender.behind, 2)}, noise {number(contender.noise, 2)}"
    return chart(
        180.0, 24.0, text,
        line(x.start, y, x.end, y, "track"),
        line(x(low), y, x(high), y, "interval"),
        line(x(0.0), y - 1.6 * size, x(0.0), y + 1.6 * size, "baseline"),
        tag("circle", cx=x(-contender.behind), cy=y, r=size, class_="value"),
        class_="bar",
    )  # fmt: skip


def weight_bar(share: float) -> Markup:
    """Draw a share of the greatest weight."""
    reach = 56.0 * max(0.0, min(1.0, share))
    bar = tag("rect", x=2.0, y=3.0, width=reach, height=8.0, class_="for")
    return tag(
        "svg", bar, line(2, 0, 2, 14, "axis"), class_="spark", viewBox="0 0 60 14",
        aria_hidden="true",
    )  # fmt: skip


def calibration(bins: Calibration) -> Markup:
    """Draw what happened against what was said, with intervals."""
    x = Scale(0, 1, 52, 418) if bins.probabilities else scale_of(bins.said, 52, 418)
    y = Scale(0, 1, 300, 30)
    parts: list[Any] = [axes_mixed(x, y, bins)]
    if bins.probabilities:
        parts.append(line(x(0), y(0), x(1), y(1), "ideal"))
    places = [(x(float(s)), y(float(h))) for s, h in zip(bins.said, bins.share, strict=True)]
    route = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    parts.append(tag("polyline", points=route, class_="route"))
    write = percent if bins.probabilities else number
    for i, (a, b) in enumerate(places):
        parts.append(line(a, y(float(bins.low[i])), a, y(float(bins.high[i])), "whisker"))
        tip = (
            f"{bins.said_name} {write(float(bins.said[i]))}: {bins.share_name} "
            f"{percent(float(bins.share[i]))} ({percent(float(bins.low[i]))} to "
            f"{percent(float(bins.high[i]))}), {counted(int(bins.count[i]), 'row')}"
        )
        parts.append(mark(a, b, 0, tip, "strong"))
    text = f"Calibration: {bins.share_name} by {bins.said_name}, in {len(places)} bins."
    return chart(440, 346, text, *parts)


def axes_mixed(x: Scale, y: Scale, bins: Calibration) -> Markup:
    """Return axes with per cent upwards, and across where probabilities are there."""
    if bins.probabilities:
        return axes(x, y, bins.said_name, bins.share_name, percent=True)
    parts = [line(x.start, y.start, x.end, y.start, "axis")]
    for share in y.ticks():
        parts.append(line(x.start, y(share), x.end, y(share), "grid"))
        parts.append(label(x.start - 8, y(share) + 4, f"{100 * share:.0f} %", "tick end"))
    for said in x.ticks():
        parts.append(line(x(said), y.start, x(said), y.start + 5, "axis"))
        parts.append(label(x(said), y.start + 19, number(said, 6), "tick middle"))
    parts.append(names(x, y, bins.said_name, bins.share_name))
    return tag("g", *parts)


def predictions(residuals: Residuals) -> Markup:
    """Draw true against predicted numbers."""
    both = np.concatenate([residuals.actual, residuals.predicted])
    x, y = scale_of(both, 62, 418), scale_of(both, 300, 30)
    parts = [
        axes(x, y, "predicted", "true"),
        line(x(x.low), y(x.low), x(x.high), y(x.high), "ideal"),
    ]
    parts += _residual_marks(residuals, x, y, residuals.actual)
    return chart(440, 346, "True against predicted numbers of the test rows.", *parts)


def errors(residuals: Residuals) -> Markup:
    """Draw the errors against the predicted numbers, with the tube."""
    missed = residuals.actual - residuals.predicted
    x = scale_of(residuals.predicted, 62, 418)
    y = scale_of(np.append(missed, 0.0), 300, 30)
    parts = []
    tube = residuals.tube
    if tube and math.isfinite(tube):
        top, bottom = y(min(tube, y.high)), y(max(-tube, y.low))
        parts.append(
            tag("rect", x=x.start, y=top, width=x.end - x.start, height=bottom - top, class_="tube")
        )
    parts += [
        axes(x, y, "predicted", "true − predicted"),
        line(x.start, y(0), x.end, y(0), "ideal"),
    ]
    parts += _residual_marks(residuals, x, y, missed)
    return chart(440, 346, "Errors of the test rows against the predicted numbers.", *parts)


def _residual_marks(residuals: Residuals, x: Scale, y: Scale, heights: Array) -> list[Markup]:
    order = np.argsort(residuals.predicted, kind="stable")
    return [
        mark(
            x(float(residuals.predicted[i])),
            y(float(heights[i])),
            0,
            f"test row {residuals.rows[i]}: predicted {number(float(residuals.predicted[i]))}, "
            f"true {number(float(residuals.actual[i]))}",
        )
        for i in order
    ]


def search_line(surface: Surface) -> Markup:
    """Draw the score along one parameter, values at equal steps."""
    count = len(surface.values[0])
    low, high = surface.mean - surface.std, surface.mean + surface.std
    y = scale_of(np.concatenate([low, high, surface.mean, surface.bound]), 300, 30)
    x = Scale(-0.5, count - 0.5, 62, 628)
    parts = [tag("g", *_numbers_up(y, x), line(x.start, y.start, x.end, y.start, "axis"))]
    step = math.ceil(count / 12)
    for i in range(0, count, step):
        parts.append(label(x(i), y.start + 19, surface.values[0][i], "tick middle"))
    parts.append(names(x, y, surface.parameters[0], surface.scoring))
    order = np.argsort(surface.places[:, 0], kind="stable")
    seen = [i for i in order if math.isfinite(surface.mean[i])]
    route = " ".join(
        f"{x(int(surface.places[i, 0])):.1f},{y(float(surface.mean[i])):.1f}" for i in seen
    )
    parts.append(tag("polyline", points=route, class_="route"))
    for i in order:
        place = x(int(surface.places[i, 0]))
        if i in seen and math.isfinite(surface.std[i]):
            parts.append(line(place, y(float(low[i])), place, y(float(high[i])), "whisker"))
        height = surface.mean[i] if i in seen else surface.bound[i]
        if math.isfinite(height):
            kind = "best strong" if i == surface.best else "strong" if i in seen else "dropped"
            parts.append(mark(place, y(float(height)), 0, entry_tip(surface, int(i)), kind))
    return chart(640, 346, f"{surface.scoring} by {surface.parameters[0]}.", *parts, columns=1)


def _numbers_up(y: Scale, x: Scale) -> list[Markup]:
    parts = []
    for tick in y.ticks():
        parts.append(line(x.start, y(tick), x.end, y(tick), "grid"))
        parts.append(label(x.start - 8, y(tick) + 4, number(tick, 6), "tick end"))
    return parts


def entry_tip(surface: Surface, i: int) -> str:
    """Say everything about one combination of a search."""
    where = ", ".join(
        f"{name} = {values[place]}"
        for name, values, place in zip(
            surface.parameters, surface.values, surface.places[i], strict=True
        )
    )
    if surface.dropped[i] or not math.isfinite(surface.mean[i]):
        bound = float(surface.bound[i])
        most = f": cannot exceed {fixed(bound, 4)}" if math.isfinite(bound) else ""
        return f"{where}: {'dropped' if surface.dropped[i] else 'not computed'}{most}"
    spread = f" ± {fixed(float(surface.std[i]), 4)}" if math.isfinite(surface.std[i]) else ""
    best = ", the best" if i == surface.best else ""
    return f"{where}: {surface.scoring} {fixed(float(surface.mean[i]), 4)}{spread}{best}"


def search_heat(surface: Surface) -> Markup:
    """Draw the scores over two parameters; dropped cells are hatched."""
    rows, columns = len(surface.values[0]), len(surface.values[1])
    left, top = 74.0, 34.0
    width = min(72.0, 640.0 / columns)
    height = min(34.0, max(14.0, 420.0 / rows))
    cells = {(int(a), int(b)): i for i, (a, b) in enumerate(surface.places)}
    low, high = heat_range(surface)
    parts: list[Any] = []
    for a in reversed(range(rows)):
        y = top + (rows - 1 - a) * height
        parts.append(label(left - 8, y + height / 2 + 4, surface.values[0][a], "tick end"))
        for b in range(columns):
            at = cells.get((a, b))
            if at is not None:
                parts.append(_cell(surface, at, left + b * width, y, width, height, low, high))
    bottom = top + rows * height
    longest = max(len(value) for value in surface.values[1])
    step = math.ceil((6.8 * min(longest, 40) + 4) / width)
    for b in range(0, columns, step):
        parts.append(
            label(left + (b + 0.5) * width, bottom + 17, surface.values[1][b], "tick middle")
        )
    middle = left + columns * width / 2
    parts.append(label(middle, bottom + 38, surface.parameters[1], "name middle"))
    parts.append(label(2, top - 14, surface.parameters[0], "name"))
    text = f"{surface.scoring} over {surface.parameters[0]} and {surface.parameters[1]}."
    return chart(left + columns * width + 6, bottom + 46, text, *parts, columns=columns,
                 class_="heat")  # fmt: skip


def _cell(
    surface: Surface, i: int, x: float, y: float, width: float, height: float, low: float,
    high: float,
) -> Markup:  # fmt: skip
    known = math.isfinite(surface.mean[i]) and not surface.dropped[i]
    shade = f"h{level(float(surface.mean[i]), low, high)}" if known else "hatched"
    box = {"x": x + 1, "y": y + 1, "width": width - 2, "height": height - 2, "rx": 3.0}
    children = [tag("title", entry_tip(surface, i)), tag("rect", class_=f"cell {shade}", **box)]
    if width >= 44 and height >= 20:
        shown = surface.mean[i] if known else surface.bound[i]
        text = "" if not math.isfinite(shown) else ("" if known else "≤ ") + fixed(float(shown), 3)
        children.append(label(x + width / 2, y + height / 2 + 4, text, f"number {shade}"))
    if i == surface.best:
        children.append(tag("rect", class_="ring", **box))
    return tag("g", *children, class_="mark best" if i == surface.best else "mark")


def heat_range(surface: Surface) -> tuple[float, float]:
    """Return the least and the greatest score that is known."""
    known = surface.mean[np.isfinite(surface.mean) & ~surface.dropped]
    return (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)


def level(value: float, low: float, high: float) -> int:
    """Return the shade of a value, 0 … 9."""
    share = (value - low) / (high - low) if high > low else 1.0
    return min(LEVELS - 1, max(0, int(share * LEVELS)))


def kernel_map(plane: Map) -> Markup:
    """Draw the points in the plane of the first two kernel principal components."""
    across, up = within(plane.x), within(plane.y)
    x, y = scale_of(across, 14, 846, 0.04), scale_of(up, 506, 28, 0.04)
    parts = [
        tag("rect", x=2.0, y=16.0, width=856.0, height=502.0, rx=8.0, class_="frame"),
        label(430, 542, f"first component ({percent(float(plane.explained[0]))} of the spread)",
              "name middle"),
        label(2, 6, f"second component ({percent(float(plane.explained[1]))})", "name"),
    ]  # fmt: skip
    for i in np.lexsort((plane.x, plane.point >= 0)):
        test = int(plane.point[i]) >= 0
        kind = "test" if test else "support" if plane.support[i] else "plain"
        words = {
            "test": "test row",
            "support": "training row, support vector",
            "plain": "training row",
        }
        group = int(plane.group[i])
        tip = f"{words[kind]} {plane.rows[i]}: {plane.groups[group]}"
        shade = f"{kind} ordered" if plane.ordered else kind
        more = {"data_point": int(plane.point[i])} if test else {}
        parts.append(
            mark(x(float(across[i])), y(float(up[i])), group, tip, shade, kind == "support", **more)
        )
    return chart(860, 552, "Kernel principal components of the data.", *parts, class_="map")


def within(values: Array) -> Array:
    """Pull values that lie very far out to the edge, where they leave the others some room."""
    low, high = np.quantile(values, [0.02, 0.98])
    room = 0.6 * (high - low)
    return np.clip(values, low - room, high + room) if room > 0 else values


def far_out(plane: Map) -> int:
    """Count the points that are drawn at the edge."""
    moved = (within(plane.x) != plane.x) | (within(plane.y) != plane.y)
    return int(moved.sum())


def gram(picture: GramPicture) -> Markup:
    """Draw the kernel matrix with lines between classes."""
    size, left, top = 360.0, 78.0, 8.0
    n = len(picture.levels)
    parts = _pixels(picture.levels, left, top, size, size)
    edge = 0
    for name, count in zip(picture.labels, picture.sizes.tolist(), strict=True):
        start, end = top + size * edge / n, top + size * (edge + count) / n
        if edge:
            parts.append(line(left, start, left + size, start, "border"))
            parts.append(line(left - top + start, top, left - top + start, top + size, "border"))
        if end - start >= 14:
            short = name if len(name) <= 11 else name[:10] + "…"
            parts.append(label(left - 8, (start + end) / 2 + 4, short, "tick end"))
        edge += count
    parts.append(tag("rect", x=left, y=top, width=size, height=size, class_="outline"))
    text = f"Kernel values of {n} training rows, ordered by {picture.ordered_by}."
    return chart(left + size + 8, top + size + 8, text, *parts, class_="gram")


def gram_ramp() -> Markup:
    """Draw the colours of kernel values from the least to the greatest."""
    levels = np.arange(256, dtype=np.uint8)[None, :]
    return tag("svg", *_pixels(levels, 0.0, 0.0, 200.0, 12.0), viewBox="0 0 200 12",
               aria_hidden="true")  # fmt: skip


def _pixels(
    levels: NDArray[np.uint8], x: float, y: float, width: float, height: float
) -> list[Markup]:
    """Return a picture of bytes twice, for light and for dark pages."""
    return [
        tag("image", href=png.data_uri(levels, colours), x=x, y=y, width=width, height=height,
            class_=f"pixels {scheme}", preserveAspectRatio="none")
        for scheme, colours in (("light-only", png.LIGHT), ("dark-only", png.DARK))
    ]  # fmt: skip


def contribution_bar(share: float) -> Markup:
    """Draw a signed share of the largest contribution."""
    middle, reach = 30.0, 28.0 * max(-1.0, min(1.0, share))
    kind = "for" if share >= 0 else "against"
    bar = tag(
        "rect", x=min(middle, middle + reach), y=3.0, width=abs(reach), height=8.0, class_=kind
    )
    zero = line(middle, 0, middle, 14, "axis")
    return tag("svg", bar, zero, class_="spark", viewBox="0 0 60 14", aria_hidden="true")


def legend_mark(group: int, kind: str) -> Markup:
    """Draw a point as it looks on the map."""
    point = mark(9, 9, group, "", kind, kind == "support")
    return tag("svg", point, class_="key", viewBox="0 0 18 18", aria_hidden="true")
