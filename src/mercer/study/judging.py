"""One score for all contenders of a comparison, and differences of it with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._typing import Array, IntArray, Labels, Model, Objects, Parameter
from mercer.exceptions import InvalidParameter
from mercer.io.tables import Table
from mercer.report import scores
from mercer.report.main_score import are_uneven, leading, main_first
from mercer.report.paired import Said, compare_scores
from mercer.report.record import MeasuredScore
from mercer.study.out_of_fold import asked

Folds = Sequence[tuple[IntArray, IntArray]]


@dataclass(frozen=True, eq=False)
class Judge:
    """Known answers of all rows, as numbers or numbers of ``classes``, and what judges.

    ``usual`` is what the baseline answers, the most frequent class or the mean of training.
    """

    known: Array
    classes: Labels
    usual: Array
    score: str | None
    scoring: str | None
    random_state: int

    @classmethod
    def of(cls, table: Table, folds: Folds, score: str | None, random_state: int) -> Judge:
        """Return what judges a table; a score that does not suit is refused."""
        _check(score)
        y = np.asarray(table.target)
        number = table.task == "number"
        scoring = leading(y, not number, score, None)
        classes = None if number else np.unique(y)
        known: Any = y.astype(float) if classes is None else np.searchsorted(classes, y)
        usual = np.empty_like(known)
        for train, test in folds:
            usual[test] = known[train].mean() if number else np.bincount(known[train]).argmax()
        return cls(known, classes, usual, score, scoring, random_state)

    def ask(self, model: Model, X: Objects) -> Said:
        """Return what a fitted model says of rows."""
        return asked(model, X, self.classes)

    def baseline(self) -> Said:
        """Return what the baseline says."""
        if self.classes is None:
            return Said(self.usual)
        sure = np.eye(len(self.classes))[self.usual.astype(int)]
        return Said(self.usual, sure[:, 1] if len(self.classes) == 2 else sure)

    def measure(self, said: Said) -> MeasuredScore:
        """Return the score that judges."""
        if self.classes is None:
            found = scores.regression(self.known, said.predicted, self.usual, self.random_state)
            return main_first(found, self.score, False)[0]
        shares = np.bincount(self.known.astype(int)) / len(self.known)
        found = scores.classification(
            self.known.astype(np.intp), said.predicted.astype(np.intp), said.decisions, None,
            shares, self.usual.astype(np.intp), self.random_state,
        )  # fmt: skip
        return main_first(found, self.score, are_uneven(shares))[0]

    def difference(self, model: Said, other: Said) -> tuple[float, float, float]:
        """Return the score of a model minus that of another one, and the ends of its interval."""
        main = self.measure(other)
        return compare_scores(main, self.known, model, other, self.random_state)[1:]


def _check(score: Parameter) -> None:
    if score == "log_loss":
        raise InvalidParameter(
            "score='log_loss' needs probabilities, which not all machines of a comparison have. "
            "Choose accuracy, balanced_accuracy or auc."
        )


def best_first(scores_of: Sequence[tuple[Any, Said]]) -> list[Any]:
    """Return contenders from the best to the worst."""
    found = [contender for contender, _ in scores_of]
    return sorted(found, key=lambda c: c.score.value, reverse=found[0].score.higher_is_better)
