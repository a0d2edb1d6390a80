"""Run the tests that reach a mutant in a fork of a process that has everything loaded.

The tests run once as they are, while the lines that each of them reaches are noted. Then for each
mutant a fork puts the spoilt code into the function, wherever that is held, and runs the tests of
its line until one fails: those nearest to the code, then others, of either the quickest within a
limit of time, and of these first what killed other mutants of the file. A test that fails or hangs
in a fork without any change is no witness, and is left out.

What tests reach can be kept in a file for the next run: a test runs anew when its own file or a
file that it reached has changed.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
import types
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import mercer
from tests.attack.mutants import LIBRARY, PARTS, Mutant

SOURCE = Path(mercer.__file__).parents[1]
MOST = 8.0
"""Seconds of near tests for one mutant, and of others; what takes longer is left to the quicker
tests of the line."""
PATIENCE = 3.0
"""How much longer than usual the tests of a mutant may take, besides 5 s of CPU."""
CALLS = 40
"""Calls of a function in one test whose lines are noted; to note those of all takes too long."""
STILL = 20.0
"""Seconds without any progress after which a fork counts as hanging."""
BYTES = 4 << 30
"""Address space beyond what the process has: a mutant may ask for anything."""


def run(
    mutants: Sequence[Mutant],
    tests: Sequence[str],
    note: Callable[[Mutant], None],
    jobs: int,
    survey: Path | None = None,
) -> None:
    """Run the tests of each mutant in some processes, and note what became of it.

    ``survey`` is a file that keeps the lines which tests reach, in all parts that have mutants.
    """
    settings.register_profile(
        "mutants", deadline=None, max_examples=40, derandomize=True, database=None,
        phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    options = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow and not attack"]
    options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "w", buffering=1) as out, open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)  # what tests and pytest print is not the result
        try:
            pytest.main([*options, *tests], plugins=[Runner(mutants, note, out, jobs, survey)])
        finally:
            os.dup2(out.fileno(), 1)


@dataclass
class _Reached:
    """What a test reaches: lines of files, and how these files and its own were then."""

    test: str
    seconds: float
    lines: dict[str, list[int]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


class Runner:
    """A plugin of pytest that runs the tests of mutants in place of all tests."""

    def __init__(
        self,
        mutants: Sequence[Mutant],
        note: Callable[[Mutant], None],
        out: IO[str],
        jobs: int,
        survey: Path | None,
    ) -> None:
        self.mutants, self.note, self.out, self.jobs, self.survey = mutants, note, out, jobs, survey
        self.files = {str(mutant.path) for mutant in mutants}
        self.traced = self.files
        if survey is not None:
            self.traced = {str(path) for part in PARTS for path in (LIBRARY / part).rglob("*.py")}
        self.reached: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.seconds: dict[int, float] = {}
        self.failed = False
        self.sound: dict[int, bool] = {}
        self.kills: Counter[tuple[str, int]] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = session.items
        for path in self.files:
            parts = Path(path).relative_to(SOURCE).with_suffix("").parts
            importlib.import_module(".".join(parts))
        self._survey()
        self.functions, self.remembering = self._functions(), _remembering()
        gc.freeze()  # so that no fork copies what it does not change
        reading, writing = os.pipe()
        for job in range(self.jobs):
            if os.fork() == 0:
                for place in range(job, len(self.mutants), self.jobs):
                    mutant = self.mutants[place]
                    self._judge(mutant)
                    answer = [place, mutant.end, mutant.by, mutant.seconds]
                    os.write(writing, f"{json.dumps(answer)}\n".encode())
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as answers, contextlib.redirect_stdout(self.out):
            for line in answers:
                place, *ended = json.loads(line)
                mutant = self.mutants[place]
                mutant.end, mutant.by, mutant.seconds = ended
                self.note(mutant)
        return True

    # ---- which test reaches which line ----------------------------------------------------------

    def _survey(self) -> None:
        """Run all tests, and note their time and the lines that they reach."""
        began, known = time.process_time(), self._known()
        new = [number for number, item in enumerate(self.items) if item.nodeid not in known]
        for number, item in enumerate(self.items):
            if item.nodeid in known:
                self._reaches(number, known[item.nodeid])
        for place, number in enumerate(new):
            item = self.items[number]
            after = self.items[new[place + 1]] if place + 1 < len(new) else None
            lines: set[tuple[str, int]] = set()
            spent = time.process_time()
            self._trace(lines)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            finally:
                self._trace(None)
            if self.failed:
                print(f"fails without a change: {item.nodeid}", file=self.out)
                lines, self.failed = set(), False
            reached = _Reached(item.nodeid, time.process_time() - spent)
            for path, line in sorted(lines):
                reached.lines.setdefault(path, []).append(line)
            self._reaches(number, reached)
            if self.survey is not None:
                reached.digests = {path: _digest(path) for path in [*reached.lines, str(item.path)]}
                with self.survey.open("a") as file:
                    file.write(json.dumps(asdict(reached)) + "\n")
        spent = time.process_time() - began
        print(f"{len(new):,} of {len(self.items):,} tests in {spent:.0f} s of CPU", file=self.out)

    def _known(self) -> dict[str, _Reached]:
        """Return what an earlier survey says of tests that are as they were then."""
        if self.survey is None or not self.survey.exists():
            return {}
        rows = [_Reached(**json.loads(line)) for line in self.survey.read_text().splitlines()]
        parts = {part for row in rows for part in row.digests}
        now = {path: _digest(path) for path in parts}
        return {row.test: row for row in rows if row.digests.items() <= now.items()}

    def _reaches(self, number: int, reached: _Reached) -> None:
        self.seconds[number] = reached.seconds
        for path, lines in reached.lines.items():
            for line in lines:
                self.reached[path, line].add(number)

    def _trace(self, lines: set[tuple[str, int]] | None) -> None:
        if lines is None:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            return
        files, calls = self.traced, Counter[types.CodeType]()

        def inside(frame: Any, event: str, argument: Any) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return inside

        def begin(frame: Any, event: str, argument: Any) -> Any:
            if frame.f_code.co_filename not in files:
                return None
            calls[frame.f_code] += 1
            return inside if calls[frame.f_code] <= CALLS else None

        threading.settrace(begin)
        sys.settrace(begin)

    def _functions(self) -> dict[tuple[str, int], list[Any]]:
        """Return the functions of the files, by file and first line: every object that there is."""
        found = defaultdict(list)
        for item in gc.get_objects():
            if type(item) is types.FunctionType and item.__code__.co_filename in self.files:
                found[item.__code__.co_filename, item.__code__.co_firstlineno].append(item)
        return found

    # ---- one mutant -----------------------------------------------------------------------------

    def _judge(self, mutant: Mutant) -> None:
        began = time.perf_counter()
        path, code = str(mutant.path), mutant.spoilt()
        functions = self.functions[path, mutant.first]
        chosen = self._chosen(path, mutant.line, code)
        mutant.end = "survived"
        if not functions:
            mutant.by = "no function here"
            return
        while chosen:
            by = self._fork(chosen, functions, code)
            if by is None:
                break
            if self._is_sound(by):
                self.kills[path, by] += 1
                mutant.end, mutant.by = "killed", self.items[by].nodeid
                break
            chosen.remove(by)
        if mutant.end == "survived":
            mutant.by = f"{len(chosen)} tests"
        mutant.seconds = time.perf_counter() - began

    def _chosen(self, path: str, line: int, code: types.CodeType) -> list[int]:
        """Return the tests that reach a line, or its function.

        Those that killed other mutants of the file come first, then the quickest.
        """
        found = self.reached[path, line]
        if not found:  # the line belongs to a longer one
            last = max(number for *_, number in code.co_lines() if number is not None)
            for number in range(code.co_firstlineno, last + 1):
                found = found | self.reached[path, number]
        folder = f"tests/{Path(path).relative_to(SOURCE).parts[1].strip('_')}/"
        near = {number for number in found if self.items[number].nodeid.startswith(folder)}

        def order(number: int) -> tuple[int, bool, float, int]:
            seconds = round(self.seconds[number], 1)
            return -self.kills[path, number], number not in near, seconds, number

        return sorted([*self._quickest(near), *self._quickest(found - near)], key=order)

    def _quickest(self, tests: set[int]) -> list[int]:
        """Return the quickest of some tests, those that take ``MOST`` seconds in all."""
        chosen: list[int] = []
        total = 0.0
        for number in sorted(tests, key=self.seconds.__getitem__):
            total += self.seconds[number]
            if self.sound.get(number, True) and (total < MOST or not chosen):
                chosen.append(number)
        return chosen

    def _is_sound(self, number: int) -> bool:
        """Whether a test passes in a fork without a change."""
        if number not in self.sound:
            self.sound[number] = self._fork([number], [], None) is None
            if not self.sound[number]:
                print(f"fails in a fork: {self.items[number].nodeid}", file=self.out)
        return self.sound[number]

    def _fork(self, chosen: list[int], functions: list[Any], code: Any) -> int | None:
        """Run tests in a fork; return the one that failed or took too long, None for none."""
        planned = sum(self.seconds[number] for number in chosen)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                os.setsid()
                os.dup2(1, 2)
                for limit, most in (
                    (resource.RLIMIT_CPU, int(5 + PATIENCE * planned)),
                    (resource.RLIMIT_AS, _address_space() + BYTES),
                ):
                    resource.setrlimit(limit, (most, resource.RLIM_INFINITY))
                for function in functions:
                    function.__code__ = code
                for remembering in self.remembering:
                    remembering.cache_clear()
                for place, number in enumerate(chosen):
                    after = self.items[chosen[place + 1]] if place + 1 < len(chosen) else None
                    item = self.items[number]
                    os.write(writing, f"{number} ".encode())
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                    if self.failed:
                        break
                os._exit(1 if self.failed else 0)
            except BaseException:
                os._exit(1)
        os.close(writing)
        ended = _wait(child)
        with os.fdopen(reading) as file:
            begun = file.read().split()
        return int(begun[-1]) if ended and begun else None


def _wait(child: int) -> int:
    """Return how a process ended; end it and what it started when it stands still."""
    moved, at = time.monotonic(), ""
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < moved + STILL:
        time.sleep(0.01)
        done, status = os.waitpid(child, os.WNOHANG)
        if not done and (now := _spent(child)) != at:
            moved, at = time.monotonic(), now
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return status if done else os.waitpid(child, 0)[1]


def _digest(path: str | Path) -> str:
    """Return a number of a file's content; nothing where there is none any more."""
    file = Path(path)
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.exists() else ""


def _spent(process: int) -> str:
    """Return what the system counts of a process's time, its children's included."""
    with open(f"/proc/{process}/stat") as file:
        return " ".join(file.read().rpartition(")")[2].split()[11:15])


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _remembering() -> list[Any]:
    """Return what remembers calls of tests and library: it came of the code without the change."""
    found = [item for item in gc.get_objects() if type(item) is functools._lru_cache_wrapper]
    return [item for item in found if str(item.__module__).startswith(("tests.", "mercer."))]
