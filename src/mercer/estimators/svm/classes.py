"""Classes: the binary problems between them, from values to classes, libsvm's coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._sklearn import ovr_decision_function
from mercer._typing import Array, IntArray, Labels, Targets
from mercer.problems.multiclass import CrammerSinger, JointMulticlass, WestonWatkins

JOINT = {"weston_watkins": WestonWatkins, "crammer_singer": CrammerSinger}
"""The joint problems by their names."""
RENAMED = {"weston-watkins": "weston_watkins", "crammer-singer": "crammer_singer"}
"""These names as they were spelt until 0.1."""


def joint_problem(multi_class: str) -> type[JointMulticlass] | None:
    """Return the joint problem of that name, old or new; None where there are binary ones."""
    return JOINT.get(RENAMED.get(multi_class, multi_class))


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """Classes in order, the number of the class of each row, and the classes as they were given."""

    classes: np.ndarray[Any, Any]
    codes: IntArray
    given: np.ndarray[Any, Any]

    @classmethod
    def of(cls, y: Targets) -> ClassLabels:
        """Read classes; there have to be two at least."""
        plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"
        labels = y if plain else column_or_1d(y, warn=True)
        if not plain:
            check_classification_targets(y)
        classes, codes = numbered(labels)
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        return cls(classes, np.asarray(codes, dtype=np.intp), labels)


def numbered(labels: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], IntArray]:
    """Return what ``np.unique`` does, without sorting where labels are whole numbers near 0."""
    if labels.dtype.kind in "iu" and labels.size:
        least, most = int(labels.min()), int(labels.max())
        if least >= 0 and most < 4 * labels.size:
            there = np.zeros(most + 1, np.bool_)
            there[labels] = True
            numbers: IntArray = np.cumsum(there) - 1
            return np.flatnonzero(there).astype(labels.dtype), numbers[labels]
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, codes


@dataclass(frozen=True, eq=False)
class BinaryPart:
    """One binary problem: its rows, their signs, and the classes below and above 0.

    The class −1 is the rest of them.
    """

    rows: IntArray
    signs: Array
    pair: tuple[int, int]


def binary_parts(
    codes: IntArray, used: IntArray, count: int, multi_class: str
) -> Sequence[BinaryPart]:
    """Return the binary problems of ``count`` classes, on the rows that are ``used``.

    The sign is +1 for the first class of a pair, except where there are two classes only: then a
    positive decision means the second one, as in scikit-learn.
    """
    if count == 2:
        return [BinaryPart(used, np.where(codes[used] == 1, 1.0, -1.0), (0, 1))]
    if multi_class == "ovr":
        return [
            BinaryPart(used, np.where(codes[used] == c, 1.0, -1.0), (-1, c)) for c in range(count)
        ]
    members = [used[codes[used] == c] for c in range(count)]
    parts = []
    for first, second in combinations(range(count), 2):
        rows = np.concatenate([members[first], members[second]])
        signs = np.ones(len(rows))
        signs[len(members[first]) :] = -1.0
        parts.append(BinaryPart(rows, signs, (second, first)))
    return parts


@dataclass(frozen=True, eq=False)
class ClassRule:
    """The classes that values of the functions decide for.

    ``multi_class="ovo"`` has a function for each pair of classes, which vote; all others have one
    for each class, the greatest of which wins. Two classes may have a single function.
    """

    classes: np.ndarray[Any, Any]
    multi_class: str
    decision_function_shape: str
    break_ties: bool

    def scores(self, values: Array) -> Array:
        """Return one score for two classes, else one for each class."""
        if len(self.classes) == 2:
            return np.asarray(values[:, 0] if values.shape[1] == 1 else values[:, 1] - values[:, 0])
        if self.multi_class == "ovo":
            return np.asarray(ovr_decision_function(values < 0, -values, len(self.classes)))
        return values

    def decision_function(self, values: Array) -> Array:
        """Return the scores, or with the shape ``"ovo"`` the values of all pairs."""
        if self.decision_function_shape == "ovo" and len(self.classes) > 2:
            return values
        return self.scores(values)

    def check_ties(self) -> None:
        """Refuse to break ties where there are none to break."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def predict(self, values: Array) -> Labels:
        """Return the class that wins, for each row of values."""
        if self.break_ties:
            self.check_ties()
        count = len(self.classes)
        if count == 2:
            return self.classes[(self.scores(values) > 0).astype(int)]
        if self.break_ties or self.multi_class != "ovo":
            return self.classes[np.argmax(self.scores(values), axis=1)]
        return self.classes[_vote(values, count)]


def _vote(values: Array, count: int) -> IntArray:
    """Return the class with most votes of the pairs; the first one where several have them."""
    votes = np.zeros((len(values), count), dtype=np.intp)
    for j, (first, second) in enumerate(combinations(range(count), 2)):
        wins = values[:, j] > 0
        votes[:, first] += wins
        votes[:, second] += ~wins
    return np.asarray(votes.argmax(axis=1))


def packed_by_class(used: Array, codes: IntArray, count: int) -> Array:
    """Pack coefficients (pairs × support) into count − 1 rows: row b − 1 of class a, row a of b."""
    packed = np.zeros((count - 1, used.shape[1]))
    of = _class_slices(codes, count)
    for j, (a, b) in enumerate(combinations(range(count), 2)):
        packed[b - 1, of[a]] = used[j, of[a]]
        packed[a, of[b]] = used[j, of[b]]
    return packed


def unpacked_by_pair(packed: Array, codes: IntArray, count: int) -> Array:
    """Return the coefficients (support × pairs) of the packed layout."""
    columns = np.zeros((packed.shape[1], count * (count - 1) // 2))
    of = _class_slices(codes, count)
    for j, (a, b) in enumerate(combinations(range(count), 2)):
        columns[of[a], j] = packed[b - 1, of[a]]
        columns[of[b], j] = packed[a, of[b]]
    return columns


def _class_slices(codes: IntArray, count: int) -> list[slice]:
    """Return where each class stands among support vectors, which are sorted by class."""
    edges = np.searchsorted(codes, np.arange(count + 1))
    return [slice(edges[c], edges[c + 1]) for c in range(count)]
