"""Linear regression in a norm of the residuals."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import COUNT, Number, Numbers, State
from mercer._sklearn import Interval, LinearModel, fit_context
from mercer._typing import Array, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.state import ONE_LINEAR, check_weights
from mercer.exceptions import InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import L1, L2, ChebyshevProblem, PenaltyAnswer, PenaltyProblem
from mercer.problems.vector_norms import Lp, Norm, as_norm
from mercer.solvers.base import Budget, Solution
from mercer.solvers.linear.least_norm import LeastNorm, WeightsInBall
from mercer.solvers.linear.least_squares import accurate
from mercer.solvers.linear.penalised_regression import ChebyshevProgram, TiltedVertices

_TOL = 1e-6
"""The relative gap up to which an answer counts as the least norm; most are far below."""


@parameters
class NormRegressor(AtomicFit, RegressorMixin, LinearModel):
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
        A = np.column_stack([X, np.ones(len(y))]) if self.fit_intercept else X
        b = np.asarray(y, np.float64)
        self.interpolated_ = np.empty(0, np.intp)
        p, P = self._residual_norm()
        if P is not None:
            root = _root(P, len(b))
            A, b = root @ A, root @ b
        x = self._least(A, b, p, X.shape[1])
        self.coef_: Array = x[: X.shape[1]]
        self.intercept_: float = float(x[-1]) if self.fit_intercept else 0.0
        return self

    def _least(self, A: Array, b: Array, p: float, weights: int) -> Array:
        """Return the weights of the columns of A, and publish what is known of them."""
        gram = FeatureGram.of_rows(A)
        found: Solution[Any]
        if self.radius is not None:
            problem = NormProblem(b, Lp(p), float(self.radius), as_norm(self.ball), weights)
            found = WeightsInBall().solve(problem, gram, Budget(tol=_TOL))
        elif p == 2:
            squares = accurate(A, b)
            least, product = PenaltyProblem(b, L2()), A @ squares.x
            self.multipliers_ = least.multipliers(A, b - product)
            answer = PenaltyAnswer(squares.x, self.multipliers_)
            self.certificate_, self.rank_ = least.certify(answer, gram, product), squares.rank
            self.norm_ = float(np.sqrt(self.certificate_.primal))
            return squares.x
        elif p == 1:
            least = PenaltyProblem(b, L1(), "L1 regression")
            found = TiltedVertices().solve(least, gram, Budget())
            self.interpolated_ = found.value.rows
        elif p == np.inf:
            found = ChebyshevProgram().solve(ChebyshevProblem(b), gram, Budget())
            self.interpolated_ = found.value.rows
        else:
            problem = NormProblem(b, Lp(p))
            found = LeastNorm().solve(problem, gram, Budget(tol=_TOL))
        x, nu = found.value[:2]
        if nu is None:
            nu = problem.multipliers(A, b - A @ x)
        self.multipliers_, self.certificate_ = nu, found.certificate
        self.rank_ = int(np.linalg.matrix_rank(A))
        self.norm_ = found.certificate.primal
        # Of residuals that are rounding nobody needs to know which are the least.
        least_size = max(self.norm_, 1e-8 * float(Lp(p)(b)))
        if self.certificate_.gap > _TOL * least_size:
            warnings.warn(
                f"NormRegressor: the answer is within {self.certificate_.relative_gap:.2g} of the "
                "least norm (relative duality gap): scale the columns, or take a p that is not so "
                "near 1 or so large.",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        return np.asarray(x)

    def _residual_norm(self) -> tuple[float, Array | None]:
        """Return p, and the matrix P where the norm is a quadratic one."""
        norm = as_norm(self.norm)
        p, P = getattr(norm, "p", None), getattr(norm, "P", None)
        if not norm.is_norm or (p is None and P is None):
            raise InvalidParameter(
                f"norm={self.norm!r} has to be a number p ≥ 1, inf included, a matrix P, "
                "norms.Lp(p) or norms.Quadratic(P)."
            )
        return (2.0, P) if p is None else (float(p), None)


def _root(P: Array, n: int) -> Array:
    """Return the transposed Cholesky factor of P."""
    if P.shape != (n, n):
        raise InvalidParameter(
            f"The matrix of the norm has the shape {P.shape}; it has to be symmetric, with a "
            f"row and a column for each of the {n} samples."
        )
    return np.asarray(linalg.cholesky(P))
