"""Kernels of trees: complete subtrees, and fragments of the kind that grammars make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import _fast, _memory
from mercer._typing import Array, Index
from mercer.exceptions import InvalidParameter
from mercer.kernels.decaying import Decaying
from mercer.kernels.definite import Definite
from mercer.kernels.features import Features
from mercer.kernels.graphs.counted import CountedFeatures, counted
from mercer.kernels.graphs.graph_points import Codes, Integers
from mercer.kernels.parameters import check_number
from mercer.kernels.trees.tree_points import TreeEncoder, Trees

_LARGE = 1 << 23
"""From 8 million pairs of nodes on (64 MiB) memory is compared with what there is."""


class Subtree(CountedFeatures, Decaying):
    """Subtree kernel: complete subtrees that two trees share.

    k(x, z) = Σ_s λ^|s| n_s(x) n_s(z), n_s(x) = how many nodes of x have s below them, with |s|
    nodes in all

    A complete subtree is a node with all its descendants. ``leaves=False`` leaves single leaves
    out. With ``ordered=False`` the order of children does not matter, as in phylogenies. Trees are
    nested tuples ``("S", ("NP", "she"), "runs")``, texts in brackets or in newick.

    Parameters
    ----------
    decay : float
        λ > 0.
    leaves : bool
        Whether single leaves count.
    ordered : bool
        Whether the order of children matters.

    References
    ----------
    Vishwanathan and Smola, Fast kernels for string and tree matching, 2003.

    Examples
    --------
    >>> from mercer import Subtree
    >>> trees = ["(S (NP she) (VP runs))", "(S (VP runs) (NP she))"]
    >>> Subtree()(trees)  # NP and VP with their words, and the words
    array([[5., 4.],
           [4., 5.]])
    >>> Subtree(ordered=False)(trees)  # and the whole
    array([[5., 5.],
           [5., 5.]])
    """

    encoder = TreeEncoder()

    def __init__(self, decay: float = 1.0, *, leaves: bool = True, ordered: bool = True) -> None:
        self.decay, self.leaves, self.ordered = decay, leaves, ordered
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "decay", low=0, high=1, open_low=True)
        _check_flags(self, "leaves", "ordered")

    def phi(self, trees: Trees) -> Features:
        """Return √λ^|s| n_s of every tree, with hashed keys."""
        return self._counted(trees, False)

    def prepare_slopes(self, a: Trees, b: Trees) -> tuple[Any, Any]:
        # λ ∂k/∂λ = Σ |s| λ^|s| n_s(x) n_s(z) is a sum of products of counts too.
        return self.prepare_rows(a, b, lambda trees: self._counted(trees, True))

    def compare_slopes(self, a: Any, b: Any) -> Array:
        return self.compare(a, b)

    def own_slopes(self, a: Any) -> Array:
        return self.compare_self(a)

    def _counted(self, trees: Trees, by_size: bool) -> Features:
        """Return √λ^|s| n_s of every tree, or √|s| times that."""
        codes = np.empty(len(trees.labels), dtype=np.uint64)
        sizes = np.empty(len(codes), dtype=np.int64)
        _fast.trees.subtrees(trees.labels, *trees.children(), bool(self.ordered), codes, sizes)
        starts = trees.starts
        weights = float(self.decay) ** (sizes / 2)
        if by_size:
            weights *= np.sqrt(sizes)
        if not self.leaves:
            used = trees.arity > 0
            starts = np.concatenate([[0], np.cumsum(used)])[starts]
            codes, weights = codes[used], weights[used]
        return counted(codes[None, :], starts.astype(np.int64), weights)


class SubsetTree(Decaying):
    """Subset-tree kernel: fragments that two trees share and that respect their productions.

    k(x, z) = Σ_s λ^|s| n_s(x) n_s(z), where s are fragments in which a node has either all its
    children or none, n_s(x) counts their occurrences in x, and |s| ≥ 1 nodes of s have children

    There are too many fragments to list, so k is a sum over pairs of nodes with equal productions
    (label and labels of the children): k = Σᵢⱼ C(i, j), C(i, j) = λ Π_c (1 + C(iₖ, jₖ)) over the
    children. With ``leaves=True`` single leaves are fragments too, with weight λ. Values grow fast
    with the size of trees: use a small ``decay``, and ``.normalized()``.

    Trees are nested tuples ``("S", ("NP", "she"), "runs")``, texts in brackets or in newick.

    Parameters
    ----------
    decay : float
        λ > 0.
    leaves : bool
        Whether single leaves count.

    References
    ----------
    Collins and Duffy, Convolution kernels for natural language, 2001.

    Examples
    --------
    >>> from mercer import SubsetTree
    >>> trees = ["(S (NP she) (VP runs))", "(S (NP she) (VP sings))"]
    >>> SubsetTree(decay=1.0)(trees)  # they share NP, S, and S with NP
    array([[6., 3.],
           [3., 6.]])
    """

    definite = Definite.POSITIVE
    encoder = TreeEncoder()

    def __init__(self, decay: float = 0.4, *, leaves: bool = False) -> None:
        self.decay, self.leaves = decay, leaves
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "decay", low=0, high=1, open_low=True)
        _check_flags(self, "leaves")

    def prepare(self, a: Trees, b: Trees) -> tuple[Productions, Productions]:
        both = Productions.of(a if b is a else a.join(b), bool(self.leaves))
        left = both.take(slice(0, len(a)))
        return left, left if b is a else both.take(slice(len(a), None))

    def compare(self, a: Productions, b: Productions) -> Array:
        return self._filled(a, b, False, False)

    def compare_self(self, a: Productions) -> Array:
        return self._filled(a, a, True, False)[:, 0]

    def compare_slopes(self, a: Productions, b: Productions) -> Array:
        return self._filled(a, b, False, True)

    def own_slopes(self, a: Productions) -> Array:
        return self._filled(a, a, True, True)[:, 0]

    def _filled(self, a: Productions, b: Productions, diagonal: bool, slopes: bool) -> Array:
        """Return values or slopes of all pairs, or of each tree with itself in one column."""
        out = np.empty((len(a.trees), 1 if diagonal else len(b.trees)))
        most = int(_fast.trees.most_pairs(a.trees, b.trees, a.group_starts, a.codes, a.sizes))
        if most > _LARGE:
            _memory.require(
                8 * most,
                f"{self}: two trees with {most:,} pairs of like nodes",
                "Leave out the largest trees, or use Subtree.",
            )
        _fast.trees.subset_trees(
            float(self.decay), a.trees, b.trees, diagonal, a.starts, a.child_starts, a.children,
            a.group, a.group_starts, a.codes, a.sizes, a.member_starts, a.members, a.rank,
            np.empty(max(1, most)), np.empty(max(1, most) if slopes else 0), out,
        )  # fmt: skip
        return out


@dataclass(frozen=True, eq=False)
class Productions:
    """Trees with the nodes of each grouped by their productions.

    ``trees`` are the trees at hand; the other arrays belong to the whole batch, of both sides of a
    comparison. Groups of tree t are ``group_starts[t]`` to ``group_starts[t + 1]``, in the order of
    their ``codes``. The nodes of group g are ``members[member_starts[g] : member_starts[g + 1]]``,
    and ``rank`` says where in its group a node is. ``group`` is −1 for leaves that do not count.
    """

    trees: Integers
    starts: Integers
    child_starts: Integers
    children: Integers
    group: Integers
    group_starts: Integers
    codes: Codes
    sizes: Integers
    member_starts: Integers
    members: Integers
    rank: Integers

    @classmethod
    def of(cls, trees: Trees, leaves: bool) -> Productions:
        """Group the nodes of trees."""
        child_starts, children = trees.children()
        codes = np.empty(len(trees.labels), dtype=np.uint64)
        _fast.trees.productions(trees.labels, child_starts, children, codes)
        tree = np.repeat(np.arange(len(trees)), trees.sizes)
        nodes = np.arange(len(codes)) if leaves else np.flatnonzero(trees.arity)
        members = nodes[np.lexsort((nodes, codes[nodes], tree[nodes]))]
        new = np.ones(len(members), dtype=bool)
        new[1:] = (np.diff(tree[members]) != 0) | (codes[members][1:] != codes[members][:-1])
        firsts = np.flatnonzero(new)
        member_starts = np.append(firsts, len(members)).astype(np.int64)
        sizes = np.diff(member_starts)
        group, rank = np.full(len(codes), -1), np.zeros(len(codes), dtype=np.int64)
        group[members] = np.repeat(np.arange(len(firsts)), sizes)
        rank[members] = np.arange(len(members)) - np.repeat(firsts, sizes)
        group_starts = np.searchsorted(tree[members[firsts]], np.arange(len(trees) + 1))
        return cls(
            np.arange(len(trees)), trees.starts, child_starts, children, group, group_starts,
            codes[members[firsts]], sizes, member_starts, members, rank,
        )  # fmt: skip

    def take(self, index: Index) -> Productions:
        return replace(self, trees=self.trees[index])


def _check_flags(kernel: Any, *names: str) -> None:
    for name in names:
        value = getattr(kernel, name)
        if not isinstance(value, bool | np.bool_):
            raise InvalidParameter(
                f"{type(kernel).__name__}: {name}={value!r} has to be True or False."
            )
