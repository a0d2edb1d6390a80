"""The commands in one place, and what happens when one of them fails."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from mercer.cli import apply, fit, lab, look, transform, verify
from mercer.cli.deferred import defer_statistics
from mercer.cli.garbage import leave_to_the_system, own_the_process
from mercer.cli.screen import one_line, safe
from mercer.cli.settings import as_options

FINE, NOT_GOOD, BAD_INPUT, BAD_MODEL, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 130
_SPIN = "20"
"""Threads of OpenBLAS take a core for 2ⁿ cycles before they sleep. By default n is 26, which two
libraries spend on nothing when they are loaded; 20 is a third of a millisecond."""
_HELP = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="mercer", add_completion=False, context_settings=_HELP, pretty_exceptions_enable=False
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"mercer {version('mercer')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Kernel machines for any data, with a proof for every answer.

    Try it:  mercer fit heart
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for command in (
    fit.fit,
    apply.predict,
    apply.explain,
    apply.report,
    apply.certify,
    verify.verify,
    look.compare,
    look.kernels,
    transform.transform,
    lab.lab,
):
    app.command(context_settings=_HELP)(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    0 fine, 1 the answer is not good, 2 wrong use or bad input, 3 bad model file, 4 a bug,
    130 interrupted before there was anything to keep.
    """
    if arguments is None and hasattr(signal, "SIGPIPE"):
        # As for other tools: when the reader of a pipe has read enough, end without a word.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if arguments is None:
        os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", _SPIN)
        own_the_process()
        defer_statistics()
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        command = typer.main.get_command(app)
        code = command.main(args=given, prog_name="mercer", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if "--debug" in given and not hasattr(error, "format_message"):
            raise
        code = _explain(error)
    if code == INTERRUPTED:
        _say("interrupted; nothing was written.", code)
    if arguments is None:
        leave_to_the_system()
    sys.exit(code or FINE)


def _explain(error: Exception) -> int:
    """Say in one line what went wrong and what to do, and return the exit code."""
    if hasattr(error, "format_message"):  # wrong use of the command line
        context: Any = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "mercer"
        cause = one_line(error.format_message())
        stop = "" if cause.endswith((".", "!", "?")) else "."
        return _say(f"{cause}{stop} See {path} --help.", BAD_INPUT)
    from mercer.exceptions import InvalidExpression, InvalidModelFile, MercerError

    try:
        raise error
    except InvalidExpression:
        first, *picture = str(error).split("\n")
        return _say("\n".join([f"--kernel: {first}", *picture]), BAD_INPUT)
    except InvalidModelFile:
        return _say(one_line(error), BAD_MODEL)
    except MercerError:
        return _say(one_line(as_options(str(error))), BAD_INPUT)
    except OSError as found:
        place = f"{found.filename}: " if found.filename is not None else ""
        return _say(one_line(f"{place}{found.strerror or found}. Check the path."), BAD_INPUT)
    except MemoryError:
        return _say("not enough memory. Use fewer rows, or --machine linear.", BAD_INPUT)
    except Exception:
        what = one_line(f"{type(error).__name__}: {error}")
        return _say(f"{what} (unexpected; run it again with --debug and report it).", BUG)


def _say(message: str, code: int) -> int:
    text = safe(message, keep="\n")
    sys.stderr.write(f"mercer: {text}\n")
    return code
