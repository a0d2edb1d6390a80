"""One place for threads: how many there are, and how independent tasks run on them."""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import Context, ContextVar, copy_context
from functools import cache
from importlib import import_module
from pathlib import PurePath
from threading import Event, Lock, get_ident
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
        others: list[Future[None]] = []
        try:
            with suppress(RuntimeError):  # no room for another thread: those that are there do it
                for _ in range(threads - 1):
                    others.append(_pool().submit(self._run_tasks, context))
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
    with _hold(_limits):
        yield


@contextmanager
def one_scipy_thread() -> Iterator[None]:
    """Hold the BLAS that SciPy brings along to one thread; that of NumPy keeps its own.

    Threads of BLAS go on spinning for a while after each call. Where products of NumPy and factors
    of SciPy take turns, those of one library take the cores from the other: on two cores that is
    up to five times as slow. Where both have the same library, nothing is held.
    """
    with _hold(_limits[:1]):
        yield


@contextmanager
def _hold(limits: Sequence[_SharedLimit]) -> Iterator[None]:
    user = object()
    try:
        for limit in limits:
            limit.enter(user)
        yield
    finally:
        try:
            _leave(limits, user)
        except BaseException:  # Ctrl-C; to leave twice does no harm
            _leave(limits, user)
            raise


def _leave(limits: Sequence[_SharedLimit], user: object) -> None:
    for limit in limits:
        limit.leave(user)


class _SharedLimit:
    """A limit, who uses it, and what was before. Ctrl-C at any moment loses none of it.

    It is for the libraries that SciPy brings along, or for all others.
    """

    def __init__(self, of_scipy: bool) -> None:
        self.of_scipy = of_scipy
        self.lock = Lock()
        self.users: dict[object, int] = {}
        """The users, and the thread of each."""
        self.before: list[tuple[Any, int]] | None = None
        """The libraries with their numbers of threads while these are not what they were."""

    def enter(self, user: object) -> None:
        with self.lock:
            if not self.users:
                self._set()
            self.users[user] = get_ident()

    def leave(self, user: object) -> None:
        with self.lock:
            self.users.pop(user, None)
            if not self.users:
                self._lift()

    def after_fork(self) -> None:
        """Forget the users on threads that the child does not have."""
        self.lock, here = Lock(), get_ident()
        self.users = {user: thread for user, thread in self.users.items() if thread == here}
        if not self.users:
            self._lift()

    def _set(self) -> None:
        if self.before is None:
            self.before = [(library, library.num_threads) for library in _libraries(self.of_scipy)]
        _let_any_thread_limit()
        for library, _ in self.before:
            library.set_num_threads(1)

    def _lift(self) -> None:
        if self.before is None:
            return
        _let_any_thread_limit()
        for library, count in self.before:
            library.set_num_threads(count)
        _let_any_thread_limit()
        self.before = None


@cache
def _libraries(of_scipy: bool) -> list[Any]:
    return [
        library
        for library in _controller().lib_controllers
        if library.user_api == "blas" and _is_of_scipy(library.filepath) == of_scipy
    ]


def _is_of_scipy(library: str) -> bool:
    """Tell whether a library lies where SciPy's wheels put theirs: scipy.libs, or scipy/.dylibs."""
    return not {"scipy", "scipy.libs"}.isdisjoint(PurePath(library).parts[-3:-1])


_limits = (_SharedLimit(of_scipy=True), _SharedLimit(of_scipy=False))
if hasattr(os, "register_at_fork"):
    for _limit in _limits:
        os.register_at_fork(after_in_child=_limit.after_fork)


def _let_any_thread_limit() -> None:
    """Undo that OpenBLAS obeys only the thread that set its limit first (recent threadpoolctl).

    Our first and our last caller are often different threads; a limit that the last one could not
    lift would stay for good.
    """
    for library in _controller().lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)


def openmp_after_fork() -> AbstractContextManager[object]:
    """Hold OpenMP to this thread in a forked child, where it would wait for threads of the parent.

    GNU's OpenMP keeps a pool for each thread that ever used it. The thread that forked has one in
    the child too, but nobody works there.
    """
    if not _forked:
        return nullcontext()
    limit: AbstractContextManager[object] = ThreadpoolController().limit(
        limits=1, user_api="openmp"
    )
    return limit


_forked: list[int] = []
"""The process itself, where it is the child of a fork."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forked.append(os.getpid()))


@cache
def _controller() -> ThreadpoolController:
    # Only libraries that are loaded by now are found; all who factor matrices load this one.
    import_module("scipy.linalg")
    return ThreadpoolController()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
