"""Cases whose every run is a fresh interpreter: import times."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.job import NOT_INSTALLED, OURS, Job, Measurement

# The child times itself, so that starting the interpreter does not count, and imports nothing
# that the statement would otherwise have to pay for.
_CHILD = """
from time import perf_counter
start = perf_counter()
exec({statement!r}, {{}})
print(perf_counter() - start)
"""


@dataclass(frozen=True)
class Fresh:
    """Statements, by contender, each run in new processes in alternating order."""

    label: str
    statements: Mapping[str, str]

    def measure(self, job: Job, number: int, repeats: int) -> Measurement:
        """Run every statement once to warm the file cache, then all of them in turn."""
        measurement = Measurement(self.label)
        for name, statement in self.statements.items():
            try:
                _seconds(statement)
            except subprocess.CalledProcessError as error:
                if name == OURS or "ModuleNotFoundError" not in error.stderr:
                    sys.stderr.write(error.stderr)
                    raise
                measurement.unavailable[name] = NOT_INSTALLED
                continue
            measurement.seconds[name] = []
        for _ in range(repeats):
            for name, seconds in measurement.seconds.items():
                seconds.append(_seconds(self.statements[name]))
        return measurement


def _seconds(statement: str) -> float:
    # Bytecode is kept for everyone: an installed package has it already, a checkout has not.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.run(
        [sys.executable, "-c", _CHILD.format(statement=statement)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(child.stdout)
