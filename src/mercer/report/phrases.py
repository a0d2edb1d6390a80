"""The sentences of a report."""

from __future__ import annotations

import math

from mercer.problems.certificate import STATIONARY, UNKNOWN, WITHIN
from mercer.report.record import MeasuredScore, Proof
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


def interval(score: MeasuredScore) -> str:
    """Write the interval of a score."""
    if math.isnan(score.low):
        return "too few rows"
    return f"{value(score, score.low)} to {value(score, score.high)}"


def headline(score: MeasuredScore | None, rows: int) -> str:
    """Say the main score with its interval and the baseline's."""
    if score is None:
        return f"No score: {counted(rows, 'test row')} without a known answer."
    promised = "training promised" if score.name == "Accepted" else "the baseline reaches"
    ends = f"95 % interval {interval(score)}"
    if math.isnan(score.low):
        ends = "too few rows for an interval"
    return (
        f"{score.name} {value(score)} on {counted(rows, 'test row')} that the model never saw "
        f"({ends}); {promised} {value(score, score.baseline)}."
    )


def verdict(
    score: MeasuredScore | None, rows: int, proof: Proof | None, baseline: str
) -> tuple[str, str]:
    """Return whether the model can be trusted (yes, caution, no, unknown) and why, in words."""
    if score is None:
        return "unknown", "Without known answers for the test rows nothing can be said of errors."
    better = score.low > score.baseline if score.higher_is_better else score.high < score.baseline
    if rows < FEW_ROWS:
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
    far = ""
    if proof is not None:
        far = (
            f", and its fit is proven to be within {share(proof.relative_gap)} of the best "
            "possible one"
        )
    end = value(score, score.low if score.higher_is_better else score.high)
    return "yes", (
        f"The model can be trusted as far as new rows resemble these: even the worse end of the "
        f"interval, {end}, beats {baseline}{far}."
    )


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


def share(gap: float) -> str:
    """Write a relative gap as per cent; nobody needs more than six digits of it."""
    return f"{number(100 * max(gap, 1e-6), 2)} %"
