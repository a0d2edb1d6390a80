"""The memory of a fit: the cache budget, ten vectors of length n and the data, never more."""

import subprocess
import sys

import pytest

MEASURE = """
import gc, os, threading
import numpy as np
from mercer import SVC, SVR, OneClassSVM

CACHE, n, d = 64, 20_000, 20
random = np.random.default_rng(0)
X = random.normal(size=(n, d))
y = (X[:, 0] * X[:, 1] + 0.3 * random.normal(size=n) > 0).astype(int)

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

for machine in (SVC(), SVC("linear"), SVR(), OneClassSVM()):
    machine.set_params(cache_size=CACHE)
    machine.fit(X[:3000], y[:3000])  # compiled code and buffers of BLAS do not count
    gc.collect()
    before = peak = resident()
    done = threading.Event()

    def watch():
        global peak
        while not done.wait(0.002):
            peak = max(peak, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    machine.fit(X, y)
    done.set()
    watcher.join()
    vectors = 10 * 8 * n * (2 if isinstance(machine, SVR) else 1)
    print(type(machine).__name__, peak - before, CACHE * 2**20 + vectors + X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_memory_of_a_fit_is_bounded():
    # On a busy machine threads overlap in other ways, and the allocator keeps more: the lower of
    # two runs is what a fit needs.
    for (name, first, bound), (_, second, _) in zip(measured(), measured(), strict=True):
        used = min(first, second)
        assert used <= bound, f"{name} took {used >> 20} of {bound >> 20} MB"


def measured() -> list[tuple[str, int, int]]:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == 4
    return [(name, int(used), int(bound)) for name, used, bound in rows]
