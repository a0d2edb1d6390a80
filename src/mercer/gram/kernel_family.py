"""The matrices of a kernel on fixed points, as a function of the kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from mercer import _fast, _memory, _parallel
from mercer._typing import Array, IntArray
from mercer.gram.computed import Gram
from mercer.gram.radial_sum import RadialSum, TermValues
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Block, Diagonal, Evaluator, Pairs, Values
from mercer.kernels.points import Points
from mercer.kernels.statistics import Statistic

Weights = Callable[[slice, slice], Array]
"""Gives tiles of a symmetric matrix on and below its diagonal, above which nothing counts."""
SMALL = 512
"""Rows up to which a matrix is one block, and statistics are kept: 2 MB each, an L2 cache."""
_TILE = 256
"""Rows and columns of a tile: a derivative and its weights stay in an L2 cache."""


class KernelFamily:
    """The matrices K(θ) of a kernel on fixed points, with the logarithms θ of some parameters.

    Parameters
    ----------
    kernel : Kernel
    points : Points
    names : sequence of str
        Names of free parameters, in the order of θ.
    scales : array, optional
        The logarithms of the parameters are ``scales`` · θ; 1 by default.
    """

    def __init__(
        self, kernel: Kernel, points: Points, names: Sequence[str], scales: Array | None = None
    ) -> None:
        self.kernel, self.points, self.names = kernel, points, list(names)
        self.scales: Array = np.ones(len(self.names)) if scales is None else scales
        self.threads = _parallel.thread_count()
        n = len(points)
        _memory.require(
            3 * 8 * n**2,
            f"A Gaussian process of {n:,} rows",
            "Use fewer rows, or KernelRidge, which can do without the matrix.",
        )
        self._pairs = Pairs(points, None, None, np.float64)
        self._values = AllPairs(self._pairs) if n <= SMALL else None
        self._last: tuple[bytes, Kernel] | None = None
        self._sum = RadialSum.of(kernel, points, self.names)
        self._last_parts: tuple[bytes, list[TermValues]] | None = None

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: IntArray) -> KernelFamily:
        """Return the same family on some of the points."""
        return KernelFamily(self.kernel, self.points.take(rows), self.names, self.scales)

    def at(self, theta: Array) -> Kernel:
        """Return the kernel of θ."""
        if not self.names:
            return self.kernel
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self.kernel.with_parameters(self._parameters(theta))
            if self._values is not None:
                self._values.forget_unused()
            else:
                self._pairs = Pairs(self.points, None, None, np.float64)
        return self._last[1]

    def matrix(self, theta: Array) -> Array:
        """Return K(θ) in float64, in memory of its own."""
        if self._sum is not None:
            K = self._matrix_of_sum(self._sum, theta)
            if np.isfinite(np.add.reduce(K, axis=None)):
                return K
        kernel = self.at(theta)
        if self._values is not None:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
                K = kernel.evaluate(self._values)
            if np.isfinite(np.add.reduce(K, axis=None)):
                _fast.pairwise.mirror_upper(K)
                return K
        return Evaluator(kernel, self._pairs, threads=self.threads).dense()

    def _parameters(self, theta: Array) -> dict[str, float]:
        return dict(zip(self.names, np.exp(self.scales * theta).tolist(), strict=True))

    def _matrix_of_sum(self, of: RadialSum, theta: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            K, parts = of.matrix(self._parameters(theta))
        self._last_parts = theta.tobytes(), parts
        return K

    def gram(self, theta: Array) -> Gram:
        """Return K(θ) as a matrix that is computed anew, apart from all that is kept here."""
        return Gram(self.at(theta), self.points, dtype=np.float64)

    def contract(
        self, theta: Array, weights: Weights, V: Array | None = None
    ) -> tuple[Array, Array]:
        """Return Σᵢⱼ Mᵢⱼ ∂Kᵢⱼ/∂θ and the products ∂K/∂θ V for every parameter.

        ``weights(i, j)`` gives tiles of a symmetric M on and below its diagonal, above which
        nothing counts. Everything is added up in an order that does not depend on the number of
        threads.
        """
        n = len(self)
        V = np.zeros((n, 0)) if V is None else V
        everything = slice(0, n)
        if self._sum is not None:
            if self._last_parts is None or self._last_parts[0] != theta.tobytes():
                self._matrix_of_sum(self._sum, theta)
            assert self._last_parts is not None
            # NumPy and SciPy have a BLAS each: threads of the one that factorises still spin.
            with (
                _parallel.one_blas_thread(),
                np.errstate(over="ignore", invalid="ignore", under="ignore"),
            ):
                M = weights(everything, everything)
                sums, products = self._sum.contract(self._last_parts[1], M, V)
        elif self._values is not None:
            with _parallel.one_blas_thread():
                M = _whole(weights(everything, everything))
                sums, products = self._contract_whole(self.at(theta), M, V)
        else:
            sums, products = self._contract_tiles(self.at(theta), weights, V)
        return self.scales * sums, self.scales[:, None, None] * products

    def _contract_tiles(self, kernel: Kernel, weights: Weights, V: Array) -> tuple[Array, Array]:
        n = len(self)
        cuts = [slice(s, min(s + _TILE, n)) for s in range(0, n, _TILE)]
        tiles = [(i, j) for at, i in enumerate(cuts) for j in cuts[: at + 1]]
        for statistic in set(kernel.statistics()):
            self._pairs.sides(statistic)
        found: dict[int, list[tuple[int, float, Array, Array]]] = {}

        def task(at: int) -> None:
            i, j = tiles[at]
            _parallel.check_stopped()
            M = weights(i, j) if i != j else _whole(weights(i, j))
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                found[at] = [
                    (self.names.index(name), float(np.vdot(M, slope)), slope @ V[j], slope.T @ V[i])
                    for name, slope in kernel.slopes(Block(self._pairs, i, j, {}), self.names)
                ]

        _parallel.run(task, range(len(tiles)), self.threads)
        sums = np.zeros(len(self.names))
        products = np.zeros((len(self.names), n, V.shape[1]))
        for at, (i, j) in enumerate(tiles):
            for name, total, below, above in found[at]:
                sums[name] += total if i == j else 2 * total
                products[name, i] += below
                if i != j:
                    products[name, j] += above
        return sums, products

    def _contract_whole(self, kernel: Kernel, M: Array, V: Array) -> tuple[Array, Array]:
        sums = np.zeros(len(self.names))
        products = np.zeros((len(self.names), *V.shape))
        assert self._values is not None
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for name, slope in kernel.slopes(self._values, self.names):
                at = self.names.index(name)
                sums[at] = np.vdot(M, slope)
                np.matmul(slope, V, out=products[at])
        return sums, products


def _whole(below: Array) -> Array:
    """Return the symmetric matrix of which the lower triangle is given."""
    return np.tril(below) + np.tril(below, -1).T


class AllPairs(Values):
    """All pairs of a few points: each statistic is computed once and kept while it is used."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs, self.shape, self.dtype = pairs, pairs.shape, pairs.dtype
        self._known: dict[Statistic, Array] = {}
        self._used: set[Statistic] = set()

    def forget_unused(self) -> None:
        """Drop what nobody has asked for since the last call: statistics may depend on θ."""
        for statistic in self._known.keys() - self._used:
            del self._known[statistic]
        self._used.clear()

    def __getitem__(self, statistic: Statistic) -> Array:
        self._used.add(statistic)
        known = self._known.get(statistic)
        if known is None:
            # Pairs of their own: prepared sides may depend on θ too, and are not kept.
            a, b = Pairs(self._pairs.A, None, None, self.dtype).sides(statistic)
            known = self._known[statistic] = statistic.compute(a, b)
        return known

    def scaled(self, statistic: Statistic, factor: float) -> Array:
        return self[statistic] * factor

    @property
    def left(self) -> Values:
        return Diagonal(self._pairs, slice(0, self.shape[0]), 0, column=True)

    @property
    def right(self) -> Values:
        return Diagonal(self._pairs, slice(0, self.shape[1]), 1)
