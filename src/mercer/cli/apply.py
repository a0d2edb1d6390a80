"""``mercer predict``, ``report`` and ``certify``: what can be done with a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options
from mercer.cli.screen import consoles, show_facts, show_paths


def predict(
    model: options.Model,
    data: options.Data,
    out: options.Answers = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Answer each row of DATA: the prediction, and how probable each class is."""
    from mercer.cli.files import check_suffix, write_answers

    check_suffix(out)
    options.silence(debug)
    from mercer.study.study import Study

    answers = Study.load(model).answers(data)
    write_answers(answers, out, force, (model, data))


def explain(
    model: options.Model,
    data: options.Data,
    out: options.Answers = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Say of each row of DATA how much each column gives to the answer: exact Shapley values.

    Base and shares add up to the decision value (positive for the second class) or the number.
    """
    from mercer.cli.files import check_suffix, write_answers

    check_suffix(out)
    options.silence(debug)
    from mercer.study.study import Study

    write_answers(Study.load(model).shares(data), out, force, (model, data))


def report(
    model: options.Model,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="OUT", help="The page; MODEL.html otherwise."),
    ] = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Write the report of MODEL: one page of HTML that needs no network."""
    from mercer.cli.files import check_output, is_report

    options.silence(debug)
    from mercer.study.study import Study

    study = Study.load(model)
    path = Path(model).with_suffix(".html") if out is None else Path(out)
    check_output(path, is_report, force)
    study.write_report(path)
    show_paths(consoles()[0], [("report", path)], indent=0)


def certify(
    model: options.Model,
    data: options.Data,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Prove MODEL again from the DATA that it was made from, without trusting its solver.

    The exit code is 1 if the proof fails.
    """
    options.silence(debug)
    from mercer.report.text import number
    from mercer.study.study import Study
    from mercer.study.summary import judge, plain_certificate

    study = Study.load(model)
    found = study.certify(data)
    holds, words = judge(found, study.certificate)
    if as_json:
        import json

        plain = {"holds": holds, "words": words, "certificate": plain_certificate(found)}
        typer.echo(json.dumps(plain, indent=2, allow_nan=False))
    elif not quiet:
        console, _ = consoles()
        console.print(words)
        show_facts(
            console,
            [
                ("problem", found.problem),
                (
                    "primal",
                    f"{number(found.primal, 8)}  (no answer costs less than the dual value)",
                ),
                ("dual", number(found.dual, 8)),
                ("gap", f"{number(found.gap, 2)}  ({number(100 * found.relative_gap, 2)} %)"),
            ],
        )
    if not holds:
        raise typer.Exit(1)
