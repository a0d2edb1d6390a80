import os
import signal
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests.real_data import MISSING

# Shells start what runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "dev", deadline=None, max_examples=40, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "ci", deadline=None, max_examples=40, derandomize=True, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "thorough", deadline=None, max_examples=1000, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


def _read_only(array):
    array.flags.writeable = False
    return array


@pytest.fixture(scope="session")
def X():
    """Numbers, 9 × 3, with two equal rows and a row of zeros; read-only, as all shared arrays."""
    X = np.random.default_rng(7).normal(size=(9, 3)) * [1.0, 2.0, 0.5]
    X[4] = X[1]
    X[6] = 0.0
    return _read_only(X)


@pytest.fixture(scope="session")
def Z():
    """Other numbers, 5 × 3, one row shared with X's distribution of values."""
    return _read_only(np.random.default_rng(8).normal(size=(5, 3)))


@pytest.fixture(scope="module", autouse=True)
def no_figures_are_left():
    """Close what the tests of a module have drawn: pyplot warns of more than twenty figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_addoption(parser):
    parser.addoption("--attacks", action="store_true", help="run the long attacks too")


def pytest_configure(config):
    """Give each of several test processes its share of the cores, and no more threads of BLAS.

    Threads that wait for one another spin: where other processes hold the cores, small products on
    two threads took ten times the CPU time of one. Workers and the processes that tests start
    inherit this; the tests of threads set the number that they need.
    """
    workers = config.getoption("numprocesses", None)
    if workers and workers > 1:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))


def pytest_collection_modifyitems(config, items):
    """Leave out attacks that nobody asked for; among several processes begin with what is slow."""
    if hasattr(config, "workerinput"):  # so that no process is left alone with a long test
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    _leave_attacks_out(config, items)


def _leave_attacks_out(config, items):
    """Keep the attacks only where they are asked for: by --attacks, by -m attack or by name."""
    asked = config.getoption("--attacks") or "attack" in config.getoption("-m")
    if asked or any("::" in argument for argument in config.args):
        return
    attacks = [item for item in items if item.get_closest_marker("attack")]
    if attacks:
        config.hook.pytest_deselected(items=attacks)
        items[:] = [item for item in items if not item.get_closest_marker("attack")]


def pytest_terminal_summary(terminalreporter):
    """Say loudly how much was not tested because data are not here."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple)]
    missing = [reason.partition(MISSING)[2] for reason in reasons if MISSING in reason]
    if missing:
        terminalreporter.section("TESTS WITHOUT THEIR DATA", red=True, bold=True)
        terminalreporter.line(
            f"{len(missing)} tests were skipped; {len(set(missing))} files are not here:"
        )
        for name in sorted(set(missing)):
            terminalreporter.line(f"  {name}")
