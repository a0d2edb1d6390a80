"""Changed model files, by the thousand here and by the million on request."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("resource")

ROOT = Path(__file__).parents[2]
MUTATIONS = int(os.environ.get("MERCER_FUZZ", "2000"))


def test_changed_files_are_refused_or_harmless():
    """In a process of its own: a crash of the interpreter is an error, too much memory as well."""
    command = [sys.executable, "-m", "tests.io.model_fuzz", "--mutations", str(MUTATIONS)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-4000:]
    seen = json.loads(run.stdout)
    # The checks behind the checksum were reached, and some changes do no harm.
    assert seen["refused"] > MUTATIONS / 2
    assert seen["answered"] > MUTATIONS / 50
