"""Gaussian process classification."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtrs
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process.kernels import CompoundKernel, Kernel as TheirKernel
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from mercer._files.fields import (
    COUNT,
    LABELS,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    OneOf,
    State,
    WrongState,
)
from mercer._sklearn import Interval, StrOptions, check_targets
from mercer._typing import Array, BoolArray, IntArray, Labels, Objects, SampleWeights, Targets
from mercer.estimators.base import _check_rows
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnProbabilities
from mercer.estimators.gp.gp_base import GaussianProcess
from mercer.estimators.gp.gp_kernels import Parameters, parameters_of
from mercer.estimators.gp.gp_landmarks import LandmarkLatent, LandmarkPosterior, LatentFunction
from mercer.estimators.kernel_argument import check_definite
from mercer.estimators.state import ROWS
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.kernel_family import KernelFamily
from mercer.gram.radial_sum import values_between
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.evaluation import Evaluator, Pairs
from mercer.kernels.points import Points
from mercer.landmarks.choose import Nystrom, choose_landmarks, require_rows
from mercer.landmarks.landmark_evidence import LandmarkLaplace
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.problems.certificate import Certificate
from mercer.problems.processes import ModeProblem
from mercer.solvers.base import Budget
from mercer.solvers.gp.evidence import few_threads
from mercer.solvers.gp.evidence_ascent import Optimum
from mercer.solvers.gp.laplace import LaplaceEvidence, logistic_mean

_LEARNING_ROWS = 400
"""Rows at least on which parameters are learnt where landmarks stand for the rest."""


@dataclass(frozen=True, eq=False)
class Latent(LatentFunction):
    """The latent function of one class against others, given its training rows.

    ``weights`` is y − π, ``root`` √W and ``factor`` the L of B = I + √W K √W.
    """

    weights: Array
    root: Array
    factor: Array
    mode: Array
    value: float

    STATE: ClassVar[State] = {
        **LatentFunction.STATE,
        **dict.fromkeys(("weights", "root", "mode"), Numbers("n")),
        "factor": Numbers("n", "n", any_order=True),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where kernel, points and factor do not fit."""
        super().check_state()
        if not (np.diagonal(self.factor) > 0).all():
            raise WrongState("the parts of a latent function do not fit")

    def coefficients(self, points: Points) -> Array:
        return self.weights

    def mean(self, points: Points) -> Array:
        """Return the means of the latent function at new points."""
        return np.asarray(self._values(points)[0] @ self.weights)

    def moments(self, points: Points) -> tuple[Array, Array]:
        """Return the means and the variances of the latent function at new points."""
        K, own = self._values(points)
        mean = np.asarray(K @ self.weights)
        K *= self.root
        with few_threads(len(self.points)):
            half, _ = dtrtrs(self.factor.T, K.T, lower=0, trans=1, overwrite_b=1)
        return mean, own - np.einsum("ij,ij->j", half, half)

    def _values(self, points: Points) -> tuple[Array, float | Array]:
        """Return k of new and of training points, by rows, and k(x, x) of the new ones."""
        new, rows = points.rows, self.points.rows
        if new is not None and rows is not None:
            found = values_between(self.kernel, new, rows)
            if found is not None:
                return found
        K = Evaluator(self.kernel, Pairs(points, self.points, None, np.float64)).dense()
        return K, Evaluator(self.kernel, Pairs(points, None, None, np.float64)).diagonal()

    def evidence(self, max_iter: int) -> LaplaceEvidence:
        """Return the evidence as a function of the parameters of the kernel."""
        return LaplaceEvidence(
            KernelFamily(self.kernel, self.points, self.names, self.scales), self.labels, max_iter
        )


@parameters
class GaussianProcessClassifier(DrawnProbabilities, ClassifierMixin, GaussianProcess):
    """Gaussian process classification with any kernel on any data, by Laplace's approximation.

    f ~ GP(0, k), P(y = 1 | x) = σ(f(x)); several classes one against the rest, or in pairs

    A drop-in for ``sklearn.gaussian_process.GaussianProcessClassifier``, with its defaults.
    Probabilities are averages of σ over the latent function, by quadrature.

    Parameters
    ----------
    kernel : Kernel, optional
        ``1.0 * RBF(length_scale=1.0)`` with both parameters fixed by default.
    max_iter_predict, warm_start
        As in scikit-learn.
    multi_class : {"one_vs_rest", "one_vs_one"}
    n_jobs
        Taken for scikit-learn's sake; all cores work on each fit.
    approximation : None, int or Nystrom
        A number M of landmarks, or how to choose them: K_nM K_MM⁺ K_Mn stands for K, in time n·M²
        and memory n·M. The parameters of the kernel are learnt without landmarks, on 400 rows or
        on M where these are more.

    Attributes
    ----------
    classes_, n_classes_
    log_marginal_likelihood_value_ : float
        The approximate evidence, the mean of all where there are several classes.
    certificate_ : Certificate
        How far the modes are from the best ones, for the parameters that were learnt.

    Examples
    --------
    >>> from mercer import GaussianProcessClassifier, RBF
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1]
    >>> model = GaussianProcessClassifier(RBF(length_scale=1.0)).fit(X, y)
    >>> model.predict_proba([[0.5], [2.5]])[:, 1].round(2)  # half way nothing is known
    array([0.36, 0.5 ])
    """

    STATE: ClassVar[State] = {
        **ROWS,
        "classes_": LABELS,
        "n_classes_": COUNT,
        "latents_": ListOf(OneOf(A(Latent), A(LandmarkLatent))),
        "log_marginal_likelihood_value_": Number(finite=False),
        "certificate_": Maybe(A(Certificate)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless there is a latent function for each class or pair."""
        k = len(self.classes_)
        if k < 2 or k != self.n_classes_ or self.classes_.ndim != 1:
            raise WrongState("it has not two or more classes")
        pairs = k * (k - 1) // 2
        wanted = 1 if k == 2 else k if self.multi_class == "one_vs_rest" else pairs
        if len(self.latents_) != wanted:
            raise WrongState(f"it has {len(self.latents_)} latent functions for {k} classes")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GaussianProcess._parameter_constraints,
        "max_iter_predict": [Interval(Integral, 1, None, closed="left")],
        "multi_class": [StrOptions({"one_vs_rest", "one_vs_one"})],
        "n_jobs": [Integral, None],
    }

    _learnt: ClassVar[str] = "latents_"

    _: KW_ONLY
    max_iter_predict: int = 100
    warm_start: bool = False
    multi_class: str = "one_vs_rest"
    n_jobs: int | None = None

    def fit(self, X: Objects, y: Targets) -> Self:
        """Learn the parameters of the kernel, and find the mode of the posterior.

        Parameters
        ----------
        X : array, frame or list of shape (n, …)
        y : array of shape (n,)
            The classes.
        """
        budget = self._budget()
        self._check_parameters()
        self._require_targets(y)
        X = self._read_training(X, None)
        labels = check_targets(y, multi_output=False, estimator=self)
        check_classification_targets(labels)
        check_consistent_length(X, labels)
        _check_rows(X, type(self).__name__)
        if self._takes_vectors():
            self._check_columns(X)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        self.n_classes_ = len(self.classes_)
        if self.n_classes_ == 1:
            raise ValueError(
                "GaussianProcessClassifier requires 2 or more distinct classes; got 1 class (only "
                f"class {self.classes_[0]} is present)"
            )
        kernel, points = self._bind(X)
        spec = Nystrom.of(self.approximation, type(self).__name__)
        if spec is not None:
            require_rows(spec, len(points))
        check_definite(kernel, Definite.POSITIVE, False, type(self).__name__)
        self._warn_of_unlearnt(kernel)
        found = [
            self._fit_latent(kernel, points, rows, positive, spec, budget)
            for rows, positive in self._problems(codes)
        ]
        self.latents_ = [latent for latent, _ in found]
        self.certificate_ = Certificate.total([certificate for _, certificate in found])
        self.log_marginal_likelihood_value_ = float(np.mean([part.value for part in self.latents_]))
        return self

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        """Judge the modes from the training data alone."""
        parts = [latent.judge(points, own) for latent, points, own in self.state_modes(X, y)]
        return Certificate.total(parts).under("")

    def state_modes(
        self, X: Objects, y: Targets
    ) -> list[tuple[Latent | LandmarkLatent, Points, Array]]:
        """Return each latent function with its training points and their labels 0 and 1."""
        points, labels = self._new_points(X), np.asarray(y).ravel()
        if len(labels) != len(points) or not np.isin(labels, self.classes_).all():
            raise InvalidInput("certify: y has to hold the classes that the process was fitted on.")
        parts = self._problems(np.searchsorted(self.classes_, labels))
        pairs = zip(self.latents_, parts, strict=True)
        return [(latent, points.take(rows), own.astype(float)) for latent, (rows, own) in pairs]

    def predict(self, X: Objects) -> Labels:
        """Return the class of each object."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_rest":
            # σ averaged keeps the order of classes better than the mean of f alone.
            return self.classes_[self._shares(X).argmax(axis=1)]
        points = self._new_points(X)
        mean = np.array([latent.mean(points) for latent in self.latents_])
        if self.n_classes_ == 2:
            return self.classes_[(mean[0] > 0).astype(int)]
        votes = np.zeros((mean.shape[1], self.n_classes_))
        for (a, b), part in zip(combinations(range(self.n_classes_), 2), mean, strict=True):
            votes[np.arange(len(part)), np.where(part > 0, b, a)] += 1
            # Doubt decides between classes with as many votes.
            votes[:, b] += 1e-6 * np.tanh(part)
            votes[:, a] -= 1e-6 * np.tanh(part)
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: Objects) -> Array:
        """Return the probability of each class."""
        check_is_fitted(self)
        if self.n_classes_ > 2 and self.multi_class == "one_vs_one":
            raise ValueError(
                "one_vs_one multi-class mode does not support predicting probability estimates. "
                "Use one_vs_rest mode instead."
            )
        shares = self._shares(X)
        if self.n_classes_ == 2:
            return np.column_stack([1 - shares[:, 0], shares[:, 0]])
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def latent_mean_and_variance(self, X: Objects) -> tuple[Array, Array]:
        """Return the mean and the variance of the latent function (two classes)."""
        check_is_fitted(self)
        if self.n_classes_ > 2:
            raise ValueError(
                "Returning the mean and variance of the latent function f is only supported for "
                f"binary classification, received {self.n_classes_} classes."
            )
        mean, variance = self._moments(X)
        return mean[0], variance[0]

    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Return the approximate evidence of log parameters θ, with its gradient if asked for.

        For several classes it is the mean over the latent functions, and θ is for each of them or
        for all one after the other.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise ValueError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        at = np.asarray(theta, dtype=np.float64)
        count, size = len(self.latents_), len(self.latents_[0].names)
        if count > 1 and eval_gradient:
            raise NotImplementedError(
                "Gradient of log-marginal-likelihood not implemented for multi-class GPC."
            )
        if at.shape not in ((size,), (size * count,)):
            raise ValueError(
                f"Shape of theta must be either {size} or {size * count}. Obtained theta with "
                f"shape {at.shape}."
            )
        parts = np.resize(at, (count, size)) if at.size == size else at.reshape(count, size)
        if not clone_kernel and self.latents_[0].published is not self.latents_[0].kernel:
            for latent, part in zip(self.latents_, parts, strict=True):
                latent.published.theta = part
        values = [self._likelihood(latent, part, eval_gradient) for latent, part in
                  zip(self.latents_, parts, strict=True)]  # fmt: skip
        return values[0] if count == 1 else np.mean(values)

    @property
    def kernel_(self) -> Any:
        """The kernel with the parameters that were learnt, or the kernels of several classes."""
        if not hasattr(self, "latents_"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet.")
        kernels = [latent.published for latent in self.latents_]
        if len(kernels) == 1:
            return kernels[0]
        return CompoundKernel(kernels) if isinstance(kernels[0], TheirKernel) else kernels

    # ---- inside ------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        if isinstance(self.kernel, CompoundKernel):
            raise ValueError("kernel cannot be a CompoundKernel")
        self._validate_params()
        self._prior_kernel()
        Nystrom.of(self.approximation, type(self).__name__)  # refuses what is none

    def _free(self, kernel: Kernel, points: Points) -> Parameters:
        if self.kernel is not None:
            return super()._free(kernel, points)
        # scikit-learn's default kernel has nothing to learn.
        return parameters_of(None, kernel, points, list(kernel.free_parameters()), self.bounds)

    def _problems(self, codes: IntArray) -> list[tuple[IntArray, BoolArray]]:
        """Return the rows of each binary problem, and which of them are its positive class."""
        everything = np.arange(len(codes))
        if self.n_classes_ == 2:
            return [(everything, codes == 1)]
        if self.multi_class == "one_vs_rest":
            return [(everything, codes == c) for c in range(self.n_classes_)]
        pairs = []
        for a, b in combinations(range(self.n_classes_), 2):
            rows = np.flatnonzero((codes == a) | (codes == b))
            pairs.append((rows, codes[rows] == b))
        return pairs

    def _fit_latent(
        self,
        kernel: Kernel,
        points: Points,
        rows: IntArray,
        positive: BoolArray,
        spec: Nystrom | None,
        budget: Budget,
    ) -> tuple[Latent | LandmarkLatent, Certificate]:
        inside = points if len(rows) == len(points) else points.take(rows)
        free = self._free(kernel, points)
        labels = positive.astype(np.float64)
        if spec is not None:
            some = replace(spec, count=min(spec.count, len(inside)))
            return self._fit_on_landmarks(free, inside, rows, labels, some, budget)
        family = KernelFamily(free.kernel, inside, free.names, free.scales)
        evidence = LaplaceEvidence(family, labels, self.max_iter_predict)
        best = self._best(free, evidence, budget)
        found, _ = evidence.condition(best)
        latent = Latent(
            free.named(best.theta), free.published(best.theta), inside, rows, labels,
            list(free.names), free.scales, found.coef, found.mode.root, found.mode.factor.lower(),
            found.mode.f, best.value,
        )  # fmt: skip
        return latent, evidence.certify(found, family.gram(best.theta))

    def _fit_on_landmarks(
        self,
        free: Parameters,
        points: Points,
        rows: IntArray,
        labels: Array,
        spec: Nystrom,
        budget: Budget,
    ) -> tuple[LandmarkLatent, Certificate]:
        """Learn the parameters on a part of the rows; find the mode for all of them."""
        n = len(points)
        some = np.arange(0, n, -(-n // max(spec.count, _LEARNING_ROWS)))
        # Both classes have to be there.
        some = np.union1d(some, [labels.argmin(), labels.argmax()])
        family = KernelFamily(free.kernel, points.take(some), free.names, free.scales)
        part = LaplaceEvidence(family, labels[some], self.max_iter_predict)
        theta = self._best(free, part, budget).theta
        settled = free.named(theta)
        landmarks = choose_landmarks(settled, points, spec).points
        names = list(free.names)
        evidence = LandmarkLaplace(
            settled, points, landmarks, names, free.scales, labels, self.max_iter_predict
        )
        mode = evidence.mode(settled)
        latent = LandmarkLatent(
            settled, free.published(theta), points, rows, labels, names, free.scales,
            LandmarkPosterior.around(settled, points, mode), mode.value,
        )  # fmt: skip
        gram, coef = LandmarkGram.of(mode.basis, points), labels - mode.pi
        return latent, gram.declare(ModeProblem(labels).certify(coef, gram), coef)

    def _best(self, free: Parameters, evidence: LaplaceEvidence, budget: Budget) -> Optimum:
        """Return the log parameters with the highest evidence."""
        best = self._solver(free).ascend(evidence, budget)
        self._warn_of(best, free, evidence.value)
        if not np.isfinite(best.value):
            raise InvalidParameter(
                f"{type(self).__name__}: the kernel {free.kernel} is not positive definite on "
                "these data. Check it with check_kernel."
            )
        return best

    def _likelihood(self, latent: Latent | LandmarkLatent, theta: Array, gradient: bool) -> Any:
        evidence = latent.evidence(self.max_iter_predict)
        return evidence.value_and_gradient(theta) if gradient else np.float64(evidence.value(theta))

    def _new_points(self, X: Objects) -> Points:
        return self.latents_[0].kernel.encode(self._read_new(X))

    def _moments(self, X: Objects) -> tuple[Array, Array]:
        points = self._new_points(X)
        found = [latent.moments(points) for latent in self.latents_]
        return np.array([mean for mean, _ in found]), np.array([var for _, var in found])

    def _shares(self, X: Objects) -> Array:
        mean, variance = self._moments(X)
        pairs = zip(mean, variance, strict=True)
        return np.column_stack([_on_its_side(logistic_mean(m, v), m) for m, v in pairs])


def _on_its_side(share: Array, mean: Array) -> Array:
    """Keep E σ(f) on the side of ½ that the mean of f is on, where rounding has crossed it."""
    return np.where(mean > 0, np.maximum(share, 0.5), np.minimum(share, np.nextafter(0.5, 0)))
