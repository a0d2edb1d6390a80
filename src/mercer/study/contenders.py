"""Who contends in a comparison: machines of mercer, tuned in each fold, and other methods."""

from __future__ import annotations

import math
import time
import warnings
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
from mercer.study.parts import PARTS
from mercer.study.plan import Plan, prepare
from mercer.study.searching import search_machine
from mercer.study.split_rows import draw
from mercer.study.watching import noted

_PART, _FEW = 0.125, 100
"""The part of the training rows that shows how long other methods take, and how many it has at
least."""


_ENDED = "reached its time limit"
"""What a search or a contest says of itself where it had to stop."""
_QUICK, _TRIED, _NO_TIME = 1_000, 4, 1e-3
"""Rows up to which a search without time takes about a second at most, the part of more rows that
shows how long it takes, and the seconds that it is given."""


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

    @property
    def label(self) -> str:
        """The kernel in short, or the library."""
        ...

    @property
    def library(self) -> str:
        """Whose machine it is."""
        ...

    @property
    def adapts(self) -> bool:
        """Whether it keeps to the seconds that it is given."""
        ...

    def expected(self, train: IntArray) -> float:
        """Return about how many seconds a fold takes at least."""
        ...

    def fold(self, train: IntArray, test: IntArray, seconds: float | None) -> Said:
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
    notes: list[str]
    in_full: bool
    library: str = "mercer"
    adapts: bool = True

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plan.machine.name

    @property
    def label(self) -> str:
        """The kernel, in short unless it was asked for."""
        return _kernel_of(self.plan)[0 if self.in_full else 1]

    def expected(self, train: IntArray) -> float:
        """Return about the least seconds of a fold: a search tries some candidates whatever time.

        A search without time on a part of the rows takes so long; matrices grow as its square.
        """
        if len(train) <= _QUICK:
            return 0.0
        plan, trial = self.plan, replace(self, notes=[])
        for most in (_FEW, len(train) // _TRIED):  # the first time loads what is compiled
            some = train[draw(plan.y[train], plan.table.task != "number", most, plan.random_state)]
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that there was no time
                trial.fold(some, some[:1], _NO_TIME)
        return (time.perf_counter() - began) * (len(train) / len(some)) ** 2

    def fold(self, train: IntArray, test: IntArray, seconds: float | None) -> Said:
        fold = replace(
            self.plan, train=train, test=test, prepared=prepare(self.plan.table, train),
            began=time.perf_counter(),
        )  # fmt: skip
        notes: list[str] = []
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", f".*{_ENDED}")  # one note says it of all folds
            with noted(notes):
                search = search_machine(
                    fold, fold.rows(train), fold.y[train], time_limit=seconds, callback=None,
                    notes=notes, scoring=self.judge.scoring, score=self.judge.score,
                )  # fmt: skip
        # Each fold has its own weights and counts: a list of them all would hide the other notes.
        ended = [note for note in notes if _ENDED in note]
        self.notes.extend(n for n in notes if not (n.startswith(PARTS) or n in ended))
        if ended:
            self.notes.append(
                f"{self.name} had no time for its whole grid in some folds, and may do better with "
                "more of it (time_limit=)."
            )
        if search.cv_results_["skipped"].any() and seconds is None:
            raise KeyboardInterrupt  # Ctrl-C reached the search first
        return self.judge.ask(search.best_estimator_, fold.rows(test))

    def contender(self, score: MeasuredScore, seconds: float) -> Contender:
        return Contender(self.name, self.label, _kernel_of(self.plan)[0], score, seconds)


@dataclass(frozen=True, eq=False)
class OtherMethod:
    """A method of another library, with its default settings."""

    method: Method
    plan: Plan
    judge: Judge
    adapts: bool = False

    @property
    def name(self) -> str:
        """What it is called."""
        return self.method.name

    @property
    def label(self) -> str:
        """The library."""
        return self.method.library

    @property
    def library(self) -> str:
        """Whose method it is."""
        return self.method.library

    def expected(self, train: IntArray) -> float:
        """Return the time of a fit to a part of the rows, times how many more there are.

        That is too much rather than too little: what a fit takes for any rows is counted often.
        """
        classes = self.plan.table.task != "number"
        most = max(_FEW, round(_PART * len(train)))
        some = train[draw(self.plan.y[train], classes, most, self.judge.random_state)]
        (self.method.classifier if classes else self.method.regressor)(0, 1)  # imports take time
        began = time.perf_counter()
        self.fold(some, some[:1], None)
        return (time.perf_counter() - began) * len(train) / len(some)

    def fold(self, train: IntArray, test: IntArray, seconds: float | None) -> Said:
        prepared = prepare(self.plan.table, train)
        rows = take_objects(prepared.X, train), self.plan.y[train]
        return answers(
            self.method, prepared.schema.kinds, rows, take_objects(prepared.X, test),
            self.judge.classes, self.judge.random_state,
        )  # fmt: skip

    def contender(self, score: MeasuredScore, seconds: float) -> Contender:
        return Contender(self.name, self.label, "", score, seconds, self.library)


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
