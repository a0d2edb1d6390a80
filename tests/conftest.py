import os

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

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
