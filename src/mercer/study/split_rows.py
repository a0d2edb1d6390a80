"""Which rows are kept aside for the test: random ones, the latest, or whole groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._typing import IntArray, Targets
from mercer.exceptions import InvalidInput, InvalidParameter, meant, shown
from mercer.io.table_target import listed
from mercer.io.tables import Table


@dataclass(frozen=True, eq=False)
class PartedRows:
    """Rows for training and for the test, the groups that stay together, and how it was done.

    The table is the one to learn from: a column that names groups tells nothing of new ones.
    """

    table: Table
    train: IntArray
    test: IntArray
    groups: IntArray | None = None
    words: str = ""


def check_folds(table: Table, folds: Sequence[tuple[IntArray, IntArray]]) -> None:
    """Refuse folds of classes whose training rows are all of one class."""
    if table.task == "number":
        return
    y = np.asarray(table.target)
    for train, _ in folds:
        left = np.unique(y[train])
        if len(left) < 2:
            others = int((y != left[0]).sum())
            raise InvalidInput(
                f"{table.source}: {others:,} of {len(y):,} rows are of another class than "
                f"{shown(left[0].item())}, and without those of one fold none is left to learn "
                "from. Add rows of other classes."
            )


def part_rows(
    table: Table, share: float, random_state: int, *, order_by: str | None, group: str | None
) -> PartedRows:
    """Part the rows of a table; a share of 0 keeps none aside."""
    n = len(table)
    groups = None
    if group is not None:
        groups = np.unique(_values(table, group, "group"), return_inverse=True)[1]
        count = int(groups.max()) + 1
        if count < 2:
            raise InvalidInput(f"group: all rows have the same {shown(group)}. Choose another one.")
        named = [
            replace(c, kind="identifier", reason="it names the groups") if c.name == group else c
            for c in table.columns
        ]
        table = replace(table, columns=tuple(named))
    if share == 0:
        if order_by is not None:
            raise InvalidParameter(
                f"order_by={order_by!r} tests on the latest rows, and test_share=0 keeps none "
                "aside. Leave one of them away."
            )
        words = "" if groups is None else f"Rows of one {group} stay in one fold."
        return PartedRows(table, np.arange(n), np.empty(0, dtype=np.intp), groups, words)
    if order_by is not None:
        train, test = _later(_values(table, order_by, "order_by"), share, order_by, groups)
        words = f"The test rows are the latest by {order_by}, which come after all training rows."
        return PartedRows(_without_clock(table, order_by), train, test, groups, words)
    if groups is not None:
        train, test = _whole_groups(groups, share, random_state)
        words = f"Rows of one {group} are all in training or all in the test."
        return PartedRows(table, train, test, groups, words)
    return PartedRows(table, *split(table.target, table.task != "number", share, random_state))


def draw(target: Targets, classes: bool, most: int, random_state: int) -> IntArray:
    """Return at most so many rows, in order, drawn at random; all classes are among them."""
    if len(target) <= most:
        return np.arange(len(target))
    order = np.random.default_rng(random_state).permutation(len(target))
    if classes:
        first = order[np.unique(np.asarray(target)[order], return_index=True)[1]]
        order = np.concatenate([first, order[~np.isin(order, first)]])
    return np.sort(order[:most])


def split(
    target: Targets, classes: bool, test_share: float, random_state: int
) -> tuple[IntArray, IntArray]:
    """Return rows for training and for the test, in order; each class gives its share of both."""
    random = np.random.default_rng(random_state)
    order = random.permutation(len(target))
    if not classes:
        count = min(max(1, round(test_share * len(order))), len(order) - 2)
        return np.sort(order[count:]), np.sort(order[:count])
    codes = np.unique(target, return_inverse=True)[1][order]
    parts = [order[codes == code] for code in range(codes.max() + 1)]
    chosen = [part[: min(round(test_share * len(part)), len(part) - 1)] for part in parts]
    test = np.concatenate(chosen)
    if not len(test):
        test = max(parts, key=len)[:1]
    return np.setdiff1d(order, test), np.sort(test)


def _later(
    values: Any, share: float, name: str, groups: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return rows up to a value, and those beyond; rows with the same value stay together."""
    if groups is not None:
        raise InvalidParameter("order_by and group exclude each other: choose one of them.")
    places = np.unique(values, return_inverse=True)[1]
    ordered = np.sort(places)
    last = ordered[min(len(ordered) - 1, round((1 - share) * len(ordered)))]
    later = places >= max(int(last), 1)
    if later.all() or not later.any():
        raise InvalidInput(f"order_by: {shown(name)} has the same value in all rows.")
    return np.flatnonzero(~later), np.flatnonzero(later)


def _without_clock(table: Table, name: str) -> Table:
    """Set aside what only goes on: values that later rows have, and no training row."""
    made = {n for n, d in table.derived.items() if d.column == name and d.part in ("time", "year")}
    columns = tuple(
        replace(c, kind="other", reason="it goes on, and later rows have values of their own")
        if c.used and c.name in {name, *made}
        else c
        for c in table.columns
    )
    return replace(table, columns=columns) if any(c.used for c in columns) else table


def _whole_groups(groups: IntArray, share: float, random_state: int) -> tuple[IntArray, IntArray]:
    """Return rows of random groups for the test, about the share of all rows, and the others."""
    sizes = np.bincount(groups)
    order = np.random.default_rng(random_state).permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order]
    chosen = order[before + sizes[order] / 2 <= share * len(groups)]
    if not len(chosen):
        chosen = order[:1]
    tested = np.isin(groups, chosen)
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def _values(table: Table, name: str, setting: str) -> Any:
    """Return the values of a column, in an order that can be compared; of dates the time."""
    names = [] if table.is_sparse else table.frame.column_names
    if name not in names:
        raise InvalidParameter(
            f"{setting}: {table.source} has no column {shown(name)} besides the "
            f"target.{meant(name, names)} It has {listed(names)}."
        )
    made = [key for key, d in table.derived.items() if d.column == name and d.part == "time"]
    column = table.frame[made[0] if made else name]
    if column.null_count:
        raise InvalidInput(
            f"{setting}: {column.null_count:,} values of {shown(name)} are missing. Fill them in, "
            "or leave these rows out."
        )
    return np.array(column.to_pylist())
