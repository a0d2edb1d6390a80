"""Predicted of the model beside the true ones: classes, numbers, or inside and outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray, Labels, Model, Objects, Parameter, Targets
from mercer.exceptions import InvalidInput
from mercer.kernels.encoders import row_count
from mercer.report import scores, table, text
from mercer.report.anatomy import Anatomy
from mercer.report.main_score import are_uneven, check_score, main_first, positive_code
from mercer.report.paired import Said
from mercer.report.record import Calibration, Confusion, Flags, MeasuredScore, Residuals
from mercer.report.reliability import calibration
from mercer.report.sampling import sample
from mercer.report.threshold_curves import ThresholdCurves, threshold_curves

GROUPS = 8
"""Groups in a picture: few enough to have a colour each."""
CONFUSION_CLASSES = 15
"""Rows of a table of confusions that fit a page; rarer classes share the last one."""
RESIDUALS = 500
"""Points in a drawing of residuals: enough to see a shape, few enough to draw."""


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Answers to all rows in the place of test rows, each by a model that was fitted without it."""

    said: Said
    folds: int


@dataclass(eq=False)
class Predicted:
    """What was answered and what was true, in the forms that a report needs.

    Groups are classes (or quarters of a numeric target), few enough to have a colour each.
    """

    task: str
    names: list[str]
    baseline: str
    scores: list[MeasuredScore]
    actual: Any
    predicted: Any
    wrong: Flags
    winners: IntArray
    seconds: IntArray
    train_codes: IntArray | None
    train_texts: Sequence[str]
    train_groups: IntArray
    test_groups: IntArray
    group_names: list[str]
    train_order: Array
    ordered_by: str
    groups_are_ordered: bool = False
    confusion: Confusion | None = None
    calibration: Calibration | None = None
    tube: float | None = None
    numeric: bool = False
    said: Said | None = None
    curves: ThresholdCurves | None = None

    def actual_text(self, row: int) -> str:
        """Return the true answer of a test row."""
        if self.actual is None:
            return "unknown"
        value = self.actual[row]
        return text.number(float(value)) if self.numeric else self.names[value]

    def predicted_text(self, row: int) -> str:
        """Return the model's answer to a test row."""
        value = self.predicted[row]
        return text.number(float(value)) if self.numeric else self.names[value]

    def residuals(self, X: Objects, names: Sequence[Any] | None, seed: int) -> Residuals | None:
        """Return true and predicted numbers of a sample of test rows."""
        if not self.numeric or self.actual is None:
            return None
        rows = sample(np.zeros(len(self.actual), dtype=np.intp), RESIDUALS, seed)
        return Residuals(
            table.row_names(X, names, rows),
            self.actual[rows],
            self.predicted[rows],
            self.tube,
            len(self.actual),
        )


def predict(
    anatomy: Anatomy,
    y_train: Targets,
    X_test: Objects,
    y_test: Targets,
    baseline: Model,
    seed: int,
    *,
    score: str | None = None,
    positive: Parameter = None,
    left_out: OutOfFold | None = None,
) -> Predicted:
    """Ask the model for its answers to the test rows and score them, the main score first.

    Answers of ``left_out`` take their place, where the test rows are those of training.
    """
    if anatomy.one_class:
        return _inside_answers(anatomy, X_test, y_test)
    if y_train is None:
        raise InvalidInput(f"describe: y_train is missing, and {anatomy.name} was fitted on it.")
    if anatomy.classes is None:
        check_score(score, classes=False)
        said = Said(np.asarray(anatomy.model.predict(X_test), dtype=float).ravel())
        said = said if left_out is None else left_out.said
        answers = _number_answers(anatomy, said, y_train, X_test, y_test, baseline, seed)
        return replace(answers, scores=main_first(answers.scores, score, uneven=False))
    check_score(score, classes=True)
    said = _ask(anatomy, X_test) if left_out is None else left_out.said
    answers = _class_answers(anatomy, said, y_train, X_test, y_test, baseline, seed, positive)
    shares = np.bincount(np.asarray(answers.train_codes)) / len(answers.train_texts)
    return replace(answers, scores=main_first(answers.scores, score, are_uneven(shares)))


# ---- classes ---------------------------------------------------------------------------------


def _ask(anatomy: Anatomy, X_test: Objects) -> Said:
    """Return what the model says of classes."""
    probabilities = None
    if hasattr(anatomy.model, "predict_proba"):
        probabilities = np.asarray(anatomy.model.predict_proba(X_test), dtype=float)
    predicted = np.searchsorted(np.asarray(anatomy.classes), anatomy.model.predict(X_test))
    return Said(predicted, _decisions(anatomy, X_test), probabilities)


def _class_answers(
    anatomy: Anatomy,
    said: Said,
    y_train: Targets,
    X_test: Objects,
    y_test: Targets,
    baseline: Model,
    seed: int,
    positive: Parameter,
) -> Predicted:
    classes = np.asarray(anatomy.classes)
    train = np.searchsorted(classes, np.asarray(y_train))
    predicted: Any = said.predicted
    decisions, probabilities = said.decisions, said.probabilities
    names = [text.clean(label, 48) for label in classes.tolist()]
    actual, extra = _codes(classes, y_test)
    counts = np.bincount(train, minlength=len(classes))
    usual = int(counts.argmax())
    always: Any = np.full(len(predicted), usual)
    words = f"always answering “{names[usual]}”, the most frequent class"
    if baseline is not None:
        both = np.array([*classes.tolist(), *extra], dtype=object)
        always, _ = _codes(both, baseline.predict(X_test))
        words = text.clean(f"the model {baseline!r}", 120)
    known = names + [text.clean(label, 48) for label in extra]
    found: list[MeasuredScore] = []
    confusion = bins = curves = None
    if actual is not None:
        shares = np.append(counts / counts.sum(), np.zeros(len(extra)))
        usable = not extra
        two = None
        if len(classes) == 2 or positive is not None:
            wanted = positive_code(classes, positive, shares)
            two = (wanted, names[wanted])
        found = scores.classification(
            actual,
            predicted,
            decisions if usable else None,
            probabilities if usable else None,
            shares,
            always,
            seed,
            two if usable else None,
        )
        confusion = _confusion(actual, predicted, known, np.append(counts, [0] * len(extra)))
        if usable:
            bins = calibration(actual, predicted, decisions, probabilities, names)
        if usable and two is not None and decisions is not None and decisions.ndim == 1:
            wanted = two[0]
            curves = threshold_curves(
                actual == wanted, decisions if wanted else -decisions, predicted == wanted,
                names[wanted], names[1 - wanted],
            )  # fmt: skip
    group_of, group_names = _grouped(known, counts, GROUPS)
    shown = predicted if actual is None else actual
    return Predicted(
        task=f"{len(classes)} classes: {_listed(names)}",
        names=known,
        baseline=words,
        scores=found,
        actual=actual,
        predicted=predicted,
        wrong=np.zeros(len(predicted), bool) if actual is None else actual != predicted,
        winners=predicted,
        seconds=_seconds(predicted, decisions, counts),
        train_codes=train,
        train_texts=[names[c] for c in train],
        train_groups=group_of[train],
        test_groups=group_of[shown],
        group_names=group_names,
        train_order=np.arange(len(train), dtype=float),
        ordered_by="class",
        confusion=confusion,
        calibration=bins,
        said=said,
        curves=curves,
    )


def _codes(classes: Labels, labels: Labels) -> tuple[IntArray | None, list[Any]]:
    """Return the numbers of labels, and the labels that training did not have."""
    if labels is None:
        return None, []
    known = classes.tolist()
    given = np.asarray(labels).tolist()
    extra = list(dict.fromkeys(label for label in given if label not in set(known)))
    number = {label: i for i, label in enumerate([*known, *extra])}
    return np.array([number[label] for label in given], dtype=np.intp), extra


def _decisions(anatomy: Anatomy, X: Objects) -> Array | None:
    """Return one score for two classes, else one for each class; None where there are none."""
    votes = getattr(anatomy.machine, "decision_function_shape", "ovr") == "ovo"
    if not hasattr(anatomy.model, "decision_function") or (votes and len(anatomy.classes) > 2):
        return None
    return np.asarray(anatomy.model.decision_function(X), dtype=float)


def _seconds(predicted: IntArray, decisions: Array | None, counts: IntArray) -> IntArray:
    """Return the class that came second for each row."""
    if len(counts) == 2:
        return 1 - predicted
    rival = np.tile(counts.astype(float), (len(predicted), 1)) if decisions is None else decisions
    rival = rival.copy()
    rival[np.arange(len(predicted)), predicted] = -np.inf
    return np.asarray(rival.argmax(axis=1))


def _confusion(
    actual: IntArray, predicted: IntArray, names: list[str], counts: IntArray
) -> Confusion:
    place, shown = _grouped(names, counts, CONFUSION_CLASSES)
    matrix = np.zeros((len(shown), len(shown)), dtype=np.intp)
    np.add.at(matrix, (place[actual], place[predicted]), 1)
    hidden = 0 if shown is names else len(names) - len(shown) + 1
    return Confusion(shown, matrix, hidden)


def _grouped(names: list[str], counts: IntArray, most: int) -> tuple[IntArray, list[str]]:
    """Return the group of each class: its own, or that of all small ones together."""
    if len(names) <= most:
        return np.arange(len(names)), names
    first = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    groups = np.full(len(names), len(first), dtype=np.intp)
    groups[first] = np.arange(len(first))
    return groups, [names[c] for c in first] + ["other classes"]


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} … ({len(names)} in all)"


# ---- numbers ---------------------------------------------------------------------------------


def _number_answers(
    anatomy: Anatomy,
    said: Said,
    y_train: Targets,
    X_test: Objects,
    y_test: Targets,
    baseline: Model,
    seed: int,
) -> Predicted:
    train = np.asarray(y_train, dtype=float).ravel()
    predicted = said.predicted
    actual = None if y_test is None else np.asarray(y_test, dtype=float).ravel()
    always = np.full(len(predicted), train.mean())
    words = f"always predicting {text.number(float(train.mean()))}, the mean of training"
    if baseline is not None:
        always = np.asarray(baseline.predict(X_test), dtype=float).ravel()
        words = text.clean(f"the model {baseline!r}", 120)
    edges = np.quantile(train, [0.25, 0.5, 0.75])
    a, b, c = (text.number(float(edge), 3) for edge in edges)
    zeros = np.zeros(len(predicted), dtype=np.intp)
    return Predicted(
        task="a number to predict",
        names=[],
        baseline=words,
        scores=[] if actual is None else scores.regression(actual, predicted, always, seed),
        actual=actual,
        predicted=predicted,
        wrong=zeros.astype(bool),
        winners=zeros,
        seconds=zeros,
        train_codes=None,
        train_texts=[text.number(value) for value in train.tolist()],
        train_groups=np.searchsorted(edges, train),
        test_groups=np.searchsorted(edges, predicted if actual is None else actual),
        group_names=[f"up to {a}", f"{a} to {b}", f"{b} to {c}", f"above {c}"],
        groups_are_ordered=True,
        train_order=train,
        ordered_by="target",
        tube=_tube(anatomy.machine),
        numeric=True,
        said=said,
    )


def _tube(machine: Model) -> float | None:
    width = getattr(machine, "epsilon_", getattr(machine, "epsilon", None))
    return None if width is None else float(width)


# ---- inside and outside ----------------------------------------------------------------------


def _inside_answers(anatomy: Anatomy, X_test: Objects, y_test: Targets) -> Predicted:
    names = ["outlier", "accepted"]
    inside = np.asarray(anatomy.model.predict(X_test)) > 0
    train = np.asarray(anatomy.machine.decision_function(anatomy.train), dtype=float)
    predicted = inside.astype(np.intp)
    actual = None
    if y_test is not None and set(np.unique(y_test).tolist()) <= {-1, 1}:
        actual = (np.asarray(y_test) > 0).astype(np.intp)
    expected = 1 - float(anatomy.machine.nu)
    equal = np.ones(2, dtype=np.intp)
    found = [scores.acceptance(inside, expected)]
    return Predicted(
        task="one class: which rows are like the training rows",
        names=names,
        baseline=f"1 − ν = {text.percent(expected)}, what training allows for",
        scores=found,
        actual=actual,
        predicted=predicted,
        wrong=np.zeros(row_count(X_test), bool) if actual is None else actual != predicted,
        winners=np.ones(len(inside), dtype=np.intp),
        seconds=np.zeros(len(inside), dtype=np.intp),
        train_codes=None,
        train_texts=[names[int(value >= 0)] for value in train],
        train_groups=(train >= 0).astype(np.intp),
        test_groups=predicted,
        group_names=names,
        train_order=train,
        ordered_by="decision value",
        confusion=None if actual is None else _confusion(actual, predicted, names, equal),
    )
