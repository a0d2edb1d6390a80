"""Gaussian processes through landmarks: how they are learnt, and what they predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit

from mercer._files.fields import TEXT, A, ListOf, Number, Numbers, State, WrongState
from mercer._typing import Array, IntArray
from mercer.estimators.gp.gp_kernels import Parameters
from mercer.gram.computed import Gram
from mercer.gram.kernel_family import KernelFamily
from mercer.kernels.base import Kernel
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom, choose_landmarks
from mercer.landmarks.landmark_evidence import (
    Conditioned,
    LandmarkEvidence,
    LandmarkLaplace,
    LandmarkMode,
    without_noise,
)
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.landmarks.nystrom_kernel import NystromKernel
from mercer.problems.certificate import Certificate
from mercer.problems.processes import MeanProblem, ModeProblem
from mercer.solvers.gp.evidence import RegressionEvidence
from mercer.solvers.gp.evidence_ascent import Optimum, maximise

_SOME = 400
"""Rows of the first, exact ascent, which tells where landmarks are wanted."""
_ROUGH = 1e-4
"""Tolerance of that ascent: its end is a start only."""
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

    STATE: ClassVar[State] = {
        "approximation": A(NystromKernel),
        "weights": Numbers("landmarks", "targets", any_order=True),
        "B_factor": Numbers("landmarks", "landmarks", any_order=True),
        **dict.fromkeys(("unseen", "explained", "noise"), Numbers("rows", low=0)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where landmarks, weights and factor do not fit."""
        if not (np.diagonal(self.B_factor) > 0).all():
            raise WrongState("its factor has no positive diagonal")
        if len(self.approximation) != len(self.weights):
            raise WrongState("it has not one weight for each landmark")

    @classmethod
    def of(cls, kernel: Kernel, here: Conditioned) -> LandmarkPosterior:
        """Keep what predictions need."""
        basis = here.basis
        return cls(
            NystromKernel(without_noise(kernel), basis.points, basis.factor),
            here.whitened_weights(),
            here.B_factor,
            here.unseen,
            here.explained(),
            here.noise,
        )

    @classmethod
    def around(cls, kernel: Kernel, points: Points, mode: LandmarkMode) -> LandmarkPosterior:
        """Return the Gaussian around a mode, which is that of a regression with noise W⁻¹."""
        basis, W = mode.basis, np.maximum(mode.pi * (1 - mode.pi), 1e-300)
        half = solve_triangular(mode.B_factor, mode.Z.T, lower=True, check_finite=False)
        return cls(
            NystromKernel(kernel, basis.points, basis.factor),
            mode.v[:, None],
            mode.B_factor,
            basis.residual(points, mode.Z),
            W * np.einsum("ij,ij->j", half, half),
            1 / W,
        )

    def moments(self, points: Points) -> tuple[Array, Array]:
        """Return the means of the first target, and the variances."""
        Z, half = self.reduction(points)
        kernel = self.approximation.kernel
        own = Evaluator(kernel, Pairs(points, None, None, np.float64)).diagonal()
        taken, left = (np.einsum("ij,ij->j", part, part) for part in (Z, half))
        return Z.T @ self.weights[:, 0], own - taken + left

    def mean(self, points: Points) -> Array:
        """Return the means, one column for each target."""
        basis = self.approximation.basis
        K = Evaluator(basis.kernel, Pairs(points, basis.points, None, np.float64)).dense()
        return np.asarray(K @ basis.coefficients(self.weights))

    def on_rows(self, points: Points) -> Array:
        """Return the coefficients of the mean on training rows; zeros if landmarks are no rows."""
        columns = np.zeros((len(points), self.weights.shape[1]))
        landmarks = self.approximation.points.ids
        order = np.argsort(points.ids)
        at = order[np.searchsorted(points.ids, landmarks, sorter=order).clip(max=len(order) - 1)]
        if np.array_equal(points.ids[at], landmarks):
            columns[at] = self.approximation.basis.coefficients(self.weights)
        return columns

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
        gram = LandmarkGram.of(self.approximation.basis, points)
        certificate = replace(MeanProblem(Y, self.noise).certify(dual, gram), **cost)
        return gram.declare(certificate, dual, float((self.noise[:, None] * dual**2).sum()))


@dataclass(frozen=True, eq=False)
class LatentFunction:
    """What latent functions of one class against others share, however they are computed."""

    kernel: Kernel
    published: Any
    points: Points
    rows: IntArray
    labels: Array
    names: list[str]
    scales: Array

    STATE: ClassVar[State] = {
        **dict.fromkeys(("kernel", "published"), A(Kernel)),
        "points": A(Points, size="n"),
        "rows": Numbers("n", types="i", low=0),
        "labels": Numbers("n"),
        "names": ListOf(TEXT),
        "scales": Numbers("free"),
        "value": Number(finite=False),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where kernel, points and names do not fit."""
        self.points.check_encoded_for(self.kernel)
        free = self.kernel.free_parameters()
        if len(self.names) != len(self.scales) or not set(self.names) <= set(free):
            raise WrongState("the parts of a latent function do not fit")

    def covariance(self) -> Kernel:
        """Return the kernel of the prior, that of landmarks where there are some."""
        return self.kernel

    def coefficients(self, points: Points) -> Array:
        """Return the published y − π of the training points."""
        raise NotImplementedError

    def judge(self, points: Points, labels: Array) -> Certificate:
        """Judge the mode from training points and labels 0 and 1."""
        gram = Gram(self.covariance(), points, dtype=np.float64)
        return ModeProblem(labels).certify(self.coefficients(points), gram)


@dataclass(frozen=True, eq=False)
class LandmarkLatent(LatentFunction):
    """The latent function of one class against others, on landmarks of its training rows."""

    posterior: LandmarkPosterior
    value: float

    STATE: ClassVar[State] = {**LatentFunction.STATE, "posterior": A(LandmarkPosterior)}

    def mean(self, points: Points) -> Array:
        """Return the means of the latent function at new points."""
        return self.posterior.mean(points)[:, 0]

    def moments(self, points: Points) -> tuple[Array, Array]:
        """Return the means and the variances of the latent function at new points."""
        return self.posterior.moments(points)

    def covariance(self) -> NystromKernel:
        return self.posterior.approximation

    def coefficients(self, points: Points) -> Array:
        return np.asarray(self.labels - expit(self.mean(points)))

    def judge(self, points: Points, labels: Array) -> Certificate:
        coef, gram = self.coefficients(points), LandmarkGram.of(self.covariance().basis, points)
        return gram.declare(ModeProblem(labels).certify(coef, gram), coef)

    def evidence(self, max_iter: int) -> LandmarkLaplace:
        """Return the evidence as a function of the parameters of the kernel."""
        landmarks = self.posterior.approximation.points
        return LandmarkLaplace(
            self.kernel, self.points, landmarks, self.names, self.scales, self.labels, max_iter
        )


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
        found = choose_landmarks(without_noise(kernel), self.points, self.spec)
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
