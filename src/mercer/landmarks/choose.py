"""Landmarks: a few points through which a kernel matrix on many is seen."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import cast

import numpy as np

from mercer._deprecated import renamed
from mercer._parallel import openmp_after_fork
from mercer._typing import Array, IntArray, Objects
from mercer.exceptions import InvalidInput, InvalidParameter, NotPositiveDefinite
from mercer.gram.computed import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points, Vectors
from mercer.linalg.pivoted import PivotedFactor, pivoted_cholesky

BUDGET = 1 << 29
"""Bytes that the choice of landmarks may take, unless a caller says otherwise."""
_BLOCK_BYTES = 1 << 25
"""Bytes of a block of kernel values between rows and a sample."""
_ROWS_A_CENTRE = 64
"""Rows for each centre of a cluster: more hardly move it."""
_LLOYD_STEPS = 30
"""Steps of k-means: landmarks need no converged clusters."""


@renamed(seed="random_state")
@dataclass(frozen=True)
class Nystrom:
    """How many landmarks stand for all rows, and how they are chosen: ``approximation=``.

    K ≈ K_nM K_MM⁺ K_Mn, with n rows and M landmarks. An integer in place of this means
    ``Nystrom(count)``.

    Parameters
    ----------
    count : int
        The number M of landmarks, at most that of the rows. Fewer are taken where fewer give the
        whole matrix.
    method : {"pivoted", "uniform", "kmeans", "leverage"}
        ``"pivoted"`` draws each landmark in proportion to what the ones before leave of the
        diagonal (randomly pivoted Cholesky), ``"uniform"`` draws rows blindly, ``"leverage"`` by
        approximate ridge leverage scores, and ``"kmeans"`` takes centres of clusters, which are
        new points and need rows of numbers.
    random_state : int or None
        Of the random choice; ``None`` is a new one each time.

    References
    ----------
    Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 2000.
    Zhang, Tsang and Kwok, Improved Nyström low-rank approximation, ICML 2008 (k-means).
    Musco and Musco, Recursive sampling for the Nyström method, NIPS 2017 (leverage scores).
    Epperly, Tropp and Webber, Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky, 2024.

    Examples
    --------
    >>> from mercer import RBF, KernelRidge, Nystrom, load_data
    >>> data = load_data("diabetes")
    >>> machine = KernelRidge(kernel=RBF(), approximation=Nystrom(50), fit_intercept=True)
    >>> machine = machine.fit(data.X, data.y)
    >>> machine.dual_coef_.shape  # of 442 rows
    (50,)
    """

    count: int
    method: str = "pivoted"
    random_state: int | None = 0

    def __post_init__(self) -> None:
        if not _is_whole(self.count) or self.count < 1:
            raise InvalidParameter(
                f"Nystrom: count={self.count!r} has to be a whole number of landmarks, 1 or more."
            )
        if self.method not in METHODS:
            known = ", ".join(repr(name) for name in METHODS)
            raise InvalidParameter(f"Nystrom: method={self.method!r} has to be one of {known}.")
        chosen = self.random_state
        if chosen is not None and (not _is_whole(chosen) or chosen < 0):
            raise InvalidParameter(
                f"Nystrom: random_state={chosen!r} has to be a whole number, 0 or more, or None."
            )

    @classmethod
    def of(cls, approximation: int | Nystrom | None, owner: str) -> Nystrom | None:
        """Read the parameter ``approximation`` of a machine: None, a number, or a Nystrom."""
        if approximation is None or isinstance(approximation, Nystrom):
            return approximation
        if not _is_whole(approximation) or approximation < 1:
            raise InvalidParameter(
                f"{owner}: approximation={approximation!r} has to be None, a number of landmarks "
                "(1 or more), or Nystrom(count, method)."
            )
        return cls(int(approximation))


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The points that were chosen.

    Attributes
    ----------
    points : Points
    index : array or None
        Which rows of the data they are; None for centres of clusters.
    residual_trace : float or None
        tr(K − K_nM K_MM⁺ K_Mn), where the choice computed it; else ask
        ``LandmarkBasis(kernel, landmarks.points).residual_trace(points)``.
    candidates : int
        Among how many rows they were chosen: fewer than all where memory was short.
    spec : Nystrom
    factor : PivotedFactor or None
        The features of all rows and what is left of each of them, where the choice computed them.
    """

    points: Points
    index: IntArray | None
    residual_trace: float | None
    candidates: int
    spec: Nystrom
    factor: PivotedFactor | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.points)


def choose_landmarks(
    kernel: Kernel, points: Points | Objects, spec: Nystrom | int, budget: int = BUDGET
) -> Landmarks:
    """Choose landmarks for a kernel among points of any kind.

    Parameters
    ----------
    kernel : Kernel
        Positive definite; parameters such as ``"scale"`` are settled on all points.
    points : Points or data
    spec : Nystrom or int
    budget : int
        Bytes of memory. Where ``"pivoted"`` needs more for all rows (8·n·count), it chooses among
        as many rows as fit, drawn blindly.
    """
    chosen = Nystrom.of(spec, "choose_landmarks")
    if chosen is None:
        raise InvalidParameter("choose_landmarks: spec=None says of no number of landmarks.")
    encoded = kernel.encode(points)
    settled = kernel.resolve(encoded)
    require_rows(chosen, len(encoded))
    require_definite(settled)
    random = np.random.default_rng(chosen.random_state)
    return METHODS[chosen.method](settled, encoded, chosen, random, budget)


def require_rows(spec: Nystrom, rows: int) -> None:
    """Refuse more landmarks than there are rows."""
    if spec.count > rows:
        raise InvalidParameter(
            f"{spec.count:,} landmarks were asked for, and there are {rows:,} rows. Ask for as "
            "many as there are rows at most, or leave the approximation out."
        )


def require_definite(kernel: Kernel) -> None:
    """Refuse kernels that are known not to be positive definite."""
    if kernel.definite in (Definite.INDEFINITE, Definite.CONDITIONAL):
        raise NotPositiveDefinite(
            f"Landmarks need a positive definite kernel; {kernel} is not one in general. Take "
            "another kernel, or the machine without an approximation."
        )


def _uniform(
    kernel: Kernel, points: Points, spec: Nystrom, random: np.random.Generator, budget: int
) -> Landmarks:
    del kernel, budget
    index = uniform_rows(len(points), spec.count, random)
    return Landmarks(points.take(index), index, None, len(points), spec)


def uniform_rows(n: int, count: int, random: np.random.Generator) -> IntArray:
    """Return the rows that ``"uniform"`` draws, in rising order."""
    return np.sort(random.permutation(n)[:count]).astype(np.intp)


def _pivoted(
    kernel: Kernel, points: Points, spec: Nystrom, random: np.random.Generator, budget: int
) -> Landmarks:
    n = len(points)
    rows = pivoted_candidates(n, spec.count, budget)
    among = None if rows == n else np.sort(random.choice(n, rows, replace=False)).astype(np.intp)
    part = points if among is None else points.take(among)
    factor = pivoted_cholesky(Gram(kernel, part, dtype=np.float64), spec.count, random)
    index = factor.pivots if among is None else among[factor.pivots]
    trace = float(factor.left.sum()) if among is None else None
    known = factor if among is None and len(index) else None
    if not len(index):
        # A matrix of zeros: any row will do.
        index = np.zeros(1, dtype=np.intp)
    return Landmarks(points.take(index), index, trace, rows, spec, known)


def pivoted_candidates(n: int, count: int, budget: int) -> int:
    """Return among how many rows ``"pivoted"`` chooses."""
    return min(n, max(count, budget // (8 * count)))


def _kmeans(
    kernel: Kernel, points: Points, spec: Nystrom, random: np.random.Generator, budget: int
) -> Landmarks:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    n = len(points)
    if not all(hasattr(leaf, "dense") for leaf in points.leaves.values()):
        raise InvalidInput(
            f"Nystrom(method='kmeans') needs rows of numbers, and {kernel} looks at other things: "
            "they have no means. Use method='pivoted', which takes all data."
        )
    width = sum(cast(Vectors, leaf).dimension for leaf in points.leaves.values())
    rows = kmeans_candidates(n, spec.count, width, budget)
    among = np.sort(random.choice(n, rows, replace=False)) if rows < n else slice(0, n)
    leaves = {encoder: cast(Vectors, leaf.take(among)) for encoder, leaf in points.leaves.items()}
    table = np.hstack([leaf.dense() for leaf in leaves.values()])
    clusters = KMeans(
        spec.count,
        init="k-means++" if spec.count <= 200 else "random",
        n_init=1,
        max_iter=_LLOYD_STEPS,
        random_state=int(random.integers(2**31)),
    )
    with warnings.catch_warnings(), openmp_after_fork():
        # Fewer distinct rows than clusters: equal centres are dropped below.
        warnings.simplefilter("ignore", ConvergenceWarning)
        centres = np.unique(clusters.fit(table).cluster_centers_, axis=0)
    ends = np.cumsum([leaf.dimension for leaf in leaves.values()])[:-1]
    parts = zip(leaves.items(), np.split(centres, ends, axis=1), strict=True)
    made = {
        encoder: Vectors(np.ascontiguousarray(part, dtype=leaf.dtype), leaf.names)
        for (encoder, leaf), part in parts
    }
    return Landmarks(Points.of(made, len(centres), points.dtype), None, None, rows, spec)


def kmeans_candidates(n: int, count: int, width: int, budget: int) -> int:
    """Return how many rows ``"kmeans"`` puts into clusters."""
    return min(n, max(count, min(_ROWS_A_CENTRE * count, budget // (16 * width))))


def _leverage(
    kernel: Kernel, points: Points, spec: Nystrom, random: np.random.Generator, budget: int
) -> Landmarks:
    """Sample by ridge leverage scores, which a sample of half of the rows estimates for all."""
    n, count = len(points), spec.count
    order = random.permutation(n).astype(np.intp)
    sizes = [n]
    while sizes[-1] > 2 * count:
        sizes.append(-(-sizes[-1] // 2))
    oversampling = max(1.0, math.log(count))
    kept = max(1, math.ceil(count / (4 * oversampling)))
    sample = order[random.choice(sizes[-1], min(count, sizes[-1]), replace=False)]
    weights = np.ones(len(sample))
    diagonal = Gram(kernel, points, dtype=np.float64).diag()
    for size in reversed(sizes[1:]):
        scores = _scores(kernel, points, order[:size], diagonal, sample, weights, kept, budget)
        chances = np.minimum(1.0, oversampling * scores)
        drawn = random.random(size) < chances
        if drawn.any():
            sample, weights = order[:size][drawn], 1 / np.sqrt(chances[drawn])
    scores = _scores(kernel, points, order, diagonal, sample, weights, kept, budget)
    # Rows without any leverage are still rows: they come last.
    scores = np.maximum(scores, 1e-12 * max(float(scores.max(initial=0.0)), 1e-300))
    at = random.choice(n, count, replace=False, p=scores / scores.sum())
    index = np.sort(order[at])
    return Landmarks(points.take(index), index, None, n, spec)


def _scores(
    kernel: Kernel,
    points: Points,
    rows: IntArray,
    diagonal: Array,
    sample: IntArray,
    weights: Array,
    kept: int,
    budget: int,
) -> Array:
    """Return (kᵢᵢ − k_iS (K_SS + λW⁻²)⁻¹ k_Si)/λ for some rows i, at most 1, block by block.

    λ is what the ``kept`` first eigenvalues leave of the weighted trace, spread over them.
    """
    S = points.take(sample)
    K = Evaluator(kernel, Pairs(S, None, None, np.float64)).dense()
    weighted = weights[:, None] * K * weights
    values = np.linalg.eigvalsh(weighted)
    tail = float(np.maximum(values[: max(0, len(values) - kept)], 0.0).sum())
    rounding = len(values) * max(float(values[-1]), 1e-300) * float(np.finfo(np.float64).eps)
    ridge = max(tail / kept, rounding)
    K[np.diag_indices_from(K)] += ridge / weights**2
    inverse = np.linalg.inv(K)
    scores = np.empty(len(rows))
    step = max(16, min(budget, _BLOCK_BYTES) // (16 * len(sample)))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        block = Evaluator(kernel, Pairs(points.take(part), S, None, np.float64)).dense()
        explained = np.einsum("ij,ij->i", block @ inverse, block)
        scores[start : start + step] = (diagonal[part] - explained) / ridge
    return np.clip(scores, 0.0, 1.0)


METHODS = {
    "pivoted": _pivoted,
    "uniform": _uniform,
    "kmeans": _kmeans,
    "leverage": _leverage,
}


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
