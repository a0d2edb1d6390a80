"""Watching a fit: a live bar on request, and scikit-learn's experimental callbacks.

Only this module and that of searches know of ``sklearn.callback``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from sklearn import callback
from sklearn.callback import CallbackSupportMixin

from mercer._sklearn import callback_context, callbacks_of
from mercer._typing import Model, Objects, Targets

__all__ = ["CallbackSupportMixin", "Monitor", "watching", "with_callbacks"]

Monitor: TypeAlias = Callable[[float], bool]
"""Called with the violation after each round of a solver; the answer True asks it to stop."""

Fit = TypeVar("Fit", bound=Callable[..., Any])


def with_callbacks(fit: Fit) -> Fit:
    """Tear callbacks down when ``fit`` ends, however it ends."""
    return cast(Fit, callback.with_callbacks(fit))


@contextmanager
def watching(
    machine: Model, X: Objects, y: Targets, tol: float, verbose: bool
) -> Iterator[Monitor | None]:
    """Yield what a solver is to call after each round, or None where nobody watches."""
    callbacks = bool(callbacks_of(machine))
    if not callbacks and not verbose:
        yield None
        return
    context = callback_context(machine)
    context.call_on_fit_task_begin(estimator=machine, X=X, y=y)

    def tell_callbacks() -> bool:
        task = context.subcontext(task_name="round")
        task.call_on_fit_task_begin(estimator=machine, X=X, y=y)
        return bool(task.call_on_fit_task_end(estimator=machine, X=X, y=y))

    with _bar(type(machine).__name__, tol) if verbose else _no_bar() as show:

        def monitor(violation: float) -> bool:
            show(violation)
            return tell_callbacks() if callbacks else False

        yield monitor
    context.call_on_fit_task_end(estimator=machine, X=X, y=y)


@contextmanager
def _bar(name: str, tol: float) -> Iterator[Callable[[float], None]]:
    """Show how far the violation has come down to ``tol``, on a logarithmic scale."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("violation {task.fields[violation]:.2g}, to reach {task.fields[tol]:.2g}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=1.0, violation=math.inf, tol=tol)
        first = 0.0

        def show(violation: float) -> None:
            nonlocal first
            first = max(first, violation)
            span = math.log(max(first / tol, 1.0 + 1e-12))
            left = math.log(max(violation / tol, 1.0))
            progress.update(task, completed=1.0 - left / span, violation=violation)

        yield show
        progress.update(task, completed=1.0)


@contextmanager
def _no_bar() -> Iterator[Callable[[float], None]]:
    yield lambda violation: None
