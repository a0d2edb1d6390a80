"""Ten components of kernel PCA against scikit-learn with ARPACK, the faster of its solvers."""

from functools import partial
from operator import attrgetter

from benchmarks.gram_cases import scaled
from benchmarks.job import Job
from benchmarks.subspace_cases import cloud, fit_case

COLUMNS = 20
GAMMA = 0.01


def _ours():
    from mercer import KernelPCA

    return KernelPCA(10, kernel="rbf", gamma=GAMMA, random_state=0)


def _theirs():
    from sklearn.decomposition import KernelPCA

    return KernelPCA(10, kernel="rbf", gamma=GAMMA, eigen_solver="arpack", random_state=0)


def _data(rows):
    return (cloud(rows, COLUMNS),)


def _cases(scale):
    sizes = [max(600, scaled(rows, scale)) for rows in (5_000, 20_000)]
    return [
        fit_case(
            f"RBF, {rows:,} × {COLUMNS}, 10 components",
            _ours,
            _theirs,
            "scikit-learn, arpack",
            partial(_data, rows),
            attrgetter("eigenvalues_"),
            scale,
            growth_limit=4 * rows**2 + 200_000_000,
        )
        for rows in sizes
    ]


JOB = Job("kernel_pca", "KernelPCA, RBF, 5,000 and 20,000 rows, 10 components", _cases, repeats=3)
