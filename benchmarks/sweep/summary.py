"""What the outcomes of a sweep mean: shares, means, the worst cases, exponents, profiles."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.job import OURS
from benchmarks.sweep.contenders import library
from benchmarks.sweep.outcomes import Outcome

TIE = 1.2
"""Gaps below this one are ties, when runs in turn do not agree on who is faster."""
CLOSE = 1.25
"""No case shall be slower than the fastest peer by more than this."""
WORST = 10


@dataclass(frozen=True)
class Summary:
    """The numbers of a sweep. Ratios are the fastest peer's time over ours: above 1 we are faster.

    ``ties`` have a gap below ``TIE`` and quartiles on both sides of 1, whichever side their
    median is on; ``means`` are geometric, one for each family; ``unequal`` are cases in which
    our answer stayed worse than a peer's, ``alone`` those without an equally good peer, and
    ``failed`` those without our time or without any peer, which count in nothing else.
    """

    cases: int
    fastest: int
    ties: list[Outcome]
    within: float
    means: dict[str, float]
    worst: list[Outcome]
    unequal: list[Outcome]
    alone: list[Outcome]
    failed: list[Outcome]


def summarise(outcomes: Sequence[Outcome]) -> Summary:
    """Count; cases on growth are left to :func:`exponents`."""
    grid = [outcome for outcome in outcomes if not outcome.case["growth"]]
    counted = [outcome for outcome in grid if outcome.counts]
    ratios = {outcome.key: outcome.ratio.middle for outcome in counted}
    families = sorted({outcome.family for outcome in counted})
    return Summary(
        cases=len(counted),
        fastest=sum(ratio >= 1 for ratio in ratios.values()),
        ties=[outcome for outcome in counted if is_tie(outcome)],
        within=float(np.mean([r >= 1 / CLOSE for r in ratios.values()])) if counted else 0.0,
        means={
            family: float(
                np.exp(np.mean([np.log(ratios[o.key]) for o in counted if o.family == family]))
            )
            for family in families
        },
        worst=sorted(counted, key=lambda outcome: ratios[outcome.key])[:WORST],
        unequal=[outcome for outcome in counted if OURS in outcome.worse],
        alone=[outcome for outcome in counted if outcome.fastest_peer in outcome.worse],
        failed=[outcome for outcome in grid if not outcome.counts],
    )


def is_tie(outcome: Outcome) -> bool:
    """Return whether a small gap is lost in the spread of runs in turn."""
    ratio = outcome.ratio
    return 1 / TIE < ratio.middle < TIE and ratio.lower <= 1 <= ratio.upper and not outcome.bound


def exponents(outcomes: Sequence[Outcome]) -> dict[str, dict[str, tuple[float, int]]]:
    """Return, by machine and library, the exponent of the rows in the time and the sizes used.

    The slope of a straight line through the logarithms; sizes at which a library was stopped do
    not count, and it takes three.
    """
    found: dict[str, dict[str, tuple[float, int]]] = {}
    grown = [outcome for outcome in outcomes if outcome.case["growth"]]
    for machine in dict.fromkeys(outcome.case["machine"] for outcome in grown):
        series: dict[str, list[tuple[int, float]]] = {}
        for outcome in grown:
            if outcome.case["machine"] == machine:
                for name, seconds in _library_times(outcome).items():
                    series.setdefault(name, []).append((outcome.case["rows"], seconds))
        found[machine] = {
            name: (float(np.polyfit(*np.log(np.array(points).T), 1)[0]), len(points))
            for name, points in series.items()
            if len(points) >= 3
        }
    return found


def profile(outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
    """Return, by library, its time over the best time in each case that it has a machine for.

    A run that was stopped, or whose answer stayed worse, is infinitely slow: no one knows how slow.
    """
    slowness: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.case["growth"] or not outcome.counts:
            continue
        times = _library_times(outcome)
        best = min(times.values(), default=np.inf)
        for name in dict.fromkeys(map(library, outcome.timed)):
            slowness.setdefault(name, []).append(times.get(name, np.inf) / best)
    return {name: np.sort(factors) for name, factors in slowness.items()}


def share_within(factors: np.ndarray, factor: float) -> float:
    """Return the share of cases within a factor of the best time."""
    return float(np.mean(factors <= factor))


def _library_times(outcome: Outcome) -> dict[str, float]:
    """Return the time of each library's fastest contender whose answer is as good as ours."""
    times: dict[str, float] = {}
    for name in outcome.seconds:
        if name not in outcome.worse:
            who = library(name)
            times[who] = min(times.get(who, np.inf), outcome.time(name))
    return times
