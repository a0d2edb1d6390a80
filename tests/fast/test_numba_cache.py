"""Compiled functions: the second process finds them all in Numba's cache."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import textwrap

import pytest

from mercer import _fast
from mercer._fast.jit import jit

# For each module of _fast, code that runs every function of it, for float32 and float64.
EXERCISES = {
    "alignment": """
        import numpy as np
        from mercer import GlobalAlignment, dtw_distances

        random = np.random.default_rng(0)
        for dtype in (np.float64, np.float32):
            X = [random.normal(size=(2, n)).astype(dtype) for n in (1, 5, 40, 7)]
            for band in (None, 2, 0.3):
                dtw_distances(X, band=band)
        for band in (None, 3):
            GlobalAlignment(0.01, band).log_values(X)
    """,
    "alignment_slopes": """
        import numpy as np
        from mercer import GlobalAlignment

        random = np.random.default_rng(0)
        for dtype in (np.float64, np.float32):
            X = [random.normal(size=(2, n)).astype(dtype) for n in (1, 5, 40, 7)]
            for band in (None, 3):
                dict(GlobalAlignment(1.0, band).gradients(X))
                dict(GlobalAlignment(1.0, band).gradients(X, X[:2]))
    """,
    "contractions": """
        import numpy as np
        from mercer import RBF, GaussianProcessRegressor, White

        X = np.random.default_rng(0).normal(size=(20, 2))
        kernel = 1.0 * RBF(length_scale=[1.0, 1.0]) + White()
        GaussianProcessRegressor(kernel).fit(X, np.sin(X[:, 0]) + 0.1 * X[:, 1] ** 2)
    """,
    "exponentials": """
        import numpy as np
        from mercer import RBF, StreamedRidge, _fast

        # So many that no small system is formed of them.
        X = np.random.default_rng(0).normal(size=(40_000, 3))
        StreamedRidge(kernel=RBF(0.1), approximation=120, memory=1 << 26).fit(X, X[:, 0])
        _fast.exponentials.single(np.zeros(3, dtype=np.float32))
        _fast.exponentials.double(np.zeros(3))
    """,
    "column_products": """
        import numpy as np
        from mercer import PCA, Ridge, _fast

        random = np.random.default_rng(0)
        for dtype in (np.float64, np.float32):
            X = random.normal(size=(4000, 12)).astype(dtype)
            Ridge().fit(X, X[:, 0])
            # Columns that nearly depend on each other are refined.
            X[:, 1] = X[:, 0] + dtype(1e-4) * X[:, 1]
            Ridge(alpha=1e-6).fit(X, X[:, 0])
        stride, rows = _fast.column_products.STRIDE, _fast.column_products.ROWS
        room = np.zeros(stride * rows), np.zeros(stride * stride)
        _fast.column_products._add_square(*room, np.uint64(4), np.uint64(8))
    """,
    "dot_products": """
        import numpy as np
        from mercer import _fast

        row, w, at = np.ones(3), np.ones(3), np.arange(3, dtype=np.int32)
        _fast.dot_products.dense_product(row, w)
        _fast.dot_products.add_dense(row, 1.0, w)
        _fast.dot_products.sparse_product(row, at, 0, 3, w)
        _fast.dot_products.add_sparse(row, at, 0, 3, 1.0, w)
    """,
    "shifted": """
        import numpy as np
        from mercer import GridSearchCV, KernelRidge

        X = np.random.default_rng(0).normal(size=(60, 2))
        grid = {"alpha": [1e-9, 1.0], "gamma": [0.5, 1.0]}
        GridSearchCV(KernelRidge(kernel="rbf"), grid).fit(X, X[:, 0])
    """,
    "box_ascent": """
        import numpy as np
        from mercer import SVC

        X = np.random.default_rng(0).normal(size=(40, 2))
        SVC(fit_intercept=False).fit(X, X[:, 0] * X[:, 1] > 0)
    """,
    "shapley": """
        import numpy as np
        from mercer import KernelRidge, explain

        X = np.random.default_rng(0).normal(size=(20, 3))
        for kernel in ("rbf", "poly"):
            explain(KernelRidge(kernel=kernel).fit(X, X[:, 0]), X[:2])
        wide = np.random.default_rng(0).normal(size=(20, 100))
        machine = KernelRidge(kernel="rbf").fit(wide, wide[:, 0])
        explain(machine, wide[:2])
        explain(machine, wide[:2], game="interventional", background=wide[2:5])
    """,
    "gaussian_factors": """
        import numpy as np
        from mercer import RBF, learn_weights

        X = np.random.default_rng(0).normal(size=(120, 2))
        learn_weights([RBF(gamma=1.0).on(0), RBF(gamma=1.0).on(1)], X, X[:, 0] > 0)
    """,
    "adjacency_bytes": """
        import networkx
        from mercer import WeisfeilerLehman

        WeisfeilerLehman(1)([networkx.path_graph(3)])
    """,
    "forced_moves": """
        import numpy as np
        from mercer import SVC, leave_one_out

        X = np.random.default_rng(0).normal(size=(30, 3))
        y = np.arange(30) % 3
        leave_one_out(SVC().fit(X, y), X, y)
    """,
    "without_rows": """
        import numpy as np
        from mercer import SVC, leave_one_out

        X = np.random.default_rng(0).normal(size=(30, 3))
        y = np.arange(30) % 3
        leave_one_out(SVC().fit(X, y), X, y)
    """,
    "neighbours": """
        import numpy as np
        from mercer import LaplacianRidge

        from mercer import _fast

        X = np.random.default_rng(0).normal(size=(40, 3))
        LaplacianRidge().fit(X, X[:, 0])
        squares, chosen = np.ones((4, 2)), np.zeros((4, 2), dtype=np.int64)
        _fast.neighbours.merge(squares, chosen, squares.copy(), chosen + 1)
    """,
    "logistic": """
        import numpy as np
        from mercer import LogisticRegression

        X = np.random.default_rng(0).normal(size=(40, 3))
        LogisticRegression().fit(X, (X[:, 0] > 0).astype(int))
        LogisticRegression(fit_intercept=False).fit(X, X[:, 0] > 0)
        LogisticRegression(solver="saga", l1_ratio=1).fit(X, X[:, 0] > 0)
        wide = np.random.default_rng(0).normal(size=(60, 600))  # too many weights for a matrix
        LogisticRegression(solver="saga", l1_ratio=0.02, C=10.0).fit(wide, wide[:, 0] > 0)
        LogisticRegression().fit(wide, wide[:, 0] > 0)  # by secants
    """,
    "multinomial": """
        import numpy as np
        from mercer import LogisticRegression

        X = np.random.default_rng(0).normal(size=(40, 3))
        LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    """,
    "network": """
        import warnings
        import numpy as np
        from mercer import MLPClassifier, MLPRegressor

        X = np.random.default_rng(0).normal(size=(40, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dtype in (np.float64, np.float32):
                for solver in ("adam", "sgd", "lbfgs"):
                    MLPClassifier(4, solver=solver, max_iter=3).fit(X.astype(dtype), X[:, 0] > 0)
                    MLPRegressor(hidden_layer_sizes=4, solver=solver, max_iter=3).fit(
                        X.astype(dtype), X[:, 0], np.ones(40)
                    )
    """,
    "perceptron": """
        import warnings
        import numpy as np
        from scipy import sparse
        from mercer import Adaline, KernelPerceptron, Perceptron

        X = np.random.default_rng(0).normal(size=(40, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for dtype in (np.float64, np.float32):
                for rows in (X.astype(dtype), sparse.csr_array(X.astype(dtype))):
                    Perceptron(penalty="elasticnet").fit(rows, X[:, 0] > 0)
                    Adaline().fit(rows, X[:, 0] > 0)
        KernelPerceptron().fit(X, X[:, 0] > 0)
        KernelPerceptron(cache_size=1e-3).fit(X, X[:, 0] > 0)
    """,
    "pairwise": """
        import numpy as np
        from mercer import Chi2, Delta, Gram, Intersection, Laplacian, Matern, Overlap, RBF

        X = np.abs(np.random.default_rng(0).normal(size=(40, 5)))
        for dtype in (np.float64, np.float32):
            A = X.astype(dtype)
            for kernel in (RBF(0.3), Laplacian(0.3), Intersection(), Chi2(0.5)):
                for gram in (Gram(kernel, A), Gram(kernel, A, A[:7])):
                    gram.dense()
                    gram.rows([1, 5, 3])
                    gram @ np.ones(gram.shape[1])
                    gram @ np.ones((gram.shape[1], 2), dtype=np.float32)
            Gram(RBF(0.3), np.tile(A, (12, 1))).dense()  # in tiles
        for kernel in (RBF(0.3), Matern(length_scale=1.0)):
            kernel.direct(X, X[:7])
        words = np.random.default_rng(1).choice(["a", "b", "c"], size=(40, 3))
        for kernel in (Delta(), Overlap()):
            Gram(kernel, words).dense()
    """,
    "smo": """
        import numpy as np
        from mercer import RBF, Gram
        from mercer.problems import qp
        from mercer.solvers.base import Budget
        from mercer.solvers.svm.box_qp import BoxQPSolver
        from mercer.solvers.svm.smo import SMO

        X = np.random.default_rng(0).normal(size=(2600, 3))
        y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
        kernel = RBF(0.5)
        for n in (50, 500, 2600):  # one block, and working sets
            gram, C = Gram(kernel, X[:n]), np.full(n, 100.0)
            for problem in (qp.classifier(y[:n], C), qp.nu_classifier(y[:n], C, 0.2)):
                for tol in (1e-3, 1e-10):
                    budget = Budget(tol=tol, max_iter=20_000)
                    BoxQPSolver().solve(problem, gram, budget)
                    SMO().solve(problem, gram, budget)
    """,
    "multiclass": """
        import numpy as np
        from mercer import SVC

        X = np.random.default_rng(0).normal(size=(400, 2))
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
        for multi_class in ("weston_watkins", "crammer_singer"):
            SVC(C=10, multi_class=multi_class, tol=1e-4).fit(X, y)
    """,
    "coordinate": """
        import warnings

        import numpy as np
        from scipy import sparse
        from mercer import LinearSVC, LinearSVR
        from mercer.solvers.linear import coordinate

        warnings.simplefilter("ignore")
        X = np.random.default_rng(0).normal(size=(300, 6))
        y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
        for given in (X, sparse.csr_matrix(X)):
            for choice in (
                {"loss": "hinge"},
                {"loss": "squared_hinge"},
                {"penalty": "l1", "dual": False},
                {"dual": False},
                {"multi_class": "crammer_singer"},
            ):
                for labels in (y, y > 0):
                    LinearSVC(random_state=0, **choice).fit(given, labels)
            for loss in ("epsilon_insensitive", "squared_epsilon_insensitive"):
                LinearSVR(loss=loss, random_state=0).fit(given, X[:, 0])
            usual = coordinate.FEW_ROWS, coordinate.FEW_COLUMNS, coordinate.MOST_WORK
            coordinate.FEW_ROWS = coordinate.FEW_COLUMNS = coordinate.MOST_WORK = 0  # large data
            LinearSVC(loss="hinge", random_state=0).fit(given, y)
            coordinate.FEW_ROWS, coordinate.FEW_COLUMNS, coordinate.MOST_WORK = usual
    """,
    "active_set": "",  # with path
    "warm": "from mercer._fast import warm; warm.compile_steps()",
    "weighted_sums": """
        import numpy as np
        from mercer.linalg.weighted_sum import weighted_sum

        for dtype in (np.float64, np.float32):
            weighted_sum([np.eye(3, dtype=dtype)] * 2, np.ones(2))
    """,
    "tiles": """
        import numpy as np
        from mercer import RBF, Gram
        from mercer.gram.held import HeldGram

        X = np.random.default_rng(0).normal(size=(40, 3))
        for dtype in (np.float64, np.float32):
            HeldGram(Gram(RBF(), X), dtype) @ X
    """,
    "trees": """
        from mercer import SubsetTree, Subtree

        trees = [("a", ("b", "c"), "b"), ("b", "c"), "c", ("a", ("b", "c"))]
        for kernel in (Subtree(), Subtree(ordered=False), SubsetTree(), SubsetTree(leaves=True)):
            kernel(trees)
            kernel(trees, trees[:2])
            kernel.diag(trees)
            dict(kernel.gradients(trees))
    """,
    "forward_backward": """
        import numpy as np
        from mercer import HiddenMarkovModel

        series = [np.random.default_rng(i).normal(size=(2, 5 + i)) for i in range(6)]
        strings = ["abba", "a", "", "bbab"]
        for emissions, X in (("gaussian", series), ("discrete", strings)):
            model = HiddenMarkovModel(2, emissions=emissions, random_state=0).fit(X)
            model.score_samples(X)
            model.predict(X)
            model.fisher_scores(X)
    """,
    "piecewise": "",  # by the linear machines
    "squared_loss": """
        import numpy as np
        from scipy import sparse
        from mercer import LinearSVC

        X = np.random.default_rng(0).normal(size=(450, 10))
        LinearSVC().fit(sparse.csr_matrix(X * (X > 0.5)), X[:, 0] > 0)
    """,
    "kinked_loss": "",  # by the linear machines
    "secants": """
        import numpy as np
        from mercer.solvers.linear.secant_memory import SecantMemory

        memory = SecantMemory(np.ones((3, 1)))
        for x in np.eye(3)[:, :, None]:
            memory.see(x, 2 * x)
            memory.direction()
    """,
    "refinement": """
        import numpy as np
        from mercer import (
            Graph, RandomWalk, ShortestPath, WeisfeilerLehmanOptimalAssignment
        )

        path = Graph([(0, 1), (1, 2), (2, 3)], list("CCNO"))
        loop = Graph([(0, 1), (1, 1), (1, 2)], list("CNC"), directed=True)
        graphs = [path] * 12 + [Graph([(0, 1)], ["O", "H"]), loop]
        for kernel in (
            WeisfeilerLehmanOptimalAssignment(2),
            ShortestPath(),
            ShortestPath(weight="weight"),
            RandomWalk(0.2),
            RandomWalk(0.2, label=None),
        ):
            kernel(graphs)
            kernel(graphs[:2], graphs)
            kernel(graphs[:2])
        RandomWalk(0.2).largest_decay(graphs)
        near = RandomWalk(0.381, label=None)  # near the limit: eigenvalues
        near([path] * 3)
        dict(near.gradients([path] * 3))
    """,
    "shortest_paths": "",  # with refinement
    "sparse_rows": """
        import numpy as np
        from scipy import sparse
        from mercer import SVC, _fast

        thin = sparse.random(150, 40, density=0.05, random_state=0, format="csr")
        SVC().fit(thin, np.arange(150) % 2)
        rows = thin.indptr, thin.indices, thin.data
        _fast.sparse_rows.add_column_products(*rows, np.zeros((40, 40)))
    """,
    "walks": "",
    "lasso": """
        import numpy as np
        from mercer import Lasso, enet_path, lasso_path

        random = np.random.default_rng(0)
        X = random.normal(size=(40, 60))
        Lasso(0.01, max_iter=10_000).fit(X, X[:, 0])
        lasso_path(X[:, :10], X[:, 0], alphas=5)
        enet_path(X[:, :10], X[:, :2], alphas=5)
        wide = random.normal(size=(100, 1500))  # too many columns for their matrix of products
        Lasso(0.01, max_iter=10_000).fit(wide, wide[:, :20] @ random.normal(size=20))
    """,
    "column_lasso": """
        import numpy as np
        from scipy import sparse
        from mercer import Lasso

        random = np.random.default_rng(0)
        thin = sparse.random(90, 60, density=0.2, random_state=0, format="csr")
        Lasso(0.001).fit(thin, thin @ random.normal(size=60))
    """,
    "log_cosh": """
        import numpy as np
        from mercer import ICA, FastICA

        X = np.random.default_rng(0).laplace(size=(300, 2))
        for dtype in (np.float64, np.float32):
            ICA(random_state=0).fit(X.astype(dtype))
            FastICA(random_state=0).fit(X.astype(dtype))
    """,
    "box_parts": """
        import numpy as np
        from mercer import SVC

        X = np.random.default_rng(0).normal(size=(40, 2))
        SVC().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    """,
    "box_qp": """
        import numpy as np
        from mercer import NuSVC, SVC

        X = np.random.default_rng(0).normal(size=(40, 2))
        for machine in (SVC(), NuSVC(nu=0.2)):
            machine.fit(X, X[:, 0] > 0)

        from mercer.problems import qp
        from mercer.gram.given import GivenGram
        from mercer.solvers.base import Budget
        from mercer.solvers.svm.box_qp import BoxQPSolver

        X = np.random.default_rng(0).normal(size=(300, 3))
        y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0)
        K = np.exp(-0.01 * ((X[:, None] - X) ** 2).sum(axis=2))
        for problem in (qp.classifier(y, np.full(300, 1e6)), qp.nu_classifier(y, y * y, 0.2)):
            BoxQPSolver().solve(problem, GivenGram(K), Budget(1e-8))
    """,
    "krylov": """
        import numpy as np
        from mercer import GridSearchCV, KernelRidge

        X = np.random.default_rng(0).normal(size=(60, 2))
        GridSearchCV(KernelRidge(kernel="rbf"), {"gamma": [0.5, 1.0]}).fit(X, X[:, 0])
    """,
    "kmers": """
        import numpy as np
        from mercer import GappyKmer, Mismatch, Spectrum

        X = ["".join(row) for row in np.random.default_rng(0).choice(list("ACGT"), (40, 60))]
        for kernel in (Spectrum(3), Spectrum(9, "binary"), Mismatch(4, 1), GappyKmer(3, 2)):
            kernel(X)
            kernel(X[:3], X)
    """,
    "subsequence_slopes": """
        from mercer import Subsequence, Substrings

        texts = ["GATTACA", "CAT", "", "AT"]
        alphabet = ["".join(map(chr, range(65, 90)))]
        for kernel in (
            Substrings(["AT", "C"], 0.5), Subsequence(1), Subsequence(4, lengths="all")
        ):
            dict(kernel.gradients(texts))
            dict(kernel.gradients(alphabet))
    """,
    "subsequences": """
        from mercer import Subsequence, Substrings

        Substrings(["AT", "C"], 0.5)(["GATTACA", "CAT", "", "AT"])
        for kernel in (Subsequence(1), Subsequence(4, lengths="all")):
            kernel(["GATTACA", "CAT", "", "AT"])
            kernel(["".join(map(chr, range(65, 90)))])
    """,
}

REPORT = """
import importlib, json
from numba.core.dispatcher import Dispatcher

found = {{}}
for module_name in {modules}:
    module = importlib.import_module(f"mercer._fast.{{module_name}}")
    for name, value in vars(module).items():
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__:
            found[f"{{module_name}}.{{name}}"] = {{
                "signatures": [str(signature) for signature in value.signatures],
                "hits": sum(value.stats.cache_hits.values()),
                "misses": sum(value.stats.cache_misses.values()),
                "options": {{key: sorted(on) if isinstance(on, set) else bool(on)
                            for key, on in value.targetoptions.items()}},
            }}
print(json.dumps(found))
"""


SOME = ("coordinate", "pairwise")


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    return in_two_processes(SOME, tmp_path_factory.mktemp("numba"))


def in_two_processes(modules, cache):
    """Run the same job in two processes, one after the other, with a cache of their own."""
    environment = os.environ | {"MERCER_THREADS": "2", "NUMBA_CACHE_DIR": str(cache)}
    jobs = [textwrap.dedent(EXERCISES[name]) for name in modules]
    code = "\n".join([*jobs, REPORT.format(modules=list(modules))])
    outputs = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        assert run.returncode == 0, run.stderr
        outputs.append(json.loads(run.stdout))
    return outputs


def test_every_module_of_compiled_functions_is_exercised():
    modules = {info.name for info in pkgutil.iter_modules(_fast.__path__)} - {"jit"}
    assert modules <= set(EXERCISES), "add code that runs its functions to EXERCISES"


def test_the_job_reaches_every_function(processes):
    first, second = processes
    assert first.keys() == second.keys()
    assert len(first) >= 3
    for name, function in first.items():
        assert function["signatures"], f"{name} was not called: add it to EXERCISES"
        assert function["misses"] == len(function["signatures"])
        assert function["hits"] == 0
    for name in ("pairwise.squared_distances", "pairwise.coordinate_sums"):
        types = " ".join(first[name]["signatures"])
        assert "float32" in types
        assert "float64" in types


def test_the_second_process_compiles_nothing(processes):
    first, second = processes
    for name, function in second.items():
        assert function["misses"] == 0, name
        # What only compiled functions call is part of them, and need not be loaded by itself.
        assert function["hits"] == len(function["signatures"]), name
        assert set(function["signatures"]) <= set(first[name]["signatures"])
    assert sum(function["hits"] for function in second.values()) >= 10


def test_compiled_functions_follow_the_rules(processes):
    for name, function in processes[0].items():
        options = function["options"]
        assert options.get("nogil"), name
        assert not options.get("parallel"), name
        # Sums may be taken in another order; NaN and infinity are never assumed away.
        assert set(options.get("fastmath") or ()) <= {"reassoc", "contract", "nsz"}, name


@pytest.mark.attack
def test_all_modules(tmp_path):
    """One test, so that all functions are compiled once only, whatever process takes it."""
    processes = in_two_processes(tuple(EXERCISES), tmp_path)
    test_the_job_reaches_every_function(processes)
    test_the_second_process_compiles_nothing(processes)
    test_compiled_functions_follow_the_rules(processes)


def test_without_a_place_for_the_cache_functions_compile_for_each_process():
    names = {}
    exec("def double(x):\n    return 2 * x", names)  # Numba has no place for code without a file
    assert jit(names["double"])(21) == 42


def test_modules_load_on_first_use():
    for name in EXERCISES:
        assert getattr(_fast, name) is importlib.import_module(f"mercer._fast.{name}")
    with pytest.raises(AttributeError, match="no attribute 'slow'"):
        _fast.slow  # noqa: B018
