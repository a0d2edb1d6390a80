"""``mercer transform``: a table in new coordinates."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options, table_options
from mercer.cli.screen import consoles, safe, show_facts, show_list, show_paths


def transform(
    data: options.Data,
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME", help="pca or ica: uncorrelated or independent."),
    ] = "pca",
    components: Annotated[
        int | None, typer.Option("--components", "-n", metavar="N", help="How many; 2 by default.")
    ] = None,
    out: options.Answers = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "-t",
            metavar="COLUMN",
            help="A column of classes that colours the picture and is not transformed.",
        ),
    ] = None,
    beside: Annotated[
        bool, typer.Option("--beside", metavar=" ", help="Put the columns of DATA before them.")
    ] = False,
    drop: table_options.Drop = None,
    kind: table_options.Kind = None,
    missing: table_options.Missing = None,
    encoding: table_options.Encoding = None,
    delimiter: table_options.Delimiter = None,
    seed: options.Seed = 0,
    force: options.Force = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Give each row of DATA new coordinates: principal or independent components.

    The columns of numbers are standardised; others are set aside. With -o a page beside the file
    shows the shares of the spread, what each component is made of, and a picture.
    """
    from mercer.cli.files import check_output, check_suffix, is_report, write_answers

    check_suffix(out)
    options.silence(debug)
    page = None if out in (None, "-") else Path(str(out)).with_suffix(".html")
    if page is not None:
        check_output(page, is_report, force)
    from mercer.study.components import find_components

    table = table_options.read(
        data, False if target is None else target, encoding=encoding, delimiter=delimiter,
        drop=drop, kind=kind, missing=missing,
    )  # fmt: skip
    found = find_components(table, method, components, seed)
    answers = found.table()
    write_answers(answers.beside(table.frame) if beside else answers, out, force, (data,))
    if page is not None:
        found.write_report(page)
    console, aside = consoles()
    shown = aside if page is None else console
    if quiet:
        return
    shown.print(safe(f"{found.source}: {found.title} of {len(found.columns)} columns of numbers"))
    show_facts(shown, found.facts())
    show_list(shown, list(found.notes))
    if page is not None:
        show_paths(shown, [("table", out), ("page", page)])
