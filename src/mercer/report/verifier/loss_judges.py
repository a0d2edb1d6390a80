"""Squared and logistic losses on a Gram matrix, also with a graph of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.report.verifier.findings import (
    FEASIBLE,
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

MANIFOLDS = tuple(
    f"manifold regularisation with {loss}"
    for loss in ("squared errors", "the squared hinge", "the hinge")
)
"""Machines of few labels, by their losses."""


def ridge_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients of the rows."""
    c = data["multipliers"]
    require(c.shape == data["targets"].shape, "a problem has not one coefficient for each row")
    return [c[:, None]]


def judge_ridge(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge λ times min ½ Σ (yᵢ − f(xᵢ) − b)²/dᵢ + ½‖f‖² by cᵀ(y − b) − ½cᵀKc − ½ Σ dᵢcᵢ².

    d = λ/w are weighted errors, or the ``noise`` of a process; without noise f(x) = y.
    """
    y, c, penalty = data["targets"], data["multipliers"], float(problem["lambda"])
    intercept, b = bool(problem["intercept"]), float(data["biases"][0])
    require(penalty > 0 and len(data["biases"]) == 1, "a ridge regression needs λ > 0")
    require(b == 0 or intercept, "a ridge regression without an intercept has one")
    if "noise" in data:
        d = data["noise"]
        require(bool((d >= 0).all()), "noise is 0 or more")
    else:
        require(bool((data["weights"] > 0).all()), "a ridge regression needs weights above 0")
        d = penalty / data["weights"]
    require(d.shape == y.shape, "a ridge regression has one weight for each row")
    f, size = found[0].f[:, 0], found[0].size[:, 0]
    noisy = d > 0
    w = np.divide(1.0, d, out=np.zeros(len(d)), where=noisy)
    errors, square = y - b - f, float(c @ f)
    residual = np.abs(errors - d * c)
    sizes = size + np.abs(y) + abs(b) + np.abs(d * c)
    values = float(w @ (np.abs(errors) * sizes + ROUNDING * sizes**2)) + float(np.abs(c) @ sizes)
    missed = top(residual[~noisy])
    return Found(
        primal=penalty * 0.5 * (float(w @ errors**2) + square),
        dual=penalty * (float(c @ (y - b)) - 0.5 * square - 0.5 * float(d @ c**2)),
        stationarity=top(residual[noisy]),
        primal_feasibility=missed,
        dual_feasibility=abs(float(c.sum())) if intercept else 0.0,
        value_rounding=ROUNDING * penalty * values,
        residual_rounding=ROUNDING * top(sizes),
        mass=float(np.abs(c).sum()),
        faults=("a target without noise is missed",) if missed > HARD * top(np.abs(y)) else (),
    )


# ---- logistic losses ---------------------------------------------------------------------------


def logistic_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients of the functions, and the multipliers."""
    c, beta = data["coefficients"], data["multipliers"]
    good = beta.ndim == 2 and c.shape == beta.shape and len(beta) == len(data["targets"])
    require(good, "a problem has not one multiplier for each row and function")
    return [c, beta]


def judge_logistic(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge min ½ Σ ‖f_c‖² + Σ Cᵢ(log Σ exp(f_c + b_c) − f_y − b_y) by Σ Cᵢ H(pᵢ) − ½ Σ ‖g_c‖².

    β = C([c = y] − p) are the multipliers, g_c = Σ βᵢ_c φ(xᵢ), H the entropy. Two classes share
    one function, the logarithm of the odds. ``found`` are f and g at the rows.
    """
    F, G = found
    square, g_square = (
        float(np.vdot(data[name], product.f))
        for name, product in (("coefficients", F), ("multipliers", G))
    )
    beta = data["multipliers"]
    loss, entropy, faults = logistic_values(data, F.f, 1.0)
    sizes = logistic_sizes(data, F.size)
    values = float(data["C"] @ sizes) + square + float(np.abs(beta).sum()) * top(G.size)
    return Found(
        primal=loss + square / 2,
        dual=entropy - g_square / 2,
        stationarity=top(np.abs(G.f - F.f)),
        dual_feasibility=logistic_drift(problem, beta),
        value_rounding=ROUNDING * values,
        residual_rounding=ROUNDING * (top(F.size) + top(G.size)),
        mass=float(np.abs(beta).sum()),
        faults=faults,
    )


def logistic_values(
    data: Arrays, values: Array, share: float
) -> tuple[float, float, tuple[str, ...]]:
    """Return the losses at values, the entropies of a share of the multipliers, and what is wrong.

    (1 − share)[c = y] + share p are shares of classes, too.
    """
    C, beta, b = data["C"], data["multipliers"], data["biases"]
    n, functions = beta.shape
    classes = 2 if functions == 1 else functions
    require(len(C) == n and len(b) == functions and bool((C > 0).all()), "C is above 0 for all")
    own = labels_of(data, classes)
    scores = values + b
    scores = np.hstack([np.zeros((n, 1)), scores]) if functions == 1 else scores
    most = scores.max(axis=1, keepdims=True)
    losses = np.log(np.exp(scores - most).sum(axis=1)) + most[:, 0] - scores[own]
    both = np.hstack([-beta, beta]) if functions == 1 else beta
    shares = own - share * both / C[:, None]
    wrong = max(top(-shares), top(shares - 1), top(np.abs(shares.sum(axis=1) - 1)))
    P = np.clip(shares, 0.0, 1.0)
    entropies = -(P * np.log(np.where(P > 0, P, 1.0))).sum(axis=1)
    faults = ("shares of classes are below 0 or above 1",) if wrong > FEASIBLE else ()
    return float(C @ losses), float(C @ entropies), faults


def logistic_sizes(data: Arrays, sizes: Array) -> Array:
    """Return what the loss of a row adds up."""
    return np.asarray(2 * (sizes + np.abs(data["biases"])).max(axis=1) + 1)


def logistic_drift(problem: Tree, beta: Array) -> float:
    """Return how far Σ β is from 0, where biases are free."""
    return top(np.abs(beta.sum(axis=0))) if problem["intercept"] else 0.0


def mode_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients, and the multipliers nearest to them."""
    c = data["multipliers"]
    require(c.shape == data["targets"].shape, "a problem has not one coefficient for each row")
    signs = 2 * data["targets"] - 1
    return [c[:, None], (signs * np.clip(signs * c, 0.0, 1.0))[:, None]]


def judge_mode(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge min Σ log(1 + exp(−sf)) + ½‖f‖², s = ±1, by Σ H(sβ) − ½βᵀKβ over 0 ≤ sβ ≤ 1.

    β are the coefficients c where these are inside; at the mode c = y − 1/(1 + exp(−f)).
    """
    own = labels_of(data, 2)
    c, s = data["multipliers"], np.where(own[:, 1], 1.0, -1.0)
    f, size = found[0].f[:, 0], found[0].size[:, 0]
    share = np.clip(s * c, 0.0, 1.0)
    entropy = [-(p * np.log(np.where(p > 0, p, 1.0))).sum() for p in (share, 1 - share)]
    square, image = float(c @ f), float(s * share @ found[1].f[:, 0])
    odds = np.exp(-np.abs(f))
    chance = np.where(f > 0, 1.0, odds) / (1 + odds)
    return Found(
        primal=float((np.log1p(odds) + np.maximum(-s * f, 0.0)).sum()) + square / 2,
        dual=float(sum(entropy)) - image / 2,
        stationarity=top(np.abs(c - (own[:, 1] - chance))),
        value_rounding=ROUNDING * float((1 + np.abs(c)) @ (size + 1)),
        residual_rounding=ROUNDING * (1 + top(size)),
        mass=float(np.abs(c).sum()),
    )


# ---- few labels, and a graph of neighbours -----------------------------------------------------


class GraphRoughness:
    """R = μLᵖ of a graph with weights above 0: L = D − W, or I − D^(−½)WD^(−½)."""

    def __init__(self, problem: Tree, data: Arrays, n: int) -> None:
        self.weight, self.power = float(problem["smoothness"]), int(problem["power"])
        edges, weights = data["edges"].astype(int), data["edge_weights"]
        good = edges.shape == (len(weights), 2) and bool((weights > 0).all())
        inside = bool(((edges >= 0) & (edges < n) & (edges == data["edges"])).all())
        apart = bool((edges[:, 0] != edges[:, 1]).all())
        require(good and inside and apart, "a graph has edges that it cannot have")
        require(self.weight >= 0 and self.power >= 1, "a graph has a weight below 0")
        ends = np.concatenate([edges, edges[:, ::-1]])
        self._from, self._to, both = ends[:, 0], ends[:, 1], np.concatenate([weights, weights])
        degrees = np.bincount(self._from, both, n)
        self._own = degrees
        if problem["normalized"]:
            both = both / np.sqrt(degrees[self._from] * degrees[self._to])
            self._own = (degrees > 0).astype(float)
        self._weights = both

    def __call__(self, v: Array, size: bool = False) -> Array:
        """Return Rv, or ∣R∣v."""
        for _ in range(self.power):
            pulls = np.bincount(self._from, self._weights * v[self._to], len(v))
            v = self._own * v + (pulls if size else -pulls)
        return np.asarray(self.weight * v)


def manifold_vectors(problem: Tree, data: Arrays) -> list[Array]:
    """Return the coefficients c, and those of the dual point, (β − Rs)/a."""
    names = ("coefficients", "multipliers", "values", "weights")
    n = len(data["targets"])
    good = all(data[name].shape == (n,) for name in names)
    require(good and float(problem["penalty"]) > 0, "a problem has not one number for each row")
    gamma = data["multipliers"] - GraphRoughness(problem, data, n)(data["values"])
    return [data["coefficients"][:, None], gamma[:, None] / float(problem["penalty"])]


def judge_manifold(problem: Tree, data: Arrays, found: Sequence[Multiplied]) -> Found:
    """Judge min Σ losses of labelled rows + ½a‖f‖² + ½fᵀRf, rows without a label having no weight.

    Every β at labelled rows and values s at all give the dual value Σ (βy − β²/2w) − ½sᵀRs − ½a‖γ‖²
    with aγ = β − Rs; for the plain hinge w max(0, 1 − yf) without the square, and 0 ≤ yβ ≤ w.
    """
    y, w, beta, s = (data[name] for name in ("targets", "weights", "multipliers", "values"))
    c, a, b = data["coefficients"], float(problem["penalty"]), float(data["biases"][0])
    squares, _, hinge = (problem["kind"] == kind for kind in MANIFOLDS)
    intercept, known = bool(problem["intercept"]), w > 0
    require(b == 0 or intercept, "a machine without a constant has one")
    require(not beta[~known].any(), "a row without a label has a multiplier")
    rough, (f, size) = (
        GraphRoughness(problem, data, len(y)),
        (found[0].f[:, 0], found[0].size[:, 0]),
    )
    image = found[1].f[:, 0]
    gamma = manifold_vectors(problem, data)[1][:, 0]
    signed = y * beta
    if not squares:
        signs = bool((np.abs(y[known]) == 1).all())
        require(signs, "the signs of classes are +1 and −1")
    errors = y - f - b
    if not squares:
        errors = np.where(y * errors > 0, errors, 0.0)
    per_weight = np.divide(beta, w, out=np.zeros(len(w)), where=known)
    loss = float(w @ np.abs(errors)) if hinge else float(w @ errors**2) / 2
    gain = float(signed.sum()) - (0.0 if hinge else float(beta @ per_weight) / 2)
    outside = 0.0 if squares else max(top(-signed), top(signed - w) if hinge else 0.0)
    outside = max(outside, abs(float(beta.sum()))) if intercept else outside
    fields = float(f @ rough(f)), float(s @ rough(s))
    sizes: Any = size + np.abs(y) + abs(b)
    bends = float(sizes @ rough(sizes, True)) + float(np.abs(s) @ rough(np.abs(s), True))
    values = float(w @ (sizes if hinge else np.abs(errors) * sizes + ROUNDING * sizes**2))
    values += a * float(np.abs(c) @ size + np.abs(gamma) @ found[1].size[:, 0]) + bends
    return Found(
        primal=loss + (a * float(c @ f) + fields[0]) / 2,
        dual=gain - (fields[1] + a * float(gamma @ image)) / 2,
        stationarity=a * top(np.abs(image - f)),
        dual_feasibility=outside,
        value_rounding=ROUNDING * (values + float(np.abs(beta) @ sizes)),
        residual_rounding=ROUNDING * a * (top(size) + top(found[1].size)),
        mass=float(np.abs(beta).sum()),
    )
