"""Gaussian processes through landmarks: how they are learnt, and what they predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer._typing import Array, IntArray
from mercer.estimators.approximated import LandmarkView
from mercer.estimators.gp_judge import judge_mean
from mercer.estimators.gp_kernels import Parameters
from mercer.gram.landmarks import Nystrom, choose_landmarks
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.gram.operator import FeatureGram
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.features import Features
from mercer.kernels.points import Points
from mercer.problems.certificate import Certificate
from mercer.solvers.evidence import KernelFamily, Optimum, RegressionEvidence, maximise
from mercer.solvers.landmark_evidence import Conditioned, LandmarkEvidence, silent

_SOME = 400
"""Rows of the first, exact ascent, which tells where landmarks are wanted."""
_ROUGH = 1e-4
_ROUNDS = 3
"""Choices of landmarks, each for the parameters that were learnt with those before."""


@dataclass(frozen=True, eq=False)
class LandmarkPosterior:
    """A process conditioned on data through landmarks.

    At x, with z = L⁻¹k(M, x): mean z·v, variance k(x, x) − ‖z‖² + ‖L_B⁻¹z‖².

    Away from the landmarks z → 0 and the variance is that of the prior.
    """

    approximation: NystromKernel
    weights: Array
    B_factor: Array
    unseen: Array
    explained: Array
    noise: Array

    @classmethod
    def of(cls, kernel: Kernel, here: Conditioned) -> LandmarkPosterior:
        """Keep what predictions need."""
        basis = here.basis
        return cls(
            NystromKernel(silent(kernel), basis.points, basis.factor),
            here.whitened_weights(),
            here.B_factor,
            here.unseen,
            here.explained(),
            here.noise,
        )

    def mean(self, points: Points) -> Array:
        """Return the means, one column for each target."""
        basis = self.approximation.basis
        K = Evaluator(basis.kernel, Pairs(points, basis.points, None, np.float64)).dense()
        return np.asarray(K @ basis.coefficients(self.weights))

    def reduction(self, points: Points) -> tuple[Array, Array]:
        """Return z and L_B⁻¹z as columns: what the data take off the covariance, and leave on."""
        blocks = [block.T for _, block in self.approximation.basis.blocks(points, np.float64)]
        Z = np.hstack(blocks)
        return Z, np.asarray(solve_triangular(self.B_factor, Z, lower=True, check_finite=False))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return the diagonal of (Q + Λ)⁻¹, and the variance of each row given all others."""
        precision = (1 - self.explained) / self.noise
        return precision, 1 / precision + self.unseen

    def judge(self, points: Points, Y: Array, dual: Array, **cost: Any) -> Certificate:
        """Judge the mean, and say what the landmarks may cost."""
        view = LandmarkView.of(self.approximation, points)
        gram = FeatureGram(Features.numbered(view.features))
        certificate = judge_mean(gram, Y, dual, self.noise, **cost)  # type: ignore[arg-type]
        return view.declare(certificate, dual, float((self.noise[:, None] * dual**2).sum()))


class LandmarkLearner:
    """Learns the parameters of a kernel and chooses landmarks, in turns."""

    def __init__(self, free: Parameters, points: Points, Y: Array, noise: Array, spec: Nystrom):
        self.free, self.points, self.Y, self.noise, self.spec = free, points, Y, noise, spec

    def head_start(self) -> Array:
        """Return the parameters that some of the rows want, where rows are many."""
        n, theta = len(self.Y), self.free.theta
        if n <= 2 * _SOME or not len(theta):
            return theta
        some = np.arange(0, n, -(-n // _SOME))
        family = KernelFamily(self.free.kernel, self.points.take(some), self.free.names)
        part = RegressionEvidence(family, self.Y[some], self.noise[some])
        scales = self.free.scales

        def objective(at: Array) -> tuple[float, Array]:
            value, slope = part.value_and_gradient(at * scales)
            return value, slope * scales

        return maximise(objective, [theta], self.free.bounds, _ROUGH).theta

    def evidence(self, theta: Array) -> tuple[LandmarkEvidence, IntArray | None]:
        """Choose landmarks for some parameters; return the evidence through them."""
        values = zip(self.free.names, self.free.scales * theta, strict=True)
        named = {name: float(np.exp(value)) for name, value in values}
        kernel = self.free.kernel.with_parameters(named) if named else self.free.kernel
        found = choose_landmarks(silent(kernel), self.points, self.spec)
        evidence = LandmarkEvidence(
            self.free.kernel, self.points, found.points, self.free.names, self.Y, self.noise
        )
        return evidence, found.index

    def learn(self, ascend: Any, learns: bool) -> tuple[LandmarkEvidence, Optimum]:
        """Choose and climb in turns, as long as the bound rises.

        ``ascend(free, likelihood)`` climbs from the start in ``free``.
        """
        free = replace(self.free, start=self.head_start()) if learns else self.free
        best: tuple[LandmarkEvidence, Optimum] | None = None
        before: IntArray | None = None
        for _ in range(_ROUNDS if learns else 1):
            evidence, index = self.evidence(free.theta if best is None else best[1].theta)
            if best is not None:
                if index is None or before is None or np.array_equal(index, before):
                    break
                free = replace(free, start=best[1].theta)
            found = ascend(free, likelihood_of(evidence, free.scales))
            if best is not None and not found.value > best[1].value:
                break
            best, before = (evidence, found), index
        assert best is not None
        return best


def likelihood_of(evidence: LandmarkEvidence, scales: Array) -> Any:
    """Return the evidence as a function of θ, with its gradient if asked for."""

    def likelihood(theta: Array, gradient: bool) -> Any:
        if not gradient:
            return np.float64(evidence.value(theta * scales))
        value, slope = evidence.value_and_gradient(theta * scales)
        return value, slope * scales

    return likelihood
