"""``mercer verify``: the proof that a report carries, checked without the code that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options
from mercer.cli.screen import consoles, safe, show_facts, show_list


def verify(
    report: Annotated[
        str,
        typer.Argument(metavar="REPORT", help="A page that mercer fit --proof has written."),
    ],
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Check the proof that REPORT carries, with NumPy alone.

    Gram matrix, primal and dual value, gap and residuals are computed from the rows and multipliers
    in the page, by code that shares nothing with the solvers; each number that the page prints has
    to be right. The exit code is 1 if the proof fails.
    """
    options.silence(debug)
    from mercer.exceptions import InvalidInput
    from mercer.report.verifier.verdict import verify_page

    try:
        text = Path(report).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(
            f"{report} is not a page of text. Give a report that mercer fit --proof has written."
        ) from None
    verdict = verify_page(text)
    if as_json:
        import json

        plain = {
            "holds": verdict.holds,
            "faults": list(verdict.faults),
            "digest": verdict.digest,
            "rows": verdict.rows,
            "problems": len(verdict.problems),
            "numbers": dict(verdict.numbers),
        }
        typer.echo(json.dumps(plain, indent=2, allow_nan=False))
    elif not quiet:
        console, _ = consoles()
        if verdict.holds:
            console.print(
                "The proof holds: computed anew from the rows of the page, all printed numbers are "
                "right."
            )
        else:
            console.print("The proof does not hold.")
            show_list(console, [safe(fault) for fault in verdict.faults])
        if verdict.numbers:
            from mercer.report.text import number

            found = verdict.numbers
            show_facts(
                console,
                [
                    ("problems", f"{len(verdict.problems):,}, on {verdict.rows:,} rows"),
                    ("primal", number(found["primal"], 8)),
                    ("dual", number(found["dual"], 8)),
                    (
                        "gap",
                        f"{number(found['gap'], 2)}  ({number(100 * verdict.relative_gap, 2)} %)",
                    ),
                    ("digest", verdict.digest),
                ],
            )
    if not verdict.holds:
        raise typer.Exit(1)
