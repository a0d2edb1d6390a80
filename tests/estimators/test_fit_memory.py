"""The memory of a fit: the cache budget, ten vectors of length n and the data, never more."""

import os
import subprocess
import sys

import pytest

MEASURE = """
import gc, sys
import numpy as np
from mercer import SVC, SVR, OneClassSVM

CACHE, n, d = 64, 20_000, 20
random = np.random.default_rng(0)
X = random.normal(size=(n, d))
y = (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n) > 0).astype(int)

def status(name):
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024

machine = eval(sys.argv[1])
machine.set_params(cache_size=CACHE)
machine.fit(X[:3000], y[:3000])  # compiled code and buffers of BLAS do not count
gc.collect()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak starts anew
before = status("VmRSS")
machine.fit(X, y)
vectors = 10 * 8 * n * (2 if isinstance(machine, SVR) else 1)
print(status("VmHWM") - before, CACHE * 2**20 + vectors + X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("machine", ["SVC()", "SVC('linear')", "SVR()", "OneClassSVM()"])
def test_the_memory_of_a_fit_is_bounded(machine):
    # On a busy machine the allocator keeps more now and then: the lowest of a few runs counts.
    runs = []
    for _ in range(3):
        used, bound = measured(machine)
        runs.append(used)
        if used <= bound:
            return
    pytest.fail(f"{[used >> 20 for used in runs]} MB were taken of {bound >> 20}")


def measured(machine: str) -> tuple[int, int]:
    command = [sys.executable, "-c", MEASURE, machine]
    # Dask changes the allocator for its workers, in the environment of whoever starts them.
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=ours
    )
    assert done.returncode == 0, done.stderr
    used, bound = done.stdout.split()
    return int(used), int(bound)
