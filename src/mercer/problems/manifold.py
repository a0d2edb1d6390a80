"""Functions that fit a few labels and vary little along the data: objective, dual, certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mercer._typing import Array, BoolArray, IntArray
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.manifold_bounds import bounded
from mercer.problems.products import Products


class SparseOperator(Protocol):
    """A sparse array in compressed rows."""

    indptr: IntArray

    def __matmul__(self, V: Array) -> Array: ...

    def __abs__(self) -> Array: ...


@dataclass(frozen=True, eq=False)
class Roughness:
    """The operator R = μLᵖ of a graph: fᵀRf says how much values differ between neighbours."""

    laplacian: SparseOperator
    weight: float
    power: int = 1

    def norm(self) -> float:
        """Return a bound on the largest eigenvalue of R."""
        # No eigenvalue exceeds the largest sum of sizes in a row.
        largest = float(abs(self.laplacian).sum(axis=1).max())
        return self.weight * largest**self.power

    def with_bound(self, V: Array) -> tuple[Array, Array]:
        """Return RV, and a bound on its distance from that of the exact Laplacian.

        An entry of L is a weight, a sum of weights or a quotient of such, and a row of k entries a
        sum of k products.
        """
        terms = 2 * int(np.diff(self.laplacian.indptr).max(initial=0)) + 16
        sizes, entries = np.abs(V), abs(self.laplacian)
        for _ in range(self.power):
            sizes = entries @ sizes
        return self(V), (self.power * terms + 2) * EPSILON * self.weight * sizes

    def __call__(self, V: Array) -> Array:
        """Return RV."""
        if self.weight == 0:
            return np.zeros_like(V)
        for _ in range(self.power):
            V = self.laplacian @ V
        return np.asarray(self.weight * V)


@dataclass(frozen=True, eq=False)
class ManifoldProblem:
    """Manifold regularisation with squared errors or the squared hinge, of one target.

    primal: min ½ Σ wᵢ eᵢ² + ½a‖f‖² + ½ fᵀRf,  eᵢ = yᵢ − f(xᵢ) − b over the labelled points

    dual:   max Σ (βᵢyᵢ − βᵢ²/2wᵢ) − ½ sᵀRs − ½a‖Σ γⱼ k(xⱼ, ·)‖²,  aγ = β − Rs

    over β at the labelled points (0 elsewhere) and values s at all points; R = μLᵖ belongs to a
    graph on all points. The hinge drops errors of the right sign, yᵢeᵢ ≤ 0 for yᵢ = ±1, which asks
    yᵢβᵢ ≥ 0 of the dual. A free constant b asks Σβ = 0.

    Every β and s bound the optimum from below, and nothing has to be inverted for that. At the
    optimum β = we, s is f at the points, and f = Σ γⱼ k(xⱼ, ·). For any other f the same choice of
    β and s leaves a gap of ‖g‖²/2a, g being the gradient af + Rf − β in the space of the kernel.

    Parameters
    ----------
    rows : array of shape (l,)
        The labelled points.
    y, weights : arrays of shape (l,)
        Their targets and weights.
    penalty : float
        a > 0.
    roughness : Roughness
        R.
    hinge : bool
    intercept : bool
        Whether there is a constant b.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006).
    """

    rows: IntArray
    y: Array
    weights: Array
    penalty: float
    roughness: Roughness
    hinge: bool
    intercept: bool

    @property
    def name(self) -> str:
        """What the problem is called in certificates and messages."""
        losses = "the squared hinge" if self.hinge else "squared errors"
        return f"manifold regularisation with {losses}"

    def bend(self, V: Array) -> Array:
        """Return (R + D)V, the second derivative of the objective where all losses count."""
        bent = self.roughness(V)
        bent[self.rows] += self.weights[:, None] * V[self.rows]
        return bent

    def errors(self, u: Array, bias: float) -> Array:
        """Return the errors that count, given the values u of f at the labelled points."""
        e = self.y - u - bias
        return np.where(self.y * e > 0, e, 0.0) if self.hinge else e

    def curvatures(self, u: Array, bias: float) -> Array:
        """Return the second derivatives of the losses."""
        if not self.hinge:
            return self.weights
        return np.where(self.y * (self.y - u - bias) > 0, self.weights, 0.0)

    def best_bias(self, u: Array) -> float:
        """Return the constant b that is best for given values; 0 where there is none."""
        if not self.intercept:
            return 0.0
        # Each error vanishes at b = t; the slope Σwe falls with b, linearly between these points.
        t = self.y - u
        if not self.hinge:
            return float(np.average(t, weights=self.weights))
        order = np.argsort(t)
        t, w, positive = t[order], self.weights[order], self.y[order] > 0
        # Positive points count while b < t, negative ones while b > t.
        up, down = np.where(positive, w, 0.0), np.where(positive, 0.0, w)
        above = np.cumsum((up * t)[::-1])[::-1] - t * np.cumsum(up[::-1])[::-1]
        below = np.cumsum(down * t) - t * np.cumsum(down)
        slopes = above + below
        slopes[0], slopes[-1] = max(slopes[0], 0.0), min(slopes[-1], 0.0)
        last, first = np.flatnonzero(slopes >= 0)[-1], np.flatnonzero(slopes <= 0)[0]
        if slopes[last] == 0:
            # The slope is zero here, perhaps on an interval: its middle.
            return float(t[slopes == 0].min() + t[slopes == 0].max()) / 2
        share = slopes[last] / (slopes[last] - slopes[first])
        return float(t[last] + share * (t[first] - t[last]))

    def losses(self, u: Array, bias: float) -> Array:
        """Return the losses, given the values u of f at the labelled points."""
        return self.weights * self.errors(u, bias) ** 2 / 2

    def loss_change(self, u: Array, bias: float, off: Array) -> Array:
        """Return by how much losses may change where errors change by at most ``off``."""
        return self.weights * (np.abs(self.errors(u, bias)) * off + off**2 / 2)

    def value(self, coef: Array, f: Array, bias: float) -> float:
        """Return the primal objective of f = Σ cⱼ k(xⱼ, ·), given its values f at all points."""
        rough = float(f @ self.roughness(f))
        fits = float(self.losses(f[self.rows], bias).sum())
        return fits + (self.penalty * float(coef @ f) + rough) / 2

    def gains(self, beta: Array) -> Array:
        """Return what each β adds to the dual value by itself."""
        return beta * self.y - beta**2 / (2 * self.weights)

    def gain_slopes(self, beta: Array) -> tuple[Array, Array]:
        """Return the slopes of the gains, and their curvatures less the sign."""
        return self.y - beta / self.weights, 1 / self.weights

    def allows(self, beta: Array) -> BoolArray:
        """Return at which labels the dual takes a β."""
        return self.y * beta >= 0 if self.hinge else np.isfinite(beta)

    def dual_point(self, coef: Array, f: Array) -> DualPoint:
        """Return the point of the dual that f = Σ cⱼ k(xⱼ, ·) suggests, given its values."""
        del coef  # the errors say it all
        u = f[self.rows]
        beta = self.weights * self.errors(u, self.best_bias(u))
        coef = -self.roughness(f)
        coef[self.rows] += beta
        return DualPoint(beta, f, coef / self.penalty)

    def judge(
        self, coef: Array, f: Array, bias: float, point: DualPoint, image: Array
    ) -> Certificate:
        """Judge f = Σ cⱼ k(xⱼ, ·), given f = Kc and, for a point of the dual, ``image`` = Kγ."""
        beta, s, gamma = point.beta, point.values, point.coef
        gain = float(self.gains(beta).sum())
        rough = float(s @ self.roughness(s))
        dual = gain - (rough + self.penalty * float(gamma @ image)) / 2
        broken = abs(float(beta.sum())) if self.intercept else 0.0
        if self.hinge:
            broken = max(broken, float((-self.y * beta).max(initial=0.0)))
        return Certificate(
            problem=self.name,
            primal=self.value(coef, f, bias),
            dual=dual,
            stationarity=self.penalty * float(np.abs(image - f).max(initial=0.0)),
            dual_feasibility=broken,
        )


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A point of the dual: β at labelled points, values s, and the coefficients γ they imply."""

    beta: Array
    values: Array
    coef: Array


@dataclass(frozen=True, eq=False)
class ManifoldFunctions:
    """Functions f = Σ cⱼ k(xⱼ, ·), a column of ``coef`` for each problem, and their constants b.

    ``points`` are points of the dual for each problem; where there are none, f suggests them.
    """

    coef: Array
    bias: Array
    points: tuple[DualPoint, ...] = ()


@dataclass(frozen=True, eq=False)
class ManifoldProblems:
    """Several problems on the same points, with the same roughness and penalty."""

    parts: Sequence[ManifoldProblem]

    @property
    def name(self) -> str:
        """What the problems are called in certificates and messages."""
        return self.parts[0].name

    @property
    def stiffness(self) -> float:
        """A bound on how much a value at a point weighs against the norm of a function."""
        curvature = max(float(problem.weights.max()) for problem in self.parts)
        return (self.parts[0].roughness.norm() + curvature) / self.parts[0].penalty

    def dual_points(self, coef: Array, F: Array) -> tuple[DualPoint, ...]:
        """Return the points of the dual that functions suggest, given their values."""
        columns = zip(self.parts, coef.T, F.T, strict=True)
        return tuple(problem.dual_point(c, f) for problem, c, f in columns)

    def best_bias(self, F: Array) -> Array:
        """Return the best constants for given values at all points."""
        pairs = zip(self.parts, F.T, strict=True)
        return np.array([problem.best_bias(f[problem.rows]) for problem, f in pairs])

    def certify(
        self, value: ManifoldFunctions, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge functions.

        ``product`` is K times their coefficients and those of the dual, where it is known: then
        neither the curvature of the matrix nor rounding is looked at.
        """
        if product is not None:
            return Certificate.total(self.judge(value, product))
        return Certificate.total(self.prove(value, gram))

    def judge(self, value: ManifoldFunctions, product: Array) -> list[Certificate]:
        """Judge each function for itself, given K times the coefficients and those of the dual."""
        F, images = np.hsplit(product, 2)
        return [
            problem.judge(value.coef[:, j], F[:, j], float(value.bias[j]), value.points[j],
                          images[:, j])
            for j, problem in enumerate(self.parts)
        ]  # fmt: skip

    def prove(self, value: ManifoldFunctions, gram: GramMatrix) -> list[Certificate]:
        """Judge each function on a matrix that no solver has touched, rounding included."""
        rows = np.arange(gram.shape[0])
        found = Products(gram, value.coef)
        points = self.dual_points(value.coef, found.F)
        dual = Products(gram, np.stack([point.coef for point in points], axis=1))
        certificates = []
        for j, (problem, point) in enumerate(zip(self.parts, points, strict=True)):
            f = found.part(rows, j, None, Definite.POSITIVE)
            image = dual.part(rows, j, None, Definite.POSITIVE)
            coef, bias = value.coef[:, j], float(value.bias[j])
            judged = problem.judge(coef, f.f, bias, point, image.f)
            if f.curvature.shift == 0:  # else what the shift takes off is not known
                judged = bounded(problem, judged, coef, bias, point, f, image)
            certificates.append(replace(judged, curvature=f.curvature.verdict))
        return certificates
