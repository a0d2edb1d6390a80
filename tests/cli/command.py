"""The command line as a user sees it: arguments in, exit code and two streams out."""

import io
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from mercer.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def mercer(*arguments):
    """Run a command inside this process."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        try:
            main([str(a) for a in arguments])
        except SystemExit as left:
            return Result(left.code, out.getvalue(), err.getvalue())
    raise AssertionError("main has to leave with an exit code")


def real_mercer(*arguments, cwd, **settings):
    """Run a command in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "mercer", *map(str, arguments)],
        capture_output=True, text=True, timeout=300, cwd=cwd,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"} | settings,
    )  # fmt: skip
    return Result(run.returncode, run.stdout, run.stderr)


def good(result):
    """Return a result that has to be fine."""
    assert result.code == 0, result.err
    assert result.err == ""
    return result
