"""Kernels of graphs on the real data sets beside the checkout, by the protocol of the literature.

10-fold cross-validation of an SVC, with C and the number of rounds chosen inside each fold.
"""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import (
    SVC,
    Graph,
    GridSearchCV,
    WeisfeilerLehman,
    WeisfeilerLehmanOptimalAssignment,
    read_graphs,
)
from tests.real_data import real_data


def data_set(name):
    """Read the text files of one data set: a graph is a line "nodes class" and a line a node."""
    path = real_data(f"graphs/{name}/{name}.txt")
    lines = iter(path.read_text().splitlines())
    graphs, target = [], []
    for _ in range(int(next(lines))):
        n, label = map(int, next(lines).split())
        rows = [list(map(int, next(lines).split())) for _ in range(n)]
        edges = {tuple(sorted((u, v))) for u, row in enumerate(rows) for v in row[2:]}
        graphs.append(Graph(sorted(edges), [row[0] for row in rows], size=n))
        target.append(label)
    return graphs, np.array(target)


def accuracy(kernels, X, y, costs=(0.01, 0.1, 1.0, 10.0, 100.0, 1000.0), seed=0):
    """Return the mean accuracy over 10 folds, C and the kernel chosen by 5 folds inside each."""
    matrices = [kernel.normalized()(X) for kernel in kernels]
    scores = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(matrices[0], y):
        best = None
        for K in matrices:
            search = GridSearchCV(SVC(kernel="precomputed"), {"C": costs}, cv=5)
            search.fit(K[np.ix_(train, train)], y[train])
            if best is None or search.best_score_ > best[0]:
                best = search.best_score_, search.score(K[np.ix_(test, train)], y[test])
        scores.append(best[1])
    return 100 * np.mean(scores)


def test_mutag_in_both_formats():
    folder = real_data("graphs/TU_MUTAG")
    read = read_graphs(folder)
    assert len(read) == 188
    assert np.unique(read.target).tolist() == [-1, 1]
    assert sum(graph.size for graph in read.graphs) / 188 == pytest.approx(17.93, abs=0.01)
    assert sum(len(graph.edges) for graph in read.graphs) / 188 == pytest.approx(19.79, abs=0.01)
    others, _ = data_set("MUTAG")
    # The same molecules: equal when the numbers that stand for elements are left out.
    kernel = WeisfeilerLehman(3, label=None, edge_label=None)
    mine, theirs = (kernel.features(graphs) for graphs in (read.graphs, others))
    rows = [sorted(map(tuple, phi.aligned(mine.keys).toarray())) for phi in (mine, theirs)]
    assert rows[0] == rows[1]
    machine = SVC(WeisfeilerLehman(2).normalized(), C=10.0)
    X = np.empty(188, dtype=object)
    X[:] = read.graphs
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert cross_val_score(machine, X, read.target, cv=folds).mean() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "published", "tolerance"),
    [
        # Xu and others 2019 (How powerful are graph neural networks?): the deviation over folds.
        ("PTC", 59.9, 4.3),
        pytest.param("IMDBBINARY", 73.8, 3.9, marks=pytest.mark.attack),
        pytest.param("PROTEINS", 75.0, 3.1, marks=pytest.mark.attack),
        # Shervashidze and others 2011 give the deviation over repetitions only, of the mean of ten
        # folds (0.4, 1.3, 0.2); one run of ten folds varies by more.
        ("MUTAG", 82.05, 4.0),
        pytest.param("ENZYMES", 52.22, 4.0, marks=pytest.mark.attack),
        pytest.param("NCI1", 82.19, 4.0, marks=pytest.mark.attack),
    ],
)
def test_published_accuracies(name, published, tolerance):
    X, y = data_set(name)
    if len(X) > 2000:
        # A large set: fewer choices, made before any result was seen.
        found = accuracy([WeisfeilerLehman(3), WeisfeilerLehman(5)], X, y, (1.0, 10.0, 100.0))
    else:
        found = accuracy([WeisfeilerLehman(rounds) for rounds in range(1, 6)], X, y)
    print(f"{name}: {found:.1f}, published {published}")
    assert found == pytest.approx(published, abs=tolerance)


@pytest.mark.slow
def test_optimal_assignment_on_mutag():
    X, y = data_set("MUTAG")
    # Kriege and others 2016 report 84.5 ± 1.7.
    found = accuracy([WeisfeilerLehmanOptimalAssignment(rounds) for rounds in range(1, 6)], X, y)
    assert found == pytest.approx(84.5, abs=4.0)
