"""Time that does not depend on what else a machine does, nor on what is compiled already."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event


class Stopwatch(event.Listener):
    """CPU seconds of this process, without those in which Numba compiled."""

    def __init__(self) -> None:
        self._began, self._compiled, self._depth, self._since = time.process_time(), 0.0, 0, 0.0

    def on_start(self, event: event.Event) -> None:
        if not self._depth:
            self._since = time.process_time()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if not self._depth:
            self._compiled += time.process_time() - self._since

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return time.process_time() - self._began - self._compiled


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Yield a watch that runs from here on."""
    watch = Stopwatch()
    with event.install_listener("numba:compile", watch):
        yield watch
