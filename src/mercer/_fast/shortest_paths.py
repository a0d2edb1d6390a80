"""Shortest paths between all pairs of nodes of small graphs, as keys to be counted."""

from typing import Any

import numpy as np

from mercer._fast.jit import jit
from mercer._fast.refinement import scramble
from mercer._typing import Array

Codes = np.ndarray[Any, np.dtype[np.uint64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

_A = np.uint64(0xBF58476D1CE4E5B9)


@jit
def hop_keys(
    starts: Integers,
    labels: Codes,
    arc_starts: Integers,
    targets: Integers,
    keys: Codes,
    key_starts: Integers,
) -> None:
    """Write a key for (label, label, number of edges) of every pair of nodes that are connected."""
    filled = 0
    for g in range(starts.size - 1):
        first = starts[g]
        n = starts[g + 1] - first
        reached = np.full(n, -1, dtype=np.int64)
        steps = np.empty(n, dtype=np.int64)
        queue = np.empty(n, dtype=np.int64)
        for source in range(n):
            begin = scramble(labels[first + source])
            queue[0] = source
            reached[source] = source
            steps[source] = 0
            head, tail = 0, 1
            while head < tail:
                u = queue[head]
                head += 1
                for p in range(arc_starts[first + u], arc_starts[first + u + 1]):
                    v = targets[p]
                    if reached[v] != source:
                        reached[v] = source
                        steps[v] = steps[u] + 1
                        queue[tail] = v
                        tail += 1
                        ends = begin * _A + labels[first + v]
                        keys[filled] = scramble(scramble(ends) + np.uint64(steps[v]))
                        filled += 1
        key_starts[g + 1] = filled


@jit
def length_keys(
    starts: Integers,
    labels: Codes,
    arc_starts: Integers,
    targets: Integers,
    weights: Array,
    keys: Codes,
    lengths: Array,
    key_starts: Integers,
) -> None:
    """Write a key for (label, label) and the length of the shortest path of every pair of nodes."""
    filled = 0
    for g in range(starts.size - 1):
        first = starts[g]
        n = starts[g + 1] - first
        distance = np.empty(n)
        done = np.empty(n, dtype=np.bool_)
        for source in range(n):
            distance[:] = np.inf
            done[:] = False
            distance[source] = 0.0
            begin = scramble(labels[first + source])
            for _ in range(n):
                u = -1
                for v in range(n):
                    if not done[v] and (u < 0 or distance[v] < distance[u]):
                        u = v
                if distance[u] == np.inf:
                    break
                done[u] = True
                if u != source:
                    keys[filled] = scramble(begin * _A + labels[first + u])
                    lengths[filled] = distance[u]
                    filled += 1
                for p in range(arc_starts[first + u], arc_starts[first + u + 1]):
                    beyond = distance[u] + weights[p]
                    if beyond < distance[targets[p]]:
                        distance[targets[p]] = beyond
        key_starts[g + 1] = filled
