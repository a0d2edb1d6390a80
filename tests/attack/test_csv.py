"""Damaged tables, by the hundred here, by the hundred thousand on request."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")
pytest.importorskip("pyarrow")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("files", [300, pytest.param(100_000, marks=pytest.mark.attack)])
def test_damaged_tables_are_read_or_refused(files):
    """In a process of its own: a crash of the interpreter is an error, too much memory as well."""
    command = [sys.executable, "-m", "tests.attack.csv_fuzz", "--files", str(files)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    seen = json.loads(run.stdout)
    assert seen["whole"] > files / 20
    assert seen["read"] > files / 10
    assert seen["refused"] > files / 10
