"""Kernels that are known to be positive definite, by their textbook formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.report.verifier.page import Array, NoProof

_NEAR = 1e-4
"""Squared distances below this share of the squared norms are computed again by differences."""

BLOCK = 1 << 21
"""Values of a Gram matrix that are computed in one go (16 MB)."""

Tree = Mapping[str, Any]


def squared_distances(a: Array, b: Array) -> Array:
    """Return ‖x − z‖² of all pairs, exact to the last digits for near ones too."""
    left, right = (a * a).sum(axis=1)[:, None], (b * b).sum(axis=1)
    s = left + right - 2 * (a @ b.T)
    rows, columns = np.nonzero(s < _NEAR * (left + right))
    s[rows, columns] = ((a[rows] - b[columns]) ** 2).sum(axis=1)
    return np.asarray(s)


class Sample:
    """Rows as a kernel sees them; moved to their mean where only differences count."""

    def __init__(self, values: Array) -> None:
        self.values = values
        self.centred = values - values.mean(axis=0) if len(values) else values

    def distances(self, tree: Tree, rows: slice, others: slice) -> Array:
        """Return s = ‖x − z‖²/ℓ², or the sum of ∣x − z∣/ℓ over columns."""
        scales, rate = tree.get("scales"), float(tree["rate"])
        Z = self.centred if scales is None else self.centred / np.asarray(scales, float)
        if tree["name"] != "laplacian":
            return rate * squared_distances(Z[rows], Z[others])
        total = np.zeros((len(Z[rows]), len(Z[others])))
        for column in Z.T:
            total += np.abs(column[rows, None] - column[others])
        return rate * total


def _matern(s: Array, tree: Tree) -> Array:
    nu = float(tree["nu"])
    t = np.sqrt(2 * nu * s)
    polynomial = {0.5: 1.0, 1.5: 1 + t, 2.5: 1 + t + t**2 / 3}[nu]
    return np.asarray(polynomial * np.exp(-t))


_RADIAL: dict[str, Callable[[Array, Tree], Array]] = {
    "rbf": lambda s, tree: np.exp(-s / 2),
    "laplacian": lambda s, tree: np.exp(-s),
    "matern": _matern,
    "rational_quadratic": lambda s, tree: np.exp(
        -float(tree["alpha"]) * np.log1p(s / (2 * float(tree["alpha"])))
    ),
}
"""Kernels of a distance, all of them positive definite."""


def kernel_block(
    tree: Tree, samples: Sequence[Sample], rows: slice, others: slice, n: int
) -> Array:
    """Return the Gram matrix of a kernel between some of n rows and some others of them."""
    name = tree["name"]
    if name in ("sum", "product"):
        result = kernel_block(tree["parts"][0], samples, rows, others, n)
        for part in tree["parts"][1:]:
            other = kernel_block(part, samples, rows, others, n)
            result = result + other if name == "sum" else result * other
        return result
    if name == "scaled":
        return float(tree["factor"]) * kernel_block(tree["part"], samples, rows, others, n)
    numbers = np.arange(n)
    if name == "constant":
        return np.full((len(numbers[rows]), len(numbers[others])), float(tree["value"]))
    if name == "white":
        same = numbers[rows, None] == numbers[others]
        return np.asarray(float(tree["noise"]) * same)
    sample = samples[tree["sample"]]
    X = sample.values
    if name in _RADIAL:
        return np.asarray(_RADIAL[name](sample.distances(tree, rows, others), tree))
    if name == "linear":
        return np.asarray(X[rows] @ X[others].T)
    if name == "polynomial":
        inner = float(tree["gamma"]) * (X[rows] @ X[others].T) + float(tree["coef0"])
        return np.asarray(inner ** int(tree["degree"]))
    matches = np.zeros((len(X[rows]), len(X[others])))
    for column in X.T:
        matches += column[rows, None] == column[others]
    if name == "overlap":
        return np.asarray(matches / X.shape[1])
    return np.asarray(matches == X.shape[1], dtype=np.float64)


def check_kernel(tree: Any, samples: Sequence[Array]) -> None:
    """Raise unless a kernel is one that is known to be positive definite, with fit parameters."""
    try:
        name = tree["name"]
        if name in ("sum", "product"):
            good = len(tree["parts"]) > 0
            for part in tree["parts"]:
                check_kernel(part, samples)
        elif name == "scaled":
            good = 0 <= float(tree["factor"]) < math.inf
            check_kernel(tree["part"], samples)
        elif name in ("constant", "white"):
            good = 0 <= float(tree["value" if name == "constant" else "noise"]) < math.inf
        else:
            good = _leaf_is_good(name, tree, samples[tree["sample"]])
    except (KeyError, TypeError, ValueError, IndexError):
        good = False
    if not good:
        raise NoProof("a kernel is not one of those that are known to be positive definite")


def _leaf_is_good(name: str, tree: Tree, sample: Array) -> bool:
    if tree["sample"] < 0 or sample.ndim != 2 or not sample.shape[1]:
        return False
    if name == "polynomial":
        degree = tree["degree"]
        whole = int(degree) == degree >= 0
        return whole and 0 <= float(tree["gamma"]) < math.inf and 0 <= tree["coef0"] < math.inf
    if name in _RADIAL:
        scales = tree.get("scales")
        fit = scales is None or (
            len(scales) == sample.shape[1] and all(0 < float(s) < math.inf for s in scales)
        )
        if name == "matern" and float(tree["nu"]) not in (0.5, 1.5, 2.5):
            return False
        if name == "rational_quadratic" and not 0 < float(tree["alpha"]) < math.inf:
            return False
        return fit and 0 < float(tree["rate"]) < math.inf
    return name in ("linear", "overlap", "delta")


def full_matrix(packed: Array, n: int) -> Array:
    """Return a symmetric matrix from its lower triangle, row by row."""
    if len(packed) != n * (n + 1) // 2:
        raise NoProof("a Gram matrix has not as many numbers as its rows ask for")
    K = np.zeros((n, n))
    K[np.tril_indices(n)] = packed
    return K + np.tril(K, -1).T


def is_definite(K: Array) -> bool:
    """Whether a Cholesky factor proves that a matrix is positive semi-definite, up to rounding."""
    n = len(K)
    shift = 8 * (n + 2) * 2.0**-52 * float(np.abs(np.diagonal(K)).sum())
    try:
        np.linalg.cholesky(K + shift * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True
