"""A sweep as a section of a page: its numbers, the worst cases, growth, picture and table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.job import OURS
from benchmarks.report import console
from benchmarks.sweep.outcomes import Outcome
from benchmarks.sweep.report import peer_of, ratio_of, time_of
from benchmarks.sweep.summary import CLOSE, exponents, is_tie, summarise

BEGIN, END = "<!-- sweep: begin -->", "<!-- sweep: end -->"
"""Between these lines of a page the section is written anew."""


def section(outcomes: Sequence[Outcome], heading: str, picture: str | None = None) -> str:
    """Return the section in Markdown; ``heading`` says when and where, ``picture`` is a path."""
    found = summarise(outcomes)
    lines = [heading, ""]
    if found.cases:
        lines += [
            "| | |",
            "| --- | --- |",
            f"| cases | {found.cases} |",
            f"| {OURS} is the fastest | {found.fastest} ({found.fastest / found.cases:.0%}) |",
            f"| within {CLOSE} of the fastest peer | {found.within:.1%} |",
        ]
        for family, mean in found.means.items():
            lines.append(f"| geometric mean of the ratios, {family} machines | {mean:.2f} |")
        lines += [
            f"| ties | {len(found.ties)} |",
            f"| our answer stayed worse | {len(found.unequal)} |",
            f"| no peer reached our answer | {len(found.alone)} |",
            f"| without a comparison | {len(found.failed)} |",
            "",
            "The worst:",
            "",
            f"| case | {OURS} | fastest peer | ratio (quartiles) |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_row(outcome) for outcome in found.worst]
    lines += _growth(outcomes)
    if picture is not None:
        lines += ["", f"![Share of cases within a factor of the best time]({picture})"]
    return "\n".join(lines) + "\n"


def write_section(path: Path, text: str) -> None:
    """Put the section between its two lines in a page, or at its end where there are none."""
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    if BEGIN not in page:
        page = f"{page.rstrip()}\n\n{BEGIN}\n{END}\n".lstrip()
    before, rest = page.split(BEGIN, 1)
    if END not in rest:
        raise ValueError(f"{path} has the line {BEGIN!r} and no line {END!r} after it: add it.")
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")
    console.print(f"section written to {path}")


def _row(outcome: Outcome) -> str:
    tie = ", a tie" if is_tie(outcome) else ""
    ours, peer = time_of(outcome, OURS), peer_of(outcome)
    return f"| {outcome.name} | {ours} | {peer} | {ratio_of(outcome)}{tie} |"


def _growth(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a table of exponents, with the number of sizes that each was fitted to."""
    found = {machine: row for machine, row in exponents(outcomes).items() if row}
    libraries = list(dict.fromkeys(name for row in found.values() for name in row))
    if not libraries:
        return []
    lines = [
        "",
        "Time grows like this power of the rows (number of sizes):",
        "",
        f"| machine | {' | '.join(libraries)} |",
        f"| --- |{' --- |' * len(libraries)}",
    ]
    for machine, row in found.items():
        cells = [f"{row[who][0]:.2f} ({row[who][1]})" if who in row else "" for who in libraries]
        lines.append(f"| {machine} | {' | '.join(cells)} |")
    return lines
