"""How kernels and points are stored: one row for each class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from mercer._files.fields import (
    COUNT,
    FLAG,
    NONE,
    TEXT,
    A,
    Kind,
    ListOf,
    Maybe,
    Mismatch,
    Numbers,
    OneOf,
    Plain,
    Sizes,
)
from mercer.gram.landmarks import Nystrom
from mercer.gram.nystrom_kernel import NystromKernel
from mercer.io.model_values import Stored
from mercer.kernels import registry
from mercer.kernels.algebra import Exp, Power, PowerSeries, Product, Scaled, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.columns import ColumnEncoder, Gappy, PresenceEncoder
from mercer.kernels.encoders import (
    CategoryEncoder,
    Encoder,
    RowNumberEncoder,
    VectorEncoder,
)
from mercer.kernels.graph_encoder import GraphEncoder
from mercer.kernels.graph_points import Graph, Graphs
from mercer.kernels.points import Categories, Objects, Points, Vectors
from mercer.kernels.series_points import Series, SeriesEncoder
from mercer.kernels.strings import StringEncoder, Strings
from mercer.kernels.tree_points import TreeEncoder, Trees
from mercer.kernels.wrappers import Normalized, On, Precomputed

# ---- kernels: nothing but their parameters, which their constructors check ---------------------


class _Parameter(Kind):
    """A parameter of a kernel; a text, such as a pattern, takes time to read and is short."""

    required = False

    def check(self, value: Any, sizes: Sizes) -> None:
        if isinstance(value, str) and len(value) > 1000:
            raise Mismatch("is too long")


def _kernel(cls: type[Kernel]) -> Stored:
    fields = {name: _Parameter() for name in cls.parameter_names()}
    return Stored(cls, fields, lambda kernel: kernel.get_params(deep=False), formula=True)


NODES = (Sum, Product, Scaled, Power, Exp, PowerSeries, Normalized, On, Precomputed, NystromKernel)
KERNELS = tuple(_kernel(cls) for cls in (*(row.kernel for row in registry.ROWS), *NODES))

# ---- leaves: the encoded objects ---------------------------------------------------------------

MATRIX = A((sparse.csr_matrix, sparse.csr_array))
SEEN: dict[str, Kind] = {
    "n_features_in_": Maybe(COUNT),
    "feature_names_in_": Maybe(A(np.ndarray, size="features")),
}
"""What every estimator keeps of the columns it saw."""


def _make_vectors(state: dict[str, Any]) -> Vectors:
    vectors = Vectors(**state)
    data = vectors.values.data if vectors.is_sparse else vectors.values
    if data.dtype not in (np.float32, np.float64) or not vectors.dimension:
        raise Mismatch("its numbers are neither float32 nor float64, or it has no columns")
    if vectors.names is not None and len(vectors.names) != vectors.dimension:
        raise Mismatch("it has not one name for each column")
    return vectors


def _make_categories(state: dict[str, Any]) -> Categories:
    if state["codes"].dtype != np.uint64 or not state["codes"].shape[1]:
        raise Mismatch("its codes have not 64 bits, or it has no columns")
    return Categories(**state)


def _make_strings(state: dict[str, Any]) -> Strings:
    items = state["items"]
    if items.dtype != object or items.ndim != 1 or set(map(type, items.tolist())) - {str}:
        raise Mismatch("its items are not strings")
    return Strings(**state)


def _make_graphs(state: dict[str, Any]) -> Graphs:
    graphs = Graphs(**state)
    if any(part.dtype.itemsize != 8 for part in state.values()):
        raise Mismatch("its numbers have not 64 bits")
    for starts, items in ((graphs.starts, graphs.labels), (graphs.arc_starts, graphs.targets)):
        if not len(starts) or starts[0] or starts[-1] != len(items) or (np.diff(starts) < 0).any():
            raise Mismatch("its graphs do not follow one another")
    arcs = np.diff(graphs.arc_starts[graphs.starts])
    if (
        len(graphs.arc_starts) != len(graphs.labels) + 1
        or (graphs.targets >= np.repeat(graphs.sizes, arcs)).any()
    ):
        raise Mismatch("an edge leads out of its graph")
    return graphs


def _make_series(state: dict[str, Any]) -> Series:
    series = Series(**state)
    if series.dtype not in (np.float32, np.float64) or series.lengths.dtype != np.int64:
        raise Mismatch("its numbers are of an impossible type")
    total, longest = len(series.values), series.lengths.max(initial=0)
    if not series.channels or longest > total or series.lengths.sum() != total:
        raise Mismatch("its series do not follow one another")
    return series


def _make_trees(state: dict[str, Any]) -> Trees:
    trees = Trees(**state)
    if any(part.dtype.itemsize != 8 for part in state.values()):
        raise Mismatch("its numbers have not 64 bits")
    if not len(trees.starts) or not trees.are_whole():
        raise Mismatch("its nodes are no trees")
    return trees


LEAVES = (
    Stored(
        Vectors,
        {
            "values": OneOf(Numbers("n", "d"), MATRIX),
            "names": OneOf(NONE, ListOf(A((str, int)), tuple)),
        },
        make=_make_vectors,
    ),
    Stored(Categories, {"codes": Numbers("n", "d", types="u")}, make=_make_categories),
    Stored(Objects, {"items": Numbers("n", types="i")}),
    Stored(Strings, {"items": A(np.ndarray, size="n")}, make=_make_strings),
    Stored(
        Series,
        {"values": Numbers("times", "channels"), "lengths": Numbers("n", types="i", low=1)},
        make=_make_series,
    ),
    Stored(
        Graphs,
        {
            "starts": Numbers("graphs", types="i", low=0),
            "labels": Numbers("nodes", types="u"),
            "arc_starts": Numbers("rows", types="i", low=0),
            "targets": Numbers("arcs", types="i", low=0),
            "weights": Numbers("arcs"),
            "edge_labels": Numbers("arcs", types="u"),
        },
        make=_make_graphs,
    ),
    Stored(
        Trees,
        {
            "starts": Numbers("trees", types="i", low=0),
            "labels": Numbers("nodes", types="u"),
            "arity": Numbers("nodes", types="i", low=0),
        },
        make=_make_trees,
    ),
)

OBJECTS = (Stored(Graph, dict.fromkeys(Graph.__dataclass_fields__, Plain())),)
"""Objects of users, which machines keep as their support vectors."""

# ---- encoders, and the leaf that each makes ----------------------------------------------------

ENCODERS = (
    Stored(VectorEncoder, {"nonnegative": FLAG}),
    Stored(CategoryEncoder),
    Stored(StringEncoder),
    Stored(SeriesEncoder, {"time": TEXT}),
    Stored(TreeEncoder),
    Stored(
        GraphEncoder,
        {name: OneOf(NONE, TEXT) for name in ("label", "edge_label", "weight")},
    ),
    Stored(RowNumberEncoder, {"size": COUNT}),
    Stored(PresenceEncoder),
    Stored(Gappy, {"column": A((str, int, np.integer))}, formula=True),
    Stored(
        ColumnEncoder,
        {"inner": A(Encoder), "columns": ListOf(A((str, int, np.integer, Gappy)), tuple)},
        formula=True,
    ),
)


def _nonnegative(encoder: VectorEncoder, leaf: Vectors) -> bool:
    data = leaf.values.data if leaf.is_sparse else leaf.values
    return not encoder.nonnegative or not data.size or bool(data.min() >= 0)


def _presence(encoder: PresenceEncoder, leaf: Vectors) -> bool:
    return leaf.dimension == 1 and not leaf.is_sparse and set(leaf.values.ravel()) <= {0, 1}


def _within(encoder: RowNumberEncoder, leaf: Objects) -> bool:
    items = leaf.items
    return not items.size or bool(items.min() >= 0 and items.max() < encoder.size)


LEAF_OF: Mapping[type[Encoder], tuple[type, Callable[[Any, Any], bool]]] = {
    VectorEncoder: (Vectors, _nonnegative),
    CategoryEncoder: (Categories, lambda encoder, leaf: True),
    StringEncoder: (Strings, lambda encoder, leaf: True),
    SeriesEncoder: (Series, lambda encoder, leaf: encoder.time in ("last", "first")),
    GraphEncoder: (Graphs, lambda encoder, leaf: True),
    TreeEncoder: (Trees, lambda encoder, leaf: True),
    RowNumberEncoder: (Objects, _within),
    PresenceEncoder: (Vectors, _presence),
}
"""The class of an encoder's leaves, and whether a leaf of that class can be its own."""


# ---- points ------------------------------------------------------------------------------------


def _points_state(points: Points) -> dict[str, Any]:
    return {
        "encoders": list(points.leaves),
        "leaves": list(points.leaves.values()),
        "ids": points.ids,
        "dtype": points.dtype.name,
    }


def _make_points(state: dict[str, Any]) -> Points:
    encoders, leaves, ids = state["encoders"], state["leaves"], state["ids"]
    if len(encoders) != len(leaves) or len(set(encoders)) < len(encoders):
        raise Mismatch("it has not one leaf for each encoder")
    if state["dtype"] not in ("float32", "float64") or ids.dtype != np.int64:
        raise Mismatch("its numbers are of an impossible type")
    for encoder, leaf in zip(encoders, leaves, strict=True):
        if len(leaf) != len(ids):
            raise Mismatch(f"a leaf has {len(leaf):,} rows, not {len(ids):,}")
        while encoder.inner is not None:
            encoder = encoder.inner
        cls, fits = LEAF_OF[type(encoder)]
        if type(leaf) is not cls or not fits(encoder, leaf):
            raise Mismatch(f"a leaf is not what a {type(encoder).__name__} makes")
    return Points(dict(zip(encoders, leaves, strict=True)), ids, np.dtype(state["dtype"]))


POINTS = Stored(
    Points,
    {
        "encoders": ListOf(A(Encoder)),
        "leaves": ListOf(A(tuple(row.cls for row in LEAVES))),
        "ids": Numbers("n", types="i"),
        "dtype": TEXT,
    },
    _points_state,
    _make_points,
)


def check_points(kernel: Kernel, points: Points) -> None:
    """Raise unless points were encoded for a kernel."""
    if set(points.leaves) != set(kernel.encoders()):
        raise Mismatch(f"its points were not encoded for its kernel {str(kernel)[:80]}")


LANDMARKS = Stored(Nystrom, {"count": COUNT, "method": TEXT, "seed": OneOf(NONE, COUNT)})

ROWS = (*KERNELS, *LEAVES, *OBJECTS, *ENCODERS, POINTS, LANDMARKS)
