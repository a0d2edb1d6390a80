"""Machines in forked children and on many threads at once."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.attack.machines import MACHINES, answers, fit, make, same

ROOT = Path(__file__).parents[2]
FEW = ["SVC-0", "LinearSVC-0", "KernelRidge-0", "MLPClassifier-0", "NystromMap-0"]
CLUSTERED = ["GaussianMixture-0", "HiddenMarkovModel-0"]
"""They begin with k-means, which runs on threads of its own."""


def forked(names):
    command = [sys.executable, "-m", "tests.attack.forks", *names]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_machine_fits_in_a_forked_child():
    assert forked([*FEW, *CLUSTERED]) == ""


@pytest.mark.attack
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_every_machine_fits_in_a_forked_child():
    assert forked(MACHINES) == ""


def fit_at_once(name, threads=8, rounds=3):
    """Fit one object on many threads; return what went wrong, and whether it answers as before."""
    machine, data = make(name)
    expected = answers(fit(machine, data), data.X)
    start, errors = threading.Barrier(threads), []

    def work():
        start.wait(20)
        try:
            for _ in range(rounds):
                fit(machine, data)
        except Exception as error:
            errors.append(repr(error))

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    return errors, same(answers(machine, data.X), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["SVC-0", "SVR-0", "OneClassSVM-0", *CLUSTERED])
def test_one_object_is_fitted_by_many_threads(name):
    assert fit_at_once(name) == ([], True)


@pytest.mark.attack
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MACHINES)
def test_every_object_is_fitted_by_many_threads(name):
    assert fit_at_once(name, rounds=10) == ([], True)
