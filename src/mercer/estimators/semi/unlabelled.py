"""Labels of which some are missing: the marks that say so, and folds that respect them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from sklearn.utils import check_random_state

from mercer._typing import BoolArray, IntArray, Label, Labels, Seed
from mercer.exceptions import InvalidParameter


def is_marked(labels: Labels, mark: Label) -> BoolArray:
    """Return where labels are the mark of points without one."""
    labels = np.asarray(labels)
    if isinstance(mark, float) and math.isnan(mark):
        return np.array([isinstance(v, float) and math.isnan(v) for v in labels.tolist()])
    if labels.dtype.kind in "US":
        # An array of texts has made a text of the mark.
        mark = str(mark)
    return np.array([v is mark or bool(v == mark) for v in labels.tolist()], dtype=bool)


def labelled_folds(
    y: Labels, n_splits: int = 5, *, unlabelled: Label = -1, random_state: Seed = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield training and test rows of folds that test on labelled points only.

    Unlabelled points are part of every training set. Give ``list(labelled_folds(y))`` as ``cv`` to
    a search: ordinary folds would count unlabelled points as errors.

    Parameters
    ----------
    y : array of shape (n,)
        Classes, and ``unlabelled`` for points without one.
    n_splits : int
        The number of folds; classes have about equal shares in each.
    unlabelled : object
        The mark of points without a label.
    random_state : int, RandomState or None
        The shuffling.
    """
    labels = np.asarray(y)
    marked = is_marked(labels, unlabelled)
    known, rest = np.flatnonzero(~marked), np.flatnonzero(marked)
    if not 2 <= n_splits <= len(known):
        raise InvalidParameter(
            f"labelled_folds: n_splits={n_splits} has to be at least 2 and at most the "
            f"{len(known):,} labelled points."
        )
    shuffled = check_random_state(random_state).permutation(known)
    _, codes = np.unique(labels[shuffled], return_inverse=True)
    # Class by class, points are dealt to the folds in turn.
    dealt = shuffled[np.argsort(codes, kind="stable")]
    for fold in range(n_splits):
        test = np.sort(dealt[fold::n_splits])
        yield np.sort(np.concatenate([np.setdiff1d(known, test), rest])), test
