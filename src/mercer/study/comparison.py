"""Several machines and kernels on the same folds, beside a baseline."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._deprecated import renamed
from mercer._typing import DataSource, IntArray, Targets
from mercer.exceptions import InvalidParameter
from mercer.io.tables import Table
from mercer.kernels import registry
from mercer.kernels.base import Kernel
from mercer.kernels.expression import format_kernel
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.matern import (
    Matern,
)
from mercer.kernels.vectors.radial import (
    RBF,
    Laplacian,
)
from mercer.report import scores
from mercer.report.record import MeasuredScore
from mercer.study import machines
from mercer.study.plan import Plan, check_time_limit, make_plan, open_table, prepare, split
from mercer.study.searching import search_machine
from mercer.study.watching import noted

MOST_ROWS = 5_000
"""Rows that are compared on: contenders with a full matrix take seconds each."""
BASELINE = "baseline"
_OTHERS: tuple[Kernel, ...] = (Laplacian("median"), Matern(nu=1.5, gamma="median"), Linear())
"""What may stand in for the Gaussian kernel on numbers."""


@dataclass(frozen=True)
class Contender:
    """A machine with a kernel, and its score on rows that it never saw; ``label`` is short."""

    machine: str
    label: str
    kernel: str
    score: MeasuredScore
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """Contenders from the best to the worst, the baseline among them.

    Attributes
    ----------
    source, target : str
        The data and the column to predict.
    task : str
        What there is to learn.
    rows, folds : int
        How many there were.
    contenders : tuple of Contender
        The best first.
    notes : tuple of str
        What was noticed on the way.
    stopped : str
        Why it ended early, or nothing.

    Examples
    --------
    >>> from mercer import compare
    >>> found = compare("heart", kernels=["rbf(age)"], machines=["svc"], cv=2)
    >>> found.rows, found.folds, [contender.machine for contender in found.contenders]
    (270, 2, ['svc', 'baseline'])
    """

    source: str
    target: str
    task: str
    rows: int
    folds: int
    contenders: tuple[Contender, ...]
    notes: tuple[str, ...]
    stopped: str = ""

    def __repr__(self) -> str:
        lines = [f"{self.source}: {self.target}, {self.task}, {self.folds} folds"]
        for c in self.contenders:
            value = f"{c.score.value:.3f} ({c.score.low:.3f} to {c.score.high:.3f})"
            lines.append(f"  {c.score.name} {value}  {c.machine}: {c.label}")
        return "\n".join(lines)


@renamed(seed="random_state")
def compare(
    source: DataSource,
    target: str | int | None = None,
    *,
    kernels: Sequence[str | Kernel] = (),
    machines: Sequence[str] = (),
    task: str | None = None,
    cv: int = 5,
    time_limit: float | None = None,
    random_state: int = 0,
    callback: Callable[[int, int, str], None] | None = None,
) -> Comparison:
    """Compare machines and kernels on the same folds of the same data.

    Each row is predicted once by a machine that was tuned and fitted without it: in each fold the
    search runs on the training rows alone. Intervals are those of all these predictions together.

    Parameters
    ----------
    source, target, task
        As for :class:`Study`.
    kernels : sequence of str or Kernel, optional
        Kernels to compare; by default the one proposed for the columns and variants of it.
    machines : sequence of str, optional
        Machines to compare; by default those for the task that suit the data.
    cv : int
        The number of folds.
    time_limit : float, optional
        Seconds for all searches together, each of which gets an equal share.
    random_state : int
        Folds follow from it.
    callback : function, optional
        Called as ``callback(done, total, what)`` before each fit.

    Examples
    --------
    >>> from mercer import compare
    >>> kernels = ["rbf(age)", "rbf(max_heart_rate)"]
    >>> found = compare("heart", kernels=kernels, machines=["svc"], cv=2)
    >>> [contender.kernel for contender in found.contenders]  # the last is the baseline
    ['rbf(max_heart_rate, gamma="median")', 'rbf(age, gamma="median")', '']
    """
    check_time_limit(time_limit)
    notes: list[str] = []
    table = open_table(source, target, task)
    if len(table) > MOST_ROWS:
        _, some = split(table.target, table.task != "number", MOST_ROWS / len(table), random_state)
        notes.append(f"Compared on {len(some):,} of the {len(table):,} rows.")
        table = table.take(some)
    first = make_plan(table, cv=cv, random_state=random_state)
    plans = list(_plans(first, kernels, machines))
    folds = _folds(table, cv, random_state)
    share = None if time_limit is None else time_limit / (len(plans) * len(folds))
    known = np.asarray(table.target)
    found: list[Contender] = []
    stopped = ""
    total = len(plans) * len(folds)
    always = np.empty_like(known)
    for train, test in folds:
        always[test] = _usual(known[train], table.task)
    score = _score(table.task, known, always, always, random_state)
    found.append(Contender(BASELINE, _usual_words(table), "", score, 0.0))
    try:
        for i, plan in enumerate(plans):
            began = time.perf_counter()
            predicted = np.empty_like(known)
            for k, (train, test) in enumerate(folds):
                if callback is not None:
                    callback(i * len(folds) + k, total, plan.machine.name)
                fold = replace(
                    plan, train=train, test=test, prepared=prepare(table, train),
                    began=time.perf_counter(),
                )  # fmt: skip
                with noted(notes):
                    search = search_machine(
                        fold, fold.rows(train), known[train], time_limit=share, callback=None,
                        notes=notes,
                    )  # fmt: skip
                predicted[test] = search.predict(fold.rows(test))
                if search.cv_results_["skipped"].any() and share is None:
                    raise KeyboardInterrupt  # Ctrl-C reached the search first
            spent = time.perf_counter() - began
            score = _score(table.task, known, predicted, always, random_state)
            kernel, label = _kernel_of(plan)
            label = kernel if kernels else label
            found.append(Contender(plan.machine.name, label, kernel, score, spent))
    except KeyboardInterrupt:
        if len(found) == 1:
            raise
        stopped = "interrupted"
        notes.append(f"Interrupted: {len(found) - 1} of {len(plans)} contenders are compared.")
    ordered = sorted(found, key=lambda c: c.score.value, reverse=found[0].score.higher_is_better)
    return Comparison(
        table.source, table.target_name or "", table.task, len(table), len(folds),
        tuple(ordered), tuple(dict.fromkeys(notes)), stopped,
    )  # fmt: skip


def _plans(first: Plan, kernels: Sequence[Any], names: Sequence[str]) -> Iterator[Plan]:
    """Yield a plan for each contender."""
    table = first.table
    same: dict[str, Any] = {"cv": first.folds, "random_state": first.random_state}
    task = machines.task_of(table)
    rows = [machines.find(name, task) for name in names]
    if not rows:
        rows = [row for row in machines.MACHINES if row.task == task]
        rows = [row for row in rows if len(table) <= row.most_rows]
        rows = [row for row in rows if row.takes_kernel or (not kernels and not row.refused(table))]
    first_with_kernel = next((row for row in rows if row.takes_kernel), None)
    for row in rows:
        usual = make_plan(table, machine=row.name, **same)
        if not row.takes_kernel:
            yield usual
            continue
        variants: Sequence[Any] = kernels
        if not kernels and usual.kernel is not None:
            # One machine tries other kernels, the others the proposed one.
            others = _variants(usual.kernel) if row is first_with_kernel else ()
            variants = [usual.kernel, *others]
        for kernel in variants:
            yield make_plan(table, machine=row.name, kernel=kernel, **same)


def _variants(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the kernel with others in place of the Gaussian one on numbers."""
    gaussian = RBF("median")
    places = [name for name, value in kernel.get_params().items() if value == gaussian]
    for other in _OTHERS:
        if kernel == gaussian:
            yield other
        elif places:
            yield clone(kernel).set_params(**dict.fromkeys(places, other))


def _kernel_of(plan: Plan) -> tuple[str, str]:
    """Return the kernel of a contender as text, and in short."""
    if plan.kernel is not None:
        return format_kernel(plan.kernel), _label(plan.kernel)
    # A contest chooses kernels anew in each fold.
    return ("", "chosen by contest") if plan.machine.contends else ("linear()", "linear")


def _label(kernel: Kernel) -> str:
    """Return the names of the kernels that a proposed one consists of."""
    parts = [type(value) for value in (kernel, *kernel.get_params().values())]
    return ", ".join(row.name for row in registry.ROWS if row.kernel in parts)


def _folds(table: Table, cv: int, random_state: int) -> list[tuple[IntArray, IntArray]]:
    """Cut the rows into folds; each class is spread over all of them."""
    n = len(table)
    if not 2 <= cv <= n:
        raise InvalidParameter(f"cv={cv!r} has to be from 2 to {n}, the number of rows.")
    order = np.random.default_rng(random_state).permutation(n)
    if table.task != "number":
        codes = np.unique(np.asarray(table.target), return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    numbers = np.empty(n, dtype=np.intp)
    numbers[order] = np.arange(n) % cv
    return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(cv)]


def _usual(y: Targets, task: str) -> Any:
    """Return what the baseline answers: the most frequent class, or the mean."""
    if task == "number":
        return y.mean()
    labels, counts = np.unique(y, return_counts=True)
    return labels[counts.argmax()]


def _usual_words(table: Table) -> str:
    return "the mean" if table.task == "number" else "the most frequent class"


def _score(task: str, known: Any, predicted: Any, always: Any, seed: int) -> MeasuredScore:
    if task == "number":
        return scores.regression(known, predicted, always, seed)[0]
    labels, codes = np.unique(known, return_inverse=True)
    shares = np.bincount(codes) / len(codes)
    said, usual = np.searchsorted(labels, predicted), np.searchsorted(labels, always)
    return scores.classification(codes, said, None, None, shares, usual, seed)[0]
