"""The contest of an automatic machine: who ran, how they did, and what columns are worth."""

from __future__ import annotations

import numpy as np

from mercer._typing import Model
from mercer.report import text
from mercer.report.reasons import ColumnWeight, Vote, VoteLine

COLUMNS = 40
"""Columns whose weights are shown, the strongest first: more than these nobody reads."""
_ALIKE = 1.2
"""Factors that differ by less than this are the same for who reads them."""
_NAMED = 3
"""Columns that a sentence names."""
_SCORES = {
    "auc": "AUC",
    "log_loss": "log loss, turned round",
    "brier": "Brier score, turned round",
    "squared_error": "R²",
    "absolute_error": "mean absolute error in standard deviations, turned round",
}
"""What decided a contest, in words; more is better."""


def vote_of(machine: Model) -> Vote | None:
    """Return the contest of an automatic machine; None for any other."""
    if not hasattr(machine, "leaderboard_"):
        return None
    # The squared error is in units of the target's variance.
    shift = 1.0 if machine.scoring == "squared_error" else 0.0
    lines = [
        VoteLine(
            kernel=text.clean(text.formula(line["kernel"]), 120),
            power=float(line["column_weights"]),
            alpha=float(line["alpha"]),
            score=float(line["score"]) + shift,
            behind=float(line["behind"]),
            noise=float(line["noise"]),
            member=bool(line["member"]),
            seconds=float(line["seconds"]),
        )
        for line in machine.leaderboard_
    ]
    left_out = np.asarray(machine.loo_values_).reshape(len(machine.loo_values_), -1)
    rows = int((~np.isnan(left_out[:, 0])).sum())
    return Vote(_SCORES[machine.scoring], rows, lines, _columns(machine), machine.stopped_)


def _columns(machine: Model) -> list[ColumnWeight]:
    """Return the weights of columns, the strongest first."""
    factors: dict[str, float] = dict.fromkeys(machine.alignments_, 0.0)
    for member in machine.members_:
        greatest: dict[str, float] = {}
        owners = machine.codings_[member.coding].owners
        for name, weight in zip(owners, member.weights.tolist(), strict=True):
            greatest[name] = max(greatest.get(name, 0.0), weight)
        top = max(greatest.values())
        for name, weight in greatest.items():
            factors[name] += weight / top / len(machine.members_)
    top_factor = max(factors.values())
    top_alignment = max(machine.alignments_.values()) or 1.0
    found = [
        ColumnWeight(text.clean(name, 48), alignment / top_alignment, factors[name] / top_factor)
        for name, alignment in machine.alignments_.items()
    ]
    return sorted(found, key=lambda c: (-c.factor, -c.alignment))[:COLUMNS]


def columns_in_words(vote: Vote) -> str:
    """Say which columns count most, and how much more than others."""
    if len(vote.columns) < 2:
        return ""
    named = [column.name for column in vote.columns[:_NAMED]]
    first, last = vote.columns[0], vote.columns[-1]
    if last.factor > 0 and first.factor / last.factor < _ALIKE:
        alone = sorted(vote.columns, key=lambda column: -column.alignment)[:_NAMED]
        names = text.listed([column.name for column in alone])
        return f"all have the same weight; by themselves {names} tell most"
    middle = vote.columns[len(vote.columns) // 2]
    words = f"{text.listed(named)} count most"
    if middle.factor > 0 and first.factor / middle.factor >= _ALIKE:
        times = text.number(first.factor / middle.factor, 2)
        words += f"; {first.name} counts {times} times as much as {middle.name}"
    return words


def winner_in_words(vote: Vote) -> str:
    """Say why the best candidate is the best, and who votes with it."""
    best, members = vote.lines[0], vote.members
    if len(vote.lines) == 1:
        return "There was time for one candidate only."
    second = vote.lines[1]
    margin = "ahead of all others by more than the noise of the comparison"
    if second.behind <= second.noise:
        margin = "though the second is behind by no more than the noise of the comparison"
    words = f"The best is {best.kernel} with {vote.scoring} {text.fixed(best.score, 4)}, {margin}."
    if len(members) == 1:
        return f"{words} It answers alone: the others are behind by more than noise."
    return (
        f"{words} The answer is the mean of {len(members)}: the best, and those behind it by no "
        "more than the noise, at most five in all."
    )
