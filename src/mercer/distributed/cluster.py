"""The little that mercer asks of Dask: work on pieces, their sums, and answers in bounded time."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import reduce
from threading import Event
from typing import Any, TypeAlias

import dask
from dask.utils import parse_timedelta
from distributed import Client, Future, default_client
from distributed.scheduler import KilledWorker

from mercer._typing import Parameter
from mercer.exceptions import ClusterFailure

Task: TypeAlias = Any
"""A ``distributed.Future``: something that is on a worker, or will be."""
_current: Any = default_client
_WIDTH = 8
"""How many partial sums one task adds."""
_LOOK = 0.5
"""Seconds between two looks whether there are workers at all."""
_PATIENCE = 30.0
"""Seconds to wait for workers where the settings of Dask name no time."""
_START = 10.0
"""Seconds that a new cluster has for its first worker."""


class Cluster:
    """A Dask client, of which every answer comes in bounded time or as an error.

    All work is tasks whose inputs are tasks: whatever was on a worker that is lost, Dask computes
    again elsewhere. Nothing is scattered, because scattered data could not be.

    Parameters
    ----------
    client : distributed.Client, optional
        The current one by default.
    """

    def __init__(self, client: Client = None) -> None:
        if client is None:
            try:
                client = _current()
            except ValueError:
                raise ClusterFailure(
                    "There is no Dask client. Make one, client = distributed.Client(...), or pass "
                    "client=."
                ) from None
        if not isinstance(client, Client) or client.asynchronous:
            raise ClusterFailure(
                f"client={client!r} has to be a distributed.Client that is not asynchronous."
            )
        self.client: Any = client
        self._require_workers()

    def put(self, value: Parameter) -> Any:
        """Return a task whose result is a value of moderate size, for many other tasks to use."""
        return self.submit(_same, value)

    def submit(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return a task."""
        with self._any_size():
            return self.client.submit(function, *args, pure=False)

    def map(
        self, function: Callable[..., Any], pieces: Sequence[Any], *others: Sequence[Any]
    ) -> list[Any]:
        """Return one task for each piece; ``others`` have one more argument for each."""
        with self._any_size():
            futures: list[Any] = self.client.map(function, pieces, *others, pure=False)
        return futures

    def total(self, parts: Sequence[Any]) -> Any:
        """Return a task that adds parts in a fixed order, whoever is ready first."""
        parts = list(parts)
        while len(parts) > 1:
            groups = [parts[s : s + _WIDTH] for s in range(0, len(parts), _WIDTH)]
            parts = [self.submit(_sum, group) if len(group) > 1 else group[0] for group in groups]
        return parts[0]

    def fetch(self, future: Any, ends: Callable[[], float] = lambda: math.inf) -> Any:
        """Return the result of a task, or of a list of tasks.

        Raise TimeoutError where there is none when ``time.perf_counter`` reaches ``ends()``.
        """
        if not isinstance(future, Future):
            future = self.submit(_same, list(future))
        done = Event()
        future.add_done_callback(lambda _: done.set())
        alive = time.monotonic()
        try:
            while True:
                if done.wait(_LOOK):
                    try:
                        return future.result(timeout=_PATIENCE)
                    except TimeoutError:
                        if future.status == "error":
                            raise
                if time.perf_counter() > ends():
                    raise TimeoutError
                if self._workers():
                    alive = time.monotonic()
                elif time.monotonic() - alive > _patience():
                    raise ClusterFailure(
                        f"All workers of {_place(self.client)} are gone, and none came back in "
                        f"{_patience():g} s. Start workers and call again; see their logs for why "
                        "they ended."
                    )
        except KilledWorker as error:
            raise ClusterFailure(
                f"Several workers died one after the other at the same piece of work ({error.task})"
                ". Most often it does not fit their memory: use smaller chunks, fewer threads for "
                "each worker, or workers with more memory."
            ) from error
        except (CancelledError, OSError) as error:
            if self.client.status != "running" or isinstance(error, CancelledError):
                raise ClusterFailure(
                    f"The scheduler at {_place(self.client)} does not answer, or has dropped the "
                    "work. Start the cluster again, make a new client, and call again."
                ) from error
            raise

    def threads(self) -> int:
        """Return how many tasks can run at a time, 1 at least."""
        return max(1, sum(self._workers().values()))

    def _workers(self) -> dict[str, int]:
        if self.client.scheduler is None or self.client.status not in ("running", "connecting"):
            raise OSError("the client is closed")
        return dict(self.client.nthreads())

    def _require_workers(self) -> None:
        """Wait a moment for the workers of a cluster that has only just begun."""
        ends = time.monotonic() + min(_START, _patience())
        try:
            while not self._workers():
                if time.monotonic() > ends:
                    raise ClusterFailure(
                        f"The cluster at {_place(self.client)} has no workers. Start some, or "
                        "wait for them: client.wait_for_workers(1)."
                    )
                time.sleep(0.1)
        except ClusterFailure:
            raise
        except (OSError, RuntimeError) as error:
            raise ClusterFailure(
                f"The scheduler at {_place(self.client)} does not answer. Start the cluster and "
                "make a new client."
            ) from error

    @contextmanager
    def _any_size(self) -> Iterator[None]:
        """Submit without Dask's warning of large arguments: M × M numbers have to travel once."""
        with (
            self.client.as_current(),
            dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}),
        ):
            yield


def _patience() -> float:
    """Return for how many seconds there may be no worker, as Dask's own setting says."""
    given = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    return _PATIENCE if given is None else float(parse_timedelta(given))


def _place(client: Client) -> str:
    return str(client.scheduler.address if client.scheduler is not None else "an unknown address")


def _same(value: Parameter) -> Any:
    return value


def _sum(parts: list[Any]) -> Any:
    return reduce(operator.add, parts)
