"""Compiled code with every index checked, on NaN, infinities and numbers that overflow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def checked(tmp_path, *arguments):
    """Run a module or tests where Numba raises IndexError for an index out of its bounds."""
    ours = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=ours, timeout=3600)


@pytest.mark.attack
def test_the_tests_of_compiled_code(tmp_path):
    run = checked(tmp_path, "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "tests/fast")
    assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.attack
@pytest.mark.parametrize(
    "name",
    ["SVC-0", "LinearSVC-0", "LinearSVC-2", "Lasso-0", "Perceptron-0", "MLPClassifier-0", "ICA-0"],
)
def test_degenerate_data(name, tmp_path):
    run = checked(tmp_path, "tests.attack.degenerate", name)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "IndexError" not in run.stdout
    assert [line for line in run.stdout.splitlines() if " | " in line] == []
