"""scipy.stats is imported for nothing until it is used, and then it is what it always was."""

import os
import subprocess
import sys

import pytest

from tests.cli.command import mercer

DEFERRED = """
import sys
from mercer.cli.deferred import defer_statistics

defer_statistics()
import scipy.stats as first
import sklearn.ensemble, sklearn.isotonic, sklearn.linear_model, sklearn.metrics
import sklearn.model_selection, sklearn.preprocessing, sklearn.utils.fixes


def loaded():
    return "scipy.stats._stats_py" in sys.modules


assert not loaded()
"""

USES = {
    "a function that was imported by name": """
from sklearn.metrics._ranking import rankdata
assert not loaded()
assert rankdata([3, 1, 1]).tolist() == [3, 1.5, 1.5]
""",
    "a distribution that was imported by name": """
from scipy.stats import chi2
assert not loaded()
assert abs(chi2.isf(0.05, 1) - 3.8414588) < 1e-6 and abs(chi2(1).mean() - 1) < 1e-12
""",
    "any other name": """
from scipy.stats import norm
assert loaded() and norm.cdf(0) == 0.5
""",
    "an attribute of the package": """
import numpy as np, scipy
assert sklearn.utils.fixes._mode(np.array([1, 2, 2]))[0] == 2
assert scipy.stats.norm.cdf(0) == 0.5
""",
    "a part of it": """
from scipy.stats.mstats import mquantiles
assert abs(mquantiles([1, 2, 3], 0.5)[0] - 2) < 1e-12
""",
    "two threads": """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    assert list(pool.map(lambda _: float(first.norm.cdf(0)), range(8))) == [0.5] * 8
""",
    "inspection of all modules": """
import inspect
inspect.getmodule(compile("1", "none", "eval"))
assert first.__spec__.name == "scipy.stats" and not hasattr(first, "__wrapped__")
""",
}

AFTER = """
import scipy
if loaded():
    assert type(scipy.stats) is type(sys) and scipy.stats is sys.modules["scipy.stats"]
    assert not [f for f in sys.meta_path if type(f).__module__.startswith("mercer")]
    assert first.norm is scipy.stats.norm
"""


def run(code):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("use", USES)
def test_whoever_uses_it_gets_it(use):
    run(DEFERRED + USES[use] + AFTER)


LOADED = """
import sys
import scipy.stats as first
from mercer.cli.deferred import defer_statistics

finders = list(sys.meta_path)
defer_statistics()
assert sys.modules["scipy.stats"] is first and sys.meta_path == finders
"""


def test_what_is_loaded_already_stays():
    run(LOADED)


def test_a_command_inside_a_program_defers_nothing():
    before = list(sys.meta_path)
    assert mercer("--version").code == 0
    assert sys.meta_path == before


def test_the_main_job_needs_none_of_it(tmp_path):
    code = f"""
import os, sys
os.chdir({str(tmp_path)!r})
sys.argv = ["mercer", "fit", "heart", "--quiet"]
from mercer.cli import main
try:
    main()
except SystemExit as left:
    assert left.code == 0
print("scipy.stats._stats_py" in sys.modules)
"""
    assert run(code).split() == ["False"]


@pytest.mark.parametrize(("given", "kept"), [(None, "20"), ("26", "26")])
def test_threads_of_blas_sleep_soon_unless_somebody_has_said_when(given, kept):
    env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
    if given is not None:
        env["OPENBLAS_THREAD_TIMEOUT"] = given
    code = """
import os, sys
sys.argv = ["mercer", "--version"]
from mercer.cli import main
try:
    main()
except SystemExit:
    print(os.environ["OPENBLAS_THREAD_TIMEOUT"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env
    )
    assert done.stdout.split()[-1] == kept, done.stderr
