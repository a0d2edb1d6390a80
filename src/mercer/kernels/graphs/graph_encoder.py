"""The encoder of batches of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from scipy import sparse

from mercer._files.fields import NONE, TEXT, OneOf, State
from mercer._typing import Objects
from mercer.exceptions import InvalidInput, InvalidType
from mercer.kernels.encoders import CategoryEncoder, Encoder
from mercer.kernels.graphs.graph_forms import Arcs, Unreadable, as_arcs, is_networkx, listed
from mercer.kernels.graphs.graph_points import Codes, Graphs
from mercer.kernels.graphs.label_codes import label_codes
from mercer.kernels.graphs.networkx_graphs import are_simple_networkx, read_networkx
from mercer.kernels.tables.columns import single_column


@dataclass(frozen=True)
class GraphEncoder(Encoder):
    """Graphs of any kind; ``label`` and ``edge_label`` None leave labels out, ``weight`` weights.

    The names are those of attributes of networkx graphs; other forms of graphs need no names.
    """

    STATE: ClassVar[State] = dict.fromkeys(("label", "edge_label", "weight"), OneOf(NONE, TEXT))
    makes = Graphs

    label: Any = "label"
    edge_label: Any = "label"
    weight: Any = None

    def encode(self, X: Objects, owner: str) -> Graphs:
        items = list(_items(X, owner))
        names = self.label, self.edge_label, self.weight
        at_once = read_networkx(items, *names, owner) if are_simple_networkx(items) else None
        if at_once is not None:
            return at_once
        graphs = []
        for i, item in enumerate(items):
            try:
                graphs.append(as_arcs(item, *names))
            except Unreadable as error:
                kind = InvalidType if error.args[1:] else InvalidInput
                raise kind(f"{owner}: graph {i} {error.args[0]}") from None
        return self._assemble(graphs, owner)

    def _assemble(self, graphs: list[Arcs], owner: str) -> Graphs:
        sizes = np.array([graph.size for graph in graphs], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        counts = np.array([len(graph.places) for graph in graphs], dtype=np.int64)
        places = _joined([graph.places for graph in graphs], np.int64)
        given = [np.ones(len(g.places)) if g.weights is None else g.weights for g in graphs]
        weights = _joined(given, np.float64)
        if not np.isfinite(weights).all():
            arc = int(np.flatnonzero(~np.isfinite(weights))[0])
            graph = int(np.searchsorted(np.cumsum(counts), arc, "right"))
            raise InvalidInput(
                f"{owner}: graph {graph} has an edge whose weight is not a finite number. Drop or "
                "fill it."
            )
        if self.weight is None:
            weights = np.ones(len(places))
        wanted = self.edge_label is not None
        edge_labels = _codes([g.edge_labels if wanted else None for g in graphs], counts, owner)
        wanted = self.label is not None
        labels = _codes([g.labels if wanted else None for g in graphs], sizes, owner)
        graph_of_arc = np.repeat(np.arange(len(graphs)), counts)
        in_batch = places + (np.cumsum(sizes**2) - sizes**2)[graph_of_arc]
        if (in_batch[1:] < in_batch[:-1]).any():
            order = np.argsort(in_batch, kind="stable")
            places, weights, edge_labels = places[order], weights[order], edge_labels[order]
        sources, targets = np.divmod(places, sizes[graph_of_arc])
        leaving = np.bincount(sources + starts[graph_of_arc], minlength=starts[-1])
        arc_starts = np.concatenate([[0], np.cumsum(leaving)])
        return Graphs(starts, labels, arc_starts, targets, weights, edge_labels)


# ---- batches -----------------------------------------------------------------------------------


def _items(X: Objects, owner: str) -> Iterable[Any]:
    """Return the graphs of ``X``, which may stand in a table of one column."""
    if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object):
        raise InvalidType(
            f"{owner}: expected a batch of graphs, got one matrix. Pass [matrix] for one graph."
        )
    if is_networkx(X):
        raise InvalidType(f"{owner}: expected a batch of graphs, got one graph. Pass [graph].")
    if isinstance(X, np.ndarray) and X.ndim > 2:
        return X
    remedy = f"Choose one, as in {owner}().on('molecule')."
    return cast(Iterable[Any], single_column(X, owner, "graphs", remedy))


def _joined(parts: Sequence[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)


def _codes(labels: Sequence[Any], counts: Any, owner: str) -> Codes:
    """Return a code for each label of all graphs, 0 where a graph has none."""
    given = [part is not None for part in labels]
    codes = np.zeros(int(counts.sum()), dtype=np.uint64)
    if not any(given):
        return codes
    parts = [part for part in labels if part is not None and len(part)]
    if all(isinstance(part, np.ndarray) and part.dtype.kind in "iub" for part in parts):
        column = _joined(parts, np.int64)[:, None]
        found = CategoryEncoder().encode(column, owner).codes[:, 0]
    else:
        found = label_codes([label for part in parts for label in listed(part)], owner)
    codes[np.repeat(given, counts)] = found
    return codes
