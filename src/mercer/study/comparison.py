"""Several machines and kernels on the same folds, beside a baseline."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._deprecated import renamed
from mercer._notebook import table_in_html
from mercer._typing import DataSource, IntArray
from mercer.exceptions import InvalidParameter
from mercer.io.tables import Table
from mercer.kernels.base import Kernel
from mercer.kernels.vectors.dot import Linear
from mercer.kernels.vectors.matern import (
    Matern,
)
from mercer.kernels.vectors.radial import (
    RBF,
    Laplacian,
)
from mercer.report.paired import Said
from mercer.report.phrases import (
    difference,
    difference_interval,
    interval,
    listed,
    standing,
    value,
)
from mercer.report.record import Reference
from mercer.report.view import write_page
from mercer.study import machines
from mercer.study.contenders import Contender, OtherMethod, TunedMachine
from mercer.study.copies import folds_without_copies
from mercer.study.judging import Judge, best_first
from mercer.study.others import METHODS
from mercer.study.out_of_fold import joined
from mercer.study.pacing import Clock, Skipped, Turn, ask, in_turn
from mercer.study.plan import Plan, check_time_limit, make_plan, open_table
from mercer.study.references import NoReference
from mercer.study.split_rows import check_folds, split

MOST_ROWS = 5_000
"""Rows that are compared on: contenders with a full matrix take seconds each."""
BASELINE = "baseline"
_OTHERS: tuple[Kernel, ...] = (Laplacian("median"), Matern(nu=1.5, gamma="median"), Linear())
"""What may stand in for the Gaussian kernel on numbers."""


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
    skipped : tuple of Skipped
        Who was not compared for want of time, each with the reason.

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
    skipped: tuple[Skipped, ...] = ()

    @property
    def first(self) -> Contender:
        """The machine that ran first: mercer's usual one, or the first that was named."""
        own = [c for c in self.contenders if c.library == "mercer"]
        return next((c for c in own if math.isnan(c.difference)), own[0])

    @property
    def others(self) -> tuple[Contender, ...]:
        """Methods of other libraries, the best first."""
        return tuple(c for c in self.contenders if c.library not in ("mercer", ""))

    @property
    def references(self) -> list[Reference]:
        """The others in the form of a report, with the difference of the first from each."""
        return [
            Reference(c.machine, c.score.value, c.difference, c.low, c.high, c.seconds)
            for c in self.others
        ]

    @property
    def conclusion(self) -> str:
        """How the first machine stands beside the methods of other libraries; nothing if none."""
        if not self.others:
            return ""
        score, always = self.first.score, next(c for c in self.contenders if not c.library)
        if (always.low if score.higher_is_better else -always.high) <= 0:
            return (
                f"Not shown to be better than guessing: {score.name} {value(score)} beside "
                f"{value(always.score)} by {always.label}, and {listed(score, self.references)}."
            )
        return standing(score, self.references)

    def differences_in_words(self) -> list[tuple[str, str]]:
        """Return the names of other methods with the difference of the first machine from each."""
        score = self.first.score
        return [
            (r.name, f"{difference(score, r.difference)} ({difference_interval(score, r)})")
            for r in self.references
        ]

    def write_report(self, path: str | os.PathLike[str]) -> Path:
        """Write the comparison as one page of HTML that needs no network."""
        return write_page("comparison.html", path, comparison=self)

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return table_in_html(
            ("machine", "kernel or library", self.first.score.name, "95 % interval", "seconds"),
            [
                (c.machine, c.label, value(c.score), interval(c.score), f"{c.seconds:.1f}")
                for c in self.contenders
            ]
            + [(s.machine, f"{s.label}; {s.reason}", "", "", "") for s in self.skipped],
            title=f"{self.source}: {self.target}, {self.task}, {self.folds} folds",
            below=[self.conclusion, *self.notes],
        )

    def __repr__(self) -> str:
        lines = [f"{self.source}: {self.target}, {self.task}, {self.folds} folds"]
        for c in self.contenders:
            value = f"{c.score.value:.3f} ({c.score.low:.3f} to {c.score.high:.3f})"
            lines.append(f"  {c.score.name} {value}  {c.machine}: {c.label}")
        lines += [f"  {s.machine}: {s.label}, {s.reason}" for s in self.skipped]
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
    others: bool | None = None,
    score: str | None = None,
) -> Comparison:
    """Compare machines and kernels, and what else people use, on the same folds of the same data.

    Each row is predicted once by a machine that was tuned and fitted without it: in each fold the
    search runs on the training rows alone. Intervals are those of all these predictions together.
    Copies of a row are in one fold.

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
        Seconds for all contenders together. The first machine always runs, and may take a fourth;
        the others get equal shares of what is left. Methods that know no limit run from the fastest
        to the slowest, by a fit to a part of the rows, and not where a fold would take too long.
    random_state : int
        Folds follow from it.
    callback : function, optional
        Called as ``callback(done, total, what)`` before each fit.
    others : bool, optional
        Whether to fit scikit-learn's linear model, random forest and histogram boosting as well,
        and CatBoost, LightGBM and XGBoost where they are installed, with their default settings.
        By default where neither kernels nor machines are named.
    score : {"accuracy", "balanced_accuracy", "auc", "r2", "mae", "rmse"}, optional
        What judges; by default R² or accuracy, and the AUC where a class is rare.

    Examples
    --------
    >>> from mercer import compare
    >>> kernels = ["rbf(age)", "rbf(max_heart_rate)"]
    >>> found = compare("heart", kernels=kernels, machines=["svc"], cv=2)
    >>> [contender.kernel for contender in found.contenders]  # the last is the baseline
    ['rbf(max_heart_rate, gamma="median")', 'rbf(age, gamma="median")', '']
    """
    check_time_limit(time_limit)
    clock = Clock(time_limit)
    notes: list[str] = []
    table = open_table(source, target, task)
    if len(table) > MOST_ROWS:
        _, some = split(table.target, table.task != "number", MOST_ROWS / len(table), random_state)
        notes.append(f"Compared on {len(some):,} of the {len(table):,} rows.")
        table = table.take(some)
    first = make_plan(table, cv=cv, random_state=random_state)
    folds = _folds(first, cv, random_state)
    check_folds(table, folds)
    judge = Judge.of(table, folds, score, random_state)
    plans = list(_plans(first, kernels, machines))
    if others is None:
        others = not kernels and not machines
    methods = [method for method in METHODS if method.installed] if others else []
    own = [TunedMachine(plan, judge, notes, bool(kernels)) for plan in plans]
    always = Contender(BASELINE, _usual_words(table), "", judge.measure(judge.baseline()), 0.0, "")
    found: list[tuple[Contender, Said]] = [(always, judge.baseline())]
    skipped: list[Skipped] = []
    stopped, count = "", len(own) + len(methods)
    beside = [OtherMethod(method, first, judge) for method in methods]
    try:
        for i, (run, expected) in enumerate(in_turn(own, beside, folds[0][0], clock)):
            began = time.perf_counter()

            def tell(k: int, i: int = i, name: str = run.name) -> None:
                if callback is not None:
                    callback(i * len(folds) + k, count * len(folds), name)

            try:
                said = ask(run, expected, folds, clock, Turn(i, count), tell)
            except NoReference as why:
                notes.append(f"Other methods were not tried: {why}.")
                continue
            if isinstance(said, str):
                skipped.append(Skipped(run.name, run.label, run.library, said))
                continue
            whole = joined(said, [test for _, test in folds], len(table))
            spent = time.perf_counter() - began
            found.append((run.contender(judge.measure(whole), spent), whole))
    except KeyboardInterrupt:
        if len(found) == 1:
            raise
        stopped = "interrupted"
        notes.append(f"Interrupted: {len(found) - 1} of {count} contenders are compared.")
    return Comparison(
        table.source, table.target_name or "", table.task, len(table), len(folds),
        tuple(_with_differences(found, judge)), tuple(dict.fromkeys(notes)), stopped,
        tuple(skipped),
    )  # fmt: skip


def _with_differences(found: list[tuple[Contender, Said]], judge: Judge) -> list[Contender]:
    """Return contenders, the best first, with their differences from the first one that ran."""
    if len(found) > 1:
        own, said = found[1]
        found = [(c if c is own else c.beside(judge.difference(said, s)), s) for c, s in found]
    return best_first(found)


def _plans(first: Plan, kernels: Sequence[Any], names: Sequence[str]) -> Iterator[Plan]:
    """Yield a plan for each contender."""
    table = first.table
    same: dict[str, Any] = {"cv": first.folds, "random_state": first.random_state}
    task = machines.task_of(table)
    rows = [machines.find(name, task) for name in names]
    if not rows:
        # Machines without a certificate are compared when they are asked for by name.
        rows = [row for row in machines.MACHINES if row.task == task and not row.row.unproven]
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
        if not kernels and variants:
            yield usual
            variants = variants[1:]
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


def _folds(plan: Plan, cv: int, random_state: int) -> list[tuple[IntArray, IntArray]]:
    """Cut the rows into folds; each class is spread over all of them, copies stay together."""
    table, n = plan.table, len(plan.table)
    if not 2 <= cv <= n:
        raise InvalidParameter(f"cv={cv!r} has to be from 2 to {n}, the number of rows.")
    together = folds_without_copies(replace(plan, folds=cv), np.arange(n))
    if isinstance(together, list):
        return together
    order = np.random.default_rng(random_state).permutation(n)
    if table.task != "number":
        codes = np.unique(np.asarray(table.target), return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    numbers = np.empty(n, dtype=np.intp)
    numbers[order] = np.arange(n) % cv
    return [(np.flatnonzero(numbers != k), np.flatnonzero(numbers == k)) for k in range(cv)]


def _usual_words(table: Table) -> str:
    return "the mean" if table.task == "number" else "the most frequent class"
