"""The steps from a plan to a judged model: search, fit, references, test, report."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from mercer import _parallel
from mercer._interrupts import finishing
from mercer._typing import Model, Parameter
from mercer.kernels.expression import format_kernel
from mercer.report.gather import describe
from mercer.report.main_score import leading
from mercer.study.costs import class_costs, costs_in_words
from mercer.study.cross_validation import judge_by_folds
from mercer.study.nonconformity import answers_to, in_words, scores_of, with_promise
from mercer.study.plan import Plan, check_time_limit
from mercer.study.references import NO_TIME, usual_methods
from mercer.study.searching import final_model, last_step, search_machine, why_stopped
from mercer.study.suspicions import suspicions
from mercer.study.watching import Stage, Watch, as_part, noted

_SMALL = 2_500
"""Rows up to which several threads of BLAS would mostly wait for each other; machines that are
fitted side by side use the cores. Measured at 1,100 and 2,400 rows on two busy cores."""


def carry_out(
    plan: Plan,
    *,
    time_limit: float | None = None,
    callback: Watch | None = None,
    score: str | None = None,
    positive: Parameter = None,
    cost: Mapping[Any, float] | None = None,
    stage: Stage = lambda words: None,
) -> dict[str, Any]:
    """Tune and fit on the training rows, judge on the test rows; return the parts of a study."""
    check_time_limit(time_limit)
    if cost and score is None and plan.table.task != "number":
        score = "auc"  # answers that cost least are wrong more often; the order is not touched
    small = len(plan.table) <= _SMALL
    with _parallel.one_blas_thread() if small else nullcontext():
        return _carry_out(plan, time_limit, callback, score, positive, cost, stage)


def _carry_out(
    plan: Plan,
    time_limit: float | None,
    callback: Watch | None,
    score: str | None,
    positive: Parameter,
    cost: Mapping[Any, float] | None,
    stage: Stage,
) -> dict[str, Any]:
    scoring = leading(plan.y[plan.train], plan.table.task != "number", score, positive)
    X, y = plan.rows(plan.train), plan.y[plan.train]
    notes = list(plan.notes)
    if plan.machine.row.unproven:
        notes.append(f"This fit has no certificate: {plan.machine.row.unproven}.")
    costs = class_costs(plan, cost)
    if costs is not None:
        notes.append(costs_in_words(costs))
    parts = 1 if len(plan.test) else plan.folds + 1
    with noted(notes):
        search = search_machine(
            plan, X, y, time_limit=None if time_limit is None else time_limit / parts,
            callback=as_part(callback, 0, parts), notes=notes, scoring=scoring, score=score,
            cost=costs,
        )  # fmt: skip
    stopped = why_stopped(search, plan.began, time_limit)
    with finishing(), noted(notes):
        stage("fitting")
        model = final_model(search, X, y, plan, stopped, time_limit)
        if len(plan.test):
            stage("usual methods")
            tested, left_out = plan.test, None
            beside = usual_methods(plan, X, y, stopped, time_limit, notes)
    if not len(plan.test):
        stage("judging by folds")
        tested = plan.train
        left_out, beside = judge_by_folds(
            plan, time_limit=time_limit, callback=callback, scoring=scoring, score=score,
            cost=costs, notes=notes,
        )  # fmt: skip
    with finishing():
        stage("explaining")
        doubts = suspicions(plan.table, plan.chosen_rows)
        doubts += [NO_TIME] * (NO_TIME in notes)
        machine = last_step(model)
        kernel = _kernel_in_words(machine, plan)
        seconds = time.perf_counter() - plan.began
        names = _row_names(plan)
        record = describe(
            model,
            X,
            y,
            plan.rows(tested),
            plan.y[tested],
            search=search,
            name=Path(plan.table.source).name,
            target=plan.table.target_name or "",
            task=plan.table.task,
            kernel_reasons=[*plan.reasons, f"Machine: {plan.why}."],
            seconds=seconds,
            random_state=plan.random_state,
            notes=notes,
            train_rows=[names[i] for i in plan.train],
            test_rows=[names[i] for i in tested],
            references=beside,
            suspicions=doubts,
            score=score,
            positive=positive,
            left_out=left_out,
            effort=plan.effort(time_limit),
        )
        said = answers_to(model, plan.rows(tested)) if left_out is None else left_out.said
        classes = getattr(model, "classes_", None)
        unlikely = scores_of(said, plan.y[tested], classes)
        record = with_promise(record, in_words(said, unlikely))
    return {
        "model": model,
        "schema": plan.prepared.schema,
        "source": plan.table.source,
        "kernel": kernel,
        "reasons": plan.reasons,
        "machine": plan.machine.name,
        "why": plan.why,
        "parameters": {
            k.removeprefix("machine__"): _plain(v) for k, v in search.best_params_.items()
        },
        "notes": tuple(dict.fromkeys([*doubts, *notes])),
        "stopped": stopped,
        "rows": len(plan.table),
        "train_rows": plan.train,
        "identifiers": plan.identifiers,
        "random_state": plan.random_state,
        "seconds": time.perf_counter() - plan.began,
        "record": record,
        "search": search,
        "nonconformity": unlikely,
    }


def _kernel_in_words(machine: Model, plan: Plan) -> str:
    """Return the kernel of a machine as text; that of the first member of a vote."""
    if hasattr(machine, "leaderboard_"):
        return str(machine.leaderboard_[0]["kernel"])
    if hasattr(machine, "kernel_"):
        return format_kernel(machine.kernel_)
    return plan.machine.plain_kernel


def _row_names(plan: Plan) -> list[Any]:
    """Return what rows are called: by a column that tells them apart, or by their number."""
    if plan.identifiers:
        values: list[Any] = plan.table.frame[plan.identifiers[0]].to_pylist()
        return values
    return list(range(1, len(plan.table) + 1))


def _plain(value: Parameter) -> Any:
    return value.item() if isinstance(value, np.generic) else value
