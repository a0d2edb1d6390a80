"""Gap-weighted common subsequences of strings, pair by pair or written out for each string.

Pair by pair it is dynamic programming. With S_l(i, j) the weight of all common subsequences of l
letters that end in letter i of x and letter j of z, and
D_l(i, j) = Σ λ^(i − i' + j − j') S_l(i', j') over all i' ≤ i, j' ≤ j,

    S_1(i, j) = [xᵢ = zⱼ],   S_l(i, j) = [xᵢ = zⱼ] D_(l−1)(i − 1, j − 1)
    D_l(i, j) = R_l(i, j) + λ D_l(i − 1, j),   R_l(i, j) = S_l(i, j) + λ R_l(i, j − 1)

The recursion is serial along one pair and independent between pairs. So x is compared with
``LANES`` strings at once, which lie side by side (place, lane), and the innermost loops vectorise
over them. All terms are sums of positive numbers, so nothing cancels.

Few letters have few subsequences: then φ_u(x) of all u is written out string by string (``spell``).
With P_u(i) = Σ λ^(i − e) over all occurrences of u in x that end at a place e ≤ i, each with its
own gaps too,

    φ_(uc)(x) = Σ_(xᵢ = c) P_u(i − 1),   P_(uc)(i) = λ P_(uc)(i − 1) + [xᵢ = c] P_u(i − 1)
"""

import numpy as np

from mercer._fast.jit import jit
from mercer._typing import Array, IntArray

LANES = 16  # strings side by side: two vectors of eight numbers each
_FEW_LETTERS = 64  # a table with a row for each letter stays small up to so many


@jit
def compare(
    a: IntArray,
    starts: IntArray,
    lanes: IntArray,
    letters: int,
    decay: float,
    weights: Array,
    out: Array,
) -> None:
    """Write Σ_l w_l Σ_(i, j) S_l(i, j) of all strings of ``a`` and one group of lanes to ``out``.

    ``a`` holds strings one after the other, their letters numbered 0, 1 … ``letters`` − 1;
    ``lanes`` is a group of them side by side, where shorter ones end in −1. ``weights`` are those
    of the lengths 1, 2 …
    """
    k, size = len(weights), len(lanes)
    # R_1 depends on the letter of x alone: few letters are worth a table.
    few = letters <= _FEW_LETTERS
    R1 = np.empty((letters if few else 1, size))
    for letter in range(letters if few else 0):
        _decayed_matches(letter, lanes, decay, R1[letter])
    # D and R are shifted by one place: D[l - 1, j] is D_l of the place before j.
    D, R = np.empty((k, size + LANES)), np.zeros(size + LANES)
    S = np.empty(size)
    for r in range(len(starts) - 1):
        D[:] = 0.0
        S[:] = 0.0
        for i in range(starts[r], starts[r + 1]):
            letter = a[i]
            if weights[0] > 0.0:
                add_matches(letter, lanes, weights[0], S)
            # From the longest down: each level needs the one below as it was for letter i − 1.
            for level in range(k, 1, -1):
                if weights[level - 1] > 0.0:
                    add(letter, lanes, D[level - 2], weights[level - 1], S)
                if level < k:
                    _extend(letter, lanes, D[level - 2], decay, R, D[level - 1])
            if k > 1:
                if not few:
                    _decayed_matches(letter, lanes, decay, R1[0])
                _begin(R1[letter if few else 0], decay, D[0])
        for lane in range(LANES):
            total = 0.0
            for at in range(lane, size, LANES):
                total += S[at]
            out[r, lane] = total


@jit
def _decayed_matches(letter: int, lanes: IntArray, decay: float, out: Array) -> None:
    for at in range(len(lanes)):
        before = out[at - LANES] if at >= LANES else 0.0
        out[at] = decay * before + (1.0 if lanes[at] == letter else 0.0)


@jit
def add_matches(letter: int, lanes: IntArray, weight: float, S: Array) -> None:
    for at in range(len(lanes)):
        S[at] += weight if lanes[at] == letter else 0.0


@jit
def add(letter: int, lanes: IntArray, before: Array, weight: float, S: Array) -> None:
    for at in range(len(lanes)):
        s = weight * before[at]  # read in any case: a condition would keep this from vectorising
        S[at] += s if lanes[at] == letter else 0.0


@jit
def _extend(letter: int, lanes: IntArray, before: Array, decay: float, R: Array, D: Array) -> None:
    for at in range(len(lanes)):
        s = before[at]
        new = (s if lanes[at] == letter else 0.0) + decay * R[at]
        R[at + LANES] = new
        D[at + LANES] = new + decay * D[at + LANES]


@jit
def _begin(R1: Array, decay: float, D: Array) -> None:
    for at in range(len(R1)):
        D[at + LANES] = R1[at] + decay * D[at + LANES]


@jit
def layout(letters: int, roots: Array) -> tuple[IntArray, IntArray, IntArray]:
    """Return of each length: how many u have it, where their P begin, and where their φ begin."""
    k = len(roots)
    counts = np.ones(k + 1, dtype=np.int64)
    first, column = np.zeros(k + 1, dtype=np.int64), np.zeros(k + 1, dtype=np.int64)
    for level in range(1, k + 1):
        counts[level] = counts[level - 1] * letters
        first[level] = first[level - 1] + counts[level - 1]
        shown = level > 1 and roots[level - 2] > 0.0
        column[level] = column[level - 1] + (counts[level - 1] if shown else 0)
    return counts, first, column


@jit
def spell(
    codes: IntArray, starts: IntArray, letters: int, decay: float, roots: Array, out: Array
) -> None:
    """Add √w_l φ_u(x) of every string of ``codes`` to its row of ``out``, which is zero at first.

    u runs over all strings of each length l with w_l > 0, its last letter slowest; ``roots`` are
    the √w_l of the lengths 1, 2 …
    """
    k = len(roots)
    counts, first, column = layout(letters, roots)
    P = np.zeros(first[k])
    for r in range(len(starts) - 1):
        P[:] = 0.0
        P[0] = 1.0  # the empty string is everywhere and costs nothing
        for i in range(starts[r], starts[r + 1]):
            # From the longest down: each level needs the one below as it was for letter i − 1.
            for level in range(k, 0, -1):
                size, below = counts[level - 1], first[level - 1]
                root = roots[level - 1]
                if root > 0.0:
                    at = column[level] + codes[i] * size
                    for u in range(size):
                        out[r, at + u] += root * P[below + u]
                if level < k:
                    here = first[level]
                    for u in range(here, here + counts[level]):
                        P[u] *= decay
                    at = here + codes[i] * size
                    for u in range(size):
                        P[at + u] += P[below + u]


@jit
def find(
    codes: IntArray, starts: IntArray, words: IntArray, ends: IntArray, decay: float, out: Array
) -> None:
    """Write φ_u(x) of every string of ``codes`` and of every one of the ``words`` u to ``out``.

    Strings and words stand one after the other. P[l] is P_u(i) of the first l letters of u.
    """
    longest = 0
    for w in range(len(ends) - 1):
        longest = max(longest, ends[w + 1] - ends[w])
    P = np.zeros(longest + 1)
    for r in range(len(starts) - 1):
        for w in range(len(ends) - 1):
            first, size = ends[w], ends[w + 1] - ends[w]
            P[:] = 0.0
            P[0] = 1.0  # the empty string is everywhere and costs nothing
            total = 0.0
            for i in range(starts[r], starts[r + 1]):
                if codes[i] == words[first + size - 1]:
                    total += P[size - 1]
                # From the longest down: each needs the one below as it was for letter i − 1.
                for level in range(size - 1, 0, -1):
                    P[level] *= decay
                    if codes[i] == words[first + level - 1]:
                        P[level] += P[level - 1]
            out[r, w] = total
