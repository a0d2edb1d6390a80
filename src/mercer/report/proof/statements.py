"""From a fitted machine to the proof that a page carries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array, Model, Objects, SampleWeights, Targets
from mercer.estimators.certify import certify
from mercer.estimators.ridge.kernel_ridge_classifier import signs_of
from mercer.exceptions import InvalidInput
from mercer.problems.certificate import Certificate
from mercer.report.proof import loss_statements, margin_statements, weight_statements
from mercer.report.proof.document import Document
from mercer.report.proof.training_data import TrainingData, unprovable
from mercer.report.verifier.page import Printed
from mercer.report.verifier.verdict import CLAIMS, verify


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
    problem : str
        What was solved, as the certificate has it.
    besides : tuple of str
        What is carried besides rows, targets and multipliers.
    """

    text: str
    claims: dict[str, float]
    digest: str
    rows: int
    problems: int
    matrices: tuple[str, ...]
    problem: str
    besides: tuple[str, ...]


def carried_proof(
    machine: Model, X: Objects, y: Targets = None, sample_weight: SampleWeights = None
) -> CarriedProof:
    """Return the proof of a fitted machine, from the data that it was fitted on.

    Nothing is written that a verifier would not confirm: it is asked before.

    Parameters
    ----------
    machine : estimator
        A machine of mercer with a certificate.
    X, y, sample_weight
        Its training data, as the machine itself has seen them.
    """
    document = Document()
    data = TrainingData(X, y, sample_weight)
    state(document, machine, data)
    plain = document.plain()
    certificate = _certificate(machine, data)
    claims = {name: float(getattr(certificate, name)) for name in CLAIMS}
    found = verify(plain)
    printed = [Printed(name, repr(value)) for name, value in claims.items()]
    checked = verify(plain, [*printed, Printed("digest", found.digest)])
    if not checked.holds:
        raise unprovable(f"of this {type(machine).__name__}, {'; '.join(checked.faults)}.")
    return CarriedProof(
        # What ends a script in a page cannot stand in it.
        text=json.dumps(plain, separators=(",", ":")).replace("<", "\\u003c"),
        claims=claims,
        digest=found.digest,
        rows=found.rows,
        problems=len(found.problems),
        matrices=tuple(gram["text"] for gram in document.grams if "matrix" in gram),
        problem=certificate.problem,
        besides=tuple(_besides(document)),
    )


def _besides(document: Document) -> Iterator[str]:
    """Yield what a proof carries besides rows, targets and multipliers."""
    if any("kernel" in gram for gram in document.grams):
        yield "the settings of its kernel"
    if any("landmarks" in gram for gram in document.grams):
        yield "its landmarks"
    if any("edges" in problem for problem in document.problems):
        yield "its graph of neighbours"


def state(document: Document, machine: Model, data: TrainingData) -> None:
    """Add the problems of a machine to a document."""
    names = [base.__name__ for base in type(machine).__mro__]
    stater = next((STATERS[name] for name in names if name in STATERS), None)
    if stater is None or not type(machine).__module__.startswith("mercer."):
        raise InvalidInput(
            f"A report cannot carry the proof of {type(machine).__name__}: it is no machine of "
            "mercer with a certificate. Leave the proof away, or choose another machine."
        )
    stater(document, machine, data)


def _certificate(machine: Model, data: TrainingData) -> Certificate:
    """Judge a machine again, or each machine of a vote, from the data."""
    if not hasattr(machine, "members_"):
        return certify(machine, *data)
    return Certificate.total(
        [certify(member.machine, *own) for member, own in _votes(machine, data)]
    )


def _state_vote(document: Document, machine: Model, data: TrainingData) -> None:
    for member, own in _votes(machine, data):
        state(document, member.machine, own)


def _votes(machine: Model, data: TrainingData) -> list[tuple[Any, TrainingData]]:
    """Return each member of a vote, with its rows and targets as it has seen them."""
    if data.sample_weight is not None:
        raise InvalidInput(f"{type(machine).__name__} takes no sample_weight.")
    targets: Array
    if hasattr(machine, "classes_"):
        targets = signs_of(data.codes(machine), len(machine.classes_))
    else:
        numbers = np.asarray(data.y, dtype=np.float64)
        targets = (numbers - machine.target_mean_) / machine.target_scale_
    tables = [coding.transform(data.X) for coding in machine.codings_]
    votes = []
    for member in machine.members_:
        own = targets.reshape(len(targets), *member.machine.dual_coef_.shape[1:])
        rows = tables[member.coding] * member.weights
        votes.append((member, TrainingData(rows, own, None)))
    return votes


STATERS: dict[str, Callable[[Document, Any, TrainingData], None]] = {
    "MultipleKernelClassifier": margin_statements.state_weighing,
    "MultipleKernelRegressor": margin_statements.state_weighing,
    "SVC": margin_statements.state_classifier,
    "NuSVC": margin_statements.state_classifier,
    "SVR": margin_statements.state_one_function,
    "NuSVR": margin_statements.state_one_function,
    "OneClassSVM": margin_statements.state_one_function,
    "KernelRidge": loss_statements.state_ridge,
    "KernelRidgeClassifier": loss_statements.state_ridge_classes,
    "StreamedRidge": loss_statements.state_ridge,
    "GaussianProcessRegressor": loss_statements.state_process,
    "GaussianProcessClassifier": loss_statements.state_modes,
    "KernelLogisticRegression": loss_statements.state_kernel_logistic,
    "StreamedClassifier": loss_statements.state_streamed_classes,
    "LaplacianSVC": loss_statements.state_manifold,
    "LaplacianRidge": loss_statements.state_manifold,
    "LinearSVC": weight_statements.state_margins,
    "LinearSVR": weight_statements.state_margins,
    "LogisticRegression": weight_statements.state_logistic,
    "Ridge": weight_statements.state_squares,
    "Lasso": weight_statements.state_squares,
    "ElasticNet": weight_statements.state_squares,
    "NormRegressor": weight_statements.state_norm,
    "PenaltyRegressor": weight_statements.state_penalties,
    "AutoMachine": _state_vote,
}
"""How the problems of each machine are stated, by the names of their classes."""
