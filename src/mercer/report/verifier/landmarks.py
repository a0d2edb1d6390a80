"""Ridge regression on landmarks: products of rows with landmarks, and its judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mercer.report.verifier.judges import ROUNDING, Found, Multiplied, Tree
from mercer.report.verifier.kernels import BLOCK, Sample, kernel_block
from mercer.report.verifier.page import Array, NoProof


class LandmarkProducts:
    """Kernel values of the first ``count`` rows, the landmarks, with each other and the rest."""

    def __init__(self, kernel: Tree, samples: Sequence[Array], count: int, n: int) -> None:
        self._kernel, self._count, self._n = kernel, count, n
        self._samples = [Sample(values) for values in samples]
        self.among = self._block(slice(0, count))

    def _block(self, rows: slice) -> Array:
        landmarks = slice(0, self._count)
        return kernel_block(self._kernel, self._samples, rows, landmarks, self._n)

    def _parts(self) -> list[slice]:
        step = max(1, BLOCK // self._count)
        starts = range(self._count, self._n, step)
        return [slice(start, min(start + step, self._n)) for start in starts]

    @property
    def rows(self) -> int:
        """How many rows there are beside the landmarks."""
        return self._n - self._count

    def at_rows(self, a: Array) -> Multiplied:
        """Return Σ a k(z, x) at all rows."""
        blocks = (self._block(part) for part in self._parts())
        products = np.vstack([np.stack([K @ a, np.abs(K) @ np.abs(a)], axis=1) for K in blocks])
        return Multiplied(products[:, 0], products[:, 1])

    def at_landmarks(self, v: Array) -> Multiplied:
        """Return Σ v k(x, z) at all landmarks."""
        f, size = np.zeros(self._count), np.zeros(self._count)
        for part in self._parts():
            K = self._block(part)
            own = v[part.start - self._count : part.stop - self._count]
            f += own @ K
            size += np.abs(own) @ np.abs(K)
        return Multiplied(f, size)


def judge_landmarks(problem: Tree, data: Mapping[str, Array], K: LandmarkProducts) -> Found:
    """Judge min ½ Σ w(y − f − b)² + ½λ‖f‖² over f = Σ aⱼ k(zⱼ, ·).

    With the errors e (less their mean where b is free) the dual value is Σ wey − ½ Σ we² − ‖g‖²/2λ,
    where g has the values s = K_Mn(we) at the landmarks, ‖g‖² = sᵀK_MM⁻¹s. As s is near λ K_MM a,
    that is λ²aᵀK_MM a + 2λaᵀδ + δᵀK_MM⁻¹δ with the small δ = s − λ K_MM a.
    """
    y, w, a = data["targets"], data["weights"], data["coefficients"]
    penalty, intercept = float(problem["lambda"]), bool(problem["intercept"])
    good = penalty > 0 and (w > 0).all() and a.shape == (len(K.among),) and len(y) == K.rows
    if not (good and len(data["biases"]) == 1):
        raise NoProof("a ridge regression needs λ > 0 and weights above 0, one for each row")
    b = float(data["biases"][0])
    if b != 0 and not intercept:
        raise NoProof("a ridge regression without an intercept has one")
    try:
        L = np.linalg.cholesky(K.among)
    except np.linalg.LinAlgError:
        raise NoProof("the landmarks are not independent of each other") from None
    f, size = K.at_rows(a)
    errors = y - b - f
    centred = errors - (float(w @ errors) / float(w.sum()) if intercept else 0.0)
    s, pull = K.at_landmarks(w * centred), K.among @ a
    delta = np.linalg.solve(L, s.f - penalty * pull)
    square = float(a @ pull)
    apart = float(a @ (s.f - penalty * pull))
    sizes = size + np.abs(y) + abs(b)
    slopes = s.size + penalty * (np.abs(K.among) @ np.abs(a))
    unsure = ROUNDING * float(np.linalg.norm(slopes)) / float(np.diagonal(L).min())
    values = float(w @ (np.abs(errors) * sizes + ROUNDING * sizes**2)) + float(np.abs(a) @ slopes)
    twice = unsure * (2 * float(np.linalg.norm(delta)) + unsure) / penalty
    best = float(w @ centred**2)
    return Found(
        primal=0.5 * float(w @ errors**2) + 0.5 * penalty * square,
        dual=float((w * centred) @ y)
        - 0.5 * (best + penalty * square + 2 * apart + float(delta @ delta) / penalty),
        stationarity=float(np.abs(delta).max()),
        primal_feasibility=0.0,
        dual_feasibility=0.0,
        complementarity=0.0,
        value_rounding=ROUNDING * values + twice,
        residual_rounding=unsure,
        product_rounding=0.0,
        mass=float(np.abs(w * centred).sum()),
    )
