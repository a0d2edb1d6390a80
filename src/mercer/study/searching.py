"""How the machine of a plan finds its parameters, and is fitted to all training rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._typing import Model, Objects, Targets
from mercer.estimators.base import take_objects
from mercer.report.main_score import BALANCED
from mercer.study.copies import folds_without_copies
from mercer.study.machines import MANY_ROWS
from mercer.study.parts import JOINED, best_of_parts
from mercer.study.plan import Plan
from mercer.study.split_rows import split
from mercer.study.vote import search_vote
from mercer.study.watching import Watch, as_part
from mercer.tuning.tune import tune

TUNED_ROWS = 5_000
"""Rows that a search looks at, at most; the machine that it chooses learns from all."""


def search_machine(
    plan: Plan,
    X: Objects,
    y: Targets,
    *,
    time_limit: float | None,
    callback: Watch | None,
    notes: list[str],
    scoring: str | None = None,
    score: str | None = None,
    cost: Mapping[Any, float] | None = None,
) -> Any:
    """Tune the machine of a plan on training rows, or on a sample of them if they are many."""
    classes = plan.table.task != "number"
    rows = plan.train
    if len(y) > TUNED_ROWS and not plan.machine.contends:
        _, some = split(y, classes, TUNED_ROWS / len(y), plan.random_state)
        X, y, rows = take_objects(X, some), y[some], rows[some]
        notes.append(f"Tuned on {len(y):,} of the training rows, then fitted to all of them.")
    spread = 1.0 if classes else float(np.std(y)) or 1.0
    machine = plan.machine.make(plan.kernel, spread, plan.random_state)
    if cost is not None:
        machine.set_params(class_weight=dict(cost))
    elif scoring in BALANCED and "class_weight" in machine.get_params(deep=False):
        # What ranks rows well may still never answer a rare class, unless its errors cost more.
        machine.set_params(class_weight="balanced")
        notes.append("Errors on rare classes cost more, in proportion to how rare they are.")
    if plan.machine.contends:
        return search_vote(
            machine, X, y, score=score, time_limit=plan.time_left(time_limit), callback=callback,
            groups=None if plan.groups is None else plan.groups[rows],
        )  # fmt: skip
    candidates = JOINED if plan.open_parts else 1

    def tuned(kernel: Any, number: int) -> Any:
        if plan.open_parts:
            machine.set_params(kernel=plan.machine.prior(kernel))
        return tune(
            clone(machine),
            X,
            y,
            grid=plan.machine.search(machine, X, spread),
            cv=folds_without_copies(plan, rows),
            scoring=scoring,
            time_limit=None if time_limit is None else time_limit / candidates,
            random_state=plan.random_state,
            callback=as_part(callback, number, candidates),
        )

    if not plan.open_parts or plan.kernel is None:
        return tuned(plan.kernel, 0)
    search, words = best_of_parts(plan.kernel, X, y, tuned)
    notes.append(words)
    return search


def final_model(
    search: Model, X: Objects, y: Targets, plan: Plan, stopped: str, time_limit: float | None
) -> Any:
    """Return the chosen machine, fitted to all training rows, with probabilities if it can."""
    best = search.best_estimator_
    if plan.machine.contends:
        return best
    parameters = last_step(best).get_params(deep=False)
    probable = "probability" in parameters and len(y) <= MANY_ROWS and not stopped
    if not probable and len(y) <= TUNED_ROWS:
        return best
    model = clone(best)
    machine = last_step(model)
    if probable:
        machine.set_params(probability=True)
    limited = time_limit is not None and "time_limit" in parameters
    if limited and time_limit is not None:
        left = time_limit - (time.perf_counter() - plan.began)
        machine.set_params(time_limit=max(left, time_limit / 4))
    model.fit(X, y)
    if limited:
        machine.set_params(time_limit=None)
    return model


def why_stopped(search: Model, began: float, time_limit: float | None) -> str:
    """Return why a search ended early; nothing where it did not."""
    if hasattr(search, "stopped"):
        return str(search.stopped)
    if not search.cv_results_["skipped"].any():
        return ""
    late = time_limit is not None and time.perf_counter() - began >= time_limit
    return "time limit" if late else "interrupted"


def last_step(model: Model) -> Any:
    """Return the machine at the end of a pipeline, or the machine itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
