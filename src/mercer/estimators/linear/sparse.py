"""Lasso and elastic net in scikit-learn's grammar, with certificates."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, field
from numbers import Integral, Number, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from mercer import _parallel
from mercer._files.fields import Maybe, State
from mercer._sklearn import (
    Interval,
    StrOptions,
    check_precomputed_gram_matrix,
    check_sample_weight,
    fit_context,
)
from mercer._typing import Array, Matrix, Objects, SampleWeights, Seed, Targets
from mercer.estimators.constructor import parameters
from mercer.estimators.drawn import DrawnRegressor
from mercer.estimators.judged import JudgedFunctions, Training
from mercer.estimators.kernel_argument import caller_level
from mercer.estimators.linear.centred import Centred
from mercer.estimators.linear.linear_judge import judge_squares
from mercer.estimators.linear.magnitudes import check_range, check_squares
from mercer.estimators.linear.quick_answers import QuickValues
from mercer.estimators.linear.reading import QuickReading
from mercer.estimators.state import CONSTANTS, LINEAR, check_weights
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.problems.elastic_net import LassoAnswer, LassoProblem, in_units
from mercer.solvers.base import Budget, Solution, Solver
from mercer.solvers.linear.gram_cache import GramCache
from mercer.solvers.linear.lasso import ElasticNetDescent
from mercer.solvers.linear.least_squares import PlainLeastSquares, RidgeFactors

_SMALL = 1 << 30
"""Products of numbers in a Gram matrix up to which threads of BLAS wait longer than they work."""
SHARPNESS = 1e-2
"""The relative gap at the end, as a share of ``tol``: 1e-6 with the default of 1e-4."""


@parameters
class ElasticNet(
    DrawnRegressor, QuickReading, MultiOutputMixin, RegressorMixin, JudgedFunctions, QuickValues
):
    r"""Least squares with an ℓ₁ and a squared ℓ₂ penalty, exact and certified.

    min ‖y − Xw − b‖²/2n + α ρ‖w‖₁ + ½ α (1 − ρ)‖w‖²,  ρ = l1_ratio

    A drop-in for :class:`sklearn.linear_model.ElasticNet`. Working sets of columns are solved by
    coordinate descent, on the columns themselves where sparse or wide data are small, else with
    Newton steps on their Gram matrix, without the columns that gap-safe spheres screen;
    extrapolated residuals prove the answer. Only dense X of less than 10 MB is copied. In the
    form ‖Xw − y‖² + λ‖w‖₁ that textbooks use, λ is 2nα: multiply by 2n, divide to come back.

    Parameters
    ----------
    alpha : float
        The weight α of the penalties.
    l1_ratio : float
        The share ρ of the ℓ₁ penalty.
    fit_intercept : bool
        Whether there is an intercept b, which has no penalty.
    precompute : bool or array
        Accepted for scikit-learn; a given Gram matrix is checked, and not needed.
    max_iter : int
        The most rounds of coordinate descent.
    copy_X : bool
        Accepted for scikit-learn; X is never changed.
    tol : float
        The relative duality gap at the end is at most tol/100.
    warm_start : bool
        Whether a fit starts from the last one.
    positive : bool
        Whether weights have to be 0 or more.
    random_state, selection
        Accepted for scikit-learn; coordinates are visited in turn.

    Attributes
    ----------
    coef_, intercept_, n_iter_, dual_gap_, sparse_coef_, n_features_in_, feature_names_in_
        As in scikit-learn.
    certificate_ : Certificate
        How far the answer is from the best one, in the units of the objective above; with several
        targets of all together.
    certificates_ : list of Certificate
        One for each target.
    n_screened_ : int or list of int
        How many columns were proved to have the weight zero at every optimum, for each target, and
        left out. Columns are tested where there are more of them than rows; elsewhere it is 0.

    References
    ----------
    M. Massias, A. Gramfort and J. Salmon, Celer: a fast solver for the lasso with dual
    extrapolation, International Conference on Machine Learning (2018).

    O. Fercoq, A. Gramfort and J. Salmon, Mind the duality gap: safer rules for the lasso,
    International Conference on Machine Learning (2015).

    Examples
    --------
    >>> from mercer import ElasticNet
    >>> X, y = [[1.0, 1.0], [-1.0, -1.0]], [2.0, -2.0]  # two columns alike
    >>> ElasticNet(alpha=0.5, fit_intercept=False).fit(X, y).coef_.round(4)  # share the weight
    array([0.7778, 0.7778])
    """

    STATE: ClassVar[State] = {**LINEAR, "dual_gap_": Maybe(CONSTANTS)}
    check_state = check_weights

    overflow_known_as = "Coordinate descent iterations resulted in non-finite parameter values"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "precompute": ["boolean", "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "selection": [StrOptions({"cyclic", "random"})],
    }
    usual_values: ClassVar[Mapping[str, Sequence[float]]] = {
        "alpha": tuple(10.0**e for e in range(-4, 3))
    }

    alpha: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.5
    fit_intercept: bool = True
    precompute: bool | ArrayLike = False
    max_iter: int = 1000
    copy_X: bool = True  # noqa: N815 - scikit-learn's name
    tol: float = 1e-4
    warm_start: bool = False
    positive: bool = False
    random_state: Seed = None
    selection: str = "cyclic"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Objects, y: Targets, sample_weight: SampleWeights = None, check_input: bool = True
    ) -> Any:
        """Fit the weights to the rows of X and their targets y, one column for each target.

        With ``check_input=False`` X and y are taken as arrays of numbers, X in Fortran order where
        there are no weights of rows.
        """
        if self.alpha == 0:
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the "
                "LinearRegression estimator: it is plain least squares.",
                stacklevel=caller_level(),
            )
        if check_input:
            X, y = self._read_rows(
                X,
                y,
                labels=False,
                accept_sparse="csc",
                dtype=[np.float64, np.float32],
                accept_large_sparse=False,
                multi_output=True,
                y_numeric=True,
            )
        else:
            if sample_weight is None or isinstance(sample_weight, Number):
                _check_order(X)
            check_squares(X, "X", known_as=self.overflow_known_as)
            check_squares(y, "y", known_as=self.overflow_known_as)
        weights = self._read_weights(X, sample_weight)
        # The certificate scales the weights of its own.
        given = np.ones(X.shape[0]) if weights is None else np.asarray(sample_weight, np.float64)
        small = X.shape[0] * X.shape[1] ** 2 <= _SMALL
        with _parallel.one_blas_thread() if small else nullcontext():
            data = Centred(X, y.reshape(len(y), -1), weights, self.fit_intercept)
            solutions = self._solve(X, data)
        runs = Training.runs_of(solutions)
        self._await_judgement(Training(X, y, given, runs, self.tol))
        self._publish(solutions, data, X.dtype, y.ndim == 1 or y.shape[1] == 1)
        return self

    def _solve(self, X: Matrix, data: Centred) -> list[Solution[LassoAnswer]]:
        """Return the answer for each target."""
        self._check_gram(X, data)
        start = getattr(self, "coef_", None) if self.warm_start else None
        starts = np.atleast_2d(start) if start is not None else [None] * data.Y.shape[1]
        n = X.shape[0]
        l1, l2 = self.alpha * self.l1_ratio * n, self.alpha * (1 - self.l1_ratio) * n
        budget = Budget(tol=self.tol * SHARPNESS, max_iter=self.max_iter or -1)
        method = self._method(data, l1, l2)
        solutions = []
        for target, w in enumerate(starts):
            problem = data.problem(target, l1, l2, self.positive)
            first = None if w is None else problem.evaluate(data.design, w.astype(np.float64))
            solutions.append(method.solve(problem, data.gram, budget, first))
        return solutions

    def _judge_training(self, training: Training) -> list[Certificate]:
        return judge_squares(self, training.points, training.targets, training.weights)

    def _read_weights(self, X: Matrix, sample_weight: SampleWeights) -> Array | None:
        """Return the weights, scaled to a mean of 1 as in scikit-learn."""
        if sample_weight is None or isinstance(sample_weight, Number):
            return None
        weights: Array = check_sample_weight(sample_weight, X, dtype=np.float64)
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if np.isinf(total):
            raise InvalidInput(
                f"The weights of the samples, up to {weights.max():.2g}, add up to more than "
                "floating-point numbers hold. Scale sample_weight: only its ratios count."
            )
        return np.asarray(weights * (len(weights) / total))

    def _check_gram(self, X: Matrix, data: Centred) -> None:
        given = isinstance(self.precompute, np.ndarray) and not sparse.issparse(X)
        if not given or data.design.weights is not None:
            return
        if self.fit_intercept and not np.allclose(data.x_mean, 0):
            warnings.warn(
                "Gram matrix was provided but X was centered to fit intercept: recomputing Gram "
                "matrix.",
                stacklevel=caller_level(),
            )
            return
        check_precomputed_gram_matrix(X, self.precompute, data.x_mean, np.ones(X.shape[1]))

    def _method(self, data: Centred, l1: float, l2: float) -> Solver[LassoProblem, LassoAnswer]:
        """Return what solves problems with these penalties."""
        if l1 == 0.0 and l2 == 0.0:
            return PlainLeastSquares()
        if l1 == 0.0 and not self.positive:
            return RidgeFactors(data.design)
        return ElasticNetDescent(GramCache(data.design))

    def _publish(
        self,
        solutions: list[Solution[LassoAnswer]],
        data: Centred,
        dtype: np.dtype[Any],
        single: bool,
    ) -> None:
        n = len(data.Y)
        coef = np.stack([solution.value.w for solution in solutions])
        # In scikit-learn's units, where the loss is a mean over the rows.
        seen = [in_units(solution.certificate, 1 / n) for solution in solutions]
        check_range(seen)
        gaps = np.array([max(certificate.gap, 0.0) for certificate in seen])
        rounds = [solution.statistics.iterations for solution in solutions]
        intercepts = data.intercepts(coef).astype(dtype)
        self.coef_: Array = coef[0].astype(dtype) if single else coef.astype(dtype)
        self.intercept_: Any = 0.0
        if self.fit_intercept:
            self.intercept_ = dtype.type(intercepts[0]) if single else intercepts
        self.dual_gap_: Any = float(gaps[0]) if single else gaps
        self.n_iter_: Any = rounds[0] if single else rounds
        screened = [solution.statistics.details.get("screened", 0) for solution in solutions]
        self.n_screened_: Any = screened[0] if single else screened
        warn_unfinished(seen, self.tol)

    @property
    def sparse_coef_(self) -> Any:
        """The weights as a sparse matrix."""
        return sparse.csr_matrix(np.atleast_2d(self.coef_))


@parameters
class Lasso(ElasticNet):
    r"""Least squares with an ℓ₁ penalty, exact and certified.

    min ‖y − Xw − b‖²/2n + α‖w‖₁

    A drop-in for :class:`sklearn.linear_model.Lasso`; see :class:`ElasticNet` for parameters,
    attributes and the method. In the form ‖Xw − y‖² + λ‖w‖₁, λ is 2nα.

    Examples
    --------
    >>> from sklearn.preprocessing import scale
    >>> from mercer import Lasso, load_data
    >>> data = load_data("diabetes")
    >>> model = Lasso(alpha=10.0).fit(scale(data.X), data.y)
    >>> [name for name, w in zip(data.columns, model.coef_) if w]
    ['bmi', 'blood_pressure', 'hdl', 'log_triglycerides']
    >>> bool(model.certificate_.relative_gap < 1e-6)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        name: rule for name, rule in ElasticNet._parameter_constraints.items() if name != "l1_ratio"
    }

    l1_ratio: float = field(init=False, default=1.0)


def _check_order(X: Matrix) -> None:
    """Refuse dense X by rows where nothing else is checked, as in scikit-learn.

    Weights of rows make a copy there, and a copy has the order that is needed.
    """
    if not sparse.issparse(X) and not X.flags.f_contiguous:
        raise InvalidInput(
            "With check_input=False a dense X has to be in Fortran order, one column after the "
            "other: give np.asfortranarray(X), or leave check_input=True."
        )


def warn_unfinished(certificates: list[Certificate], tol: float) -> None:
    """Warn of fits that ended before their gap was small enough."""
    worst = max(certificates, key=lambda certificate: certificate.relative_gap)
    # A gap that rounding keeps above a tiny tol is no failure.
    if worst.status == "max_iter" or (worst.status == "stalled" and worst.relative_gap > tol):
        warnings.warn(
            "Objective did not converge. You might want to increase the number of iterations, "
            "check the scale of the features or consider increasing regularisation. Duality gap: "
            f"{worst.gap:.3e}, relative to the objective {worst.relative_gap:.1e}.",
            ConvergenceWarning,
            stacklevel=4,
        )
