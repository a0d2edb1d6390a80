"""One place for threads: how many there are, and how independent tasks run on them."""

import numbers
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache
from threading import Event, Lock
from typing import Any

from threadpoolctl import ThreadpoolController

from mercer.exceptions import InvalidParameter


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads to use: ``threads``, else ``MERCER_THREADS``, else the cores."""
    if threads is None:
        asked = os.environ.get("MERCER_THREADS", "")
        if not asked:
            return _cores()
        if not asked.isdecimal():
            raise InvalidParameter(
                f"MERCER_THREADS={asked!r} is not a number; set it to 1 or more, or unset it."
            )
        threads = int(asked)
    if not isinstance(threads, numbers.Integral) or threads < 1:
        raise InvalidParameter(f"threads={threads!r} has to be a whole number, 1 or more.")
    return int(threads)


def run(task: Callable[[Any], None], items: Iterable[Any], threads: int) -> None:
    """Call ``task`` on every item, on several threads, each of which has a BLAS of one thread.

    The calling thread works too. The first error, or Ctrl-C, is raised here: tasks that have not
    begun never do, and those that run end at their next ``check_stopped()``. A ``run`` inside a
    task of another one works on its own thread alone.
    """
    work = list(items)
    threads = 1 if _stop.get() is not None else min(threads, len(work))
    with one_blas_thread():
        if threads <= 1:
            for item in work:
                task(item)
        else:
            _Crew(task, work).work(threads)


class _Crew:
    """Threads that share a list of items."""

    def __init__(self, task: Callable[[Any], None], items: list[Any]) -> None:
        self._task = task
        self._items = iter(items)  # next() of it is atomic
        self._stop, self._lock = Event(), Lock()
        self._error: BaseException | None = None

    def work(self, threads: int) -> None:
        context = copy_context()
        context.run(_stop.set, self._stop)
        others = [_pool().submit(self._run_tasks, context) for _ in range(threads - 1)]
        try:
            self._run_tasks(context)
            wait(others)
        except BaseException:
            self._stop.set()
            wait(others)
            raise
        if self._error is not None:
            raise self._error

    def _run_tasks(self, context: Context) -> None:
        for item in self._items:
            if self._stop.is_set():
                return
            try:
                context.copy().run(self._task, item)
            except BaseException as error:
                with self._lock:
                    if self._error is None:
                        self._error = error
                self._stop.set()
                return


@cache
def _pool() -> ThreadPoolExecutor:
    """Return the one pool of threads of this process; threads start when they are first needed."""
    return ThreadPoolExecutor(64, thread_name_prefix="mercer")


# A forked child has no threads, so it starts with a pool of its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)


def check_stopped() -> None:
    """End a long task of ``run`` whose result nobody waits for any more."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise CancelledError


_stop: ContextVar[Event | None] = ContextVar("stop", default=None)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that our own threads do not compete with its threads.

    The limit belongs to the whole process: callers on several threads share one, the first sets
    it and the last one lifts it.
    """
    with _limit.lock:
        _limit.users += 1
        if _limit.users == 1:
            _let_any_thread_limit()
            _limit.held = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0:
                _let_any_thread_limit()
                _limit.held.restore_original_limits()
                _let_any_thread_limit()


class _SharedLimit:
    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.held: Any = None


_limit = _SharedLimit()


def _let_any_thread_limit() -> None:
    """Undo that OpenBLAS obeys only the thread that set its limit first (recent threadpoolctl).

    Our first and our last caller are often different threads; a limit that the last one could not
    lift would stay for good.
    """
    for library in _controller().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
