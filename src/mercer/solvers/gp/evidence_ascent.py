"""Ascents of an evidence within bounds: by gradients alone, and by curvature where it is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from mercer._typing import Array
from mercer.solvers.base import Budget, Status

_FLAT_SLOPE = 1e-4
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
"""Damping at the start; less gains nothing, and more is a step of no length."""
_MOST_STEPS = 500
"""Far more than ascents take: tens of steps as a rule."""
_REMEMBERED = 3
"""Steps whose slopes correct the curvature."""
_SHORT = 0.3
"""Only steps shorter than this one do: longer ones tell of other places."""
_SAME = 0.05
"""An ascent that comes this near to a top that is known, and is not above it, ends there too."""
GAIN = 1e-8
"""Share of the evidence that a further step by curvature has to gain."""
_FTOL = 2e-9
"""Share of the evidence that a further step of L-BFGS has to gain, as SciPy's own default."""

Objective = Callable[[Array], tuple[float, Array]]
Optimizer = Callable[..., tuple[Array, float]]
"""A user's own: ``optimizer(objective, start, bounds=bounds)`` returns θ and minus the evidence."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best of several ascents: log parameters, the evidence there, and how they ended."""

    theta: Array
    value: float
    status: Status
    evaluations: int
    messages: tuple[str, ...] = ()

    @property
    def converged(self) -> bool:
        """Whether the best ascent ended on a top."""
        return self.status is Status.OPTIMAL


class LocalEvidence(Protocol):
    """The evidence at one θ: its value, and what a step needs where somebody asks."""

    value: float

    def slope_and_curvature(self) -> tuple[Array, Array]:
        """Return the gradient, and a positive semidefinite stand-in for minus the Hessian."""
        ...


def climb(
    local: Callable[[Array], LocalEvidence], starts: Sequence[Array], bounds: Array, budget: Budget
) -> Optimum:
    """Climb from several starts by damped Newton steps within bounds; return the best top.

    (H + λD)·step = gradient

    An ascent ends where a step would gain less than the share ``budget.tol`` of the value. A local
    evidence is asked for slopes at once or never, before the next one is made.
    """
    return _best_of(starts, lambda start: _climb_from(local, start, bounds, budget))


def _best_of(starts: Sequence[Array], ascend: Callable[[Array], Optimum]) -> Optimum:
    """Return the best of ascents from several starts, as long as there is time."""
    found = [ascend(starts[0])]
    for start in starts[1:]:
        if found[-1].status is Status.TIME_LIMIT:
            break
        found.append(ascend(start))
    return better(*found)


def better(*found: Optimum) -> Optimum:
    """Return the best of several ascents, with the evaluations and messages of all."""
    best = max(found, key=lambda one: one.value)
    late = any(one.status is Status.TIME_LIMIT for one in found)
    return Optimum(
        best.theta,
        best.value,
        Status.TIME_LIMIT if late else best.status,
        sum(one.evaluations for one in found),
        tuple(message for one in found for message in one.messages),
    )


def _climb_from(
    local: Callable[[Array], LocalEvidence], start: Array, bounds: Array, budget: Budget
) -> Optimum:
    low, high = bounds[:, 0], bounds[:, 1]
    theta = np.clip(start, low, high)
    here = local(theta)
    value, evaluations, damping = here.value, 1, _FIRST_DAMPING
    if not np.isfinite(value):
        message = "the evidence is not finite at the start"
        return Optimum(theta, value, Status.STALLED, 1, (message,))
    slope, curvature = here.slope_and_curvature()
    seen: list[tuple[Array, Array]] = []
    for _ in range(_MOST_STEPS):
        moved = np.clip(theta + _step(theta, slope, curvature, bounds, damping), low, high)
        step = moved - theta
        predicted = float(slope @ step - 0.5 * step @ curvature @ step)
        least = budget.tol * max(1.0, abs(value))
        if predicted <= least or damping > _MOST_DAMPING:
            return Optimum(theta, value, Status.OPTIMAL, evaluations)
        reason = budget.stop(predicted, evaluations)
        if reason is not None:
            return Optimum(theta, value, reason, evaluations)
        there = local(moved)
        evaluations += 1
        share = (there.value - value) / predicted
        if share > _GOOD:
            damping = max(damping / 8, _LEAST_DAMPING)
        elif not share > _POOR:
            damping = 3 * damping if share > _BAD else max(8 * damping, 0.1)
        if share > _BAD:
            theta, value = moved, there.value
            if predicted <= _LAST * least and _GOOD < share < 1 / _GOOD:
                return Optimum(theta, value, Status.OPTIMAL, evaluations)
            before, (slope, curvature) = slope, there.slope_and_curvature()
            if np.abs(step).max() < _SHORT:
                seen = [*seen[1 - _REMEMBERED :], (step, before - slope)]
            curvature = _corrected(curvature, seen)
    message = f"{_MOST_STEPS} steps were not enough"
    return Optimum(theta, value, Status.MAX_ITER, evaluations, (message,))


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
    firm = np.maximum(firm, 1e-12 * float(diagonal.max(initial=1.0)))
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
    steps = np.clip([walls, shorter, alone], low, high)
    gains = steps @ slope - 0.5 * ((steps @ H) * steps).sum(axis=1)
    return np.asarray(steps[gains.argmax()])


def _newton_step(H: Array, slope: Array, step: Array, free: NDArray[np.bool_]) -> Array:
    """Return the step whose free parameters are best, given those that are not."""
    step = step.copy()
    step[free] = np.linalg.solve(H[np.ix_(free, free)], (slope - H @ step)[free])
    return step


def maximise(
    objective: Objective,
    starts: Sequence[Array],
    bounds: Array,
    gain: float = _FTOL,
    budget: Budget | None = None,
    known: Optimum | None = None,
    slope: float = _FLAT_SLOPE,
    reach: float = np.inf,
) -> Optimum:
    """Climb from several starts by L-BFGS within bounds; return the best top.

    An ascent ends where a step gains less than the share ``gain`` of the value, where no slope is
    above ``slope``, or at a ``known`` top of another one. It goes in stages of which none moves a
    parameter by more than ``reach``.
    """
    budget = budget or Budget()
    top = known if known is not None and known.converged else None

    def ascend_in_stages(start: Array) -> Optimum:
        found = ascend(start, _box(start, bounds, reach))
        for _ in range(_MOST_STEPS):
            box = _box(start, bounds, reach)
            walls = (box != bounds) & (np.abs(found.theta[:, None] - box) < _SAME)
            if not found.converged or not walls.any():
                break
            start, before = found.theta, found.value
            found = better(found, ascend(start, _box(start, bounds, reach)))
            if not found.value > before:
                break
        return found

    def ascend(start: Array, bounds: Array) -> Optimum:
        begin = np.clip(start, bounds[:, 0], bounds[:, 1])
        first = objective(begin)
        # The first step is as long as the gradient; longer than 1 it would leave the good places.
        scale = 1 / max(1.0, float(np.abs(first[1]).max(initial=0.0)))
        if not np.isfinite(first[0]):
            scale = 1.0
        best = Optimum(begin, first[0], Status.OPTIMAL, 1)

        def downhill(theta: Array) -> tuple[float, Array]:
            nonlocal best
            value, gradient = first
            if not np.array_equal(theta, begin):
                reason = budget.stop(np.inf, best.evaluations)
                if reason is not None:
                    best = replace(best, status=reason)
                    raise _Ended
                value, gradient = objective(theta)
                best = replace(best, evaluations=best.evaluations + 1)
                if value > best.value:
                    best = replace(best, theta=theta.copy(), value=value)
                if top is not None and not value > top.value and _near(theta, top.theta):
                    raise _Ended
            return -scale * value, -scale * gradient

        try:
            found = minimize(
                downhill,
                begin,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options={"ftol": gain, "gtol": slope * scale},
            )
        except _Ended:
            return best
        status = Status.OPTIMAL if found.success else Status.STALLED
        messages = () if found.success else (str(found.message),)
        return Optimum(found.x, -float(found.fun) / scale, status, best.evaluations, messages)

    return _best_of(starts, ascend_in_stages)


def _box(theta: Array, bounds: Array, reach: float) -> Array:
    """Return the bounds of what is within reach."""
    theta = np.clip(theta, bounds[:, 0], bounds[:, 1])
    return np.column_stack(
        [np.maximum(bounds[:, 0], theta - reach), np.minimum(bounds[:, 1], theta + reach)]
    )


def _near(one: Array, other: Array) -> bool:
    return bool(np.abs(one - other).max(initial=0.0) < _SAME)


class _Ended(Exception):
    """Leads out of SciPy's minimiser."""


def ascend_by(
    optimizer: Optimizer, objective: Callable[..., object], starts: Sequence[Array], bounds: Array
) -> Optimum:
    """Climb from several starts by a user's own optimizer, which minimises; return the best."""
    found = []
    for start in starts:
        theta, value = optimizer(objective, start, bounds=bounds)
        found.append(Optimum(np.asarray(theta, dtype=float), -float(value), Status.OPTIMAL, 0))
    return better(*found)
