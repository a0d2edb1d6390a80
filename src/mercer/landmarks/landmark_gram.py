"""The Gram matrix of many rows on the span of a few landmarks, in memory or in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mercer import _memory
from mercer._memory import readable
from mercer._typing import Array, Index, IntArray, Rows
from mercer.exceptions import InvalidParameter, NotEnoughMemory
from mercer.gram.base import Definite, EvaluationCount, GramMatrix
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.base import Kernel
from mercer.kernels.features import Features
from mercer.kernels.points import Points
from mercer.landmarks.basis import LandmarkBasis
from mercer.landmarks.block_passes import BlockPasses
from mercer.landmarks.choose import Landmarks, Nystrom, choose_landmarks
from mercer.landmarks.chunks import ArrayChunks
from mercer.landmarks.feature_passes import FeaturePasses
from mercer.landmarks.nystrom_kernel import NystromKernel
from mercer.landmarks.passes import Passes
from mercer.linalg.pivoted import PivotedFactor

if TYPE_CHECKING:
    from mercer.problems.certificate import Certificate

HELD_BYTES = 1 << 30
"""Memory for kernel values that are kept between passes over data in memory."""
_FEATURE_BYTES = 1 << 32
"""Memory for features of all rows, where they are needed at once."""
_AFFORDABLE = 8
"""As many times the kernel values of the landmarks may be computed once more to know a cost."""

Number = TypeVar("Number", float, Array)


class LandmarkGram(GramMatrix):
    """K̃ = ZZᵀ = K_nM K_MM⁺ K_Mn, the matrix of the projections of all φ(xᵢ) on landmarks.

    K − K̃ is positive semi-definite. Solvers that ask for ``landmarks()`` work by passes over the
    rows, wherever they are; all others take K̃ as any matrix, through its features.

    Parameters
    ----------
    basis : LandmarkBasis
    passes : Passes
        Over the kernel values of the rows, with their targets where a solver asks for some.
    points : Points, optional
        The rows, where they are in memory.
    index : array, optional
        Which of the points the landmarks are.
    known : PivotedFactor, optional
        The features of the points in this basis, where the choice of landmarks has left them.
    """

    def __init__(
        self,
        basis: LandmarkBasis,
        passes: Passes,
        points: Points | None = None,
        index: IntArray | None = None,
        known: PivotedFactor | None = None,
    ) -> None:
        self.basis, self.passes, self.points, self.index = basis, passes, points, index
        self._known = known
        self.shape = (passes.rows, passes.rows)
        own = np.float64 if points is None else np.result_type(points.dtype, np.float32)
        self.dtype = np.dtype(own)
        self._values = EvaluationCount()

    @classmethod
    def of(
        cls,
        basis: LandmarkBasis,
        points: Points,
        y: ArrayLike | None = None,
        weights: Array | None = None,
        constant: bool = False,
        index: IntArray | None = None,
        hold: int = 0,
        known: PivotedFactor | None = None,
    ) -> LandmarkGram:
        """Return the matrix of points in memory, with targets and weights of the rows."""
        chunks = ArrayChunks(points, y, weights)
        passes: Passes
        if known is None:
            passes = BlockPasses(basis.kernel, basis.points, chunks, constant, hold=hold)
        else:
            passes = FeaturePasses(known, basis.factor, chunks, constant)
        return cls(basis, passes, points, index, known)

    @classmethod
    def choose(
        cls, kernel: Kernel, points: Points, spec: Nystrom, by_passes: bool = False
    ) -> LandmarkGram:
        """Choose landmarks among points; ``by_passes`` says which solvers the basis is for."""
        chosen: Landmarks = choose_landmarks(kernel, points, spec)
        known = chosen.factor
        if known is not None:
            L = np.tril(known.F[known.pivots])
            same = LandmarkBasis.of_pivots(kernel, chosen.points, L, by_passes)
            if same is not None:
                return cls.of(same, points, index=chosen.index, known=known)
        make = LandmarkBasis.for_passes if by_passes else LandmarkBasis
        basis = make(kernel, chosen.points)
        return cls.of(
            basis, points, index=None if chosen.index is None else chosen.index[basis.kept]
        )

    def with_targets(self, y: ArrayLike, weights: Array, constant: bool) -> LandmarkGram:
        """Return the same matrix with the targets of the rows, ready for solvers by passes."""
        assert self.points is not None
        given = None if (weights == 1).all() else weights
        return LandmarkGram.of(
            self.basis, self.points, y, given, constant, self.index, HELD_BYTES, self._known
        )

    # ---- a Gram matrix -------------------------------------------------------------------------

    @property
    def evaluations(self) -> int:
        """How many values the passes and the blocks of K̃ have computed so far."""
        return self.passes.evaluations + self._values.total

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    @property
    def symmetric(self) -> bool:
        return True

    def landmarks(self) -> LandmarkGram:
        return self

    def features(self) -> Array:
        """Return Z, one row for each row; computed once."""
        return self._features

    def diag(self) -> Array:
        return self._whole.diag()

    def block(self, rows: Index, columns: Index, out: Array | None = None) -> Array:
        return self._whole.block(rows, columns, out)

    def multiply(self, V: Array) -> Array:
        if self.points is not None:
            return self._whole.multiply(V)
        inner = np.zeros((len(self.basis), V.shape[1]))
        result = np.empty((self.shape[0], V.shape[1]))
        for part, Z in self._pieces():
            inner += Z.T @ V[part]
        for part, Z in self._pieces():
            result[part] = Z @ inner
        return result

    def multiply_columns(self, columns: IntArray, V: Array) -> Array:
        return self._whole.multiply_columns(columns, V)

    def take(self, rows: Rows, columns: Rows | None = None) -> GramMatrix:
        return self._whole.take(rows, columns)

    def in_precision(self, dtype: DTypeLike) -> GramMatrix:
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        if wanted.itemsize < self.dtype.itemsize:
            return self._whole.in_precision(wanted)
        assert self.points is not None
        return FeatureGram(Features.numbered(self.basis.features(self.points, dtype)))

    @cached_property
    def _features(self) -> Array:
        n, r = self.shape[0], len(self.basis)
        _memory.require(
            2 * n * r * self.dtype.itemsize,
            f"The features of {n:,} rows through {r:,} landmarks",
            "Use fewer landmarks, or float32 data.",
        )
        if self._known is not None:
            return np.ascontiguousarray(self._known.F, dtype=self.dtype)
        if self.points is not None:
            return self.basis.features(self.points)
        Z = np.empty((n, r))
        for part, block in self._pieces():
            Z[part] = block
        return Z

    @cached_property
    def _whole(self) -> FeatureGram:
        return FeatureGram(Features.numbered(self._features), count=self._values)

    def _pieces(self) -> Iterator[tuple[slice, Array]]:
        chunks = self.passes.chunks
        for number, chunk in chunks.ahead(range(len(chunks))):
            part = slice(int(chunks.starts[number]), int(chunks.starts[number + 1]))
            yield part, self.basis.features(chunk.encode(self.basis.kernel))

    # ---- what a machine publishes --------------------------------------------------------------

    @cached_property
    def kernel(self) -> NystromKernel:
        """The kernel z(x)·z(x′), of which this is the matrix."""
        return NystromKernel(self.basis.kernel, self.basis.points, self.basis.factor)

    @cached_property
    def residual(self) -> Array:
        """k(xᵢ, xᵢ) − ‖zᵢ‖², the diagonal of K − K̃."""
        if self._known is not None:
            return self._known.left
        assert self.points is not None
        return self.basis.residual(self.points, self._features)

    @property
    def residual_trace(self) -> float:
        """tr(K − K̃)."""
        return float(self.residual.sum())

    def condensed(self, coefficients: Array, rows: IntArray | None = None) -> Expansion:
        """Return Σ aᵢ k̃(xᵢ, ·) over some rows, or all, as a sum over the landmarks."""
        Z = self._features if rows is None else self._features[rows]
        c = self.basis.coefficients(Z.T @ coefficients)
        return Expansion(self.basis.kernel, self.basis.points, c)

    def require_room(self) -> None:
        """Refuse where the features of all rows are more than is taken for them."""
        n, r = self.shape[0], len(self.basis)
        needed = 32 * n * r
        if needed > _FEATURE_BYTES:
            raise NotEnoughMemory(
                f"The features of {n:,} rows and {r:,} landmarks need {readable(needed)} at once, "
                f"and at most {readable(_FEATURE_BYTES)} are taken. Take fewer landmarks, or "
                "choose alpha by GridSearchCV."
            )

    def declare(
        self,
        certificate: Certificate,
        coefficients: Array,
        other: float = 0.0,
        fixed_sums: bool = False,
    ) -> Certificate:
        """Say in a certificate which problem was solved, and what that may cost.

        ``coefficients`` are the signed multipliers β of all rows, one column for each function, of
        a dual problem as :func:`landmark_cost` has it; ``other`` is a further square in it, as βᵀΛβ
        for the noise Λ of a regression. ``fixed_sums`` says that constraints keep tβ out for t < 1.
        """
        B = coefficients.reshape(self.shape[0], -1)
        projected = self._features.T @ B
        seen = float(np.vdot(projected, projected))
        unseen = self._unseen_square(B, seen)
        cost = unseen / 2
        if not fixed_sums:
            cost = landmark_cost(certificate.dual, seen + other, unseen)
        return certificate.on_landmarks(len(self.basis), cost)

    def _unseen_square(self, B: Array, seen: float) -> float:
        """Bound Σ βᵀ(K − K̃)β over the columns β of B.

        Where βᵀKβ takes about as many values of k as the landmarks took it is computed. Else the
        diagonal of K − K̃ gives the bound.
        """
        assert self.points is not None
        bound = float(np.sum((np.sqrt(self.residual) @ np.abs(B)) ** 2))
        used = np.flatnonzero(B.any(axis=1))
        if not 0 < len(used) ** 2 <= _AFFORDABLE * self._features.size:
            return bound
        K = Gram(self.basis.kernel, self.points.take(used), dtype=np.float64)
        return min(bound, max(float(np.vdot(B[used], K @ B[used])) - seen, 0.0))


def approximate(
    kernel: Kernel,
    points: Points,
    approximation: int | Nystrom | None,
    owner: str,
    *,
    objects: bool = True,
    by_passes: bool = False,
) -> LandmarkGram | None:
    """Return K̃ as the parameter ``approximation`` of a machine asks for it; None for None.

    A machine publishes ``gram.kernel`` and ``gram.residual_trace``, solves on ``gram``, passes its
    certificate through ``gram.declare``, and predicts by ``gram.condensed(coefficients)``.

    Parameters
    ----------
    kernel, points
        Settled and encoded.
    approximation : None, int or Nystrom
    owner : str
        The name of the machine, for messages.
    objects : bool
        Whether there are objects to choose among, and not a matrix of their kernel values.
    by_passes : bool
        Whether the machine is solved by passes over the rows, of which most are in float32.
    """
    spec = Nystrom.of(approximation, owner)
    if spec is None:
        return None
    if not objects:
        raise InvalidParameter(
            f"{owner}: approximation={approximation!r} chooses landmarks among objects, and there "
            "is a matrix or a function in place of a kernel. Pass a kernel (FunctionKernel makes "
            "one of a function of two objects)."
        )
    return LandmarkGram.choose(kernel, points, spec, by_passes)


def landmark_cost(dual: Number, square: Number, unseen: Number) -> float:
    """Bound what it costs that K̃ = K_nM K_MM⁺ K_Mn stands for K, in one problem or in several.

    The dual problem is to maximise D(β) = c(β) − ½βᵀKβ over a set that holds tβ for 0 ≤ t ≤ 1,
    where c is concave and c(0) = 0. K − K̃ is positive semi-definite, so D ≤ D̃ everywhere, and for
    the answer β of the approximated problem

        0 ≤ max D̃ − max D ≤ gap + D̃(β) − max over t of D(tβ)  ≤  gap + ½ βᵀ(K − K̃)β.

    The cost is a bound on D̃(β) − max over t of D(tβ), by c(tβ) ≥ t c(β). It is at most D̃(β).

    Parameters
    ----------
    dual : float or array
        D̃(β).
    square : float or array
        βᵀK̃β. Where c has a square −½βᵀΛβ of its own, βᵀ(K̃ + Λ)β gives a better bound.
    unseen : float or array
        βᵀ(K − K̃)β, or more. K − K̃ is the Gram matrix of the parts eᵢ of φ(xᵢ) outside of the span
        of the landmarks, so that βᵀ(K − K̃)β = ‖Σ βᵢeᵢ‖² ≤ (Σ ∣βᵢ∣ √uᵢ)² ≤ ‖β‖² tr(K − K̃) with
        uᵢ = ‖eᵢ‖² = k(xᵢ, xᵢ) − ‖zᵢ‖², the diagonal of K − K̃.
    """
    linear = np.asarray(dual + square / 2)
    whole = np.asarray(square + unseen)
    rise = np.maximum(linear, 0.0)
    t = np.where(rise < whole, rise / np.where(rise < whole, whole, 1.0), 1.0)
    return float(np.maximum(0.0, dual - t * linear + t**2 * whole / 2).sum())
