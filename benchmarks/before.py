"""Is a change slower than what was before it? Our own side of the jobs, in two checkouts, in turn.

    python -m benchmarks.before CHECKOUT [JOB …] [--repeats 5] [--scale 0.3] [--only TEXT]

CHECKOUT is a clone of the code before the change. Each checkout has a process of its own, which
makes the data, warms up, and then waits to be asked for its next run; they are asked in turn.
"""

import argparse
import contextlib
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

HERE = Path(__file__).resolve().parents[1]
_SETTLE = 0.2
"""Seconds in which the BLAS threads of the run before stop spinning."""


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each case; ratios above 1 mean that this checkout is faster."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a clone of the code before the change")
    parser.add_argument("job", nargs="*", help="jobs to run, all by default")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each side")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of rows")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with TEXT in their name")
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(HERE))
    from statistics import geometric_mean

    from benchmarks.job import OURS, Spread, discover

    middles = []
    for job in discover().values():
        if options.job and job.name not in options.job:
            continue
        for number, case in enumerate(job.cases(options.scale)):
            if options.only not in case.label or OURS not in getattr(case, "contenders", {}):
                continue
            seconds = _measure(options, job.name, number)
            if seconds is None:
                print(f"{'failed':>8}  {job.name}: {case.label}", flush=True)
                continue
            old, new = seconds
            ratio = Spread.of([a / b for a, b in zip(old, new, strict=True)])
            middles.append(ratio.middle)
            print(
                f"{ratio.middle:8.2f}  ({ratio.lower:.2f} – {ratio.upper:.2f})  "
                f"{Spread.of(new).middle * 1e3:10.1f} ms  {job.name}: {case.label}",
                flush=True,
            )
    if middles:
        print(f"{geometric_mean(middles):8.2f}  geometric mean of {len(middles)} cases")
    return 0


def _measure(options: argparse.Namespace, job: str, number: int):
    """Return the seconds of both checkouts, run by run; None where one of them fails."""
    sides = [_Side(root, job, number, options.scale) for root in (options.checkout, HERE)]
    try:
        with contextlib.suppress(BrokenPipeError):
            if all(side.is_ready() for side in sides):
                runs = [[side.run() for side in sides] for _ in range(options.repeats)]
                return [list(times) for times in zip(*runs, strict=True)]
    finally:
        for side in sides:
            side.end()
    return None


class _Side:
    """A process that runs one case of one checkout when it is asked to."""

    def __init__(self, root: Path, job: str, number: int, scale: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", job, str(number), str(scale)],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(Path(root).resolve() / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def is_ready(self) -> bool:
        return self.process.stdout.readline() == "ready\n"

    def run(self) -> float:
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def _serve(job: str, number: str, scale: str) -> None:
    sys.path.insert(0, os.getcwd())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a job prints is not for the one who asks
    from benchmarks.environment import limit_threads

    limit_threads(2)
    from benchmarks.job import OURS, build, discover

    call = build(OURS, discover()[job].cases(float(scale))[int(number)].contenders[OURS])
    call()
    print("ready", file=answers, flush=True)
    for _ in sys.stdin:
        gc.collect()
        sleep(_SETTLE)
        start = perf_counter()
        result = call()
        print(perf_counter() - start, file=answers, flush=True)
        del result


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        _serve(*sys.argv[2:])
    else:
        sys.exit(main())
