"""Support vector machines on a Gram matrix: one box, all classes at once, weighted kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mercer.report.verifier.findings import (
    HARD,
    ROUNDING,
    Arrays,
    Found,
    Multiplied,
    Tree,
    labels_of,
    require,
    top,
)
from mercer.report.verifier.page import Array

CLASSES = ("C-SVC", "C-SVC without bias", "ν-SVC")
BOXES = (*CLASSES, "one-class SVM", "ε-SVR", "ν-SVR")
"""The quadratic problems with a box; all but the second have fixed sums."""
STRONGEST, EVERY = "Crammer–Singer SVM", "Weston–Watkins SVM"
"""Joint machines: the strongest rival costs, or every one."""


class Box(NamedTuple):
    """max pᵀβ − ½βᵀKβ over lo ≤ β ≤ hi, with the groups of β and their sums."""

    p: Array
    lo: Array
    hi: Array
    group: Array
    sums: Array


def box_of(problem: Tree, data: Arrays) -> Box:
    """Return the quadratic problem of a kind; a ``hard`` one has no prices C."""
    kind, y, n = problem["kind"], data["targets"], len(data["targets"])
    zeros = np.zeros(n)
    C = np.full(n, np.inf) if problem.get("hard") else data["C"]
    if kind == "one-class SVM":
        return Box(zeros, zeros, C, zeros, np.array([float(problem["nu"]) * float(C.sum())]))
    total = 0.0 if problem.get("hard") else float(problem.get("nu", 0.0)) * float(C.sum())
    half = np.array([total, -total]) / 2
    if kind in CLASSES:
        require(bool((np.abs(y) == 1).all()), "the signs of classes are +1 and −1")
        lo, hi = np.where(y < 0, -C, 0.0), np.where(y > 0, C, 0.0)
        if kind == "ν-SVC":
            return Box(zeros, lo, hi, (y < 0).astype(float), half)
        return Box(y, lo, hi, zeros, np.zeros(1 if kind == "C-SVC" else 0))
    lo, hi = np.concatenate([zeros, -C]), np.concatenate([C, zeros])
    if kind == "ν-SVR":
        return Box(np.concatenate([y, y]), lo, hi, np.repeat([0.0, 1.0], n), half)
    epsilon = float(problem["epsilon"])
    p = np.concatenate([y - epsilon, y + epsilon])
    return Box(p, lo, hi, np.zeros(2 * n), np.zeros(1))


def box_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients of the rows; a regression has two multipliers on each."""
    beta, n = data["multipliers"], len(data["targets"])
    require(beta.ndim == 1 and len(beta) in (n, 2 * n), "a problem has not as many multipliers")
    return [beta.reshape(-1, n).sum(axis=0)[:, None]]


def judge_box(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge multipliers of a box, and the primal problem.

    With r = p − Kβ − b the primal value is ½βᵀKβ + Σ (hi r⁺ − lo r⁻) + Σ b s. Where a bound is
    infinite, r is no price but a fault: f/(1 − t) keeps constraints yf ≥ 1 that f breaks by t.
    """
    p, lo, hi, group, sums = box_of(problem, data)
    beta, biases = data["multipliers"], data["biases"]
    require(
        len(beta) == len(p) and len(biases) == len(sums),
        "a problem has not as many multipliers or biases as it should",
    )
    copies = len(p) // len(data["targets"])
    f, size = np.tile(found[0].f[:, 0], copies), np.tile(found[0].size[:, 0], copies)
    bias = biases[group.astype(int)] if len(sums) else np.zeros(len(p))
    F = p - f
    r = F - bias
    bound = np.where(r > 0, hi, lo)
    soft = np.isfinite(bound)
    price, room = np.where(soft, bound, 0.0), np.where(soft, bound - beta, 0.0)
    square, fault = float(beta @ f), top(np.abs(np.where(soft, 0.0, r)))
    worst, outside = _disagreement(beta, F, lo, hi, group, sums)
    steep = np.maximum(-lo, hi)
    steep = np.where(np.isfinite(steep), steep, np.abs(beta))
    sizes = size + np.abs(p) + np.abs(bias)
    stretch = 0.0
    if fault > 0 and problem["kind"] in CLASSES:
        stretch = abs(square) / 2 * ((1 - fault) ** -2 - 1) if fault < 1 else math.inf
    return Found(
        primal=square / 2 + float(price @ r) + float(biases @ sums) + stretch,
        dual=float(p @ beta) - square / 2,
        stationarity=worst,
        primal_feasibility=fault,
        dual_feasibility=outside,
        complementarity=top(room * r),
        value_rounding=ROUNDING
        * (float(np.abs(beta) @ sizes + steep @ sizes) + abs(square) * top(sizes * ~soft)),
        residual_rounding=ROUNDING * top(sizes),
        product_rounding=ROUNDING * top(sizes * steep),
        mass=float(np.abs(beta).sum()),
        faults=("a constraint without a price is broken",) if fault > HARD else (),
    )


def _disagreement(
    beta: Array, F: Array, lo: Array, hi: Array, group: Array, sums: Array
) -> tuple[float, float]:
    """Return by how much multipliers disagree about the bias, and are out of their constraints."""
    outside = max(top(lo - beta), top(beta - hi))
    if not len(sums):  # there is no bias, and each slope should be 0 or held by a bound
        movable = np.where(F > 0, beta < hi, beta > lo)
        return top(np.abs(F[movable])), outside
    worst = 0.0
    for g, total in enumerate(sums):
        mine = group == g
        highest = F[mine & (beta < hi)].max(initial=-np.inf)
        lowest = F[mine & (beta > lo)].min(initial=np.inf)
        worst = max(worst, float(highest - lowest))
        outside = max(outside, abs(float(beta[mine].sum()) - float(total)))
    return worst, outside


# ---- all classes in one problem ----------------------------------------------------------------


def joint_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients, a column for each class."""
    alpha = data["multipliers"]
    good = alpha.ndim == 2 and len(alpha) == len(data["targets"]) and alpha.shape[1] >= 2
    require(good, "a problem has not one multiplier for each row and class")
    return [alpha]


def judge_joint(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge min ½ Σ ‖w_c‖² + Σ Cᵢξᵢ, ξ of the margins g_c = 1 − (f_y − f_c) of classes c ≠ y.

    The strongest of them counts, or all that are above 0. The dual is max Σ α_y − ½ Σ α_cᵀKα_c over
    α_c ≤ 0 for c ≠ y with Σ_c α_c = 0, and α_y ≤ C or −α_c ≤ C; Σᵢ α_c = 0 where biases are free.
    """
    alpha, C = data["multipliers"], data["C"][:, None]
    classes = alpha.shape[1]
    own, free = labels_of(data, classes), bool(problem["free"])
    biases, strongest = data["biases"], problem["kind"] == STRONGEST
    require(len(biases) == classes and (free or not biases.any()), "there are biases, or too few")
    f, size = found[0]
    scores = f + biases
    margins = np.where(own, 0.0, 1.0 - scores[own][:, None] + scores)
    multipliers, total = np.where(own, 0.0, -alpha), alpha[own][:, None]
    square = float(np.vdot(alpha, f))
    drift = top(np.abs(alpha.sum(axis=1)))
    drift = max(drift, top(np.abs(alpha.sum(axis=0)))) if free else drift
    if strongest:
        most = margins.max(axis=1, keepdims=True)
        losses, excess = most[:, 0], top(total - C)
        used = np.where(own, total < C, multipliers > 0)
        apart = most[:, 0] - np.where(used, margins, np.inf).min(axis=1)
        products = np.where(own, np.maximum(C - total, 0), multipliers) * (most - margins)
    else:
        losses, excess = np.maximum(margins, 0).sum(axis=1), top(multipliers - C)
        rising = np.where(multipliers < C, margins, 0.0)
        apart = np.maximum(rising, np.where(multipliers > 0, -margins, 0.0))
        room = np.where(own, 0.0, C - multipliers)
        products = np.where(margins > 0, room, multipliers) * np.abs(margins)
    sizes = (size + np.abs(biases)).max(axis=1) * 2 + 1
    prices = (classes - 1 if not strongest else 1) * C[:, 0]
    return Found(
        primal=square / 2 + float(C[:, 0] @ losses),
        dual=float(total.sum()) - square / 2,
        stationarity=top(apart),
        dual_feasibility=max(top(-multipliers), excess, drift),
        complementarity=top(products),
        value_rounding=ROUNDING * float((prices + np.abs(alpha).sum(axis=1)) @ sizes),
        residual_rounding=ROUNDING * top(sizes),
        product_rounding=ROUNDING * top(sizes * C[:, 0]),
        mass=float(np.abs(alpha).sum()),
    )


# ---- machines that weigh kernels ---------------------------------------------------------------


def join_kernels(
    problem: Tree, weights: Array, parts: Sequence[Found], squares: Array, sizes: Array
) -> Found:
    """Judge machines that share the weights d of kernels with ‖d‖_p ≤ 1, given each with Σ d K.

    With q_m = Σ βᵀK_mβ the primal problem has ½(Σ (d_m √q_m)^s)^{2/s}, s = 2p/(p + 1), in the place
    of ½ Σ d_m q_m, and the dual one ½‖q‖_{p/(p−1)}. ``sizes`` are those of the sums q.
    """
    p, q = float(problem["p"]), np.maximum(squares, 0.0)
    require(p >= 1 and bool((weights >= 0).all()), "weights of kernels are 0 or more, and p ≥ 1")
    at_weights = float(weights @ squares)
    block = float(np.linalg.norm(weights * np.sqrt(q), 2 * p / (p + 1)) ** 2)
    norm = float(np.linalg.norm(q, np.inf if p == 1 else p / (p - 1)))
    total = _total(parts)
    return replace(
        total,
        primal=total.primal + (block - at_weights) / 2,
        dual=total.dual + (at_weights - norm) / 2,
        value_rounding=total.value_rounding + ROUNDING * float(sizes.sum()),
    )


def _total(parts: Sequence[Found]) -> Found:
    sums = ("primal", "dual", "value_rounding", "mass")
    worst = (
        *("stationarity", "primal_feasibility", "dual_feasibility", "complementarity"),
        *("residual_rounding", "product_rounding"),
    )
    added = {name: sum(getattr(part, name) for part in parts) for name in sums}
    largest = {name: max(getattr(part, name) for part in parts) for name in worst}
    faults = tuple(fault for part in parts for fault in part.faults)
    return replace(parts[0], **added, **largest, faults=faults)
