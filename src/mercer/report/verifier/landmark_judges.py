"""Functions of landmarks: kernel values of rows with landmarks, and the judges of such machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mercer.report.verifier.findings import (
    ROUNDING,
    Arrays,
    Found,
    Multiplied,
    Tree,
    labels_of,
    require,
    top,
)
from mercer.report.verifier.kernels import BLOCK, Sample, kernel_block
from mercer.report.verifier.page import Array, NoProof


class LandmarkProducts:
    """Kernel values of the first ``count`` rows, the landmarks, with each other and the rest.

    They are those of a kernel, or given as a matrix with a column for each landmark.
    """

    def __init__(
        self, gram: Tree, samples: Sequence[Array], count: int, n: int, matrix: Array | None
    ) -> None:
        self._gram, self._count, self._n, self._matrix = gram, count, n, matrix
        self._samples = [Sample(values) for values in samples] if matrix is None else []
        self.among = self._block(slice(0, count))
        try:
            self.L = np.linalg.cholesky((self.among + self.among.T) / 2)
        except np.linalg.LinAlgError:
            raise NoProof("the landmarks are not independent of each other") from None

    def _block(self, rows: slice) -> Array:
        if self._matrix is not None:
            return self._matrix[rows]
        landmarks = slice(0, self._count)
        return kernel_block(self._gram["kernel"], self._samples, rows, landmarks, self._n)

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        """Yield kernel values of some rows at a time, and which rows they are."""
        step = max(1, BLOCK // self._count)
        for start in range(self._count, self._n, step):
            part = slice(start, min(start + step, self._n))
            yield slice(start - self._count, part.stop - self._count), self._block(part)

    @property
    def rows(self) -> int:
        """How many rows there are beside the landmarks."""
        return self._n - self._count

    def at_rows(self, a: Array) -> Multiplied:
        """Return Σ a k(z, x) at all rows."""
        pairs = [(K @ a, np.abs(K) @ np.abs(a)) for _, K in self._parts()]
        return Multiplied(*(np.concatenate(side) for side in zip(*pairs, strict=True)))

    def at_landmarks(self, v: Array) -> Multiplied:
        """Return Σ v k(x, z) at all landmarks."""
        f, size = np.zeros((self._count, *v.shape[1:])), np.zeros((self._count, *v.shape[1:]))
        for part, K in self._parts():
            f += K.T @ v[part]
            size += np.abs(K).T @ np.abs(v[part])
        return Multiplied(f, size)

    def projected(self, V: Array) -> Multiplied:
        """Return K̃V with K̃ = K_nM K_MM⁻¹ K_Mn = ZZᵀ, which is positive semi-definite as it is."""
        Z = np.concatenate([np.linalg.solve(self.L, K.T).T for _, K in self._parts()])
        lengths = np.sqrt((Z**2).sum(axis=1))
        return Multiplied(Z @ (Z.T @ V), np.outer(lengths, lengths @ np.abs(V)))


class Distance:
    """f = Σ aⱼ k(zⱼ, ·) beside g/λ, of which s = K_Mn q are the values at the landmarks.

    ‖g‖² = sᵀK_MM⁻¹s. As s is near λK_MM a it is λ²aᵀK_MM a + 2λaᵀδ + δᵀK_MM⁻¹δ with the small
    δ = s − λK_MM a, of which only the last is seen through L⁻¹.
    """

    def __init__(self, K: LandmarkProducts, a: Array, s: Multiplied, penalty: float) -> None:
        pull = K.among @ a
        left = s.f - penalty * pull
        seen = np.linalg.solve(K.L, left)
        sizes = s.size + penalty * (np.abs(K.among) @ np.abs(a))
        self.square = float(np.vdot(a, pull))
        far = float(np.vdot(seen, seen))
        self.other = penalty * self.square + 2 * float(np.vdot(a, left)) + far / penalty
        """‖g‖²/λ."""
        self.stationarity = float(np.abs(seen).max())
        self.unsure = ROUNDING * float(np.linalg.norm(sizes)) / float(np.diagonal(K.L).min())
        twice = self.unsure * (2 * far**0.5 + self.unsure) / penalty
        self.rounding = ROUNDING * float(np.vdot(np.abs(a), sizes)) + twice


def judge_landmark_ridge(problem: Tree, data: Arrays, K: LandmarkProducts) -> Found:
    """Judge min ½ Σ w(y − f − b)² + ½λ‖f‖² over f = Σ aⱼ k(zⱼ, ·).

    With the errors e (less their mean where b is free) the dual value is Σ wey − ½ Σ we² − ‖g‖²/2λ,
    g = Σ wᵢeᵢ k(xᵢ, ·) on the span of the landmarks.
    """
    y, w, a = data["targets"], data["weights"], data["coefficients"]
    penalty, intercept = float(problem["lambda"]), bool(problem["intercept"])
    good = penalty > 0 and (w > 0).all() and a.shape == (len(K.among),) and len(y) == K.rows
    require(
        bool(good) and len(data["biases"]) == 1, "a ridge regression needs λ and weights above 0"
    )
    b = float(data["biases"][0])
    require(b == 0 or intercept, "a ridge regression without an intercept has one")
    f, size = K.at_rows(a)
    errors = y - b - f
    centred = errors - (float(w @ errors) / float(w.sum()) if intercept else 0.0)
    found = Distance(K, a, K.at_landmarks(w * centred), penalty)
    sizes = size + np.abs(y) + abs(b)
    values = float(w @ (np.abs(errors) * sizes + ROUNDING * sizes**2))
    return Found(
        primal=0.5 * float(w @ errors**2) + 0.5 * penalty * found.square,
        dual=float((w * centred) @ y) - 0.5 * (float(w @ centred**2) + found.other),
        stationarity=found.stationarity,
        value_rounding=ROUNDING * values + found.rounding,
        residual_rounding=found.unsure,
        mass=float(np.abs(w * centred).sum()),
    )


def judge_landmark_classes(problem: Tree, data: Arrays, K: LandmarkProducts) -> Found:
    """Judge min ½ Σ ‖f_c‖² + Σ Cᵢ ℓ(yᵢ, f(xᵢ) + b) over f_c = Σ aⱼ_c k(zⱼ, ·).

    ℓ is logistic, or the squared hinge of each class against the rest; two classes share one
    function. Multipliers β = −C∂ℓ give the dual value Σ Cω(β/C) − ½ Σ ‖g_c‖², ω(β) being the
    entropy, or tβ − β²/4 with t = ±1. What is left of Σ β, where b is free, costs what a constant
    of twice the size found could gain by it.
    """
    C, a, b, intercept = data["C"], data["coefficients"], data["biases"], problem["intercept"]
    good = a.shape == (len(K.among), len(b)) and len(data["targets"]) == K.rows
    require(good and bool((C > 0).all()), "there is not one coefficient for each landmark")
    require(bool(intercept) or not b.any(), "a machine without constants has some")
    functions = len(b)
    own = labels_of(data, 2 if functions == 1 else functions)
    f, size = K.at_rows(a)
    U = f + b
    if problem["loss"] == "logistic":
        scores = np.hstack([np.zeros((len(U), 1)), U]) if functions == 1 else U
        most = scores.max(axis=1, keepdims=True)
        powers = np.exp(scores - most)
        P = powers / powers.sum(axis=1, keepdims=True)
        losses = np.log(powers.sum(axis=1)) + most[:, 0] - scores[own]
        gains = -(P * np.log(np.where(P > 0, P, 1.0))).sum(axis=1)
        slopes = (own - P)[:, -functions:]
        steep = np.ones(len(U))
    else:
        require(problem["loss"] == "squared hinge", "a loss is none of those that are known")
        signs = np.where(own[:, -functions:], 1.0, -1.0)
        slack = np.maximum(0.0, 1 - signs * U)
        losses, slopes = (slack**2).sum(axis=1), 2 * signs * slack
        gains = (signs * slopes - slopes**2 / 4).sum(axis=1)
        steep = 2 * slack.sum(axis=1)
    beta = C[:, None] * slopes
    found = Distance(K, a, K.at_landmarks(beta), 1.0)
    drift = np.abs(beta.sum(axis=0)) if intercept else np.zeros(functions)
    sizes = (size + np.abs(b)).max(axis=1) + 1
    values = float((C * steep) @ sizes + ROUNDING * C @ sizes**2 + C @ np.abs(gains))
    return Found(
        primal=float(C @ losses) + found.square / 2,
        dual=float(C @ gains) - found.other / 2 - float(drift @ (2 * np.abs(b) + 1)),
        stationarity=found.stationarity,
        dual_feasibility=top(drift),
        value_rounding=ROUNDING * (2 * values + float(np.abs(beta).sum())) + found.rounding,
        residual_rounding=found.unsure,
        mass=float(np.abs(beta).sum()),
        broken=0.0,
    )
