"""Linear regression in a norm of the residuals."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import COUNT, Number, Numbers, State
from mercer._sklearn import Interval, fit_context
from mercer._typing import Array, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.magnitudes import check_squares
from mercer.estimators.linear.penalty_judge import (
    constrained_norm,
    design_matrix,
    judge_norm,
    norm_problem,
    residual_norm,
)
from mercer.estimators.linear.quick_answers import QuickValues
from mercer.estimators.state import ONE_LINEAR, check_weights
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.penalty_problems import ChebyshevProblem
from mercer.problems.vector_norms import Lp, Norm
from mercer.solvers.base import Budget, Solution, Statistics, Status
from mercer.solvers.linear.least_norm import LeastNorm, WeightsInBall
from mercer.solvers.linear.least_squares import accurate
from mercer.solvers.linear.penalised_regression import ChebyshevProgram, TiltedVertices

_TOL = 1e-6
"""The relative gap up to which an answer counts as the least norm; most are far below."""
Runs = list[tuple[Statistics, Status]]


@parameters
class NormRegressor(DrawnRegressor, AtomicFit, RegressorMixin, JudgedMachine, QuickValues):
    r"""Linear regression with the least norm of the residuals, certified.

    min ‖y − Xw − b‖  in any Lp with p ≥ 1 or √(rᵀPr); with a ``radius`` t subject to ‖w‖ ≤ t

    L1 goes from vertex to vertex and L∞ is a linear program of HiGHS: both are exact and come with
    a dual point. L2 and P are solved by a singular value decomposition with scaled columns and
    refinement in extended precision, XᵀX is never formed; if the columns depend on each other, the
    shortest weights are taken and ``rank_`` says so. Other p are solved by Newton's method.

    Parameters
    ----------
    norm : float, Norm or array of shape (n_samples, n_samples)
        p ≥ 1, inf included; a positive definite matrix P; or a norm of :mod:`mercer.norms`, such as
        ``norms.Lp(1.5)`` or ``norms.Quadratic(P)``.
    radius : float or None
        t of the constrained form: the weights stay in the ball ‖w‖ ≤ t, the intercept is free. The
        same weights minimise ‖y − Xw − b‖ + λ‖w‖ for some λ ≥ 0.
    ball : 1, 2, inf or Norm
        The norm of the weights, with a radius.
    fit_intercept : bool
        Whether there is an intercept b.

    Attributes
    ----------
    coef_, intercept_, n_features_in_, feature_names_in_
        As in scikit-learn.
    norm_ : float
        The norm of the residuals.
    rank_ : int
        The number of independent columns, the one of the intercept included.
    interpolated_ : array of int
        L1: the rows that the fit goes through, one for each independent column. L∞: the rows with
        the largest residual that decide. Otherwise empty.
    multipliers_ : array of shape (n_samples,)
        The dual point.
    certificate_ : Certificate
        How far the answer is from the best one: of the norm itself, but of its square for L2 and P
        without a radius.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), sections 6.1 and 6.3.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NormRegressor
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 5.0])
    >>> [round(float(NormRegressor(p).fit(X, y).coef_[0]), 3) for p in (1, 1.5, 3, np.inf)]
    [2.5, 2.5, 2.5, 2.5]
    >>> model = NormRegressor(2, radius=1.0).fit(X, y)
    >>> model.coef_, bool(model.certificate_.relative_gap < 1e-9)
    (array([1.]), True)
    """

    STATE: ClassVar[State] = {
        **ONE_LINEAR,
        "norm_": Number(low=0),
        "rank_": COUNT,
        "interpolated_": Numbers("interpolated", types="i", low=0),
        "multipliers_": Numbers("rows"),
    }
    check_state = check_weights

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "norm": ["array-like", int, float, Norm],
        "radius": [None, Interval(Real, 0, None, closed="neither")],
        "ball": [int, float, Norm],
    }

    norm: float | ArrayLike | Norm = 2
    _: KW_ONLY
    radius: float | None = None
    ball: float | Norm = 2
    fit_intercept: bool = True

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets) -> NormRegressor:
        """Fit the weights to the rows of X and their targets y."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        check_squares(X, "X")
        check_squares(y, "y")
        A, b = design_matrix(X, bool(self.fit_intercept)), np.asarray(y, np.float64)
        self.interpolated_ = np.empty(0, np.intp)
        p, root = residual_norm(self.norm, len(b))
        A, b = (A, b) if root is None else (root @ A, root @ b)
        x, runs = self._least(A, b, p, X.shape[1])
        self._await_judgement(Training(X, y, np.ones(1), runs, OPTIMAL_GAP))
        self.coef_: Array = x[: X.shape[1]]
        self.intercept_: float = float(x[-1]) if self.fit_intercept else 0.0
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [judge_norm(self, training.points, training.targets)]

    def _least(self, A: Array, b: Array, p: float, weights: int) -> tuple[Array, Runs]:
        """Return the weights of the columns of A, and publish what is known of them."""
        gram = FeatureGram.of_rows(A)
        found: Solution[Any]
        if self.radius is None and p == 2:
            squares = accurate(A, b)
            residual = b - A @ squares.x
            self.multipliers_ = norm_problem(b, 2).multipliers(A, residual)
            self.rank_, self.norm_ = squares.rank, float(np.linalg.norm(residual))
            return squares.x, [(Statistics(), Status.OPTIMAL)]
        if self.radius is not None:
            problem = constrained_norm(self, b, p, weights)
            found = WeightsInBall().solve(problem, gram, Budget(tol=_TOL))
        elif p == 1:
            found = TiltedVertices().solve(norm_problem(b, 1), gram, Budget())
            self.interpolated_ = found.value.rows
        elif p == np.inf:
            found = ChebyshevProgram().solve(ChebyshevProblem(b), gram, Budget())
            self.interpolated_ = found.value.rows
        else:
            problem = constrained_norm(self, b, p, weights)
            found = LeastNorm().solve(problem, gram, Budget(tol=_TOL))
        x, nu = found.value[:2]
        if nu is None:
            nu = problem.multipliers(A, b - A @ x)
        self.multipliers_, self.norm_ = nu, found.certificate.primal
        self.rank_ = int(np.linalg.matrix_rank(A))
        # Of residuals that are rounding nobody needs to know which are the least.
        least_size = max(self.norm_, 1e-8 * float(Lp(p)(b)))
        if found.certificate.gap > _TOL * least_size:
            warnings.warn(
                f"NormRegressor: the answer is within {found.certificate.relative_gap:.2g} of the "
                "least norm (relative duality gap): scale the columns, or take a p that is not so "
                "near 1 or so large.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return np.asarray(x), Training.runs_of([found])
