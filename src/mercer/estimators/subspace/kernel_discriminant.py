"""Discriminant analysis in the feature space of a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from mercer._files.fields import (
    COUNT,
    LABELS,
    A,
    ListOf,
    Maybe,
    Number,
    Numbers,
    State,
    WrongState,
)
from mercer._sklearn import Interval
from mercer._typing import Array, Objects, Parameter, Targets
from mercer.estimators.base import NamedKernelMachine
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level, check_definite
from mercer.estimators.state import SEEN, check_rows
from mercer.estimators.subspace.class_spread import RESOLUTION
from mercer.estimators.subspace.discriminant import GaussianClasses, read_classes, read_priors
from mercer.estimators.subspace.drawn_projections import DrawnDiscriminant
from mercer.exceptions import InvalidInput, NotPositiveDefinite
from mercer.gram.centring import Centring
from mercer.gram.computed import Gram
from mercer.gram.expansion import Expansion
from mercer.gram.feature_gram import FeatureGram
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.features import Features
from mercer.kernels.points import Points
from mercer.landmarks.landmark_gram import LandmarkGram
from mercer.solvers.base import Budget

_ROUNDING, _FLAT = 1e-12, 1e-9
"""Shares of the scatter between classes that are 0, and distances from 1 that are none."""
_NEGATIVE = 1e-8
"""A negative eigenvalue, as a share of the largest, that is more than rounding."""


@parameters
class KernelDiscriminant(
    DrawnDiscriminant,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    GaussianClasses,
    NamedKernelMachine,
):
    """Fisher's discriminant of any objects: directions that separate the images of the classes.

    maximise  ⟨w, S_b w⟩ / ⟨w, (S_w + μI) w⟩  over  w = Σᵢ αᵢ φ̃(xᵢ)

    S_b and S_w are the scatters of the images φ̃, centred, between and within classes, and
    μ = ``reg`` · tr(K̃)/n. Since S_w + S_b is the whole scatter, the directions are
    α = (K̃/n + μI)⁻¹ H u: one factorisation of K̃, one right-hand side for each class (the columns of
    H), and a small eigenvalue problem for u. Objects are classified by Bayes' rule for Gaussian
    classes in the projection. With the linear kernel and ``reg=0`` this is
    :class:`LinearDiscriminantAnalysis`. Where ``reg=0`` leaves a direction along which the classes
    lie apart and have no spread, the quotient is infinite: such directions come first, as in the
    limit of a small μ, scaled as if the spread were 1e-4 of the distance.

    References: S. Mika et al. (1999), Neural Networks for Signal Processing IX; G. Baudat and
    F. Anouar (2000), Neural Computation 12.

    Parameters
    ----------
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        For kernels given by name, as in :class:`SVC`.
    reg : float
        The part of the mean variance that is added in all directions. A kernel with as many
        directions as objects separates any classes without it, and then says little of new ones.
    n_components : int or None
        Directions that ``transform`` keeps, at most classes − 1.
    priors : array or None
        Probabilities of the classes; their shares by default.
    strict : bool
        Whether a kernel that is not known to be positive semi-definite is refused.
    time_limit : float or None
        As in every kernel machine. The factorisation is one step and is not interrupted: a warning
        says when the fit took longer.
    approximation : None, int or Nystrom
        Take K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of K: time grows with n·M² and
        memory with n·M.

    Attributes
    ----------
    classes_, priors_ : arrays
        The classes and their probabilities.
    dual_coef_ : array of shape (n, directions)
        α.
    separation_ : array
        ⟨w, S_b w⟩ / ⟨w, (S_w + μI) w⟩ of each direction, descending; inf without a spread.
    means_ : array
        The means of the classes in the projection.
    kernel_ : Kernel
        The kernel with its parameters settled on the training data.
    residual_trace_ : float
        With an approximation only: tr(K − K_nM K_MM⁺ K_Mn).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDiscriminant
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> inside = (X**2).sum(axis=1) < 1
    >>> KernelDiscriminant().fit(X, inside).predict([[0.0, 0.0], [2.0, 0.0], [0.0, -2.0]])
    array([ True, False, False])
    """

    STATE: ClassVar[State] = {
        **SEEN,
        "classes_": LABELS,
        "priors_": Numbers("classes", low=0),
        "kernel_": A(Kernel),
        "shape_fit_": ListOf(COUNT, tuple),
        "_points": A(Points, size="points"),
        "_offset": Numbers("components"),
        "means_": Numbers("classes", "components", any_order=True),
        "dual_coef_": Numbers("points", "components", any_order=True),
        "separation_": Numbers("components", low=0, finite=False),
        "_condensed": Maybe(A(Expansion)),
        "residual_trace_": Maybe(Number(low=0)),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless points and classes are those of the kernel."""
        if self.classes_.ndim != 1 or len(self.classes_) < 2:
            raise WrongState("it has not two or more classes")
        self._points.check_encoded_for(self.kernel_)
        check_rows(self, len(self._points))

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **NamedKernelMachine._parameter_constraints,
        "kernel": "no_validation",
        "reg": [Interval(Real, 0, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "priors": ["array-like", None],
    }

    kernel: Parameter = "rbf"
    _: KW_ONLY
    reg: float = 1e-3
    n_components: int | None = None
    priors: ArrayLike | None = None
    strict: bool = False

    @property
    def _n_features_out(self) -> int:
        return int(self.dual_coef_.shape[1])

    def fit(self, X: Objects, y: Targets) -> Self:
        """Find the directions that separate the classes ``y``."""
        self._check_parameters()
        budget = Budget.within(self.time_limit)
        self._require_targets(y)
        X = self._read_training(X, y)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = read_classes(y, len(y))
        counts = np.bincount(codes)
        self.priors_ = read_priors(self.priors, counts, np.float64)
        most = len(counts) - 1
        if self.n_components is not None and self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components}: {len(counts)} classes are separated by "
                f"{most} directions. Ask for at most {most}."
            )
        self.kernel_, self._points = self._bind(X)
        check_definite(self.kernel_, Definite.CONDITIONAL, self.strict, type(self).__name__)
        for name in ("_condensed", "residual_trace_"):
            self.__dict__.pop(name, None)
        n = len(codes)
        # Weights of the rows: class c counts as its prior says, whatever its share.
        H = np.zeros((n, len(counts)))
        H[np.arange(n), codes] = 1.0 / counts[codes]
        projected = self._approximated(self.kernel_, self._points)
        if projected is not None:
            self._fit_landmarks(projected, H)
        else:
            gram = Gram(self.kernel_, self._points)
            centring = Centring.fit(gram)
            K = centring.apply(gram).dense(np.float64)
            self._solve(K, float(np.trace(K)) / n, partial(_scatter_solve, K), H, centring)
        if budget.seconds_left < 0:
            warnings.warn(
                f"KernelDiscriminant took longer than time_limit={self.time_limit:g} seconds; its "
                "answer is complete. Use fewer rows.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return self

    def _fit_landmarks(self, gram: LandmarkGram, H: Array) -> None:
        """Solve for the features z, of which there are few: K̃ is never formed."""
        Z = gram.features().astype(np.float64)
        Z -= Z.mean(axis=0)
        K = FeatureGram(Features.numbered(Z))
        variance = float(K.diag().mean())
        self._solve(K, variance, partial(_feature_scatter_solve, Z), H, Centring.fit(gram))
        self.kernel_, self.residual_trace_ = gram.kernel, gram.residual_trace
        self._condensed = gram.condensed(self.dual_coef_)

    def _solve(
        self,
        K: Array | FeatureGram,
        variance: float,
        scatter_solve: Callable[[Array, float, Array], Array],
        H: Array,
        centring: Centring,
    ) -> None:
        pi = self.priors_
        if variance < 0:
            raise self._indefinite(K, variance)
        if not variance > 0:
            raise InvalidInput(
                "KernelDiscriminant: all objects have the same image, so nothing separates them."
            )
        overall = H @ pi
        M = (H - overall[:, None]) * np.sqrt(pi)
        try:
            solved = scatter_solve(overall, self.reg * variance, M)
        except linalg.LinAlgError:
            raise self._indefinite(K, variance) from None
        B = M.T @ (K @ solved)
        shares, U = linalg.eigh((B + B.T) / 2)
        kept = self.n_components or len(pi) - 1
        shares, U = shares[::-1][:kept], U[:, ::-1][:, :kept]
        # S_b w = s (S_b + S_w) w: along s = 1 the classes have no spread, along s = 0 they agree.
        fine = shares > _ROUNDING
        shares, U = shares[fine], U[:, fine]
        flat = shares >= 1 - _FLAT
        within = np.where(flat, RESOLUTION**2 * shares, shares - shares**2)
        alpha = solved @ U / np.sqrt(within)
        alpha *= np.where(alpha[np.abs(alpha).argmax(axis=0), np.arange(alpha.shape[1])] < 0, -1, 1)
        self.separation_ = np.where(flat, np.inf, shares / np.where(flat, 1.0, 1 - shares))
        self.dual_coef_ = alpha
        # α sums to zero, so centring only moves the origin: to the mean weighted by the priors.
        T = K @ alpha
        origin = overall @ T
        self._offset = -centring.column_means @ alpha - origin
        self.means_ = H.T @ T - origin

    def _indefinite(self, K: Array | FeatureGram, variance: float) -> NotPositiveDefinite:
        """Say that a negative part of the kernel leaves the quotient without a maximum."""
        message = (
            f"KernelDiscriminant: the kernel {self.kernel_} is not positive semi-definite on these "
            f"data, and reg={self.reg:g} does not outweigh its negative part, so that the quotient "
            "has no maximum. "
        )
        if variance > 0:
            least = -float(linalg.eigvalsh(K, subset_by_index=(0, 0))[0])
            message += f"Take reg above {least / variance / K.shape[0]:.2g}, a "
        else:
            message += "Take a "
        return NotPositiveDefinite(
            message + "positive definite kernel, or repair(...) the matrix and give it as "
            "kernel='precomputed'."
        )

    def transform(self, X: Objects) -> Array:
        """Return the projections of objects on the directions."""
        X = self._read_new(X)
        if self._condensed is not None:
            return np.asarray(self._condensed(X) + self._offset)
        T = self._expand(X, self._points, self.dual_coef_)
        return np.asarray(T + self._offset)

    def decision_function(self, X: Objects) -> Array:
        """Return log p(class | x) up to a constant; log-odds of the second for two classes."""
        T = self.transform(X)
        scores = T @ self.means_.T - 0.5 * (self.means_**2).sum(axis=1) + np.log(self.priors_)
        return np.asarray(scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores)


def _scatter_solve(K: Array, weight: Array, mu: float, M: Array) -> Array:
    """Return α with Φᵀα = (S + μI)⁻¹ΦᵀM, S the scatter of weighted rows about their mean.

    Around that mean S = ΦᵀWΦ, so α = (WK + μI)⁻¹M = W^½(W^½KW^½ + μI)⁻¹W^(−½)M.
    """
    centre = K @ weight
    K = K - centre[:, None] - centre + float(weight @ centre)
    root = np.sqrt(weight)[:, None]
    A = root * K * root.T
    right = np.divide(M, root, out=np.zeros_like(M), where=root > 0)
    if mu > 0:
        A.flat[:: len(A) + 1] += mu
        solved = linalg.solve(A, right, assume_a="pos", overwrite_a=True, check_finite=False)
    else:
        values, vectors = linalg.eigh(A, overwrite_a=True, check_finite=False)
        if values[0] < -_NEGATIVE * max(values[-1], 0.0):
            raise linalg.LinAlgError("The scatter has a negative eigenvalue.")
        kept = values > 1e-10 * max(values[-1], 0.0)
        V = vectors[:, kept]
        solved = V @ ((V.T @ right) / values[kept, None])
    alpha = root * solved
    # Written about the weighted mean, Σα = 0; any centring then gives the same function.
    return np.asarray(alpha - np.outer(weight, alpha.sum(axis=0)))


def _feature_scatter_solve(Z: Array, weight: Array, mu: float, M: Array) -> Array:
    """Return the α of :func:`_scatter_solve` for K = ZZᵀ with few columns.

    α = (WZZᵀ + μI)⁻¹M = (M − WZ(ZᵀWZ + μI)⁻¹ZᵀM)/μ, and WZ(ZᵀWZ)⁺²ZᵀM where μ = 0.
    """
    Z = Z - weight @ Z
    S = Z.T @ (weight[:, None] * Z)
    right = Z.T @ M
    if mu > 0:
        S.flat[:: len(S) + 1] += mu
        solved = linalg.solve(S, right, assume_a="pos", overwrite_a=True, check_finite=False)
        alpha = (M - weight[:, None] * (Z @ solved)) / mu
    else:
        values, vectors = linalg.eigh(S, overwrite_a=True, check_finite=False)
        kept = values > 1e-10 * max(values[-1], 0.0)
        V = vectors[:, kept]
        alpha = weight[:, None] * (Z @ (V @ ((V.T @ right) / values[kept, None] ** 2)))
    return np.asarray(alpha - np.outer(weight, alpha.sum(axis=0)))
