"""Take the times of one case, in a process of its own that is stopped when it takes too long.

The process says which contender runs and how long it may take. When that is over, it is killed,
the contender is noted with the limit, and a new process goes on without it.
"""

import warnings
from collections.abc import Callable, Mapping
from math import ceil
from multiprocessing import get_context
from time import perf_counter
from typing import Any

from benchmarks.in_process import alternate
from benchmarks.job import OURS, Spread, Unavailable, build
from benchmarks.sweep.cases import Case
from benchmarks.sweep.contenders import MACHINES, PREDICTIONS, call_of, contenders_of
from benchmarks.sweep.outcomes import Outcome
from benchmarks.sweep.problem_data import make_data, settings

ROUNDS = 5
"""Timed runs of each contender, in turn."""
MORE_ROUNDS = 15
"""The same where the fastest peer is near: its median shall mean something."""
NEAR = 1.3
"""Ratios up to this one, and from its inverse, get more rounds."""
SAMPLE = 0.1
"""Seconds of a timed run at least: shorter calls are repeated, half a second in all."""
COMPILING = 120.0
"""Seconds that the first run of a library with compiled code may take on top: its files may be new.
"""
COMPILED = (OURS, "skglm")

Call = Callable[[], Any]


def measure(case: Case, limit: float) -> Outcome:
    """Return the times of a case; ``limit`` is for one run and for all runs of a contender."""
    stopped: dict[str, float] = {}
    reasons: dict[str, str] = {}
    while True:
        contenders = [name for name in contenders_of(case) if name not in {*stopped, *reasons}]
        if not contenders:
            outcome = _empty(case)
            break
        ended = _in_process(case, contenders, limit)
        if isinstance(ended, Outcome):
            outcome = ended
            break
        name, reason = ended
        if reason:
            reasons[name] = reason
        else:
            stopped[name] = limit
    outcome.at_least |= stopped
    outcome.left_out |= reasons
    return outcome


def _empty(case: Case) -> Outcome:
    return Outcome(case.name, case.key, MACHINES[case.machine].family, case.as_json())


def _in_process(case: Case, contenders: list[str], limit: float) -> Outcome | tuple[str, str]:
    """Return the outcome, or who was stopped, with a reason unless that was time."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there, case, contenders, limit))
    process.start()
    there.close()
    running, allowed = contenders[0], None
    try:
        while here.poll(allowed):
            message = here.recv()
            if isinstance(message, Outcome):
                return message
            running, allowed = message
        return running, ""
    except EOFError:
        process.join()
        return running, f"its process ended with code {process.exitcode}"
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        here.close()


def _work(pipe: Any, case: Case, contenders: list[str], limit: float) -> None:
    """Measure in this process and send the outcome."""
    warnings.simplefilter("ignore")  # an early stop is the judge's affair
    pipe.send(Session(case, contenders, limit, pipe.send).outcome())


class Session:
    """The contenders of one case in this process.

    ``announce((name, seconds))`` is told who runs and how long that may take, None for as long as
    it likes.
    """

    def __init__(
        self, case: Case, contenders: list[str], limit: float, announce: Callable[..., None]
    ) -> None:
        self.case, self.limit, self.announce = case, limit, announce
        self.machine = MACHINES[case.machine]
        self.judge = PREDICTIONS if case.action == "predict" else self.machine.judge
        self.data = make_data(case, self.machine.task)
        self.parameters = settings(case, self.data)
        self.rows = contenders_of(case)
        self.names = contenders
        self.calls: dict[str, Call] = {}
        self.answers: dict[str, Any] = {}
        self.first: dict[str, float] = {}
        self.result = _empty(case)

    def outcome(self) -> Outcome:
        """Run everybody once, make the answers equally good, then take times in turn."""
        for name in self.names:
            try:
                self._prepare(name, 0)
            except Unavailable as reason:
                self.result.left_out[name] = str(reason)
            except Exception as error:  # a contender that fails says so, and the others go on
                self.result.left_out[name] = f"{type(error).__name__}: {error}"[:300]
        self._make_equal()
        self._take_times()
        return self.result

    def _prepare(self, name: str, step: int) -> None:
        """Build a contender on a step of its ladder and run it once."""
        row = self.rows[name]
        first = name not in self.calls
        allowed = self.limit + (COMPILING if first and name in COMPILED else 0)
        # Predictions need a fit first, whose time nobody counts.
        self.announce((name, None if self.case.action == "predict" else allowed))
        call = build(name, lambda: call_of(self.case, row, self.data, self.parameters, step))
        self.calls[name], self.answers[name] = call, self._timed(name, call)
        self.result.step[name] = step
        if self.first[name] > self.limit:
            self.announce((name, self.limit))
            self.answers[name] = self._timed(name, call)
        self.announce((name, None))
        self.result.numbers[name] = self.judge.number(
            self.answers[name], self.answers.get(OURS), self.data, self.parameters
        )

    def _timed(self, name: str, call: Call) -> Any:
        start = perf_counter()
        answer = call()
        self.first[name] = perf_counter() - start
        return answer

    def _make_equal(self) -> None:
        """Let whoever is worse go up its ladder: we to the best of all, then peers to us."""
        numbers = self.result.numbers
        if OURS in numbers:
            self._climb(OURS, min(numbers.values()))
        target = numbers.get(OURS, min(numbers.values(), default=0.0))
        for name in list(numbers):
            if name != OURS:
                self._climb(name, target)

    def _climb(self, name: str, target: float) -> None:
        ladder = self.rows[name].ladder
        numbers = self.result.numbers
        while not self.judge.as_good(numbers[name], target, self.case.dtype):
            step = self.result.step[name] + 1
            if step == len(ladder) or self.case.action == "predict":
                self.result.worse.append(name)
                return
            self._prepare(name, step)

    def _take_times(self) -> None:
        counts = {name: self._repeats(name) for name in self.calls if name in self.result.numbers}
        seconds: dict[str, list[float]] = {name: [] for name in counts}
        for done in range(MORE_ROUNDS):
            if done >= ROUNDS and not self._is_near(seconds):
                break
            # Who has used up the limit keeps the runs that it has.
            active = {n: k for n, k in counts.items() if k * sum(seconds[n]) < self.limit}
            if not done or OURS in active:
                taken = alternate({n: self._batch(n, k) for n, k in active.items()}, 1)
                for name, (total,) in taken.items():
                    seconds[name].append(total / counts[name])
        self.result.seconds = seconds

    def _repeats(self, name: str) -> int:
        """Return how many calls make one timed run."""
        self.announce((name, self.limit))
        best = self.first[name]  # with the loading of compiled code, so that one more run is due
        for done in range(3):
            if done == 0 or best < SAMPLE:
                self._timed(name, self.calls[name])
                best = min(best, self.first[name])
        return max(1, ceil(SAMPLE / best))

    def _batch(self, name: str, count: int) -> Call:
        call = self.calls[name]

        def run() -> None:
            self.announce((name, self.limit + 1))
            for _ in range(count):
                call()

        return run

    def _is_near(self, seconds: Mapping[str, list[float]]) -> bool:
        """Return whether the fastest peer is so near that more pairs are needed."""
        self.result.seconds = dict(seconds)
        if not self.result.counts:
            return False
        ratio: Spread = self.result.ratio
        return 1 / NEAR < ratio.middle < NEAR
