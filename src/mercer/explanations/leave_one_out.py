"""What a machine says of each training row when it never saw that row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from mercer._sklearn import num_samples
from mercer._typing import Array, BoolArray, Model, Objects, SampleWeights, Targets
from mercer.estimators.base import take_objects
from mercer.estimators.svm.left_out_functions import LeftOutFunctions
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.explanations.answer_functions import unwrapped


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """The answers of n machines, each to the one row that it never saw.

    Attributes
    ----------
    decisions : array of shape (n,) or (n, functions)
        The values f₋ᵢ(xᵢ) + b₋ᵢ; for several classes one column for each pair of them, or for
        each class.
    predictions : array of shape (n,) or (n, targets)
        The classes or numbers that follow from them.
    low, high : arrays of the shape of ``decisions``
        The decisions of the exact machines lie between these.
    gaps : array of the shape of ``decisions``
        The duality gap of each problem: 0 for closed forms, NaN where there is no certificate.
    certified : array of shape (n,)
        Whether the exact machine is proven to give the same class; for numbers, whether there is a
        proven bound of its value.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelRidge, leave_one_out
    >>> X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    >>> left_out = leave_one_out(KernelRidge(0.1, kernel="linear").fit(X, y), X, y)
    >>> int(abs(left_out.predictions - y).argmax())  # the row that the others do not foresee
    5
    """

    decisions: Array
    predictions: np.ndarray[Any, Any]
    low: Array
    high: Array
    gaps: Array
    certified: BoolArray


def leave_one_out(
    model: Model,
    X: Objects,
    y: Targets,
    sample_weight: SampleWeights = None,
    *,
    refit: bool = False,
    threads: int | None = None,
) -> LeaveOneOut:
    r"""Return what a fitted machine would say of each training row had it never seen that row.

    Kernel ridge machines and Gaussian processes have a closed form, yᵢ − aᵢ/((K + D)⁻¹)ᵢᵢ, and
    so have least squares and ridge in columns, yᵢ − (yᵢ − ŷᵢ)/(1 − hᵢ) with the leverages hᵢ. For
    support vector machines a row with multiplier 0 keeps its value. For each other row the
    multiplier is held at 0 and the problem is solved on, from the present answer, on one float64
    matrix of kernel values that is computed apart from that of the fit.

    Each of these answers comes with its duality gap. Primal and dual objective are both strongly
    convex in f, so the exact f* satisfies

        ½‖f − f*‖² ≤ P(f, b) − P*  and  ½‖f − f*‖² ≤ D* − D(β),  hence  ‖f − f*‖² ≤ gap

    and ∣f(x) − f*(x)∣ ≤ √gap √k(x, x). The best bias for given values f is a weighted quantile of
    the residuals, which moves no farther than the residuals do: that bounds b*. A class is
    certified if no value within these bounds would change it. That needs a positive semi-definite
    matrix; where the kernel does not promise one, the matrix is tested.

    Kernel, C, λ, weights of classes, landmarks and the steps of a pipeline before the machine stay
    as they were fitted on all rows.

    Parameters
    ----------
    model : estimator
        A fitted ``SVC`` (``multi_class`` "ovo" or "ovr", finite C), ``SVR``, ``KernelRidge``,
        ``KernelRidgeClassifier``, ``GaussianProcessRegressor`` or ``Ridge``, or a pipeline that
        ends with one.
    X, y, sample_weight : data
        What it was fitted on.
    refit : bool
        Fit the model n times instead, from scratch: any estimator, nothing certified.
    threads : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    LeaveOneOut
        ``decisions``, ``predictions``, ``low``, ``high``, ``gaps``, ``certified``.

    Examples
    --------
    >>> from mercer import SVC, leave_one_out, load_data
    >>> heart = load_data("heart")
    >>> machine = SVC().fit(heart.X, heart.y)
    >>> left_out = leave_one_out(machine, heart.X, heart.y)
    >>> bool((left_out.predictions == heart.y).mean() < machine.score(heart.X, heart.y))
    True
    >>> bool(left_out.certified.all())
    True

    References
    ----------
    G. Cauwenberghs and T. Poggio, Incremental and decremental support vector machine learning,
    NIPS 13 (2000); R. Rifkin and R. Lippert, Notes on regularized least squares, MIT (2007).
    """
    if refit:
        return _by_fits(model, X, y, sample_weight)
    machine, data, _ = unwrapped(model, X)
    check_is_fitted(machine)
    count = num_samples(data)
    if y is not None and num_samples(y) != count:
        raise InvalidInput(
            f"leave_one_out: X has {count} rows and y has {num_samples(y)}; both have to be those "
            "of the fit."
        )
    if hasattr(machine, "left_out_functions"):
        return _of_functions(machine.left_out_functions(data, y, sample_weight, threads))
    if hasattr(machine, "left_out_values"):
        values = machine.left_out_values(data, y, sample_weight)
        return _exact(values, values)
    if hasattr(machine, "loo_decision_"):
        return _of_classes(machine, machine.loo_decision_, count)
    if hasattr(machine, "leave_one_out"):
        found = machine.leave_one_out()
        targets = np.asarray(y, dtype=np.float64)
        # Residuals of the one, means of the other.
        values = targets - _of_rows(found, count) if isinstance(found, np.ndarray) else found.mean
        return _exact(_of_rows(np.asarray(values), count), np.asarray(values))
    raise InvalidParameter(
        f"leave_one_out: {type(machine).__name__} has no way to leave out a row but a new fit. It "
        "takes SVC, SVR, KernelRidge, KernelRidgeClassifier, GaussianProcessRegressor and Ridge; "
        "refit=True fits any machine n times."
    )


def _of_rows(values: Array, count: int) -> Array:
    if len(values) != count:
        raise InvalidInput(
            f"leave_one_out: X has {count} rows, but the machine was fitted on {len(values)}. Give "
            "the rows of the fit."
        )
    return values


def _exact(decisions: Array, predictions: np.ndarray[Any, Any]) -> LeaveOneOut:
    """Return what a closed form gives, exact up to rounding; NaN for rows without weight."""
    known = np.asarray(np.isfinite(decisions).reshape(len(decisions), -1).all(axis=1))
    gaps = np.where(np.isfinite(decisions), 0.0, np.nan)
    return LeaveOneOut(decisions, predictions, decisions, decisions, gaps, known)


def _of_classes(machine: Model, decisions: Array, count: int) -> LeaveOneOut:
    _of_rows(decisions, count)
    winners = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
    return _exact(decisions, machine.classes_[winners])


def _of_functions(found: LeftOutFunctions) -> LeaveOneOut:
    """Join the functions of a support vector machine."""
    columns = [
        np.column_stack(parts)
        for parts in zip(*((f.values, f.low, f.high, f.gaps) for f in found.functions), strict=True)
    ]
    values, low, high, _ = columns
    certified = _are_certain(found.rule, low, high) if found.definite else np.zeros(len(low), bool)
    shown = [column[:, 0] if column.shape[1] == 1 else column for column in columns]
    decisions, low, high, gaps = shown
    return LeaveOneOut(decisions, found.rule.predict(values), low, high, gaps, certified)


def _are_certain(rule: Any, low: Array, high: Array) -> BoolArray:
    """Tell for which rows all values between the bounds give the same answer."""
    if not hasattr(rule, "classes"):
        return np.asarray(np.isfinite(high - low).all(axis=1))
    signs: BoolArray = np.asarray(((low > 0) | (high < 0)).all(axis=1))
    if low.shape[1] == 1:
        return signs
    if rule.multi_class == "ovo":
        # Values of pairs, not signs alone, break ties of their votes.
        return signs & (not rule.break_ties)
    winner = low.argmax(axis=1)
    others = high.copy()
    others[np.arange(len(low)), winner] = -np.inf
    return np.asarray(low.max(axis=1) > others.max(axis=1))


def _by_fits(model: Model, X: Objects, y: Targets, sample_weight: SampleWeights) -> LeaveOneOut:
    """Fit n times."""
    labels = np.asarray(y)
    decisions, predictions = [], []
    for i in range(num_samples(X)):
        rest = np.delete(np.arange(num_samples(X)), i)
        weights = (
            {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[rest]}
        )
        fitted = clone(model).fit(take_objects(X, rest), labels[rest], **weights)
        row = take_objects(X, np.array([i]))
        predictions.append(fitted.predict(row)[0])
        scored = is_classifier(fitted) and hasattr(fitted, "decision_function")
        decisions.append(fitted.decision_function(row)[0] if scored else np.nan)
    answers = np.asarray(predictions)
    values = np.asarray(decisions) if is_classifier(model) else answers
    unknown = np.full(values.shape, np.nan)
    return LeaveOneOut(values, answers, unknown, unknown, unknown, np.zeros(len(values), bool))
