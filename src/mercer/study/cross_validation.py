"""Few rows: the model learns from all of them, and the whole procedure is judged by folds."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from mercer._interrupts import finishing
from mercer._typing import Array, IntArray, Labels, Objects
from mercer.report.paired import FittedReference, Said, said_by
from mercer.report.predicted import OutOfFold
from mercer.study.copies import folds_without_copies
from mercer.study.out_of_fold import asked, joined
from mercer.study.plan import Plan, prepare
from mercer.study.references import usual_methods
from mercer.study.searching import final_model, search_machine
from mercer.study.split_rows import check_folds
from mercer.study.watching import Watch, as_part


@dataclass(frozen=True, eq=False)
class LeftOutModel:
    """A model for each fold, of which only the answers to the rows of the fold are kept."""

    answers: Any
    probabilities: Array | None = None

    def predict(self, X: Objects) -> Any:
        """Return the answers, whatever is asked: they are those to all rows."""
        return self.answers

    def predict_proba(self, X: Objects) -> Any:
        """Return the probabilities, likewise."""
        return self.probabilities


def judge_by_folds(
    plan: Plan,
    *,
    time_limit: float | None,
    callback: Watch | None,
    scoring: str | None,
    score: str | None,
    cost: Mapping[Any, float] | None,
    notes: list[str],
) -> tuple[OutOfFold, list[FittedReference]]:
    """Search, fit and ask anew in each fold, without its rows; usual methods likewise.

    What is judged is the procedure: a model on all rows is about as good, or a little better. The
    interval of the mean over all rows that were left out is that of Bayle, Bayle, Janson and
    Mackey (2020), Cross-validation confidence intervals for test error.
    """
    n = len(plan.table)
    classes = None if plan.table.task == "number" else np.unique(plan.y)
    folds = _splits(plan)
    check_folds(plan.table, folds)
    share = None if time_limit is None else time_limit / (len(folds) + 1)
    said: list[Said] = []
    beside: list[list[tuple[FittedReference, Said]]] = []
    for k, (train, test) in enumerate(folds):
        part = replace(
            plan, train=train, test=test, prepared=prepare(plan.table, train),
            began=time.perf_counter(),
        )  # fmt: skip
        X, y, left_out = part.rows(train), plan.y[train], part.rows(test)
        watch = as_part(callback, k + 1, len(folds) + 1)
        search = search_machine(
            part, X, y, time_limit=share, callback=watch, notes=[], scoring=scoring, score=score,
            cost=cost,
        )  # fmt: skip
        with finishing():
            model = final_model(search, X, y, part, "", share)
            said.append(asked(model, left_out, classes))
            found = usual_methods(part, X, y, "", share, [] if k else notes)
            beside.append([(r, said_by(r.model, left_out, classes)) for r in found])
    tests = [test for _, test in folds]
    return OutOfFold(joined(said, tests, n), len(folds)), _together(beside, tests, n, classes)


def _splits(plan: Plan) -> list[tuple[IntArray, IntArray]]:
    """Return folds in which each class is spread, and copies and groups stay together."""
    found = folds_without_copies(plan, plan.train)
    if isinstance(found, list):
        return found
    classes = plan.table.task != "number"
    kind = StratifiedKFold if classes else KFold
    folds = kind(found, shuffle=True, random_state=plan.random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare class has a note of its own
        return list(folds.split(plan.train, plan.y if classes else None))


def _together(
    beside: list[list[tuple[FittedReference, Said]]],
    tests: Sequence[IntArray],
    n: int,
    classes: Labels | None,
) -> list[FittedReference]:
    """Return the usual methods that were fitted in every fold, with their answers to all rows."""
    found = []
    for place in range(min(map(len, beside))):
        each = [fold[place] for fold in beside]
        all_rows = joined([said for _, said in each], tests, n)
        answers = all_rows.predicted if classes is None else classes[all_rows.predicted]
        model = LeftOutModel(answers, all_rows.probabilities)
        seconds = sum(reference.seconds for reference, _ in each)
        found.append(FittedReference(each[0][0].name, model, seconds))
    return found
