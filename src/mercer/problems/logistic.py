"""Logistic regression in two or more classes: losses, biases, the dual and its certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import entr

from mercer import _fast
from mercer._typing import Array, IntArray
from mercer.exceptions import NotPositiveDefinite
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.design_products import Bounded, DesignProducts, square_bound, sum_bound
from mercer.problems.linear import DesignRows
from mercer.problems.products import Products

_ROUNDING = 1e-15
"""Slopes of a bias, as a share of Σ C, that float64 can tell from zero."""
_DEPENDENT = 1e-6
"""Pivots, as a share of the largest, from which a matrix is no longer inverted by its factor."""
_ENTROPY_ERROR = 48 * EPSILON
"""What an entropy may be off by: its slope is at most 36 at shares that 1 − p can tell from 0."""
_INDEFINITE = 1e-8
"""A negative sum of products, as a share of their sizes, that is more than their rounding."""


class LogisticAnswer(NamedTuple):
    """Coefficients (rows × functions, or weights of columns × functions), and biases."""

    coef: Array
    bias: Array


@dataclass(frozen=True, eq=False)
class View:
    """What functions say of the rows: shares P, signed weights β = C(e_y − p), bias and loss.

    ``slopes`` are Σ β.
    """

    P: Array
    beta: Array
    bias: Array
    loss: float
    slopes: Array


@dataclass(frozen=True, eq=False)
class LogisticProblem:
    r"""Functions whose softmax is the probability of each class.

    primal: min ½ Σ_c ‖f_c‖² + Σ Cᵢ (log Σ_c exp(f_c(xᵢ) + b_c) − f_y(xᵢ) − b_y),  y = yᵢ

    dual:   max Σ Cᵢ H(pᵢ) − ½ Σ_c ‖Σᵢ βᵢ_c φ(xᵢ)‖²,  βᵢ_c = Cᵢ([c = yᵢ] − pᵢ_c),  Σᵢ βᵢ_c = 0

    over probabilities pᵢ of the classes, H being their entropy. At the optimum they are the softmax
    of f + b, and f = Σ βᵢ k(xᵢ, ·). Two classes share one function, the logarithm of the odds.

    The bias has no penalty. For given f the best one is found at once; its shares then satisfy
    Σ β = 0, so that each f comes with a point of the dual, and the gap is half the squared norm of
    the gradient f − Σ βᵢ k(xᵢ, ·).

    Parameters
    ----------
    labels : array of shape (n,)
        The class of each row, from 0.
    C : array of shape (n,)
        The price of a row's loss, positive.
    classes : int
        The number of classes, at least two.
    intercept : bool
        Whether there are biases.
    penalised : bool
        Whether ½‖f‖² counts. Without it the dual asks for Σ βᵢ φ(xᵢ) = 0.
    """

    labels: IntArray
    C: Array
    classes: int
    intercept: bool = True
    penalised: bool = True

    @property
    def functions(self) -> int:
        """How many functions there are: one for two classes."""
        return 1 if self.classes == 2 else self.classes

    @property
    def name(self) -> str:
        """What the problem is called."""
        kind = "logistic regression" if self.classes == 2 else "multinomial logistic regression"
        return kind if self.penalised else f"{kind} without penalty"

    def cleared_norm(self, norm: float, coef: Array, values: Array) -> float:
        """Return 0 for a ‖g‖² = Σ gᵀKg that rounding made negative, and refuse a K that did."""
        if norm < -_INDEFINITE * float(np.abs(coef * values).sum()):
            raise NotPositiveDefinite(
                f"{self.name}: the kernel matrix is not positive semi-definite on these data, "
                f"where coefficients c have cᵀKc = {norm:.3g}. The penalty ½cᵀKc then falls for "
                "ever, and there is no optimum. Take a positive definite kernel, or mend the "
                "matrix by repair(...) and give it as kernel='precomputed'."
            )
        return max(norm, 0.0)

    def with_best_bias(
        self, F: Array, bias: Array | None = None, accuracy: float = _ROUNDING
    ) -> View:
        """Return shares, weights and loss at the n × functions values F, with the best bias.

        ``bias`` is where the search for it starts; it ends with slopes of ``accuracy`` Σ C.
        """
        b = self._first_bias() if bias is None else bias
        if not self.intercept:
            return self.view(F, b)
        if self.classes == 2:
            p, beta = np.empty(len(F)), np.empty(len(F))
            best, loss, slope = _fast.logistic.best_bias(
                _odds(F), float(b[0]), self.signs, self.C, p, beta, accuracy
            )
            return _binary_view(p, beta, np.array([best]), loss, slope)
        F = np.ascontiguousarray(F, dtype=np.float64)
        P, B, slopes = np.empty_like(F), np.empty_like(F), np.empty(self.classes)
        b = np.array(b, dtype=np.float64)
        loss = _fast.multinomial.best_biases(F, b, self.labels, self.C, P, B, slopes, accuracy)
        return View(P, B, b, loss, slopes)

    def view(self, F: Array, bias: Array) -> View:
        """Return shares, weights and loss at values F with a given bias."""
        if self.classes == 2:
            p, beta = np.empty(len(F)), np.empty(len(F))
            loss, slope, _ = _fast.logistic.look(
                _odds(F), float(bias[0]), self.signs, self.C, p, beta
            )
            return _binary_view(p, beta, bias, loss, slope)
        F = np.ascontiguousarray(F, dtype=np.float64)
        P, B, slopes = np.empty_like(F), np.empty_like(F), np.empty(self.classes)
        loss = _fast.multinomial.look_at_classes(F, bias, self.labels, self.C, P, B, slopes)
        return View(P, B, bias, loss, slopes)

    def bias_along(self, view: View, U: Array) -> Array:
        """Return how fast the best bias moves where the values of the functions move by U."""
        if not self.intercept:
            return np.zeros(self.functions)
        if self.classes == 2:
            return np.array([_fast.logistic.bias_along(view.P[:, 0], self.C, _odds(U))])
        turns, step = np.empty(self.classes), np.empty(self.classes)
        _fast.multinomial.turn_of_slopes(view.P, self.C, np.ascontiguousarray(U), turns)
        _fast.multinomial.biases_along(view.P, self.C, turns, step)
        return -step

    @cached_property
    def signs(self) -> Array:
        """+1 for rows of the second of two classes, −1 for those of the first."""
        return np.where(self.labels > 0, 1.0, -1.0)

    def second_derivative(self, view: View) -> Callable[[Array], Array]:
        """Return U ↦ the second derivative of the loss times U, the bias following along."""
        if not self.intercept:
            return lambda U: self._plain_curve(view, U)
        inverse = self.bias_inverse(view)

        def multiply(U: Array) -> Array:
            T = self._plain_curve(view, U)
            moved = inverse @ T.sum(axis=0)
            T -= self._plain_curve(view, np.broadcast_to(moved, U.shape))
            return T

        return multiply

    def curvatures(self, view: View) -> Array:
        """Return the diagonal of the second derivative, one column for each function."""
        return self.C[:, None] * view.P * (1 - view.P)

    def bias_inverse(self, view: View) -> Array:
        """Return the inverse of the second derivative of the loss for the biases.

        All of several biases may grow together and nothing changes; this direction gets a curvature
        too, so that systems for the others can be solved.
        """
        if self.classes == 2:
            total = float(self.curvatures(view).sum())
            return np.array([[1 / total if total > 0 else 0.0]])
        weighted = self.C[:, None] * view.P
        totals = self.C @ view.P
        H = np.diag(totals) - view.P.T @ weighted + float(totals.sum()) / self.classes**2
        factor, failed = dpotrf(H)
        pivots = factor.diagonal()
        if failed or pivots.min() <= _DEPENDENT * pivots.max():
            return np.asarray(np.linalg.pinv(H, hermitian=True))
        inverse = dpotri(factor)[0]
        return np.asarray(inverse + np.triu(inverse, 1).T)

    def _plain_curve(self, view: View, U: Array) -> Array:
        if self.classes == 2:
            return np.asarray(self.curvatures(view) * U)
        inner = np.einsum("ij,ij->i", view.P, U)
        return np.asarray(self.C[:, None] * view.P * (U - inner[:, None]))

    def _first_bias(self) -> Array:
        """Return the bias that gives each class its share, the best one for f = 0."""
        if not self.intercept:
            return np.zeros(self.functions)
        shares = np.bincount(self.labels, self.C, self.classes)
        logs = np.log(np.maximum(shares / shares.sum(), 1e-12))
        return np.asarray(logs[1:] - logs[0] if self.classes == 2 else logs - logs.mean())

    def entropy(self, beta: Array) -> float:
        """Return Σ Cᵢ H(pᵢ) of the shares that β stands for."""
        if self.classes == 2:
            p = np.clip((self.labels > 0) - beta[:, 0] / self.C, 0.0, 1.0)
            return float(self.C @ (entr(p) + entr(1 - p)))
        P = -beta / self.C[:, None]
        P[np.arange(len(P)), self.labels] += 1.0
        return float(self.C @ entr(np.clip(P, 0.0, 1.0)).sum(axis=1))

    def products(self, value: LogisticAnswer, multiply: Callable[[Array], Array]) -> Array:
        """Return what ``certify`` takes as the product, given c ↦ Kc: Kc, and Kβ of the dual."""
        F = multiply(value.coef)
        return np.hstack([F, multiply(self.with_best_bias(F, value.bias).beta)])

    def certify(
        self, value: LogisticAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge functions of a kernel.

        ``product`` is what :meth:`products` gives, where it is known: then its rounding and the
        curvature of the matrix are not looked at.
        """
        if product is None:
            return self._prove(value, gram)
        return self._judge(value, product)

    def _prove(self, value: LogisticAnswer, gram: GramMatrix) -> Certificate:
        """Bound what rounding does to the values; a loss changes by twice what its values do."""
        of_f = Products(gram, value.coef)
        best = self.with_best_bias(of_f.F, value.bias)
        of_dual = Products(gram, best.beta)
        judged = self._judge(value, np.hstack([of_f.F, of_dual.F]))
        few = (value.coef.size + 16) * EPSILON
        values = np.abs(of_f.F) + np.abs(value.bias)
        off = (of_f.errors + 8 * EPSILON * values).max(axis=1)
        losses = float(self.C @ (2 * off + 2 * few * values.max(axis=1)))
        above = losses + few * abs(judged.primal) + few * float(self.C.sum())
        below = few * (float(self.C.sum()) * math.log(self.classes) + abs(judged.dual))
        below += judged.dual_feasibility * float(values.max(initial=0.0))
        if self.penalised:
            above += _square_error(value.coef, of_f, few) / 2
            below += _square_error(best.beta, of_dual, few) / 2
        bent = of_f.curvature(np.arange(len(values)), None, Definite.POSITIVE)
        if bent.shift:  # ½σ‖c − β*‖² at most, and no ∣β*∣ is above C
            reach = float(np.vdot(value.coef, value.coef))
            above += bent.shift * (reach + self.classes * float(self.C @ self.C))
        return replace(judged.paying(below), rounding=above, curvature=bent.verdict)

    def _judge(self, value: LogisticAnswer, both: Array) -> Certificate:
        F, V = np.hsplit(both, 2)
        best = self.with_best_bias(F, value.bias)
        distance = float(np.abs(V - F if self.penalised else V).max(initial=0.0))
        f_square, v_square = float(np.vdot(value.coef, F)), float(np.vdot(best.beta, V))
        return self._certificate(F, value.bias, best, f_square, v_square, distance)

    def _certificate(
        self, F: Array, bias: Array, best: View, f_square: float, v_square: float, distance: float
    ) -> Certificate:
        """Judge functions f with values F by V = Σ βᵢ φ(xᵢ), β those of the best bias.

        Given are ‖f‖², ‖V‖² and the largest difference between V and f.
        """
        drift = float(np.abs(best.beta.sum(axis=0)).max()) if self.intercept else 0.0
        dual = self.entropy(best.beta)
        if self.penalised:
            dual -= v_square / 2
        return Certificate(
            problem=self.name,
            primal=self.view(F, bias).loss + (f_square / 2 if self.penalised else 0.0),
            dual=dual,
            stationarity=distance,
            dual_feasibility=drift if self.penalised else max(drift, distance),
        )


def _square_error(coefficients: Array, found: Products, few: float) -> float:
    """Return what rounding may have done to the sum of cᵀKc over the functions."""
    size = np.abs(coefficients)
    return float(np.vdot(size, found.errors)) + few * float(np.vdot(size, np.abs(found.F)))


def _binary_view(p: Array, beta: Array, bias: Array, loss: float, slope: float) -> View:
    return View(p[:, None], beta[:, None], bias, loss, np.array([slope]))


def _odds(F: Array) -> Array:
    """Return the only column of F in the one form that compiled code is made for."""
    return np.ascontiguousarray(F[:, 0], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LinearLogisticProblem(LogisticProblem):
    """The same with functions w·x̃ of columns: rows are those of a design matrix.

    Parameters
    ----------
    constant : float
        One more column of this value, whose weight is penalised like all others; 0 for none.
    """

    constant: float = 0.0

    def rows(self, gram: GramMatrix) -> DesignRows:
        """Return the rows x̃ of the design matrix."""
        return DesignRows(gram.features(), self.constant)

    def zeros(self, gram: GramMatrix) -> LogisticAnswer:
        """Return weights and biases of zero."""
        weights = np.zeros((self.rows(gram).columns, self.functions))
        return LogisticAnswer(weights, np.zeros(self.functions))

    def products(self, value: LogisticAnswer, multiply: Callable[[Array], Array]) -> Array:
        return multiply(value.coef)

    def certify(
        self, value: LogisticAnswer, gram: GramMatrix, product: Array | None = None
    ) -> Certificate:
        """Judge weights of columns; ``product`` is X̃ times the weights."""
        rows, W = self.rows(gram), value.coef
        F = rows.dot(W) if product is None else product
        best = self.with_best_bias(F, value.bias)
        V = rows.combine(best.beta)
        distance = float(np.abs(V - W if self.penalised else V).max(initial=0.0))
        f_square, v_square = float(np.vdot(W, W)), float(np.vdot(V, V))
        return self._certificate(F, value.bias, best, f_square, v_square, distance)

    def prove(self, value: LogisticAnswer, gram: GramMatrix) -> Certificate:
        """Judge weights so that the optimum is in the interval, what rounding does included.

        Without a penalty Σ βᵢx̃ᵢ = 0 holds up to rounding only, whose price is that of weights
        twice as large.
        """
        rows, W = DesignProducts(gram.features(), constant=self.constant), value.coef
        found = rows.dot(W)
        best = self.with_best_bias(found.values, value.bias)
        pull = rows.combine(best.beta)
        V = pull.values
        distance = float(np.abs(V - W if self.penalised else V).max(initial=0.0))
        f_square, v_square = float(np.vdot(W, W)), float(np.vdot(V, V))
        judged = self._certificate(found.values, value.bias, best, f_square, v_square, distance)
        above = self._loss_bound(found, value.bias)
        below, drift = self._entropy_bound(found, best)
        reach = pull.errors + drift * pull.sizes
        if self.penalised:
            above += sum_bound(W * W / 2)
            below += square_bound(Bounded(V, reach, pull.sizes)) / 2
        else:
            below += 2 * float(np.vdot(np.abs(V) + reach, np.abs(W)))
            below = below if pull.vanishes(OPTIMAL_GAP) else math.inf
        return replace(judged.paying(below), rounding=above)

    def _loss_bound(self, found: Bounded, bias: Array) -> float:
        """Return what rounding may have done to the losses; one changes by twice its values."""
        sizes = np.abs(found.values) + np.abs(bias)
        off = (found.errors + 8 * EPSILON * sizes).max(axis=1)
        terms = self.C * (2 * sizes.max(axis=1) + math.log(self.classes))
        return 2 * float(self.C @ off) + sum_bound(terms)

    def _entropy_bound(self, found: Bounded, best: View) -> tuple[float, float]:
        """Return what rounding may have added to the entropies, and ρ.

        What is left of Σ β, where it has to be 0, is taken off the βᵢ in proportion, which changes
        them by a share ρ at most; entropies then change by the logarithms of odds.
        """
        total = float(self.C.sum())
        below = self.classes * _ENTROPY_ERROR * total
        below += sum_bound(self.C * math.log(self.classes))
        if not self.intercept:
            return below, 0.0
        sizes = np.abs(best.beta).sum(axis=0)
        left = np.abs(best.beta.sum(axis=0)) + (len(self.C) + 16) * EPSILON * sizes
        steepest = float(np.abs(found.values + best.bias).max(initial=0.0))
        below += 4 * float(left.sum()) * (steepest + 1)
        return below, 2 * float(np.divide(left, sizes, out=left.copy(), where=sizes > 0).max())
