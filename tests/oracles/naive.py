"""Naive references: every kernel once more, in plain Python, one pair at a time.

Nothing here shares a formula with the library: loops over coordinates, the ``math`` module, an
integral in place of Bessel functions. Slow, and easy to see to be right.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer._typing import Object, Objects
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.strings.words import BagOfWords
from mercer.kernels.vectors.categorical import Delta, Overlap
from mercer.kernels.vectors.constant import Constant, White
from mercer.kernels.vectors.dot import Cosine, Linear, Polynomial, Sigmoid
from mercer.kernels.vectors.explicit import GaussianBasis, Monomials, RandomFourierFeatures
from mercer.kernels.vectors.histogram import AdditiveChi2, Chi2, Intersection
from mercer.kernels.vectors.matern import (
    Matern,
    Periodic,
    RationalQuadratic,
)
from mercer.kernels.vectors.radial import (
    RBF,
    Laplacian,
    NegativeDistance,
)
from mercer.kernels.wrappers import FunctionKernel, Normalized, On, Precomputed
from tests.oracles import naive_fisher, naive_graphs, naive_series, naive_strings, naive_trees

Rows = Sequence[Any]
_Formula = Callable[[Any, Any, Any, bool, "Rows | None"], float]


def naive_value(
    kernel: Kernel, x: Object, z: Object, *, same: bool = False, training: Rows | None = None
) -> float:
    """Return k(x, z) of two rows.

    A row is a sequence of values, a mapping from column names to values, or any object of a
    function kernel. ``same`` says whether both are the very same object, which white noise asks
    for; ``training`` are the rows on which ``"scale"`` and ``"median"`` are settled.
    """
    try:
        formula = _FORMULAS[type(kernel)]
    except KeyError:
        raise NotImplementedError(f"No naive reference for {type(kernel).__name__}.") from None
    return formula(kernel, x, z, same, training)


def naive_gram(
    kernel: Kernel, X: Objects, Y: Objects = None
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the matrix k(X), or k(X, Y), entry by entry; heuristics are settled on Y, or X."""
    left = naive_rows(X)
    right = left if Y is None else naive_rows(Y)
    matrix = [
        [
            naive_value(kernel, x, z, same=Y is None and i == j, training=right)
            for j, z in enumerate(right)
        ]
        for i, x in enumerate(left)
    ]
    return np.array(matrix, dtype=np.float64).reshape(len(left), len(right))


def naive_rows(X: Objects) -> list[Any]:
    """Return a table as a list of rows: mappings for data frames, sequences for the rest."""
    if hasattr(X, "toarray"):
        X = X.toarray()
    if hasattr(X, "to_pylist"):
        return list(X.to_pylist())
    if hasattr(X, "to_dicts"):
        return list(X.to_dicts())
    if hasattr(X, "to_dict") and hasattr(X, "columns"):
        return list(X.to_dict("records"))
    return list(X)


# ---- rows --------------------------------------------------------------------------------------


def _values(row: Any) -> list[Any]:
    if isinstance(row, Mapping):
        return list(row.values())
    return [value.item() if isinstance(value, np.generic) else value for value in row]


def _numbers(row: Any) -> list[float]:
    return [float(value) for value in _values(row)]


def _pairs(x: Object, z: Object) -> list[tuple[float, float]]:
    return list(zip(_numbers(x), _numbers(z), strict=True))


def _select(row: Any, columns: Sequence[Any]) -> Any:
    if isinstance(row, Mapping):
        names = list(row)
        chosen = [column if column in row else names[column] for column in columns]
        return {name: row[name] for name in chosen}
    return [row[column] for column in columns]


def _dot(x: Object, z: Object) -> float:
    return math.fsum(a * b for a, b in _pairs(x, z))


# ---- widths ------------------------------------------------------------------------------------


def _length_scales(kernel: Any, d: int, training: Rows | None, power: int) -> list[float]:
    """Return ℓ of each of ``d`` columns, whatever it was called."""
    given = {
        name: getattr(kernel, name)
        for name in ("gamma", "sigma", "length_scale")
        if getattr(kernel, name) is not None
    }
    name, value = next(iter(given.items())) if given else ("gamma", "scale")
    if isinstance(value, str):
        return [_heuristic(value, training, power)] * d
    if name == "gamma":
        return [math.sqrt(0.5 / value) if power == 2 else 1 / value] * d
    if isinstance(value, int | float | np.number):
        return [float(value)] * d
    return [float(scale) for scale in value]


def _heuristic(name: str, training: Rows | None, power: int) -> float:
    if training is None:
        raise ValueError(f"{name!r} needs training rows.")
    rows = [_numbers(row) for row in training]
    if name == "median":
        distances = [
            sum(abs(a - b) ** power for a, b in zip(x, z, strict=True)) ** (1 / power)
            for i, x in enumerate(rows)
            for z in rows[:i]
        ]
        positive = [distance for distance in distances if distance > 0]
        return statistics.median(positive) if positive else 1.0
    variance = _variance(rows)
    if power == 1:
        return len(rows[0]) * math.sqrt(variance) if variance else 1.0
    gamma = 1 / (len(rows[0]) * variance) if variance else 1.0
    return math.sqrt(0.5 / gamma)


def _variance(rows: list[list[float]]) -> float:
    return statistics.pvariance([value for row in rows for value in row])


def _affine(kernel: Any, x: Object, z: Object, training: Rows | None) -> float:
    gamma = kernel.gamma
    if gamma == "scale":
        if training is None:
            raise ValueError("'scale' needs training rows.")
        rows = [_numbers(row) for row in training]
        variance = _variance(rows)
        gamma = 1 / (len(rows[0]) * variance) if variance else 1.0
    return float(gamma) * _dot(x, z) + float(kernel.coef0)


def _distance(kernel: Any, x: Object, z: Object, training: Rows | None) -> float:
    """Return ‖x − z‖ after each coordinate was divided by its length scale."""
    pairs = _pairs(x, z)
    scales = _length_scales(kernel, len(pairs), training, 2)
    return math.sqrt(
        math.fsum(((a - b) / scale) ** 2 for (a, b), scale in zip(pairs, scales, strict=True))
    )


# ---- vectors -----------------------------------------------------------------------------------


def _linear(kernel: Linear, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return _dot(x, z)


def _cosine(kernel: Cosine, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    lengths = math.hypot(*_numbers(x)) * math.hypot(*_numbers(z))
    return _dot(x, z) / lengths if lengths else 0.0


def _polynomial(
    kernel: Polynomial, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    return float(_affine(kernel, x, z, training) ** kernel.degree)


def _sigmoid(kernel: Sigmoid, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return math.tanh(_affine(kernel, x, z, training))


def _rbf(kernel: RBF, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return math.exp(-(_distance(kernel, x, z, training) ** 2) / 2)


def _laplacian(kernel: Laplacian, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    pairs = _pairs(x, z)
    scales = _length_scales(kernel, len(pairs), training, 1)
    return math.exp(
        -math.fsum(abs(a - b) / scale for (a, b), scale in zip(pairs, scales, strict=True))
    )


def _matern(kernel: Matern, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    distance = _distance(kernel, x, z, training)
    if math.isinf(kernel.nu):
        return math.exp(-(distance**2) / 2)
    t = math.sqrt(2 * kernel.nu) * distance
    if t < 1e-9:
        return 1.0
    nu = float(kernel.nu)
    return float(2 ** (1 - nu) / math.gamma(nu) * t**nu * _bessel_k(nu, t))


def _bessel_k(nu: float, t: float) -> float:
    """Return K_ν(t) = ∫₀^∞ exp(−t cosh u) cosh(νu) du; the trapezoidal rule is exact here."""
    step = 1 / 16
    total, i = math.exp(-t) / 2, 1
    while True:
        u = i * step
        term = math.exp(-t * math.cosh(u) + nu * u) + math.exp(-t * math.cosh(u) - nu * u)
        total += term / 2
        if t * math.cosh(u) - nu * u > 750 or (t * math.sinh(u) > nu and term < 1e-18 * total):
            return total * step
        i += 1


def _rational_quadratic(
    kernel: RationalQuadratic, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    squared = _distance(kernel, x, z, training) ** 2
    return float((1 + squared / (2 * kernel.alpha)) ** -kernel.alpha)


def _periodic(kernel: Periodic, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    value = 1.0
    pairs = list(_pairs(x, z))
    periods, scales = (
        list(given) if isinstance(given, list | tuple) else [given] * len(pairs)
        for given in (kernel.period, kernel.length_scale)
    )
    for (a, b), period, scale in zip(pairs, periods, scales, strict=True):
        angle = math.pi * (a - b) / period
        value *= math.exp(-2 * math.sin(angle) ** 2 / scale**2)
    return value


def _negative_distance(
    kernel: NegativeDistance, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    return -float(math.dist(_numbers(x), _numbers(z)) ** kernel.power)


# ---- histograms and categories -----------------------------------------------------------------


def _chi2_distance(x: Object, z: Object) -> float:
    return math.fsum((a - b) ** 2 / (a + b) for a, b in _pairs(x, z) if a + b > 0)


def _intersection(
    kernel: Intersection, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    return math.fsum(min(a, b) for a, b in _pairs(x, z))


def _additive_chi2(
    kernel: AdditiveChi2, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    return -_chi2_distance(x, z)


def _chi2(kernel: Chi2, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return math.exp(-kernel.gamma * _chi2_distance(x, z))


def _delta(kernel: Delta, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return 1.0 if _values(x) == _values(z) else 0.0


def _overlap(kernel: Overlap, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    left, right = _values(x), _values(z)
    return float(sum(a == b for a, b in zip(left, right, strict=True))) / len(left)


def _constant(kernel: Constant, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return float(kernel.value)


def _white(kernel: White, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return float(kernel.noise) if same else 0.0


# ---- strings -----------------------------------------------------------------------------------


def _text(row: Any) -> str:
    return row if isinstance(row, str) else str(_values(row)[0])


def _bag_of_words(
    kernel: BagOfWords, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    total = 0.0
    texts = [_text(row).lower() if kernel.lowercase else _text(row) for row in (x, z)]
    left, right = (
        [match.group() for match in re.finditer(kernel.pattern or "", text) if match.group()]
        for text in texts
    )
    k = kernel.k
    left, right = ([tuple(w[i : i + k]) for i in range(len(w) - k + 1)] for w in (left, right))
    for word in set(left) & set(right):
        product = float(left.count(word) * right.count(word))
        if kernel.weighting == "frequency":
            product /= len(left) * len(right)
        total += 1.0 if kernel.weighting == "binary" else product
    return total


# ---- feature maps ------------------------------------------------------------------------------


def _monomials(kernel: Monomials, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    """Sum xᵃzᵃ over all exponents a with |a| ≤ degree, one coordinate after the other."""
    degree = int(kernel.degree)
    by_degree = [1.0] + [0.0] * degree
    for a, b in _pairs(x, z):
        by_degree = [
            math.fsum(by_degree[total - own] * (a * b) ** own for own in range(total + 1))
            for total in range(degree + 1)
        ]
    return float(sum(by_degree))


def _gaussian_basis(
    kernel: GaussianBasis, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    total = 0.0
    for centre in kernel.centres:
        at = [float(value) for value in centre]
        squares = math.dist(_numbers(x), at) ** 2 + math.dist(_numbers(z), at) ** 2
        total += math.exp(-squares / (2 * float(kernel.sigma) ** 2))
    return total


def _random_fourier(
    kernel: RandomFourierFeatures, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    """Average cos ω·(x − z) over the same random draws of ω as the kernel."""
    pairs = _pairs(x, z)
    power = 1 if isinstance(kernel.kernel, Laplacian) else 2
    scales = _length_scales(kernel.kernel, len(pairs), training, power)
    random = np.random.default_rng(kernel.random_state)
    draws = kernel.kernel.frequencies(random, (kernel.components // 2, len(pairs))).tolist()
    waves = [
        math.cos(
            math.fsum(w * (a - b) / s for w, (a, b), s in zip(row, pairs, scales, strict=True))
        )
        for row in draws
    ]
    return math.fsum(waves) / len(waves)


# ---- algebra and wrappers ----------------------------------------------------------------------


def _sum(kernel: Sum, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    left = naive_value(kernel.left, x, z, same=same, training=training)
    return left + naive_value(kernel.right, x, z, same=same, training=training)


def _product(kernel: Product, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    left = naive_value(kernel.left, x, z, same=same, training=training)
    return left * naive_value(kernel.right, x, z, same=same, training=training)


def _scaled(kernel: Scaled, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return kernel.factor * naive_value(kernel.kernel, x, z, same=same, training=training)


def _power(kernel: Power, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return float(naive_value(kernel.kernel, x, z, same=same, training=training) ** kernel.exponent)


def _exp(kernel: Exp, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    return math.exp(naive_value(kernel.kernel, x, z, same=same, training=training))


def _power_series(
    kernel: PowerSeries, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    inner = naive_value(kernel.kernel, x, z, same=same, training=training)
    return math.fsum(float(a) * inner**i for i, a in enumerate(kernel.coefficients))


def _normalized(
    kernel: Normalized, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    own = naive_value(kernel.kernel, x, x, same=True, training=training)
    other = naive_value(kernel.kernel, z, z, same=True, training=training)
    if own == 0 or other == 0:
        return 0.0
    value = naive_value(kernel.kernel, x, z, same=same, training=training)
    return value / (math.sqrt(own) * math.sqrt(other))


def _on(kernel: On, x: Object, z: Object, same: bool, training: Rows | None) -> float:
    rows = None if training is None else [_select(row, kernel.columns) for row in training]
    left, right = _select(x, kernel.columns), _select(z, kernel.columns)
    if kernel.missing != "error":
        lost = [_has_gap(left), _has_gap(right)]
        if any(lost):
            return 1.0 if all(lost) and kernel.missing == "own" else 0.0
        rows = None if rows is None else [row for row in rows if not _has_gap(row)]
    return naive_value(kernel.kernel, left, right, same=same, training=rows)


def _has_gap(row: Any) -> bool:
    values = row.values() if isinstance(row, Mapping) else row
    return any(value is None or value != value for value in values)


def _function(
    kernel: FunctionKernel, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    left, right = (
        np.array(list(row.values())) if isinstance(row, Mapping) else row for row in (x, z)
    )
    if kernel.vectorized:
        return float(kernel.function(np.asarray([left]), np.asarray([right]))[0][0])
    return float(kernel.function(left, right))


def _precomputed(
    kernel: Precomputed, x: Object, z: Object, same: bool, training: Rows | None
) -> float:
    i, j = (int(row[0]) if hasattr(row, "__len__") else int(row) for row in (x, z))
    return float(kernel.matrix[i][j])


_FORMULAS: dict[type, _Formula] = {
    AdditiveChi2: _additive_chi2,
    BagOfWords: _bag_of_words,
    Chi2: _chi2,
    Constant: _constant,
    Cosine: _cosine,
    Delta: _delta,
    Exp: _exp,
    FunctionKernel: _function,
    GaussianBasis: _gaussian_basis,
    Intersection: _intersection,
    Laplacian: _laplacian,
    Linear: _linear,
    Matern: _matern,
    Monomials: _monomials,
    NegativeDistance: _negative_distance,
    Normalized: _normalized,
    On: _on,
    Overlap: _overlap,
    Periodic: _periodic,
    Polynomial: _polynomial,
    Power: _power,
    PowerSeries: _power_series,
    Precomputed: _precomputed,
    Product: _product,
    RBF: _rbf,
    RandomFourierFeatures: _random_fourier,
    RationalQuadratic: _rational_quadratic,
    Scaled: _scaled,
    Sigmoid: _sigmoid,
    Sum: _sum,
    White: _white,
    **naive_fisher.FORMULAS,
    **naive_graphs.FORMULAS,
    **naive_series.FORMULAS,
    **naive_strings.FORMULAS,
    **naive_trees.FORMULAS,
}
