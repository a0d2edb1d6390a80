"""Command line of the benchmarks: the list of jobs, one of them, or a comparison of its own."""

import argparse
import sys
from pathlib import Path

from benchmarks.environment import limit_threads
from benchmarks.options import positive


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when all went well, 1 when a check or a memory limit failed, 2 for wrong usage."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["sweep"]:
        from benchmarks.sweep.command import main as sweep

        return sweep(arguments[1:])
    if arguments[:1] == ["growth"]:
        from benchmarks.sweep.command import main as sweep

        return sweep(["--growth", *arguments[1:]])
    if arguments[:1] == ["accuracy"]:
        from benchmarks.accuracy import main as accuracy

        return accuracy(arguments[1:])
    if arguments[:1] == ["regression"]:
        from benchmarks.regression import main as regression

        return regression(arguments[1:])
    if arguments[:1] == ["mixed"]:
        from benchmarks.mixed import main as mixed

        return mixed(arguments[1:])
    if arguments[:1] == ["files"]:
        from benchmarks.files import main as files

        return files(arguments[1:])
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="List the benchmark jobs, or run one of them; sweep compares many "
        "machines, growth their times at sizes that double, accuracy scores on small tables, "
        "regression errors on tables of numbers, mixed weights of columns, files whole studies.",
    )
    parser.add_argument("job", nargs="?", help="the job to run; without it, all jobs are listed")
    parser.add_argument("--repeats", type=positive(int), help="timed runs of each contender")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    parser.add_argument(
        "--scale",
        type=positive(float),
        default=1.0,
        help="multiply the number of rows, to try a job quickly (default: 1)",
    )
    parser.add_argument(
        "--threads", type=positive(int), default=2, help="threads for everybody (default: 2)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with TEXT in their name")
    options = parser.parse_args(arguments)

    # The libraries read these variables when they are imported, so they are set before that.
    limit_threads(options.threads)
    from benchmarks import report
    from benchmarks.job import discover

    jobs = discover()
    if options.job is None:
        report.show_jobs(jobs)
        return 0
    if options.job not in jobs:
        parser.error(f"there is no job {options.job!r}; choose from {', '.join(jobs)}")
    job = jobs[options.job]
    measurements = []
    for number, case in enumerate(job.cases(options.scale)):
        if options.only not in case.label:
            continue
        report.announce(job, case)
        measurement = case.measure(job, number, options.repeats or job.repeats)
        report.show(measurement)
        measurements.append(measurement)
    report.show_environment()
    if options.json is not None:
        report.write_json(options.json, job, options.scale, measurements)
    return 1 if any(measurement.failures for measurement in measurements) else 0


if __name__ == "__main__":
    sys.exit(main())
