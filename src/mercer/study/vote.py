"""A contest of an automatic machine, in the form in which studies read what a search has tried."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._typing import IntArray, Model, Objects, Targets
from mercer.estimators.automatic.auto_machine import LANDMARKS, RACE_ROWS
from mercer.io.column_kinds import listed_columns
from mercer.io.tables import Table

SHARE_OF_LIMIT = 0.6
"""The share of the time that is left which the contest and its fits may take; references, scores
and the report need some, too."""
_MEASURES = {"log_loss": "log_loss", "mae": "absolute_error"}
"""What decides a contest for the sake of a score; otherwise the AUC or the squared error."""
_CODED = {
    "number": "numbers, standardised",
    "category": "categories, with a coordinate for each",
    "phrase": "short texts, by the spelling they share",
    "sequence": "sequences of one length, with a category for each place",
}
"""How columns enter the distance of a contest, by their kind."""


class VoteSearch:
    """What was tried in a contest, beside the machine that came of it.

    Attributes
    ----------
    best_estimator_ : AutoClassifier or AutoRegressor
    best_params_ : dict
        What the best member has: its penalty and the power of its column weights; and how many
        members vote.
    best_score_ : float
        Its AUC or R² (or what was asked for) on rows that were left out.
    cv_results_ : dict
        ``params``, ``mean_test_score``, ``dropped`` (none is) and ``skipped``: what a contest that
        was stopped has not come to.
    n_splits_ : int
        The rows of which each was left out once.
    stopped : str
        Why the contest ended early: ``"interrupted"``, ``"time limit"``, or nothing.
    """

    def __init__(self, machine: Model, expected: int) -> None:
        self.best_estimator_ = machine
        self.stopped: str = machine.stopped_
        lines = machine.leaderboard_
        scores = [in_units(line["score"], machine) for line in lines]
        missed = max(1, expected - len(lines)) if machine.stopped_ else 0
        best = lines[0]
        self.best_params_ = {
            "alpha": best["alpha"],
            "column_weights": best["column_weights"],
            "members": len(machine.members_),
        }
        self.best_score_ = scores[0]
        self.n_splits_ = int((~np.isnan(machine.loo_values_.reshape(-1, 1)[:, 0])).sum())
        count = len(lines)
        self.cv_results_ = {
            "params": [*lines, *({} for _ in range(missed))],
            "mean_test_score": np.array(scores + [np.nan] * missed),
            "dropped": np.zeros(count + missed, dtype=bool),
            "skipped": np.arange(count + missed) >= count,
        }

    def predict(self, X: Objects) -> Any:
        """Return the answers of the machine."""
        return self.best_estimator_.predict(X)


def in_units(score: float, machine: Model) -> float:
    """Return the score of a contest as people know it: R² for the squared error of a number."""
    return 1 + score if machine.scoring == "squared_error" else score


def search_vote(
    machine: Model,
    X: Objects,
    y: Targets,
    *,
    score: str | None,
    time_limit: float | None,
    callback: Callable[[int, int, float], None] | None,
    groups: IntArray | None = None,
) -> VoteSearch:
    """Let an automatic machine find its members; ``time_limit`` is what is left for everything."""
    if score in _MEASURES:
        machine.set_params(scoring=_MEASURES[score])
    if time_limit is not None:
        machine.set_params(time_limit=SHARE_OF_LIMIT * time_limit)
    expected = 0

    def watch(done: int, total: int, best: float) -> None:
        nonlocal expected
        expected = total
        if callback is not None:
            callback(done, total, in_units(best, machine))

    with machine.using(watch):
        machine.fit(X, y, groups=groups)
    if machine.stopped_:
        why = "reached its time limit"
        if machine.stopped_ == "interrupted":
            why = "was interrupted"
        warnings.warn(
            f"The contest {why} after {len(machine.leaderboard_)} of about {expected} candidates; "
            "the best so far vote.",
            UserWarning,
            stacklevel=2,
        )
    machine.set_params(time_limit=None)
    return VoteSearch(machine, expected)


def contest_in_words(table: Table, rows: int) -> tuple[str, ...]:
    """Say how the columns of a table are compared, and what contends on so many training rows."""
    lines = []
    for kind, words in _CODED.items():
        names = [c.name for c in table.columns if c.used and c.kind == kind]
        if names:
            lines.append(f"{listed_columns(names)}: {words}.")
    lines.append(
        "All of them make one distance. Kernels, weights of columns, widths and penalties contend, "
        "judged on rows that were left out; the best few vote."
    )
    if rows > RACE_ROWS:
        lines.append(
            f"Of the {rows:,} rows to learn from, {RACE_ROWS:,} decide the contest. What wins "
            f"learns from all of them through {LANDMARKS:,} landmarks, rows that stand for the "
            "rest."
        )
    return tuple(lines)
