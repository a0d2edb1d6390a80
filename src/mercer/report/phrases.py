"""The sentences of a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mercer._typing import Targets
from mercer.problems.certificate import STATIONARY, UNKNOWN, WITHIN
from mercer.report.record import MeasuredScore, Proof, Reference
from mercer.report.text import counted, fixed, number, percent

FEW_ROWS = 30
"""Below so many test rows one error more or less changes the verdict."""
LARGE_GAP = 0.05
"""Above this relative gap the machine is far from its optimum, and the verdict says so."""


def value(score: MeasuredScore, which: float | None = None) -> str:
    """Write a value of a score in its own form."""
    wanted = score.value if which is None else which
    if score.form == "percent":
        return percent(wanted)
    return fixed(wanted) if score.form == "share" else number(wanted)


def short(score: MeasuredScore) -> str:
    """Return the name of a score inside a sentence."""
    return score.name if score.name in ("R²", "AUC") else score.name.lower()


def interval(score: MeasuredScore) -> str:
    """Write the interval of a score."""
    if math.isnan(score.low):
        return "too few rows"
    return f"{value(score, score.low)} to {value(score, score.high)}"


def headline(score: MeasuredScore | None, rows: int, folds: int = 0) -> str:
    """Say the main score with its interval and the baseline's; ``folds`` left each row out once."""
    if score is None:
        return f"No score: {counted(rows, 'test row')} without a known answer."
    promised = "training promised" if score.name == "Accepted" else "the baseline reaches"
    ends = f"95 % interval {interval(score)}"
    if math.isnan(score.low):
        ends = "too few rows for an interval"
    where = f"on {counted(rows, 'test row')} that the model never saw"
    if folds:
        where = (
            f"on {counted(rows, 'row')}, each by a model that was made without it, {folds} folds"
        )
    return (
        f"{score.name} {value(score)} {where} ({ends}); {promised} {value(score, score.baseline)}."
    )


def difference(score: MeasuredScore, wanted: float) -> str:
    """Write a difference of two values of a score, with its sign: +1.5 points."""
    return _signed(score, wanted) + (" points" if score.form == "percent" else "")


def difference_interval(score: MeasuredScore, reference: Reference) -> str:
    """Write the interval of the difference from a reference."""
    if math.isnan(reference.low):
        return "too few rows"
    return f"{_signed(score, reference.low)} to {difference(score, reference.high)}"


def _signed(score: MeasuredScore, wanted: float) -> str:
    sign = "+" if wanted > 0 else ""
    if score.form == "percent":
        return sign + fixed(100 * wanted, 1)
    return sign + (fixed(wanted) if score.form == "share" else number(wanted))


def listed(score: MeasuredScore, references: Sequence[Reference]) -> str:
    """Name references with their values: random forest 83.8 %, logistic regression 85.3 %."""
    return ", ".join(f"{r.name} {value(score, r.value)}" for r in references)


def beaten_by(score: MeasuredScore, references: Sequence[Reference]) -> list[Reference]:
    """Return the references that are better by more than chance on these test rows."""
    if score.higher_is_better:
        return [r for r in references if r.high < 0]
    return [r for r in references if r.low > 0]


def rank(score: MeasuredScore, references: Sequence[Reference]) -> str:
    """Name the place of a model that no reference beats."""
    sign = 1 if score.higher_is_better else -1
    ahead = all(min(sign * r.low, sign * r.high) > 0 for r in references)
    return f"{'Better than' if ahead else 'As good as'} the usual methods"


def standing(score: MeasuredScore, references: Sequence[Reference]) -> str:
    """Say in a sentence how the model does beside the usual methods."""
    own = f"{score.name} {value(score)}"
    winners = beaten_by(score, references)
    if winners:
        best = winners[0]
        named = best.name if best.name[0].isupper() else f"a {best.name}"  # a library, or a method
        return (
            f"Better than guessing, but {named} does better: {value(score, best.value)} "
            f"against {value(score)} (difference {difference(score, best.difference)}, 95 % "
            f"interval {difference_interval(score, best)})."
        )
    sign = 1 if score.higher_is_better else -1
    ahead = any(sign * r.difference < 0 for r in references)
    within = " That it is behind is within chance." if ahead else ""
    return f"{rank(score, references)}: {own} beside {listed(score, references)}.{within}"


def verdict(
    score: MeasuredScore | None,
    rows: int,
    proof: Proof | None,
    baseline: str,
    references: Sequence[Reference] = (),
    fits: int = 1,
) -> tuple[str, str]:
    """Return whether the model can be trusted (yes, caution, no, unknown) and why, in words.

    What is proven, the fit, and what is estimated, the quality, stand in sentences of their own. A
    vote has several fits; that these were chosen is no part of the proof.
    """
    if score is None:
        return "unknown", "Without known answers for the test rows nothing can be said of errors."
    better = score.low > score.baseline if score.higher_is_better else score.high < score.baseline
    worse = score.high < score.baseline if score.higher_is_better else score.low > score.baseline
    if rows < FEW_ROWS and not worse:
        return "caution", (
            f"Judge with care: {counted(rows, 'test row')} cannot tell a good model from a lucky "
            f"one. Keep at least {FEW_ROWS} rows aside, better some hundreds."
        )
    if not better:
        return "no", (
            "Do not rely on this model: these test rows do not show that it is better than "
            f"{baseline}."
        )
    if proof is not None and proof.status in (STATIONARY, UNKNOWN):
        return "caution", (
            f"The model beats {baseline}, but nothing says how good its fit is ({proof.status}): "
            "its kernel is not known to be positive semi-definite on these data."
        )
    if proof is not None and proof.status not in ("optimal", WITHIN, ""):
        return "caution", (
            f"The model beats {baseline}, but its fit stopped early ({proof.status}), within "
            f"{share(proof.relative_gap)} of the best possible one: give it more time."
        )
    if proof is not None and proof.relative_gap > LARGE_GAP:
        return "caution", (
            f"The model beats {baseline}, but its fit is rough: only within "
            f"{share(proof.relative_gap)} of the best possible one. A smaller tol makes it finer."
        )
    proven = ""
    if proof is not None:
        near = f"proven to be within {share(proof.relative_gap)} of the best one"
        proven = f" The fit is {near}."
        if fits > 1:
            proven = (
                f" The {fits} fits that vote are, taken together, {near}s. That they were chosen "
                "rests on estimates."
            )
    if beaten_by(score, references):
        return "caution", f"{standing(score, references)}{proven}"
    beside = f"{standing(score, references)} " if references else ""
    end = value(score, score.low if score.higher_is_better else score.high)
    return "yes", (
        f"{beside}The model can be trusted as far as new rows resemble these: even the worse end "
        f"of the interval, {end}, beats {baseline}.{proven}"
    )


def never_answered(
    score: MeasuredScore | None, names: Sequence[str], actual: Targets, predicted: Targets
) -> list[str]:
    """Name a class that a model which ranks rows well never answers; accuracy shows it anyway."""
    if score is None or score.name not in ("AUC", "Log loss"):
        return []
    silent = [names[code] for code in np.setdiff1d(actual, predicted)]
    if not silent:
        return []
    return [
        f"The model never answers “{silent[0]}” for these test rows, though some of them are: its "
        "probabilities or decision values tell rows apart, and need a threshold of your own."
    ]


def doubted(trust: str, words: str, suspicions: Sequence[str]) -> tuple[str, str]:
    """Lower the trust where something makes the score doubtful, and say what."""
    if trust not in ("yes", "caution") or not suspicions:
        return trust, words
    more = "" if len(suspicions) == 1 else f" (And {counted(len(suspicions) - 1, 'more doubt')}.)"
    before = f"{words} " if trust == "caution" else "Judge with care. "
    return "caution", f"{before}{suspicions[0]}{more}"


def acceptance_verdict(score: MeasuredScore, rows: int) -> tuple[str, str]:
    """Return the verdict on a one-class machine: does it take new rows as training did."""
    if rows < FEW_ROWS:
        return verdict(score, rows, None, "")
    if score.low <= score.baseline <= score.high:
        return "yes", "The region fits: it takes as many test rows as training promised."
    which = "fewer" if score.value < score.baseline else "more"
    return "caution", (
        f"The region takes {which} test rows than training promised "
        f"({percent(score.value)} against {percent(score.baseline)}): new rows may differ from "
        "the training rows, or ν does not suit them."
    )


def remarks(score: MeasuredScore | None, train: float | None, rows: int) -> list[str]:
    """Return what a careful reader would notice."""
    result = []
    if score is not None and train is not None and rows >= FEW_ROWS:
        far = train - score.value
        if train > score.high and far > 0.1:
            result.append(
                f"The model fits its training rows much better ({value(score, train)}) than new "
                f"rows ({value(score)}): it has learnt some of them by heart. A smaller C or a "
                "wider kernel may do better."
            )
    return result


def has_bound(proof: Proof) -> bool:
    """Tell whether the kernel is known to be one for which the values bound the optimum."""
    return proof.status not in (STATIONARY, UNKNOWN)


def on_probabilities(scores: Sequence[MeasuredScore]) -> list[str]:
    """Say so where probabilities tell less than how frequent the classes are."""
    for score in scores:
        if score.name == "Log loss" and score.value >= score.baseline:
            return [
                f"The probabilities are too sure of themselves: their log loss, {value(score)}, is "
                f"no better than that of always giving the shares of the classes, "
                f"{value(score, score.baseline)}. Take them as an order of the rows, not at their "
                "word."
            ]
    return []


def share(gap: float) -> str:
    """Write a relative gap as per cent; nobody needs more than six digits of it."""
    return f"{number(100 * max(gap, 1e-6), 2)} %"
