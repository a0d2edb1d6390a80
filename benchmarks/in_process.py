"""Cases that run in one process, in alternating order; memory comes from fresh processes."""

import gc
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

from benchmarks import memory
from benchmarks.job import (
    OURS,
    Call,
    Check,
    Disagreement,
    Factory,
    Job,
    Measurement,
    Unavailable,
    build,
    discover,
)

# Small enough to take no time, large enough to load and compile all that the call needs.
_WARM_UP_SCALE = 0.01
_SETTLE = 0.3
"""Seconds in which the threads of the contender before fall asleep; BLAS keeps them spinning."""


@dataclass(frozen=True)
class InProcess:
    """Contenders timed one after the other, again and again, in this process.

    A factory imports the library, makes the data and returns the call to time. ``result_bytes``
    is the size of the answer, where memory should be judged by it; ``growth_limit`` is how much
    memory our call may add.
    """

    label: str
    contenders: Mapping[str, Factory]
    check: Check
    scale: float
    result_bytes: int | None = None
    growth_limit: int | None = None

    def measure(self, job: Job, number: int, repeats: int) -> Measurement:
        """Warm up, compare the answers, time, then measure the memory."""
        measurement = Measurement(self.label, result_bytes=self.result_bytes)
        calls: dict[str, Call] = {}
        for name, factory in self.contenders.items():
            try:
                calls[name] = build(name, factory)
            except Unavailable as reason:
                measurement.unavailable[name] = str(reason)
        try:
            measurement.agreement = self.check({name: call() for name, call in calls.items()})
        except Disagreement as error:
            measurement.failures.append(str(error))
        measurement.seconds = alternate(calls, repeats)
        for name in calls:
            measurement.growth[name] = _growth_in_fresh_process(job, number, name, self.scale)
        if self.growth_limit is not None and measurement.growth[OURS] >= self.growth_limit:
            measurement.failures.append(
                f"{OURS} grew by {measurement.growth[OURS] / 1e6:.0f} MB; "
                f"the limit is {self.growth_limit / 1e6:.0f} MB"
            )
        return measurement


def alternate(calls: Mapping[str, Call], repeats: int) -> dict[str, list[float]]:
    """Time the calls in the order A B A B …, and throw the results away."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            gc.collect()
            sleep(_SETTLE)
            start = perf_counter()
            result = call()
            seconds[name].append(perf_counter() - start)
            del result
    return seconds


def _growth_in_fresh_process(job: Job, number: int, name: str, scale: float) -> int:
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.in_process", job.name, str(number), name, str(scale)],
        cwd=Path(__file__).parents[1],
        check=True,
        stdout=subprocess.PIPE,
    )
    return int(child.stdout)


def _growth(job: Job, number: int, name: str, scale: float) -> int:
    for size in (min(_WARM_UP_SCALE, scale), scale):
        call = build(name, job.cases(size)[number].contenders[name])
        growth = memory.peak_growth(call)
    return growth


if __name__ == "__main__":
    _job, _number, _contender, _scale = sys.argv[1:]
    print(_growth(discover()[_job], int(_number), _contender, float(_scale)))
