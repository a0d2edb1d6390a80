"""The least norm of residuals, also with weights in a ball: primal, dual, certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from mercer._typing import Array
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import ROUNDING, Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import SPARE_TERMS, Bounded, DesignProducts, sum_bound
from mercer.problems.penalty_problems import PenaltyAnswer
from mercer.problems.vector_norms import Lp, Norm


@dataclass(frozen=True, eq=False)
class NormProblem:
    r"""The least norm of the residuals, with weights in a ball where there is one.

    primal: min ‖b − Ax‖  subject to  ‖w‖ ≤ t, w the first ``weights`` entries of x

    dual:   max bᵀν − t‖Wᵀν‖*  subject to  ‖ν‖* ≤ 1,  Zᵀν = 0

    W are the columns of A of the weights w, Z the others; without a ball all columns are others.
    """

    b: Array
    norm: Lp
    radius: float = math.inf
    ball: Norm = Lp(2.0)  # noqa: RUF009 (it never changes)
    weights: int = 0

    @property
    def name(self) -> str:
        """What the problem is called."""
        kind = f"L{self.norm.p:g} regression" if self.norm.p < math.inf else "L∞ regression"
        return kind if math.isinf(self.radius) else f"{kind} in a ball of {self.ball!r}"

    def free(self, A: Array) -> Array:
        """Return the columns whose weights are not in the ball."""
        return A if math.isinf(self.radius) else A[:, self.weights :]

    def multipliers(self, A: Array, residual: Array) -> Array:
        """Return a dual point: the slope of the norm at a residual, made feasible."""
        return self.feasible(A, -self.norm.dual().steepest(residual))

    def feasible(self, A: Array, nu: Array) -> Array:
        """Return a point of the dual near ν: orthogonal to Z, of length 1 at most."""
        Z = self.free(A)
        if Z.shape[1]:
            U, s, _ = np.linalg.svd(Z, full_matrices=False)
            U = U[:, s > max(Z.shape) * np.finfo(float).eps * s.max(initial=0.0)]
            for _ in range(2):  # twice is enough for rounding
                nu = nu - U @ (U.T @ nu)
        return np.asarray(nu / max(1.0, float(self.norm.dual()(nu))))

    def certify(
        self, value: PenaltyAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge x, and ν if there is one, from the data alone; ``product`` is Ax."""
        A = gram.features()
        r = self.b - (A @ value.x if product is None else product)
        nu = self.multipliers(A, r) if value.nu is None else value.nu
        Z, primal, dual = self.free(A), float(self.norm(r)), float(self.b @ nu)
        outside = 0.0
        if not math.isinf(self.radius):
            dual -= self.radius * float(self.ball.dual()(A[:, : self.weights].T @ nu))
            outside = max(0.0, float(self.ball(value.x[: self.weights])) - self.radius)
        return Certificate(
            problem=self.name,
            primal=primal,
            dual=dual,
            stationarity=float(np.abs(Z.T @ nu).max(initial=0.0)),
            primal_feasibility=outside,
            dual_feasibility=max(float(self.norm.dual()(nu)) - 1, 0.0),
            complementarity=abs(primal - float(nu @ r)),
        )

    def prove(self, value: PenaltyAnswer, gram: GramMatrix) -> Certificate:
        """Judge x and ν so that the optimum is in the interval, what rounding does included.

        A ν that is too long is shortened; weights outside of the ball, by more than rounding, bound
        nothing. Zᵀν = 0 holds up to rounding only, whose price is that of weights twice as large.
        """
        rows, k = DesignProducts(gram.features()), self.weights
        with np.errstate(over="ignore", invalid="ignore"):
            found = rows.dot(value.x)
            judged = self.certify(value, gram, found.values)
            off = found.errors + 4 * EPSILON * (np.abs(self.b) + np.abs(found.values))
            above = float(self.norm(off)) + sum_bound(np.array([judged.primal] * len(off)))
            r = self.b - found.values
            nu = self.multipliers(gram.features(), r) if value.nu is None else value.nu
            length = float(self.norm.dual()(nu)) * (1 + (len(nu) + SPARE_TERMS) * EPSILON)
            nu = nu / max(length, 1.0)
            pull = rows.combine(nu)
            size, x = np.abs(pull.values) + pull.errors, np.abs(value.x)
            below = sum_bound(np.abs(self.b * nu))
            free = slice(0 if math.isinf(self.radius) else k, None)
            below += 2 * float(size[free] @ x[free])
            if not Bounded(*(part[free] for part in pull)).vanishes():
                below = math.inf
            if not math.isinf(self.radius):
                most = float(self.ball.dual()(size[:k]))
                below += self.radius * most * (1 + (k + SPARE_TERMS) * EPSILON)
                # Weights a little outside are drawn into the ball, and take residuals with them.
                outside = judged.primal_feasibility / self.radius
                drawn = rows.dot(np.append(value.x[:k], np.zeros(len(x) - k))).sizes
                above += outside * float(self.norm(drawn)) if outside <= ROUNDING else math.inf
        return replace(replace(judged, dual=float(self.b @ nu)).paying(below), rounding=above)
