"""How the weights of common subsequences change with the decay λ.

A dash is λ ∂/∂λ. The recursions of :mod:`mercer._fast.subsequences`, differentiated:

    S'_l(i, j) = [xᵢ = zⱼ] D'_(l−1)(i − 1, j − 1)
    D'_l(i, j) = R'_l(i, j) + λ (D_l + D'_l)(i − 1, j)
    R'_l(i, j) = S'_l(i, j) + λ (R_l + R'_l)(i, j − 1)
    P'_(uc)(i) = λ (P_(uc) + P'_(uc))(i − 1) + [xᵢ = c] P'_u(i − 1)

All terms are sums of positive numbers, so nothing cancels here either.
"""

import numpy as np

from mercer._fast.jit import jit
from mercer._fast.subsequences import LANES, add, add_matches, layout
from mercer._typing import Array, IntArray


@jit
def compare(
    a: IntArray,
    starts: IntArray,
    lanes: IntArray,
    decay: float,
    weights: Array,
    changes: Array,
    out: Array,
) -> None:
    """Write Σ_l Σ_(i, j) (w_l S'_l + w'_l S_l)(i, j) of all strings of ``a`` and a group of lanes.

    Strings lie as values take them; ``changes`` are the w'_l.
    """
    k, size = len(weights), len(lanes)
    # D and R are shifted by one place: D[l - 1, j] is D_l of the place before j.
    D, R = np.empty((k, size + LANES)), np.zeros(size + LANES)
    D_slope, R_slope = np.empty((k, size + LANES)), np.zeros(size + LANES)
    total = np.empty(size)
    for r in range(len(starts) - 1):
        D[:] = 0.0
        D_slope[:] = 0.0
        total[:] = 0.0
        for i in range(starts[r], starts[r + 1]):
            letter = a[i]
            # From the longest down: each level needs the one below as it was for letter i − 1.
            for level in range(k, 1, -1):
                if weights[level - 1] > 0.0:
                    below, slope_below = D[level - 2], D_slope[level - 2]
                    add(letter, lanes, below, changes[level - 1], total)
                    add(letter, lanes, slope_below, weights[level - 1], total)
                if level < k:
                    _extend(
                        letter, lanes, D[level - 2], D_slope[level - 2], decay,
                        R, R_slope, D[level - 1], D_slope[level - 1],
                    )  # fmt: skip
            if changes[0] > 0.0:
                add_matches(letter, lanes, changes[0], total)
            if k > 1:
                _begin(letter, lanes, decay, R, R_slope, D[0], D_slope[0])
        for lane in range(LANES):
            found = 0.0
            for at in range(lane, size, LANES):
                found += total[at]
            out[r, lane] = found


@jit
def _extend(
    letter: int,
    lanes: IntArray,
    before: Array,
    slope_before: Array,
    decay: float,
    R: Array,
    R_slope: Array,
    D: Array,
    D_slope: Array,
) -> None:
    for at in range(len(lanes)):
        s, t = before[at], slope_before[at]
        match = lanes[at] == letter
        new = (s if match else 0.0) + decay * R[at]
        slope = (t if match else 0.0) + decay * (R[at] + R_slope[at])
        R[at + LANES], R_slope[at + LANES] = new, slope
        D_slope[at + LANES] = slope + decay * (D[at + LANES] + D_slope[at + LANES])
        D[at + LANES] = new + decay * D[at + LANES]


@jit
def _begin(
    letter: int, lanes: IntArray, decay: float, R: Array, R_slope: Array, D: Array, D_slope: Array
) -> None:
    for at in range(len(lanes)):
        new = (1.0 if lanes[at] == letter else 0.0) + decay * R[at]
        slope = decay * (R[at] + R_slope[at])
        R[at + LANES], R_slope[at + LANES] = new, slope
        D_slope[at + LANES] = slope + decay * (D[at + LANES] + D_slope[at + LANES])
        D[at + LANES] = new + decay * D[at + LANES]


@jit
def spell(
    codes: IntArray,
    starts: IntArray,
    letters: int,
    decay: float,
    roots: Array,
    changes: Array,
    out: Array,
) -> None:
    """Add (√w_l φ_u)'(x) of every string of ``codes`` to its row of ``out``, zero at first.

    The columns are those of the values; ``changes`` are the (√w_l)'.
    """
    k = len(roots)
    counts, first, column = layout(letters, roots)
    P, slopes = np.zeros(first[k]), np.zeros(first[k])
    for r in range(len(starts) - 1):
        P[:] = 0.0
        slopes[:] = 0.0
        P[0] = 1.0  # the empty string is everywhere and costs nothing
        for i in range(starts[r], starts[r + 1]):
            # From the longest down: each level needs the one below as it was for letter i − 1.
            for level in range(k, 0, -1):
                size, below = counts[level - 1], first[level - 1]
                root, change = roots[level - 1], changes[level - 1]
                if root > 0.0:
                    at = column[level] + codes[i] * size
                    for u in range(size):
                        out[r, at + u] += root * slopes[below + u] + change * P[below + u]
                if level < k:
                    here = first[level]
                    for u in range(here, here + counts[level]):
                        slopes[u] = decay * (P[u] + slopes[u])
                        P[u] *= decay
                    at = here + codes[i] * size
                    for u in range(size):
                        slopes[at + u] += slopes[below + u]
                        P[at + u] += P[below + u]


@jit
def find(
    codes: IntArray, starts: IntArray, words: IntArray, ends: IntArray, decay: float, out: Array
) -> None:
    """Write φ'_u(x) of every string of ``codes`` and of every one of the ``words`` u to ``out``."""
    longest = 0
    for w in range(len(ends) - 1):
        longest = max(longest, ends[w + 1] - ends[w])
    P, slopes = np.zeros(longest + 1), np.zeros(longest + 1)
    for r in range(len(starts) - 1):
        for w in range(len(ends) - 1):
            first, size = ends[w], ends[w + 1] - ends[w]
            P[:] = 0.0
            slopes[:] = 0.0
            P[0] = 1.0  # the empty string is everywhere and costs nothing
            total = 0.0
            for i in range(starts[r], starts[r + 1]):
                if codes[i] == words[first + size - 1]:
                    total += slopes[size - 1]
                # From the longest down: each needs the one below as it was for letter i − 1.
                for level in range(size - 1, 0, -1):
                    slopes[level] = decay * (P[level] + slopes[level])
                    P[level] *= decay
                    if codes[i] == words[first + level - 1]:
                        slopes[level] += slopes[level - 1]
                        P[level] += P[level - 1]
            out[r, w] = total
