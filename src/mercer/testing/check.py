"""A check-up of a kernel on data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import _plot
from mercer._typing import Array, Axes, IntArray, Objects
from mercer.exceptions import InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class KernelReport:
    """What ``check_kernel`` found; rows are numbered as in the data.

    Attributes
    ----------
    asymmetry, asymmetric_pair
        The largest ∣k(x, z) − k(z, x)∣ and where it is.
    smallest_eigenvalue, largest_eigenvalue
        Of the Gram matrix (its symmetric part).
    cauchy_schwarz, cauchy_schwarz_pair
        The largest k(x, z)²/(k(x, x) k(z, z)) of two different rows and where it is; above 1 the
        kernel is not positive semi-definite.
    merged_pairs
        Pairs of different objects that the kernel cannot tell apart: ‖φ(x) − φ(z)‖ = 0.
    split_pairs
        Pairs of equal objects that the kernel tells apart.
    kernel : Kernel
        The kernel, settled on the data.
    rows : array of int
        The rows that were looked at.
    tolerance : float
        What counts as rounding.
    total_rows : int
        The number of rows of the data.
    gram, eigenvalues : arrays
        The Gram matrix of these rows, and its eigenvalues.

    Examples
    --------
    >>> from mercer import RBF, check_kernel
    >>> report = check_kernel(RBF(gamma=1.0), [[0.0], [1.0], [2.0]])
    >>> bool(report), report.merged_pairs
    (True, [])
    """

    kernel: Kernel
    rows: IntArray
    asymmetry: float
    asymmetric_pair: Pair | None
    smallest_eigenvalue: float
    largest_eigenvalue: float
    cauchy_schwarz: float
    cauchy_schwarz_pair: Pair | None
    merged_pairs: list[Pair]
    split_pairs: list[Pair]
    tolerance: float
    total_rows: int
    gram: Array = field(repr=False)
    eigenvalues: Array = field(repr=False)

    @property
    def is_symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x), up to rounding."""
        return self.asymmetry <= self.tolerance

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is negative, up to rounding."""
        return self.smallest_eigenvalue >= -self.tolerance

    @property
    def obeys_cauchy_schwarz(self) -> bool:
        """Whether k(x, z)² ≤ k(x, x) k(z, z), up to rounding."""
        return self.cauchy_schwarz <= 1 + 1e-6

    @property
    def ok(self) -> bool:
        """Whether the data show nothing against this being a positive semi-definite kernel."""
        return self.is_symmetric and self.is_positive and self.obeys_cauchy_schwarz

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return "\n".join(
            [f"{self.kernel}: {self.kernel.definite.words}, by construction"]
            + [f"  {'✓' if good else '✗'} {text}" for good, text in self._findings()]
        )

    def plot(self, axes: Axes = None) -> Any:
        """Draw the Gram matrix and its spectrum; return the two axes."""
        left, right = _plot.axes(2, axes)
        image = left.imshow(self.gram, interpolation="nearest", cmap="viridis")
        left.figure.colorbar(image, ax=left, shrink=0.8)
        left.set(title="Gram matrix", xlabel="row", ylabel="row")
        if self.cauchy_schwarz_pair is not None and not self.obeys_cauchy_schwarz:
            positions = [int(np.flatnonzero(self.rows == r)[0]) for r in self.cauchy_schwarz_pair]
            _plot.ring(left, (positions[1], positions[0]))
        values = self.eigenvalues[::-1]
        negative = values < -self.tolerance
        at = np.arange(1, len(values) + 1)
        right.axhline(0, color=_plot.SOFT, lw=1)
        right.plot(at[~negative], values[~negative], ".", color=_plot.GOOD, label="≥ 0")
        if negative.any():
            right.plot(at[negative], values[negative], ".", color=_plot.BAD, label="negative")
            right.legend(frameon=False)
        threshold = max(self.tolerance, 1e-6 * float(np.abs(values).max()), 1e-12)
        right.set_yscale("symlog", linthresh=threshold)
        right.set(title="Eigenvalues", xlabel="number")
        return np.array([left, right])

    def _findings(self) -> list[tuple[bool, str]]:
        size = len(self.rows)
        seen = (
            f"{size:,} rows"
            if size == self.total_rows
            else (f"{size:,} of {self.total_rows:,} rows")
        )
        symmetry = (
            "symmetric"
            if self.is_symmetric
            else (
                f"not symmetric: k differs by {self.asymmetry:.3g}, "
                f"rows {_pair(self.asymmetric_pair)}"
            )
        )
        spectrum = (
            f"eigenvalues from {self.smallest_eigenvalue:.3g} to {self.largest_eigenvalue:.3g} "
            f"on {seen}"
        )
        found = [(self.is_symmetric, symmetry), (self.is_positive, spectrum)]
        if self.cauchy_schwarz_pair is not None:
            sign = "≤" if self.obeys_cauchy_schwarz else ">"
            found.append(
                (
                    self.obeys_cauchy_schwarz,
                    f"k(x,z)² {sign} k(x,x)k(z,z): up to {self.cauchy_schwarz:.6g} of it, rows "
                    f"{_pair(self.cauchy_schwarz_pair)}",
                )
            )
        found.append(
            (
                not self.merged_pairs,
                _duplicates(
                    self.merged_pairs,
                    "different rows are told apart",
                    "different rows look the same to the kernel",
                ),
            )
        )
        found.append(
            (
                not self.split_pairs,
                _duplicates(
                    self.split_pairs,
                    "equal rows are equal to the kernel",
                    "equal rows look different to the kernel",
                ),
            )
        )
        return found


def check_kernel(kernel: Kernel, X: Objects, max_rows: int = 1000) -> KernelReport:
    """Check on data whether a kernel is one: symmetry, eigenvalues, Cauchy–Schwarz, duplicates.

    Of more than ``max_rows`` rows an evenly spaced part is looked at. The report is true where
    nothing was found; it prints as a list and draws itself with ``plot()``.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : data
        Objects that it takes.
    max_rows : int
        The most rows that are looked at.

    Examples
    --------
    >>> from mercer import FunctionKernel, check_kernel
    >>> wrong = FunctionKernel(lambda x, z: -abs(x[0] - z[0]))
    >>> report = check_kernel(wrong, [[0.0], [1.0], [3.0]])
    >>> bool(report), bool(report.smallest_eigenvalue < 0)
    (False, True)
    """
    if max_rows < 1:
        raise InvalidParameter(f"check_kernel: max_rows={max_rows}; at least one row is needed.")
    points = kernel.encode(X)
    rows = np.unique(np.linspace(0, len(points) - 1, min(max_rows, len(points))).astype(np.intp))
    settled = kernel.resolve(points)
    sample = points.take(rows)
    # Another object with the same points: the matrix is computed whole, not mirrored.
    K = Evaluator(settled, Pairs(sample, sample.take(slice(0, len(rows))))).dense()
    K = K.astype(np.float64)
    diagonal = np.diagonal(K)
    scale = max(float(np.abs(K).max()), np.finfo(float).tiny)
    precision = float(np.finfo(points.dtype).eps)
    tolerance = 10 * precision * scale * len(rows)
    gaps = np.abs(K - K.T)
    eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)
    ratio, ratio_at = _worst_cauchy_schwarz(K / scale)
    merged, split = _duplicate_pairs(sample, K, diagonal, 100 * precision * scale)
    return KernelReport(
        kernel=settled,
        rows=rows,
        asymmetry=float(gaps.max()),
        asymmetric_pair=_rows_at(rows, int(gaps.argmax()), len(rows)) if gaps.any() else None,
        smallest_eigenvalue=float(eigenvalues[0]),
        largest_eigenvalue=float(eigenvalues[-1]),
        cauchy_schwarz=ratio,
        cauchy_schwarz_pair=None if ratio_at is None else _rows_at(rows, ratio_at, len(rows)),
        merged_pairs=[(int(rows[i]), int(rows[j])) for i, j in merged],
        split_pairs=[(int(rows[i]), int(rows[j])) for i, j in split],
        tolerance=tolerance,
        total_rows=len(points),
        gram=K,
        eigenvalues=eigenvalues,
    )


def _worst_cauchy_schwarz(K: Array) -> tuple[float, int | None]:
    if len(K) < 2:
        return 0.0, None
    diagonal = np.diagonal(K)
    bound = diagonal[:, None] * diagonal
    square = K**2
    ratio = np.divide(square, bound, out=np.full_like(K, np.inf), where=bound > 0)
    ratio[(bound <= 0) & (square == 0)] = 0
    np.fill_diagonal(ratio, -np.inf)
    at = int(ratio.argmax())
    return float(ratio.flat[at]), at


def _duplicate_pairs(
    points: Points, K: Array, diagonal: Array, tolerance: float
) -> tuple[list[Pair], list[Pair]]:
    squared = diagonal[:, None] + diagonal - 2 * K
    groups = _equal_objects(points)
    equal = groups[:, None] == groups
    above = np.triu(np.ones_like(equal), 1).astype(bool)
    merged = np.argwhere(above & ~equal & (np.abs(squared) <= tolerance))
    split = np.argwhere(above & equal & (squared > tolerance))
    return [(i, j) for i, j in merged.tolist()], [(i, j) for i, j in split.tolist()]


def _equal_objects(points: Points) -> Any:
    """Number the objects so that equal ones have equal numbers."""
    seen: dict[Any, int] = {}
    keys = [
        tuple(encoder.identity(leaf, i) for encoder, leaf in points.leaves.items())
        for i in range(len(points))
    ]
    return np.array([seen.setdefault(key, len(seen)) for key in keys])


def _rows_at(rows: IntArray, flat: int, width: int) -> Pair:
    i, j = divmod(flat, width)
    return int(rows[i]), int(rows[j])


def _pair(pair: Pair | None) -> str:
    return "none" if pair is None else f"{pair[0]} and {pair[1]}"


def _duplicates(pairs: list[Pair], good: str, bad: str) -> str:
    if not pairs:
        return good
    more = f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else ""
    return f"{bad}: {_pair(pairs[0])}{more}"


def definiteness_is_honest(kernel: Kernel, X: Objects) -> bool:
    """Tell whether what a kernel claims of its definiteness holds on data."""
    report = check_kernel(kernel, X)
    if kernel.definite is Definite.POSITIVE:
        return report.is_positive
    if kernel.definite is Definite.CONDITIONAL:
        K = report.gram - report.gram.mean(axis=0) - report.gram.mean(axis=1)[:, None]
        return float(np.linalg.eigvalsh(K + report.gram.mean())[0]) >= -report.tolerance
    return True
