"""Graphs on the command line: folders of the TU Dortmund collection, and molecules as SMILES."""

import csv
import json
import re
import shutil
import sys

import networkx as nx
import numpy as np
import pytest

from mercer import Graph, Study, WeisfeilerLehman, load, read_table
from tests.cli.command import good, mercer
from tests.oracles.naive import naive_gram

SMILES = [
    *("C" * n + "O" for n in range(3, 12)),
    *("CC(O)" + "C" * n for n in range(3, 12)),
    *("c1ccccc1" + "C" * n for n in range(3, 12)),
    *("Cc1ccc(C)cc1" + "C" * n for n in range(3, 12)),
]


def rings_and_trees(path, name="SHAPES", count=40, seed=0):
    """Write a set of rings and trees as the files of the collection."""
    random = np.random.default_rng(seed)
    arcs, graph_of, labels, target = [], [], [], []
    for g in range(count):
        n = int(random.integers(5, 9))
        shape = nx.cycle_graph(n) if g % 2 else nx.random_labeled_tree(n, seed=g)
        first = len(graph_of) + 1
        arcs += [f"{first + a}, {first + b}" for u, v in shape.edges for a, b in ((u, v), (v, u))]
        graph_of += [g + 1] * n
        labels += [6] * n
        target.append(1 if g % 2 else -1)
    path.mkdir()
    parts = {"A": arcs, "graph_indicator": graph_of, "node_labels": labels, "graph_labels": target}
    for part, rows in parts.items():
        (path / f"{name}_{part}.txt").write_text("".join(f"{row}\n" for row in rows))
    return path


def test_a_folder_from_the_fit_to_the_proof(tmp_path):
    folder = rings_and_trees(tmp_path / "shapes")
    told = good(mercer("fit", folder, "--time-limit", 60))
    assert "shapes: 40 rows, 30 to learn from, 10 to test" in told.out
    assert "graph: graphs, so the cosine of the neighbourhoods in them" in told.out
    assert "weisfeiler_lehman().normalized().on(graph)" in told.out
    assert re.search(r"accuracy +100(\.0)? %", told.out), told.out
    assert "The certificate holds" in good(mercer("certify", "shapes.mercer", folder)).out
    # New graphs: a folder of another name, without classes.
    new = rings_and_trees(tmp_path / "new", "OTHER", 6, seed=1)
    (new / "OTHER_graph_labels.txt").unlink()
    rows = list(csv.DictReader(good(mercer("predict", "shapes.mercer", new)).out.splitlines()))
    assert [row["prediction"] for row in rows] == ["-1", "1"] * 3
    good(mercer("report", "shapes.mercer", "-o", "again.html"))
    page = (tmp_path / "again.html").read_text()
    assert page == (tmp_path / "shapes.html").read_text()
    assert "nodes, " in page  # what a graph looks like in a table of rows
    # The zip file of a folder is the folder, and the files keep all of the model.
    shutil.make_archive("packed", "zip", folder)
    model = load("shapes.mercer")
    table = read_table("packed.zip")
    np.testing.assert_array_equal(model.predict(table.frame), table.target)
    loaded = model.support_vectors_
    assert loaded.column_names == ["graph"]
    again = Study.load("shapes.mercer")
    np.testing.assert_array_equal(again.predict("packed.zip"), table.target)


def test_certify_notices_other_graphs(tmp_path):
    folder = rings_and_trees(tmp_path / "shapes")
    good(mercer("fit", folder, "--kernel", "shortest_path(graph)", "--quiet"))
    other = rings_and_trees(tmp_path / "other", seed=5)
    result = mercer("certify", "shapes.mercer", other)
    assert result.code == 1
    assert "does not hold" in result.out


def test_graphs_in_a_table(tmp_path):
    """Graphs beside numbers in a file of JSON lines."""
    random = np.random.default_rng(0)
    with open("mixed.jsonl", "w") as file:
        for i in range(40):
            n = int(random.integers(4, 8))
            edges = [[j, (j + 1) % n] for j in range(n if i % 2 else n - 1)]
            row = {"g": {"edges": edges, "size": n}, "weight": float(random.normal()), "y": i % 2}
            file.write(json.dumps(row) + "\n")
    table = read_table("mixed.jsonl")
    assert {c.name: c.kind for c in table.columns} == {"g": "graph", "weight": "number"}
    kernel = WeisfeilerLehman(1).on("g")
    plain = [Graph(g["edges"], size=g["size"]) for g in table.frame["g"].to_pylist()]
    np.testing.assert_array_equal(kernel(table.frame), naive_gram(WeisfeilerLehman(1), plain))
    good(mercer("fit", "mixed.jsonl", "--quiet", "--time-limit", 60))
    assert "The certificate holds" in good(mercer("certify", "mixed.mercer", "mixed.jsonl")).out


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / "SHAPES_A.txt").unlink(), "holds no set of graphs: exactly one pair"),
        (lambda f: (f / "SHAPES_graph_indicator.txt").unlink(), "holds no set of graphs"),
        (lambda f: (f / "SHAPES_graph_labels.txt").unlink(), "which column is the target?"),
        (lambda f: (f / "SHAPES_A.txt").write_text("1, x\n"), "expected 2 whole numbers, found"),
        (lambda f: (f / "SHAPES_node_labels.txt").write_text("1\n"), "has 1 lines, not "),
        (lambda f: (f / "SHAPES_node_labels.txt").write_bytes(b"\xff\n"), "is not UTF-8 text"),
    ],
)
def test_bad_folders(tmp_path, spoil, message):
    folder = rings_and_trees(tmp_path / "shapes")
    spoil(folder)
    result = mercer("fit", folder)
    assert result.code == 2
    assert message in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.glob("*.mercer"))


def test_a_folder_of_something_else(tmp_path):
    result = mercer("fit", tmp_path)
    assert result.code == 2
    assert "holds no set of graphs" in result.err


def test_the_set_that_comes_with_mercer():
    table = read_table("solubility")
    assert (len(table), table.task, table.used) == (1128, "number", ["graph"])


# ---- molecules ---------------------------------------------------------------------------------


def molecules(path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["structure", "ring"])
        writer.writerows((text, "yes" if "1" in text else "no") for text in SMILES)
    return path


def test_smiles_without_rdkit(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    result = mercer("fit", molecules(tmp_path / "m.csv"), "--target", "ring")
    assert result.code == 2
    assert "pip install 'mercer[chem]'" in result.err
    assert result.err.count("\n") == 1


def test_smiles(tmp_path):
    pytest.importorskip("rdkit")
    data = molecules(tmp_path / "m.csv")
    told = good(mercer("fit", data, "--target", "ring"))
    assert "structure: molecules, so the cosine of the groups of atoms in them" in told.out
    assert re.search(r"accuracy +100(\.0)? %", told.out), told.out
    assert "The certificate holds" in good(mercer("certify", "m.mercer", data)).out
    (tmp_path / "new.csv").write_text("structure\nCCCCCCO\nc1ccccc1O\n")
    rows = list(csv.DictReader(good(mercer("predict", "m.mercer", "new.csv")).out.splitlines()))
    assert [row["prediction"] for row in rows] == ["no", "yes"]
    (tmp_path / "bad.csv").write_text("structure\nCCO\nC1CC\n")
    result = mercer("predict", "m.mercer", "bad.csv")
    assert result.code == 2
    assert "graph 1 is the string 'C1CC', which is not valid SMILES" in result.err
    (tmp_path / "gap.csv").write_text("structure,x\nCCO,1\n,2\n")
    assert "the value is missing" in mercer("predict", "m.mercer", "gap.csv").err


def test_what_is_no_molecule(tmp_path):
    """Codes and sequences are made of the same letters as molecules."""
    columns = {
        "code": [f"C{i}" for i in range(20)],
        "part": [f"B{i}-C{i}" for i in range(20)],
        "dna": ["".join("ACGT"[(i * j) % 4] for j in range(20 + i)) for i in range(20)],
        "smiles": SMILES[:5] + SMILES[20:35],
        "y": [i % 2 for i in range(20)],
    }
    with open("t.csv", "w", newline="") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    kinds = {c.name: c.kind for c in read_table("t.csv").columns}
    assert kinds == {
        "code": "identifier",
        "part": "identifier",
        "dna": "sequence",
        "smiles": "molecule",
    }
