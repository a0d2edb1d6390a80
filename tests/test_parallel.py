"""One place for threads."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import CancelledError

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (its BLAS is counted)
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from mercer import _parallel
from mercer.exceptions import InvalidParameter


def blas_threads():
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def threads_of(wheel):
    """The numbers of threads of the libraries that a wheel brings along."""
    return {
        lib["num_threads"]
        for lib in threadpool_info()
        if lib["user_api"] == "blas" and f"{os.sep}{wheel}." in lib["filepath"]
    }


TWO_LIBRARIES = pytest.mark.skipif(
    not (threads_of("numpy") and threads_of("scipy")), reason="NumPy and SciPy share one BLAS"
)
HOLDS = pytest.mark.parametrize(
    "hold",
    [_parallel.one_blas_thread, pytest.param(_parallel.one_scipy_thread, marks=TWO_LIBRARIES)],
)


@pytest.fixture(autouse=True)
def two_blas_threads():
    """Start with two BLAS threads, and see that they are back at the end of each test."""
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield
        assert blas_threads() == {2}


def test_the_number_of_threads(monkeypatch):
    monkeypatch.delenv("MERCER_THREADS", raising=False)
    cores = _parallel.thread_count()
    assert 1 <= cores <= os.cpu_count()
    assert _parallel.thread_count(3) == 3
    assert _parallel.thread_count(np.int64(3)) == 3
    monkeypatch.setenv("MERCER_THREADS", "5")
    assert _parallel.thread_count() == 5
    assert _parallel.thread_count(3) == 3
    monkeypatch.setenv("MERCER_THREADS", "")
    assert _parallel.thread_count() == cores


def test_cores_without_affinity(monkeypatch):
    monkeypatch.delenv("MERCER_THREADS", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert _parallel.thread_count() == 7
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert _parallel.thread_count() == 1


@pytest.mark.parametrize("threads", [0, -1, 2.0, "2"])
def test_wrong_numbers_of_threads(threads):
    with pytest.raises(InvalidParameter, match="threads="):
        _parallel.thread_count(threads)


@pytest.mark.parametrize("text", ["two", "-1", "1.5", " "])
def test_wrong_environment(monkeypatch, text):
    monkeypatch.setenv("MERCER_THREADS", text)
    with pytest.raises(InvalidParameter, match=r"MERCER_THREADS=.*1 or more"):
        _parallel.thread_count()
    assert _parallel.thread_count(2) == 2
    monkeypatch.setenv("MERCER_THREADS", "0")
    with pytest.raises(InvalidParameter, match="1 or more"):
        _parallel.thread_count()


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_every_item_once(threads, count):
    seen, names = [], set()

    def task(item):
        seen.append(item)
        names.add(threading.current_thread().name)
        assert blas_threads() == {1}

    _parallel.run(task, iter(range(count)), threads)
    assert sorted(seen) == list(range(count))
    assert len(names) <= min(threads, max(count, 1))


def test_tasks_do_run_side_by_side():
    meeting = threading.Barrier(3, timeout=10)
    _parallel.run(lambda item: meeting.wait(), range(3), 3)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_the_first_error_arrives(threads):
    error, begun = LookupError("item 3"), []

    def task(item):
        begun.append(item)
        if item == 3:
            raise error
        time.sleep(0.002)

    with pytest.raises(LookupError) as caught:
        _parallel.run(task, range(1000), threads)
    assert caught.value is error
    assert len(begun) <= 4 + 4 * threads


def test_an_error_does_not_wait_for_a_long_task():
    """The failing task is not the first; the first ends as soon as it looks up."""
    stopped = []

    def task(item):
        if item == 1:
            raise LookupError
        start = time.perf_counter()
        try:
            while time.perf_counter() - start < 20:
                _parallel.check_stopped()
                time.sleep(0.001)
        except CancelledError:
            stopped.append(item)
            raise

    start = time.perf_counter()
    with pytest.raises(LookupError):
        _parallel.run(task, range(2), 2)
    assert time.perf_counter() - start < 5
    assert stopped == [0]
    _parallel.check_stopped()  # outside of tasks: nothing


def test_errstate_goes_along_and_does_not_come_back():
    def task(item):
        assert np.geterr()["divide"] == "raise"
        np.seterr(divide="ignore")

    with np.errstate(divide="raise"):
        _parallel.run(task, range(8), 2)
        assert np.geterr()["divide"] == "raise"


@pytest.mark.parametrize("threads", [1, 2])
def test_nested_runs(threads):
    seen = []

    def outer(i):
        _parallel.run(lambda j: seen.append((i, j)), range(3), threads)
        assert blas_threads() == {1}

    _parallel.run(outer, range(4), threads)
    assert sorted(seen) == [(i, j) for i in range(4) for j in range(3)]


@pytest.mark.parametrize("first_to_leave", ["first", "second"])
def test_the_limit_is_shared_between_callers(first_to_leave):
    """The first sets it and the last lifts it, on whatever threads, and both live on."""
    entered, left, seen = threading.Barrier(2), threading.Event(), {}
    done, end = threading.Barrier(3), threading.Event()
    order = threading.Event()

    def work(name):
        if name == "second":
            order.wait(10)
        with _parallel.one_blas_thread():
            order.set()
            entered.wait(10)
            if name != first_to_leave:
                left.wait(10)
                seen["while one still works"] = blas_threads()
        left.set()
        done.wait(10)
        end.wait(10)  # a thread that is alive may keep its hold on OpenBLAS

    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    done.wait(10)
    try:
        assert seen == {"while one still works": {1}}
        assert blas_threads() == {2}
        with threadpool_limits(1, user_api="blas"):  # other libraries can set limits again
            assert blas_threads() == {1}
        assert blas_threads() == {2}
    finally:
        end.set()
        for thread in threads:
            thread.join(10)


def test_the_limit_is_lifted_after_errors():
    def fail(error):
        with _parallel.one_blas_thread():
            assert blas_threads() == {1}
            raise error

    def fail_twice():
        with _parallel.one_blas_thread():
            with pytest.raises(LookupError):
                fail(LookupError)
            assert blas_threads() == {1}
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_twice()
    assert blas_threads() == {2}


@TWO_LIBRARIES
def test_numpy_keeps_its_threads_where_scipy_has_one():
    with _parallel.one_scipy_thread():
        assert threads_of("numpy") == {2}
        assert threads_of("scipy") == {1}
        with _parallel.one_blas_thread():
            assert blas_threads() == {1}
        assert threads_of("numpy") == {2}
        assert threads_of("scipy") == {1}
    with _parallel.one_blas_thread(), _parallel.one_scipy_thread():
        assert blas_threads() == {1}


@TWO_LIBRARIES
def test_both_limits_may_end_in_the_order_that_they_began():
    """As they do on two threads."""
    for first, second in [(0, 1), (1, 0)]:
        holds = [_parallel.one_blas_thread(), _parallel.one_scipy_thread()]
        holds[first].__enter__()
        holds[second].__enter__()
        assert blas_threads() == {1}
        holds[first].__exit__(None, None, None)
        assert threads_of("scipy") == {1}
        assert threads_of("numpy") == ({2} if first == 0 else {1})
        holds[second].__exit__(None, None, None)
        assert blas_threads() == {2}


@TWO_LIBRARIES
def test_the_library_of_scipy_is_held_though_nobody_loaded_it_before():
    code = """
        from threadpoolctl import ThreadpoolController
        from mercer import _parallel
        with _parallel.one_blas_thread():
            import scipy.linalg
            libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            assert [library.num_threads for library in libraries] == [1, 1]
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("library", "of_scipy"),
    [
        ("/env/scipy.libs/libscipy_openblas-1.so", True),
        ("/env/scipy/.dylibs/libscipy_openblas.dylib", True),
        ("/env/numpy.libs/libscipy_openblas64_-1.so", False),
        ("/home/scipy/env/lib/site-packages/numpy.libs/libscipy_openblas64_-1.so", False),
        ("/usr/lib/libopenblas.so", False),
    ],
)
def test_which_libraries_are_those_of_scipy(library, of_scipy):
    assert _parallel._is_of_scipy(library) == of_scipy


FILES = ("_parallel.py", "threadpoolctl.py", "contextlib.py")


class _InterruptAt:
    """Press Ctrl-C at a call in the files that set a limit."""

    def __init__(self, number):
        self.number, self.calls = number, 0

    def __enter__(self):
        sys.setprofile(self._count)
        return self

    def __exit__(self, *exc):
        sys.setprofile(None)

    def _count(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.endswith(FILES):
            self.calls += 1
            if self.calls == self.number:
                raise KeyboardInterrupt


@HOLDS
def test_an_interrupt_loses_no_count_of_the_limit(hold):
    """Whenever it comes: while the limit is set, held or lifted."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers

    def hold_once():
        with hold():
            return

    with _InterruptAt(0) as counted:
        hold_once()
    assert counted.calls > 10
    for number in range(1, counted.calls + 1):
        with pytest.raises(KeyboardInterrupt), _InterruptAt(number):
            hold_once()
        assert not any(limit.users for limit in _parallel._limits), number
        assert {library.num_threads for library in libraries} == {2}, number


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("forked_by", ["user", "another thread"])
@HOLDS
def test_a_forked_child_inherits_no_user_of_the_limit(hold, forked_by):
    held, end = threading.Event(), threading.Event()

    def hold_long():
        with hold():
            held.set()
            end.wait(20)

    other = threading.Thread(target=hold_long)
    if forked_by == "another thread":
        other.start()
        held.wait(20)
        child = os.fork()
    else:
        with hold():
            child = os.fork()
    if child == 0:  # where assertions would be lost
        usual = not any(limit.users for limit in _parallel._limits) and blas_threads() == {2}
        with _parallel.one_blas_thread():
            limited = blas_threads() == {1}
        os._exit(0 if usual and limited and blas_threads() == {2} else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end.set()
    if forked_by == "another thread":
        other.join(20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_has_threads_of_its_own():
    """The threads of the parent are not there in the child; it must not wait for them."""
    code = """
        import os, sys, time
        import numpy as np
        from mercer import Gram, RBF

        X = np.random.default_rng(0).normal(size=(600, 3))
        expected = Gram(RBF(0.3), X, threads=2).dense()
        child = os.fork()
        if child == 0:
            same = np.array_equal(Gram(RBF(0.3), X, threads=2).dense(), expected)
            os._exit(0 if same else 3)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                sys.exit(os.waitstatus_to_exitcode(status))
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        sys.exit("the child hangs")
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 0, run.stderr
