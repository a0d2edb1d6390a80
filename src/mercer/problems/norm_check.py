"""Whether a function is a norm: its axioms, tried on many vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import Array, Seed
from mercer.exceptions import InvalidInput, InvalidParameter

_CANDIDATES = 400
"""Vectors that are tried; each is paired with another one for the triangle inequality."""
_FACTORS = (-1.0, 0.0, 0.5, 2.0, -3.7)
"""Factors c of ‖cx‖ = ∣c∣‖x‖."""


@dataclass(frozen=True, eq=False)
class NormViolation:
    """An axiom of norms that fails, with the vectors that show it.

    Attributes
    ----------
    axiom : str
        ``positive`` (‖x‖ ≥ 0), ``definite`` (‖x‖ = 0 for x = 0 alone), ``homogeneous``
        (‖cx‖ = ∣c∣‖x‖) or ``triangle`` (‖x + y‖ ≤ ‖x‖ + ‖y‖).
    x, y : arrays
        The vectors; y for the triangle inequality alone.
    c : float or None
        The factor, of homogeneity.
    left, right : float
        Both sides, as the axiom is written here.

    Examples
    --------
    >>> from mercer import norms
    >>> [violation] = norms.check_norm(norms.Lp(0.5), dimension=2).violations
    >>> violation.axiom, bool(violation.left > violation.right)  # ‖x + y‖ > ‖x‖ + ‖y‖
    ('triangle', True)
    """

    axiom: str
    x: Array
    left: float
    right: float
    y: Array | None = None
    c: float | None = None

    def __str__(self) -> str:
        x = _shown(self.x)
        if self.axiom == "positive":
            return f"f(x) = {self.left:.4g} is negative at x = {x}"
        if self.axiom == "definite":
            return f"f(x) = {self.left:.4g} at x = {x}; it has to be 0 at x = 0 and nowhere else"
        if self.axiom == "homogeneous":
            return (
                f"f(cx) = {self.left:.4g} is not ∣c∣f(x) = {self.right:.4g} at c = {self.c:g}, "
                f"x = {x}"
            )
        y = "" if self.y is None else _shown(self.y)
        return (
            f"f(x + y) = {self.left:.4g} is above f(x) + f(y) = {self.right:.4g} at x = {x}, "
            f"y = {y}"
        )


@dataclass(frozen=True, eq=False)
class NormReport:
    """What was found of the axioms of norms; true where none was seen to fail.

    Attributes
    ----------
    violations : tuple of NormViolation
        The worst violation of each axiom that fails.
    tried : int
        How many vectors were tried.

    Examples
    --------
    >>> from mercer import norms
    >>> report = norms.check_norm(lambda x: x[0] ** 2 + x[1] ** 2, dimension=2)
    >>> bool(report), sorted(violation.axiom for violation in report.violations)
    (False, ['homogeneous', 'triangle'])
    """

    violations: tuple[NormViolation, ...]
    tried: int

    def __bool__(self) -> bool:
        return not self.violations

    def __str__(self) -> str:
        if not self.violations:
            return f"no axiom of norms fails on {self.tried} vectors"
        return "no norm: " + "; ".join(map(str, self.violations))

    __repr__ = __str__


def check_norm(
    f: Callable[[Array], float],
    dimension: int = 3,
    *,
    tol: float = 1e-9,
    random_state: Seed = 0,
) -> NormReport:
    """Look for vectors that show that a function is no norm.

    ‖x‖ ≥ 0, = 0 for x = 0 alone; ‖cx‖ = ∣c∣‖x‖; ‖x + y‖ ≤ ‖x‖ + ‖y‖

    A violation that is found is a proof. That none was found is no proof of the opposite.

    Parameters
    ----------
    f : function of a vector
        What is to be a norm; also a :class:`Norm`.
    dimension : int
        Of the vectors.
    tol : float
        Violations up to this share of the values are rounding.
    random_state : int, RandomState or None
        Of the vectors that are tried, beside axes, signs and vectors with many zeros.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), appendix A.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import norms
    >>> norms.check_norm(lambda x: np.abs(x).max() + np.abs(x).sum())
    no axiom of norms fails on 400 vectors
    >>> report = norms.check_norm(norms.Lp(0.5), dimension=2)
    >>> [violation.axiom for violation in report.violations]
    ['triangle']
    """
    if dimension < 1 or dimension != int(dimension):
        raise InvalidParameter(f"check_norm: dimension={dimension!r} has to be a whole number ≥ 1.")
    vectors = _vectors(int(dimension), check_random_state(random_state))
    sizes = np.array([_value(f, x) for x in vectors])
    found: list[NormViolation] = []
    scale = float(np.abs(sizes).max(initial=0.0)) or 1.0
    origin = _value(f, np.zeros(dimension))
    worst = int(np.argmin(sizes))
    if sizes[worst] < -tol * scale:
        found.append(NormViolation("positive", vectors[worst], float(sizes[worst]), 0.0))
    lengths = np.abs(vectors).max(axis=1)
    flat = int(np.argmin(np.abs(sizes) / lengths))
    if abs(origin) > tol * scale:
        found.append(NormViolation("definite", np.zeros(dimension), origin, 0.0))
    elif abs(sizes[flat]) <= tol * scale * lengths[flat] / lengths.max():
        found.append(NormViolation("definite", vectors[flat], float(sizes[flat]), 0.0))
    found += _homogeneity(f, vectors, sizes, tol)
    found += _triangle(f, vectors, sizes, tol)
    return NormReport(tuple(found), len(vectors))


def _homogeneity(
    f: Callable[[Array], float], vectors: Array, sizes: Array, tol: float
) -> list[NormViolation]:
    worst, most = None, tol
    for x, size in zip(vectors, sizes, strict=True):
        for c in _FACTORS:
            left, right = _value(f, c * x), abs(c) * float(size)
            share = abs(left - right) / max(abs(left), abs(right), 1e-300)
            if share > most:
                most, worst = share, NormViolation("homogeneous", x, left, right, c=c)
    return [] if worst is None else [worst]


def _triangle(
    f: Callable[[Array], float], vectors: Array, sizes: Array, tol: float
) -> list[NormViolation]:
    worst, most = None, tol
    n = len(vectors)
    # Neighbours in the list, and vectors far apart in it.
    for step in (1, 2, n // 3, n // 2):
        for i in range(n):
            j = (i + step) % n
            left, right = _value(f, vectors[i] + vectors[j]), float(sizes[i] + sizes[j])
            share = (left - right) / max(abs(left), abs(right), 1e-300)
            if share > most:
                most = share
                worst = NormViolation("triangle", vectors[i], left, right, vectors[j])
    return [] if worst is None else [worst]


def _vectors(d: int, random: np.random.RandomState) -> Array:
    """Return axes, signs, vectors with many zeros, and random ones of all lengths."""
    axes = np.eye(d)[: _CANDIDATES // 8]
    signs = random.choice([-1.0, 1.0], (_CANDIDATES // 8, d))
    thin = random.normal(size=(_CANDIDATES // 4, d)) * (
        random.uniform(size=(_CANDIDATES // 4, d)) < 0.4
    )
    thin[~thin.any(axis=1), 0] = 1.0
    rest = _CANDIDATES - len(axes) - len(signs) - len(thin)
    plain = random.normal(size=(rest, d)) * 10.0 ** random.uniform(-2, 2, (rest, 1))
    return np.vstack([axes, signs, thin, plain])


def _value(f: Callable[[Array], float], x: Array) -> float:
    value = f(x)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"check_norm: f returned {value!r}, not a number.") from None
    if not math.isfinite(number):
        raise InvalidInput(f"check_norm: f is {number} at {_shown(x)}; a norm is finite.")
    return number


def _shown(x: Array) -> str:
    return np.array2string(x, precision=4, threshold=8, separator=", ")
