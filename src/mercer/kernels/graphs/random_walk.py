"""The random-walk kernel of graphs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from mercer._typing import Array, Index, Objects, Parameter
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.kernels.decaying import Decaying
from mercer.kernels.definite import Definite
from mercer.kernels.encoders import Encoder
from mercer.kernels.graphs.graph_encoder import GraphEncoder
from mercer.kernels.graphs.graph_points import Graphs
from mercer.kernels.graphs.graph_walks import arc_graphs
from mercer.kernels.graphs.refinement import WeisfeilerLehman, check_names, check_weights
from mercer.kernels.graphs.walk_sums import STEPS, Walks
from mercer.kernels.parameters import check_number
from mercer.kernels.points import Points

_NEGLIGIBLE = 1e-17
"""What is left out of a sum of walks, relative to it: below the rounding of float64."""
_NEAR = 0.999
"""How near to its limit a decay may be learnt: beyond it one eigenvector is nearly all of k."""
_COUNTABLE = 0.95
"""Above this ratio a sum over the lengths of walks converges too slowly."""


class RandomWalk(Decaying):
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

    ``tottering=False`` leaves out walks that turn round on the edge that they came by, v₀, v₁, v₀,
    which tell little of a graph: only those with vᵢ ≠ vᵢ₊₂ count. Such walks are those of the graph
    of arcs, where one arc follows another, and take no weights; the limit of λ and
    ``degree_normalized`` then refer to the arcs.

    ``label``, ``edge_label`` and ``weight`` name the attributes of networkx graphs; None ignores
    labels or weights, whatever the form of the graphs.

    Parameters
    ----------
    decay : float
        λ.
    degree_normalized : bool
        Whether the weights of arcs are divided by the roots of those around them.
    tottering : bool
        Whether a walk may turn round on the edge that it came by.
    label, edge_label, weight : str or None
        The attributes of networkx graphs that hold labels and weights.

    References
    ----------
    Gärtner, Flach and Wrobel, On graph kernels: hardness results and efficient alternatives,
    2003. Vishwanathan, Schraudolph, Kondor and Borgwardt, Graph kernels, 2010. Mahé, Ueda, Akutsu,
    Perret and Vert, Extensions of marginalized graph kernels, 2004.

    Examples
    --------
    >>> from mercer import Graph, RandomWalk
    >>> edge = Graph([(0, 1)])
    >>> RandomWalk(decay=0.1)([edge]).round(4)  # four pairs of walks of each length: 4/(1 − λ)
    array([[4.4444]])
    """

    definite = Definite.POSITIVE

    def __init__(
        self,
        decay: float = 0.1,
        *,
        degree_normalized: bool = False,
        tottering: bool = True,
        label: Parameter = "label",
        edge_label: Parameter = "label",
        weight: Parameter = "weight",
    ) -> None:
        self.decay, self.degree_normalized, self.tottering = decay, degree_normalized, tottering
        self.label, self.edge_label, self.weight = label, edge_label, weight
        super().__init__()

    def check_parameters(self) -> None:
        check_number(self, "decay", low=0)
        for name in ("degree_normalized", "tottering"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise InvalidParameter(
                    f"RandomWalk: {name}={getattr(self, name)!r} has to be a bool."
                )
        if self.degree_normalized and self.decay >= 1:
            raise InvalidParameter(f"RandomWalk: decay={self.decay!r} has to be below 1.")
        check_names(self, "label", "edge_label", "weight")

    @property
    def encoder(self) -> Encoder:  # type: ignore[override]
        return GraphEncoder(self.label, self.edge_label, self.weight)

    def largest_decay(self, X: Objects) -> float:
        """Return 1/ρ, the limit below which ``decay`` is valid for all of ``X``."""
        return self._limit(self.encode(X))

    def parameter_limits(self, points: Points) -> dict[str, float]:
        return {"decay": _NEAR * self._limit(points)}

    def _limit(self, points: Points) -> float:
        if self.degree_normalized:
            return 1.0
        walks = self._walks(cast(Graphs, points[self.encoder]))
        roots = [walks.root(i) for i in range(len(walks))]
        return 1 / max(roots) if max(roots) > 0 else math.inf

    def prepare(self, a: Graphs, b: Graphs) -> tuple[Any, Any]:
        if self.tottering:
            return self._prepare_walks(a, b)
        left, right = self._prepare_walks(a, b)
        first, second = WeisfeilerLehman(0).prepare(a, b)
        start = OnwardWalks(first, left)
        return start, start if b is a else OnwardWalks(second, right)

    def _prepare_walks(self, a: Graphs, b: Graphs) -> tuple[Any, Any]:
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
        return left.beside(right)

    def compare(self, a: Any, b: Any) -> Array:
        return a.compare(b, float(self.decay))  # type: ignore[no-any-return]

    def compare_self(self, a: Any) -> Array:
        return a.compare_self(float(self.decay))  # type: ignore[no-any-return]

    def compare_slopes(self, a: Any, b: Any) -> Array:
        return a.slopes_with(b, float(self.decay))  # type: ignore[no-any-return]

    def own_slopes(self, a: Any) -> Array:
        return a.own_slopes(float(self.decay))  # type: ignore[no-any-return]

    def _walks(self, graphs: Graphs) -> Walks:
        check_weights(graphs, type(self).__name__)
        if not self.tottering:
            if (graphs.weights != 1).any():
                raise InvalidInput(
                    "RandomWalk: walks without tottering take no weights of edges. weight=None "
                    "ignores them."
                )
            graphs = arc_graphs(graphs)
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
        return max(STEPS + 1, math.ceil(few))

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


@dataclass(frozen=True, eq=False)
class OnwardWalks:
    """Walks that do not turn round: those of no step by nodes, those of l ≥ 1 steps by arcs."""

    nodes: Any
    arcs: Any

    def take(self, index: Index) -> OnwardWalks:
        return OnwardWalks(self.nodes.take(index), self.arcs.take(index))

    def compare(self, other: OnwardWalks, decay: float) -> Array:
        """Return n₀ + λ Σ_l λˡ · (common walks of l steps from arc to arc) of all pairs."""
        longer: Array = self.arcs.compare(other.arcs, decay)
        return np.asarray(self.nodes.products(other.nodes) + decay * longer)

    def compare_self(self, decay: float) -> Array:
        nodes: Array = WeisfeilerLehman(0).compare_self(self.nodes)
        return np.asarray(nodes + decay * self.arcs.compare_self(decay))

    def slopes_with(self, other: OnwardWalks, decay: float) -> Array:
        """Return λ times the derivative of the values of all pairs."""
        arcs = self.arcs.compare(other.arcs, decay) + self.arcs.slopes_with(other.arcs, decay)
        return np.asarray(decay * arcs)

    def own_slopes(self, decay: float) -> Array:
        arcs = self.arcs.compare_self(decay) + self.arcs.own_slopes(decay)
        return np.asarray(decay * arcs)


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
