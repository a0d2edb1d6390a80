"""What linear logistic regressions pay for losses and weights, in scikit-learn's words."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np

from mercer._typing import ClassWeights, Matrix
from mercer.estimators.kernel_argument import caller_level
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.problems.logistic import LogisticAnswer
from mercer.solvers.base import Solver
from mercer.solvers.linear.logistic_newton import LinearLogisticNewton
from mercer.solvers.linear.proximal_newton import ProximalNewton

SHORT_INDICES = ("liblinear", "sag", "saga")
"""Solvers that take no sparse matrices with 64-bit indices in scikit-learn: a model that one of the
libraries fits and the other refuses would be no drop-in."""
_LARGEST_LIBLINEAR = 1e30
"""What LIBLINEAR takes at most; the weights of larger numbers vanish beside their penalty."""


class LogisticModel(Protocol):
    """What a fitted linear logistic regression says of its problem, mercer's or scikit-learn's."""

    penalty: Any
    C: float
    l1_ratio: float | None
    class_weight: ClassWeights
    fit_intercept: bool
    intercept_scaling: float
    solver: str
    classes_: Any
    coef_: Any
    intercept_: Any


class OldParameters(LogisticModel, Protocol):
    """A model with parameters that scikit-learn is about to drop."""

    dual: bool
    n_jobs: int | None


class Price(NamedTuple):
    """What losses and weights cost: C of the losses, and the share of the ℓ₁ penalty."""

    C: float
    l1: float

    def method(self) -> Solver[Any, LogisticAnswer]:
        """Return what solves problems with these prices."""
        return ProximalNewton() if self.l1 > 0 else LinearLogisticNewton()


def read_price(model: LogisticModel) -> Price:
    """Return what a model pays for losses and weights, mercer's or scikit-learn's."""
    penalty = _penalty(model)
    if penalty == "elasticnet" and model.l1_ratio is None:
        raise InvalidParameter("l1_ratio must be specified when penalty is elasticnet.")
    shares = {None: 0.0, "l2": 0.0, "l1": 1.0, "elasticnet": float(model.l1_ratio or 0.0)}
    C = np.inf if penalty is None else float(model.C)
    return Price(C, 0.0 if np.isinf(C) else shares[penalty])


def _penalty(model: LogisticModel) -> str | None:
    given: str | None = model.penalty
    if given != "deprecated":
        return given
    ratio = model.l1_ratio or 0.0
    penalty = "l1" if ratio == 1 else "elasticnet" if ratio > 0 else "l2"
    return None if np.isinf(model.C) else penalty


def check_penalty(model: OldParameters) -> None:
    """Refuse solvers that have not the penalty; warn of old parameters; in scikit-learn's words."""
    penalty = _penalty(model)
    if model.penalty == "deprecated":
        if model.l1_ratio is None:
            warnings.warn(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. "
                "Use 0<=l1_ratio<=1 instead.",
                FutureWarning,
                stacklevel=caller_level(),
            )
    else:
        warnings.warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this "
            "warning, leave 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. "
            "Use l1_ratio=0 instead of penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio "
            "set to a float between 0 and 1 instead of penalty='elasticnet', and C=np.inf instead "
            "of penalty=None.",
            FutureWarning,
            stacklevel=caller_level(),
        )
        if penalty != "elasticnet" and model.l1_ratio is not None and 0 < model.l1_ratio < 1:
            warnings.warn(
                "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={penalty})",
                stacklevel=caller_level(),
            )
        if (penalty == "l2" and model.l1_ratio != 0) or (penalty == "l1" and model.l1_ratio != 1):
            warnings.warn(
                f"Inconsistent values: penalty={penalty} with l1_ratio={model.l1_ratio}. penalty "
                "is deprecated. Please use l1_ratio only.",
                stacklevel=caller_level(),
            )
        if penalty is None and model.C != 1.0:
            warnings.warn(
                "Setting penalty=None will ignore the C and l1_ratio parameters",
                stacklevel=caller_level(),
            )
    if model.n_jobs is not None:
        warnings.warn(
            "'n_jobs' has no effect since 1.8 and will be removed in 1.10. You provided "
            f"'n_jobs={model.n_jobs}', please leave it unspecified.",
            FutureWarning,
            stacklevel=caller_level(),
        )
    _check_solver(model.solver, penalty, model.dual)


def _check_solver(solver: str, penalty: str | None, dual: bool) -> None:
    problem = ""
    if solver not in ("liblinear", "saga") and penalty not in ("l2", None):
        problem = f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty."
    elif solver != "liblinear" and dual:
        problem = f"Solver {solver} supports only dual=False, got dual={dual}"
    elif penalty == "elasticnet" and solver != "saga":
        problem = f"Only 'saga' solver supports elasticnet penalty, got solver={solver}."
    elif solver == "liblinear" and penalty is None:
        problem = "C=np.inf as well as penalty=None is not supported for the liblinear solver"
    elif penalty == "l1" and dual:
        problem = (
            "Unsupported set of arguments: The combination of penalty='l1' and "
            "loss='logistic_regression' are not supported when dual=True"
        )
    if problem:
        raise InvalidParameter(problem)


def check_liblinear(X: Matrix, classes: int) -> None:
    """Refuse data that are not for ``solver="liblinear"``, in scikit-learn's words."""
    if classes > 2:
        raise InvalidParameter(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= "
            "3). Either use another solver or wrap the estimator in a OneVsRestClassifier to "
            "keep applying a one-versus-rest scheme."
        )
    if X.max() > _LARGEST_LIBLINEAR:
        raise InvalidInput(
            "Using the 'liblinear' solver while X contains a maximum value > 1e30 results in a "
            "frozen fit. Please choose another solver or rescale the input X."
        )
