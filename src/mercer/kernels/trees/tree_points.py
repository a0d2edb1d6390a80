"""Trees as points: a batch of ordered, labelled trees in plain arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from mercer import _fast
from mercer._files.fields import Numbers, State, WrongState
from mercer._typing import Index, Objects
from mercer.exceptions import InvalidInput, InvalidType
from mercer.kernels.encoders import CategoryEncoder, Encoder, is_missing
from mercer.kernels.graphs.graph_points import Codes, Integers, parts_of
from mercer.kernels.tables.columns import single_column
from mercer.kernels.trees.tree_text import read_tree


@dataclass(frozen=True, eq=False)
class Trees:
    """A batch of trees in one list of nodes, each tree in post-order, so that its root is last.

    Tree t has the nodes ``starts[t]`` to ``starts[t + 1]``; ``arity`` says how many children a node
    has, which determines the tree. Labels are 64-bit codes that depend on the label alone.
    """

    starts: Integers
    labels: Codes
    arity: Integers

    STATE: ClassVar[State] = {
        "starts": Numbers("trees", types="i", low=0),
        "labels": Numbers("nodes", types="u"),
        "arity": Numbers("nodes", types="i", low=0),
    }

    def check_state(self) -> None:
        """Raise :class:`WrongState` unless the nodes are whole trees."""
        if any(part.dtype.itemsize != 8 for part in (self.starts, self.labels, self.arity)):
            raise WrongState("its numbers have not 64 bits")
        if not len(self.starts) or not self.are_whole():
            raise WrongState("its nodes are no trees")

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> Integers:
        """The number of nodes of each tree."""
        return np.diff(self.starts)

    def take(self, index: Index) -> Trees:
        nodes, starts = parts_of(self.starts, np.arange(len(self))[index])
        return Trees(starts, self.labels[nodes], self.arity[nodes])

    def join(self, other: Trees) -> Trees:
        return Trees(
            np.concatenate([self.starts, other.starts[1:] + self.starts[-1]]),
            np.concatenate([self.labels, other.labels]),
            np.concatenate([self.arity, other.arity]),
        )

    def are_whole(self) -> bool:
        """Tell whether the arrays describe trees: every node but a root has one parent."""
        if self.starts[0] != 0 or self.starts[-1] != len(self.labels) or (self.sizes < 1).any():
            return False
        if (self.arity < 0).any() or (self.arity > len(self.arity)).any():
            return False
        # A node takes its children from those that wait and waits itself.
        waiting = np.cumsum(1 - self.arity) - np.repeat(np.arange(len(self)), self.sizes)
        return bool((waiting >= 1).all() and (waiting[self.starts[1:] - 1] == 1).all())

    def children(self) -> tuple[Integers, Integers]:
        """Return where the children of each node begin in a list, and that list."""
        begins = np.empty(len(self.arity) + 1, dtype=np.int64)
        children = np.empty(int(self.arity.sum()), dtype=np.int64)
        _fast.trees.link(self.arity, begins, children)
        return begins, children


@dataclass(frozen=True)
class TreeEncoder(Encoder):
    """Trees: nested tuples, texts in newick or in brackets, one for each object."""

    makes = Trees

    stand_in = "-"

    def encode(self, X: Objects, owner: str) -> Trees:
        rows = list(_rows(X, owner))
        for number, row in enumerate(rows):
            if row is None or (isinstance(row, float) and is_missing(row)):
                raise InvalidInput(f"{owner}: tree {number} is missing. Fill it in or drop it.")
        trees = [read_tree(row, number, owner) for number, row in enumerate(rows)]
        known: dict[Any, int] = {}
        # 1 and 1.0 are one label, and "1" is another.
        at = [known.setdefault(label, len(known)) for tree in trees for label in tree.labels]
        distinct = np.empty((len(known), 1), dtype=object)
        distinct[:, 0] = list(known)
        codes = CategoryEncoder().encode(distinct, owner).codes[:, 0]
        sizes = [len(tree.labels) for tree in trees]
        return Trees(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            codes[np.array(at, dtype=np.int64)],
            np.array([count for tree in trees for count in tree.arity], dtype=np.int64),
        )


def _rows(X: Objects, owner: str) -> Iterable[Any]:
    if sparse.issparse(X):
        raise InvalidType(f"{owner}: expected trees, got a sparse matrix of numbers.")
    remedy = f"Give a list of trees, or choose a column, as in {owner}().on('tree')."
    items = single_column(X, owner, "trees", remedy)
    return cast(Iterable[Any], items.tolist() if isinstance(items, np.ndarray) else items)
