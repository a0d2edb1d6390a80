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
def match(
    codes_x: Codes, codes_z: Codes, sizes_x: IntArray, sizes_z: IntArray, partner: IntArray
) -> int:
    """Write which group of z has the code of each group of x, −1 for none; count pairs of nodes."""
    pairs, h = 0, 0
    for g in range(len(codes_x)):
        while h < len(codes_z) and codes_z[h] < codes_x[g]:
            h += 1
        partner[g] = -1
        if h < len(codes_z) and codes_z[h] == codes_x[g]:
            partner[g] = h
            pairs += sizes_x[g] * sizes_z[h]
    return pairs


@jit
def most_pairs(
    trees_x: IntArray,
    trees_z: IntArray,
    group_starts_x: IntArray,
    group_starts_z: IntArray,
    codes_x: Codes,
    codes_z: Codes,
    sizes_x: IntArray,
    sizes_z: IntArray,
) -> int:
    """Return the largest number of pairs of nodes with equal codes in any two trees."""
    partner = np.empty(len(codes_x), np.int64)
    most = 0
    for x in trees_x:
        first, last = group_starts_x[x], group_starts_x[x + 1]
        for z in trees_z:
            begin, end = group_starts_z[z], group_starts_z[z + 1]
            pairs = match(
                codes_x[first:last],
                codes_z[begin:end],
                sizes_x[first:last],
                sizes_z[begin:end],
                partner,
            )
            most = max(most, pairs)
    return most


@jit
def shared_fragments(
    decay: float,
    nodes_x: IntArray,
    nodes_z: IntArray,
    child_starts_x: IntArray,
    child_starts_z: IntArray,
    children_x: IntArray,
    children_z: IntArray,
    group_x: IntArray,
    group_z: IntArray,
    member_starts_z: IntArray,
    members_z: IntArray,
    rank_z: IntArray,
    first_group_x: int,
    first_group_z: int,
    partner: IntArray,
    offset: IntArray,
    below: Array,
) -> float:
    """Return Σ C(i, j) over the pairs of nodes of two trees with equal productions.

    C(i, j) = λ Π (1 + C(children)). Values lie in ``below``: those of node i from
    ``offset[i]`` on, one for each member j of its partner group, in the order of ``rank_z``.
    """
    total, used = 0.0, 0
    first_node = nodes_x[0]
    for i in range(nodes_x[0], nodes_x[1]):
        if group_x[i] < 0:
            continue
        h = partner[group_x[i] - first_group_x]
        if h < 0:
            continue
        h += first_group_z
        offset[i - first_node] = used
        for m in range(member_starts_z[h], member_starts_z[h + 1]):
            j = members_z[m]
            value = decay
            shift = child_starts_z[j] - child_starts_x[i]
            for c in range(child_starts_x[i], child_starts_x[i + 1]):
                a, b = children_x[c], children_z[c + shift]
                if child_starts_x[a] == child_starts_x[a + 1] or group_z[b] < 0:
                    continue
                same = partner[group_x[a] - first_group_x]
                if same >= 0 and same + first_group_z == group_z[b]:
                    value *= 1.0 + below[offset[a - first_node] + rank_z[b]]
            below[used] = value
            used += 1
            total += value
    return total


@jit
def subset_trees(
    decay: float,
    trees_x: IntArray,
    trees_z: IntArray,
    diagonal: bool,
    starts_x: IntArray,
    starts_z: IntArray,
    child_starts_x: IntArray,
    child_starts_z: IntArray,
    children_x: IntArray,
    children_z: IntArray,
    group_x: IntArray,
    group_z: IntArray,
    group_starts_x: IntArray,
    group_starts_z: IntArray,
    codes_x: Codes,
    codes_z: Codes,
    sizes_x: IntArray,
    sizes_z: IntArray,
    member_starts_z: IntArray,
    members_z: IntArray,
    rank_z: IntArray,
    below: Array,
    out: Array,
) -> None:
    """Write the subset-tree kernel of all pairs, or of each tree with its own partner."""
    partner = np.empty(len(codes_x) + 1, np.int64)
    longest = 1
    for x in trees_x:
        longest = max(longest, starts_x[x + 1] - starts_x[x])
    offset = np.empty(longest, np.int64)
    for p in range(len(trees_x)):
        x = trees_x[p]
        g, g_end = group_starts_x[x], group_starts_x[x + 1]
        for q in range(len(trees_z)):
            if diagonal and p != q:
                continue
            z = trees_z[q]
            h, h_end = group_starts_z[z], group_starts_z[z + 1]
            pairs = match(
                codes_x[g:g_end], codes_z[h:h_end], sizes_x[g:g_end], sizes_z[h:h_end], partner
            )
            value = 0.0
            if pairs > 0:
                value = shared_fragments(
                    decay,
                    starts_x[x : x + 2],
                    starts_z[z : z + 2],
                    child_starts_x,
                    child_starts_z,
                    children_x,
                    children_z,
                    group_x,
                    group_z,
                    member_starts_z,
                    members_z,
                    rank_z,
                    g,
                    h,
                    partner,
                    offset,
                    below,
                )
            if diagonal:
                out[p, 0] = value
            else:
                out[p, q] = value
