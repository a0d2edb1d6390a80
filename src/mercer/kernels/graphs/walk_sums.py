"""Sums over the walks of graphs: how fast walks grow, and three ways to add them up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import Array, Index
from mercer.exceptions import InvalidInput
from mercer.kernels.graphs.graph_points import Graphs, Integers, parts_of

STEPS = 8
"""Walks of so many steps are counted to bound the growth of longer ones."""

_TOLERANCE = 1e-13
"""Relative accuracy of a solved system, a few hundred roundings of float64."""
_PAIRS_A_TASK = 64
"""Pairs of graphs for each task of a thread: enough that handing over does not count."""
_ROOT_TOLERANCE = 1e-10
"""Relative accuracy of the largest eigenvalue, which only bounds the decay."""


@dataclass(frozen=True, eq=False)
class Walks:
    """Graphs whose nodes are sorted by label, with what is known of the growth of their walks."""

    graphs: Graphs
    numbers: Integers

    @classmethod
    def of(cls, graphs: Graphs) -> Walks:
        """Prepare a batch of graphs."""
        return cls(_sorted_by_label(graphs), np.arange(len(graphs)))

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, index: Index) -> Walks:
        """Return some of the graphs, which stay where they are."""
        part = replace(self, numbers=self.numbers[index])
        part.__dict__["symmetric"] = self.symmetric
        return part

    def beside(self, other: Walks) -> tuple[Walks, Walks]:
        """Return two batches as parts of one, as comparisons take them."""
        if other is self:
            return self, self
        graphs, n = self.graphs.join(other.graphs), len(self)
        both = Walks(graphs, np.arange(len(graphs)))
        return both.take(slice(0, n)), both.take(slice(n, None))

    # ---- growth ------------------------------------------------------------------------------

    @cached_property
    def unlabelled(self) -> bool:
        """Whether no node and no edge has a label."""
        return not self.graphs.labels.any() and not self.graphs.edge_labels.any()

    @cached_property
    def symmetric(self) -> bool:
        """Whether all edges lead both ways."""
        return bool(self.graphs.symmetric().all())

    @property
    def has_spectrum(self) -> bool:
        """Whether the walks of all graphs follow from the eigenvalues of each alone."""
        return self.unlabelled and self.symmetric

    @cached_property
    def growth(self) -> tuple[Array, Array]:
        """R and C of each graph: no node has more than C·Rᵏ walks of k steps, whatever k is."""
        rates, excess = np.empty(len(self.graphs)), np.empty(len(self.graphs))
        _fast.walks.growth(*_shape(self.graphs), STEPS, rates, excess)
        return rates, excess

    @property
    def root_bounds(self) -> Array:
        """An upper bound of the growth rate of the walks that each graph shares with itself."""
        # Rounding must not turn the bound into less than one.
        return np.asarray(self.growth[0] ** 2 * (1 + 1e-12))

    def root(self, number: int) -> float:
        """Return the growth rate ρ(A×) of the walks that one graph shares with itself."""
        graph = self.graphs.take(np.array([number]))
        if self.has_spectrum:
            values = np.linalg.eigvalsh(graph.adjacency(0))
            return float(np.abs(values).max(initial=0.0)) ** 2
        if not graph.labels.any() and not graph.edge_labels.any():
            return _perron_root(graph.arc_starts, graph.targets, graph.weights) ** 2
        return _perron_root(*_fast.walks.product_graph(graph.starts, graph.starts, *_arcs(graph)))

    # ---- values ------------------------------------------------------------------------------

    def counts(self, decay: float, lengths: int) -> WalkCounts:
        """Return λ^(l/2) times the number of walks of l steps of each graph, for all l."""
        out = np.empty((len(self), lengths))
        _fast.walks.walk_counts(*_shape(self.graphs), math.sqrt(decay), out)
        return WalkCounts(out)

    def spectra(self) -> Spectra:
        """Return the eigenvalues of each graph with the squared lengths of 1 along them."""
        sizes = self.graphs.sizes
        values: list[Any] = [None] * len(self)
        masses: list[Any] = [None] * len(self)

        def task(members: Any) -> None:
            stack = np.stack([self.graphs.adjacency(i) for i in members])
            w, U = np.linalg.eigh(stack)
            for at, i in enumerate(members):
                values[i], masses[i] = w[at], U[at].sum(axis=0) ** 2

        batches = []
        for n in np.unique(sizes):
            members = np.flatnonzero(sizes == n)
            batches += np.array_split(members, -(-len(members) // 16))
        _parallel.run(task, batches, _parallel.thread_count())
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return Spectra(starts, np.concatenate(values), np.concatenate(masses))

    def compare(self, other: Walks, decay: float) -> Array:
        """Return the sums over the walks of all pairs."""
        return self._of_pairs(other, decay, False)

    def slopes_with(self, other: Walks, decay: float) -> Array:
        """Return λ times the derivative of these sums: longer walks count once for each step."""
        return self._of_pairs(other, decay, True)

    def _of_pairs(self, other: Walks, decay: float, slopes: bool) -> Array:
        n, m = len(self), len(other)
        rows, columns = np.divmod(np.arange(n * m), max(1, m))
        # Where both sides are the same graphs, each pair is computed once.
        same = np.array_equal(self.numbers, other.numbers)
        if same:
            rows, columns = np.triu_indices(n)
        values = self._sums(self.numbers[rows], other.numbers[columns], decay, slopes)
        out = np.empty((n, m))
        out[rows, columns] = values
        if same:
            out[columns, rows] = values
        return out

    def compare_self(self, decay: float) -> Array:
        """Return the sums over the walks of each graph with itself."""
        return self._sums(self.numbers, self.numbers, decay, False)

    def own_slopes(self, decay: float) -> Array:
        """Return λ times the derivative of the sums of each graph with itself."""
        return self._sums(self.numbers, self.numbers, decay, True)

    def _sums(self, left: Integers, right: Integers, decay: float, slopes: bool) -> Array:
        out = np.empty(len(left))
        graphs = self.graphs.starts, *_arcs(self.graphs)

        def task(first: int) -> None:
            part = slice(first, first + _PAIRS_A_TASK)
            _parallel.check_stopped()
            status = _fast.walks.product_sums(
                left[part], right[part], *graphs, self.symmetric, decay, _TOLERANCE, slopes,
                out[part],
            )  # fmt: skip
            if status != _fast.walks.CONVERGED:
                raise InvalidInput(
                    f"RandomWalk: decay={decay!r} lies so near the limit for these graphs that the "
                    "sum over all walks cannot be computed. Choose a smaller one."
                )

        _parallel.run(task, range(0, len(left), _PAIRS_A_TASK), _parallel.thread_count())
        return out


@dataclass(frozen=True, eq=False)
class WalkCounts:
    """Weighted numbers of walks of graphs without labels, by their length."""

    values: Array

    def take(self, index: Index) -> WalkCounts:
        return WalkCounts(self.values[index])

    def compare(self, other: WalkCounts, decay: float) -> Array:
        """Return the sums over the walks of all pairs; the decay is in the counts."""
        return np.asarray(self.values @ other.values.T)

    def compare_self(self, decay: float) -> Array:
        return np.asarray((self.values**2).sum(axis=1))

    def slopes_with(self, other: WalkCounts, decay: float) -> Array:
        """Return λ times the derivative of all sums: walks of l steps count l times."""
        return np.asarray((self._steps * self.values) @ other.values.T)

    def own_slopes(self, decay: float) -> Array:
        return np.asarray((self._steps * self.values**2).sum(axis=1))

    @property
    def _steps(self) -> Array:
        return np.arange(self.values.shape[1], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Spectra:
    """Eigenvalues of graphs, and how much of the vector 1 lies along each eigenvector."""

    starts: Integers
    values: Array
    masses: Array

    def take(self, index: Index) -> Spectra:
        at, starts = parts_of(self.starts, np.arange(len(self.starts) - 1)[index])
        return Spectra(starts, self.values[at], self.masses[at])

    def compare(self, other: Spectra, decay: float) -> Array:
        return self._summed(other, decay, _fast.walks.spectral_sums)

    def slopes_with(self, other: Spectra, decay: float) -> Array:
        """Return λ times the derivative of all sums."""
        return self._summed(other, decay, _fast.walks.spectral_slopes)

    def _summed(self, other: Spectra, decay: float, fill: Callable[..., None]) -> Array:
        out = np.empty((len(self.starts) - 1, len(other.starts) - 1))
        fill(
            self.starts,
            self.values,
            self.masses,
            other.starts,
            other.values,
            other.masses,
            decay,
            out,
        )
        return out

    def compare_self(self, decay: float) -> Array:
        return np.array([one.compare(one, decay)[0, 0] for one in self._singles()])

    def own_slopes(self, decay: float) -> Array:
        return np.array([one.slopes_with(one, decay)[0, 0] for one in self._singles()])

    def _singles(self) -> list[Spectra]:
        return [self.take(slice(i, i + 1)) for i in range(len(self.starts) - 1)]


def _shape(graphs: Graphs) -> tuple[Any, Any, Any, Any]:
    return graphs.starts, graphs.arc_starts, graphs.targets, graphs.weights


def _arcs(graphs: Graphs) -> tuple[Any, Any, Any, Any, Any]:
    return graphs.labels, graphs.arc_starts, graphs.targets, graphs.weights, graphs.edge_labels


def _sorted_by_label(graphs: Graphs) -> Graphs:
    """Return the same graphs, with the nodes of each in the order of their labels."""
    if not graphs.labels.any():
        return graphs
    graph = np.repeat(np.arange(len(graphs)), graphs.sizes)
    order = np.lexsort((graphs.labels, graph))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    sources, targets = rank[graphs.sources], rank[graphs.global_targets]
    arcs = np.lexsort((targets, sources))
    counts = np.bincount(sources, minlength=len(order))
    return Graphs(
        graphs.starts,
        graphs.labels[order],
        np.concatenate([[0], np.cumsum(counts)]),
        (targets - graphs.starts[graph[graphs.sources]])[arcs],
        graphs.weights[arcs],
        graphs.edge_labels[arcs],
    )


def _perron_root(starts: Integers, ends: Integers, weights: Array) -> float:
    """Return the spectral radius of a sparse matrix without negative entries."""
    if not len(ends):
        return 0.0
    n = len(starts) - 1
    matrix = sparse.csr_array((weights, ends, starts), shape=(n, n), copy=True)
    # SciPy's search for parts never ends where a row names a column twice, as parallel arcs do.
    matrix.sum_duplicates()
    _, parts = sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    root: float = _fast.walks.perron_root(
        starts, ends, weights, parts.astype(np.int64), _ROOT_TOLERANCE
    )
    return root
