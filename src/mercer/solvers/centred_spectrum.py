"""Three ways to the eigenvectors of a centred Gram matrix, and the forms in which it is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy import linalg

from mercer import _parallel
from mercer._typing import Array
from mercer.exceptions import NumericalOverflow
from mercer.gram.base import Definite, GramMatrix
from mercer.gram.centring import Centring
from mercer.gram.computed import Gram
from mercer.gram.held import HeldGram, holdable
from mercer.linalg.lanczos import (
    eigenpairs_by_vectors,
    leading_eigenpairs,
    orthonormal,
    randomised_range,
)
from mercer.solvers.base import Budget, Status

_TOLERANCE = 1e-9
"""Relative residual in float64: some digits above its rounding, which adds up over the rows."""
_SINGLE_TOLERANCE = 1e-6
"""The same in float32, whose own rounding is 6e-8."""
_LANES = 8
"""Columns of a block are a multiple of this: products with tiles run in lanes of so many."""
_SMALL = 2_048
"""Rows up to which K is read faster than wide blocks are made orthogonal: theirs are narrow."""
_ONE_THREAD = 300
"""Rows up to which a decomposition, a few ms, gains nothing by a second thread of BLAS."""
_FEWEST_ROWS, _FEW_COMPONENTS = 200, 0.12
"""Rows from which, and components as a share of them up to which, products with single vectors are
quicker than a whole decomposition; measured with 120 to 2,000 rows and 2 to 20 components."""
_ROUGH = 1e-2
"""Relative residual at which the end of a spectrum is known well enough to speak of it."""
_FEW_PRODUCTS = 100
"""Products after which a rough answer has to do."""


@dataclass(frozen=True, eq=False)
class CentredSpectrum:
    """Eigenpairs of the centred matrix in descending order, what centred it, and how they came."""

    values: Array
    vectors: Array
    residuals: Array
    centring: Centring
    choice: str
    status: Status = Status.OPTIMAL


def dense_spectrum(gram: GramMatrix, count: int) -> CentredSpectrum:
    """Decompose the whole matrix."""
    K, centring = _centred_matrix(gram)
    n = len(K)
    with _parallel.one_scipy_thread() if n <= _ONE_THREAD else nullcontext():
        values, vectors = linalg.eigh(K, subset_by_index=(n - count, n - 1))
    values, vectors = values[::-1], vectors[:, ::-1]
    residuals = np.linalg.norm(K @ vectors - vectors * values, axis=0)
    choice = f"All of the {n:,} × {n:,} matrix: it is small, or most of it is asked for."
    return CentredSpectrum(values, vectors, residuals, centring, choice)


def vector_spectrum(
    gram: GramMatrix, count: int, tol: float, random: np.random.RandomState, patient: bool
) -> CentredSpectrum | None:
    """Find leading eigenpairs of the whole matrix with products by one vector at a time.

    None where other ways are quicker, or where this one would miss some, since eigenvalues are
    there several times; and unless one is ``patient``, since nothing interrupts it.
    """
    n = gram.shape[0]
    middling = _FEWEST_ROWS <= n <= _SMALL and count <= _FEW_COMPONENTS * n
    if not middling or not patient or gram.definite < Definite.CONDITIONAL:
        return None
    if holdable(n, False) != np.float64:
        return None
    K = gram.dense(np.float64)
    centring = _means(K)
    with _parallel.one_blas_thread():
        pairs = eigenpairs_by_vectors(
            _centred_products(K, centring), n, count, tol=tol or _TOLERANCE, random=random
        )
    if pairs is None:
        return None
    choice = f"Lanczos for {count:,} of {n:,} components; all of K is held in float64."
    return CentredSpectrum(pairs.values, pairs.vectors, pairs.residuals, centring, choice)


def _centred_matrix(gram: GramMatrix) -> tuple[Array, Centring]:
    """Return the whole matrix without its means, and these."""
    K = gram.own_dense(np.float64)
    centring = _means(K)
    means = centring.column_means
    K -= means[:, None]
    K -= means - centring.total_mean
    return K, centring


def _means(K: Array) -> Centring:
    means = K.mean(axis=0)
    return Centring(means, float(means.mean()))


def _centred_products(K: Array, centring: Centring) -> Callable[[Array], Array]:
    """Return V ↦ (K − m1ᵀ − 1mᵀ + t)V; of one vector half of the symmetric K is read."""
    means, total = centring.column_means, centring.total_mean
    columns = K if K.flags.f_contiguous else np.ascontiguousarray(K).T
    symv = linalg.get_blas_funcs("symv", (columns,))

    def multiply(V: Array) -> Array:
        product = symv(1.0, columns, V) if V.ndim == 1 else columns @ V
        sums = V.sum(axis=0)
        centred: Array = product - np.multiply.outer(means, sums) - (means @ V - total * sums)
        return centred

    return multiply


def feature_spectrum(Z: Array, count: int) -> CentredSpectrum:
    """Return the eigenpairs of the centred ZZᵀ from those of the centred ZᵀZ."""
    mean = Z.mean(axis=0)
    centring = Centring(Z @ mean, float(mean @ mean))
    Z = Z - mean
    r = Z.shape[1]
    values, V = linalg.eigh(Z.T @ Z, subset_by_index=(r - count, r - 1))
    values, V = np.maximum(values[::-1], 0.0), V[:, ::-1]
    vectors = Z @ V
    lengths = np.linalg.norm(vectors, axis=0)
    vectors /= np.where(lengths > 0, lengths, 1.0)
    residuals = np.linalg.norm(Z @ (Z.T @ vectors) - vectors * values, axis=0)
    choice = f"All of the {r:,} × {r:,} covariance of the features through landmarks."
    return CentredSpectrum(values, vectors, residuals, centring, choice)


def lanczos_spectrum(
    gram: GramMatrix, count: int, budget: Budget, random: np.random.RandomState
) -> CentredSpectrum:
    """Find leading eigenpairs with products alone, in float64 where float32 is not good enough.

    ``budget.tol`` is a relative residual, 0 for the finest that is sensible; ``max_iter`` counts
    products.
    """
    fine = 0 < budget.tol < _SINGLE_TOLERANCE
    if not fine:
        try:
            found, doubtful = _lanczos(gram, count, budget, random, fine=False)
        except NumericalOverflow:
            # Float64 has more room. If that is not enough either, it says so again.
            fine = True
        else:
            fine = doubtful and holdable(gram.shape[0], fine=True) is not None
    return _lanczos(gram, count, budget, random, fine=True)[0] if fine else found


def _lanczos(
    gram: GramMatrix, count: int, budget: Budget, random: np.random.RandomState, fine: bool
) -> tuple[CentredSpectrum, bool]:
    """Return the eigenpairs, and whether float32 has spoilt them.

    A kernel that is nearly constant leaves hardly a digit of float32 to what varies.
    """
    n, tol = gram.shape[0], budget.tol
    with _held(gram, fine) as (held, rounding, how):
        single = held.dtype == np.float32
        goal = max(tol, _SINGLE_TOLERANCE) if single else tol or _TOLERANCE
        pairs = leading_eigenpairs(
            _centred(held),
            n,
            count,
            tol=goal / 2 if single else goal,
            floor=rounding,
            random=random,
            block=_LANES if n <= _SMALL else _LANES * -(-(2 * count + 4) // _LANES),
            max_products=budget.max_iter,
            deadline=budget.deadline,
        )
        late = Status.TIME_LIMIT if budget.seconds_left < 0 else Status.MAX_ITER
        status = Status.OPTIMAL if pairs.converged else late
        choice = f"Block Lanczos for {count:,} of {n:,} components; {how}."
        if not single:
            centring = Centring.fit(held)
            found = CentredSpectrum(
                pairs.values, pairs.vectors, pairs.residuals, centring, choice, status
            )
            return found, False
        found = replace(_rayleigh_ritz(gram, pairs.vectors, choice), status=status)
        far = found.residuals > goal * np.abs(found.values).max()
        return found, pairs.converged and bool(far.any()) and gram.dtype == np.float64


def randomised_spectrum(
    gram: GramMatrix, count: int, rounds: int, random: np.random.RandomState
) -> CentredSpectrum:
    """Find leading eigenpairs from products with a few random vectors."""
    n = gram.shape[0]
    with _held(gram) as (held, _, how):
        multiply = _centred(held)
        start = random.normal(size=(n, min(n, count + 10)))
        Q = randomised_range(multiply, multiply, start, (rounds + 1) // 2)
        values, Y = np.linalg.eigh(Q.T @ multiply(Q))
        best = np.argsort(-np.abs(values))[:count]
        choice = f"Randomised range finder for {count:,} of {n:,} components; {how}."
        return _rayleigh_ritz(gram, Q @ Y[:, best], choice)


def smallest_eigenvalue(gram: GramMatrix) -> float:
    """Return about the smallest eigenvalue of the centred matrix, from above: a Rayleigh quotient.

    A negative one shows that the matrix is not positive semi-definite.
    """
    with _held(gram, fine=True) as (held, rounding, _):
        centred = _centred(held)
        found = leading_eigenpairs(
            lambda V: -centred(V),
            gram.shape[0],
            1,
            tol=_ROUGH,
            floor=rounding,
            block=_LANES,
            max_products=_FEW_PRODUCTS,
        )
    return -float(found.values[0])


@contextmanager
def _held(gram: GramMatrix, fine: bool = False) -> Iterator[tuple[GramMatrix, float, str]]:
    """Give the matrix in the form in which many products are cheap, its rounding, and say which.

    Our threads multiply with tiles of K. Meanwhile those of BLAS are held: they would wait busily
    for their next work, on cores that ours need.
    """
    if gram.features() is not None:
        yield gram, 0.0, "K is a product of features and never formed"
        return
    with _parallel.one_blas_thread():
        dtype = holdable(gram.shape[0], fine)
        if dtype is None:
            yield gram, 0.0, "K is computed anew for each product, since it does not fit the memory"
        else:
            held = HeldGram(cast(Gram, gram), dtype)  # what has no features is computed
            yield held, held.rounding, f"half of K is held in {dtype}"


def _centred(gram: GramMatrix) -> Callable[[Array], Array]:
    """Return the product with HKH: the means of vectors are taken off before and after K."""

    def multiply(V: Array) -> Array:
        W = gram @ (V - V.mean(axis=0))
        return np.asarray(W - W.mean(axis=0))

    return multiply


def _rayleigh_ritz(gram: GramMatrix, vectors: Array, choice: str) -> CentredSpectrum:
    """Return the best eigenpairs of the centred matrix within the span of some vectors.

    One product in full precision: eigenvalues are then right to twice the digits of the vectors.
    The means come from the same product, so that the kernel is evaluated once.
    """
    n = len(vectors)
    V = orthonormal(vectors)
    product = gram @ np.column_stack([V, np.full(n, 1 / n)])
    W, means = product[:, :-1], product[:, -1]
    centring = Centring(means, float(means.mean()))
    sums = V.sum(axis=0)
    W = W - means[:, None] * sums - (means @ V - centring.total_mean * sums)
    T = V.T @ W
    values, Y = np.linalg.eigh((T + T.T) / 2)
    values, Y = values[::-1], Y[:, ::-1]
    V = V @ Y
    return CentredSpectrum(values, V, np.linalg.norm(W @ Y - V * values, axis=0), centring, choice)
