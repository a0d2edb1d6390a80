"""The score that leads a report: chosen by the user, or by how even the classes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer._typing import Array, Labels, Parameter, Targets
from mercer.exceptions import InvalidParameter
from mercer.report.record import MeasuredScore

CLASS_SCORES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "auc": "AUC",
    "log_loss": "Log loss",
}
NUMBER_SCORES = {"r2": "R²", "mae": "Mean absolute error", "rmse": "Root mean squared error"}
UNEVEN = 0.4
"""A class is rare below this part of its even share, 1/K: below 20 % of two classes."""

FEWEST_OF_CLASS = 5
"""Rows of one of many classes below which it is not in all folds of a search: a class of two rows
would count as much as one of hundreds, and its errors cost most of all. On questions of 48 kinds
that took the accuracy from .64 to .07, and the AUC from .85 to .81."""


def check_score(score: Parameter, classes: bool) -> None:
    """Refuse a score that does not suit the task."""
    known = CLASS_SCORES if classes else NUMBER_SCORES
    if score is not None and score not in known:
        task = "classes" if classes else "a number"
        raise InvalidParameter(
            f"score={score!r} does not judge {task} to predict. Choose one of {', '.join(known)}."
        )


SCORING = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "r2": "r2",
    "mae": "neg_mean_absolute_error",
    "rmse": "neg_root_mean_squared_error",
}
"""What a search is led by for each score, in scikit-learn's names."""


BALANCED = ("roc_auc", "balanced_accuracy")
"""What does not depend on how frequent classes are, and goes with errors weighted likewise."""


def search_scoring(score: str | None, shares: Array | None) -> str | None:
    """Return what should lead the search for the sake of a score; None is what it does anyway.

    The log loss needs probabilities, which the machines of a search do not have yet.
    """
    if shares is None:
        return None if score is None else SCORING[score]
    if score == "auc" or (score is None and are_uneven(shares)):
        return "roc_auc" if len(shares) == 2 else "balanced_accuracy"
    return SCORING.get(score or "")


def leading(y: Targets, classes: bool, score: str | None, positive: Parameter) -> str | None:
    """Return what leads the search; a score or a positive class that does not suit is refused.

    Where one of many classes has hardly any rows, balanced measures are left to chance, and the
    search does what it does anyway.
    """
    check_score(score, classes)
    if not classes:
        if positive is not None:
            raise InvalidParameter(f"positive={positive!r} is for classes; here is a number.")
        return search_scoring(score, None)
    labels, counts = np.unique(y, return_counts=True)
    shares = counts / counts.sum()
    if positive is not None:
        positive_code(labels, positive, shares)
    found = search_scoring(score, shares)
    if found == "balanced_accuracy" != score and counts.min() < FEWEST_OF_CLASS:
        return None
    return found


def positive_code(classes: Labels, positive: Parameter, shares: Array) -> int:
    """Return the number of the positive one of two classes: as asked for, else the rarer one."""
    if positive is None:
        return 0 if shares[0] < shares[1] else 1
    names = [str(label) for label in classes]
    if len(names) != 2 or str(positive) not in names:
        listed = ", ".join(map(repr, names[:5]))
        raise InvalidParameter(
            f"positive={positive!r} has to be one of two classes; the target has {listed}"
            f"{' …' if len(names) > 5 else ''}."
        )
    return names.index(str(positive))


def are_uneven(shares: Array) -> bool:
    """Whether a class is so rare that a model may leave it out and still be right most times."""
    return len(shares) > 1 and float(shares.min()) * len(shares) < UNEVEN


def main_first(
    found: Sequence[MeasuredScore], score: str | None, uneven: bool
) -> list[MeasuredScore]:
    """Return the scores with the one that judges the model first.

    Without a wish, classes of even size are judged by accuracy; uneven ones by the AUC, else by
    balanced accuracy, which a constant answer does not flatter.
    """
    wanted = {**CLASS_SCORES, **NUMBER_SCORES}
    order = [wanted[score]] if score is not None else []
    order += ["AUC", "Balanced accuracy"] if uneven and score is None else []
    there = {measured.name: measured for measured in found}
    main = next((there[name] for name in order if name in there), None)
    return list(found) if main is None else [main, *(s for s in found if s is not main)]
