"""A judge for regressions in a norm or with penalties of the residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils.validation import check_array

from mercer._typing import Array, Matrix, Model
from mercer.exceptions import InvalidParameter, NotPositiveDefinite
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import Certificate
from mercer.problems.penalties import (
    L1,
    L2,
    NAMES,
    ChebyshevProblem,
    Penalty,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)

NO_ROWS = np.empty(0, np.intp)
"""For answers that interpolate no rows, and judges who do not ask."""


def judge_norm(model: Model, X: Matrix, y: Array) -> Certificate:
    """Judge the weights and multipliers of a :class:`NormRegressor`."""
    A, b, x = _posed(model, X, y)
    if np.ndim(model.norm) == 0 and model.norm == np.inf:
        answer = VertexAnswer(x, model.multipliers_, NO_ROWS)
        return ChebyshevProblem(b).prove(answer, FeatureGram.of_rows(A))
    problem = norm_problem(b, model.norm)
    root = root_of(model.norm, len(b))
    if root is not None:
        A, problem = root @ A, norm_problem(root @ b, model.norm)
    return problem.prove(PenaltyAnswer(x, model.multipliers_), FeatureGram.of_rows(A))


def judge_penalties(model: Model, X: Matrix, y: Array) -> Certificate:
    """Judge the weights of a :class:`PenaltyRegressor`, and its multipliers where it has some."""
    A, b, x = _posed(model, X, y)
    problem = PenaltyProblem(b, penalty_of(model.penalty))
    multipliers = getattr(model, "multipliers_", None)
    return problem.prove(PenaltyAnswer(x, multipliers), FeatureGram.of_rows(A))


def design_matrix(X: Matrix, intercept: bool) -> Array:
    """Return the columns of X, and one of ones where there is an intercept."""
    return np.column_stack([X, np.ones(len(X))]) if intercept else X


def norm_problem(b: Array, norm: ArrayLike) -> PenaltyProblem:
    """Return the problem of least absolute deviations, or of least squares."""
    absolute = np.ndim(norm) == 0 and norm == 1
    return PenaltyProblem(b, L1(), "L1 regression") if absolute else PenaltyProblem(b, L2())


def penalty_of(given: Penalty | str) -> Penalty:
    """Return a penalty, given it or its name."""
    return NAMES[given]() if isinstance(given, str) else given


def root_of(norm: ArrayLike, n: int) -> Array | None:
    """Return the transposed Cholesky factor of P, None where the norm is none of a matrix."""
    if np.ndim(norm) == 0:
        if norm not in (1, 2, np.inf):
            raise InvalidParameter(f"norm={norm!r} has to be 1, 2, inf or a matrix P.")
        return None
    P = check_array(norm, dtype=np.float64)
    if P.shape != (n, n) or not np.allclose(P, P.T):
        raise InvalidParameter(
            f"The matrix of the norm has the shape {P.shape}; it has to be symmetric, with a "
            f"row and a column for each of the {n} samples."
        )
    try:
        return np.asarray(linalg.cholesky(P))
    except linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(P).min())
        raise NotPositiveDefinite(
            f"The matrix of the norm has the eigenvalue {least:.3g}, so √(rᵀPr) is no norm; "
            "use a positive definite one."
        ) from None


def _posed(model: Model, X: Matrix, y: Array) -> tuple[Array, Array, Array]:
    """Return the design matrix, the targets, and the weights with the intercept."""
    intercept, coef = bool(model.fit_intercept), np.asarray(model.coef_, np.float64)
    x = np.append(coef, float(model.intercept_)) if intercept else coef
    return design_matrix(X, intercept), np.asarray(y, np.float64), x
