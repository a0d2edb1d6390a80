"""Linear machines: weights of columns, judged on the rows of a design matrix."""

from __future__ import annotations

import numpy as np

from mercer.report.verifier.findings import (
    EPSILON,
    FEASIBLE,
    HARD,
    ROUNDING,
    Arrays,
    Found,
    StatedRows,
    Tree,
    labels_of,
    require,
    top,
)
from mercer.report.verifier.loss_judges import logistic_drift, logistic_sizes, logistic_values
from mercer.report.verifier.page import Array


def judge_linear(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ½‖w‖² + Σ φᵢ(pᵢ − w·x̃ᵢ) by pᵀβ − ε‖β‖₁ − ½ Σ Dᵢβᵢ² − ½‖Σ βᵢx̃ᵢ‖².

    φ is C max(0, ∣r∣ − ε) or its square, for a class only on the side of its sign; the square has
    D = 1/2C and no bound of β.
    """
    p, C, beta, w = data["targets"], data["C"], data["multipliers"], data["w"]
    squared, epsilon = bool(problem["squared"]), float(problem["epsilon"])
    most = np.full(len(p), np.inf) if squared else C
    lo, hi = -most, most
    if problem["classes"]:
        require(bool((np.abs(p) == 1).all()), "the signs of classes are +1 and −1")
        lo, hi = np.where(p > 0, 0.0, lo), np.where(p > 0, hi, 0.0)
    D = 0.5 / C if squared else np.zeros(len(p))
    (f, size), total = rows.dot(w), rows.combine(beta)
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
        dual=float(p @ beta) - float(costs.sum()) - 0.5 * float(total.f @ total.f),
        stationarity=max(top(up), top(down)),
        dual_feasibility=top(np.abs(beta - inside)),
        complementarity=top(losses + costs - inside * r),
        value_rounding=ROUNDING * float(steep @ sizes + total.size @ np.abs(total.f)),
        residual_rounding=ROUNDING * top(sizes),
        product_rounding=ROUNDING * top(sizes * steep),
        mass=float(np.abs(beta).sum()),
    )


def judge_sparse_margin(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ‖w‖₁ + Σ Cᵢ max(0, 1 − y w·x̃)² by Σ α − Σ α²/4C over α ≥ 0, ∣Σ αyx̃∣ ≤ 1.

    α is the best multiple of the slopes 2C max(0, 1 − y w·x̃) that keeps the constraints.
    """
    y, C, w = data["targets"], data["C"], data["w"]
    require(bool((np.abs(y) == 1).all() and (C > 0).all()), "the signs of classes are +1 and −1")
    f, size = rows.dot(w)
    excess = np.maximum(0.0, 1 - y * f)
    alpha = 2 * C * excess
    slopes = rows.combine(y * alpha)
    worst = top(np.abs(slopes.f) + (len(y) + 16) * EPSILON * slopes.size)
    curvature = float((alpha**2 / (2 * C)).sum())
    share = min(
        float(alpha.sum()) / curvature if curvature > 0 else 0.0, 1 / worst if worst > 0 else np.inf
    )
    alpha, pulls = share * alpha, np.abs(share * slopes.f)
    apart = np.where(w != 0, np.abs(slopes.f - np.sign(w)), np.maximum(np.abs(slopes.f) - 1, 0))
    sizes = 1 + size
    return Found(
        primal=float(np.abs(w).sum()) + float(C @ excess**2),
        dual=float(alpha.sum()) - float((alpha**2 / (4 * C)).sum()),
        stationarity=top(apart),
        dual_feasibility=top(pulls - 1),
        complementarity=top(np.abs(w) * np.abs(1 - pulls)),
        value_rounding=ROUNDING * (float((2 * C * excess + alpha) @ sizes) + float(alpha.sum())),
        residual_rounding=ROUNDING * top(rows.combine(C * sizes).size),
        product_rounding=ROUNDING * top(np.abs(w)) * (1 + share * top(slopes.size)),
        mass=1.0,
    )


def judge_linear_joint(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ½ Σ ‖w_c‖² + Σ Cᵢ max_c ([c ≠ y] + (w_c − w_y)·x̃ᵢ) of Crammer and Singer.

    The dual is max −½ Σ ‖Σ α_cx̃‖² − Σ α over c ≠ y, with Σ_c α_c = 0 and α_c ≤ C[c = y].
    """
    W, alpha, C = data["w"], data["multipliers"], data["C"]
    require(alpha.ndim == 2 and W.shape[1:] == alpha.shape[1:], "there are too few multipliers")
    own = labels_of(data, alpha.shape[1])
    (values, size), total = rows.dot(W), rows.combine(alpha)
    scores = values + ~own
    most = scores.max(axis=1, keepdims=True)
    room = np.where(own, C[:, None], 0.0) - alpha
    movable = np.where(room > 0, scores, np.inf).min(axis=1)
    sizes = 1 + 2 * size.max(axis=1)
    return Found(
        primal=0.5 * float((W**2).sum()) + float(C @ (most[:, 0] - scores[own])),
        dual=-0.5 * float((total.f**2).sum()) - float(alpha[~own].sum()),
        stationarity=top(most[:, 0] - movable),
        dual_feasibility=max(top(-room), top(np.abs(alpha.sum(axis=1)))),
        complementarity=top(room * (most - scores)),
        value_rounding=ROUNDING
        * (float(C @ sizes) + float(np.vdot(total.size, np.abs(total.f))) + float((W**2).sum())),
        residual_rounding=ROUNDING * top(sizes),
        product_rounding=ROUNDING * top(sizes * C),
        mass=float(np.abs(alpha).sum()),
    )


def judge_linear_logistic(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ρ Σ ∣W∣ + ½(1 − ρ) Σ W² + logistic losses.

    The dual is Σ C H(p) − Σ max(0, ∣V∣ − ρ)²/2(1 − ρ) with V = Σ x̃ᵢβᵢ. With ρ = 1 the last sum is
    a constraint, which the best share of β keeps. Without penalty V = 0 holds up to rounding, whose
    price is that of weights twice as large.
    """
    W, beta, rho = data["w"], data["multipliers"], float(problem["l1"])
    require(0 <= rho <= 1 and beta.ndim == W.ndim == 2, "the share of a penalty is not one")
    require(W.shape[1] == beta.shape[1], "there are not as many multipliers as functions")
    F, V = rows.dot(W), rows.combine(beta)
    loss, entropy, faults = logistic_values(data, F.f, 1.0)
    drift, apart = logistic_drift(problem, beta), np.abs(V.f - (1 - rho) * W)
    broken, slack, penalty, dual, price = drift, 0.0, 0.0, entropy, 0.0
    if not problem["penalised"]:
        apart, drift = np.abs(V.f), max(drift, top(np.abs(V.f)))
        price = 2 * float(np.vdot(np.abs(V.f) + ROUNDING * V.size, np.abs(W)))
        dual = max(entropy - price, 0.0)
        if (np.abs(V.f) > HARD * V.size).any():
            dual = 0.0
    elif rho > 0:
        penalty = rho * float(np.abs(W).sum()) + (1 - rho) / 2 * float((W**2).sum())
        slack = top(np.abs(rho - apart) * np.abs(W))
        worst = top(apart + (len(beta) + 16) * EPSILON * V.size)
        inside = 1.0 if worst <= rho else rho / worst
        shares = {inside} if rho == 1 else {inside, 1.0}
        dual = max(_logistic_dual(data, F.f, V.f, rho, share) for share in shares)
        slopes = V.f - (1 - rho) * W
        still = np.maximum(np.abs(slopes) - rho, 0.0)
        apart = np.where(W != 0, np.abs(slopes - rho * np.sign(W)), still)
    else:
        penalty, dual = float((W**2).sum()) / 2, entropy - float((V.f**2).sum()) / 2
    values = float(data["C"] @ logistic_sizes(data, F.size)) + penalty + price
    return Found(
        primal=loss + penalty,
        dual=dual,
        stationarity=top(apart),
        dual_feasibility=drift,
        complementarity=slack,
        value_rounding=ROUNDING * (values + float(np.vdot(V.size, np.abs(V.f) + np.abs(W)))),
        residual_rounding=ROUNDING * (top(F.size) + top(V.size)),
        product_rounding=ROUNDING * (rho + top(V.size)) * top(np.abs(W)),
        mass=float(np.abs(beta).sum()),
        broken=broken,
        faults=faults,
    )


def _logistic_dual(data: Arrays, F: Array, V: Array, rho: float, share: float) -> float:
    """Return the dual value of a share of the multipliers."""
    excess = np.maximum(share * np.abs(V) - rho, 0.0)
    price = float((excess**2).sum()) / (2 * (1 - rho)) if rho < 1 else 0.0
    return logistic_values(data, F, share)[1] - price


def judge_squares(problem: Tree, data: Arrays, rows: StatedRows) -> Found:
    """Judge min ½ Σ s(y − w·x − b)² + λ₁‖w‖₁ + ½λ₂‖w‖² by multiples of ν = s(y − w·x − b).

    The dual is max yᵀν − ½ Σ ν²/s − Σ max(0, ∣xⱼᵀν∣ − λ₁)²/2λ₂, Σ ν = 0 where b is free; without λ₂
    the last sum is a constraint. Without penalties Xᵀν = 0 holds up to rounding, whose price is
    that of weights twice as large. All values are times a ``factor``.
    """
    y, s, w, X = data["targets"], data["weights"], data["w"], rows.X
    l1, l2, factor = (float(problem[name]) for name in ("l1", "l2", "factor"))
    positive, b = bool(problem["positive"]), float(data["biases"][0])
    require(min(l1, l2) >= 0 and factor > 0 and bool((s > 0).all()), "a penalty is below 0")
    require(b == 0 or bool(problem["intercept"]), "a machine without an intercept has one")
    if problem["intercept"]:  # means may be large next to what is left
        means, mean = (s @ X) / s.sum(), float(s @ y) / float(s.sum())
        X, y, b = X - means, y - mean, float(np.longdouble(b) + np.longdouble(means) @ w - mean)
    design = StatedRows(X)
    f, size = design.dot(w)
    r = y - f - b
    nu = s * r
    for _ in range(2 if problem["intercept"] else 0):  # the second time takes off what is left
        nu = nu - s * (float(nu.sum()) / float(s.sum()))
    pull = design.combine(nu)
    c, slopes = pull.f, pull.f - l2 * w
    onto, norm = float(y @ nu), float((nu**2 / s).sum())
    off = (len(y) + 16) * EPSILON * pull.size
    sizes = size + np.abs(y) + abs(b)
    rounding, broken = 0.0, 0.0
    if l1 == l2 == 0:
        price = 2 * float((np.abs(c) + off) @ np.abs(w))
        vanishes = bool((np.abs(c) <= FEASIBLE * pull.size + off).all())
        dual, broken = max(onto - norm / 2 - price, 0.0) if vanishes else 0.0, top(np.abs(c))
        rounding = float(pull.size @ np.abs(w))
    else:
        worst = top((slopes if positive else np.abs(slopes)) + off)
        inside = 1.0 if worst <= l1 else l1 / worst
        dual = max(
            t * onto - t * t * norm / 2 - _excess(t * (c if positive else np.abs(c)), l1, l2)
            for t in ({inside, 1.0} if l2 > 0 else {inside})
        )
    still = np.maximum((slopes if positive else np.abs(slopes)) - l1, 0.0)
    moving = np.abs(slopes - l1 * np.sign(w))
    values = float(s @ (np.abs(r) * sizes + ROUNDING * sizes**2)) + float(np.abs(w) @ pull.size)
    return Found(
        primal=factor
        * (0.5 * float(s @ r**2) + l1 * float(np.abs(w).sum()) + l2 / 2 * float(w @ w)),
        dual=factor * dual,
        stationarity=factor * top(np.where(w > 0 if positive else w != 0, moving, still)),
        dual_feasibility=factor * broken,
        complementarity=factor * top(np.abs(l1 - np.abs(slopes)) * np.abs(w)),
        value_rounding=factor * ROUNDING * (values + rounding + l2 * float(w @ w)),
        residual_rounding=factor * ROUNDING * (top(design.combine(s * sizes).size) + l1),
        product_rounding=factor
        * (ROUNDING * top(np.abs(w) * (design.combine(s * sizes).size + l1))),
        mass=factor * top(pull.size),
        broken=0.0,
        faults=("a weight is below 0",) if positive and bool((w < 0).any()) else (),
    )


def _excess(pulls: Array, l1: float, l2: float) -> float:
    if l2 == 0:
        return 0.0
    return float((np.maximum(pulls - l1, 0.0) ** 2).sum()) / (2 * l2)
