"""Random-walk kernel against GraKeL, without and with labels."""

import numpy as np

from benchmarks.graph_cases import gram_of_graphs, random_graphs
from benchmarks.job import OURS, Disagreement, Job

DECAY = 0.01


def _check_labelled(results):
    """Compare with the explicit product graph: GraKeL's labelled form is another matrix."""
    K = results[OURS]
    graphs = random_graphs(len(K))
    worst = 0.0
    for i, j in ((0, 0), (0, 1), (2, 3)):
        (A, a), (B, b) = graphs[i], graphs[j]
        equal = (a[:, None] == b).ravel()
        product = np.kron(A, B)[np.ix_(equal, equal)]
        exact = np.linalg.inv(np.eye(len(product)) - DECAY * product).sum()
        worst = max(worst, abs(K[i, j] / exact - 1))
    if not worst <= 1e-9:
        raise Disagreement(f"{OURS} differs from the explicit product graph by {worst:.1e}")
    others = [name for name in results if name != OURS]
    smallest = {name: np.linalg.eigvalsh(results[name])[0] for name in (OURS, *others)}
    shown = ", ".join(f"{name} {value:.3g}" for name, value in smallest.items())
    return f"Against the explicit product graph: {worst:.1e}. Smallest eigenvalues: {shown}."


def _cases(scale):
    settings = {"lamda": DECAY}
    return [
        gram_of_graphs(
            "Random walk, unlabelled",
            500,
            scale,
            ("RandomWalk", {"decay": DECAY}),
            ("RandomWalk", settings),
            labelled=False,
        ),
        gram_of_graphs(
            "Random walk, labelled",
            50,
            scale,
            ("RandomWalk", {"decay": DECAY}),
            ("RandomWalkLabeled", settings),
            check=_check_labelled,
        ),
    ]


JOB = Job("graph_random_walk", "Random walks, 500 graphs, and 50 labelled ones", _cases, repeats=1)
