"""Problems, and what their answers prove: primal and dual values, residuals, rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.report.verifier.page import Array, NoProof

FEASIBLE = 1e-6
"""How far multipliers may be out of their constraints, as a share of their sum: beyond it they are
no point of the dual problem, and bound nothing."""
ROUNDING = 64 * 2.0**-52
"""What rounding may do to a sum, as a share of the sizes that it adds up: 64 times that of one
operation, which sums of thousands of terms stay below."""

Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """What was computed of a problem, and what rounding may have done to it.

    ``mass`` is the sum of the multipliers, ``faults`` are reasons why it is no proof.
    """

    primal: float
    dual: float
    stationarity: float
    primal_feasibility: float
    dual_feasibility: float
    complementarity: float
    value_rounding: float
    residual_rounding: float
    product_rounding: float
    mass: float
    faults: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        """Primal minus dual value."""
        return self.primal - self.dual


class Multiplied(NamedTuple):
    """f = Kc at the rows of a problem, and ∣K∣∣c∣; a column for each vector."""

    f: Array
    size: Array


def _top(values: Array) -> float:
    return float(values.max(initial=0.0))


def _box(problem: Tree, targets: Array, C: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Return p, lo, hi, the groups and their sums of a quadratic problem."""
    kind, zeros, n = problem["kind"], np.zeros(len(targets)), len(targets)
    if kind in ("C-SVC", "ν-SVC"):
        if not (np.abs(targets) == 1).all():
            raise NoProof("the signs of classes are +1 and −1")
        lo, hi = np.minimum(0.0, targets * C), np.maximum(0.0, targets * C)
        if kind == "C-SVC":
            return targets, lo, hi, np.zeros(n, int), np.zeros(1)
        total = float(problem["nu"]) * float(C.sum()) / 2
        return zeros, lo, hi, (targets < 0).astype(int), np.array([total, -total])
    lo, hi = np.concatenate([zeros, -C]), np.concatenate([C, zeros])
    if kind == "ε-SVR":
        epsilon = float(problem["epsilon"])
        p = np.concatenate([targets - epsilon, targets + epsilon])
        return p, lo, hi, np.zeros(2 * n, int), np.zeros(1)
    total = float(problem["nu"]) * float(C.sum()) / 2
    sums = np.array([total, -total])
    return np.concatenate([targets, targets]), lo, hi, np.repeat([0, 1], n), sums


def judge_box(problem: Tree, data: Mapping[str, Array], found: Sequence[Multiplied]) -> Found:
    """Judge max pᵀβ − ½βᵀKβ over lo ≤ β ≤ hi with fixed sums, and its primal problem.

    With r = p − Kβ − b the primal value is ½βᵀKβ + Σ (hi r⁺ − lo r⁻) + Σ b s.
    """
    p, lo, hi, group, sums = _box(problem, data["targets"], data["C"])
    beta, biases = data["multipliers"], data["biases"]
    if len(beta) != len(p) or len(biases) != len(sums):
        raise NoProof("a problem has not as many multipliers or biases as it should")
    copies = len(p) // len(data["targets"])
    f, size = np.tile(found[0].f[:, 0], copies), np.tile(found[0].size[:, 0], copies)
    F, bias = p - f, biases[group]
    r = F - bias
    bound = np.where(r > 0, hi, lo)
    square, price = float(beta @ f), float(bound @ r)
    worst, outside = 0.0, max(_top(lo - beta), _top(beta - hi))
    for g, total in enumerate(sums):
        mine = group == g
        highest = F[mine & (beta < hi)].max(initial=-np.inf)
        lowest = F[mine & (beta > lo)].min(initial=np.inf)
        worst = max(worst, float(highest - lowest))
        outside = max(outside, abs(float(beta[mine].sum()) - float(total)))
    steep = np.maximum(-lo, hi)
    sizes = size + np.abs(p) + np.abs(bias)
    return Found(
        primal=square / 2 + price + float(biases @ sums),
        dual=float(p @ beta) - square / 2,
        stationarity=worst,
        primal_feasibility=0.0,
        dual_feasibility=outside,
        complementarity=_top((bound - beta) * r),
        value_rounding=ROUNDING * float(np.abs(beta) @ sizes + steep @ sizes),
        residual_rounding=ROUNDING * _top(sizes),
        product_rounding=ROUNDING * _top(sizes * steep),
        mass=float(np.abs(beta).sum()),
    )


def judge_ridge(problem: Tree, data: Mapping[str, Array], found: Sequence[Multiplied]) -> Found:
    """Judge min ½ Σ wᵢ(yᵢ − f(xᵢ) − b)² + ½λ‖f‖² by λ(cᵀ(y − b) − ½cᵀKc − ½λ Σ cᵢ²/wᵢ)."""
    y, w, c = data["targets"], data["weights"], data["multipliers"]
    penalty, intercept = float(problem["lambda"]), bool(problem["intercept"])
    if not (penalty > 0 and (w > 0).all() and len(c) == len(y) and len(data["biases"]) == 1):
        raise NoProof("a ridge regression needs λ > 0 and weights above 0")
    b = float(data["biases"][0])
    if b != 0 and not intercept:
        raise NoProof("a ridge regression without an intercept has one")
    f, size = found[0].f[:, 0], found[0].size[:, 0]
    errors, square = y - b - f, float(c @ f)
    sizes = size + np.abs(y) + abs(b) + penalty * np.abs(c) / w
    shrunk = penalty * float(c @ (c / w))
    values = float(w @ (np.abs(errors) * sizes + ROUNDING * sizes**2))
    values += penalty * float(np.abs(c) @ sizes)
    return Found(
        primal=0.5 * float(w @ errors**2) + 0.5 * penalty * square,
        dual=penalty * (float(c @ (y - b)) - 0.5 * square - 0.5 * shrunk),
        stationarity=_top(np.abs(errors - penalty * c / w)),
        primal_feasibility=0.0,
        dual_feasibility=abs(float(c.sum())) if intercept else 0.0,
        complementarity=0.0,
        value_rounding=ROUNDING * values,
        residual_rounding=ROUNDING * _top(sizes),
        product_rounding=0.0,
        mass=float(np.abs(c).sum()),
    )


def judge_linear(problem: Tree, data: Mapping[str, Array], found: Sequence[Multiplied]) -> Found:
    """Judge min ½‖w‖² + Σ φᵢ(pᵢ − w·x̃ᵢ) by pᵀβ − ε‖β‖₁ − ½ Σ Dᵢβᵢ² − ½‖Σ βᵢx̃ᵢ‖².

    φ is C max(0, ∣r∣ − ε) or its square, for a class only on the side of its sign; the square has
    D = 1/2C and no bound of β.
    """
    p, C, beta, w = data["targets"], data["C"], data["multipliers"], data["w"]
    squared, epsilon = bool(problem["squared"]), float(problem["epsilon"])
    if len(beta) != len(p):
        raise NoProof("a problem has not as many multipliers as rows")
    most = np.full(len(p), np.inf) if squared else C
    lo, hi = -most, most
    if problem["classes"]:
        if not (np.abs(p) == 1).all():
            raise NoProof("the signs of classes are +1 and −1")
        lo, hi = np.where(p > 0, 0.0, lo), np.where(p > 0, hi, 0.0)
    D = 0.5 / C if squared else np.zeros(len(p))
    f, size, total = found[0].f[:, 0], found[0].size[:, 0], found[1].f[:, 0]
    r = p - f
    excess = np.maximum(np.abs(r) - epsilon, 0.0)
    inner = np.where((r > 0) & (hi > 0) | (r < 0) & (lo < 0), excess, 0.0)
    losses = inner**2 / (2 * D) if squared else C * inner
    inside = np.clip(beta, lo, hi)
    slope = r - D * beta
    up = (slope - np.where(beta >= 0, epsilon, -epsilon))[beta < hi]
    down = (-slope + np.where(beta > 0, epsilon, -epsilon))[beta > lo]
    costs = epsilon * np.abs(inside) + D * inside**2 / 2
    sizes, steep = size + np.abs(p) + epsilon, np.maximum(C * np.maximum(1, size), np.abs(beta))
    return Found(
        primal=0.5 * float(w @ w) + float(losses.sum()),
        dual=float(p @ beta) - float(costs.sum()) - 0.5 * float(total @ total),
        stationarity=max(_top(up), _top(down)),
        primal_feasibility=0.0,
        dual_feasibility=_top(np.abs(beta - inside)),
        complementarity=_top(losses + costs - inside * r),
        value_rounding=ROUNDING * float(steep @ sizes + found[1].size[:, 0] @ np.abs(total)),
        residual_rounding=ROUNDING * _top(sizes),
        product_rounding=ROUNDING * _top(sizes * steep),
        mass=float(np.abs(beta).sum()),
    )


def judge_logistic(problem: Tree, data: Mapping[str, Array], found: Sequence[Multiplied]) -> Found:
    """Judge min ½ Σ ‖f_c‖² + Σ Cᵢ(log Σ exp(f_c + b_c) − f_y − b_y) by Σ Cᵢ H(pᵢ) − ½ Σ ‖g_c‖².

    β = C([c = y] − p) are the multipliers, g_c = Σ βᵢ_c φ(xᵢ), H the entropy. Two classes share
    one function, the logarithm of the odds. ``found`` are f and g at the rows, or g as weights.
    """
    labels, C, beta, b = data["targets"].astype(int), data["C"], data["multipliers"], data["biases"]
    n, functions = beta.shape
    classes = 2 if functions == 1 else functions
    good = len(labels) == n == len(C) and len(b) == functions and (C > 0).all()
    if not good or not ((labels == data["targets"]) & (labels >= 0) & (labels < classes)).all():
        raise NoProof("a logistic regression has classes that it does not know")
    values = found[0].f + b
    own = np.arange(classes) == labels[:, None]
    scores = np.hstack([np.zeros((n, 1)), values]) if functions == 1 else values
    top = scores.max(axis=1, keepdims=True)
    loss = np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - scores[own]
    both = np.hstack([-beta, beta]) if functions == 1 else beta
    shares = own - both / C[:, None]
    wrong = max(_top(-shares), _top(shares - 1), _top(np.abs(shares.sum(axis=1) - 1)))
    P = np.clip(shares, 0.0, 1.0)
    entropy = -(P * np.log(np.where(P > 0, P, 1.0))).sum(axis=1)
    if "w" in data:
        f_square, g_square = float(np.vdot(data["w"], data["w"])), float((found[1].f ** 2).sum())
        apart = found[1].f - data["w"]
    else:
        f_square = float(np.vdot(data["coefficients"], found[0].f))
        g_square, apart = float(np.vdot(beta, found[1].f)), found[1].f - found[0].f
    sizes = (found[0].size + np.abs(b)).max(axis=1)
    drift = _top(np.abs(beta.sum(axis=0))) if problem["intercept"] else 0.0
    rounding = float(C @ (2 * sizes + 1)) + f_square + float((found[1].size ** 2).sum()) ** 0.5
    return Found(
        primal=float(C @ loss) + f_square / 2,
        dual=float(C @ entropy) - g_square / 2,
        stationarity=_top(np.abs(apart)),
        primal_feasibility=0.0,
        dual_feasibility=drift,
        complementarity=0.0,
        value_rounding=ROUNDING * (rounding + float(np.abs(beta).sum() * _top(found[1].size))),
        residual_rounding=ROUNDING * (_top(found[0].size) + _top(found[1].size)),
        product_rounding=0.0,
        mass=float(np.abs(beta).sum()),
        faults=("shares of classes are below 0 or above 1",) if wrong > FEASIBLE else (),
    )


JUDGES: dict[str, Callable[[Tree, Mapping[str, Array], Sequence[Multiplied]], Found]] = {
    **dict.fromkeys(("C-SVC", "ν-SVC", "ε-SVR", "ν-SVR"), judge_box),
    "ridge": judge_ridge,
    "linear": judge_linear,
    "logistic": judge_logistic,
}
