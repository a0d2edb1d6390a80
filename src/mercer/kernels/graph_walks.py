"""The random-walk kernel of graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from scipy import sparse

from mercer import _fast, _parallel
from mercer._typing import Array, Index
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.base import Kernel
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder
from mercer.kernels.graph_encoder import GraphEncoder
from mercer.kernels.graph_points import Graphs, Integers
from mercer.kernels.graphs import check_names, check_weights
from mercer.kernels.parameters import check_number

_TOLERANCE = 1e-13
_PAIRS_A_TASK = 64
_ROOT_TOLERANCE = 1e-10
_NEGLIGIBLE = 1e-17
_STEPS = 8
_COUNTABLE = 0.95


class RandomWalk(Kernel):
    """Random-walk kernel: walks that two graphs have in common, longer ones counting less.

    k(x, z) = 1ᵀ(I − λ A×)⁻¹1 = Σ_{l=0,1,…} λˡ · (common walks of l steps), λ = ``decay``

    A× is the adjacency matrix of the product graph, whose nodes are the pairs of a node of x and
    a node of z with the same label, and whose arcs are pairs of arcs with the same label. Weights
    of edges multiply along a walk. Where no graph has labels, the walks of each are counted by
    itself; near the limit below, one eigendecomposition of each symmetric graph serves all pairs.
    Otherwise the equations of the product graph are solved by conjugate gradients.

    The sum is finite for λ < 1/ρ(A×) only: a larger ``decay`` is refused, and ``largest_decay``
    tells where the limit is. ``degree_normalized=True`` divides the weight of an arc by the roots
    of the weights that leave its source and enter its target; then every λ < 1 is valid, for any
    graph that may come.

    ``label``, ``edge_label`` and ``weight`` name the attributes of networkx graphs; None ignores
    labels or weights, whatever the form of the graphs.

    References
    ----------
    Gärtner, Flach and Wrobel, On graph kernels: hardness results and efficient alternatives,
    2003. Vishwanathan, Schraudolph, Kondor and Borgwardt, Graph kernels, 2010.
    """

    def __init__(
        self,
        decay: float = 0.1,
        *,
        degree_normalized: bool = False,
        label: Any = "label",
        edge_label: Any = "label",
        weight: Any = "weight",
    ) -> None:
        self.decay, self.degree_normalized = decay, degree_normalized
        self.label, self.edge_label, self.weight = label, edge_label, weight
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "decay", low=0)
        if not isinstance(self.degree_normalized, bool | np.bool_):
            raise InvalidParameter(
                f"RandomWalk: degree_normalized={self.degree_normalized!r} has to be a bool."
            )
        if self.degree_normalized and self.decay >= 1:
            raise InvalidParameter(f"RandomWalk: decay={self.decay!r} has to be below 1.")
        check_names(self, "label", "edge_label", "weight")

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return GraphEncoder(self.label, self.edge_label, self.weight)

    @property
    def definite(self) -> Definite:
        return Definite.POSITIVE

    def largest_decay(self, X: Any) -> float:
        """Return 1/ρ, the limit below which ``decay`` is valid for all of ``X``."""
        if self.degree_normalized:
            return 1.0
        walks = self._walks(cast(Graphs, self.encode(X)[self.encoder]))
        roots = [walks.root(i) for i in range(len(walks))]
        return 1 / max(roots) if max(roots) > 0 else math.inf

    def prepare(self, a: Graphs, b: Graphs) -> tuple[Any, Any]:
        left = self._walks(a)
        right = left if b is a else self._walks(b)
        for side in {id(left): left, id(right): right}.values():
            self._check_decay(side)
        lengths = self._lengths(left, right)
        if lengths:
            counts = left.counts(float(self.decay), lengths)
            return counts, counts if b is a else right.counts(float(self.decay), lengths)
        if left.has_spectrum and right.has_spectrum:
            spectra = left.spectra()
            return spectra, spectra if b is a else right.spectra()
        return left, right

    def compare(self, a: Any, b: Any) -> Array:
        return a.compare(b, float(self.decay))  # type: ignore[no-any-return]

    def compare_self(self, a: Any) -> Array:
        return a.compare_self(float(self.decay))  # type: ignore[no-any-return]

    def _walks(self, graphs: Graphs) -> Walks:
        check_weights(graphs, type(self).__name__)
        if self.degree_normalized:
            graphs = _degree_normalized(graphs)
        return Walks.of(graphs)

    def _lengths(self, left: Walks, right: Walks) -> int:
        """Return how long walks have to be counted, or 0 where counting would not do.

        Of graphs without labels the walks of each can be counted by itself. Those of l steps or
        more add at most CC'qˡ/(1 − q) of the whole, where q = λRR'.
        """
        if not (left.unlabelled and right.unlabelled):
            return 0
        sides = (left, right)
        q = float(self.decay) * max(side.root_bounds.max(initial=0.0) for side in sides)
        if q > _COUNTABLE:
            return 0
        excess = math.prod(float(side.growth[1].max(initial=1.0)) for side in sides)
        few = math.log(_NEGLIGIBLE * (1 - q) / excess) / math.log(q) if q > 0 else 0.0
        # A graph without circles has no long walks, but its short ones count.
        return max(_STEPS + 1, math.ceil(few))

    def _check_decay(self, walks: Walks) -> None:
        if self.degree_normalized:
            return
        doubtful = np.flatnonzero(self.decay * walks.root_bounds >= 1)
        roots = {int(i): walks.root(int(i)) for i in doubtful}
        if not any(self.decay * root >= 1 for root in roots.values()):
            return
        worst = max(roots, key=lambda i: roots[i])
        largest = _rounded_down(1 / roots[worst])
        raise InvalidParameter(
            f"RandomWalk: decay={self.decay!r} diverges on graph {worst}, whose walks grow by "
            f"{roots[worst]:.4g} a step. The largest valid decay for these graphs is {largest!r}; "
            "degree_normalized=True allows any decay below 1."
        )


def _rounded_down(value: float) -> float:
    """Return a number of four digits below ``value``."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 3)
    return float(f"{math.floor(value * (1 - 1e-9) / unit) * unit:.4g}")


def _degree_normalized(graphs: Graphs) -> Graphs:
    nodes = len(graphs.labels)
    sources, targets = graphs.sources, graphs.global_targets
    leaving = np.bincount(sources, graphs.weights, minlength=nodes)
    entering = np.bincount(targets, graphs.weights, minlength=nodes)
    scale = np.sqrt(leaving[sources] * entering[targets])
    weights = np.divide(graphs.weights, scale, out=np.zeros_like(scale), where=scale > 0)
    return replace(graphs, weights=weights)


@dataclass(frozen=True, eq=False)
class Walks:
    """Graphs whose nodes are sorted by label, with what is known of the growth of their walks."""

    graphs: Graphs
    origin: Graphs
    numbers: Integers

    @classmethod
    def of(cls, graphs: Graphs) -> Walks:
        """Prepare a batch of graphs."""
        return cls(_sorted_by_label(graphs), graphs, np.arange(len(graphs)))

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, index: Index) -> Walks:
        """Return some of the graphs, which stay where they are."""
        part = replace(self, numbers=self.numbers[index])
        part.__dict__["symmetric"] = self.symmetric
        return part

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
        _fast.walks.growth(*_shape(self.graphs), _STEPS, rates, excess)
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
        plain = not graph.labels.any() and not graph.edge_labels.any()
        parts = graph.labels, graph.arc_starts, graph.targets, graph.weights, graph.edge_labels
        if plain:
            product = graph.arc_starts, graph.targets, graph.weights
        else:
            product = _fast.walks.product_graph(*parts, *parts)
        root = _perron_root(*product)
        return root**2 if plain else root

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
        n, m = len(self), len(other)
        rows, columns = np.divmod(np.arange(n * m), max(1, m))
        # Where both sides are the same graphs, each pair is computed once.
        same = self.origin is other.origin and np.array_equal(self.numbers, other.numbers)
        if same:
            rows, columns = np.triu_indices(n)
        values = self._sums(other, self.numbers[rows], other.numbers[columns], decay)
        out = np.empty((n, m))
        out[rows, columns] = values
        if same:
            out[columns, rows] = values
        return out

    def compare_self(self, decay: float) -> Array:
        """Return the sums over the walks of each graph with itself."""
        return self._sums(self, self.numbers, self.numbers, decay)

    def _sums(self, other: Walks, left: Integers, right: Integers, decay: float) -> Array:
        out = np.empty(len(left))
        both = (*_fields(self.graphs), *_fields(other.graphs))
        symmetric = self.symmetric and other.symmetric

        def task(first: int) -> None:
            part = slice(first, first + _PAIRS_A_TASK)
            _parallel.check_stopped()
            status = _fast.walks.product_sums(
                left[part], right[part], *both, symmetric, decay, _TOLERANCE, out[part]
            )
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
        """Return those of some graphs."""
        return WalkCounts(self.values[index])

    def compare(self, other: WalkCounts, decay: float) -> Array:
        """Return the sums over the walks of all pairs; the decay is in the counts."""
        return np.asarray(self.values @ other.values.T)

    def compare_self(self, decay: float) -> Array:
        """Return the sums over the walks of each graph with itself."""
        return np.asarray((self.values**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Spectra:
    """Eigenvalues of graphs, and how much of the vector 1 lies along each eigenvector."""

    starts: Integers
    values: Array
    masses: Array

    def take(self, index: Index) -> Spectra:
        """Return those of some graphs."""
        if isinstance(index, slice):
            part = slice(self.starts[index.start], self.starts[index.stop])
            starts = self.starts[index.start : index.stop + 1] - self.starts[index.start]
            return Spectra(starts, self.values[part], self.masses[part])
        counts = np.diff(self.starts)[index]
        starts = np.concatenate([[0], np.cumsum(counts)])
        at = np.arange(starts[-1]) + np.repeat(self.starts[index] - starts[:-1], counts)
        return Spectra(starts, self.values[at], self.masses[at])

    def compare(self, other: Spectra, decay: float) -> Array:
        """Return the sums over the walks of all pairs."""
        out = np.empty((len(self.starts) - 1, len(other.starts) - 1))
        _fast.walks.spectral_sums(
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
        """Return the sums over the walks of each graph with itself."""
        singles = [self.take(slice(i, i + 1)) for i in range(len(self.starts) - 1)]
        return np.array([one.compare(one, decay)[0, 0] for one in singles])


def _shape(graphs: Graphs) -> tuple[Any, Any, Any, Any]:
    return graphs.starts, graphs.arc_starts, graphs.targets, graphs.weights


def _fields(graphs: Graphs) -> tuple[Any, Any, Any, Any, Any, Any]:
    return (
        graphs.starts,
        graphs.labels,
        graphs.arc_starts,
        graphs.targets,
        graphs.weights,
        graphs.edge_labels,
    )


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
    matrix = sparse.csr_array((weights, ends, starts), shape=(n, n))
    _, parts = sparse.csgraph.connected_components(matrix, directed=True, connection="strong")
    root: float = _fast.walks.perron_root(
        starts, ends, weights, parts.astype(np.int64), _ROOT_TOLERANCE
    )
    return root
