"""Any number of threads gives one answer; errors and interrupts leave nothing behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import RBF, FunctionKernel, Gram, Laplacian, Linear, Matern, Polynomial
from mercer.exceptions import NumericalOverflow
from tests.gram.cases import vectors

KERNELS = (
    RBF(gamma=0.3),
    Laplacian(0.2),
    (Linear() * RBF(gamma=0.1) + Matern(nu=1.5, sigma=1.0)).normalized(),
)


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture
def two_blas_threads():
    """Start with two BLAS threads, and see that they are back at the end."""
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert before
        assert set(before) == {2}
        yield
        assert blas_threads() == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.usefixtures("two_blas_threads")
def test_any_thread_count_gives_the_same_answer(kernel, dtype):
    X, Y = vectors(1100, dtype=dtype), vectors(700, seed=1, dtype=dtype)
    V = np.random.default_rng(0).normal(size=(1100, 2)).astype(dtype)
    rows = np.arange(0, 1100, 3)
    answers = []
    for threads in (1, 2, 8):
        gram, wide = Gram(kernel, X, threads=threads), Gram(kernel, X, Y, threads=threads)
        answers.append((gram.dense(), wide.dense(), gram @ V, wide @ V[:700], gram.rows(rows)))
    for other in answers[1:]:
        # Tiles of rectangles depend on the number of threads, and BLAS rounds by the tile.
        tolerance = 1e-5 if dtype == np.float32 else 1e-13
        for one, two in zip(answers[0], other, strict=True):
            assert_allclose(two, one, rtol=tolerance, atol=tolerance * np.abs(one).max())
        # Those of squares do not: the same bits.
        assert_array_equal(other[0], answers[0][0])
        assert_array_equal(other[2], answers[0][2])


def test_the_environment_sets_the_number(monkeypatch):
    seen = set()

    def compare(x, z):
        name = threading.current_thread().name
        if name not in seen:
            seen.add(name)
            together.wait(60)  # however busy the machine is: so many threads, no fewer and no more
        return np.zeros((len(x), len(z)))

    kernel = FunctionKernel(compare, vectorized=True)
    for count in (1, 3):
        seen.clear()
        together = threading.Barrier(count)
        monkeypatch.setenv("MERCER_THREADS", str(count))
        Gram(kernel, vectors(600)).dense()
        assert len(seen) == count
    seen.clear()
    together = threading.Barrier(2)
    Gram(kernel, vectors(600), threads=2).dense()  # the argument counts more
    assert len(seen) == 2


@pytest.mark.usefixtures("two_blas_threads")
def test_blas_has_one_thread_inside():
    seen = []

    def compare(x, z):
        seen.extend(blas_threads())
        return np.zeros((len(x), len(z)))

    gram = Gram(FunctionKernel(compare, vectorized=True), vectors(300), threads=2)
    gram.dense()
    gram @ np.ones(300)
    gram.rows([1, 2, 3])
    assert set(seen) == {1}


@pytest.mark.usefixtures("two_blas_threads")
def test_several_python_threads_at_once():
    X = vectors(700)
    kernel = (Linear() + RBF(gamma=0.2)).normalized() + Laplacian(0.1)
    gram = Gram(kernel, X, threads=2, statistic_bytes=10**8, cache_bytes=10**5)
    others = [Gram(RBF(gamma=w), X, threads=2) for w in (0.1, 0.5)]
    expected = [g.dense() for g in (Gram(kernel, X), *others)]
    wrong, failed = [], []

    def work(number):
        random = np.random.default_rng(number)
        try:
            for _ in range(4):
                which = random.integers(0, 3)
                one, K = (gram, *others)[which], expected[which]
                rows, v = random.integers(0, 700, 5), random.normal(size=700)
                good = [
                    np.allclose(one.dense(), K, rtol=1e-9, atol=1e-12),
                    np.allclose(one.rows(rows), K[rows], rtol=1e-9, atol=1e-12),
                    np.allclose(one @ v, K @ v, rtol=1e-9, atol=1e-9),
                    np.allclose(one.with_kernel(one.kernel).diag(), np.diagonal(K)),
                    np.allclose(one.take(rows).dense(), K[np.ix_(rows, rows)], atol=1e-12),
                ]
                if not all(good):
                    wrong.append((which, good))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed
    assert not wrong


@pytest.mark.usefixtures("two_blas_threads")
def test_a_gram_inside_a_kernel_of_another():
    inner = Gram(RBF(gamma=0.3), vectors(300), threads=2)
    K = inner.dense()

    def through(x, z):
        return (
            inner.take(x[:, 0].astype(int), z[:, 0].astype(int)).dense()
            + (inner @ np.zeros(300))[0]
        )

    numbers = np.arange(300.0)[:, None]
    outer = Gram(FunctionKernel(through, vectorized=True), numbers, threads=2)
    assert_allclose(outer.dense(), K, rtol=1e-12)


class Peculiar(Exception):
    """An error that no library raises."""


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("what", ["dense", "product", "rows", "wide"])
@pytest.mark.usefixtures("two_blas_threads")
def test_an_error_in_a_thread_arrives_unchanged_and_soon(threads, what):
    error, calls = Peculiar("the seventh block"), []

    def compare(x, z):
        calls.append(1)
        if len(calls) == 7:
            raise error
        time.sleep(0.002)
        return np.zeros((len(x), len(z)))

    X = vectors(6000, 1)
    kernel = FunctionKernel(compare, vectorized=True)
    gram = Gram(kernel, X, X.copy() if what == "wide" else None, threads=threads)
    ask = {
        "dense": gram.dense,
        "product": lambda: gram @ np.ones(6000),
        "rows": lambda: gram.rows(np.arange(4000)),
        "wide": lambda: gram @ np.ones(6000),
    }[what]
    with pytest.raises(Peculiar) as caught:
        ask()
    assert caught.value is error
    # The blocks in flight finish; the rest never starts.
    assert len(calls) <= 7 + 3 * threads


def test_overflow_in_a_thread():
    X = np.array(vectors(800))
    X[654] *= 1e40
    gram = Gram(Polynomial(9), X, threads=2)
    for ask in (gram.dense, lambda: gram @ np.ones(800), lambda: gram.rows([3, 654])):
        with pytest.raises(NumericalOverflow, match="Polynomial") as caught:
            ask()
        assert "654" in str(caught.value)
    with pytest.raises(NumericalOverflow, match="row 654"):
        gram.diag()


@pytest.mark.parametrize("threads", [1, 2])
def test_errstate_and_warnings_do_not_leak(threads):
    X = vectors(500)
    with np.errstate(all="raise"):
        # Values underflow here; that is no error of the user's.
        K = Gram(RBF(gamma=1e6) * Polynomial(2), X, threads=threads).dense()
        assert np.geterr() == dict.fromkeys(("divide", "over", "under", "invalid"), "raise")
    assert np.isfinite(K).all()
    before, filters = np.geterr(), list(warnings.filters)
    with pytest.raises(NumericalOverflow):
        Gram(Polynomial(30), X * 1e30, threads=threads).dense()
    Gram(Linear().normalized(), np.zeros((5, 2)), threads=threads).dense()
    assert np.geterr() == before
    assert warnings.filters == filters


def test_warnings_of_a_function_reach_the_caller():
    def compare(x, z):
        warnings.warn("careful", UserWarning, stacklevel=1)
        return np.zeros((len(x), len(z)))

    with pytest.warns(UserWarning, match="careful"):
        Gram(FunctionKernel(compare, vectorized=True), vectors(400), threads=2).dense()


def cpu_seconds(process):
    """Return what a running process has used of all cores."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the times of a process")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_ends_a_long_product_soon(threads):
    """Ctrl-C in the middle: the product ends, BLAS gets its threads back, and all still works."""
    code = f"""
        import sys, time
        import numpy as np
        from threadpoolctl import threadpool_info
        from mercer import Gram, Laplacian
        X = np.random.default_rng(0).normal(size=(60_000, 100))
        small = Gram(Laplacian(0.1), X[:300], threads={threads})
        expected = small.dense()
        blas = [lib["num_threads"] for lib in threadpool_info()]
        gram = Gram(Laplacian(0.1), X, threads={threads})
        print("go", flush=True)
        try:
            gram @ np.ones(60_000)
        except KeyboardInterrupt:
            assert np.array_equal(small.dense(), expected)
            assert gram.rows([5]).shape == (1, 60_000)
            assert [lib["num_threads"] for lib in threadpool_info()] == blas
            print("interrupted", flush=True)
        else:
            print("finished", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "go\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        before = cpu_seconds(process.pid)
        assert process.stdout.readline() == "interrupted\n"
        # Each thread ends the block that it is at; the machine may be busy with other things.
        assert cpu_seconds(process.pid) - before < 1.5 * threads
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
