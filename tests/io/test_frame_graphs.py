"""Graphs in the columns of data frames: read, compared and predicted from."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Graph, WeisfeilerLehman, read_table
from mercer.kernels.graphs.graph_forms import as_graph_mapping


def rings_and_paths(count=40):
    made = [nx.cycle_graph(4 + i % 5) if i % 2 else nx.path_graph(4 + i % 5) for i in range(count)]
    return made, np.where(np.arange(count) % 2, "ring", "path")


@pytest.mark.parametrize("kind", ["networkx", "mercer"])
def test_a_column_of_graphs_is_read(kind):
    graphs, y = rings_and_paths()
    if kind == "mercer":
        graphs = [Graph(list(g.edges), size=len(g)) for g in graphs]
    table = read_table(pd.DataFrame({"g": graphs, "size": range(40), "y": y}), "y")
    kinds = {column.name: (column.kind, column.used) for column in table.columns}
    assert kinds["g"] == ("graph", True)
    read = table.frame["g"].to_pylist()
    kernel = WeisfeilerLehman(2)
    np.testing.assert_array_equal(kernel(read), kernel(graphs))


def test_labels_weights_and_gaps_come_along():
    graph = nx.DiGraph()
    graph.add_nodes_from([("a", {"label": "C"}), ("b", {"label": "N"})])
    graph.add_edge("a", "b", label="double", weight=2.0)
    plain = as_graph_mapping(graph)
    assert plain["edges"] == [[0, 1]]
    assert (plain["labels"], plain["edge_labels"], plain["weights"]) == (
        ["C", "N"],
        ["double"],
        [2.0],
    )
    assert plain["directed"]
    frame = pd.DataFrame({"g": [graph, None, graph], "y": [1.5, 2.5, 3.5]})
    assert read_table(frame, "y").frame["g"].null_count == 1


def test_a_study_learns_from_them():
    graphs, y = rings_and_paths()
    frame = pd.DataFrame({"g": graphs, "y": y})
    study = mercer.Study.fit(frame, "y")
    assert study.scores[0].value == 1.0
    assert list(study.predict(frame.head(2)[["g"]])) == ["path", "ring"]
