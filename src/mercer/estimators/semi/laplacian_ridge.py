"""Kernel ridge regression for few targets and many points without one."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_array

from mercer._files.fields import State, WrongState
from mercer._sklearn import Interval
from mercer._typing import Array, Objects, SampleWeights, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import Training
from mercer.estimators.linear.magnitudes import check_squares
from mercer.estimators.semi.laplacian import LaplacianMachine, Pose
from mercer.estimators.state import BY_ROW, CONSTANTS
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.manifold import ManifoldProblem, Roughness


@parameters
class LaplacianRidge(DrawnRegressor, MultiOutputMixin, RegressorMixin, LaplacianMachine):
    r"""Kernel ridge regression for few targets and many points without one.

    min ½ Σ (yᵢ − f(xᵢ) − b)² + ½λ‖f‖² + ½μ fᵀLf,  f = Σ cⱼ k(xⱼ, ·)

    The errors are those of points whose target is known, the rest as in :class:`LaplacianSVC`.
    Where all targets are known and μ = 0 this is :class:`KernelRidge`.

    Parameters
    ----------
    alpha : float
        λ > 0.
    smoothness : float
        The weight μ ≥ 0 of the differences between neighbours.
    kernel : Kernel, str or function
        A kernel, the name of one, ``"precomputed"``, or a function of two batches.
    gamma, degree, coef0
        Parameters of kernels given by name, as in :class:`SVC`.
    n_neighbors, weights, normalized, power
        The graph and its Laplacian, as in :class:`LaplacianSVC`.
    fit_intercept : bool
        Whether there is a constant b, which costs nothing.
    tol : float
        The relative gap at the end.
    max_iter : int
        The most products with the kernel matrix.
    time_limit : float, optional
        Seconds after which it stops.
    strict : bool
        Whether a kernel that is not known to be positive definite is an error.
    approximation : None, int or Nystrom
        Take K_nM K_MM⁺ K_Mn, for so many landmarks M, in place of K, for the function and for the
        graph. ``residual_trace_`` is the trace of what that leaves out.

    Attributes
    ----------
    dual_coef_ : array of shape (n,) or (n, targets)
        The coefficients c.
    intercept_ : float or array of shape (targets,)
        The constant b.
    transduction_ : array of shape (n,) or (n, targets)
        The values f + b at the training points.
    graph_ : sparse array of shape (n, n)
        The weights of the edges between neighbours.
    n_connected_components_ : int
        The parts of the graph that no edge joins.
    kernel_ : Kernel
        The kernel, settled on the training data.
    certificate_ : Certificate
        How far the answer is from the best one.

    References
    ----------
    M. Belkin, P. Niyogi and V. Sindhwani, Manifold regularization, JMLR 7 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LaplacianRidge
    >>> X = np.linspace(0, 1, 21)[:, None]
    >>> y = np.full(21, np.nan)
    >>> y[0], y[20] = -1.0, 1.0
    >>> model = LaplacianRidge(alpha=0.01, smoothness=0.1).fit(X, y)
    >>> model.predict([[0.1], [0.9]]).round(1), model.certificate_.optimal
    (array([-0.7,  0.7]), True)
    """

    STATE: ClassVar[State] = {
        **LaplacianMachine.STATE,
        "dual_coef_": BY_ROW,
        "intercept_": CONSTANTS,
        "transduction_": BY_ROW,
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` where graph, coefficients and targets do not fit."""
        super().check_state()
        if np.size(self.intercept_) != (
            1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        ):
            raise WrongState("it has not one intercept for each target")

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **LaplacianMachine._parameter_constraints,
        "alpha": [Interval(Real, 0, None, closed="neither")],
    }

    alpha: float = 1.0

    def fit(self, X: Objects, y: Targets) -> Self:
        """Fit the machine to points with and without targets.

        Parameters
        ----------
        X : array, sparse matrix, frame or list of shape (n, …)
            Training objects, or their Gram matrix for ``kernel="precomputed"``.
        y : array of shape (n,) or (n, targets)
            The targets, NaN where one is not known.
        """
        self._check_parameters()
        X = self._read_pair(X, y)
        targets = self._read_targets(y)
        Y = targets.reshape(len(targets), -1)
        known = np.flatnonzero(np.isfinite(Y).any(axis=1))
        found = self._fit_functions(X, Y, known, self._pose(Y))
        one = targets.ndim == 1
        self.dual_coef_ = found.coef[:, 0].copy() if one else found.coef
        self.intercept_ = float(found.bias[0]) if one else found.bias
        self.transduction_ = found.values[:, 0].copy() if one else found.values
        return self

    def predict(self, X: Objects) -> Array:
        """Return f + b for each object: shape (m,) or (m, targets)."""
        values = self._values(X)
        return values[:, 0] if self.dual_coef_.ndim == 1 else values

    def _columns(self) -> Array:
        return self.dual_coef_.reshape(len(self.dual_coef_), -1)

    def _read_targets(self, y: Targets) -> Array:
        targets = np.asarray(
            check_array(
                y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
            )
        )
        check_squares(targets[np.isfinite(targets)], "y")
        without = np.flatnonzero(np.isnan(targets.reshape(len(targets), -1)).all(axis=0))
        if len(without):
            which = "" if targets.ndim == 1 else f" in column {without[0]}"
            raise InvalidInput(
                f"{type(self).__name__}: none of the {len(targets):,} points has a target{which} "
                "(NaN marks points without one). Give at least one."
            )
        return targets

    def _pose(self, Y: Array) -> Pose:
        known = [np.flatnonzero(np.isfinite(column)) for column in Y.T]
        a, intercept = float(self.alpha), bool(self.fit_intercept)

        def pose(roughness: Roughness) -> list[ManifoldProblem]:
            return [
                ManifoldProblem(
                    rows, Y[rows, j], np.ones(len(rows)), a, roughness, False, intercept
                )
                for j, rows in enumerate(known)
            ]

        return pose

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [self._judge_points(training.points, self._pose(training.targets))]

    def judge(self, X: Objects, y: Targets, sample_weight: SampleWeights) -> Certificate:
        """Return the certificate of the fitted machine, computed from its training data."""
        return self._certify(X, sample_weight, self.pose_targets(y))

    def pose_targets(self, y: Targets) -> Pose:
        """Return what makes the problems of the targets that the machine was fitted on."""
        Y = np.asarray(y, dtype=np.float64)
        if Y.shape != self.dual_coef_.shape:
            raise InvalidInput(
                f"certify: y of shape {Y.shape} is not what the model was fitted on: "
                f"{self.dual_coef_.shape}."
            )
        return self._pose(Y.reshape(len(Y), -1))
