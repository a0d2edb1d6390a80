"""What a benchmark is made of: jobs, their cases, and the contenders of a case."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any, Protocol

OURS = "mercer"
NOT_INSTALLED = "not installed; get it with: pip install '.[bench]'"

Call = Callable[[], Any]
Factory = Callable[[], Call]
Check = Callable[[Mapping[str, Any]], str]


class Disagreement(Exception):
    """The contenders of a case do not give the same answer."""


class Unavailable(Exception):
    """A contender cannot run here; the message says what to install."""


class Case(Protocol):
    """One row of a job: contenders that do the same work on the same data."""

    label: str

    def measure(self, job: "Job", number: int, repeats: int) -> "Measurement":
        """Run the contenders in turn; the case is the ``number``-th of ``job``."""
        ...


@dataclass(frozen=True)
class Job:
    """A named benchmark.

    ``cases(scale)`` builds the cases; ``scale`` multiplies the number of rows, 1 being the size
    that is recorded.
    """

    name: str
    description: str
    cases: Callable[[float], Sequence[Case]]
    repeats: int = 7


@dataclass
class Measurement:
    """What came out of one case: seconds, bytes, and whether the answers agree."""

    label: str
    seconds: dict[str, list[float]] = field(default_factory=dict)
    growth: dict[str, int] = field(default_factory=dict)
    result_bytes: int | None = None
    unavailable: dict[str, str] = field(default_factory=dict)
    agreement: str = ""
    failures: list[str] = field(default_factory=list)

    def ratios(self, name: str) -> list[float]:
        """Return peer time over our time, pair by pair, as they ran one after the other."""
        pairs = zip(self.seconds[name], self.seconds[OURS], strict=True)
        return [theirs / ours for theirs, ours in pairs]


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles and the extremes around it."""

    low: float
    lower: float
    middle: float
    upper: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Summarise at least one value."""
        lower, _, upper = (
            quantiles(values, n=4, method="inclusive") if len(values) > 1 else list(values) * 3
        )
        return cls(min(values), lower, median(values), upper, max(values))


def discover() -> dict[str, Job]:
    """Return all jobs by name: each module of ``benchmarks.jobs`` has one as ``JOB``."""
    from benchmarks import jobs

    found = [
        importlib.import_module(f"{jobs.__name__}.{module.name}").JOB
        for module in pkgutil.iter_modules(jobs.__path__)
        if not module.name.startswith("_")
    ]
    return {job.name: job for job in sorted(found, key=lambda job: job.name)}


def build(name: str, factory: Factory) -> Call:
    """Prepare a contender; a peer that is not installed raises :class:`Unavailable`."""
    try:
        return factory()
    except ModuleNotFoundError as error:
        if name == OURS:
            raise
        raise Unavailable(f"{error.name} is {NOT_INSTALLED}") from error
