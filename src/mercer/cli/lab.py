"""``mercer lab``: the page in which the theory can be seen to move."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import options
from mercer.cli.screen import consoles, show_paths


def lab(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="OUT", help="The page to write.")
    ] = "lab.html",
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page in the browser.")
    ] = True,
    force: options.Force = False,
    debug: options.Debug = False,
) -> None:
    """Write and open the lab: experiments with exact answers, in one page without a network."""
    options.silence(debug)
    from mercer.cli.files import check_output, is_report
    from mercer.lab.assemble import write_lab

    path = Path(out)
    check_output(path, is_report, force)
    write_lab(path)
    show_paths(consoles()[0], [("lab", path)], indent=0)
    if show:
        import webbrowser

        webbrowser.open(path.absolute().as_uri())
