"""Estimates from samples: differential entropy, kurtosis, negentropy, mutual information."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln

from mercer._typing import Array
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.base import WithoutDual

_GAUSSIAN = 0.5 * np.log(2 * np.pi * np.e)
"""Entropy of a Gaussian of variance 1."""
_LOGCOSH_OF_GAUSSIAN = 0.37456720749143804
"""E log cosh ν for a Gaussian ν of variance 1."""
_NEGENTROPIES = ("neighbours", "cumulants", "logcosh", "exp")


def differential_entropy(X: ArrayLike, *, neighbours: int = 3) -> float:
    r"""Return an estimate of H = −∫ p log p in nats, by the distances to the k-th neighbours.

    H = ψ(n) − ψ(k) + log V_d + d/n Σ log ρₖ(xᵢ),   V_d the volume of the unit ball

    Parameters
    ----------
    X : array of shape (n,) or (n, d)
        The sample.
    neighbours : int
        k: more is less noisy and more biased.

    References
    ----------
    L. Kozachenko, N. Leonenko, Sample estimate of the entropy of a random vector, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.independence import differential_entropy
    >>> x = np.random.default_rng(0).uniform(0, 2, size=5_000)
    >>> bool(abs(differential_entropy(x) - np.log(2)) < 0.05)
    True
    """
    X = _rows("differential_entropy", X)
    n, d = X.shape
    k = _neighbours("differential_entropy", neighbours, n)
    distance = cKDTree(X).query(X, k + 1)[0][:, -1]
    if (distance == 0).any():
        raise InvalidInput(
            "differential_entropy: some rows occur more often than there are neighbours, so that "
            "they have no density. Add a little noise, or raise neighbours."
        )
    ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    return float(digamma(n) - digamma(k) + ball + d * np.mean(np.log(distance)))


@dataclass(frozen=True)
class SumOfEntropies(WithoutDual):
    """Σ H(yᵢ) of the rows of Y = WX over rotations W: the mutual information, up to a constant."""

    name: str = "mutual information"


def spacing_entropy(Y: Array) -> Array:
    """Return the entropy of each row by spacings of m = √n places (Vasicek).

    1/(n−m) Σ log((n+1)/m (x₍ᵢ₊ₘ₎ − x₍ᵢ₎)) leaves out a part of the tails, so it is a little low;
    but it varies less than that by neighbours, and comparisons are what it is for.
    """
    n = Y.shape[-1]
    m = max(round(np.sqrt(n)), 1)
    ordered = np.sort(Y, axis=-1)
    gaps = ordered[..., m:] - ordered[..., :-m]
    # Ties have no density; a gap of rounding size keeps them finite.
    least = np.finfo(np.float64).eps * np.maximum(np.abs(ordered).max(axis=-1, keepdims=True), 1)
    raw = np.log(np.maximum(gaps, least)).mean(axis=-1) + np.log((n + 1) / m)
    # The mean of log of a spacing of m places of uniform numbers is ψ(m) − ψ(n + 1).
    return np.asarray(raw + np.log(m) - digamma(m) + digamma(n + 1) - np.log(n + 1))


def kurtosis(X: ArrayLike) -> Any:
    """Return the excess kurtosis E z⁴ − 3 of each column, z = (x − mean)/deviation.

    It is 0 for a Gaussian, 3 for a Laplace and −6/5 for a uniform distribution.

    Parameters
    ----------
    X : array of shape (n,) or (n, d)
        The sample.

    Examples
    --------
    >>> from mercer.independence import kurtosis
    >>> float(kurtosis([-1.0, 1.0, -1.0, 1.0]))  # z⁴ = 1
    -2.0
    """
    values = _rows("kurtosis", X)
    found = (_standard("kurtosis", values) ** 4).mean(axis=0) - 3
    return float(found[0]) if np.ndim(X) == 1 else found


def negentropy(x: ArrayLike, method: str = "neighbours") -> float:
    """Return an estimate of J = H(Gaussian of the same variance) − H(x), 0 for Gaussians only.

    Parameters
    ----------
    x : array of shape (n,)
        The sample.
    method : "neighbours", "cumulants", "logcosh" or "exp"
        ``"neighbours"`` estimates the entropy itself. The others are approximations: from skewness
        and kurtosis, E(z³)²/12 + κ²/48; or from one bounded function,
        (E log cosh z − E log cosh ν)² and (E e^(−z²/2) − E e^(−ν²/2))² times constants that make
        them right near a Gaussian.

    References
    ----------
    A. Hyvärinen, New approximations of differential entropy, NIPS 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.independence import negentropy
    >>> rng = np.random.default_rng(0)
    >>> bool(negentropy(rng.normal(size=2_000)) < 0.05)
    True
    >>> round(negentropy(rng.uniform(size=2_000)), 1)  # ½ log(2πe/12) = 0.18
    0.2
    """
    if method not in _NEGENTROPIES:
        raise InvalidParameter(
            f"negentropy: method={method!r} has to be one of {', '.join(_NEGENTROPIES)}."
        )
    values = _rows("negentropy", x)
    if values.shape[1] != 1:
        raise InvalidInput(f"negentropy takes one column, not {values.shape[1]}. Call it for each.")
    z = _standard("negentropy", values)[:, 0]
    if method == "neighbours":
        return float(_GAUSSIAN - differential_entropy(z))
    if method == "cumulants":
        return float((z**3).mean() ** 2 / 12 + ((z**4).mean() - 3) ** 2 / 48)
    # ½ (E G(z) − E G(ν))²/Var, Var that of G(ν) without its parts along 1, ν and ν² − 1.
    if method == "logcosh":
        size = np.abs(z)
        mean = np.mean(size + np.log1p(np.exp(-2 * size)) - np.log(2))
        return float((mean - _LOGCOSH_OF_GAUSSIAN) ** 2 / (2 * _LOGCOSH_VARIANCE))
    mean = np.mean(np.exp(-(z**2) / 2))
    return float((mean - np.sqrt(0.5)) ** 2 / (2 * _EXP_VARIANCE))


def gaussian_variance(function: Callable[[Array], Array]) -> float:
    """Return the variance of an even function of a Gaussian ν without its part along ν² − 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    values, square = function(nodes), (nodes**2 - 1) / np.sqrt(2)
    rest = values - weights @ values
    return float(weights @ (rest - (weights @ (rest * square)) * square) ** 2)


_LOGCOSH_VARIANCE = gaussian_variance(lambda nu: np.log(np.cosh(nu)))
_EXP_VARIANCE = gaussian_variance(lambda nu: np.exp(-(nu**2) / 2))


def mutual_information(*components: ArrayLike, neighbours: int = 3) -> float:
    r"""Return an estimate of I(X₁; …; Xₘ) = Σ H(Xⱼ) − H(X₁, …, Xₘ) in nats; 0 means independent.

    I = ψ(k) + (m − 1)ψ(n) − 1/n Σᵢ Σⱼ ψ(nⱼ + 1)

    where nⱼ counts the rows that are nearer in Xⱼ than the k-th neighbour in all. The estimate
    varies around 0 for independent data and may be negative. Of two samples it is I(X; Y), of more
    it is also called the total correlation.

    Parameters
    ----------
    *components : arrays of shape (n,) or (n, d)
        Samples with rows that belong together. One alone has to have two columns or more, which
        are then the components.
    neighbours : int
        k: more is less noisy and more biased.

    References
    ----------
    A. Kraskov, H. Stögbauer, P. Grassberger, Estimating mutual information, 2004.

    Examples
    --------
    Any two of these three are independent, all three are not:

    >>> import numpy as np
    >>> from mercer.independence import mutual_information
    >>> random = np.random.default_rng(0)
    >>> x, y = random.uniform(size=(2, 4000))
    >>> z = (x + y) % 1 + 0.01 * random.normal(size=4000)
    >>> bool(mutual_information(x, z) < 0.05), bool(mutual_information(x, y, z) > 1)
    (True, True)
    """
    name = "mutual_information"
    sides = [_standard(name, _rows(name, part)) for part in components]
    if len(sides) == 1:
        sides = [sides[0][:, [j]] for j in range(sides[0].shape[1])]
    if len(sides) < 2:
        raise InvalidInput(
            f"{name}: two components or more are needed: several samples, or one with as many "
            "columns."
        )
    n = len(sides[0])
    odd = next((j for j, side in enumerate(sides) if len(side) != n), None)
    if odd is not None:
        raise InvalidInput(
            f"{name}: the first sample has {n} rows and sample {odd} has {len(sides[odd])}; they "
            "have to be of the same objects."
        )
    k = _neighbours(name, neighbours, n)
    joint = np.hstack(sides)
    radius = cKDTree(joint).query(joint, k + 1, p=np.inf)[0][:, -1]
    radius *= 1 - 1e-10  # strictly nearer, in spite of rounding
    total = 0.0
    for side in sides:
        if side.shape[1] == 1:
            line = np.sort(side[:, 0])
            count = np.searchsorted(line, side[:, 0] + radius, "right") - np.searchsorted(
                line, side[:, 0] - radius, "left"
            )
        else:
            count = cKDTree(side).query_ball_point(side, radius, p=np.inf, return_length=True)
        total += float(np.mean(digamma(np.maximum(count, 1))))  # the row itself is the + 1
    return float(digamma(k) + (len(sides) - 1) * digamma(n) - total)


def amari_distance(W: ArrayLike, A: ArrayLike) -> float:
    """Return how far an unmixing W is from undoing the mixing A, whatever order, sign and scale.

    With P = |WA|, of d rows: 1/(2d(d−1)) [Σᵢ (Σⱼ Pᵢⱼ/maxⱼ Pᵢⱼ − 1) + Σⱼ (Σᵢ Pᵢⱼ/maxᵢ Pᵢⱼ − 1)].
    It is 0 where each row of W finds one source, at most 1.

    Parameters
    ----------
    W, A : array of shape (d, d)
        The unmixing and the mixing.

    References
    ----------
    S. Amari, A. Cichocki, H. Yang, A new learning algorithm for blind signal separation, 1996.

    Examples
    --------
    >>> from mercer.independence import amari_distance
    >>> mixing = [[0.0, 2.0], [1.0, 0.0]]
    >>> amari_distance([[0.0, 3.0], [-1.0, 0.0]], mixing)  # order, sign and scale are free
    0.0
    >>> amari_distance([[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    1.0
    """
    P = np.abs(np.asarray(W, dtype=np.float64) @ np.asarray(A, dtype=np.float64))
    if P.ndim != 2 or P.shape[0] != P.shape[1] or not np.isfinite(P).all():
        raise InvalidInput(
            f"amari_distance: W A has the shape {P.shape}; it has to be a square matrix of finite "
            "numbers, as many unmixed as true sources."
        )
    d = len(P)
    if d == 1:
        return 0.0
    rows, columns = P.max(axis=1), P.max(axis=0)
    if not (rows.all() and columns.all()):
        raise InvalidInput("amari_distance: W A has a row or a column of zeros; a source is lost.")
    excess = np.sum(P / rows[:, None]) + np.sum(P / columns) - 2 * d
    return float(excess / (2 * d * (d - 1)))


def _rows(name: str, X: ArrayLike) -> Array:
    values = np.asarray(X, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) < 4 or values.shape[1] == 0:
        raise InvalidInput(
            f"{name}: the sample has the shape {np.shape(X)}; four or more rows are needed."
        )
    if not np.isfinite(values).all():
        raise InvalidInput(f"{name}: the sample has values that are not finite. Remove them.")
    return np.asarray(values)


def _standard(name: str, X: Array) -> Array:
    deviation = X.std(axis=0)
    constant = deviation <= 1e-14 * np.abs(X).max(axis=0)
    if constant.any():
        raise InvalidInput(
            f"{name}: column {int(np.argmax(constant))} is constant and has no density. Remove it."
        )
    return np.asarray((X - X.mean(axis=0)) / deviation)


def _neighbours(name: str, k: object, n: int) -> int:
    if not isinstance(k, (int, np.integer)) or not 1 <= k < n:
        raise InvalidParameter(f"{name}: neighbours={k!r} has to be from 1 to {n - 1}.")
    return int(k)
