"""Labels of which some are missing: the marks that say so, and folds that respect them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state, column_or_1d

from mercer._typing import BoolArray, IntArray, Label, Labels, Seed, Targets
from mercer.exceptions import InvalidParameter


class PartialLabels(NamedTuple):
    """Labels of which some are missing.

    Attributes
    ----------
    values : array of shape (n,)
        The labels; what stands where there is none has no meaning.
    labelled : array of int
        The points that have one.
    """

    values: Labels
    labelled: IntArray


def partial_labels(y: Targets, mark: Label) -> PartialLabels:
    """Return labels in the type of their own, whatever marks those that are missing.

    ``[0, 1, "?"]`` has the integers 0 and 1: an array of all three would have made texts of them.
    """
    kinds = "biuf"  # texts that came as objects stay so
    if isinstance(y, list | tuple) and all(np.ndim(v) == 0 for v in y):
        mixed = np.empty(len(y), object)
        mixed[:] = y
        y, kinds = mixed, "biufU"
    labels = column_or_1d(y, warn=True, dtype=object if _is_mixed(y) else None)
    labelled = np.flatnonzero(~is_marked(labels, mark))
    if labels.dtype == object and len(labelled):
        known = np.array(labels[labelled].tolist())
        if known.ndim == 1 and known.dtype.kind in kinds:
            labels = np.full(len(labels), known[0])
            labels[labelled] = known
    return PartialLabels(labels, labelled)


def is_marked(labels: Labels, mark: Label) -> BoolArray:
    """Return where labels are the mark of points without one."""
    labels = np.asarray(labels)
    if labels.dtype.kind in "US":
        # An array of texts has made a text of the mark.
        mark = str(mark)
    missing = _is_missing(mark)
    return np.array(
        [_is_missing(v) if missing else _is_same(v, mark) for v in labels.tolist()], dtype=bool
    )


def _is_missing(value: Label) -> bool:
    """Tell None, NaN and pandas' NA, which tables turn into each other."""
    return value is None or not _is_same(value, value)


def _is_same(value: Label, mark: Label) -> bool:
    try:
        return bool(value == mark)
    except TypeError:  # pandas' NA is neither like anything nor unlike it
        return False


def _is_mixed(y: Targets) -> bool:
    """Tell a column of objects, or of numbers with pandas' NA, from an array of one type."""
    kind = getattr(y, "dtype", None)
    return getattr(kind, "kind", "") == "O" or hasattr(kind, "na_value")


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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import labelled_folds
    >>> y = np.array([0, 1, 0, 1, -1, -1])  # two rows without a label
    >>> [sorted(test.tolist()) for train, test in labelled_folds(y, 2, random_state=0)]
    [[2, 3], [0, 1]]
    """
    labels, known = partial_labels(y, unlabelled)
    rest = np.setdiff1d(np.arange(len(labels)), known)
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
