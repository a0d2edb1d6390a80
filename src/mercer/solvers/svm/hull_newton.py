"""Newton's method for the nearest points of two hulls, where the squares of their weights count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import DTypeLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve, get_blas_funcs

from mercer._typing import Array, Flags, IntArray
from mercer.gram.sums import seen_features
from mercer.problems import qp

_STEPS = 60
"""Most steps of Newton's method; 5 to 8 are usual, 20 where rows are few."""
_SWEEPS, _EXACT, _ROUNDED, _SLOW = 10, 1e-11, 1e-6, 0.5
"""Most corrections of a system that was solved in float32, residuals that need none and that may be
rounding, and the share of the last residual from which on corrections do not help."""
_NEAR, _SETTLED = 0.05, 0.01
"""The share of active rows that change at most in the last step of a smaller system, and in a step
after which systems are solved exactly and answers are judged."""
_BISECTIONS = 40
"""Halvings of a step: to 10⁻¹² of its length."""
_RISE = 1e-9
"""A slope at the end of a step, as a share of the value, that rounding may have made."""
_COARSE = 1e-2
"""What columns of a factor hold of the trace at least to take part in the first steps, as a share
of what they would hold if all were alike: on 20 kernels of 2,000 rows 10⁻¹ and 10⁻³ took longer."""
_FEWER = 0.7
"""The share of columns from which on first steps with them alone gain nothing."""
_SAMPLE, _FEW_ROWS = 4, 400
"""One row in so many takes part in the first steps on a matrix, and rows up to which all do."""


class HullPoint(NamedTuple):
    """Signed weights β, f = Kβ at all rows, and the margin of each class."""

    beta: Array
    f: Array
    margins: Array


class Coarser(NamedTuple):
    """A smaller system, and the rows that it is about."""

    system: RidgedSystem
    rows: IntArray


class Solved(NamedTuple):
    """Z with (K_AA + λI)Z = E at the rows A, and K times Z, which is 0 elsewhere, at all rows."""

    Z: Array
    F: Array


class RidgedSystem(Protocol):
    """A matrix K, of which systems (K_AA + λI)Z = E are solved."""

    @property
    def ridge(self) -> float:
        """λ."""
        ...

    def solve(self, at: IntArray, E: Array, exact: bool) -> Solved:
        """Return Z on some rows: in float32, or ``exact``."""
        ...

    def product(self, at: IntArray, z: Array) -> Array:
        """Return K times z, which is 0 elsewhere, at all rows."""
        ...

    def begin(self) -> Self:
        """Return the same system for one run of steps, which may keep what they share."""
        ...

    def coarser(self, signs: Array) -> Coarser | None:
        """Return a smaller system with about the same answers; None for none."""
        ...

    def greatest(self) -> float:
        """Return the greatest value on the diagonal."""
        ...


@dataclass(eq=False)
class RidgedFactor:
    """K = ΦΦᵀ: a system costs what the shorter side of Φ_A asks for.

    Systems of the steps differ by few rows: what one has in common with the last is kept.
    """

    Phi: Array
    ridge: float
    single: Array
    """Φ in float32, without the columns that it cannot see."""

    def __post_init__(self) -> None:
        self._normal = NormalMatrix(self.single)
        self._rows = RowMatrix(self.single)

    @classmethod
    def of(cls, Phi: Array, ridge: float) -> Self:
        """Take Φ in float64."""
        return cls(Phi, ridge, seen_features(Phi.astype(np.float32, order="C")))

    def begin(self) -> Self:
        return replace(self)

    def solve(self, at: IntArray, E: Array, exact: bool) -> Solved:
        try:
            return self._solve(at, E, exact, np.float32)
        except LinAlgError:
            return self._solve(at, E, exact, np.float64)

    def _solve(self, at: IntArray, E: Array, exact: bool, dtype: DTypeLike) -> Solved:
        solved = self._inverse(at, dtype)
        if not exact:
            Z, x = solved(E)
            return Solved(Z, (self.single if dtype is np.float32 else self.Phi) @ x)
        P = self.Phi[at]
        first = np.asarray(solved(E)[0], dtype=np.float64)
        Z = _corrected(first, lambda R: solved(R)[0], lambda Z: P @ (P.T @ Z) + self.ridge * Z, E)
        return Solved(Z, self.Phi @ (P.T @ Z))

    def _inverse(self, at: IntArray, dtype: DTypeLike) -> Callable[[Array], tuple[Array, Array]]:
        """Return what gives Z and Φ_AᵀZ for each E, of a system in one precision."""
        rough = dtype is np.float32
        P = (self.single if rough else self.Phi)[at]
        wide = len(P) <= P.shape[1]
        if rough:
            H = self._rows.at(at) if wide else self._normal.at(at)
        else:
            H = P @ P.T if wide else P.T @ P
        H.flat[:: len(H) + 1] += H.dtype.type(self.ridge)
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

        def solved(E: Array) -> tuple[Array, Array]:
            E = E.astype(P.dtype)
            if wide:
                Z = cho_solve(factor, E, check_finite=False)
                return Z, P.T @ Z
            # Φ_AᵀZ of the true Z is what the system of columns has for its answer.
            x = cho_solve(factor, P.T @ E, check_finite=False)
            return (E - P @ x) / P.dtype.type(self.ridge), x

        return solved

    def product(self, at: IntArray, z: Array) -> Array:
        return np.asarray(self.Phi @ (self.Phi[at].T @ z))

    def greatest(self) -> float:
        return float(np.einsum("ij,ij->i", self.single, self.single).max())

    def coarser(self, signs: Array) -> Coarser | None:
        energies = np.einsum("ij,ij->j", self.single, self.single)
        kept = energies > _COARSE * energies.mean()
        if np.count_nonzero(kept) > _FEWER * len(kept):
            return None
        part: Array = self.single[:, kept]
        return Coarser(RidgedFactor(part, self.ridge, part), np.arange(len(part)))


class NormalMatrix:
    """Φ_AᵀΦ_A of some rows A, from that of other rows and the difference."""

    def __init__(self, Phi: Array) -> None:
        self.Phi = Phi
        self.members: Flags = np.zeros(len(Phi), np.bool_)
        self.H: Array = np.zeros((Phi.shape[1], Phi.shape[1]), Phi.dtype, order="F")

    def at(self, rows: IntArray) -> Array:
        """Return the lower triangle of the matrix of some rows, in memory of its own."""
        members = np.zeros(len(self.Phi), np.bool_)
        members[rows] = True
        changed = self.members != members
        if np.count_nonzero(changed) > len(rows):
            self.H[:] = 0
            self.members[:] = False
            changed = members
        self._add(np.flatnonzero(changed & members), 1.0)
        self._add(np.flatnonzero(changed & ~members), -1.0)
        self.members = members
        return self.H.copy(order="F")

    def _add(self, rows: IntArray, sign: float) -> None:
        if len(rows):
            P = self.Phi[rows]
            # BLAS goes by columns: P in rows is Pᵀ for it, and nothing is copied.
            syrk = get_blas_funcs("syrk", [P])
            self.H = syrk(sign, P.T, beta=1.0, c=self.H, lower=1, overwrite_c=1)


class RowMatrix:
    """ΦΦᵀ of rows that were asked for; what is missing is computed, and kept."""

    def __init__(self, Phi: Array) -> None:
        self.Phi = Phi
        self.place: IntArray = np.full(len(Phi), -1)
        """Where each row is, −1 for those that are not there."""
        self.rows: IntArray = np.empty(0, np.intp)
        self.K: Array = np.empty((0, 0), Phi.dtype)

    def at(self, rows: IntArray) -> Array:
        """Return the matrix of some rows, in memory of its own."""
        new = rows[self.place[rows] < 0]
        if len(new):
            self._add(new)
        at = self.place[rows]
        return np.asfortranarray(self.K[at[:, None], at])

    def _add(self, new: IntArray) -> None:
        old = len(self.rows)
        self.place[new] = old + np.arange(len(new))
        self.rows = np.concatenate([self.rows, new])
        block = self.Phi[new] @ self.Phi[self.rows].T
        K = np.empty((len(self.rows), len(self.rows)), self.Phi.dtype)
        K[:old, :old], K[old:], K[:old, old:] = self.K, block, block[:, :old].T
        self.K = K


@dataclass(frozen=True, eq=False)
class RidgedMatrix:
    """K in memory."""

    K: Array
    ridge: float

    def begin(self) -> Self:
        return self

    def solve(self, at: IntArray, E: Array, exact: bool) -> Solved:
        rows, ridge = self.K[at], self.ridge
        K = rows[:, at]

        def attempt(dtype: DTypeLike) -> Array:
            H = K.astype(dtype, order="F")
            H.flat[:: len(H) + 1] += H.dtype.type(ridge)
            factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)

            def solved(right: Array) -> Array:
                found = cho_solve(factor, right.astype(dtype), check_finite=False)
                return np.asarray(found, dtype=np.float64)

            Z = solved(E)
            return _corrected(Z, solved, lambda Z: K @ Z + ridge * Z, E) if exact else Z

        Z = _in_either_precision(attempt)
        return Solved(Z, rows.T @ Z)

    def product(self, at: IntArray, z: Array) -> Array:
        return np.asarray(self.K[at].T @ z)

    def greatest(self) -> float:
        return float(np.diagonal(self.K).max())

    def coarser(self, signs: Array) -> Coarser | None:
        if len(self.K) <= _FEW_ROWS:
            return None
        parts = [np.flatnonzero(side)[::_SAMPLE] for side in (signs > 0, signs <= 0)]
        rows = np.sort(np.concatenate(parts))
        # Each row stands for some, so that its weight is as many times as great.
        return Coarser(RidgedMatrix(self.K[np.ix_(rows, rows)], self.ridge / _SAMPLE), rows)


def _in_either_precision(attempt: Callable[[DTypeLike], Array]) -> Array:
    """Return what float32 finds, or float64 where that is too rough."""
    try:
        return attempt(np.float32)
    except LinAlgError:
        return attempt(np.float64)


def _corrected(
    Z: Array, solved: Callable[[Array], Array], times: Callable[[Array], Array], E: Array
) -> Array:
    """Return Z with HZ = E to rounding, from a rough one and the way that it was found."""
    last = np.inf
    for _ in range(_SWEEPS):
        R = E - times(Z)
        left = float(np.abs(R).max())
        slow = not left < _SLOW * last
        if left <= _EXACT or (slow and last <= _ROUNDED):
            return Z  # and if it is not exact enough, the gap will say so
        if slow:
            break
        Z = Z + solved(R)
        last = left
    raise LinAlgError("the system is nearly singular")


def nearest_points(system: RidgedSystem, signs: Array, tol: float) -> Array | None:
    r"""Return signed weights β of the nearest points of two hulls; None where K + λI is singular.

    min ½βᵀ(K + λI)β over weights yᵢβᵢ ≥ 0 whose sums in both classes are 1. With margins ρ the best
    weights are yᵢβᵢ = max(0, ρ − yᵢfᵢ)/λ, f = Kβ: as long as the same rows A are in it they solve a
    linear system. Newton's steps on the dual problem, ½βᵀKβ + Σ max(0, ρ − yᵢfᵢ)²/2λ − Σρ, are cut
    where that has its minimum, and end when the relative gap of :func:`mercer.problems.qp.hulls`
    is ``tol``. First steps are taken on a smaller system.

    References
    ----------
    O. L. Mangasarian, A finite Newton method for classification, Optimization Methods and Software
    17 (2002); S. S. Keerthi and D. DeCoste, A modified finite Newton method for fast solution of
    large scale linear SVMs, Journal of Machine Learning Research 6 (2005).
    """
    problem, system = qp.hulls(signs), system.begin()
    greatest = system.greatest() + system.ridge
    try:
        point = _first_point(system, signs)
        rough = True
        for _ in range(_STEPS):
            active = _active(point, signs)
            point = _step(system, signs, point, active, not rough)
            changed = np.count_nonzero(_active(point, signs) != active)
            few = changed <= _SETTLED * np.count_nonzero(active)
            if few and not rough:
                found = _on_simplices(point.beta, signs)
                at = np.flatnonzero(found)
                f = system.product(at, found[at]) + system.ridge * found
                rounding = qp.rounding_of_sums(found, greatest)
                if problem.relative_gap(found, f, rounding) <= tol:
                    return found
            rough = not few
    except LinAlgError:
        pass
    return None


def _first_point(system: RidgedSystem, signs: Array) -> HullPoint:
    """Return where steps begin: near the answer of a smaller system, or with all rows active."""
    smaller = system.coarser(signs)
    if smaller is None:
        everything = np.ones(len(signs), np.bool_)
        return _optimum(system, signs, everything, False)
    rows = smaller.rows
    point = _first_point(smaller.system, signs[rows])
    for _ in range(_STEPS):
        active = _active(point, signs[rows])
        point = _step(smaller.system, signs[rows], point, active, False)
        changed = np.count_nonzero(_active(point, signs[rows]) != active)
        if changed <= _NEAR * np.count_nonzero(active):
            break
    beta = np.zeros(len(signs))
    beta[rows] = point.beta
    return HullPoint(beta, system.product(rows, point.beta), point.margins)


def _active(point: HullPoint, signs: Array) -> Flags:
    """Return the rows within their margin; of each class the nearest one, if no other."""
    slack = _slack(point, signs)
    active = slack > 0
    for side in (signs > 0, signs <= 0):
        if not active[side].any():
            active |= side & (slack >= slack[side].max())
    return np.asarray(active)


def _slack(point: HullPoint, signs: Array) -> Array:
    return np.asarray(np.where(signs > 0, *point.margins) - signs * point.f)


def _optimum(system: RidgedSystem, signs: Array, active: Flags, exact: bool) -> HullPoint:
    """Return the optimum with some weights alone, of any sign."""
    at = np.flatnonzero(active)
    sides = signs[at] > 0
    E = np.column_stack([sides, ~sides]) * signs[at, None]
    Z, F = system.solve(at, E, exact)
    margins = np.linalg.solve(E.T @ Z, np.ones(2))
    beta = np.zeros(len(signs))
    beta[at] = Z @ margins
    return HullPoint(beta, F @ margins, margins)


def _step(
    system: RidgedSystem, signs: Array, point: HullPoint, active: Flags, exact: bool
) -> HullPoint:
    """Return the least value on the way to the optimum with the active rows alone."""
    aim = _optimum(system, signs, active, exact)
    here, change = _slack(point, signs), _slack(aim, signs) - _slack(point, signs)
    squares = float(point.beta @ point.f), float(aim.beta @ point.f), float(aim.beta @ aim.f)
    bend, slope = squares[0] - 2 * squares[1] + squares[2], squares[1] - squares[0]
    slope -= float((aim.margins - point.margins).sum())

    def rise(t: float) -> float:
        loss = float(np.maximum(here + t * change, 0.0) @ change) / system.ridge
        return slope + t * bend + loss

    low, high = 0.0, 1.0
    if rise(high) <= _RISE * squares[2]:
        return aim
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if rise(middle) > 0 else (middle, high)
    t = high
    return HullPoint(*((1 - t) * a + t * b for a, b in zip(point, aim, strict=True)))


def _on_simplices(beta: Array, signs: Array) -> Array:
    """Return weights of the right sign whose sums in both classes are 1."""
    sizes = np.maximum(signs * beta, 0.0)
    positive = signs > 0
    for side in (positive, ~positive):
        sizes[side] /= sizes[side].sum()
    return np.asarray(signs * sizes)
