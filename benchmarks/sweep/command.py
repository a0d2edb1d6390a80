"""``python -m benchmarks sweep``: draw the cases, run them, report; a run can be resumed."""

import argparse
import json
import os
from pathlib import Path

from benchmarks.environment import limit_threads
from benchmarks.options import positive

LIMIT = 30.0
"""Seconds after which a contender is stopped."""


def main(arguments: list[str]) -> int:
    """Return 0 when every case has a comparison at answers that are equally good, else 1."""
    options = _parser().parse_args(arguments)
    # The libraries read these variables when they are imported, so they are set before that.
    limit_threads(options.threads)
    from benchmarks.environment import describe
    from benchmarks.report import environment_text
    from benchmarks.sweep import page, report
    from benchmarks.sweep.cases import draw, subset
    from benchmarks.sweep.outcomes import append, environment, read
    from benchmarks.sweep.run import measure
    from benchmarks.sweep.summary import summarise

    cases = [case for case in draw(options.seed) if options.only.lower() in case.name.lower()]
    if options.growth:
        cases = [case for case in cases if case.growth]
    if options.cases is not None:
        cases = subset(cases, options.cases, options.seed)
    if options.list:
        for case in cases:
            print(case.key)
        return 0
    wanted = {case.key for case in cases}
    kept = [] if options.output is None else read(options.output)
    outcomes = {outcome.key: outcome for outcome in kept if outcome.key in wanted}
    if options.output is not None and not options.output.exists():
        heading = {"environment": describe(), "seed": options.seed, "limit": options.limit}
        options.output.write_text(json.dumps(heading) + "\n", encoding="utf-8")
    for number, case in enumerate(cases, 1):
        if case.key in outcomes or options.report:
            continue
        outcome = outcomes[case.key] = measure(case, options.limit)
        if options.output is not None:
            append(options.output, outcome)
        report.line(number, len(cases), outcome)
    found = list(outcomes.values())
    report.show(found)
    if options.table is not None:
        report.write_table(options.table, found)
    if options.picture is not None:
        report.draw(options.picture, found)
    if options.page is not None:
        measured = None if options.output is None else environment(options.output)
        heading = f"Seed {options.seed}; {environment_text(measured or describe())}."
        picture = None
        if options.picture is not None:
            picture = Path(os.path.relpath(options.picture, options.page.parent)).as_posix()
        page.write_section(options.page, page.section(found, heading, picture))
    summary = summarise(found)
    return 1 if summary.failed or summary.unequal else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks sweep",
        description="Compare every machine with its fastest peer, at sizes drawn from a seed.",
    )
    parser.add_argument("--seed", type=int, default=0, help="draws the cases (default: 0)")
    parser.add_argument(
        "--cases", type=positive(int), metavar="N", help="N of the cases, chosen at random"
    )
    parser.add_argument("--only", default="", metavar="NAME", help="cases with NAME in their name")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="a line of JSON for each case; cases that it has already are not run again",
    )
    parser.add_argument(
        "--limit",
        type=positive(float),
        default=LIMIT,
        metavar="SECONDS",
        help=f"time for one contender of one case (default: {LIMIT:g})",
    )
    parser.add_argument("--table", type=Path, metavar="FILE", help="write a table in Markdown")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the profile")
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write numbers, worst cases, growth and --picture between two marks of a page",
    )
    parser.add_argument("--growth", action="store_true", help="only how time grows with the rows")
    parser.add_argument("--list", action="store_true", help="list the cases and run nothing")
    parser.add_argument("--report", action="store_true", help="report on --output, run nothing")
    parser.add_argument(
        "--threads", type=positive(int), default=2, help="threads for everybody (default: 2)"
    )
    return parser
