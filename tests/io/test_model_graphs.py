"""Models that were fitted on networkx graphs: in a file they have graphs of mercer."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import (
    RBF,
    SVC,
    SVR,
    CannotSave,
    GaussianProcessRegressor,
    Graph,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
)
from mercer._files import container
from tests.io.model_cases import answers

KERNELS = [
    WeisfeilerLehman(2).normalized(),
    WeisfeilerLehman(2, label="element", edge_label="order"),
    WeisfeilerLehman(2, start="degrees", edge_label=None),
    ShortestPath(weight="length"),
    RandomWalk(0.01, label=None) + WeisfeilerLehman(1),
]


def molecules(kind=nx.Graph, count=24):
    rng = np.random.default_rng(0)
    made = []
    for seed in range(count):
        graph = kind(nx.gnp_random_graph(6, 0.4, seed=seed))
        graph = nx.relabel_nodes(graph, {node: f"atom {node}" for node in graph})
        graph.add_edge("atom 0", "atom 0")
        for _, data in graph.nodes(data=True):
            data |= {"label": rng.choice([1.5, 2.0]), "element": str(rng.choice(["C", "N"]))}
        for *_, data in graph.edges(data=True):
            data |= {"label": ("s", int(rng.integers(2))), "order": True, "length": rng.random()}
        made.append(graph)
    return made, np.arange(count) % 2


def through_file(model, tmp_path):
    mercer.save(model, tmp_path / "model")
    return mercer.load(tmp_path / "model")


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph], ids=lambda k: k.__name__)
def test_support_vectors_are_the_same_graphs(kernel, kind, tmp_path):
    X, y = molecules(kind)
    model = SVC(kernel, C=10.0).fit(X, y)
    loaded = through_file(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert {type(graph) for graph in loaded.support_vectors_} == {Graph}
    assert {type(graph) for graph in model.support_vectors_} == {kind}
    expected = kernel(model.support_vectors_, X)
    np.testing.assert_array_equal(kernel(loaded.support_vectors_, X), expected)
    mercer.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "machine",
    [
        SVC(WeisfeilerLehman(2), approximation=8),
        SVR(kernel=WeisfeilerLehman(2)),
        KernelRidge(kernel=WeisfeilerLehman(2)),
        KernelRidge(kernel=WeisfeilerLehman(2), approximation=8),
        KernelPCA(2, kernel=WeisfeilerLehman(2)),
        KernelPerceptron(kernel=WeisfeilerLehman(2)),
        GaussianProcessRegressor(WeisfeilerLehman(2).normalized()),
    ],
    ids=str,
)
def test_machines(machine, tmp_path):
    X, y = molecules()
    machine.fit(X, y)
    loaded = through_file(machine, tmp_path)
    for method, values in answers(machine, X).items():
        np.testing.assert_array_equal(answers(loaded, X)[method], values, err_msg=method)


def column(items):
    objects = np.empty(len(items), dtype=object)
    objects[:] = items
    return objects


@pytest.mark.parametrize(
    "batch",
    [tuple, column, lambda X: column(X)[:, None], lambda X: pd.Series(column(X))],
    ids=["tuple", "array", "array of one column", "series"],
)
def test_batches_become_lists(batch, tmp_path):
    X, y = molecules()
    model = SVC(WeisfeilerLehman(2)).fit(batch(X), y)
    loaded = through_file(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert type(loaded.support_vectors_) is list
    assert {type(graph) for graph in loaded.support_vectors_} == {Graph}


def test_a_frame_stays_a_frame(tmp_path):
    X, y = molecules()
    frame = pd.DataFrame({"mass": np.arange(24.0), "molecule": column(X), "other": column(X[::-1])})
    kernel = WeisfeilerLehman(2).on("molecule") * RBF(gamma=0.1).on("mass")
    model = SVC(kernel + WeisfeilerLehman(1).on("other")).fit(frame, y)
    loaded = through_file(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    for name in ("molecule", "other"):
        assert {type(graph) for graph in loaded.support_vectors_[name]} == {Graph}
        assert {type(graph) for graph in model.support_vectors_[name]} == {nx.Graph}
    assert loaded.support_vectors_["mass"].tolist() == model.support_vectors_["mass"].tolist()


def test_a_process_without_networkx_loads_them(tmp_path):
    X, y = molecules()
    mercer.save(SVC(WeisfeilerLehman(2)).fit(X, y), tmp_path / "model")
    code = (
        "import sys\n"
        "sys.modules['networkx'] = None\n"
        "import mercer\n"
        "model = mercer.load('model')\n"
        "assert len(model.predict(model.support_vectors_)) == len(model.support_)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path)


def test_directions_are_kept_and_older_files_have_none(tmp_path):
    X, y = [Graph([(0, 1), (1, 2)], directed=bool(i % 2)) for i in range(8)], np.arange(8) % 2
    model = SVC(WeisfeilerLehman(2)).fit(X, y)
    loaded = through_file(model, tmp_path)
    kept = [graph.directed for graph in loaded.support_vectors_]
    assert kept == [graph.directed for graph in model.support_vectors_]
    assert set(kept) == {True, False}
    content = container.read(tmp_path / "model")
    for name, state in content.document["objects"]:
        if name == "Graph":
            del state["directed"]
    container.write(tmp_path / "old", content)
    old = mercer.load(tmp_path / "old")
    np.testing.assert_array_equal(old.decision_function(X), model.decision_function(X))
    assert not any(graph.directed for graph in old.support_vectors_)


def test_what_a_file_has_no_place_for(tmp_path):
    X, y = molecules()
    both = WeisfeilerLehman(1) + WeisfeilerLehman(1, label="element")
    with pytest.raises(CannotSave, match="reads the attributes 'element', 'label' in turn"):
        mercer.save(SVC(both).fit(X, y), tmp_path / "model")
    model = SVC(WeisfeilerLehman(1)).fit(X, y)
    del X[model.support_[0]].nodes["atom 1"]["label"]
    with pytest.raises(CannotSave, match="a networkx graph has nodes with the attribute 'label'"):
        mercer.save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_edges(kind, tmp_path):
    graphs = [kind(path) for path in ({(0, 1), (1, 2)}, {(0, 1), (1, 2), (2, 0)})] * 3
    machine = SVC(ShortestPath()).fit(graphs, [0, 1] * 3)
    mercer.save(machine, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert loaded.support_vectors_ == machine.support_vectors_
    assert type(loaded.support_vectors_[0]) is kind
    np.testing.assert_array_equal(loaded.predict(graphs), machine.predict(graphs))
    first = (tmp_path / "m.mercer").read_bytes()
    mercer.save(loaded, tmp_path / "m.mercer")
    assert (tmp_path / "m.mercer").read_bytes() == first
