"""Who contends in a comparison: machines of mercer, tuned in each fold, and other methods."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Protocol

from mercer._typing import IntArray
from mercer.estimators.base import take_objects
from mercer.kernels import registry
from mercer.kernels.base import Kernel
from mercer.kernels.expression import format_kernel
from mercer.report.paired import Said
from mercer.report.record import MeasuredScore
from mercer.study.judging import Judge
from mercer.study.others import Method, answers
from mercer.study.plan import Plan, prepare
from mercer.study.searching import search_machine
from mercer.study.watching import noted


@dataclass(frozen=True)
class Contender:
    """A machine with a kernel, and its score on rows that it never saw; ``label`` is short.

    ``library`` is whose machine it is. ``difference`` is the score of mercer's usual machine, the
    first that ran, minus that of this one, with the ends of its 95 % interval, ``low`` and
    ``high``, over resamples of the rows, the same for both; NaN for that machine itself.
    """

    machine: str
    label: str
    kernel: str
    score: MeasuredScore
    seconds: float
    library: str = "mercer"
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan

    def beside(self, difference: tuple[float, float, float]) -> Contender:
        """Return it with the difference of another machine, and the ends of its interval."""
        value, low, high = difference
        return replace(self, difference=value, low=low, high=high)


class Run(Protocol):
    """A contender that can be asked fold by fold."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def fold(self, train: IntArray, test: IntArray) -> Said:
        """Learn from the training rows of a fold, and say what the others are."""
        ...

    def contender(self, score: MeasuredScore, seconds: float) -> Contender:
        """Return the contender with its score."""
        ...


@dataclass(frozen=True, eq=False)
class TunedMachine:
    """A machine of mercer, tuned in each fold; ``in_full`` writes its kernel out."""

    plan: Plan
    judge: Judge
    share: float | None
    notes: list[str]
    in_full: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plan.machine.name

    def fold(self, train: IntArray, test: IntArray) -> Said:
        fold = replace(
            self.plan, train=train, test=test, prepared=prepare(self.plan.table, train),
            began=time.perf_counter(),
        )  # fmt: skip
        with noted(self.notes):
            search = search_machine(
                fold, fold.rows(train), fold.y[train], time_limit=self.share, callback=None,
                notes=self.notes, scoring=self.judge.scoring, score=self.judge.score,
            )  # fmt: skip
        if search.cv_results_["skipped"].any() and self.share is None:
            raise KeyboardInterrupt  # Ctrl-C reached the search first
        return self.judge.ask(search.best_estimator_, fold.rows(test))

    def contender(self, score: MeasuredScore, seconds: float) -> Contender:
        kernel, label = _kernel_of(self.plan)
        return Contender(self.name, kernel if self.in_full else label, kernel, score, seconds)


@dataclass(frozen=True, eq=False)
class OtherMethod:
    """A method of another library, with its default settings."""

    method: Method
    plan: Plan
    judge: Judge

    @property
    def name(self) -> str:
        """What it is called."""
        return self.method.name

    def fold(self, train: IntArray, test: IntArray) -> Said:
        prepared = prepare(self.plan.table, train)
        rows = take_objects(prepared.X, train), self.plan.y[train]
        return answers(
            self.method, prepared.schema.kinds, rows, take_objects(prepared.X, test),
            self.judge.classes, self.judge.random_state,
        )  # fmt: skip

    def contender(self, score: MeasuredScore, seconds: float) -> Contender:
        return Contender(self.name, self.method.library, "", score, seconds, self.method.library)


def _kernel_of(plan: Plan) -> tuple[str, str]:
    """Return the kernel of a contender as text, and in short."""
    if plan.kernel is not None:
        joined = " (weights chosen)" if plan.open_parts else ""  # anew in each fold
        return format_kernel(plan.kernel), _label(plan.kernel) + joined
    # A contest chooses kernels anew in each fold.
    if plan.machine.contends:
        return "", "chosen by contest"
    plain = plan.machine.plain_kernel
    return plain, plain.removesuffix("()")


def _label(kernel: Kernel) -> str:
    """Return the names of the kernels that a proposed one consists of."""
    parts = [type(value) for value in (kernel, *kernel.get_params().values())]
    return ", ".join(row.name for row in registry.ROWS if row.kernel in parts)
