"""Tables for a person, JSON for a program."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.environment import describe
from benchmarks.job import OURS, Case, Job, Measurement, Spread

console = Console(highlight=False, width=None if sys.stdout.isatty() else 100)


def show_jobs(jobs: Mapping[str, Job]) -> None:
    """List the jobs with one line each."""
    table = Table("job", "what it measures", box=None, pad_edge=False)
    for job in jobs.values():
        table.add_row(f"[bold]{job.name}", job.description)
    console.print(table)
    console.print("\nRun one with: python -m benchmarks JOB")
    console.print("Many machines at drawn sizes: python -m benchmarks sweep")


def announce(job: Job, case: Case) -> None:
    """Say what runs now."""
    console.print(f"\n[bold]{job.name}[/bold]: {escape(case.label)}")


def show(measurement: Measurement) -> None:
    """Print one case as a table, with its checks below."""
    with_memory = bool(measurement.growth)
    with_relative = with_memory and measurement.result_bytes is not None
    table = Table()
    table.add_column("contender", no_wrap=True)
    table.add_column("median", justify="right")
    table.add_column("min – max", justify="right")
    table.add_column(f"ratio to {OURS}", justify="right")
    if with_memory:
        table.add_column("memory", justify="right")
    if with_relative:
        table.add_column("memory / result", justify="right")
    for name, seconds in measurement.seconds.items():
        time = Spread.of(seconds)
        row = [name, time_text(time.middle), f"{time_text(time.low)} – {time_text(time.high)}"]
        row.append("1" if name == OURS else ratio_text(Spread.of(measurement.ratios(name))))
        if with_memory:
            row.append(f"{measurement.growth[name] / 1e6:,.0f} MB")
        if with_relative:
            row.append(f"{measurement.growth[name] / measurement.result_bytes:.2f}")
        table.add_row(*row)
    console.print(table)
    pairs = len(measurement.seconds[OURS])
    console.print(f"{pairs} timed runs each, in turn; ratios pair by pair, with quartiles.")
    if measurement.agreement:
        console.print(measurement.agreement)
    for name, reason in measurement.unavailable.items():
        console.print(f"[yellow]{name} left out:[/yellow] {escape(reason)}")
    for failure in measurement.failures:
        console.print(f"[bold red]FAILED[/bold red] {escape(failure)}")


def show_environment() -> None:
    """Print the versions and thread counts that the numbers above belong to."""
    facts = describe()
    console.print(f"\n{environment_text(facts)}")
    if facts["thread pools"]:
        console.print(f"thread pools: {', '.join(facts['thread pools'])}")


def environment_text(facts: dict[str, Any]) -> str:
    """Return the date, the machine and the versions in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return f"{facts['date']}, {facts['machine']}, {facts['threads']} threads; {versions}"


def write_json(path: Path, job: Job, scale: float, measurements: Sequence[Measurement]) -> None:
    """Write every sample, and the summaries that the table shows."""
    cases = []
    for measurement in measurements:
        peers = [name for name in measurement.seconds if name != OURS]
        cases.append(
            asdict(measurement)
            | {
                "medians": {
                    name: Spread.of(seconds).middle for name, seconds in measurement.seconds.items()
                },
                "ratios": {name: asdict(Spread.of(measurement.ratios(name))) for name in peers},
            }
        )
    record = {"job": job.name, "scale": scale, "environment": describe(), "cases": cases}
    path.write_text(json.dumps(record, indent=2) + "\n")
    console.print(f"written to {path}")


def time_text(seconds: float) -> str:
    """Return seconds as a person reads them."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


def ratio_text(ratio: Spread) -> str:
    """Return the median and the quartiles."""
    return f"{ratio.middle:.2f} ({ratio.lower:.2f} – {ratio.upper:.2f})"
