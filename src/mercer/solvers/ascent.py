"""Ascents of an evidence within bounds: by gradients alone, and by curvature where it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from mercer._typing import Array

_LEVEL = 1e-4
"""Slope below which an ascent has reached its top: a factor of e is worth less than that."""
_LONGEST = 2.0
"""No parameter moves by more than about this much in one step."""
_GOOD, _POOR, _BAD = 0.75, 0.25, 1e-3
"""Shares of the gain that was predicted: damp less above the first, more below the second, and
do not take the step below the third."""
_LAST = 10.0
"""A step that gains what was predicted, and less than this many times what ends an ascent, is the
last: slopes cost more than they would bring."""
_FIRST_DAMPING, _LEAST_DAMPING, _MOST_DAMPING = 1.0, 1e-3, 1e9
_MOST_STEPS = 500
_REMEMBERED = 3
"""Steps whose slopes correct the curvature."""
_SHORT = 0.3
"""Only steps shorter than this one do: longer ones tell of other places."""

Objective = Callable[[Array], tuple[float, Array]]


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best of several ascents: log parameters, the evidence there, and how they ended."""

    theta: Array
    value: float
    converged: bool
    evaluations: int
    messages: tuple[str, ...] = ()


class Place(Protocol):
    """The evidence at one θ: its value, and what a step needs where somebody asks."""

    value: float

    def slope_and_curvature(self) -> tuple[Array, Array]:
        """Return the gradient, and a positive semidefinite stand-in for minus the Hessian."""
        ...


def climb(
    place: Callable[[Array], Place], starts: Sequence[Array], bounds: Array, gain: float
) -> Optimum:
    """Climb from several starts by damped Newton steps within bounds; return the best top.

    (H + λD)·step = gradient

    An ascent ends where a step would gain less than the share ``gain`` of the value. A place is
    asked for slopes at once or never, before the next place is visited.
    """
    return better(*[_climb_from(place, start, bounds, gain) for start in starts])


def better(*found: Optimum) -> Optimum:
    """Return the best of several ascents, with the evaluations and messages of all."""
    best = max(found, key=lambda one: one.value)
    evaluations = sum(one.evaluations for one in found)
    messages = tuple(message for one in found for message in one.messages)
    return Optimum(best.theta, best.value, best.converged, evaluations, messages)


def _climb_from(
    place: Callable[[Array], Place], start: Array, bounds: Array, gain: float
) -> Optimum:
    low, high = bounds[:, 0], bounds[:, 1]
    theta = np.clip(start, low, high)
    here = place(theta)
    value, evaluations, damping = here.value, 1, _FIRST_DAMPING
    if not np.isfinite(value):
        return Optimum(theta, value, False, 1, ("the evidence is not finite at the start",))
    slope, curvature = here.slope_and_curvature()
    seen: list[tuple[Array, Array]] = []
    for _ in range(_MOST_STEPS):
        moved = np.clip(theta + _step(theta, slope, curvature, bounds, damping), low, high)
        step = moved - theta
        predicted = float(slope @ step - 0.5 * step @ curvature @ step)
        least = gain * max(1.0, abs(value))
        if predicted <= least or damping > _MOST_DAMPING:
            return Optimum(theta, value, True, evaluations)
        there = place(moved)
        evaluations += 1
        share = (there.value - value) / predicted
        if share > _GOOD:
            damping = max(damping / 8, _LEAST_DAMPING)
        elif not share > _POOR:
            damping = 3 * damping if share > _BAD else max(8 * damping, 0.1)
        if share > _BAD:
            theta, value = moved, there.value
            if predicted <= _LAST * least and _GOOD < share < 1 / _GOOD:
                return Optimum(theta, value, True, evaluations)
            before, (slope, curvature) = slope, there.slope_and_curvature()
            if np.abs(step).max() < _SHORT:
                seen = [*seen[1 - _REMEMBERED :], (step, before - slope)]
            curvature = _corrected(curvature, seen)
    return Optimum(theta, value, False, evaluations, (f"{_MOST_STEPS} steps were not enough",))


def _corrected(H: Array, seen: list[tuple[Array, Array]]) -> Array:
    """Return H, changed to explain how the slope fell along the last steps (as BFGS does)."""
    for step, fall in seen:
        bent = H @ step
        expected, observed = float(step @ bent), float(step @ fall)
        if expected > 0 and 0.1 * expected < observed < 10 * expected:
            H = H - np.outer(bent, bent) / expected + np.outer(fall, fall) / observed
    return H


def _step(theta: Array, slope: Array, curvature: Array, bounds: Array, damping: float) -> Array:
    """Return the damped step within the bounds, no parameter moving by more than ``_LONGEST``.

    Of three steps within this box it is the one with the greatest predicted gain: the Newton step
    made shorter; the one of those parameters that meet no wall; and that of every parameter for
    itself, which gains something wherever there is something to gain.
    """
    low = np.maximum(bounds[:, 0] - theta, -_LONGEST)
    high = np.minimum(bounds[:, 1] - theta, _LONGEST)
    diagonal = np.diagonal(curvature)
    # Where the evidence flattens out, its curvature fades before its slope does.
    firm = np.maximum(diagonal, np.abs(slope) / _LONGEST)
    firm = np.maximum(firm, 1e-12 * max(1.0, float(diagonal.max(initial=0.0))))
    H = curvature.copy()
    np.fill_diagonal(H, (1 + damping) * firm)

    free = ~(((low >= 0) & (slope <= 0)) | ((high <= 0) & (slope >= 0)))
    whole = _newton_step(H, slope, np.zeros(len(theta)), free)
    shorter = whole * min(1.0, _LONGEST / float(np.abs(whole).max(initial=1e-300)))
    walls = np.clip(whole, low, high)
    while (free & (walls != whole)).any():
        free &= walls == whole
        whole = _newton_step(H, slope, np.where(free, 0.0, walls), free)
        walls = np.clip(whole, low, high)
    alone = slope / np.abs(H).sum(axis=1)
    steps = [np.clip(step, low, high) for step in (walls, shorter, alone)]
    return max(steps, key=lambda step: float(slope @ step - 0.5 * step @ H @ step))


def _newton_step(H: Array, slope: Array, step: Array, free: Any) -> Array:
    """Return the step whose free parameters are best, given those that are not."""
    step = step.copy()
    step[free] = np.linalg.solve(H[np.ix_(free, free)], (slope - H @ step)[free])
    return step


def maximise(
    objective: Objective, starts: Sequence[Array], bounds: Array, gain: float = 2e-9
) -> Optimum:
    """Climb from several starts by L-BFGS within bounds; return the best top.

    An ascent ends where a step gains less than the share ``gain`` of the value.
    """
    best: Optimum | None = None
    evaluations = 0
    messages: list[str] = []

    for start in starts:
        begin = np.clip(start, bounds[:, 0], bounds[:, 1])
        first = objective(begin)
        # The first step is as long as the gradient; longer than 1 it would leave the good places.
        scale = 1 / max(1.0, float(np.abs(first[1]).max(initial=0.0)))
        if not np.isfinite(first[0]):
            scale = 1.0

        def downhill(
            theta: Array, begin: Array = begin, first: Any = first, c: float = scale
        ) -> Any:
            value, slope = first if np.array_equal(theta, begin) else objective(theta)
            return -c * value, -c * slope

        found = minimize(
            downhill,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": gain, "gtol": _LEVEL * scale},
        )
        evaluations += int(found.nfev)
        if not found.success:
            messages.append(str(found.message))
        if best is None or -found.fun / scale > best.value:
            best = Optimum(found.x, -float(found.fun) / scale, bool(found.success), 0)
    assert best is not None
    return Optimum(best.theta, best.value, best.converged, evaluations, tuple(messages))
