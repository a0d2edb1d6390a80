"""Trees written as text (newick, brackets) or as nested tuples, read into post-order.

Nothing here is recursive: a tree may be as deep as memory allows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from mercer._typing import Label, Object
from mercer.exceptions import InvalidInput, InvalidType

_NEWICK = re.compile(r"\s*('(?:[^']|'')*'|\[[^\]]*\]|[(),:;]|[^\s()\[\]':;,]+)")
_BRACKETS = re.compile(r"\s*([()]|[^\s()]+)")
_DEEPEST = 10_000_000
"""A text with more open brackets is refused before it fills the memory."""


class PostOrder(NamedTuple):
    """The nodes of a tree, children before parents: labels, and how many children each has."""

    labels: list[Any]
    arity: list[int]


def read_tree(tree: Object, number: int, owner: str) -> PostOrder:
    """Return the nodes of a tree in any of its forms; errors name ``owner`` and ``number``."""
    try:
        return _read_text(tree) if isinstance(tree, str) else _read_nested(tree)
    except _NotATree as error:
        kind = InvalidInput if isinstance(tree, str | tuple | list) else InvalidType
        raise kind(f"{owner}: tree {number}: {error}") from None


class _NotATree(Exception):
    """What is wrong with a tree."""


# ---- nested tuples -----------------------------------------------------------------------------


def _read_nested(tree: Object) -> PostOrder:
    found = PostOrder([], [])
    stack = [(*_split(tree), 0)]
    while stack:
        label, children, at = stack.pop()
        if at < len(children):
            stack.append((label, children, at + 1))
            stack.append((*_split(children[at]), 0))
            if len(stack) > _DEEPEST:
                raise _NotATree("a list contains itself, or the tree is too deep.")
        else:
            found.labels.append(label)
            found.arity.append(len(children))
    return found


def _split(node: Object) -> tuple[Any, Sequence[Any]]:
    """Return the label and the children of a node."""
    if callable(getattr(node, "label", None)):
        return node.label(), list(node)
    if isinstance(node, tuple | list):
        if not node:
            raise _NotATree("an empty tuple is no node. Write (label, child, …), or a label alone.")
        label, children = node[0], node[1:]
    else:
        label, children = node, ()
    if isinstance(label, bool) or not isinstance(label, str | int | float) or label != label:
        raise _NotATree(
            f"a label of type {type(label).__name__}: labels are texts or numbers. A node is "
            "(label, child, …), a leaf its label alone."
        )
    return label, children


# ---- text --------------------------------------------------------------------------------------


def _read_text(text: str) -> PostOrder:
    text = text.strip()
    if text.endswith(";"):
        return _read_newick(text)
    if not text:
        raise _NotATree("the text is empty.")
    if "(" not in text and ")" not in text:
        return PostOrder([text], [0])
    if "," in text and not re.search(r"\s", text):
        raise _NotATree(
            "a newick tree ends with ';', and a bracketed one has blanks between nodes."
        )
    return _read_brackets(text)


def _read_brackets(text: str) -> PostOrder:
    """Read (S (NP she) (VP runs)): a label after each bracket, words are leaves."""
    found = PostOrder([], [])
    open_nodes: list[list[Any]] = []
    fresh = False
    for at, token in _tokens(_BRACKETS, text):
        if found.labels and not open_nodes:
            raise _NotATree(f"text goes on after the tree ended, at character {at}.")
        if token == "(":
            open_nodes.append(["", 0])
            fresh = True
        elif token == ")":
            if not open_nodes:
                raise _NotATree(f"')' at character {at} closes nothing.")
            label, count = open_nodes.pop()
            if fresh and not label and not count:
                raise _NotATree(f"the node that ends at character {at} is empty.")
            _close(found, open_nodes, label, count)
            fresh = False
        elif not open_nodes:
            raise _NotATree(f"expected '(' at character {at}.")
        elif fresh:
            open_nodes[-1][0] = token
            fresh = False
        else:
            _close(found, open_nodes, token, 0)
    if open_nodes:
        raise _NotATree(f"{len(open_nodes)} brackets are not closed.")
    return found


def _close(found: PostOrder, open_nodes: list[list[Any]], label: Label, count: int) -> None:
    found.labels.append(label)
    found.arity.append(count)
    if open_nodes:
        open_nodes[-1][1] += 1


def _read_newick(text: str) -> PostOrder:
    """Read (A:0.1,(B,C)D:2)root; without lengths and comments."""
    found = PostOrder([], [])
    counts: list[int] = []
    label, arity, closed, length = "", 0, False, False
    for at, token in _tokens(_NEWICK, text):
        if token.startswith("["):
            continue
        if token in ",);":
            if (token == ";") != (not counts):
                raise _NotATree(f"{token!r} at character {at} does not fit the brackets.")
            found.labels.append(label)
            found.arity.append(arity)
            label, arity, closed, length = "", 0, False, False
            if token == ";":
                if text[at + 1 :].strip():
                    raise _NotATree("there is more than one tree in the text; give each its own.")
                return found
            counts[-1] += 1
            if token == ")":
                arity, closed = counts.pop(), True
        elif token == "(":
            if label or closed or length:
                raise _NotATree(f"'(' at character {at} stands behind a node.")
            counts.append(0)
        elif token == ":":
            length = True
        elif not length:
            if label:
                raise _NotATree(f"a second label {token!r} at character {at}. Put it in quotes.")
            label = token[1:-1].replace("''", "'") if token.startswith("'") else token
    raise _NotATree("it does not end.")


def _tokens(pattern: re.Pattern[str], text: str) -> Any:
    at = 0
    while at < len(text):
        found = pattern.match(text, at)
        if found is None:
            if not text[at:].strip():
                return
            raise _NotATree(f"cannot be read from character {at} on: {text[at : at + 12]!r}.")
        yield found.start(1), found.group(1)
        at = found.end()
