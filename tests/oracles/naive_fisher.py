"""Naive references for Fisher kernels: derivatives by complex steps, sums over all paths.

For an analytic f, Im f(θ + ih)/h is f′(θ) to the last digit when h is tiny, since nothing is
subtracted. So p(x | θ) is written down as it stands in a textbook, with complex parameters.
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._typing import Model, Object
from mercer.kernels.vectors.fisher import Fisher

_STEP = 1e-30
"""A complex step: its square is far below rounding, so that derivatives are exact."""
Complex = Any


def naive_scores(model: Model, x: Object, weights: str = "softmax") -> list[float]:
    """Return ∇ log p(x | θ) of a Gaussian mixture or a hidden Markov model of ours."""
    blocks = _blocks(model, weights)
    density = _mixture_density if hasattr(model, "weights_") else _chain_density
    scores = []
    for name, block in blocks.items():
        for place in np.ndindex(block.shape):
            moved = {key: value.astype(complex) for key, value in blocks.items()}
            moved[name][place] += 1j * _STEP
            p = density(model, moved, x, weights)
            scores.append(float((p.imag / _STEP) / p.real))
    return scores


def naive_log_likelihood(model: Model, x: Object) -> float:
    """Return log p(x) as the sum over components, or over all paths of states."""
    blocks = {key: value.astype(complex) for key, value in _blocks(model, "softmax").items()}
    density = _mixture_density if hasattr(model, "weights_") else _chain_density
    return math.log(density(model, blocks, x, "softmax").real)


def naive_fisher(
    kernel: Fisher, x: Object, z: Object, same: bool, training: Sequence[Any] | None
) -> float:
    """Return k(x, z) of :class:`Fisher`, settled on the training rows first."""
    del same
    if training is not None:
        kernel = _settled(kernel, training)
    left, right = (_remembered(kernel, row) for row in (x, z))
    if kernel.information is False:
        return float(left @ right)
    information = np.asarray(kernel.information)
    if information.ndim == 1:
        information = np.diag(information)
    return float(left @ np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ right)


_last: list[tuple[Fisher, Sequence[Any], Fisher]] = []


_scores: dict[Any, tuple[Any, Any]] = {}


def _remembered(kernel: Fisher, row: Any) -> Any:
    """Return the scores of a row; a table of pairs asks for them again and again."""
    key = (id(kernel.model), kernel.weights, repr(row))
    if key not in _scores or _scores[key][0] is not kernel.model:
        if len(_scores) > 1000:
            _scores.clear()
        _scores[key] = kernel.model, np.array(naive_scores(kernel.model, row, kernel.weights))
    return _scores[key][1]


def _settled(kernel: Fisher, training: Sequence[Any]) -> Fisher:
    """Return the kernel fitted to training rows; a table of pairs asks for the same again."""
    if not (_last and _last[0][1] is training and _last[0][0] == kernel):
        _last[:] = [(kernel, training, kernel.resolve(kernel.encode(training)))]
    return _last[0][2]


# ---- parameters --------------------------------------------------------------------------------


def _blocks(model: Model, weights: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the parameters in their order; covariances as what is added in their exponent."""
    take: Callable[[Any], Any] = np.log if weights == "softmax" else np.array
    if hasattr(model, "weights_"):
        blocks = {"weights": take(model.weights_)}
    else:
        blocks = {"start": take(model.start_), "moves": take(model.transitions_)}
    if hasattr(model, "probabilities_"):
        return {**blocks, "symbols": take(model.probabilities_)}
    k, d = model.means_.shape
    size = {"full": (k, d * (d + 1) // 2), "tied": (1, d * (d + 1) // 2), "diag": (k, d)}
    spread = size.get(model.covariance_type, (k, 1))
    return {**blocks, "means": np.array(model.means_), "spread": np.zeros(spread)}


def _probabilities(row: Complex, weights: str) -> list[Complex]:
    if weights == "plain":
        return list(row)
    powers = [cmath.exp(value) for value in row]
    return [power / sum(powers) for power in powers]


def _gaussian(model: Model, blocks: dict[str, Any], k: int, x: Sequence[float]) -> Complex:
    """Return N(x | μ, L exp(E) Lᵀ); exp(E) = I + E, since E is tiny."""
    d = len(x)
    kind, covariances, spread = model.covariance_type, model.covariances_, blocks["spread"]
    if kind in ("full", "tied"):
        covariance = covariances if kind == "tied" else covariances[k]
        entries = spread[0] if kind == "tied" else spread[k]
        E = np.zeros((d, d), dtype=complex)
        for entry, (i, j) in zip(
            entries, itertools.combinations_with_replacement(range(d), 2), strict=True
        ):
            E[i, j] = E[j, i] = entry
        L = np.linalg.cholesky(covariance)
        sigma = L @ (np.eye(d) + E) @ L.T
    else:
        sigma = np.diag(np.broadcast_to(covariances[k] * (1 + spread[k]), d))
    difference = np.array([a - b for a, b in zip(x, blocks["means"][k], strict=True)])
    square = difference @ np.linalg.inv(sigma) @ difference
    return cmath.exp(-square / 2) / cmath.sqrt((2 * cmath.pi) ** d * np.linalg.det(sigma))


def _mixture_density(model: Model, blocks: dict[str, Any], x: Object, weights: str) -> Complex:
    values = list(x.values()) if hasattr(x, "values") else list(x)
    pi = _probabilities(blocks["weights"], weights)
    numbers = [float(value) for value in values]
    return sum(w * _gaussian(model, blocks, k, numbers) for k, w in enumerate(pi))


def _chain_density(model: Model, blocks: dict[str, Any], x: Object, weights: str) -> Complex:
    """Return the sum over all paths of states, one after the other."""
    start = _probabilities(blocks["start"], weights)
    moves = [_probabilities(row, weights) for row in blocks["moves"]]
    seen = _emitted(model, blocks, x, weights)
    total = 0j
    for path in itertools.product(range(len(start)), repeat=len(seen)):
        p = 1 + 0j
        for t, state in enumerate(path):
            p *= (start[state] if t == 0 else moves[path[t - 1]][state]) * seen[t][state]
        total += p
    return total


def _emitted(model: Model, blocks: dict[str, Any], x: Object, weights: str) -> list[list[Complex]]:
    """Return b(x_t | state) of each time and state."""
    if "symbols" in blocks:
        rows = [_probabilities(row, weights) for row in blocks["symbols"]]
        alphabet = list(model.alphabet_)
        return [
            [row[alphabet.index(symbol)] if symbol in alphabet else 1 + 0j for row in rows]
            for symbol in x
        ]
    series = np.asarray(x, dtype=float)
    series = series[:, None] if series.ndim == 1 else series
    if np.ndim(x) == 2 and model.time == "last":
        series = series.T
    states = range(len(blocks["means"]))
    return [[_gaussian(model, blocks, k, row) for k in states] for row in series.tolist()]


FORMULAS: dict[type, Any] = {Fisher: naive_fisher}
