"""Passes on this machine: kernel values with landmarks, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from threading import local
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer import _fast, _parallel
from mercer._typing import Array
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.chunks import Chunk, Chunks, join_chunks, thinned
from mercer.landmarks.passes import AffineTerms, PassSums, PiecewisePasses, Rule, Weighting

_BANDS = 16
"""Tasks of a piece; their sums are added in order, whatever thread was first."""
_TILE = 1 << 20
"""Numbers in a block of kernel values: near enough to a core to be used twice, and large enough
that threads seldom wait for the interpreter."""
_LEAST_TILE = 32
"""Rows of a block at least: products of fewer are bound by the calls."""
_FEW = 8
"""Columns for which BLAS has little to offer."""
_SHORT = 64
"""Columns of data with which kernel values are computed faster than they are read."""
_STRIP = 256
"""Features that are computed at once where only their squares are wanted."""
_SQUARE_BYTES = 1 << 26
"""Bytes of the block of kernel values that is squared at once."""
_WHOLE_BYTES = 1 << 26
"""Bytes of kernel values in float64 up to which a precise square keeps them for later passes."""


class BlockPasses(PiecewisePasses):
    """Passes on this machine, one piece of the data after the other.

    Parameters
    ----------
    kernel : Kernel
        A settled kernel.
    landmarks : Points
        Encoded by the kernel.
    chunks : Chunks
        The data.
    constant : bool
        Whether the last column of Φ is 1.
    threads : int, optional
        All cores by default.
    hold : int
        Bytes for kernel values that are kept from the first pass on, in float32: of all pieces, or
        of as many as fit. Few values in float64 that were squared are kept too.
    """

    def __init__(
        self,
        kernel: Kernel,
        landmarks: Points,
        chunks: Chunks,
        constant: bool = False,
        threads: int | None = None,
        hold: int = 0,
    ) -> None:
        self.kernel, self.landmarks, self.chunks = kernel, landmarks, chunks
        self.rows, self.constant = chunks.rows, constant
        self.columns = len(landmarks) + constant
        self.threads = _parallel.thread_count(threads)
        self._local = local()
        self._hold = hold
        self._held: dict[int, tuple[Chunk, Array]] = {}
        self._whole: tuple[Chunk, Evaluator, Array] | None = None

    def pieces(
        self, V: Array, rule: Rule, precise: bool, whitener: Array | None, done: int = 0
    ) -> Iterator[tuple[int, PassSums]]:
        if precise and self._whole is not None and not done:
            with _parallel.one_blas_thread():
                whole = self._block_sums(*self._whole, V, rule, whitener, known=True)
            yield 1, whole
            return
        held = {} if precise else self._held
        numbers = range(done, len(self.chunks))

        def prepare(chunk: Chunk) -> tuple[Chunk, Evaluator]:
            return chunk, self._evaluator(chunk, precise)

        coming = self.chunks.ahead([n for n in numbers if n not in held], prepare)
        for number in numbers:
            # For each piece anew: who asks for pieces may take his time, or not come back.
            with _parallel.one_blas_thread():
                if number in held:
                    chunk, values = held[number]
                    part = self._block_sums(chunk, None, values, V, rule)
                else:
                    _, (chunk, evaluator) = next(coming)
                    part, kept = self._computed_sums(chunk, evaluator, V, rule, whitener)
                    if kept is not None:
                        held[number] = chunk, kept
            yield number + 1, part

    def _computed_sums(
        self, chunk: Chunk, evaluator: Evaluator, V: Array, rule: Rule, whitener: Array | None
    ) -> tuple[PassSums, Array | None]:
        """Return sums over a piece whose kernel values are to be computed, and these if kept."""
        self.evaluations += len(chunk) * len(self.landmarks)
        affine = rule.affine(chunk, V.shape[1]) if V.shape[1] <= _FEW else None
        exponents = None if affine is None else evaluator.exponents()
        kept = None
        # A few columns are multiplied faster than kernel values are read.
        if exponents is None or exponents[0].shape[1] > _SHORT:
            kept = self._room(chunk) if evaluator.pairs.dtype == np.float32 else None
        if affine is None or exponents is None or kept is not None:
            return self._block_sums(chunk, evaluator, kept, V, rule, whitener), kept
        U, sums = self._affine_sums(*exponents, V, affine)
        terms = rule(U, chunk)
        if self.constant:
            sums = np.vstack([sums, terms.R.sum(axis=0)])
        unseen = None
        if whitener is not None:
            unseen = self._unseen(evaluator, terms.R, whitener)
        return PassSums(sums, terms.totals, unseen), None

    def _block_sums(
        self,
        chunk: Chunk,
        evaluator: Evaluator | None,
        kept: Array | None,
        V: Array,
        rule: Rule,
        whitener: Array | None = None,
        known: bool = False,
    ) -> PassSums:
        """Return sums; kernel values are computed and written to ``kept``, or taken from there.

        They are ``known`` where they stand there already, as they do without an evaluator.
        """
        dtype = np.dtype(np.float32) if evaluator is None else evaluator.pairs.dtype
        diagonal = None
        if whitener is not None:
            assert evaluator is not None
            diagonal = evaluator.diagonal()
            self.evaluations += len(chunk)
        W = V[: len(self.landmarks)].astype(dtype)
        height = max(_LEAST_TILE, _TILE // len(self.landmarks))
        bands = _cut(0, len(chunk), max(height, -(-len(chunk) // _BANDS)))
        parts: dict[int, PassSums] = {}

        def task(number: int) -> None:
            buffer = self._buffer(height, dtype) if kept is None else kept
            sums_of_tiles = []
            for tile in _cut(bands[number].start, bands[number].stop, height):
                place = buffer[tile] if kept is not None else buffer[: tile.stop - tile.start]
                block = place
                if evaluator is not None and not known:
                    block = evaluator.values(tile, slice(0, len(self.landmarks)), place)
                if kept is not None and block is not place:
                    kept[tile] = block
                U = (block @ W).astype(np.float64)
                if self.constant:
                    U += V[-1]
                terms = rule(U, chunk.take(tile))
                sums = np.empty((self.columns, terms.R.shape[1]))
                sums[: block.shape[1]] = block.T @ terms.R.astype(dtype)
                if self.constant:
                    sums[-1] = terms.R.sum(axis=0)
                unseen = None
                if whitener is not None and diagonal is not None:
                    left = _unseen(diagonal[tile], block, whitener)
                    unseen = np.sqrt(left) @ np.abs(terms.R)
                sums_of_tiles.append(PassSums(sums, terms.totals, unseen))
            parts[number] = reduce(add, sums_of_tiles)

        _parallel.run(task, range(len(bands)), self.threads)
        return reduce(add, (parts[number] for number in range(len(bands))))

    def _affine_sums(
        self, A: Array, B: Array, V: Array, affine: AffineTerms
    ) -> tuple[Array, Array]:
        """Return ΦV and ΦᵀR for kernel values exp(AB), none of which leaves its core."""
        M = len(self.landmarks)
        W = np.ascontiguousarray(V[:M].T, dtype=A.dtype)
        constants = V[-1] if self.constant else np.zeros(V.shape[1])
        bands = _cut(0, len(A), -(-len(A) // _BANDS))
        sums = np.zeros((len(bands), affine.offsets.shape[1], M))
        U = np.empty((len(A), V.shape[1]))

        def task(number: int) -> None:
            band = bands[number]
            _fast.exponentials.affine(
                A[band],
                B,
                W,
                constants,
                affine.offsets[band],
                affine.factors[band],
                U[band],
                sums[number],
            )

        _parallel.run(task, range(len(bands)), self.threads)
        return U, sums.sum(axis=0).T

    def _unseen(self, evaluator: Evaluator, R: Array, whitener: Array) -> Array:
        """Return Σᵢ ∣Rᵢ∣√uᵢ over a piece."""
        diagonal = evaluator.diagonal()
        # Values with the first landmarks, computed once more here, count once.
        self.evaluations += len(R)
        tiles = _cut(0, len(R), max(_LEAST_TILE, _TILE // len(whitener)))
        parts = np.empty((len(tiles), R.shape[1]))

        def task(number: int) -> None:
            tile = tiles[number]
            block = evaluator.values(tile, slice(0, len(whitener)))
            parts[number] = np.sqrt(_unseen(diagonal[tile], block, whitener)) @ np.abs(R[tile])

        _parallel.run(task, range(len(tiles)), self.threads)
        return np.asarray(parts.sum(axis=0))

    def square(
        self, V: Array, weighting: Weighting, R: Array, share: float = 1.0, precise: bool = False
    ) -> Array:
        if precise and share == 1.0 and self._compute_whole() is not None:
            assert self._whole is not None
            chunk, _, values = self._whole
            return self._add_squares(chunk, V, weighting, R, values.copy(), None)
        some: list[Chunk] = []
        squares: Array | None = None
        chosen = waiting = 0
        for number, chunk in self.chunks.ahead(range(len(self.chunks))):
            chunk = thinned(chunk, int(self.chunks.starts[number]), share)
            some.append(chunk)
            chosen, waiting = chosen + len(chunk), waiting + len(chunk)
            if waiting >= self._square_rows or number == len(self.chunks) - 1:
                squares = self.square_rows(join_chunks(some), V, weighting, R, precise, squares)
                some.clear()
                waiting = 0
        assert squares is not None
        squares *= self.rows / chosen
        return squares

    def square_rows(
        self,
        chunk: Chunk,
        V: Array,
        weighting: Weighting,
        R: Array,
        precise: bool,
        squares: Array | None = None,
    ) -> Array:
        """Return ΨᵀDΨ over the rows of one piece, added to ``squares`` where these are given."""
        for tile in _cut(0, len(chunk), self._square_rows):
            part = chunk.take(tile)
            evaluator = self._evaluator(part, precise)
            block = self._values_of(evaluator)
            squares = self._add_squares(part, V, weighting, R, block, squares)
        assert squares is not None
        return squares

    @property
    def _square_rows(self) -> int:
        """How many rows are squared at once."""
        return max(_LEAST_TILE, _SQUARE_BYTES // (4 * self.columns))

    def _add_squares(
        self,
        chunk: Chunk,
        V: Array,
        weighting: Weighting,
        R: Array,
        block: Array,
        squares: Array | None,
    ) -> Array:
        """Add ΨᵀDΨ over the rows of one piece, in the precision of its values, which are lost."""
        M, dtype = len(self.landmarks), block.dtype
        # Along its columns, which is how BLAS counts, the block is its transpose. One BLAS does it
        # all: threads of another one would spin meanwhile.
        gemm, gemv, trsm, syrk = get_blas_funcs(("gemm", "gemv", "trsm", "syrk"), (block,))
        U = gemm(1.0, block.T, V[:M].astype(dtype), trans_a=1).astype(np.float64)
        if self.constant:
            U += V[-1]
        roots = np.sqrt(weighting(U, chunk)).astype(dtype)
        if squares is None:
            squares = np.zeros((roots.shape[1], self.columns, self.columns))
        used = roots.any(axis=1)
        if not used.all():
            block, roots = block[used], roots[used]
        psi = trsm(1.0, R.astype(dtype), block.T, trans_a=1, overwrite_b=1)
        for square, root in zip(squares, roots.T, strict=True):
            own = np.flatnonzero(root)
            if not len(own):
                continue
            scaled = psi
            if len(own) < len(root):
                scaled, root = psi[:, own], root[own]
            if (root != 1).any():
                scaled = scaled * root
            whole = syrk(1.0, scaled, lower=1).T
            _fast.pairwise.mirror_upper(whole)
            square[:M, :M] += whole
            if self.constant:
                border = gemv(1.0, scaled, root)
                square[-1, :M] += border
                square[:M, -1] += border
                square[-1, -1] += float((root**2).sum())
        return squares

    def _compute_whole(self) -> Array | None:
        """Return all kernel values in float64, computed once, None where they are not kept."""
        size = 8 * self.rows * len(self.landmarks)
        if self._whole is None and len(self.chunks) == 1 and size <= min(_WHOLE_BYTES, self._hold):
            self._hold -= size
            chunk = self.chunks.read(0)
            evaluator = self._evaluator(chunk, precise=True)
            self._whole = chunk, evaluator, self._values_of(evaluator)
        return None if self._whole is None else self._whole[2]

    def _values_of(self, evaluator: Evaluator) -> Array:
        """Return the kernel values of a piece."""
        rows, columns = evaluator.pairs.shape
        self.evaluations += rows * columns
        block = np.empty((rows, columns), dtype=evaluator.pairs.dtype)
        evaluator.fill(block, slice(0, rows), slice(0, columns))
        return block

    def _evaluator(self, chunk: Chunk, precise: bool) -> Evaluator:
        points = chunk.encode(self.kernel)
        dtype = np.float64 if precise else np.float32
        pairs = Pairs(points, self.landmarks, dtype=dtype, as_products=not precise)
        evaluator = Evaluator(self.kernel, pairs, threads=self.threads)
        evaluator.values(slice(0, 1), slice(0, 1))  # prepares the sides, before threads ask
        return evaluator

    def _buffer(self, height: int, dtype: np.dtype[Any]) -> Array:
        """Return memory for a block, the same for all blocks of a thread."""
        kept: Array | None = getattr(self._local, "buffer", None)
        if kept is None or kept.dtype != dtype or len(kept) != height:
            kept = self._local.buffer = np.empty((height, len(self.landmarks)), dtype=dtype)
        return kept

    def _room(self, chunk: Chunk) -> Array | None:
        """Return memory for the kernel values of a piece, None where the budget is spent."""
        size = 4 * len(chunk) * len(self.landmarks)
        if size > self._hold:
            return None
        self._hold -= size
        return np.empty((len(chunk), len(self.landmarks)), dtype=np.float32)


def _unseen(diagonal: Array, block: Array, whitener: Array) -> Array:
    """Return k(x, x) − ‖z(x)‖² ≥ 0 of some rows, given their kernel values with landmarks."""
    left = diagonal.copy()
    for part in _cut(0, len(whitener), _STRIP):
        # Upper triangular: what is below these columns is 0.
        Z = block[:, : part.stop] @ whitener[: part.stop, part]
        left -= np.einsum("ij,ij->i", Z, Z)
    return np.maximum(left, 0.0)


def _cut(start: int, stop: int, size: int) -> list[slice]:
    return [slice(at, min(at + size, stop)) for at in range(start, stop, size)]
