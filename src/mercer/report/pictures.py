"""Two pictures of the kernel: its matrix ordered by class, and the plane it sees most in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._typing import IntArray, Objects
from mercer.estimators.base import take_objects
from mercer.report import table
from mercer.report.anatomy import Anatomy
from mercer.report.predicted import Predicted
from mercer.report.record import GramPicture, Map
from mercer.report.sampling import sample

GRAM_ROWS = 220
"""Rows of the picture of a matrix, about one a pixel."""
MAP_ROWS = 300
"""Points of the map: enough to see groups, few enough to draw."""


def gram_picture(anatomy: Anatomy, answers: Predicted, seed: int) -> GramPicture:
    """Return the kernel matrix of a sample of training rows, sorted by group, then within it."""
    groups = answers.train_groups
    rows = sample(groups, GRAM_ROWS, seed)
    rows = rows[np.lexsort((answers.train_order[rows], groups[rows]))]
    K = anatomy.gram(rows)
    low, high = float(K.min()), float(K.max())
    span = high - low if high > low else 1.0
    present, sizes = np.unique(groups[rows], return_counts=True)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    blocks = np.add.reduceat(np.add.reduceat(K, edges[:-1], axis=0), edges[:-1], axis=1)
    return GramPicture(
        levels=np.round(255 * (K - low) / span).astype(np.uint8),
        low=low,
        high=high,
        labels=[answers.group_names[c] for c in present],
        sizes=sizes.astype(np.intp),
        means=blocks / np.outer(sizes, sizes),
        total=anatomy.rows,
        ordered_by=answers.ordered_by,
    )


def kernel_map(
    anatomy: Anatomy,
    answers: Predicted,
    X_train: Objects,
    X_test: Objects,
    shown: IntArray,
    train_names: Sequence[Any] | None,
    test_names: list[str],
    seed: int,
) -> Map:
    """Return the first two kernel principal components of training rows, with test rows in them.

    ``shown`` are the test rows, and ``test_names`` what they are called.

    The components are eigenvectors of the centred matrix K̃ = HKH of a sample; a test row x has
    the coordinates Σᵢ vᵢ k̃(xᵢ, x) / √λ. Schölkopf, Smola and Müller (1998).
    """
    groups = answers.train_groups
    rows = sample(groups, MAP_ROWS, seed)
    K = anatomy.gram(rows)
    means = K.mean(axis=0)
    centred = K - means - means[:, None] + means.mean()
    first = max(0, len(rows) - 2)
    values, vectors = eigh(centred, subset_by_index=[first, len(rows) - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    if len(values) == 1:
        values, vectors = np.append(values, 0.0), np.column_stack([vectors, np.zeros(1)])
    total = float(np.trace(centred))
    real = values > 1e-10 * max(total, 1e-300)
    # A sign that does not depend on the library of linear algebra.
    vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    scale = np.sqrt(np.where(real, values, 0.0))
    place = vectors * scale
    new = anatomy.cross(anatomy.transform(take_objects(X_test, shown)), rows)
    new = new - new.mean(axis=1, keepdims=True) - means + means.mean()
    projected = new @ (vectors * np.divide(1, scale, out=np.zeros(2), where=real))
    everything = np.vstack([place, projected])
    return Map(
        x=everything[:, 0],
        y=everything[:, 1],
        group=np.concatenate([groups[rows], answers.test_groups[shown]]).astype(np.intp),
        support=np.concatenate([_picked(anatomy, rows), np.zeros(len(projected), bool)]),
        point=np.concatenate([np.full(len(rows), -1), np.arange(len(projected))]).astype(np.intp),
        rows=table.row_names(X_train, train_names, rows) + test_names,
        groups=answers.group_names,
        ordered=answers.groups_are_ordered,
        explained=np.where(real, values, 0.0) / total if total > 0 else np.zeros(2),
        total=anatomy.rows,
    )


def _picked(anatomy: Anatomy, rows: IntArray) -> Any:
    """Return which rows are support vectors, of a machine that has such."""
    return np.isin(rows, anatomy.support) & (not anatomy.uses_all)
