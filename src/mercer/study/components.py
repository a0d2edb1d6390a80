"""Principal and independent components of a table: new columns, what they are, and a page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from mercer._typing import Array, Labels
from mercer.estimators import registry
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.io.tables import Table
from mercer.report.charts import within
from mercer.report.svg import chart, label, mark, scale_of, tag
from mercer.report.text import number, percent
from mercer.report.view import write_page
from mercer.study.predictions import PredictionTable

METHODS = ("pca", "ica")
"""Maps of the registry that give columns which can be looked at one by one."""
_SHOWN_COLUMNS = 4
"""Columns that are named beside a component: those that weigh most."""
_DRAWN_ROWS = 2000
"""Rows that are drawn, spread evenly over the table; more would hide each other."""
_GROUPS = 8
"""As many groups have shapes of their own in a picture."""


@dataclass(frozen=True, eq=False)
class Components:
    """New columns of a table, uncorrelated (pca) or independent (ica).

    Attributes
    ----------
    source, method : str
        Where the table came from, and how the components were found.
    columns : list of str
        The columns of numbers that they are made of, standardised.
    scores : array of shape (rows, components)
        The new columns.
    weights : array of shape (components, columns)
        How much of each standardised column a component has: the directions of greatest spread, or
        how a source is mixed into the columns.
    shares : array of shape (components,)
        The share of the whole spread that each component makes.
    groups : array of shape (rows,) or None
        Classes that tell the points of the picture apart.
    notes : tuple of str
        What was set aside or filled in.
    """

    source: str
    method: str
    columns: list[str]
    scores: Array
    weights: Array
    shares: Array
    groups: Labels | None
    notes: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """What the new columns are called."""
        word = "component" if self.method == "pca" else "source"
        return [f"{word}_{j + 1}" for j in range(len(self.shares))]

    @property
    def title(self) -> str:
        """The method in words."""
        return registry.find(self.method, "features").title

    def table(self) -> PredictionTable:
        """Return the new columns with the number of each row, as written to files."""
        columns: dict[str, list[Any]] = {"row": list(range(1, len(self.scores) + 1))}
        columns |= dict(zip(self.names, self.scores.T.tolist(), strict=True))
        return PredictionTable(columns)

    def made_of(self, component: int) -> str:
        """Say which columns weigh most in a component, with their signs."""
        weights = self.weights[component]
        order = np.argsort(-np.abs(weights), kind="stable")[:_SHOWN_COLUMNS]
        parts = [f"{number(float(weights[j]), 2)} {self.columns[j]}" for j in order]
        more = len(weights) - len(parts)
        return ", ".join(parts) + (f" and {more} more" if more else "")

    def facts(self) -> list[tuple[str, str]]:
        """Return each component with its share of the spread and what it is made of."""
        return [
            (name, f"{percent(float(share))} of the spread: {self.made_of(j)}")
            for j, (name, share) in enumerate(zip(self.names, self.shares, strict=True))
        ]

    def write_report(self, path: str | os.PathLike[str]) -> Path:
        """Write shares, weights and a picture as one page of HTML that needs no network."""
        return write_page("components.html", path, components=self)

    def picture(self) -> Markup:
        """Draw the rows in the plane of the first two components, or along the only one."""
        rows = np.unique(np.linspace(0, len(self.scores) - 1, _DRAWN_ROWS).astype(np.intp))
        across = within(self.scores[rows, 0])
        second = self.scores[rows, 1] if len(self.shares) > 1 else np.zeros(len(rows))
        up = within(second)
        x, y = scale_of(across, 14, 846, 0.04), scale_of(up, 506, 28, 0.04)
        parts = [
            tag("rect", x=2.0, y=16.0, width=856.0, height=502.0, rx=8.0, class_="frame"),
            label(430, 542, self._axis(0), "name middle"),
        ]
        if len(self.shares) > 1:
            parts.append(label(2, 6, self._axis(1), "name"))
        known = self.shown_groups()
        for i, row in enumerate(rows.tolist()):
            group = 0 if self.groups is None else known.get(str(self.groups[row]), _GROUPS - 1)
            of = "" if self.groups is None else f": {self.groups[row]}"
            parts.append(mark(x(float(across[i])), y(float(up[i])), group, f"row {row + 1}{of}"))
        words = f"The rows of {self.source} in the plane of the first two components."
        return chart(860, 552, words, *parts, class_="map")

    def shown_groups(self) -> Mapping[str, int]:
        """Return the groups that have shapes of their own, the most frequent first."""
        if self.groups is None:
            return {}
        found, counts = np.unique(self.groups.astype(str), return_counts=True)
        order = np.argsort(-counts, kind="stable")[: _GROUPS - 1 if len(found) > _GROUPS else None]
        return {str(found[j]): i for i, j in enumerate(order)}

    def _axis(self, component: int) -> str:
        return f"{self.names[component]} ({percent(float(self.shares[component]))} of the spread)"


def find_components(
    table: Table, method: str = "pca", count: int | None = None, random_state: int = 0
) -> Components:
    """Find principal or independent components of the columns of numbers of a table.

    Columns are standardised, gaps take the mean of their column. A target of the table is not
    looked at; its classes only tell the points of the picture apart.

    Parameters
    ----------
    table : Table
        See :func:`mercer.read_table`.
    method : {"pca", "ica"}
        Uncorrelated directions of greatest spread, or independent sources.
    count : int or None
        The number of components; two by default.
    random_state : int
        Of the starts of ica.
    """
    if method not in METHODS:
        raise InvalidParameter(f"There is no method {method!r}. There are {', '.join(METHODS)}.")
    X, columns, notes = _numbers(table)
    wanted = min(2, len(columns)) if count is None else int(count)
    if not 1 <= wanted <= min(len(columns), len(X)):
        raise InvalidParameter(
            f"{wanted} components of {table.source} are not there: it has {len(X):,} rows and "
            f"{len(columns)} columns of numbers. Ask for 1 to {min(len(columns), len(X))}."
        )
    machine = registry.find(method, "features").estimator(wanted, random_state=random_state)
    scores = np.asarray(machine.fit_transform(X))
    if method == "pca":
        weights, shares = machine.components_, machine.explained_variance_ratio_
    else:
        # Sources have variance 1, so that a column of the mixing matrix is what one source does.
        weights = machine.mixing_.T
        spread = np.square(weights).sum(axis=1)
        order = np.argsort(-spread, kind="stable")
        scores, weights = scores[:, order], weights[order]
        shares = spread[order] / X.var(axis=0).sum()
    groups = table.target if table.target is not None and table.task != "number" else None
    return Components(
        Path(table.source).name, method, columns, scores, np.asarray(weights),
        np.asarray(shares), None if groups is None else np.asarray(groups), tuple(notes),
    )  # fmt: skip


def _numbers(table: Table) -> tuple[Array, list[str], list[str]]:
    """Return the columns of numbers, standardised and without gaps, their names, and notes."""
    if table.is_sparse:
        raise InvalidInput(
            f"{table.source} is sparse; components of its columns would be dense. Use "
            "mercer.KernelPCA, or a file with columns."
        )
    used = [c for c in table.columns if c.used and c.kind == "number"]
    if not used or not len(table):
        raise InvalidInput(f"{table.source} has no column of numbers to make components of.")
    aside = [str(c.name) for c in table.columns if c not in used]
    notes = [f"Set aside, as they hold no numbers: {', '.join(aside)}."] if aside else []
    raw = [table.frame[c.name].to_numpy().astype(np.float64) for c in used]
    X, kept, filled = [], [], 0
    for column, values in zip(used, raw, strict=True):
        gaps = ~np.isfinite(values)
        if gaps.all() or not values[~gaps].std() > 0:
            notes.append(f"Set aside, as it does not vary: {column.name}.")
            continue
        filled += int(gaps.sum())
        values = np.where(gaps, values[~gaps].mean(), values)
        X.append((values - values.mean()) / values.std())
        kept.append(str(column.name))
    if not kept:
        raise InvalidInput(f"{table.source} has no column of numbers that varies.")
    if filled:
        notes.append(f"{filled:,} missing values took the mean of their column.")
    return np.column_stack(X), kept, notes
