"""What a measurement depends on: thread counts, versions, the machine."""

import os
import platform
from datetime import date
from importlib import metadata

_THREAD_VARIABLES = (
    "MERCER_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_PACKAGES = (
    "mercer",
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "celer",
    "skglm",
    "gpytorch",
)


def limit_threads(count: int) -> None:
    """Hold every library that is imported later, here and in child processes, to ``count``."""
    for variable in _THREAD_VARIABLES:
        os.environ[variable] = str(count)


def describe() -> dict[str, object]:
    """Return the date, the machine, the versions and the thread counts in use."""
    from threadpoolctl import threadpool_info

    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return {
        "date": date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": versions,
        "threads": int(os.environ[_THREAD_VARIABLES[0]]),
        "thread pools": sorted(
            {f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()}
        ),
    }
