"""Run the tests that reach a mutant in a fork of a process that has everything loaded.

The tests run once as they are, while the lines that each of them reaches are noted. Then for each
mutant a fork puts the spoilt code into the function, wherever that is held, and runs the tests of
its line, the quickest first, until one fails. A test that fails in a fork without any change is no
witness, and is left out.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import resource
import signal
import sys
import threading
import time
import types
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from tests.attack.mutants import Mutant

MOST = 30.0
"""Seconds of tests for one mutant; what takes longer is left to the quicker tests of the line."""
PATIENCE = 3.0
"""How much longer than usual the tests of a mutant may take, besides 10 s of CPU."""
BYTES = 4 << 30
"""Address space beyond what the process has: a mutant may ask for anything."""


def run(mutants: Sequence[Mutant], tests: Sequence[str], note: Callable[[Mutant], None]) -> None:
    """Run the tests of each mutant, and note what became of it."""
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
            pytest.main([*options, *tests], plugins=[Runner(mutants, note, out)])
        finally:
            os.dup2(out.fileno(), 1)


class Runner:
    """A plugin of pytest that runs the tests of mutants in place of all tests."""

    def __init__(
        self, mutants: Sequence[Mutant], note: Callable[[Mutant], None], out: IO[str]
    ) -> None:
        self.mutants, self.note, self.out = mutants, note, out
        self.files = {str(mutant.path) for mutant in mutants}
        self.reached: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.seconds: dict[int, float] = {}
        self.failed = False
        self.sound: dict[int, bool] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.failed |= report.failed

    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = session.items
        self._survey()
        self.functions = self._functions()
        for mutant in self.mutants:
            self._judge(mutant)
            with contextlib.redirect_stdout(self.out):
                self.note(mutant)
        return True

    # ---- which test reaches which line ----------------------------------------------------------

    def _survey(self) -> None:
        """Run all tests, and note their time and the lines that they reach."""
        began = time.process_time()
        for number, item in enumerate(self.items):
            after = self.items[number + 1] if number + 1 < len(self.items) else None
            lines: set[tuple[str, int]] = set()
            spent = time.process_time()
            self._trace(lines)
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            finally:
                self._trace(None)
            self.seconds[number] = time.process_time() - spent
            if self.failed:
                print(f"fails without a change: {item.nodeid}", file=self.out)
            else:
                for line in lines:
                    self.reached[line].add(number)
            self.failed = False
        spent = time.process_time() - began
        print(f"{len(self.items):,} tests in {spent:.0f} s of CPU", file=self.out)

    def _trace(self, lines: set[tuple[str, int]] | None) -> None:
        if lines is None:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            return
        files = self.files

        def inside(frame: Any, event: str, argument: Any) -> Any:
            lines.add((frame.f_code.co_filename, frame.f_lineno))
            return inside

        def begin(frame: Any, event: str, argument: Any) -> Any:
            return inside if frame.f_code.co_filename in files else None

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
            if by < 0 or self._is_sound(by):
                mutant.end, mutant.by = "killed", "time" if by < 0 else self.items[by].nodeid
                break
            chosen.remove(by)
        if mutant.end == "survived":
            mutant.by = f"{len(chosen)} tests"
        mutant.seconds = time.perf_counter() - began

    def _chosen(self, path: str, line: int, code: types.CodeType) -> list[int]:
        """Return the tests that reach a line, or its function, the quickest first."""
        found = self.reached[path, line]
        if not found:  # the line belongs to a longer one
            last = max(number for *_, number in code.co_lines() if number is not None)
            for number in range(code.co_firstlineno, last + 1):
                found = found | self.reached[path, number]
        chosen, total = [], 0.0
        for number in sorted(found, key=self.seconds.__getitem__):
            total += self.seconds[number]
            if self.sound.get(number, True) and (total < MOST or not chosen):
                chosen.append(number)
        return sorted(chosen, key=lambda number: (round(self.seconds[number], 1), number))

    def _is_sound(self, number: int) -> bool:
        """Whether a test passes in a fork without a change."""
        if number not in self.sound:
            self.sound[number] = self._fork([number], [], None) is None
            if not self.sound[number]:
                print(f"fails in a fork: {self.items[number].nodeid}", file=self.out)
        return self.sound[number]

    def _fork(self, chosen: list[int], functions: list[Any], code: Any) -> int | None:
        """Run tests in a fork; return the one that failed, −1 for too long, None for none."""
        planned = sum(self.seconds[number] for number in chosen)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                os.setsid()
                os.dup2(1, 2)
                for limit, most in (
                    (resource.RLIMIT_CPU, int(10 + PATIENCE * planned)),
                    (resource.RLIMIT_AS, _address_space() + BYTES),
                ):
                    resource.setrlimit(limit, (most, resource.RLIM_INFINITY))
                for function in functions:
                    function.__code__ = code
                _forget()
                for place, number in enumerate(chosen):
                    after = self.items[chosen[place + 1]] if place + 1 < len(chosen) else None
                    item = self.items[number]
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                    if self.failed:
                        os.write(writing, str(number).encode())
                        break
                os._exit(0)
            except BaseException:
                os._exit(1)
        os.close(writing)
        ended = _wait(child, 60 + 10 * PATIENCE * planned)
        answer = os.read(reading, 100) if ended == 0 else b"-1"
        os.close(reading)
        return int(answer) if answer else None


def _wait(child: int, seconds: float) -> int:
    """Return how a process ended; end it and what it started when it takes too long."""
    until = time.monotonic() + seconds
    done, status = os.waitpid(child, os.WNOHANG)
    while not done and time.monotonic() < until:
        time.sleep(0.005)
        done, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    return status if done else os.waitpid(child, 0)[1]


def _address_space() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _forget() -> None:
    """Clear what tests and library remember of calls: it came of the code without the change."""
    remembering = [item for item in gc.get_objects() if type(item) is functools._lru_cache_wrapper]
    for item in remembering:
        if str(item.__module__).startswith(("tests.", "mercer.")):
            item.cache_clear()
