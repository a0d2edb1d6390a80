"""Linear support vector machines: problems in the weights of features, never in a Gram matrix."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mercer._typing import Array, BoolArray, IntArray, Matrix
from mercer.gram.base import GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import DesignProducts, square_bound, sum_bound

_LONG_ROWS = 128
"""Columns from which on Wᵀ Xᵀ is faster than X W, though its values have to change their order."""


class LinearAnswer(NamedTuple):
    """Weights of the columns, and multipliers of the rows; a column for each class of several."""

    w: Array
    multipliers: Array


@dataclass(frozen=True, eq=False)
class DesignRows:
    """The rows x̃ᵢ = (xᵢ, s) of a dense or CSR matrix X.

    The constant s carries the intercept, as a feature like any other; s = 0 stands for none.
    """

    X: Matrix
    constant: float = 0.0

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def columns(self) -> int:
        """The number of weights, the one of the intercept included."""
        return int(self.X.shape[1]) + (self.constant != 0)

    @property
    def entries(self) -> int:
        """The numbers in X, those that are stored."""
        return int(self.X.nnz if sparse.issparse(self.X) else self.X.size)

    def dot(self, w: Array) -> Array:
        """Return w·x̃ᵢ for every row; ``w`` may have several columns, one for each machine."""
        W = w[: self.X.shape[1]]
        several = W.ndim == 2 and not sparse.issparse(self.X)
        if several and len(W) >= _LONG_ROWS:
            z: Array = np.ascontiguousarray((W.T @ self.X.T).T)
        else:
            z = self.X @ W
        return z + self.constant * w[-1] if self.constant else z

    def combine(self, beta: Array) -> Array:
        """Return Σ βᵢ x̃ᵢ; ``beta`` may have several columns, one for each machine."""
        if beta.ndim == 2 and not sparse.issparse(self.X):
            # BLAS is faster with the few columns in front.
            total: Array = np.ascontiguousarray((beta.T @ self.X).T)
        else:
            total = self._transposed @ beta
        if not self.constant:
            return total
        return np.concatenate([total, self.constant * beta.sum(axis=0, keepdims=True)])

    @cached_property
    def _transposed(self) -> Matrix:
        """Xᵀ; that of a sparse matrix takes longer to make than a product with it."""
        return self.X.T

    def squared_norms(self) -> Array:
        """Return ‖x̃ᵢ‖²."""
        if sparse.issparse(self.X):
            norms: Array = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
        else:
            norms = np.einsum("ij,ij->i", self.X, self.X)
        return norms + self.constant**2

    def take(self, index: IntArray) -> DesignRows:
        """Return some of the rows."""
        return DesignRows(self.X[index], self.constant)


@dataclass(frozen=True, eq=False, kw_only=True)
class _OnRows:
    """A problem on the rows x̃ = (x, constant) of a design matrix."""

    constant: float = 0.0

    def rows(self, gram: GramMatrix) -> DesignRows:
        """Return the rows x̃ of the design matrix."""
        return DesignRows(gram.features(), self.constant)

    def products(self, gram: GramMatrix) -> DesignProducts:
        """Return the rows x̃ with products whose rounding is known."""
        return DesignProducts(gram.features(), constant=self.constant)


@dataclass(frozen=True, eq=False)
class LinearProblem(_OnRows):
    r"""A linear machine with its dual, one signed multiplier βᵢ for each row.

    primal: min ½‖w‖² + Σ φᵢ(pᵢ − w·x̃ᵢ),  φᵢ(r) = max over lo ≤ β ≤ hi of βr − ε|β| − ½ Dᵢβ²

    dual:   max pᵀβ − ε‖β‖₁ − ½ Σ Dᵢβᵢ² − ½‖Σ βᵢx̃ᵢ‖²  subject to  lo ≤ β ≤ hi

    A finite box with D = 0 gives the hinge and the ε-insensitive loss, an infinite one with
    D = 1/2C their squares. At the optimum w = Σ βᵢx̃ᵢ.
    """

    name: str
    p: Array
    lo: Array
    hi: Array
    D: Array
    epsilon: float = 0.0

    def violation(self, residual: Array, beta: Array) -> float:
        """Return by how much the dual still grows with a multiplier, the largest of the slopes."""
        slope = residual - self.D * beta
        up = slope - np.where(beta >= 0, self.epsilon, -self.epsilon)
        down = -slope + np.where(beta > 0, self.epsilon, -self.epsilon)
        worst_up = up.max(where=beta < self.hi, initial=0.0)
        return float(down.max(where=beta > self.lo, initial=worst_up))

    def losses(self, residual: Array) -> Array:
        """Return φᵢ of each residual pᵢ − w·x̃ᵢ."""
        excess = np.maximum(np.abs(residual) - self.epsilon, 0.0)
        most = np.where(residual > 0, self.hi, -self.lo)
        curved = self.D > 0
        best = np.minimum(most, np.divide(excess, self.D, out=most.copy(), where=curved))
        return np.where(excess > 0, best * excess - self.D * best**2 / 2, 0.0)

    def gain(self, beta: Array) -> float:
        """Return the part of the dual without w: pᵀβ − ε‖β‖₁ − ½ Σ Dᵢβᵢ²."""
        linear = float(self.p @ beta) - self.epsilon * float(np.abs(beta).sum())
        return linear - float(self.D @ beta**2) / 2

    def certify(
        self, value: LinearAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge w and β from the data alone; ``product`` is w·x̃ of the rows."""
        rows, (w, beta) = self.rows(gram), value
        residual = self.p - (rows.dot(w) if product is None else product)
        return self._certificate(w, beta, residual, rows.combine(beta))

    def prove(self, value: LinearAnswer, gram: GramMatrix) -> Certificate:
        """Judge w and β so that the optimum is in the interval, what rounding does included.

        Multipliers out of their box are moved into it. A loss is convex: where its argument is not
        known exactly, it is greatest at an end.
        """
        rows, (w, beta) = self.products(gram), value
        inside = np.clip(beta, self.lo, self.hi)
        with np.errstate(over="ignore", invalid="ignore"):
            found, total = rows.dot(w), rows.combine(inside)
            residual = self.p - found.values
            off = found.errors + 4 * EPSILON * (np.abs(self.p) + np.abs(found.values))
            most = np.maximum(self.losses(residual + off), self.losses(residual - off))
            above = float((most - self.losses(residual)).sum())
            above += sum_bound(most) + sum_bound(w * w / 2)
            terms = np.abs(self.p * inside) + self.epsilon * np.abs(inside)
            below = sum_bound(terms + self.D * inside**2 / 2) + square_bound(total) / 2
        return replace(
            self._certificate(w, inside, residual, total.values),
            dual_feasibility=float(np.abs(beta - inside).max(initial=0.0)),
            rounding=max(above, below),
        )

    def _certificate(self, w: Array, beta: Array, residual: Array, total: Array) -> Certificate:
        """Judge w and β, given p − w·x̃ of the rows and Σ βᵢx̃ᵢ."""
        losses = self.losses(residual)
        inside = np.clip(beta, self.lo, self.hi)
        costs = self.epsilon * np.abs(inside) + self.D * inside**2 / 2
        return Certificate(
            problem=self.name,
            primal=float(w @ w) / 2 + float(losses.sum()),
            dual=self.gain(beta) - float(total @ total) / 2,
            stationarity=self.violation(residual, beta),
            dual_feasibility=float(np.abs(beta - inside).max(initial=0.0)),
            complementarity=float((losses + costs - inside * residual).max(initial=0.0)),
        )


def classifier(signs: Array, C: Array, squared: bool, constant: float = 0.0) -> LinearProblem:
    """Hinge loss C max(0, 1 − y w·x̃), or its square; ``signs`` are ±1."""
    name = "linear SVC, squared hinge" if squared else "linear SVC, hinge"
    both = regressor(signs, C, 0.0, squared, constant)
    lo, hi = np.where(signs > 0, 0.0, both.lo), np.where(signs > 0, both.hi, 0.0)
    return replace(both, name=name, lo=lo, hi=hi)


def regressor(
    targets: Array, C: Array, epsilon: float, squared: bool, constant: float = 0.0
) -> LinearProblem:
    """Loss C max(0, ∣y − w·x̃∣ − ε), or its square."""
    most = np.full(len(C), np.inf) if squared else C
    return LinearProblem(
        "linear SVR, squared ε-insensitive" if squared else "linear SVR, ε-insensitive",
        targets.astype(np.float64),
        -most,
        most,
        0.5 / C if squared else np.zeros(len(C)),
        epsilon,
        constant=constant,
    )


@dataclass(frozen=True, eq=False)
class SparseClassifier(_OnRows):
    r"""Squared hinge loss with a penalty that sets weights to zero.

    primal: min ‖w‖₁ + Σ Cᵢ max(0, 1 − yᵢ w·x̃ᵢ)²

    dual:   max Σ αᵢ − Σ αᵢ²/4Cᵢ  subject to  α ≥ 0  and  |Σ αᵢyᵢx̃ᵢⱼ| ≤ 1 for each feature j
    """

    signs: Array
    C: Array
    name: str = field(default="linear SVC, squared hinge, ℓ₁ penalty", init=False)

    def multipliers(self, rows: DesignRows, w: Array) -> Array:
        """Return the best multiple of 2C max(0, 1 − y w·x̃) that the dual allows."""
        alpha = 2 * self.C * np.maximum(0.0, 1 - self.signs * rows.dot(w))
        most = np.abs(rows.combine(self.signs * alpha)).max(initial=0.0)
        return alpha * self._share(alpha, float(most))

    def certify(
        self, value: LinearAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge w and α from the data alone; ``product`` is w·x̃ of the rows."""
        rows, (w, alpha) = self.rows(gram), value
        values = rows.dot(w) if product is None else product
        slopes = rows.combine(self.signs * 2 * self.C * self._excess(values))
        return self._certificate(w, alpha, values, slopes, rows.combine(self.signs * alpha))

    def prove(self, value: LinearAnswer, gram: GramMatrix) -> Certificate:
        """Judge w so that the optimum is in the interval, what rounding does included.

        The dual point is the best multiple of 2C max(0, 1 − y w·x̃) that is feasible, whatever
        rounding did.
        """
        rows, w = self.products(gram), value.w
        with np.errstate(over="ignore", invalid="ignore"):
            found = rows.dot(w)
            off = found.errors + 4 * EPSILON * (1 + np.abs(found.values))
            excess = self._excess(found.values)
            alpha = 2 * self.C * excess
            slopes = rows.combine(self.signs * alpha)
            worst = float((np.abs(slopes.values) + slopes.errors).max(initial=0.0))
            share = self._share(alpha, worst * (1 + 4 * EPSILON))
            alpha = share * alpha
            most = self.C * np.maximum(0.0, 1 - self.signs * found.values + off) ** 2
            above = float((most - self.C * excess**2).sum())
            above += sum_bound(most) + sum_bound(np.abs(w))
            below = sum_bound(alpha) + sum_bound(alpha**2 / (4 * self.C))
            judged = self._certificate(w, alpha, found.values, slopes.values, share * slopes.values)
        return replace(judged, rounding=max(above, below))

    def _excess(self, values: Array) -> Array:
        return np.maximum(0.0, 1 - self.signs * values)

    def _share(self, alpha: Array, most: float) -> float:
        """Return the best multiple of α that the dual allows; ``most`` is max ∣Σ αᵢyᵢx̃ᵢⱼ∣."""
        curvature = float((alpha**2 / (2 * self.C)).sum())
        best = float(alpha.sum()) / curvature if curvature > 0 else 0.0
        return min(best, 1 / most if most > 0 else np.inf)

    def _certificate(
        self, w: Array, alpha: Array, values: Array, slopes: Array, combined: Array
    ) -> Certificate:
        """Judge w and α, given w·x̃ of the rows, the slopes of the losses and Σ αᵢyᵢx̃ᵢ."""
        excess = self._excess(values)
        pull = np.where(w != 0, np.abs(slopes - np.sign(w)), np.maximum(np.abs(slopes) - 1, 0))
        correlations = np.abs(combined)
        outside = max(float(correlations.max(initial=0.0)) - 1, float(-alpha.min()), 0.0)
        return Certificate(
            problem=self.name,
            primal=float(np.abs(w).sum()) + float(self.C @ excess**2),
            dual=float(alpha.sum()) - float((alpha**2 / (4 * self.C)).sum()),
            stationarity=float(pull.max(initial=0.0)),
            dual_feasibility=outside,
            complementarity=float((np.abs(w) * np.abs(1 - correlations)).max(initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class LinearCrammerSinger(_OnRows):
    r"""All classes at once.

    primal: min ½ Σₖ‖wₖ‖² + Σ Cᵢ maxₖ (eᵢₖ + (wₖ − w_yᵢ)·x̃ᵢ),  eᵢₖ = 1 − [k = yᵢ]

    dual:   max −½ Σₖ‖Σᵢ αᵢₖx̃ᵢ‖² − Σ eᵢₖαᵢₖ  subject to  Σₖ αᵢₖ = 0  and  αᵢₖ ≤ Cᵢ [k = yᵢ]

    K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector
    machines, Journal of Machine Learning Research 2 (2001).
    """

    labels: IntArray
    C: Array
    classes: int
    name: str = field(default="linear SVC, Crammer–Singer", init=False)

    def certify(
        self, value: LinearAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge the weights W (features × classes) and α (rows × classes) from the data alone."""
        rows, (W, alpha) = self.rows(gram), value
        values = rows.dot(W) if product is None else product
        return self._certificate(W, alpha, values, rows.combine(alpha))

    def prove(self, value: LinearAnswer, gram: GramMatrix) -> Certificate:
        """Judge W and α so that the optimum is in the interval, what rounding does included.

        Multipliers that break a constraint are moved: those of other classes to 0 at most, then
        all of a row are scaled until that of its own class, minus their sum, is C at most.
        """
        rows, (W, alpha) = self.products(gram), value
        with np.errstate(over="ignore", invalid="ignore"):
            inside = self._feasible(alpha)
            found, total = rows.dot(W), rows.combine(inside)
            off = found.errors + 4 * EPSILON * (1 + np.abs(found.values))
            # A row's loss is a difference of two values.
            above = 2 * float(self.C @ off.max(axis=1))
            above += sum_bound(self.C * (1 + 2 * np.abs(found.values).max(axis=1)))
            above += sum_bound(W * W / 2)
            below = square_bound(total) / 2 + sum_bound(np.abs(inside))
            # The multiplier of a row's own class is minus the sum of the others, up to rounding.
            drift = (self.classes + 4) * EPSILON
            below += drift * float(np.vdot(np.abs(total.values), total.sizes))
            dual = self._certificate(W, inside, found.values, total.values).dual
            judged = self._certificate(W, alpha, found.values, total.values)
        return replace(judged, dual=dual, rounding=max(above, below))

    def _feasible(self, alpha: Array) -> Array:
        everyone = np.arange(len(self.labels))
        others = np.minimum(alpha, 0.0)
        others[everyone, self.labels] = 0.0
        own = -others.sum(axis=1)
        limit = self.C * (1 - (self.classes + 4) * EPSILON)
        share = np.divide(limit, own, out=np.ones_like(own), where=own > limit)
        others *= share[:, None]
        others[everyone, self.labels] = own * share
        return others

    def _broken(self, alpha: Array) -> float:
        room = self._mine * self.C[:, None] - alpha
        return max(float(-room.min()), float(np.abs(alpha.sum(axis=1)).max()))

    @property
    def _mine(self) -> BoolArray:
        """Which class is that of each row."""
        return np.asarray(self.labels[:, None] == np.arange(self.classes))

    def _certificate(self, W: Array, alpha: Array, values: Array, total: Array) -> Certificate:
        """Judge W and α, given W·x̃ of the rows and Σ αᵢx̃ᵢ."""
        everyone, mine = np.arange(len(self.labels)), self._mine
        scores = values + ~mine
        excess = scores.max(axis=1) - scores[everyone, self.labels]
        room = np.where(mine, self.C[:, None], 0.0) - alpha
        movable = np.where(room > 0, scores, np.inf).min(axis=1)
        return Certificate(
            problem=self.name,
            primal=float((W**2).sum()) / 2 + float(self.C @ excess),
            dual=-float((total**2).sum()) / 2 - float(alpha.sum(where=~mine)),
            stationarity=float((scores.max(axis=1) - movable).max(initial=0.0)),
            dual_feasibility=self._broken(alpha),
            complementarity=float(
                (room * (scores.max(axis=1, keepdims=True) - scores)).max(initial=0.0)
            ),
        )
