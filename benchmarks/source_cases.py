"""What the jobs on independent sources share: data, contenders, and the judge of their answers."""

import gzip
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import resources
from typing import Any

import numpy as np

from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement

SLOPE = 1e-7
"""The largest slope of the contrast that is left, for everybody."""
SEEDS = (0, 1, 2)
"""Where the searches start: one call is a fit from each."""


Data = Callable[[], tuple[np.ndarray, np.ndarray | None]]
"""Gives the mixtures and, where it is known, the matrix that mixed them."""


@cache
def laplace(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of Laplace sources."""
    random = np.random.default_rng(0)
    S, A = random.laplace(size=(rows, columns)), random.normal(size=(columns, columns))
    return S @ A.T, A


@cache
def speech(channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Mixtures of pieces of two recorded voices: the sentences that come with mercer, cut up."""
    raw = gzip.decompress(resources.files("mercer.data").joinpath("voices.i16.gz").read_bytes())
    voices = np.frombuffer(raw, dtype="<i2").reshape(2, -1).astype(float)
    pieces = channels // 2
    S = voices[:, : voices.shape[1] // pieces * pieces].reshape(channels, -1).T
    A = np.random.default_rng(0).normal(size=(channels, channels))
    return (S / S.std(axis=0)) @ A.T, A


def slope(W: np.ndarray, X: np.ndarray) -> float:
    """Return the largest slope along rotations of Σ |E log cosh(y) − E log cosh(ν)| at Y = WX."""
    Y = W @ (X - X.mean(axis=0)).T
    Y /= Y.std(axis=1, keepdims=True)
    P = np.tanh(Y)
    cross = P @ Y.T / Y.shape[1]
    signs = np.where(1 - (P * P).mean(axis=1) >= cross.diagonal(), 1, -1)
    G = signs[:, None] * cross
    return float(np.abs(G - G.T).max() / 2)


def source_case(label: str, data: Data, scale: float) -> InProcess:
    """Build the case "unmix these data to a slope of 1e-7, from three starts"."""
    contenders = {OURS: _ours, "scikit-learn": _fast_ica, "Picard": _picard}
    return InProcess(
        label=label,
        contenders={name: partial(make, data) for name, make in contenders.items()},
        check=partial(_stationary, data=data),
        scale=scale,
    )


def _ours(data: Data) -> Any:
    from mercer import ICA

    X, _ = data()
    return lambda: [ICA(tol=SLOPE, random_state=seed).fit(X).components_ for seed in SEEDS]


def _fast_ica(data: Data) -> Any:
    """Return FastICA by its faster whitening, with the loosest ``tol`` that reaches the slope."""
    from sklearn.decomposition import FastICA

    X, _ = data()

    def fit(tol: float) -> list[Any]:
        settings = {"whiten_solver": "eigh", "tol": tol, "max_iter": 500}
        return [FastICA(random_state=seed, **settings).fit(X) for seed in SEEDS]

    for exponent in range(6, 14):
        models = fit(10.0**-exponent)
        stalled = max(model.n_iter_ for model in models) == 500
        if stalled or max(slope(model.components_, X) for model in models) < SLOPE:
            break
    return lambda: [model.components_ for model in fit(10.0**-exponent)]


def _picard(data: Data) -> Any:
    from picard import picard

    X, _ = data()

    def fit(seed: int) -> np.ndarray:
        K, W, _ = picard(X.T, ortho=True, tol=SLOPE, max_iter=2000, random_state=seed)
        return W @ K

    return lambda: [fit(seed) for seed in SEEDS]


def _stationary(answers: Mapping[str, list[np.ndarray]], *, data: Data) -> str:
    X, A = data()
    slopes = {name: max(slope(W, X) for W in found) for name, found in answers.items()}
    said = f"Largest slopes left: {_list(slopes)}."
    # The fixed point may go around in circles; then its time is that of 500 steps.
    if max(value for name, value in slopes.items() if name != "scikit-learn") > SLOPE:
        raise Disagreement(said)
    if A is None:
        return said
    from mercer.independence import amari_distance

    far = {name: max(amari_distance(W, A) for W in found) for name, found in answers.items()}
    said += f" Largest distances of Amari: {_list(far, 6)}."
    # Only an answer that is stationary is one to compare with.
    if far[OURS] > min(far[name] for name, value in slopes.items() if value <= SLOPE) + 1e-5:
        raise Disagreement(said)
    return said


def _list(values: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}g}" for name, value in values.items())
