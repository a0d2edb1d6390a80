"""Sizes beyond 32 bits, memory that is told before it is taken, and peaks near the budget."""

import json
import os
import subprocess
import sys
import textwrap
import tracemalloc

import numpy as np
import pytest

from mercer import RBF, Centring, Gram, Linear
from mercer.exceptions import NotEnoughMemory
from tests.gram.cases import vectors

HUGE = 100_000


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: 3 * 10**9)


def test_a_huge_gram_matrix_can_be_made_and_asked(little_memory):
    X = vectors(HUGE, 2)
    gram = Gram(RBF(gamma=0.5), X, cache_bytes=10**7, statistic_bytes=10**9)
    assert gram.shape == (HUGE, HUGE)
    rows = gram.rows([0, 50_000, -1])
    assert rows.shape == (3, HUGE)
    for row, at in zip(rows, (0, 50_000, HUGE - 1), strict=True):
        expected = np.exp(-0.5 * ((X - X[at]) ** 2).sum(axis=1))
        np.testing.assert_allclose(row, expected, rtol=1e-8)
    assert gram.cache.capacity == 12
    assert gram.diag().shape == (HUGE,)
    part = gram.take([5, 99_999])
    np.testing.assert_allclose(part.dense()[0, 1], gram.rows([5])[0, 99_999], rtol=1e-12)
    assert gram.take([5, 7], slice(None)).shape == (2, HUGE)


def test_a_matrix_that_does_not_fit_is_refused(little_memory, monkeypatch):
    X = vectors(HUGE, 2)
    gram = Gram(RBF(gamma=0.5), X)
    allocated = []
    empty = np.empty
    monkeypatch.setattr(
        np, "empty", lambda *args, **kwargs: allocated.append(args) or empty(*args, **kwargs)
    )
    tracemalloc.start()
    try:
        with pytest.raises(NotEnoughMemory) as caught:
            gram.dense()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert allocated == []
    assert peak < 10**6
    message = str(caught.value)
    for words in ("100,000 × 100,000", "float64", "80.0 GB", "3.0 GB", "gram @ v", "gram.rows"):
        assert words in message
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(NotEnoughMemory, match=r"float32 needs 40\.0 GB"):
        gram.dense("float32")
    with pytest.raises(NotEnoughMemory, match=r"100,000 × 100,000 kernel values.*80\.0 GB.*Gram"):
        RBF(gamma=0.5)(X)
    with pytest.raises(NotEnoughMemory, match=r"80\.0 GB"):
        RBF(gamma=0.5).distance(X)
    with pytest.raises(NotEnoughMemory, match=r"80\.0 GB"):
        next(RBF(gamma=0.5).gradients(X))
    # What fits is not refused.
    assert gram.take(slice(0, 100)).dense().shape == (100, 100)


def test_a_centred_matrix_that_does_not_fit_is_refused(little_memory):
    gram = Gram(Linear(), vectors(20_000, 1))
    centred = Centring.fit(gram).apply(gram)
    with pytest.raises(NotEnoughMemory, match=r"20,000 × 20,000.*3\.2 GB"):
        centred.dense()
    assert centred.rows([1]).shape == (1, 20_000)


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr("mercer._memory.available_bytes", lambda: None)
    assert Gram(RBF(gamma=0.5), vectors(50)).dense().shape == (50, 50)


_MEASURE = """
    import json
    import numpy as np
    from mercer import RBF, Gram, Laplacian, Linear

    def kilobytes(field):
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith(field))

    X = np.random.default_rng(0).normal(size=({n}, 10)).astype("{dtype}")
    v = np.ones({n}, dtype=X.dtype)
    kernel = {kernel}

    def job(X, v):
        {job}

    job(X[:700], v[:700])  # compiles, starts threads
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # forget the peak so far
    before = kilobytes("VmRSS")
    result = job(X, v)
    print(json.dumps((kilobytes("VmHWM") - before) * 1024))
"""


def grown_bytes(job, n, kernel, dtype="float64"):
    """Return by how much the peak memory of a fresh process grows during a job."""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    code = textwrap.dedent(_MEASURE).format(job=job, n=n, kernel=kernel, dtype=dtype)
    environment = os.environ | {"MERCER_THREADS": "2"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    return json.loads(run.stdout)


COMPOSITE = "(Linear() * RBF(0.1) + Laplacian(0.2)).normalized()"


@pytest.mark.parametrize(("kernel", "n"), [("RBF(0.1)", 20_000), (COMPOSITE, 8_000)])
def test_products_need_little_memory(kernel, n):
    grown = grown_bytes("return Gram(kernel, X) @ v", n, kernel)
    assert 0 < grown < min(300e6, 0.3 * n * n * 8)


@pytest.mark.parametrize(
    ("kernel", "dtype"), [("RBF(0.1)", "float64"), ("RBF(0.1)", "float32"), (COMPOSITE, "float64")]
)
def test_a_matrix_needs_little_more_than_itself(kernel, dtype):
    size = 4000 * 4000 * np.dtype(dtype).itemsize
    grown = grown_bytes("return kernel(X)", 4000, kernel, dtype)
    assert 0.9 * size < grown <= 1.25 * size


def test_parts_of_a_grid_stay_in_the_budget():
    """Twenty widths share one matrix of distances; each result goes before the next comes."""
    job = (
        "gram = Gram(kernel, X, statistic_bytes=2 * 8 * len(X) ** 2); "
        "return [float(gram.with_kernel(RBF(g)).dense().sum()) for g in np.logspace(-2, 1, 20)]"
    )
    one = 3000 * 3000 * 8
    assert 1.9 * one <= grown_bytes(job, 3000, "RBF(0.1)") <= 2.3 * one
