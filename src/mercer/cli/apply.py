"""``mercer predict``, ``report`` and ``certify``: what can be done with a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options, table_options
from mercer.cli.screen import consoles, show_facts, show_paths


def predict(
    model: options.Model,
    data: options.Data,
    out: options.Answers = None,
    level: options.Level = None,
    beside: Annotated[
        bool, typer.Option("--beside", metavar=" ", help="Put the columns of DATA before them.")
    ] = False,
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Answer each row of DATA: the prediction, how sure it is, and remarks.

    Numbers come with low and high, classes with their probabilities and the set that the true
    one is in, as often as the level says. Remarks name values that were filled in or never seen,
    and rows unlike the training rows.
    """
    from mercer.cli.files import check_suffix, write_answers

    check_suffix(out)
    options.silence(debug)
    from mercer.study.predictions import with_columns
    from mercer.study.study import Study

    study = Study.load(model)
    table = table_options.read_new(
        data, study.schema, missing=missing, encoding=encoding, delimiter=delimiter
    )
    answers = with_columns(study.answers(table, level), remarks=study.remarks(table))
    if beside:
        answers = answers.beside(table.frame)
    write_answers(answers, out, force, (model, data))


def explain(
    model: options.Model,
    data: options.Data,
    out: options.Answers = None,
    within: Annotated[
        bool,
        typer.Option("--within", help="The share of each letter or node, a line each."),
    ] = False,
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
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

    study = Study.load(model)
    table = table_options.read_new(
        data, study.schema, missing=missing, encoding=encoding, delimiter=delimiter
    )
    found = study.shares_within(table) if within else study.shares(table)
    write_answers(found, out, force, (model, data))


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
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
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
    table = table_options.read_new(
        data, study.schema, missing=missing, encoding=encoding, delimiter=delimiter,
        target=None if study.schema.width is not None else study.target,
    )  # fmt: skip
    found = study.certify(table)
    claimed = study.certificate
    assert claimed is not None, "what could be judged has a certificate"
    holds, words = judge(found, claimed)
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
