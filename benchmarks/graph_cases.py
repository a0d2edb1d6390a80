"""What the jobs on kernels of graphs share: data, and the contenders."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import agree, scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS


@cache
def random_graphs(count, labels=8, degree=3.0):
    """Return pairs (adjacency matrix, labels) of graphs of 20 to 40 nodes."""
    random = np.random.default_rng(0)
    made = []
    for _ in range(count):
        n = int(random.integers(20, 41))
        upper = np.triu(random.random((n, n)) < degree / n, 1)
        made.append(((upper | upper.T).astype(float), random.integers(0, labels, size=n)))
    return made


def ours(kernel, graphs):
    """Return the call that computes the matrix, from the graphs as they come."""
    import mercer

    name, parameters = kernel
    return partial(getattr(mercer, name)(**parameters), graphs)


def grakel(kernel, graphs):
    """Return the call of GraKeL, whose labels are dictionaries."""
    import grakel as library

    name, parameters = kernel
    given = [[matrix, dict(enumerate(labels.tolist()))] for matrix, labels in graphs]

    def call():
        return np.asarray(getattr(library, name)(**parameters).fit_transform(given), dtype=float)

    return call


@cache
def networkx_graphs(count, nodes=30):
    """Return the same kind of graphs as networkx makes them, of one size."""
    import networkx

    random = np.random.default_rng(0)
    made = []
    for seed in range(count):
        graph = networkx.gnp_random_graph(nodes, 3.0 / nodes, seed=seed)
        labels = random.integers(0, 8, size=nodes).tolist()
        networkx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        made.append(graph)
    return made


def grakel_networkx(kernel, graphs):
    """Return the call of GraKeL with its own reading of networkx graphs."""
    import grakel as library

    name, parameters = kernel

    def call():
        given = library.graph_from_networkx(graphs, node_labels_tag="label")
        return np.asarray(getattr(library, name)(**parameters).fit_transform(given), dtype=float)

    return call


def gram_of_networkx(label, count, scale, mine, theirs):
    """Build the case "the whole Gram matrix of graphs of networkx, their reading included"."""
    count = scaled(count, scale)
    return InProcess(
        label=f"{label}, {count:,} networkx graphs of 30 nodes",
        contenders={
            OURS: lambda: ours(mine, networkx_graphs(count)),
            "GraKeL": lambda: grakel_networkx(theirs, networkx_graphs(count)),
        },
        check=partial(agree, tolerance=1e-6),
        scale=scale,
    )


def gram_of_graphs(label, count, scale, mine, theirs, *, labelled=True, check=None):
    """Build the case "the whole Gram matrix of one sample of graphs"."""
    count = scaled(count, scale)

    def graphs():
        return random_graphs(count)

    def unlabelled():
        return [matrix for matrix, _ in graphs()]

    return InProcess(
        label=f"{label}, {count:,} graphs of 20 to 40 nodes",
        contenders={
            OURS: lambda: ours(mine, graphs() if labelled else unlabelled()),
            "GraKeL": lambda: grakel(theirs, graphs()),
        },
        check=check or partial(agree, tolerance=1e-6),
        scale=scale,
    )
