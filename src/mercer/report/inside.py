"""Which letters or nodes make the answers to a few rows: places inside one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._plot.places import graph_layout
from mercer._typing import Array, IntArray, Objects
from mercer.estimators.base import take_objects
from mercer.exceptions import MercerError
from mercer.explanations.within import Within, explain_within
from mercer.kernels.encoders import as_narwhals, is_frame
from mercer.report import table, text
from mercer.report.anatomy import Anatomy
from mercer.report.predicted import Predicted
from mercer.report.reasons import Inside

ROWS = 4
"""Rows whose letters or nodes are drawn: each takes as much of the page as all bars of a row."""
LETTERS = 480
"""Letters that are drawn, ten lines; those behind them are added up."""
NODES = 80
"""Nodes of a graph that have room beside each other; a larger one is not drawn."""


def insides(
    anatomy: Anatomy,
    answers: Predicted,
    X_test: Objects,
    shown: IntArray,
    row_names: Sequence[Any] | None,
) -> list[Inside]:
    """Return the shares of places in the answers to the first of the rows that are shown.

    None where the machine does not count what stands at the places of an object.
    """
    if not anatomy.objects_are_seen:
        return []
    rows = shown[:ROWS]
    objects = take_objects(X_test, rows)
    names = table.row_names(X_test, row_names, rows)
    found = []
    for each in _columns_within(anatomy, objects):
        for name, row, why in zip(names, rows, each, strict=True):
            inside = _inside(anatomy, answers, int(row), name, why)
            if inside is not None:
                found.append(inside)
    return found


def _columns_within(anatomy: Anatomy, objects: Objects) -> list[list[Within]]:
    """Return the shares of places of the one object of each row, or of each column with places."""
    try:
        return [explain_within(anatomy.model, objects)]
    except MercerError:
        columns = as_narwhals(objects).columns if is_frame(objects) else []
    found = []
    for column in columns:
        try:
            found.append(explain_within(anatomy.model, objects, column=column))
        except MercerError:
            continue
    return found


def _inside(
    anatomy: Anatomy, answers: Predicted, row: int, name: str, why: Within
) -> Inside | None:
    values, base = np.asarray(why.values, dtype=np.float64), np.asarray(why.base)
    winner = int(answers.winners[row])
    question = "being inside" if anatomy.one_class else "the predicted number"
    if anatomy.classes is not None:
        question = answers.names[winner]
        if values.ndim == 2:
            values, base = values[:, winner], base[winner]
        elif winner == 0:
            values, base = -values, -base
    if not len(values):
        return None
    total = float(base + values.sum())
    edges: IntArray = np.empty((0, 2), dtype=np.intp)
    layout: Array = np.empty((0, 2))
    if why.edges is not None:
        if len(values) > NODES:
            return None
        labels = [str(node) for node in range(len(values))] if why.labels is None else why.labels
        edges, layout = why.edges, graph_layout(len(values), why.edges)
    elif isinstance(why.item, str) and len(why.item) == len(values):
        labels = list(why.item)
    else:
        return None
    return Inside(
        row=name,
        question=question,
        column="" if why.column is None else text.clean(why.column, 48),
        labels=[text.clean(label, 12) for label in labels[:LETTERS]],
        values=values[:LETTERS],
        hidden=max(0, len(values) - LETTERS),
        others=float(values[LETTERS:].sum()),
        base=float(base),
        total=total,
        edges=edges,
        layout=layout,
    )
