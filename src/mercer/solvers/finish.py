"""SMO, and an interior-point method where pairwise steps get nowhere or cost more."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from mercer._typing import Array
from mercer.problems.qp import BoxQP
from mercer.solvers import smo
from mercer.solvers.interior import climb
from mercer.solvers.rows import Rows
from mercer.solvers.smo import Settings, violation_of
from mercer.solvers.solution import Solution

TURN = 200
"""Pairwise steps for each variable, after which they are seen to get nowhere."""


def solve(problem: BoxQP, gram: Rows, settings: Settings, start: Array | None = None) -> Solution:
    """Solve one problem; SMO has the first word where it is likely to be fast, and the last."""
    system = gram.system(settings.cache_bytes)
    if system is None or settings.max_iter >= 0:
        return smo.solve(problem, gram, settings, start)
    began = time.perf_counter()

    def out_of_time() -> bool:
        return time.perf_counter() - began > settings.time_limit

    def turn() -> Settings:
        left = max(settings.time_limit - (time.perf_counter() - began), 1e-3)
        return replace(settings, max_iter=TURN * len(problem), time_limit=left)

    answers: list[Solution] = []
    if start is not None or settings.pairwise_first or not system.at_once:
        answers.append(smo.solve(problem, gram, turn(), start))
        if answers[0].nonconvex or answers[0].status not in ("max_iter", "stalled"):
            return answers[0]
    try:
        beta = climb(problem, system, settings.tol, out_of_time)
        answers.append(_judged(problem, gram, beta, settings.tol))
        if answers[-1].status != "optimal":
            answers.append(smo.solve(problem, gram, turn(), beta))
    except KeyboardInterrupt:
        stop = replace(turn(), monitor=lambda violation: True)
        answers.append(smo.solve(problem, gram, stop, answers[0].beta if answers else start))
    best = max(answers, key=lambda answer: _merit(problem, answer))
    return replace(
        best,
        status=_status(best, answers[-1]),
        iterations=sum(answer.iterations for answer in answers),
        seconds=time.perf_counter() - began,
        kernel_evaluations=gram.evaluations,
    )


def _status(best: Solution, last: Solution) -> str:
    if best.status != "optimal" and last.status == "interrupted":
        return "interrupted"
    # Nobody set a limit of steps: what got nowhere within a turn has stalled.
    return "stalled" if best.status == "max_iter" else best.status


def _judged(problem: BoxQP, gram: Rows, beta: Array, tol: float) -> Solution:
    """Return multipliers as an answer, judged in float64 on the matrix itself."""
    rows = problem.coefficients(beta, gram.shape[0])
    used = np.flatnonzero(rows)
    f = gram.multiply(rows[used], used) if len(used) else np.zeros(len(rows))
    violation = violation_of(problem.extremes(beta, f))
    return Solution(
        beta=beta,
        f=f,
        violation=violation,
        status="optimal" if violation <= tol else "stalled",
        nonconvex=False,
        iterations=0,
        seconds=0.0,
        kernel_evaluations=0,
    )


def _merit(problem: BoxQP, answer: Solution) -> tuple[bool, float]:
    """Return what makes one answer better than another: that it is optimal, then its value."""
    rows = problem.coefficients(answer.beta, len(answer.f))
    value = float(problem.p @ answer.beta - 0.5 * (rows @ answer.f))
    return answer.status == "optimal", value
