"""Degenerate data: every machine answers with finite numbers, or says what is wrong with them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.degenerate import KINDS, attack
from tests.attack.machines import MACHINES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
ROOT = Path(__file__).parents[2]
HARD = ("one row", "zeros", "one row many times", "largest", "subnormal", "classes of mixed types")
QUICK = (
    *("SVC-0", "LinearSVC-0", "Perceptron-0", "Ridge-0", "KernelRidge-0", "PCA-0", "Whitening-0"),
    *("NumericScaler-0", "KernelPCA-1", "LinearDiscriminantAnalysis-0", "GaussianMixture-0"),
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("name", QUICK)
def test_hard_data_are_answered_or_refused(name, kind):
    assert attack(name, kind) in (None, "refused")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("KernelRidgeClassifier-0", "huge weights"), ("NormRegressor-p", "tiny numbers")],
)
def test_what_once_failed(name, kind):
    assert attack(name, kind) in (None, "refused")


def test_there_are_enough_kinds_of_data():
    assert len(KINDS) * len(MACHINES) >= 1500


@pytest.mark.attack
@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_on_degenerate_data(name):
    """In a process of its own: a crash of the interpreter is an error, too much memory as well."""
    command = [sys.executable, "-m", "tests.attack.degenerate", name]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=3600)
    assert run.returncode == 0, run.stdout + run.stderr
    *wrong, last = run.stdout.strip().splitlines()
    # What LAPACK itself prints is no answer of ours.
    assert [line for line in wrong if " | " in line] == []
    assert json.loads(last)["answered"] >= 10
