"""What makes a good score doubtful: leaks, copies, order, rare classes. Looked for, and named."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from mercer._typing import Array, BoolArray, IntArray, Targets
from mercer.io.tables import Table
from mercer.study.copies import codes_of, groups_of_copies

NEARLY_ALL = 0.99
"""A balanced accuracy that one column alone does not reach unless it says what the class is."""
NEARLY_ALL_OF_A_NUMBER = 0.995
"""The same for the share of a number's variance (or of the variance of its ranks)."""
FEWEST_ROWS = 50
"""With fewer rows a column may be as good by chance."""
RARE = 10
"""Rows below which whether a class is recognised cannot be judged: two or three are in the test."""
ORDERED = 0.5
"""Above this agreement of neighbouring rows, beyond that of chance, their order tells something."""
COPIED = 0.05
"""The share of copies above which the test is clearly smaller than it looks."""
_GROUPS = 10
"""Categories from which a column that tells the answer names persons or places rather than it."""
_SAMPLE = 5_000
"""Rows that leaks are looked for in."""
_MOST_COLUMNS = 20
"""Columns that are looked at one by one, those that tell most; pairs are taken of twice as many."""
_CELL_ROWS = 5
"""Rows of each category, on average, without which its answer is learnt by heart; rows of a class
without which any column tells it."""


def suspicions(table: Table, chosen_rows: bool = False) -> list[str]:
    """Return a sentence for each thing that makes a good score on these rows doubtful.

    With ``chosen_rows`` a column has decided which rows are for the test: their order is no doubt.
    """
    found = [*_class_counts(table)]
    if not table.is_sparse:
        order = [] if chosen_rows else [*_order(table)]
        found = [*_leaks(table), *_empty_cells(table), *_copies(table), *order, *found]
    return found


# ---- leaks -------------------------------------------------------------------------------------


def _leaks(table: Table) -> Iterator[str]:
    used = [column for column in table.columns if column.used]
    if len(table) < FEWEST_ROWS or len(used) < 2:
        return
    rows = np.unique(np.linspace(0, len(table) - 1, _SAMPLE).astype(np.intp))
    part = table.take(rows) if len(rows) < len(table) else table
    if table.task != "number":
        codes = _answers(part)
        counts = np.bincount(codes)
        # One or two rows of a class are told from all others by any column.
        if (counts >= _CELL_ROWS).sum() < 2:
            return
        if counts.min() < _CELL_ROWS:
            part = part.take(np.flatnonzero(counts[codes] >= _CELL_ROWS))
    names = [str(column.name) for column in used if column.kind == "number"]
    X = _numbers(part, names)
    y = _answers(part)
    alone: set[str] = set()
    for name, share in _telling_numbers(names, X, y, table.task == "number"):
        alone.add(name)
        yield _leak(f"{name!r} alone gives", table, share, name)
    for column in used:
        if column.kind == "category":
            codes = np.unique(codes_of(part.frame[column.name]), return_inverse=True)[1]
            share = _share_of_categories(codes, y, table.task == "number")
            if share >= _enough(table.task == "number"):
                name = str(column.name)
                levels = int(codes.max()) + 1
                for_each = table.task == "number" or levels > 2 * (int(y.max()) + 1)
                if levels >= _GROUPS and for_each and name not in table.derived:
                    yield _group(table, share, name, levels)
                else:
                    yield _leak(f"{name!r} alone gives", table, share, name)
    if table.task == "number":
        several = [j for j, name in enumerate(names) if name not in alone][: 2 * _MOST_COLUMNS]
        for a, b, sign, share in _telling_pairs(X[:, several], y):
            first, second = names[several[a]], names[several[b]]
            words = "The sum" if sign > 0 else "The difference"
            yield _leak(f"{words} of {first!r} and {second!r} gives", table, share, first)


def _leak(what: str, table: Table, share: float, name: str) -> str:
    name = _given(table, name)
    return (
        f"{what} nearly all of {table.target_name!r} ({100 * share:.1f} %). If that is known only "
        f"together with the answer, it is a leak: take it out of the data (drop=[{name!r}])."
    )


def _group(table: Table, share: float, name: str, levels: int) -> str:
    return (
        f"{name!r} alone gives nearly all of {table.target_name!r} ({100 * share:.1f} %): each of "
        f"its {levels} values stands for several rows with one answer, as those of a person or a "
        "place do, and new rows may have other values. Test on values that were not seen "
        f"(group={name!r}), or take it out if it is known only together with the answer "
        f"(drop=[{name!r}])."
    )


def _given(table: Table, name: str) -> str:
    """Return the column of the data itself that a column is or is made of, such as a date."""
    return table.derived[name].column if name in table.derived else name


def _enough(number: bool) -> float:
    return NEARLY_ALL_OF_A_NUMBER if number else NEARLY_ALL


def _numbers(table: Table, names: list[str]) -> Array:
    """Return columns of numbers, with the median where there is none."""
    X = np.empty((len(table), len(names)))
    for j, name in enumerate(names):
        values = table.frame[name].to_numpy().astype(float)
        known = np.isfinite(values)
        X[:, j] = np.where(known, values, np.median(values[known]) if known.any() else 0.0)
    return X


def _answers(table: Table) -> Any:
    """Return the target as numbers, or as numbers of classes."""
    if table.task == "number":
        return np.asarray(table.target, dtype=float)
    return np.unique(np.asarray(table.target), return_inverse=True)[1]


def _telling_numbers(
    names: list[str], X: Array, y: Targets, number: bool
) -> Iterator[tuple[str, float]]:
    """Yield columns whose order (of numbers) or a small tree on which (of classes) tells all."""
    if not names:
        return
    ranks = _scaled(np.column_stack([_ranks(column) for column in X.T]))
    if number:
        shares = (ranks.T @ _scaled(_ranks(y)) / len(y)) ** 2
        for j in np.flatnonzero(shares >= NEARLY_ALL_OF_A_NUMBER):
            yield names[j], float(shares[j])
        return
    from sklearn.tree import DecisionTreeClassifier

    members = np.eye(y.max() + 1)[y]
    means = members.T @ ranks / members.sum(axis=0)[:, None]
    told = (members.mean(axis=0)[:, None] * means**2).sum(axis=0)
    leaves = max(4, members.shape[1])
    for j in np.argsort(-told, kind="stable")[:_MOST_COLUMNS]:
        column = X[:, [j]]
        tree = DecisionTreeClassifier(max_leaf_nodes=leaves, class_weight="balanced")
        right = tree.fit(column, y).predict(column) == y
        share = float((members * right[:, None]).sum(axis=0) @ (1 / members.sum(axis=0)))
        if share / members.shape[1] >= NEARLY_ALL:
            yield names[j], share / members.shape[1]


def _ranks(values: Array) -> Array:
    """Return places in ascending order, from 1; equal values share the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])


def _scaled(X: Array) -> Array:
    """Return columns of mean 0 and variance 1; those that do not vary become 0."""
    centred = X - X.mean(axis=0)
    spread = np.sqrt((centred**2).mean(axis=0))
    return np.asarray(centred / np.where(spread > 0, spread, np.inf))


def _telling_pairs(X: Array, y: Targets) -> Iterator[tuple[int, int, int, float]]:
    """Yield pairs of columns whose sum or difference has nearly all of the target's variance.

    corr(a ± b, y)² = (cov(a, y) ± cov(b, y))² / ((var a ± 2 cov(a, b) + var b) var y)
    """
    if X.shape[1] < 2 or not np.var(y) > 0:
        return
    C = np.cov(np.column_stack([X, y]), rowvar=False)
    for a, b in combinations(range(X.shape[1]), 2):
        for sign in (1, -1):
            spread = C[a, a] + 2 * sign * C[a, b] + C[b, b]
            # A column that hardly varies beside the other makes no sum.
            if min(C[a, a], C[b, b]) <= 1e-3 * max(C[a, a], C[b, b]) or not spread > 0:
                continue
            share = (C[a, -1] + sign * C[b, -1]) ** 2 / (spread * C[-1, -1])
            if share >= NEARLY_ALL_OF_A_NUMBER:
                yield a, b, sign, float(share)


def _share_of_categories(codes: IntArray, y: Targets, number: bool) -> float:
    """Return how much of the answers the categories of one column give."""
    count = int(codes.max()) + 1
    if count < 2 or len(y) < _CELL_ROWS * count:
        return 0.0
    if number:
        sizes = np.bincount(codes)
        means = np.bincount(codes, y) / sizes
        left = float(((y - means[codes]) ** 2).sum()) / (len(y) - count)
        return 1 - left / float(np.var(y, ddof=1)) if np.var(y) > 0 else 0.0
    table = np.zeros((count, int(y.max()) + 1))
    np.add.at(table, (codes, y), 1)
    return float((table / table.sum(axis=0)).max(axis=1).sum() / table.shape[1])


def _empty_cells(table: Table) -> Iterator[str]:
    """Name columns that lack values for one class and for no other, or the other way round."""
    if table.task == "number" or len(table) < FEWEST_ROWS:
        return
    labels, y = np.unique(np.asarray(table.target), return_inverse=True)
    used = (column.name for column in table.columns if column.used)
    # Parts of a date are empty together: the date is named once.
    gaps = {_given(table, name): name for name in used if name in table.missing}
    for given, name in gaps.items():
        empty = table.frame[name].is_null().to_numpy()
        for code, label in enumerate(labels.tolist()):
            if _agreement(empty, y == code) >= NEARLY_ALL:
                words = f"is empty for {str(label)!r} and for no other class"
            elif len(labels) > 2 and _agreement(~empty, y == code) >= NEARLY_ALL:
                words = f"is filled in for {str(label)!r} and for no other class"
            else:
                continue
            yield (
                f"{str(given)!r} {words} of {table.target_name!r}: whether it is empty gives the "
                f"answer away. Take it out of the data (drop=[{str(given)!r}])."
            )
            break


def _agreement(first: BoolArray, second: BoolArray) -> float:
    """Return the smaller share of agreement, among rows where the second holds or does not."""
    if not (_CELL_ROWS <= second.sum() <= len(second) - _CELL_ROWS):
        return 0.0
    return float(min(first[second].mean(), 1 - first[~second].mean()))


# ---- copies, order, classes ----------------------------------------------------------------------


def _copies(table: Table) -> Iterator[str]:
    groups = groups_of_copies(table)
    if groups is None:
        return
    copies = len(groups) - (int(groups.max()) + 1)
    names = [str(c.name) for c in table.columns if c.used]
    kinds = np.prod([float(codes_of(table.frame[name]).max() + 1) for name in names])
    # Where few different rows are possible, equal ones are natural.
    if copies >= COPIED * len(table) and kinds > 100 * len(table):
        yield (
            f"{copies:,} of {len(table):,} rows are copies of other rows. They are kept on one "
            "side of the split, but the test is smaller than it looks, and its interval too narrow."
        )


def _order(table: Table) -> Iterator[str]:
    """Name row numbers and times among the columns, and rows that resemble their neighbours."""
    if len(table) < FEWEST_ROWS:
        return
    y = _answers(table)
    times = {d.column: name for name, d in table.derived.items() if d.part == "time"}
    for column, name in times.items():
        when = table.frame[name].to_numpy().astype(float)
        known = int(np.isfinite(when).sum())
        ordered = y[np.argsort(when, kind="stable")][:known]  # what has no time is last
        if known >= FEWEST_ROWS and _resemblance(ordered, table.task) > ORDERED:
            yield (
                f"Answers that are near in time ({column!r}) are alike: random test rows have "
                "close neighbours among the training rows, and new rows come later. Test on the "
                f"latest rows (order_by={column!r})."
            )
    numbers = [str(c.name) for c in table.columns if c.used and c.kind == "number"]
    names = [name for name in numbers if name not in table.derived]
    X = _numbers(table, names)
    steps = np.diff(X, axis=0)
    whole = (np.round(X) == X).all(axis=0) & (np.ptp(X, axis=0) < 3 * len(X))
    growing = (steps > 0).all(axis=0) & whole
    for j in np.flatnonzero(growing):
        yield (
            f"{names[j]!r} grows from row to row: a row number or a time, which new rows continue "
            f"and random test rows do not. Take it out of the data (drop=[{names[j]!r}]), or test "
            f"on the last rows (order_by={names[j]!r})."
        )
    sorted_by = ((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)) & ~growing
    if not (times or sorted_by.any()) and _resemblance(y, table.task) > ORDERED:
        yield (
            "Neighbouring rows of the file have similar answers, as in a record over time or with "
            "several rows of one person or place: random test rows have close relatives among the "
            "training rows, and the scores flatter a model for new ones. Where a column names the "
            "time or the person, test by it (order_by or group)."
        )


def _resemblance(y: Any, task: str) -> float:
    """Return how alike the answers of neighbouring rows are, 0 by chance; sorted files have 0."""
    if task == "number":
        rising = float((np.diff(y) >= 0).mean())
        if not 0.1 < rising < 0.9 or not np.var(y) > 0:
            return 0.0
        return float(np.corrcoef(y[:-1], y[1:])[0, 1])
    shares = np.bincount(y) / len(y)
    runs = 1 + int((y[1:] != y[:-1]).sum())
    if runs <= 3 * len(shares):
        return 0.0  # sorted by class, as many files are
    chance = float((shares**2).sum())
    return (float((y[1:] == y[:-1]).mean()) - chance) / (1 - chance)


def _class_counts(table: Table) -> Iterator[str]:
    if table.task == "number":
        return
    labels, counts = np.unique(np.asarray(table.target), return_counts=True)
    few = [str(label) for label in labels[counts < RARE].tolist()]
    if len(table) < RARE * len(labels):
        yield (
            f"{len(labels)} classes share {len(table):,} rows, fewer than {RARE} each: too few to "
            "judge most of them."
        )
    elif few:
        named = ", ".join(map(repr, few[:3])) + (f" and {len(few) - 3} more" * (len(few) > 3))
        rows = ", ".join(str(count) for count in counts[counts < RARE][:3])
        yield (
            f"Rare classes: {named} ({rows} rows). Whether they are recognised cannot be judged."
        )
