"""From a fitted machine to the problems that it solved, with the answers that it publishes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray, Model, Objects, Targets
from mercer.estimators.certify import certify
from mercer.estimators.linear.linear_judge import read_rows, state_margins
from mercer.estimators.linear.logistic_regression import pose, read_price, read_weights
from mercer.estimators.ridge.kernel_ridge_classifier import signs_of
from mercer.estimators.svm.svm_judge import StatedQP, state_classes, state_function
from mercer.exceptions import InvalidInput
from mercer.gram.feature_gram import gram_of
from mercer.problems.certificate import Certificate
from mercer.problems.logistic import LogisticProblem
from mercer.report.proof.document import Document
from mercer.report.proof.kernel_settings import NotOnVectors
from mercer.report.verifier.page import Printed
from mercer.report.verifier.verdict import CLAIMS, ON_LANDMARKS, verify


@dataclass(frozen=True, eq=False)
class CarriedProof:
    """A proof as a report carries it.

    Attributes
    ----------
    text : str
        Rows or matrices, problems and answers, as JSON.
    claims : dict
        The numbers that are printed, with all digits: those of ``mercer certify``.
    digest : str
        SHA-256 of the rows (or matrices) and targets.
    rows, problems : int
        How many of each there are.
    matrices : tuple of str
        Kernels that are not on vectors, whose Gram matrices stand for the rows.
    """

    text: str
    claims: dict[str, float]
    digest: str
    rows: int
    problems: int
    matrices: tuple[str, ...]


def carried_proof(machine: Model, X: Objects, y: Targets) -> CarriedProof:
    """Return the proof of a fitted machine, from the data that it was fitted on.

    Nothing is written that a verifier would not confirm: it is asked before.

    Parameters
    ----------
    machine : estimator
        SVC, NuSVC, SVR, NuSVR, KernelRidge, KernelRidgeClassifier, GaussianProcessRegressor,
        KernelLogisticRegression, LogisticRegression, LinearSVC, LinearSVR, or a vote of these.
    X, y
        Its training data, as the machine itself has seen them.
    """
    document = Document()
    state(document, machine, X, y)
    plain = document.plain()
    certificate = _certificate(machine, X, y)
    claims = {name: float(getattr(certificate, name)) for name in CLAIMS}
    found = verify(plain)
    printed = [Printed(name, repr(value)) for name, value in claims.items()]
    checked = verify(plain, [*printed, Printed("digest", found.digest)])
    if not checked.holds:
        raise InvalidInput(
            f"There is no proof to carry for this {type(machine).__name__}: "
            f"{'; '.join(checked.faults)}. Leave the proof away."
        )
    return CarriedProof(
        # What ends a script in a page cannot stand in it.
        text=json.dumps(plain, separators=(",", ":")).replace("<", "\\u003c"),
        claims=claims,
        digest=found.digest,
        rows=found.rows,
        problems=len(document.problems),
        matrices=tuple(gram["text"] for gram in document.grams if "matrix" in gram),
    )


def state(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    """Add the problems of a machine to a document."""
    names = [base.__name__ for base in type(machine).__mro__]
    stater = next((_STATERS[name] for name in names if name in _STATERS), None)
    if stater is None:
        raise InvalidInput(
            f"A report cannot carry the proof of {type(machine).__name__}: there is no verifier "
            "for it. Leave the proof away, or choose another machine."
        )
    if getattr(machine, "approximation", None) is not None and stater not in (
        _ridge,
        _ridge_classes,
    ):
        raise InvalidInput(
            "A report cannot carry the proof of this machine on landmarks yet. Leave the proof "
            "away, or fit the exact machine."
        )
    stater(document, machine, X, y)


def _certificate(machine: Model, X: Objects, y: Targets) -> Certificate:
    """Judge a machine again, or each machine of a vote, from the data."""
    members = getattr(machine, "members_", None)
    if members is None:
        return certify(machine, X, y)
    return Certificate.total(
        [certify(m.machine, rows, targets) for m, rows, targets in _votes(machine, X, y)]
    )


# ---- support vector machines -------------------------------------------------------------------


def _classes(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    if getattr(machine, "multi_class", "ovo") not in ("ovo", "ovr"):
        raise InvalidInput(
            f"A report cannot carry the proof of multi_class={machine.multi_class!r} yet. Take "
            "'ovo', or leave the proof away."
        )
    if not getattr(machine, "fit_intercept", True):
        raise InvalidInput(
            "A report cannot carry the proof of a machine without a bias yet. Leave the proof away."
        )
    kernel, points = machine.kernel_, machine.kernel_.training_points(machine.read(X))
    codes = _codes(machine, y)
    C = np.asarray(machine.class_weight_, dtype=np.float64)[codes]
    gram = document.add_gram(kernel, points)
    for stated in state_classes(machine, kernel, points, codes, C):
        problem = stated.problem
        signs = np.where(problem.hi > 0, 1.0, -1.0)
        _add_box(document, gram, stated, signs, problem.hi - problem.lo, nu=_nu(machine))


def _regression(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    kernel, points = machine.kernel_, machine.kernel_.training_points(machine.read(X))
    targets = np.asarray(y, dtype=np.float64).ravel()
    gram = document.add_gram(kernel, points)
    stated = state_function(machine, kernel, points, targets, np.ones(len(targets)))
    C = stated.problem.hi[: len(targets)]
    own = {"epsilon": float(getattr(machine, "epsilon", 0.0)), "nu": _nu(machine)}
    _add_box(document, gram, stated, targets, C, **own)


def _add_box(
    document: Document, gram: int, stated: StatedQP, targets: Array, C: Array, **own: float
) -> None:
    document.add_problem(
        stated.problem.name,
        gram=gram,
        arrays={
            "rows": stated.rows,
            "targets": targets,
            "C": C,
            "multipliers": stated.beta,
            "biases": stated.biases,
        },
        **own,
    )


def _nu(machine: Model) -> float:
    return float(getattr(machine, "nu_", getattr(machine, "nu", 0.0)))


# ---- squares -----------------------------------------------------------------------------------


def _ridge(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    Y = np.asarray(y, dtype=np.float64)
    coefficients = np.asarray(machine.dual_coef_, dtype=np.float64)
    penalties = getattr(machine, "alpha_", machine.alpha)
    _state_squares(
        document, machine, X, Y.reshape(len(Y), -1), coefficients.reshape(len(coefficients), -1),
        np.ones(len(Y)), penalties,
    )  # fmt: skip


def _ridge_classes(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    codes, labels = _codes(machine, y), np.asarray(y).ravel()
    weights = read_weights(
        np.empty((len(codes), 0)), labels, None, machine.class_weight, machine.classes_, codes
    )
    signs = signs_of(codes, len(machine.classes_))
    _state_squares(document, machine, X, signs, machine.dual_coef_.T, weights, machine.alpha_)


def _state_squares(
    document: Document,
    machine: Model,
    X: Objects,
    Y: Array,
    coefficients: Array,
    weights: Array,
    penalties: Any,
) -> None:
    """State a ridge regression of several targets on all rows, or on landmarks."""
    intercepts = machine.intercept_ if machine.fit_intercept else None
    if machine.approximation is None:
        gram = document.add_gram(machine.kernel_, machine.kernel_.training_points(machine.read(X)))
        _add_squares(document, gram, Y, coefficients, weights, penalties, intercepts)
    else:
        gram = _landmark_gram(document, machine, X)
        _add_squares(
            document, gram, Y, coefficients, weights, penalties, intercepts, landmarks=True
        )


def _landmark_gram(document: Document, machine: Model, X: Objects) -> int:
    """Store the rows of a machine on landmarks below these, both as its kernel sees them."""
    leaves: list[Any] = list(machine.expansion_points.leaves.values())
    try:
        (landmarks,) = (leaf.dense() for leaf in leaves)
        rows = np.vstack([landmarks, np.asarray(_dense(machine.read(X)), dtype=np.float64)])
        points = machine.kernel_.training_points(rows)
        return document.add_landmarks(machine.kernel_, points, len(landmarks))
    except (NotOnVectors, AttributeError, TypeError, ValueError):
        raise InvalidInput(
            "A report can carry the proof of a machine on landmarks only where its kernel is one "
            "on rows of numbers. Leave the proof away, or fit the exact machine."
        ) from None


def _process(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    system = machine.least_squares_system()
    if system is None:
        raise InvalidInput(
            "A report cannot carry the proof of a Gaussian process on landmarks yet. Leave the "
            "proof away, or fit the exact machine."
        )
    function, _, noise = system
    points, targets = function.points, machine.y_train_
    gram = document.add_gram(function.kernel, points)
    n = len(points)
    if not (noise > 0).all():
        raise InvalidInput(
            "A report cannot carry the proof of a Gaussian process without noise: give it some by "
            "alpha, or leave the proof away."
        )
    # ½ Σ (y − f)²/noise + ½‖f‖² is a ridge regression with λ = 1 and weights 1/noise.
    _add_squares(
        document, gram, targets.reshape(n, -1), machine.alpha_.reshape(n, -1), 1 / noise, 1.0, None
    )


def _add_squares(
    document: Document,
    gram: int,
    Y: Array,
    coefficients: Array,
    weights: Array,
    penalties: Any,
    intercepts: Any,
    landmarks: bool = False,
) -> None:
    count = Y.shape[1]
    biases = np.broadcast_to(0.0 if intercepts is None else intercepts, count)
    for j, penalty in enumerate(np.broadcast_to(np.asarray(penalties, float), count)):
        document.add_problem(
            ON_LANDMARKS if landmarks else "ridge",
            gram=gram,
            intercept=intercepts is not None,
            arrays={
                "targets": Y[:, j],
                "weights": weights,
                "coefficients" if landmarks else "multipliers": coefficients[:, j],
                "biases": biases[j : j + 1],
            },
            **{"lambda": float(penalty)},
        )


# ---- weights of columns, and logistic losses ---------------------------------------------------


def _margins(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    stated = state_margins(machine, *read_rows(X, y, None))
    sample = document.add_sample(_dense(stated.gram.features()))
    for posed, (w, multipliers) in stated.parts:
        problem: Any = posed
        if problem.name not in _MARGINS:
            raise InvalidInput(
                f"A report cannot carry the proof of a {problem.name} yet. Leave the proof away."
            )
        squared = bool((problem.D > 0).any())
        document.add_problem(
            "linear",
            sample=sample,
            squared=squared,
            classes=hasattr(machine, "classes_"),
            epsilon=float(problem.epsilon),
            constant=float(problem.constant),
            arrays={
                "targets": problem.p,
                "C": 0.5 / problem.D if squared else np.maximum(problem.hi, -problem.lo),
                "multipliers": multipliers,
                "w": w,
            },
        )


_MARGINS = (
    *("linear SVC, hinge", "linear SVC, squared hinge"),
    *("linear SVR, ε-insensitive", "linear SVR, squared ε-insensitive"),
)
"""The problems of linear machines that the verifiers know, by their names."""


def _linear_logistic(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    rows = np.asarray(_dense(X), dtype=np.float64)
    codes, labels = _codes(machine, y), np.asarray(y).ravel()
    weights = read_weights(rows, labels, None, machine.class_weight, machine.classes_, codes)
    gram, problem = pose(rows, codes, weights, read_price(machine), machine, np.arange(len(codes)))
    if getattr(problem, "l1", 0.0) or not problem.penalised:
        raise InvalidInput(
            f"A report cannot carry the proof of a {problem.name} yet. Leave the proof away."
        )
    W = np.asarray(machine.coef_, dtype=np.float64).T
    bias = np.ravel(np.asarray(machine.intercept_, dtype=np.float64))
    if problem.constant:
        W, bias = np.concatenate([W, bias[None] / problem.constant]), np.zeros(len(bias))
    best = problem.with_best_bias(problem.rows(gram).dot(W), bias)
    document.add_problem(
        "logistic",
        sample=document.add_sample(rows),
        intercept=bool(problem.intercept),
        constant=float(problem.constant),
        arrays={
            "targets": codes,
            "C": problem.C,
            "multipliers": best.beta,
            "biases": np.broadcast_to(bias, best.beta.shape[1]),
            "w": W,
        },
    )


def _kernel_logistic(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    kernel, points = machine.kernel_, machine.kernel_.training_points(machine.read(X))
    codes, labels = _codes(machine, y), np.asarray(y).ravel()
    weights = read_weights(
        np.empty((len(codes), 0)), labels, None, machine.class_weight, machine.classes_, codes
    )
    problem = LogisticProblem(
        codes, machine.C * weights, len(machine.classes_), bool(machine.fit_intercept)
    )
    coefficients = machine.dual_coef_.T
    best = problem.with_best_bias(
        gram_of(kernel, points).multiply(np.ascontiguousarray(coefficients)), machine.intercept_
    )
    document.add_problem(
        "logistic",
        gram=document.add_gram(kernel, points),
        intercept=bool(machine.fit_intercept),
        arrays={
            "targets": codes,
            "C": problem.C,
            "multipliers": best.beta,
            "biases": machine.intercept_,
            "coefficients": coefficients,
        },
    )


# ---- votes -------------------------------------------------------------------------------------


def _vote(document: Document, machine: Model, X: Objects, y: Targets) -> None:
    for member, rows, targets in _votes(machine, X, y):
        state(document, member.machine, rows, targets)


def _votes(machine: Model, X: Objects, y: Targets) -> list[tuple[Any, Array, Array]]:
    """Return each member of a vote, with its rows and targets as it has seen them."""
    if hasattr(machine, "classes_"):
        targets = signs_of(_codes(machine, y), len(machine.classes_))
    else:
        numbers = np.asarray(y, dtype=np.float64)
        targets = (numbers - machine.target_mean_) / machine.target_scale_
    tables = [coding.transform(X) for coding in machine.codings_]
    votes = []
    for member in machine.members_:
        own = targets.reshape(len(targets), *member.machine.dual_coef_.shape[1:])
        votes.append((member, tables[member.coding] * member.weights, own))
    return votes


def _codes(machine: Model, y: Targets) -> IntArray:
    """Return the numbers of the classes of rows."""
    return np.asarray(np.searchsorted(machine.classes_, np.asarray(y).ravel()))


def _dense(X: Any) -> Any:
    return X.toarray() if hasattr(X, "toarray") else X


_STATERS: dict[str, Callable[[Document, Any, Any, Any], None]] = {
    "SVC": _classes,
    "NuSVC": _classes,
    "SVR": _regression,
    "NuSVR": _regression,
    "KernelRidge": _ridge,
    "KernelRidgeClassifier": _ridge_classes,
    "GaussianProcessRegressor": _process,
    "LinearSVC": _margins,
    "LinearSVR": _margins,
    "LogisticRegression": _linear_logistic,
    "KernelLogisticRegression": _kernel_logistic,
    "AutoMachine": _vote,
}
"""How the problems of each machine are stated, by the names of their classes."""
