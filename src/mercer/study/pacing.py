"""A limit of time for all contenders of a comparison: who begins, who goes on, and who does not."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from mercer._typing import IntArray
from mercer.report.paired import Said
from mercer.report.text import number
from mercer.study.contenders import Run
from mercer.study.references import NoReference

_FIRST = 4
"""The first machine, which the others are compared with, may take this part of the time."""
_LEAST = 1e-3
"""Seconds that a search gets when there are none: it tries one candidate."""
_OVER = "the time limit was reached"


@dataclass(frozen=True)
class Skipped:
    """A contender that was not compared: whose it is, and why not, in words."""

    machine: str
    label: str
    library: str
    reason: str


@dataclass(frozen=True)
class Clock:
    """What is left of a limit of seconds; without a limit there is always time."""

    limit: float | None
    began: float = field(default_factory=time.perf_counter)

    def left(self) -> float:
        """Return the seconds that are left."""
        if self.limit is None:
            return math.inf
        return self.limit - (time.perf_counter() - self.began)

    def share(self, parts: int) -> float | None:
        """Return an equal part of what is left, a little at least; None where there is no limit."""
        return None if self.limit is None else max(self.left() / parts, _LEAST)

    def too_late(self, expected: float) -> str:
        """Say why nobody begins now whose first fold takes so many seconds; nothing if he may."""
        left = self.left()
        if left <= 0:
            return f"not tried: {_OVER}"
        return (
            "" if expected <= left else f"not tried: a fold takes about {_beside(expected, left)}"
        )

    def too_slow(self, expected: float, done: int, folds: int) -> str:
        """Say why someone ends after some folds; nothing if those that are left fit in."""
        left = self.left()
        if expected <= left:
            return ""
        rest = f"the others take about {_beside(expected, left)}" if left > 0 else _OVER
        return f"given up after {done} of {folds} folds: {rest}"


@dataclass(frozen=True)
class Turn:
    """Whose turn it is, from 0 on, and how many there are."""

    at: int
    count: int

    def shares(self, folds: int, done: int) -> int:
        """Return how many parts of the time that is left the next fold is one of."""
        waiting = min(self.count, _FIRST) if self.at == 0 else self.count - self.at
        return waiting * folds - done


def in_turn(
    own: Sequence[Run], beside: Sequence[Run], train: IntArray, clock: Clock
) -> Iterator[tuple[Run, float]]:
    """Yield who runs, and how long a fold takes: our first, other methods, the rest of ours.

    Within a limit of time, the fastest of the other methods comes first.
    """
    yield own[0], 0.0
    if clock.limit is None:
        yield from ((run, 0.0) for run in (*beside, *own[1:]))
        return
    yield from sorted(((run, _expected(run, train, clock)) for run in beside), key=_seconds)
    yield from ((run, _expected(run, train, clock)) for run in own[1:])


def ask(
    run: Run,
    expected: float,
    folds: Sequence[tuple[IntArray, IntArray]],
    clock: Clock,
    turn: Turn,
    tell: Callable[[int], None],
) -> list[Said] | str:
    """Return what a contender says in each fold, or why there was no time for it, in words."""
    late = clock.too_late(expected) if turn.at else ""
    if late:
        return late
    began, said, n = time.perf_counter(), [], len(folds)
    for k, (train, test) in enumerate(folds):
        spent = time.perf_counter() - began
        rest = 0.0 if run.adapts or not k else spent / k * (n - k)
        slow = clock.too_slow(rest, k, n) if turn.at and k else ""
        if slow:
            return slow
        tell(k)
        said.append(run.fold(train, test, clock.share(turn.shares(n, k))))
    return said


def _expected(run: Run, train: IntArray, clock: Clock) -> float:
    """Return how long a fold takes; nothing where it is too late to find out, or no use."""
    try:
        return run.expected(train) if clock.left() > 0 else 0.0
    except NoReference:  # it will say so again when it runs
        return 0.0


def _seconds(timed: tuple[Run, float]) -> float:
    return timed[1]


def _beside(expected: float, left: float) -> str:
    return f"{number(expected, 2)} s, and {number(left, 2)} s are left"
