"""Penalised least squares judged from weights and data alone, rounding included."""

from __future__ import annotations

import math

import numpy as np

from mercer._typing import Array
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS, Bounded, DesignProducts, sum_bound
from mercer.problems.elastic_net import LassoProblem


def prove_squares(
    problem: LassoProblem, rows: DesignProducts, y: Array, w: Array, constant: Bounded | None
) -> Certificate:
    r"""Judge weights w and a constant b, so that the optimum is in the interval.

    primal: min ½ Σ sᵢ(yᵢ − w·xᵢ − b)² + λ₁‖w‖₁ + ½λ₂‖w‖²

    dual:   max yᵀν − ½ Σ νᵢ²/sᵢ − Σⱼ max(0, ∣xⱼᵀν∣ − λ₁)² / 2λ₂,  Σ ν = 0 where b is free

    ``problem`` has the penalties and the weights of rows. From ``rows`` and ``y`` any numbers that
    suit may have been taken off, and b counts from there; None for none. The dual point is the
    residual times s, scaled until it is feasible, its rounding included. What is left of its sum is
    taken off each νᵢ in proportion: a relative change ρ of all of them. Without penalties Xᵀν = 0
    holds up to rounding only, whose price is that of weights twice as large.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        s = np.ones(len(y)) if problem.weights is None else problem.weights
        found = rows.dot(w)
        r = y - found.values
        off = found.errors + 4 * EPSILON * (np.abs(y) + np.abs(found.values))
        if constant is not None:
            r = r - constant.values
            off = off + constant.errors + 4 * EPSILON * np.abs(constant.values)
        squares = s * r * r
        penalties = problem.l1 * np.abs(w)
        if problem.l2 > 0:
            penalties = penalties + problem.l2 * w * w / 2
        primal = float(squares.sum()) / 2 + float(penalties.sum())
        above = float(s @ (np.abs(r) * off + off * off / 2))
        above += sum_bound(squares) + sum_bound(penalties)
        nu, drift = _dual_point(s, r, constant is not None)
        pull = rows.combine(nu)
        dual, below = _dual(problem, y, s, w, nu, drift, pull)
    c = pull.values
    free = problem.l1 == 0.0 and problem.l2 == 0.0
    outside = float((c if problem.positive else np.abs(c)).max(initial=0.0)) if free else 0.0
    outside_cone = max(0.0, -float(w.min(initial=0.0))) if problem.positive else 0.0
    slack = np.abs(problem.l1 - np.abs(c - problem.l2 * w)) * np.abs(w)
    return Certificate(
        problem=problem.name,
        primal=primal if outside_cone == 0.0 else math.inf,
        dual=dual,
        stationarity=float(problem.violations(w, c).max(initial=0.0)),
        primal_feasibility=outside_cone,
        dual_feasibility=outside,
        complementarity=float(slack.max(initial=0.0)),
        rounding=max(above, below) if above == above and below == below else math.inf,
    )


def _dual_point(s: Array, r: Array, centred: bool) -> tuple[Array, float]:
    """Return ν = s r, less its weighted mean where it has to add up to 0, and ρ."""
    nu = s * r
    if not centred:
        return nu, 0.0
    for _ in range(2):  # the second time takes off what rounding left
        nu = nu - s * (float(nu.sum()) / float(s.sum()))
    size = float(np.abs(nu).sum())
    left = abs(float(nu.sum())) + (len(nu) + SPARE_TERMS) * EPSILON * size
    return nu, left / size if size > 0 else 0.0


def _dual(
    problem: LassoProblem, y: Array, s: Array, w: Array, nu: Array, drift: float, pull: Bounded
) -> tuple[float, float]:
    """Return the best dual value among multiples of ν, and what rounding may have added to it."""
    c, l1, l2 = pull.values, problem.l1, problem.l2
    reach = pull.errors + drift * pull.sizes + 4 * EPSILON * l1
    terms = np.abs(y * nu)
    onto, onto_off = float(y @ nu), sum_bound(terms) + drift * float(terms.sum())
    squares = np.divide(nu * nu, s, out=np.zeros_like(nu), where=s > 0)
    norm, norm_off = float(squares.sum()), sum_bound(squares) + 3 * drift * float(squares.sum())
    if l1 == 0.0 and l2 == 0.0:
        # What the dual point lacks is no rounding: it is paid by the value, and 0 is a bound too.
        price = onto_off + norm_off / 2 + 2 * float((np.abs(c) + reach) @ np.abs(w))
        return (max(onto - norm / 2 - price, 0.0) if pull.vanishes() else 0.0), 0.0
    slopes = c - l2 * w if l2 > 0 else c
    worst = float(((slopes if problem.positive else np.abs(slopes)) + reach).max(initial=0.0))
    inside = 1.0 if worst <= l1 else l1 / worst
    size, found = c if problem.positive else np.abs(c), []
    for share in {inside, 1.0} if l2 > 0 else {inside}:
        value = share * onto - share**2 * norm / 2
        below = share * onto_off + share**2 * norm_off / 2
        if l2 > 0:
            excess = np.maximum(share * size - l1, 0.0) ** 2
            most = np.maximum(share * (size + reach) - l1, 0.0) ** 2
            value -= float(excess.sum()) / (2 * l2)
            below += (float((most - excess).sum()) + sum_bound(most)) / (2 * l2)
        found.append((value, below + SPARE_TERMS * EPSILON * abs(value)))
    return max(found, key=lambda pair: pair[0] - pair[1])
