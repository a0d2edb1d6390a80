"""Trees: productions, codes of complete subtrees, and the subset-tree recursion.

Nodes of a batch lie in one list, children before their parents; node i has the children
``children[child_starts[i] : child_starts[i + 1]]``.
"""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

Codes = Any

_A = np.uint64(0x9FB21C651E98DF25)
_B = np.uint64(0xD6E8FEB86659FD93)
_C = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@jit
def combine(first: Any, second: Any) -> Any:
    """Hash two 64-bit codes into one; the order matters."""
    mixed = (first ^ (first >> _SHIFT)) * _A + second + _C
    mixed = (mixed ^ (mixed >> _SHIFT)) * _B
    return mixed ^ (mixed >> _SHIFT)


@jit
def link(arity: IntArray, child_starts: IntArray, children: IntArray) -> None:
    """Fill in the children of nodes in post-order, given how many each has."""
    waiting = np.empty(len(arity), np.int64)
    count = 0
    child_starts[0] = 0
    for i in range(len(arity)):
        first = child_starts[i]
        child_starts[i + 1] = first + arity[i]
        count -= arity[i]
        for c in range(arity[i]):
            children[first + c] = waiting[count + c]
        waiting[count] = i
        count += 1


@jit
def productions(labels: Codes, child_starts: IntArray, children: IntArray, out: Codes) -> None:
    """Write a code for the label of each node with those of its children, in order."""
    for i in range(len(labels)):
        code = combine(labels[i], np.uint64(child_starts[i + 1] - child_starts[i]))
        for c in range(child_starts[i], child_starts[i + 1]):
            code = combine(code, labels[children[c]])
        out[i] = code


@jit
def subtrees(
    labels: Codes,
    child_starts: IntArray,
    children: IntArray,
    ordered: bool,
    out: Codes,
    sizes: IntArray,
) -> None:
    """Write a code for the complete subtree under each node, and its number of nodes."""
    widest = 0
    for i in range(len(labels)):
        widest = max(widest, child_starts[i + 1] - child_starts[i])
    codes = np.empty(widest, np.uint64)
    for i in range(len(labels)):
        count = child_starts[i + 1] - child_starts[i]
        size = 1
        for c in range(count):
            child = children[child_starts[i] + c]
            codes[c] = out[child]
            size += sizes[child]
        if not ordered:
            codes[:count].sort()
        code = combine(labels[i], np.uint64(count))
        for c in range(count):
            code = combine(code, codes[c])
        out[i] = code
        sizes[i] = size


@jit
def match(codes: Codes, sizes: IntArray, x: IntArray, z: IntArray, partner: IntArray) -> int:
    """Write which group of tree z has the code of each group of x, −1 for none; count pairs.

    ``x`` and ``z`` are where the groups of the two trees begin and end.
    """
    pairs, h = 0, z[0]
    for g in range(x[0], x[1]):
        while h < z[1] and codes[h] < codes[g]:
            h += 1
        partner[g] = -1
        if h < z[1] and codes[h] == codes[g]:
            partner[g] = h
            pairs += sizes[g] * sizes[h]
    return pairs


@jit
def most_pairs(
    left: IntArray, right: IntArray, group_starts: IntArray, codes: Codes, sizes: IntArray
) -> int:
    """Return the largest number of pairs of nodes with equal codes in any two trees."""
    partner = np.empty(len(codes), np.int64)
    most = 0
    for x in left:
        for z in right:
            groups = group_starts[x : x + 2], group_starts[z : z + 2]
            most = max(most, match(codes, sizes, *groups, partner))
    return most


@jit
def shared_fragments(
    decay: float,
    nodes: IntArray,
    child_starts: IntArray,
    children: IntArray,
    group: IntArray,
    member_starts: IntArray,
    members: IntArray,
    rank: IntArray,
    partner: IntArray,
    offset: IntArray,
    below: Array,
    slopes: Array,
) -> float:
    """Return Σ C(i, j) over the pairs of nodes of two trees with equal productions.

    C(i, j) = λ Π (1 + C(children)). Where ``slopes`` has room, it is λ times the derivative, with
    λ ∂C/∂λ = C (1 + Σ λ ∂C/∂λ(children)/(1 + C(children))).

    ``nodes`` is where those of the first tree begin and end. Values lie in ``below``: those of
    node i from ``offset[i]`` on, one for each member j of its partner group, in the order of
    ``rank``.
    """
    total, used, with_slopes = 0.0, 0, len(slopes) > 0
    for i in range(nodes[0], nodes[1]):
        if group[i] < 0:
            continue
        h = partner[group[i]]
        if h < 0:
            continue
        offset[i] = used
        for m in range(member_starts[h], member_starts[h + 1]):
            j = members[m]
            value, slope = decay, 1.0
            shift = child_starts[j] - child_starts[i]
            for c in range(child_starts[i], child_starts[i + 1]):
                a, b = children[c], children[c + shift]
                if child_starts[a] == child_starts[a + 1] or group[b] < 0:
                    continue
                if partner[group[a]] == group[b]:
                    at = offset[a] + rank[b]
                    value *= 1.0 + below[at]
                    if with_slopes:
                        slope += slopes[at] / (1.0 + below[at])
            below[used] = value
            if with_slopes:
                slopes[used] = value * slope
            total += value * slope if with_slopes else value
            used += 1
    return total


@jit
def subset_trees(
    decay: float,
    left: IntArray,
    right: IntArray,
    diagonal: bool,
    starts: IntArray,
    child_starts: IntArray,
    children: IntArray,
    group: IntArray,
    group_starts: IntArray,
    codes: Codes,
    sizes: IntArray,
    member_starts: IntArray,
    members: IntArray,
    rank: IntArray,
    below: Array,
    slopes: Array,
    out: Array,
) -> None:
    """Write the subset-tree kernel of all pairs, or of each tree with its own partner.

    Where ``slopes`` has as much room as ``below``, it is λ times the derivative of the kernel.
    """
    partner, offset = np.empty(len(codes), np.int64), np.empty(len(group), np.int64)
    for p in range(len(left)):
        x = left[p]
        for q in range(len(right)):
            if diagonal and p != q:
                continue
            z = right[q]
            value = 0.0
            groups = group_starts[x : x + 2], group_starts[z : z + 2]
            if match(codes, sizes, *groups, partner) > 0:
                value = shared_fragments(
                    decay,
                    starts[x : x + 2],
                    child_starts,
                    children,
                    group,
                    member_starts,
                    members,
                    rank,
                    partner,
                    offset,
                    below,
                    slopes,
                )
            out[p, 0 if diagonal else q] = value
