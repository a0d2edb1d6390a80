"""A judge for regressions in a norm or with penalties of the residuals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from mercer._typing import Array, Matrix, Model
from mercer.exceptions import InvalidParameter
from mercer.gram.feature_gram import FeatureGram
from mercer.problems.certificate import Certificate
from mercer.problems.norm_regression import NormProblem
from mercer.problems.penalties import (
    L1,
    L2,
    NAMES,
    Penalty,
)
from mercer.problems.penalty_problems import (
    ChebyshevProblem,
    PenaltyAnswer,
    PenaltyProblem,
    VertexAnswer,
)
from mercer.problems.vector_norms import Lp, Norm, as_norm

NO_ROWS = np.empty(0, np.intp)
"""For answers that interpolate no rows, and judges who do not ask."""


def judge_norm(model: Model, X: Matrix, y: Array) -> Certificate:
    """Judge the weights and multipliers of a :class:`NormRegressor`."""
    A, b, x = _posed(model, X, y)
    p, root = residual_norm(model.norm, len(b))
    A, b = (A, b) if root is None else (root @ A, root @ b)
    gram, nu = FeatureGram.of_rows(A), model.multipliers_
    if model.radius is not None or p not in (1, 2, np.inf):
        return constrained_norm(model, b, p, X.shape[1]).prove(PenaltyAnswer(x, nu), gram)
    if p == np.inf:
        return ChebyshevProblem(b).prove(VertexAnswer(x, nu, NO_ROWS), gram)
    return norm_problem(b, p).prove(PenaltyAnswer(x, nu), gram)


def judge_penalties(model: Model, X: Matrix, y: Array) -> Certificate:
    """Judge the weights of a :class:`PenaltyRegressor`, and its multipliers where it has some."""
    A, b, x = _posed(model, X, y)
    problem = PenaltyProblem(b, penalty_of(model.penalty))
    multipliers = getattr(model, "multipliers_", None)
    return problem.prove(PenaltyAnswer(x, multipliers), FeatureGram.of_rows(A))


def design_matrix(X: Matrix, intercept: bool) -> Array:
    """Return the columns of X, and one of ones where there is an intercept."""
    return np.column_stack([X, np.ones(len(X))]) if intercept else X


def norm_problem(b: Array, p: float) -> PenaltyProblem:
    """Return the problem of least absolute deviations, or of least squares."""
    return PenaltyProblem(b, L1(), "L1 regression") if p == 1 else PenaltyProblem(b, L2())


def constrained_norm(model: Model, b: Array, p: float, weights: int) -> NormProblem:
    """Return the problem of any norm, with the weights in a ball where the model has one."""
    if model.radius is None:
        return NormProblem(b, Lp(p))
    return NormProblem(b, Lp(p), float(model.radius), as_norm(model.ball), weights)


def penalty_of(given: Penalty | str) -> Penalty:
    """Return a penalty, given it or its name."""
    return NAMES[given]() if isinstance(given, str) else given


def residual_norm(given: Norm | ArrayLike, n: int) -> tuple[float, Array | None]:
    """Return p, and the transposed Cholesky factor of P where the norm is a quadratic one."""
    norm = as_norm(given)
    p, P = getattr(norm, "p", None), getattr(norm, "P", None)
    if not norm.is_norm or (p is None and P is None):
        raise InvalidParameter(
            f"norm={given!r} has to be a number p ≥ 1, inf included, a matrix P, norms.Lp(p) or "
            "norms.Quadratic(P)."
        )
    if P is None:
        return float(p), None  # type: ignore[arg-type]
    if P.shape != (n, n):
        raise InvalidParameter(
            f"The matrix of the norm has the shape {P.shape}; it has to be symmetric, with a "
            f"row and a column for each of the {n} samples."
        )
    return 2.0, np.asarray(linalg.cholesky(P))


def _posed(model: Model, X: Matrix, y: Array) -> tuple[Array, Array, Array]:
    """Return the design matrix, the targets, and the weights with the intercept."""
    intercept, coef = bool(model.fit_intercept), np.asarray(model.coef_, np.float64)
    x = np.append(coef, float(model.intercept_)) if intercept else coef
    return design_matrix(X, intercept), np.asarray(y, np.float64), x
