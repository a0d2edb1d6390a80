"""Naive references for kernels of trees: every fragment is written down and counted."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from mercer._typing import Object, Objects
from mercer.kernels.trees.subtrees import SubsetTree, Subtree

Node = tuple[Any, ...]


def naive_tree(tree: Object) -> Node:
    """Return a tree as nested tuples in which leaves are tuples too."""
    if isinstance(tree, Mapping):  # a row of a table
        tree = next(iter(tree.values()))
    if isinstance(tree, str):
        return _newick(tree.strip()) if tree.strip().endswith(";") else _brackets(tree)
    return _tuples(tree)


def _tuples(tree: Object) -> Node:
    if isinstance(tree, tuple | list):
        return (tree[0], *(_tuples(child) for child in tree[1:]))
    return (tree,)


def _brackets(text: str) -> Node:
    tokens = re.findall(r"[()]|[^\s()]+", text)
    if len(tokens) == 1 or "(" not in tokens:
        return (text.strip(),)

    def node() -> Node:
        if tokens.pop(0) == "(":
            label = "" if tokens[0] == "(" else tokens.pop(0)
            children = []
            while tokens[0] != ")":
                children.append(node() if tokens[0] == "(" else (tokens.pop(0),))
            tokens.pop(0)
            return (label, *children)
        raise ValueError(text)

    return node()


def _newick(text: str) -> Node:
    """Cut at the commas of the outermost brackets; for labels without quotes."""
    text = re.sub(r":[^,();]*", "", text.rstrip(";"))
    close = text.rfind(")")
    if close < 0:
        return (text,)
    parts, depth, last = [], 0, 1
    for i, letter in enumerate(text[: close + 1]):
        depth += (letter == "(") - (letter == ")")
        if (letter == "," and depth == 1) or i == close:
            parts.append(text[last:i])
            last = i + 1
    return (text[close + 1 :], *(_newick(part) for part in parts))


def nodes(tree: Node) -> list[Node]:
    """Return all complete subtrees, one for each node."""
    return [tree, *(below for child in tree[1:] for below in nodes(child))]


def unordered(tree: Node) -> Node:
    """Return a tree with its children in a canonical order."""
    return (tree[0], *sorted((unordered(child) for child in tree[1:]), key=repr))


def rooted_fragments(tree: Node) -> list[Node]:
    """Return every fragment that begins at the root and expands it."""
    if len(tree) == 1:
        return []
    choices = [[(child[0], "…"), *rooted_fragments(child)] for child in tree[1:]]
    return [(tree[0], *chosen) for chosen in itertools.product(*choices)]


def naive_subtree(
    kernel: Subtree, x: Object, z: Object, same: bool = False, training: Objects = None
) -> float:
    """Return k(x, z) of :class:`Subtree`."""
    counts = []
    for tree in (x, z):
        whole = naive_tree(tree)
        found = nodes(whole if kernel.ordered else unordered(whole))
        counts.append(Counter(s for s in found if kernel.leaves or len(s) > 1))
    return math.fsum(
        kernel.decay ** len(nodes(s)) * count * counts[1][s] for s, count in counts[0].items()
    )


def naive_subset_tree(
    kernel: SubsetTree, x: Object, z: Object, same: bool = False, training: Objects = None
) -> float:
    """Return k(x, z) of :class:`SubsetTree`."""
    counts = []
    for tree in (x, z):
        found = nodes(naive_tree(tree))
        counts.append(Counter(f for node in found for f in rooted_fragments(node)))
        if kernel.leaves:
            counts[-1].update(node for node in found if len(node) == 1)
    return math.fsum(
        kernel.decay ** max(1, _expanded(s)) * count * counts[1][s]
        for s, count in counts[0].items()
    )


def _expanded(fragment: Node) -> int:
    """Return how many nodes of a fragment have their children."""
    if len(fragment) == 1 or fragment[1:] == ("…",):
        return 0
    return 1 + sum(_expanded(child) for child in fragment[1:])


FORMULAS: dict[type, Any] = {SubsetTree: naive_subset_tree, Subtree: naive_subtree}
