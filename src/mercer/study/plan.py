"""What is decided before anything is fitted: task, kernel, machine, and the rows of the test."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from mercer._typing import DataSource, IntArray, Objects, Parameter
from mercer.estimators.base import take_objects
from mercer.exceptions import InvalidInput, InvalidParameter, shown
from mercer.io.column_kinds import Column, auto_kernel
from mercer.io.tables import Prepared, Table, read_table
from mercer.kernels.base import Kernel
from mercer.kernels.expression import parse_kernel
from mercer.study import machines
from mercer.study.machines import Machine
from mercer.study.parts import are_parts
from mercer.study.split_rows import part_rows
from mercer.study.vote import contest_in_words

FEWEST_ROWS = 8
"""Fewer rows cannot be split for training, choice and test."""
FEW_TEST_ROWS = 30
"""Below so many test rows the plan warns that scores will be rough."""
EXPLAINING_SECONDS = 5.0
"""What the explanations of a report take at most, and writing it."""
_WIDTHS = ("gamma", "sigma", "length_scale")


@dataclass(frozen=True, eq=False)
class Plan:
    """A study before its fit.

    ``train`` and ``test`` are rows of the table; ``prepared`` holds all rows, with missing values
    filled by what the training rows say. Without test rows the whole procedure is judged by
    cross-validation. ``groups`` numbers the group of each row that stays together, if there are;
    ``chosen_rows`` says that a column decided which rows are for the test, ``open_parts`` that the
    kernel is a proposal whose parts may be joined otherwise.
    """

    table: Table
    prepared: Prepared
    kernel: Kernel | None
    reasons: tuple[str, ...]
    machine: Machine
    why: str
    train: IntArray
    test: IntArray
    folds: int
    random_state: int
    notes: tuple[str, ...]
    began: float
    groups: IntArray | None = None
    chosen_rows: bool = False
    open_parts: bool = False

    @property
    def y(self) -> Any:
        """The answers of all rows."""
        return self.prepared.y

    def time_left(self, time_limit: float | None) -> float | None:
        """Return what is left of a limit of time, a little at least; None where there is none."""
        if time_limit is None:
            return None
        return max(time_limit - (time.perf_counter() - self.began), time_limit / 10)

    def effort(self, time_limit: float | None) -> float:
        """Return the part of the usual work that the explanations of a report have time for."""
        if time_limit is None:
            return 1.0
        left = time_limit - (time.perf_counter() - self.began)
        return min(1.0, max(0.0, left / EXPLAINING_SECONDS))

    def rows(self, index: IntArray) -> Any:
        """Return some rows, prepared."""
        return take_objects(self.prepared.X, index)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that only tell rows apart."""
        return tuple(str(c.name) for c in self.table.columns if c.kind == "identifier")


def make_plan(
    source: DataSource,
    target: str | int | None = None,
    *,
    kernel: str | Kernel | None = None,
    machine: str | None = None,
    task: str | None = None,
    test_share: float = 0.25,
    cv: int = 5,
    random_state: int = 0,
    order_by: str | None = None,
    group: str | None = None,
) -> Plan:
    """Read the data and decide what to do with them."""
    began = time.perf_counter()
    _check(test_share, cv, random_state)
    given = parse_kernel(kernel) if isinstance(kernel, str) else kernel
    table = open_table(source, target, task)
    parted = part_rows(table, test_share, random_state, order_by=order_by, group=group)
    table, train, test = parted.table, parted.train, parted.test
    chosen, why = machines.choose(table, machine, given)
    prepared = prepare(table, train)
    proposed, reasons = _kernel(table, prepared, chosen, given, len(train))
    folds, few = _folds(table, train, cv)
    notes = [*table.notes, *prepared.notes, *few]
    if parted.words:
        notes.insert(0, parted.words)
    if 0 < len(test) < FEW_TEST_ROWS:
        notes.append(
            f"Only {len(test)} rows are left for the test, so that its interval is wide; "
            "test_share=0 learns from all rows and judges by cross-validation."
        )
    return Plan(
        table, prepared, proposed, reasons, chosen, why, train, test, folds, random_state,
        tuple(notes), began, parted.groups, order_by is not None or group is not None,
        given is None and are_parts(proposed, chosen),
    )  # fmt: skip


def open_table(source: DataSource, target: str | int | None, task: str | None) -> Table:
    """Read a table to learn from; a table that was read already is taken as it is."""
    table = source if hasattr(source, "prepare") else read_table(source, target, task=task)
    if table.target is None:
        raise InvalidInput(f"{table.source} has no target. Name the column to predict.")
    if len(table) < FEWEST_ROWS:
        raise InvalidInput(
            f"{table.source} has {len(table)} rows with a target; to learn and to test needs at "
            f"least {FEWEST_ROWS}. Add rows."
        )
    _check_finite(table)
    return table


def _check_finite(table: Table) -> None:
    """Refuse infinity among the numbers, by its place in the data."""
    for column in table.columns if not table.is_sparse else ():
        if column.used and column.kind == "number":
            values = np.asarray(table.frame[column.name].to_numpy(), dtype=float)
            if np.isinf(values).any():
                row = int(np.flatnonzero(np.isinf(values))[0])
                raise InvalidInput(
                    f"{table.source}, {table.place(row)}, column {shown(column.name)}: infinity is "
                    "no number to learn from. Correct it or leave it empty, or leave the column "
                    f"out (drop=[{str(column.name)!r}])."
                )


def prepare(table: Table, train: IntArray) -> Prepared:
    """Return all rows in the form that machines take, filled by what the training rows say."""
    prepared = table.prepare(train)
    return replace(prepared, X=with_short_indices(prepared.X))


def with_short_indices(X: Objects) -> Any:
    """Return a sparse matrix with 32-bit indices, where they suffice: machines want them."""
    if not sparse.issparse(X) or X.indices.dtype == np.int32 or X.nnz >= 2**31:
        return X
    indices, starts = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array((X.data, indices, starts), shape=X.shape)


def _kernel(
    table: Table, prepared: Prepared, machine: Machine, given: Kernel | None, rows: int
) -> tuple[Kernel | None, tuple[str, ...]]:
    """Return the kernel and why it is that one."""
    aside = tuple(_set_aside(table, c) for c in table.columns if not c.used and given is None)
    if machine.contends:
        return None, (*contest_in_words(table, rows), *aside)
    if not machine.takes_kernel:
        return None, (machine.without_kernel, *aside)
    if given is None:
        kinds = {n: k for n, k in prepared.schema.kinds.items() if k != "sequence"}
        proposal = auto_kernel(prepared.X, kinds=None if table.is_sparse else kinds)
        reasons = [text for text in proposal.reasons if not text.startswith("Each of these")]
        if are_parts(proposal.kernel, machine):
            reasons.append("How these parts are weighed and joined is found on the training rows.")
        return proposal.kernel, (*reasons, *aside)
    given.encode(prepared.X)  # a kernel that does not suit the columns says so now
    return with_open_widths(given), ("The kernel is the one that was asked for.",)


def _set_aside(table: Table, column: Column) -> str:
    """Say why a column is not learnt from, and how it would be where its spelling may tell."""
    words = f"{column.name} is set aside: {column.reason}"
    texts = column.kind == "identifier" and str(table.frame[column.name].type).endswith("string")
    if not texts or "group" in column.reason:
        return f"{words}."
    return f"{words}; kinds={{{column.name!r}: 'phrase'}} learns from its spelling."


def with_open_widths(kernel: Kernel) -> Kernel:
    """Return a kernel whose widths, where none was given, are open to be tuned."""
    params = kernel.get_params()
    changes = {}
    for name in params:
        inside, _, own = name.rpartition("gamma")
        if own == "" and all(params.get(inside + w, 1) is None for w in _WIDTHS):
            changes[name] = "median"
    return clone(kernel).set_params(**changes) if changes else kernel


def _folds(table: Table, train: IntArray, cv: int) -> tuple[int, list[str]]:
    """Return how many folds the training rows are cut into."""
    if table.task == "number":
        return min(cv, len(train)), []
    labels, counts = np.unique(np.asarray(table.target)[train], return_counts=True)
    if counts.max() < 2 or len(labels) < 2:
        raise InvalidInput(
            f"{table.source}: too few rows of each class of {table.target_name!r} to learn from. "
            "Give more rows, or choose another target."
        )
    smallest = int(counts.min())
    if smallest >= cv:
        return cv, []
    label = labels[counts.argmin()]
    rows = "1 row" if smallest == 1 else f"{smallest} rows"
    return max(2, smallest), [
        f"The class {str(label)!r} has only {rows} to learn from; it will hardly be recognised."
    ]


def check_time_limit(time_limit: Parameter) -> None:
    """Refuse a time limit that is none."""
    if time_limit is not None and not time_limit > 0:
        raise InvalidParameter(f"time_limit={time_limit!r} has to be a number of seconds > 0.")


def _check(test_share: Parameter, cv: Parameter, random_state: Parameter) -> None:
    if not isinstance(test_share, int | float) or not 0 <= test_share < 1:
        raise InvalidParameter(
            f"test_share={test_share!r} has to be a share between 0 and 1, such as 0.25, or 0 to "
            "learn from all rows."
        )
    if not isinstance(cv, int) or cv < 2:
        raise InvalidParameter(f"cv={cv!r} has to be a whole number of folds, at least 2.")
    if not isinstance(random_state, int) or not 0 <= random_state < 2**32:
        raise InvalidParameter(
            f"random_state={random_state!r} has to be a whole number from 0 to 2³² − 1."
        )
