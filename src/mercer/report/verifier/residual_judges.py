"""Regressions in a norm of the residuals, or with a penalty of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.report.verifier.findings import (
    EPSILON,
    FEASIBLE,
    ROUNDING,
    Arrays,
    Found,
    Multiplied,
    StatedRows,
    Tree,
    require,
    top,
)
from mercer.report.verifier.page import Array, NoProof


class PenaltyFormula(NamedTuple):
    """φ(r), its conjugate φ*(ν) = max over r of νr − φ(r), and the slopes that φ can have."""

    value: Callable[[Array], Array]
    conjugate: Callable[[Array], Array]
    box: tuple[float, float] = (-math.inf, math.inf)


def _huber(a: float) -> PenaltyFormula:
    def value(r: Array) -> Array:
        inner = np.minimum(np.abs(r), a)
        return np.asarray(inner * (2 * np.abs(r) - inner))

    return PenaltyFormula(value, lambda nu: nu**2 / 4, (-2 * a, 2 * a))


def _barrier(a: float) -> PenaltyFormula:
    def value(r: Array) -> Array:
        share = np.minimum((r / a) ** 2, 1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(-(a**2) * np.log1p(-share))

    def conjugate(nu: Array) -> Array:
        r = nu / (1 + np.sqrt(1 + (nu / a) ** 2))
        return np.asarray(nu * r - value(r))

    return PenaltyFormula(value, conjugate)


def _nothing(nu: Array) -> Array:
    return np.zeros(len(nu))


PENALTIES: dict[str, Callable[[float], PenaltyFormula]] = {
    "l2": lambda a: PenaltyFormula(np.square, lambda nu: nu**2 / 4),
    "l1": lambda a: PenaltyFormula(np.abs, _nothing, (-1.0, 1.0)),
    "quantile": lambda tau: PenaltyFormula(
        lambda r: np.maximum(tau * r, (tau - 1) * r), _nothing, (tau - 1, tau)
    ),
    "dead_zone": lambda a: PenaltyFormula(
        lambda r: np.maximum(np.abs(r) - a, 0.0), lambda nu: a * np.abs(nu), (-1.0, 1.0)
    ),
    "huber": _huber,
    "log_barrier": _barrier,
}
"""Penalties by their names, each with one number of its own."""


def judge_penalty(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min Σ φ(y − w·x̃) by yᵀν − Σ φ*(ν) over Σ νx̃ = 0.

    That sum is 0 up to rounding, whose price is that of weights twice as large.
    """
    name, a = problem["penalty"], float(problem["parameter"])
    good = name in PENALTIES and 0 < a < (1 if name == "quantile" else math.inf)
    require(good, "a penalty is none of those that are known")
    phi, y, w, nu = PENALTIES[name](a), data["targets"], data["w"], data["multipliers"]
    require(nu.shape == y.shape and w.ndim == 1, "there is not one multiplier for each row")
    f, size = rows.dot(w)
    r, inside = y - f, np.clip(nu, *phi.box)
    pull, conjugate = rows.combine(inside), phi.conjugate(inside)
    price, vanishes = _price(pull, w, len(y))
    sizes = size + np.abs(y)
    steep = np.maximum(np.abs(phi.value(r + ROUNDING * sizes) - phi.value(r)), 0.0)
    values = float(np.abs(y * nu).sum() + conjugate.sum()) + float(pull.size @ np.abs(w))
    dual = float(y @ inside - conjugate.sum()) - price
    return Found(
        primal=float(phi.value(r).sum()),
        dual=max(dual, 0.0) if vanishes else 0.0,
        stationarity=top(np.abs(rows.combine(nu).f)),
        dual_feasibility=max(top(nu - phi.box[1]), top(phi.box[0] - nu)),
        complementarity=top(phi.value(r) + phi.conjugate(nu) - nu * r),
        value_rounding=ROUNDING * values + float(steep.sum()),
        residual_rounding=ROUNDING * top(pull.size),
        product_rounding=top(steep) + ROUNDING * top(np.abs(nu) * sizes),
        mass=float(np.abs(nu).sum()),
        faults=() if math.isfinite(float(phi.value(r).sum())) else ("a residual is not allowed",),
    )


def judge_norm(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ‖y − w·x̃‖_p, first weights in a ball ‖w‖ ≤ t, by yᵀν − t‖Wᵀν‖* over ‖ν‖* ≤ 1.

    Σ νx̃ = 0 for the weights outside of the ball, up to rounding; p and the norm of the ball are
    null where they are ∞, and so is the radius where there is none.
    """
    y, w, nu = data["targets"], data["w"], data["multipliers"]
    p, ball = (_exponent(problem[name]) for name in ("p", "ball"))
    radius, count = problem["radius"], int(problem["in_ball"])
    require(nu.shape == y.shape and w.ndim == 1, "there is not one multiplier for each row")
    f, size = rows.dot(w)
    r, sizes = y - f, size + np.abs(y)
    primal, length = _norm(r, p), _norm(nu, _dual_exponent(p))
    short = nu / max(length, 1.0)
    pull, inside = rows.combine(short), 0 if radius is None else count
    free = Multiplied(pull.f[inside:], pull.size[inside:])
    price, vanishes = _price(free, w[inside:], len(y))
    outside, drawn = 0.0, 0.0
    if radius is not None:
        t = float(radius)
        require(t > 0 and 0 < count <= len(w), "a ball has a radius above 0")
        reach = np.abs(pull.f[:count]) + (len(y) + 16) * EPSILON * pull.size[:count]
        price += t * _norm(reach, _dual_exponent(ball))
        outside, drawn = max(0.0, _norm(w[:count], ball) - t), t * top(pull.size[:count]) * count
    pulls = float(pull.size @ np.abs(w)) + drawn
    far = radius is not None and outside > FEASIBLE * float(radius)
    slack = abs(primal - float(nu @ r))
    if p == math.inf and radius is None:
        slack = top(np.abs(nu) * (primal - np.sign(nu) * r))
    return Found(
        primal=primal,
        dual=max(float(y @ short) - price, 0.0) if vanishes else 0.0,
        stationarity=top(np.abs(rows.combine(nu).f[inside:])),
        primal_feasibility=outside,
        dual_feasibility=max(length - 1, 0.0),
        complementarity=slack,
        value_rounding=ROUNDING * (_norm(sizes, p) + float(np.abs(y) @ np.abs(nu)) + pulls),
        residual_rounding=ROUNDING * (top(pull.size) + top(np.abs(w))),
        product_rounding=ROUNDING * (_norm(sizes, p) + float(np.abs(nu) @ sizes)),
        mass=1.0,
        faults=("weights are outside of their ball",) if far else (),
    )


def _price(pull: Multiplied, w: Array, n: int) -> tuple[float, bool]:
    """Return what it costs that a sum over n rows is not quite 0, and whether it is about 0."""
    off = (n + 16) * EPSILON * pull.size
    vanishes = bool((np.abs(pull.f) <= FEASIBLE * pull.size + off).all())
    return 2 * float((np.abs(pull.f) + off) @ np.abs(w)), vanishes


def _exponent(given: Any) -> float:
    p = math.inf if given is None else float(given)
    if not p >= 1:
        raise NoProof("the exponent of a norm is 1 or more")
    return p


def _dual_exponent(p: float) -> float:
    return math.inf if p == 1 else 1.0 if p == math.inf else p / (p - 1)


def _norm(x: Array, p: float) -> float:
    """Return (Σ ∣x∣^p)^(1/p), scaled by the largest so that powers neither overflow nor vanish."""
    most = top(np.abs(x))
    if p == math.inf or most == 0:
        return most
    return most * math.pow(float(((np.abs(x) / most) ** p).sum()), 1 / p)
