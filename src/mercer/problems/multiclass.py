"""Support vector machines that learn all classes in one problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from mercer._typing import Array, IntArray
from mercer.exceptions import InvalidParameter
from mercer.gram.base import Definite, GramMatrix
from mercer.problems.certificate import Certificate
from mercer.problems.curvature import EPSILON
from mercer.problems.products import BoundedProduct, Products


@dataclass(frozen=True, eq=False)
class JointMulticlass:
    r"""One function for each class, all learnt together.

    min ½ Σ_c ‖w_c‖² + Σᵢ Cᵢ ξᵢ,  where ξᵢ is made of the margins  gᵢ_c = 1 − (f_y(xᵢ) − f_c(xᵢ))

    of the classes c other than the label y = yᵢ, and f_c(x) = ⟨w_c, φ(x)⟩ = Σᵢ αᵢ_c k(xᵢ, x): the
    label has to win by 1. The dual is one quadratic for both machines,

    max Σᵢ αᵢ_y − ½ Σ_c α_cᵀ K α_c  subject to  αᵢ_c ≤ 0 for c ≠ y,  Σ_c αᵢ_c = 0,

    and an upper bound that Cᵢ puts on the multipliers −αᵢ_c, which is all they differ in. The
    coefficients of a point sum to zero, and so do the functions: Σ_c f_c = 0.

    By default there is no bias, as in Keerthi et al. (2008, "A sequential dual method for large
    scale multi-class linear SVMs") and Doğan, Glasmachers and Igel (2016, "A unified view on
    multi-class support vector classification"). So the kernel has to be positive semi-definite;
    conditionally so is not enough. A constant added to the kernel gives a penalised bias; with
    ``biases`` b_c, f_c + b_c takes the place of f_c in the margins. Where these are ``free``, the
    dual problem has the constraints Σᵢ αᵢ_c = 0 as well.

    Parameters
    ----------
    labels : array of shape (n,)
        The class of each point, from 0.
    C : array of shape (n,)
        The price of a point's loss: C times its weight, finite. A price of 0 leaves it out.
    classes : int
        The number of classes, at least two; a class may have no points.
    biases : array of shape (classes,), optional
        b_c.
    free : bool
        Whether the biases are part of the answer, and not given.
    """

    labels: IntArray
    C: Array
    classes: int
    biases: Array | None = None
    free: bool = False

    name: ClassVar[str]
    bound_on_total: ClassVar[bool]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.C).all() and (self.C >= 0).all()):
            raise InvalidParameter(
                f"{self.name}: C times the sample weights has to be finite and 0 or more. A large "
                "finite C, such as 1e6, comes close to a hard margin."
            )

    def __len__(self) -> int:
        return len(self.labels)

    def loss(self, margins: Array) -> Array:
        """Return ξ for every point."""
        raise NotImplementedError

    def feasible(self, alpha: Array) -> Array:
        """Return coefficients that keep all constraints, near some that may not."""
        multipliers = self._within_bounds(np.maximum(np.where(self._own, 0.0, -alpha), 0.0))
        total = multipliers.sum(axis=1, keepdims=True)
        if self.bound_on_total:  # a sum within rounding of its bound is on it
            bound = self.C[:, None]
            total = np.where(total > (1 - 1e-13) * bound, bound, total)
        inside = np.where(self._own, total, -multipliers)
        return self._balanced(inside) if self.free else inside

    def _balanced(self, alpha: Array) -> Array:
        """Return coefficients whose sums over points are 0, by moves that keep the constraints.

        What class c has too much of goes to class d, where that does not fit by way of other
        classes: along the way with most room. What nowhere fits stays.
        """
        alpha, classes = alpha.copy(), range(self.classes)
        for _ in range(4 * self.classes**2):
            sums = alpha.sum(axis=0)
            c, d = int(sums.argmax()), int(sums.argmin())
            wanted = min(float(sums[c]), float(-sums[d]))
            if not wanted > EPSILON * float(np.abs(alpha).sum()):
                break
            room = np.array([[self._room(alpha, a, b).sum() for b in classes] for a in classes])
            way, most = _widest_way(room, c, d)
            if not most > 0:
                break
            for a, b in pairwise(way):
                self._move(alpha, a, b, min(wanted, most))
        return alpha

    def _room(self, alpha: Array, c: int, d: int) -> Array:
        """Return how much of each point may go from class c to class d."""
        if c == d:
            return np.zeros(len(self))
        own = alpha[np.arange(len(self)), self.labels]
        rise = self.C - (own if self.bound_on_total else -alpha[:, c])
        others = np.full(len(self), np.inf) if self.bound_on_total else rise
        grow = np.where(self.labels == c, np.inf, np.where(self.labels == d, rise, others))
        fall = np.where(self.labels == d, np.inf, -alpha[:, d])
        return np.maximum(np.minimum(grow, fall), 0.0)

    def _move(self, alpha: Array, c: int, d: int, amount: float) -> None:
        """Move an amount from class c to class d, in the points that have most room."""
        room = self._room(alpha, c, d)
        order = np.argsort(-room, kind="stable")
        before = np.concatenate([[0.0], np.cumsum(room[order])[:-1]])
        moved = np.zeros(len(self))
        moved[order] = np.clip(amount - before, 0.0, room[order])
        alpha[:, c] -= moved
        alpha[:, d] += moved

    def unbalanced(self, alpha: Array) -> bool:
        """Whether the sums over points are farther from 0 than rounding takes them."""
        return bool((np.abs(alpha.sum(axis=0)) > self._rounding_of_sums(alpha)).any())

    def _rounding_of_sums(self, alpha: Array) -> Array:
        sizes = np.abs(alpha).sum(axis=0) + float(self.C.max(initial=0.0))
        return np.asarray(4 * (len(self) + 8) * self.classes * EPSILON * sizes)

    def margins(self, f: Array) -> Array:
        """Return gᵢ_c = 1 − f_y(xᵢ) + f_c(xᵢ) for every point and class, 0 for its own class."""
        f = f if self.biases is None else f + self.biases
        own = f[np.arange(len(self)), self.labels]
        return np.where(self._own, 0.0, 1.0 - own[:, None] + f)

    def certify(self, value: Array, gram: GramMatrix, product: Array | None = None) -> Certificate:
        """Judge the n × classes coefficients α on a matrix.

        ``product`` is Kα in float64 where it is known: then its rounding and the curvature of the
        matrix are not looked at.
        """
        if product is not None:
            return self.judge(value, product)
        rows, everything = np.arange(len(self)), slice(0, self.classes)
        found = Products(gram, value).part(rows, everything, None, Definite.POSITIVE)
        return self.prove(value, found)

    def judge(self, alpha: Array, f: Array, **cost: Any) -> Certificate:
        """Judge the n × classes coefficients α, given f = Kα in float64."""
        half_norm = float(np.vdot(alpha, f)) / 2
        margins = self.margins(f)
        multipliers = np.where(self._own, 0.0, -alpha)
        total = alpha[self._own]
        bounded = total[:, None] if self.bound_on_total else multipliers
        excess = float((bounded - self.C[:, None]).max())
        outside = max(float(-multipliers.min()), excess, 0.0)
        drift = float(np.abs(alpha.sum(axis=1)).max())
        linear = 0.0
        if self.biases is not None:
            sums = alpha.sum(axis=0)
            linear = float(sums @ self.biases)
            drift = max(drift, float(np.abs(sums).max())) if self.free else drift
        return Certificate(
            problem=self.name,
            primal=half_norm + float(self.C @ self.loss(margins)),
            dual=float(total.sum()) - half_norm - (0.0 if self.free else linear),
            stationarity=float(self._disagreement(margins, multipliers, total).max()),
            dual_feasibility=max(outside, drift),
            complementarity=float(self._products(margins, multipliers, total).max()),
            **cost,
        )

    def prove(self, alpha: Array, product: BoundedProduct) -> Certificate:
        """Judge α by a product with bounds of its errors, so that the optimum is in the interval.

        Coefficients that break a constraint are moved into it, as for a box QP (``problems.qp``).
        """
        f, n = product.f, len(self)
        judged = self.judge(alpha, f)
        few = (alpha.size + 8) * EPSILON
        squares = float(np.vdot(np.abs(alpha), product.errors))
        squares += few * float(np.abs(alpha * f).sum())
        biases = np.zeros(self.classes) if self.biases is None else np.abs(self.biases)
        off = product.errors + 4 * EPSILON * (1 + np.abs(f) + biases)
        own = off[np.arange(n), self.labels]
        losses = self.loss(self.margins(f))
        above = squares / 2 + float(self.C @ (off.sum(axis=1) + (self.classes - 2) * own))
        above += few * float(self.C @ np.abs(losses))
        # A row of α* has squares of at most (classes − 1)² C² + (classes − 1) C².
        reach = (2 * self.classes * self.C) ** 2
        above += product.curvature.shift / 2 * float(reach.sum()) if product.curvature.shift else 0
        inside = self.feasible(alpha)
        change = inside - alpha
        slopes = np.where(self._own, 1.0, 0.0) - f
        moved = product.roots @ np.abs(change)
        shift = float(np.vdot(slopes, change)) - float(moved @ moved) / 2
        below = squares / 2 + float(np.vdot(np.abs(change), off))
        terms = np.abs(alpha[self._own]).sum() + np.abs(slopes * change).sum()
        # The sums of rows are exact only up to rounding.
        drift = 2 * EPSILON * self.classes * float(np.vdot(np.abs(alpha), np.abs(slopes)))
        below += few * (float(terms) + float(moved @ moved)) + drift
        dual = judged.dual + shift
        if self.free:
            # Sums over points are 0 up to rounding, and a move by so little makes them so.
            dual = -np.inf if self.unbalanced(inside) else dual
            moves = float(self._rounding_of_sums(inside).sum())
            below += 4 * moves * float(np.abs(slopes).max(initial=0.0))
        return replace(
            judged,
            dual=dual,
            rounding=max(above, below),
            curvature=product.curvature.verdict,
        )

    @property
    def _own(self) -> Any:
        """The place of the label of each point, as a mask."""
        return self.labels[:, None] == np.arange(self.classes)

    def _within_bounds(self, multipliers: Array) -> Array:
        raise NotImplementedError

    def _disagreement(self, margins: Array, multipliers: Array, total: Array) -> Array:
        raise NotImplementedError

    def _products(self, margins: Array, multipliers: Array, total: Array) -> Array:
        raise NotImplementedError


class WestonWatkins(JointMulticlass):
    r"""The machine of Weston and Watkins (1999): every class that comes too close costs.

    ξᵢ = Σ_{c≠y} max(0, 1 − (f_y(xᵢ) − f_c(xᵢ)))  and  −αᵢ_c ≤ Cᵢ for each c ≠ y

    The margin to win by is 1 (the first paper writes 2, which only rescales C and f) and there is
    no bias (the first paper has one).
    """

    name = "Weston–Watkins SVM"
    bound_on_total = False

    def loss(self, margins: Array) -> Array:
        return np.asarray(np.maximum(margins, 0).sum(axis=1))

    def _within_bounds(self, multipliers: Array) -> Array:
        return np.minimum(multipliers, self.C[:, None])

    def _disagreement(self, margins: Array, multipliers: Array, total: Array) -> Array:
        rising = np.where(multipliers < self.C[:, None], margins, 0.0)
        falling = np.where(multipliers > 0, -margins, 0.0)
        return np.maximum(np.maximum(rising, falling), 0)

    def _products(self, margins: Array, multipliers: Array, total: Array) -> Array:
        room = self.C[:, None] - multipliers  # of no use to the own class, whose margin is 0
        return np.asarray(np.where(margins > 0, room, multipliers) * np.abs(margins))


class CrammerSinger(JointMulticlass):
    r"""The machine of Crammer and Singer (2001): only the strongest rival costs.

    ξᵢ = max(0, max_{c≠y} 1 − (f_y(xᵢ) − f_c(xᵢ)))  and  αᵢ_y ≤ Cᵢ
    """

    name = "Crammer–Singer SVM"
    bound_on_total = True

    def loss(self, margins: Array) -> Array:
        # The margin of the own class is 0, which is the least loss.
        return np.asarray(margins.max(axis=1))

    def _within_bounds(self, multipliers: Array) -> Array:
        total = multipliers.sum(axis=1)
        share: Array = np.divide(self.C, total, out=np.ones_like(total), where=total > self.C)
        return multipliers * share[:, None]

    def _disagreement(self, margins: Array, multipliers: Array, total: Array) -> Array:
        used = np.where(self._own, (total < self.C)[:, None], multipliers > 0)
        least = np.where(used, margins, np.inf).min(axis=1)
        return np.asarray(np.maximum(margins.max(axis=1) - least, 0))

    def _products(self, margins: Array, multipliers: Array, total: Array) -> Array:
        weight = np.where(self._own, np.maximum(self.C - total, 0)[:, None], multipliers)
        return np.asarray(weight * (margins.max(axis=1, keepdims=True) - margins))


def _widest_way(room: Array, first: int, last: int) -> tuple[list[int], float]:
    """Return the classes on the way from one class to another with most room, and how much."""
    widths, come = np.where(np.arange(len(room)) == first, np.inf, 0.0), [-1] * len(room)
    left = set(range(len(room)))
    while left:
        at = max(left, key=lambda c: widths[c])
        left.remove(at)
        for c in left:
            width = min(widths[at], float(room[at, c]))
            if width > widths[c]:
                widths[c], come[c] = width, at
    way = [last]
    while come[way[-1]] >= 0:
        way.append(come[way[-1]])
    return way[::-1], float(widths[last])
