"""Changed model files, by the hundred here, by the thousand or million on request."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")

ROOT = Path(__file__).parents[2]
ASKED = os.environ.get("MERCER_FUZZ")
MANY = pytest.param(2000, marks=pytest.mark.attack)


@pytest.mark.parametrize("mutations", [int(ASKED)] if ASKED else [500, MANY])
def test_changed_files_are_refused_or_harmless(mutations):
    """In a process of its own: a crash of the interpreter is an error, too much memory as well."""
    command = [sys.executable, "-m", "tests.io.model_fuzz", "--mutations", str(mutations)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    seen = json.loads(run.stdout)
    # The checks behind the checksum were reached, and some changes do no harm.
    assert seen["refused"] > mutations / 2
    assert seen["answered"] > mutations / 50
