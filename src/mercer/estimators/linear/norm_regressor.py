"""Linear regression in a norm of the residuals."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from mercer._atomic_fit import AtomicFit
from mercer._files.fields import COUNT, Number, Numbers, State
from mercer._sklearn import LinearModel, fit_context
from mercer._typing import Array, Objects, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.judged import JudgedMachine, Training
from mercer.estimators.linear.penalty_judge import (
    design_matrix,
    judge_norm,
    norm_problem,
    root_of,
)
from mercer.estimators.state import ONE_LINEAR, check_weights
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import OPTIMAL_GAP, Certificate
from mercer.problems.penalties import ChebyshevProblem
from mercer.solvers.base import Budget, Statistics, Status
from mercer.solvers.linear.least_squares import accurate
from mercer.solvers.linear.penalised_regression import ChebyshevProgram, TiltedVertices


@parameters
class NormRegressor(AtomicFit, RegressorMixin, JudgedMachine, LinearModel):
    r"""Linear regression with the least norm of the residuals, certified.

    min ‖y − Xw − b‖  in L1, L2, L∞ or √(rᵀPr)

    L1 goes from vertex to vertex and L∞ is a linear program of HiGHS: both are exact and come with
    a dual point. L2 and P are solved by a singular value decomposition with scaled columns and
    refinement in extended precision, XᵀX is never formed; if the columns depend on each other, the
    shortest weights are taken and ``rank_`` says so.

    Parameters
    ----------
    norm : 1, 2, inf or array of shape (n_samples, n_samples)
        The norm, or a positive definite matrix P.
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
        How far the answer is from the best one: of the norm for L1 and L∞, of its square otherwise.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization (2004), section 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NormRegressor
    >>> X, y = [[0], [1], [2], [3], [4]], [0.0, 1.0, 2.0, 3.0, 40.0]  # one outlier
    >>> NormRegressor(norm=1).fit(X, y).predict([[4.0]]).round(6)  # goes through the others
    array([4.])
    >>> round(NormRegressor(norm=np.inf).fit(X, y).norm_, 6)  # the least largest error
    13.5
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
        "norm": ["array-like", int, float],
    }

    norm: float | ArrayLike = 2
    _: KW_ONLY
    fit_intercept: bool = True

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets) -> NormRegressor:
        """Fit the weights to the rows of X and their targets y."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        A, b = design_matrix(X, bool(self.fit_intercept)), np.asarray(y, np.float64)
        root, runs = root_of(self.norm, len(b)), [(Statistics(), Status.OPTIMAL)]
        self.interpolated_ = np.empty(0, np.intp)
        if np.ndim(self.norm) == 0 and self.norm in (1, np.inf):
            gram = FeatureGram.of_rows(A)
            if self.norm == 1:
                found = TiltedVertices().solve(norm_problem(b, 1), gram, Budget())
            else:
                found = ChebyshevProgram().solve(ChebyshevProblem(b), gram, Budget())
            x, self.multipliers_, self.interpolated_ = found.value
            self.rank_, runs = int(np.linalg.matrix_rank(A)), Training.runs_of([found])
            self.norm_ = found.certificate.primal
        else:
            A, b = (A, b) if root is None else (root @ A, root @ b)
            squares = accurate(A, b)
            x, self.rank_ = squares.x, squares.rank
            residual = b - A @ x
            self.multipliers_ = norm_problem(b, 2).multipliers(A, residual)
            self.norm_ = float(np.linalg.norm(residual))
        self._await_judgement(Training(X, y, np.ones(1), runs, OPTIMAL_GAP))
        self.coef_: Array = x[: X.shape[1]]
        self.intercept_: float = float(x[-1]) if self.fit_intercept else 0.0
        return self

    def _judge_training(self, training: Training) -> list[Certificate]:
        return [judge_norm(self, training.points, training.targets)]
