"""What came out of a case, and the file of JSON lines that keeps it."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.job import OURS, Spread


@dataclass
class Outcome:
    """Times of the contenders of one case, in seconds, and how good their answers were.

    ``at_least`` holds contenders that were stopped at the time limit, ``step`` where each stands on
    its ladder, ``numbers`` what the judge says (lower is better), ``worse`` those whose answer
    stayed worse on every step, ``left_out`` those that could not run, and why.
    """

    name: str
    key: str
    family: str
    case: dict[str, Any]
    seconds: dict[str, list[float]] = field(default_factory=dict)
    at_least: dict[str, float] = field(default_factory=dict)
    step: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    worse: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def time(self, contender: str) -> float:
        """Return the median, or the limit that it did not keep."""
        if contender in self.at_least:
            return self.at_least[contender]
        return median(self.seconds[contender])

    @property
    def timed(self) -> list[str]:
        """All contenders with a time, ours included."""
        return [*self.seconds, *self.at_least]

    @property
    def counts(self) -> bool:
        """Whether there are our time and that of a peer."""
        return OURS in self.timed and any(name != OURS for name in self.timed)

    @property
    def fastest_peer(self) -> str:
        """The fastest of the peers that are as good as we are; of all, where none is."""
        peers = [name for name in self.timed if name != OURS]
        equal = [name for name in peers if name not in self.worse]
        # A limit that was not kept is no time: it comes after all that were taken.
        return min(equal or peers, key=lambda name: (name in self.at_least, self.time(name)))

    @property
    def ratio(self) -> Spread:
        """The fastest peer's time over ours: median and quartiles of runs in turn."""
        peer = self.fastest_peer
        if {peer, OURS} & set(self.at_least):
            return Spread.of([self.time(peer) / self.time(OURS)])
        pairs = zip(self.seconds[peer], self.seconds[OURS], strict=False)
        return Spread.of([theirs / ours for theirs, ours in pairs])

    @property
    def bound(self) -> str:
        """How to read the ratio: ``≥`` where the peer was stopped, ``≤`` where we were."""
        if OURS in self.at_least:
            return "≤ "
        return "≥ " if self.fastest_peer in self.at_least else ""


def append(path: Path, outcome: Outcome) -> None:
    """Write one more line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(outcome), ensure_ascii=False) + "\n")


def read(path: Path) -> list[Outcome]:
    """Return what a file holds; a last line that was cut off by an interrupt does not count."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return list(_parsed(line for line in lines if line.endswith("\n")))


def environment(path: Path) -> dict[str, Any] | None:
    """Return when and where the outcomes of a file were taken, None where it does not say."""
    with path.open(encoding="utf-8") as file:
        found: dict[str, Any] | None = json.loads(file.readline() or "{}").get("environment")
    return found


def _parsed(lines: Iterable[str]) -> Iterable[Outcome]:
    for line in lines:
        record = json.loads(line)
        if "environment" not in record:
            yield Outcome(**record)
