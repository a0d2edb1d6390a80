"""Folders and zip files of the TU Dortmund collection."""

import zipfile

import numpy as np
import pytest

from mercer import Graph, InvalidInput, WeisfeilerLehman, read_graphs, read_table
from tests.oracles.naive import naive_gram

FILES = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n",
    "graph_indicator": "1\n1\n1\n2\n2\n4\n",
    "graph_labels": "1\n-1\n1\n-1\n",
    "node_labels": "6\n6\n8\n7\n7\n1\n",
    "edge_labels": "1\n1\n2\n2\n1\n",
}


def folder(path, **changes):
    for part, text in (FILES | changes).items():
        if text is not None:
            (path / f"TOY_{part}.txt").write_text(text)
    return path


def test_a_folder(tmp_path):
    read = read_graphs(folder(tmp_path))
    assert read.name == "TOY"
    assert read.target.tolist() == [1, -1, 1, -1]
    expected = [
        Graph([(0, 1), (1, 2)], [6, 6, 8], [1, 2]),
        Graph([(0, 1)], [7, 7], [1], directed=True),
        Graph(),
        Graph(labels=[1]),
    ]
    kernel = WeisfeilerLehman(2)
    np.testing.assert_array_equal(kernel(read.graphs, expected), naive_gram(kernel, expected))
    assert [graph.directed for graph in read.graphs] == [False, True, False, False]
    assert repr(read) == "TOY: 4 graphs of 1.5 nodes on average, target of int64"


def test_the_zip_file_of_a_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "TOY.zip", "w") as archive:
        for file in folder(tmp_path).glob("*.txt"):
            archive.write(file, f"TOY/{file.name}")
    kernel = WeisfeilerLehman(2)
    zipped, plain = read_graphs(tmp_path / "TOY.zip"), read_graphs(tmp_path)
    np.testing.assert_array_equal(kernel(zipped.graphs), kernel(plain.graphs))
    (tmp_path / "TOY.zip").write_bytes((tmp_path / "TOY.zip").read_bytes()[:90])
    with pytest.raises(InvalidInput, match="neither a folder nor a zip file"):
        read_graphs(tmp_path / "TOY.zip")


def test_parts_may_be_missing(tmp_path):
    bare = {"graph_labels": None, "node_labels": None, "edge_labels": None}
    read = read_graphs(folder(tmp_path, **bare))
    assert read.target is None
    assert read.graphs[0].labels is read.graphs[0].edge_labels is None
    numbers = read_graphs(folder(tmp_path, graph_attributes="0.5\n1\n2\n3\n"))
    assert numbers.target.dtype == np.int64  # classes come first
    (tmp_path / "TOY_graph_labels.txt").unlink()
    assert read_graphs(tmp_path).target.tolist() == [0.5, 1, 2, 3]
    folder(tmp_path, graph_labels=None, graph_attributes="0.5, 1\n1, 2\n2, 3\n3, 4\n")
    assert read_graphs(tmp_path).target.shape == (4, 2)
    assert read_table(tmp_path, "target 2").target.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": "1, 2\n1; 2\n"}, "TOY_A.txt, line 2: expected 2 whole numbers, found '1; 2'"),
        ({"A": "1, 9\n"}, "TOY_A.txt, line 1: 1, 9 are not two nodes of one graph"),
        ({"A": "1, 2\n1, 4\n"}, "TOY_A.txt, line 2: 1, 4 are not two nodes"),
        ({"graph_indicator": "1\n2\n1\n2\n2\n4\n"}, "have to go up"),
        ({"graph_labels": "1\n"}, "there are only 1 graphs"),
        ({"node_labels": "1\n"}, "TOY_node_labels.txt has 1 lines, not 6"),
        ({"graph_labels": "nan\n" * 4}, "not finite"),
        ({"graph_labels": "1\n2, 3\n1\n1\n"}, "TOY_graph_labels.txt, line 2, has 2 values"),
        ({"graph_indicator": None}, "holds no set of graphs"),
        ({"A": None}, "holds no set of graphs"),
        ({"graph_indicator": "1\none\n"}, "TOY_graph_indicator.txt, line 2: expected a whole"),
        ({"graph_indicator": "1\n\n1\n2\n2\n4\n"}, "TOY_graph_indicator.txt, line 2, is empty"),
        ({"graph_indicator": "0\n1\n1\n2\n2\n4\n"}, "have to go up"),
        ({"A": "1, 2\n--1, 2\n"}, "TOY_A.txt, line 2: expected 2 whole numbers"),
        ({"A": "1, 2, 3\n"}, "TOY_A.txt, line 1: expected 2 whole numbers"),
        ({"A": f"1, {10**20}\n"}, "TOY_A.txt, line 1: expected 2 whole numbers"),
        ({"A": "0, 1\n"}, "0, 1 are not two nodes"),
        ({"edge_labels": "1\n"}, "TOY_edge_labels.txt has 1 lines, not 5"),
    ],
)
def test_damaged_sets(tmp_path, changes, message):
    with pytest.raises(InvalidInput, match=message):
        read_graphs(folder(tmp_path, **changes))


def test_what_comes_with_mercer():
    read = read_graphs("solubility")
    assert len(read) == len(read.target) == 1128
    assert read.target.mean() == pytest.approx(-3.05, abs=0.001)
    assert read.graphs[0].size == 32
    assert not any(graph.directed for graph in read.graphs)
    with pytest.raises(InvalidInput, match=r"There is no file mutagg.*solubility"):
        read_graphs("mutagg")
    with pytest.raises(InvalidInput, match="heart is neither a folder nor a zip file"):
        read_graphs("heart")
