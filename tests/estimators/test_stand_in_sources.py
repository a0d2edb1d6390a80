"""scikit-learn's own tests of FastICA, with mercer's in its place."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

KNOWN = {"sklearn.decomposition.tests.test_fastica": {}}
LEAST = {"sklearn.decomposition.tests.test_fastica": 30}


@pytest.mark.slow
@pytest.mark.parametrize("module", KNOWN)
def test_scikit_learns_tests(module):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "--no-header"]
    command += ["-c", "/dev/null", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-p", "tests.estimators.stand_in_sources", "--pyargs", module]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=600)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error)", run.stdout)}
    failed = re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.M)
    for name in sorted(set(failed)):
        print(f"{name}: {KNOWN[module].get(name, 'NOT KNOWN')}")
    assert set(failed) == set(KNOWN[module]), run.stdout
    assert "error" not in counts
    assert counts["passed"] >= LEAST[module]


def test_the_plugin_puts_ours_in_place():
    code = (
        "import tests.estimators.stand_in_sources, sklearn.decomposition as m; "
        "print(m.FastICA.__module__)"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root)
    assert run.stdout.split() == ["mercer.estimators.fast_ica"], run.stderr
