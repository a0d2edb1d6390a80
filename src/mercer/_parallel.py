"""One place for threads: how many there are, and how independent tasks run on them."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from threading import Lock
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
    if threads < 1:
        raise InvalidParameter(f"threads={threads}: at least one thread is needed.")
    return threads


def run(task: Callable[[Any], None], items: Iterable[Any], threads: int) -> None:
    """Call ``task`` on every item, on several threads, each of which has a BLAS of one thread.

    The first error stops the tasks that have not begun and is raised here.
    """
    work = list(items)
    threads = min(threads, len(work))
    if threads <= 1:
        for item in work:
            task(item)
        return
    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        context = copy_context()
        futures = [pool.submit(context.copy().run, task, item) for item in work]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that our own threads do not compete with its threads.

    The limit belongs to the whole process: callers on several threads share one, the first sets
    it and the last one lifts it.
    """
    with _limit.lock:
        _limit.users += 1
        if _limit.users == 1:
            _limit.held = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _limit.lock:
            _limit.users -= 1
            if _limit.users == 0:
                _limit.held.restore_original_limits()


class _SharedLimit:
    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.held: Any = None


_limit = _SharedLimit()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
