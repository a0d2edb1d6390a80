"""Rows that are copies of each other: they stay on one side of the split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer._typing import Column, IntArray
from mercer.io.tables import Table
from mercer.report.text import counted
from mercer.study.plan import Plan, prepare

_MOST_CELLS = 20_000_000
"""Cells of a table that is searched for copies: about a second."""
_NESTED = ("series", "graph")


def keep_copies_together(plan: Plan) -> Plan:
    """Return the plan with all copies of a row on one side of the split, that of the first.

    A copy of a training row in the test asks for what was learnt by heart. Copies are rows that
    agree in all columns that are used and in the target.
    """
    groups = None if plan.chosen_rows else groups_of_copies(plan.table)
    if groups is None:
        return plan
    tested = np.zeros(len(plan.table), dtype=bool)
    tested[plan.test] = True
    _, first, number = np.unique(groups, return_index=True, return_inverse=True)
    wanted = tested[first[number]]
    moved = int((wanted != tested).sum())
    train, test = np.flatnonzero(~wanted), np.flatnonzero(wanted)
    if not moved or not len(test) or not _is_learnable(plan, train):
        return plan
    prepared = prepare(plan.table, train)
    others = [note for note in plan.notes if note not in plan.prepared.notes]
    have = "has" if moved == 1 else "have"
    note = (
        f"{counted(moved, 'row')} {have} a copy on the other side of the split; copies were put "
        "together, so that no row of the test was seen in training."
    )
    notes = (*others, *prepared.notes, note)
    return replace(plan, train=train, test=test, prepared=prepared, notes=notes)


def _is_learnable(plan: Plan, train: IntArray) -> bool:
    """Whether the training rows still have all that they had: each class, or some rows."""
    if plan.table.task == "number":
        return len(train) >= 2 * plan.folds
    before = np.unique(plan.y[plan.train], return_counts=True)
    labels, counts = np.unique(plan.y[train], return_counts=True)
    few = min(int(before[1].min()), plan.folds)
    return len(labels) == len(before[0]) and bool(counts.min() >= few)


def folds_without_copies(plan: Plan, rows: IntArray) -> int | list[tuple[IntArray, IntArray]]:
    """Return the folds of a search on some rows: their number, or splits that keep copies together.

    Copies share their target, so that dealing out groups class by class spreads each class over
    all folds. Where the plan has groups of its own, these stay together.
    """
    groups = groups_of_copies(plan.table) if plan.groups is None else plan.groups
    if groups is None:
        return plan.folds
    _, first, number = np.unique(groups[rows], return_index=True, return_inverse=True)
    if not plan.folds <= len(first) < len(rows):
        return plan.folds
    order = np.random.default_rng(plan.random_state).permutation(len(first))
    if plan.table.task != "number":
        codes = np.unique(plan.y[rows][first], return_inverse=True)[1]
        order = order[np.argsort(codes[order], kind="stable")]
    dealt = np.empty(len(first), dtype=np.intp)
    dealt[order] = np.arange(len(first)) % plan.folds
    fold = dealt[number]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(plan.folds)]


def groups_of_copies(table: Table) -> IntArray | None:
    """Return the number of each row's group of copies; None where no row has a copy."""
    names = [str(c.name) for c in table.columns if c.used]
    nested = any(c.kind in _NESTED for c in table.columns if c.used)
    cells = len(table) * (len(names) + 1)
    if table.is_sparse or nested or not names or cells > _MOST_CELLS:
        return None
    groups = np.unique(np.asarray(table.target), return_inverse=True)[1].astype(np.int64)
    for name in names:
        codes = codes_of(table.frame[name])
        groups = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)[1]
        if groups.max() + 1 == len(groups):
            return None
    return np.asarray(groups, dtype=np.intp)


def codes_of(column: Column) -> IntArray:
    """Return equal whole numbers for equal cells; cells without a value are equal too."""
    coded = column.combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(len(coded.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(codes, dtype=np.int64)
