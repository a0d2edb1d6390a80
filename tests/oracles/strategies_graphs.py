"""Hypothesis strategies: small graphs of every kind, and kernels on them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mercer.kernels.base import Kernel
from mercer.kernels.graphs.graph_points import Graph
from mercer.kernels.graphs.random_walk import RandomWalk
from mercer.kernels.graphs.refinement import (
    ShortestPath,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
)


@st.composite
def graphs(draw: st.DrawFn, nodes: tuple[int, int] = (0, 6)) -> Graph:
    """Return graphs with and without labels, weights, loops, directions and isolated nodes."""
    n = draw(st.integers(*nodes))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
    edges = draw(st.lists(ends, unique_by=lambda e: frozenset(e), max_size=9)) if n else []
    m = len(edges)

    def maybe(values: st.SearchStrategy[Any], count: int) -> Any:
        return draw(st.none() | st.lists(values, min_size=count, max_size=count))

    return Graph(
        edges,
        maybe(st.sampled_from(["C", "N", 1]), n),
        maybe(st.sampled_from(["single", 2]), m),
        maybe(st.sampled_from([0.25, 0.5, 1.0]), m),
        n,
        draw(st.booleans()),
    )


def graph_lists(rows: tuple[int, int] = (1, 5)) -> st.SearchStrategy[list[Graph]]:
    """Return lists of graphs."""
    return st.lists(graphs(), min_size=rows[0], max_size=rows[1])


def graph_kernels() -> st.SearchStrategy[Kernel]:
    """Return kernels of graphs, whose sums over walks converge on all of ``graphs()``."""
    name = st.sampled_from([None, "label"])
    weight = st.sampled_from([None, "weight"])
    start = st.sampled_from(["labels", "degrees"])
    names = {"label": name, "edge_label": name}
    return st.one_of(
        st.builds(WeisfeilerLehman, st.integers(0, 3), start=start, **names),
        st.builds(WeisfeilerLehmanOptimalAssignment, st.integers(0, 3), start=start, **names),
        st.builds(ShortestPath, label=name, weight=weight),
        st.builds(RandomWalk, st.sampled_from([0.0, 0.01, 0.02]), weight=weight, **names),
        st.builds(
            RandomWalk,
            st.sampled_from([0.01, 0.02]),
            tottering=st.just(False),
            weight=st.none(),
            **names,
        ),
        st.builds(
            RandomWalk,
            st.sampled_from([0.3, 0.9]),
            degree_normalized=st.just(True),
            weight=weight,
            **names,
        ),
    )
