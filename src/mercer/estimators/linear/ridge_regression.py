"""Ridge regression in scikit-learn's grammar, with certificates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin

from mercer._files.fields import TEXT, Maybe, State
from mercer._sklearn import Interval, StrOptions, check_sample_weight, fit_context
from mercer._typing import Array, Objects, SampleWeights, Seed, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedFunctions, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.linear_judge import judge_squares
from mercer.estimators.linear.magnitudes import LARGEST_SQUARES, check_range
from mercer.estimators.linear.quick_answers import QuickValues
from mercer.estimators.linear.reading import QuickReading, quiet_blas
from mercer.estimators.linear.sparse import SHARPNESS, warn_unfinished
from mercer.estimators.state import LINEAR, check_weights
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.linalg.column_products import (
    MOST_COLUMNS,
    column_products,
    residual_products,
    suit_products,
)
from mercer.problems.certificate import Certificate
from mercer.problems.elastic_net import LassoAnswer, LassoProblem, in_units
from mercer.solvers.base import Budget, Solver, Statistics, Status
from mercer.solvers.linear.gram_cache import GramCache
from mercer.solvers.linear.lasso import ElasticNetDescent
from mercer.solvers.linear.least_squares import (
    LeastSquaresRounds,
    PlainLeastSquares,
    RidgeFactors,
)
from mercer.solvers.linear.ridge_products import weights_by_products

_SAME_FIT = 1e-3
"""Share of the largest target by which answers of the fit, perhaps in float32, may differ."""
_ROUNDS = ("lsqr", "sag", "saga")
"""Solvers that count rounds in scikit-learn."""
_SLOW_SAG = 1e-4
"""Tolerances above it end the rounds of scikit-learn's ``"sag"`` too soon for an intercept."""
_SURE = 1e-9
"""What a leverage lacks of 1 at least where a row is not alone in what it determines."""


@parameters
class Ridge(
    DrawnRegressor, QuickReading, MultiOutputMixin, RegressorMixin, JudgedFunctions, QuickValues
):
    r"""Least squares with a squared ℓ₂ penalty, certified.

    min ‖y − Xw − b‖² + α‖w‖²

    A drop-in for :class:`sklearn.linear_model.Ridge`. Here λ of textbooks is α. Cholesky factors
    of the smaller of XᵀX and XXᵀ solve it, a singular value decomposition where α is next to
    nothing, conjugate gradients on large sparse data, coordinate descent for weights ≥ 0. LSQR is
    taken where its rounds are asked for.

    Parameters
    ----------
    alpha : float or array of shape (targets,)
        The weight of the penalty, one for all targets or one for each.
    fit_intercept : bool
        Whether there is an intercept, which has no penalty.
    copy_X : bool
        Accepted for scikit-learn; X is never changed.
    max_iter : int or None
        The most rounds of an iterative method.
    tol : float
        The relative gap at the end of an iterative method is at most tol/100.
    solver : str
        A name of scikit-learn's; the method is chosen by the data. ``"lsqr"``, ``"sag"`` and
        ``"saga"`` with a ``max_iter`` are LSQR, of so many rounds at most.
    positive : bool
        Whether weights have to be 0 or more.
    random_state
        Accepted for scikit-learn.

    Attributes
    ----------
    coef_, intercept_, n_iter_, solver_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        How far the answer is from the best one; with several targets of all together.
    certificates_ : list of Certificate
        One for each target.

    Examples
    --------
    >>> from mercer import Ridge
    >>> model = Ridge(alpha=5.0, fit_intercept=False).fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_  # x·y/(x·x + α) = 5/(5 + 5)
    array([0.5])
    >>> model.certificate_.optimal
    True
    """

    STATE: ClassVar[State] = {**LINEAR, "solver_": Maybe(TEXT)}
    check_state = check_weights

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "solver": [
            StrOptions({"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"})
        ],
    }
    usual_values: ClassVar[Mapping[str, Sequence[float]]] = {
        "alpha": tuple(10.0**e for e in range(-3, 4))
    }

    alpha: ArrayLike = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True  # noqa: N815 - scikit-learn's name
    max_iter: int | None = None
    tol: float = 1e-4
    solver: str = "auto"
    positive: bool = False
    random_state: Seed = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Ridge:
        """Fit the weights to the rows of X and their targets y, one column for each target."""
        self._check_solver(sparse.issparse(X))
        if sample_weight is None and self._fit_by_products(X, y):
            return self
        X, y = self._read_rows(
            X,
            y,
            labels=False,
            accept_sparse="csc",
            dtype=[np.float64, np.float32],
            multi_output=True,
            y_numeric=True,
        )
        weights = None
        if sample_weight is not None:
            weights = check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        most = 10**6 if self.max_iter is None else self.max_iter
        sharp = self.tol * SHARPNESS
        budget = Budget(tol=sharp, max_iter=most, gap=sharp)
        with quiet_blas(X):
            data = Centred(X, y.reshape(len(y), -1), weights, self.fit_intercept)
            alphas = self._read_alphas(data.Y.shape[1])
            bounded = ElasticNetDescent(GramCache(data.design))
            free = self._free_method(data)
            solutions = []
            for target, a in enumerate(alphas):
                problem = data.problem(target, 0.0, float(a), self.positive)
                method = bounded if self.positive and a > 0 else free
                solutions.append(method.solve(problem, data.gram, budget))
        coef = np.stack([solution.value.w for solution in solutions])
        # The objective has no factors of one half.
        seen = [in_units(s.certificate, 2.0) for s in solutions if s.status is not Status.OPTIMAL]
        check_range(seen)
        given = np.ones(X.shape[0]) if weights is None else weights
        runs = Training.runs_of(solutions)
        self._publish(Training(X, y, given, runs, self.tol), coef, data.intercepts(coef))
        if seen:
            warn_unfinished(seen, self.tol)
        return self

    def _fit_by_products(self, X: Objects, y: Targets) -> bool:
        """Fit by one pass over plain rows and targets; False where that is not to be had."""
        plain = type(X) is type(y) is np.ndarray and X.ndim == 2 and y.shape == X.shape[:1]
        rounds = self.max_iter is not None and self.solver in _ROUNDS
        if not plain or y.dtype.char not in "df" or self.positive or rounds:
            return False
        alpha, began = float(self._read_alphas(1)[0]), perf_counter()
        if alpha == 0.0 or not suit_products(X) or X.shape[0] < X.shape[1]:
            return False
        if X.dtype == np.float64 and X.shape[1] >= MOST_COLUMNS:
            return False  # BLAS has no less work in one pass, and more new memory
        found = column_products(X, y[:, None], self.fit_intercept)
        if not found.sum_of_squares <= LARGEST_SQUARES:
            return False  # where numbers that are not finite are refused
        centred, means = y - found.means[-1], found.means[:-1]
        w = weights_by_products(found, alpha, lambda w: residual_products(X, centred, means, w))
        if w is None:
            return False
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        runs = [(Statistics(seconds=perf_counter() - began), Status.OPTIMAL)]
        intercepts = found.means[-1:] - means @ w
        self._publish(Training(X, y, np.ones(len(X)), runs, self.tol), w[None], intercepts)
        return True

    def _publish(self, training: Training, coef: Array, intercepts: Array) -> None:
        """Set the attributes of a fit: weights and the intercept of each target."""
        X, y = training.points, training.targets
        self._await_judgement(training)
        intercepts = intercepts.astype(X.dtype)
        self.coef_: Array = (coef[0] if len(coef) == 1 else coef).astype(X.dtype)
        self.intercept_: Any = 0.0
        if self.fit_intercept:
            self.intercept_ = X.dtype.type(intercepts[0]) if y.ndim == 1 else intercepts
        rounds = np.array([statistics.iterations for statistics, _ in training.runs])
        # One factorisation is one round of a method that has rounds in scikit-learn.
        counted = self.positive or self.solver in _ROUNDS
        self.n_iter_: Any = np.maximum(rounds, 1) if counted else None
        usual = "sparse_cg" if sparse.issparse(X) else "cholesky"
        chosen = "lbfgs" if self.positive else usual
        self.solver_ = chosen if self.solver == "auto" else self.solver

    def left_out_values(self, X: Objects, y: Targets, sample_weight: SampleWeights = None) -> Array:
        """Return what the machine without row i says of row i, for all rows of the fit.

        yᵢ − (yᵢ − ŷᵢ)/(1 − hᵢ) with the leverages hᵢ = ωᵢ/Σω + ωᵢx̃ᵢᵀ(X̃ᵀΩX̃ + αI)⁻¹x̃ᵢ of the
        centred rows x̃; NaN where hᵢ is 1: without such a row the answer is not determined.
        """
        if self.positive:
            raise InvalidParameter(
                "Ridge: with positive=True nothing is known of a row but by a fit without it."
            )
        given = np.asarray(self.predict(X), dtype=np.float64)  # it checks the columns, too
        rows = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
        Y = np.asarray(y, dtype=np.float64).reshape(len(rows), -1)
        omega = np.ones(len(rows)) if sample_weight is None else np.asarray(sample_weight, float)
        roots, total = np.sqrt(omega)[:, None], omega.sum()
        x_mean = omega @ rows / total if self.fit_intercept else np.zeros(rows.shape[1])
        y_mean = omega @ Y / total if self.fit_intercept else np.zeros(Y.shape[1])
        U, s, _ = np.linalg.svd(roots * (rows - x_mean), full_matrices=False)
        s2 = np.where(s > s.max(initial=0.0) * max(rows.shape) * np.finfo(float).eps, s**2, 0.0)
        alphas = self._read_alphas(Y.shape[1])
        shrunk = s2[:, None] / np.where(s2[:, None] + alphas > 0, s2[:, None] + alphas, 1.0)
        inside = roots * (U @ (shrunk * (U.T @ (roots * (Y - y_mean)))))
        fitted = y_mean + np.divide(inside, omega[:, None], where=omega[:, None] > 0, out=inside)
        leverages = U**2 @ shrunk + (omega[:, None] / total if self.fit_intercept else 0.0)
        far = np.abs(fitted - given.reshape(fitted.shape))[omega > 0].max(initial=0.0)
        if far > _SAME_FIT * np.abs(Y).max(initial=0.0):
            raise InvalidInput("leave_one_out: Ridge was fitted on other rows, targets or weights.")
        rest = np.where(leverages < 1 - _SURE, 1 - leverages, np.nan)
        values = np.where(omega[:, None] > 0, Y - (Y - fitted) / rest, given.reshape(Y.shape))
        return np.asarray(values.reshape(np.shape(y)))

    def _judge_training(self, training: Training) -> list[Certificate]:
        return judge_squares(self, training.points, training.targets, training.weights)

    def _check_solver(self, is_sparse: bool) -> None:
        if self.solver == "lbfgs" and not self.positive:
            raise InvalidParameter(
                "'lbfgs' solver can be used only when positive=True. Please use another solver."
            )
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise InvalidParameter(
                f"solver='{self.solver}' does not support positive fitting. Please set the solver "
                "to 'auto' or 'lbfgs', or set `positive=False`"
            )
        if is_sparse and self.fit_intercept and self.solver in ("svd", "cholesky", "saga"):
            raise InvalidParameter(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. "
                "Please set the solver to 'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' or set "
                "`fit_intercept=False`"
            )

        if (
            is_sparse
            and self.fit_intercept
            and self.solver == "sag"
            and self.max_iter is None
            and self.tol > _SLOW_SAG
        ):
            warnings.warn(
                '"sag" solver requires many iterations in scikit-learn to fit an intercept with '
                'sparse inputs: there, set a low "tol" and a high "max_iter", or the solver to '
                '"auto" or "sparse_cg". Here the method is chosen by the data.',
                UserWarning,
                stacklevel=caller_level(),
            )

    def _free_method(self, data: Centred) -> Solver[LassoProblem, LassoAnswer]:
        """Return what solves problems without bounds of the weights, or without a penalty."""
        if self.positive:
            return PlainLeastSquares()
        if self.max_iter is not None and self.solver in _ROUNDS:
            return LeastSquaresRounds()
        return RidgeFactors(data.design)

    def _read_alphas(self, targets: int) -> Array:
        alphas = np.asarray(self.alpha, np.float64).ravel()
        if alphas.size not in (1, targets):
            raise InvalidParameter(
                "Number of targets and number of penalties do not correspond: "
                f"{alphas.size} != {targets}"
            )
        if not (alphas >= 0).all():
            raise InvalidParameter(f"alpha={self.alpha!r} has to be 0 or more.")
        return np.broadcast_to(alphas, targets)
