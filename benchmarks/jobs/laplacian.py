"""Laplacian machines on 200 labelled and 5,000 unlabelled points against the dense textbook."""

from functools import cache, partial

import numpy as np

from benchmarks.gram_cases import scaled
from benchmarks.in_process import InProcess
from benchmarks.job import OURS, Disagreement, Job

GAMMA, NEIGHBOURS, COLUMNS = 0.03, 10, 20
PEER = "dense textbook"
MACHINES = (
    ("LaplacianSVC", "svc", 1.0),
    ("LaplacianSVC", "svc", 10.0),
    ("LaplacianRidge", "ridge", 1.0),
)


@cache
def _data(labelled, rows):
    """Eight clusters in two classes; the spread of the columns falls from 1 to 0.1."""
    random = np.random.default_rng(0)
    centres = 1.2 * random.normal(size=(8, COLUMNS))
    kinds = random.integers(0, 8, rows)
    X = centres[kinds] + random.normal(size=(rows, COLUMNS)) * np.linspace(1, 0.1, COLUMNS)
    classes = kinds % 2
    classes[labelled:] = -1
    targets = np.where(classes < 0, np.nan, np.sin(X[:, 0]) + X[:, 1])
    return X, classes, targets


def _ours(kind, smoothness, labelled, rows):
    from mercer import RBF, LaplacianRidge, LaplacianSVC

    X, classes, targets = _data(labelled, rows)
    options = {
        "smoothness": smoothness,
        "kernel": RBF(gamma=GAMMA),
        "n_neighbors": NEIGHBOURS,
        "weights": "binary",
    }
    machine, y = LaplacianRidge(**options), targets
    if kind == "svc":
        machine, y = LaplacianSVC(**options, fit_intercept=True), classes

    def fit():
        machine.fit(X, y)
        coef = machine.dual_coef_
        return coef[0] if coef.ndim == 2 else coef

    return fit


def _textbook(kind, smoothness, labelled, rows):
    """Belkin, Niyogi and Sindhwani (2006): one dense system, then a machine on labelled points."""
    from scipy import linalg
    from scipy.sparse import csgraph
    from sklearn.metrics.pairwise import rbf_kernel
    from sklearn.neighbors import kneighbors_graph
    from sklearn.svm import SVC

    X, classes, targets = _data(labelled, rows)

    def fit():
        K = rbf_kernel(X, gamma=GAMMA)
        W = kneighbors_graph(X, NEIGHBOURS)
        L = csgraph.laplacian(W.maximum(W.T), normed=True)
        system = smoothness * (L @ K)
        system.flat[:: rows + 1] += 1
        if kind == "ridge":
            system[:labelled] += K[:labelled]
            return linalg.solve(system, np.nan_to_num(targets), overwrite_a=True)
        right = np.eye(rows, labelled)
        warped = linalg.solve(system, right, overwrite_a=True, overwrite_b=True)
        Q = K[:labelled] @ warped
        # The squared hinge, C = 1: a hard margin in the kernel with ½ more on its diagonal.
        Q.flat[:: labelled + 1] += 0.5
        signs = np.where(classes[:labelled] == 1, 1.0, -1.0)
        machine = SVC(C=1e10, kernel="precomputed", tol=1e-6).fit(Q, signs)
        return warped[:, machine.support_] @ machine.dual_coef_[0]

    return fit


def _agree(answers, *, labelled, rows):
    from mercer import RBF

    X, _, _ = _data(labelled, rows)
    K = RBF(gamma=GAMMA)(X[: min(rows, 1000)], X)
    ours, theirs = K @ answers[OURS], K @ answers[PEER]
    worst = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if worst > 5e-3:
        raise Disagreement(f"the functions differ by {worst:.1e} of the largest value")
    return f"Largest relative difference of values: {worst:.1e}."


def _cases(scale):
    labelled, rows = max(20, scaled(200, scale)), max(200, scaled(5_200, scale))
    size = {"labelled": labelled, "rows": rows}
    return [
        InProcess(
            label=f"{name}, μ = {smoothness:g}, {labelled:,} labelled and {rows - labelled:,} not",
            contenders={
                OURS: partial(_ours, kind, smoothness, labelled, rows),
                PEER: partial(_textbook, kind, smoothness, labelled, rows),
            },
            check=partial(_agree, **size),
            scale=scale,
        )
        for name, kind, smoothness in MACHINES
    ]


JOB = Job("laplacian", "Laplacian machines, 200 labelled and 5,000 unlabelled", _cases, repeats=3)
