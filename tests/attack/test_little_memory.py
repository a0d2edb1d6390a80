"""Fits under a limit of the address space are refused or succeed; nothing is aborted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.machines import MACHINES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ROOT = Path(__file__).parents[2]


def limited(megabytes, names):
    """Return how many fits succeeded and how many were refused, so many megabytes from here."""
    command = [sys.executable, "-m", "tests.attack.little_memory", str(megabytes), *names]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("\n") == 1, run.stdout
    return json.loads(run.stdout)


def test_compiled_code_without_room_is_not_begun():
    assert limited(50, ["SVC-0", "Ridge-0", "GaussianMixture-0"]) == {"fitted": 0, "refused": 3}


def test_a_matrix_that_does_not_fit_is_refused_and_a_budget_is_kept():
    assert limited(250, ["GaussianProcessRegressor-0"]) == {"fitted": 0, "refused": 1}
    assert limited(250, ["PCA-0"]) == {"fitted": 1, "refused": 0}


@pytest.mark.attack
@pytest.mark.parametrize("megabytes", [100, 200, 400])
def test_every_machine_under_a_limit(megabytes):
    assert sum(limited(megabytes, MACHINES).values()) == len(MACHINES)
