"""Dense RBF Gram matrix, in both precisions."""

from functools import partial

from benchmarks.gram_cases import dense_gram
from benchmarks.job import Job

GAMMA = 0.01


def _mercer():
    from mercer import RBF

    return RBF(gamma=GAMMA)


def _sklearn():
    from sklearn.metrics.pairwise import rbf_kernel

    return partial(rbf_kernel, gamma=GAMMA)


def _cases(scale):
    return [
        dense_gram(
            "RBF",
            {"mercer": _mercer, "scikit-learn": _sklearn},
            rows=8_000,
            columns=100,
            scale=scale,
            dtype=dtype,
            tolerance=tolerance,
        )
        for dtype, tolerance in (("float64", 1e-10), ("float32", 1e-5))
    ]


JOB = Job("gram_rbf", "RBF Gram matrix, 8,000 × 100, float64 and float32", _cases)
