"""Dense Matérn Gram matrix for the two smoothnesses that have a closed form and are used most."""

from functools import partial

from benchmarks.gram_cases import dense_gram
from benchmarks.job import Job

LENGTH_SCALE = 3.0


def _mercer(nu):
    from mercer import Matern

    return Matern(nu=nu, length_scale=LENGTH_SCALE)


def _sklearn(nu):
    from sklearn.gaussian_process.kernels import Matern

    return Matern(nu=nu, length_scale=LENGTH_SCALE)


def _cases(scale):
    return [
        dense_gram(
            f"Matérn ν = {nu}",
            {"mercer": partial(_mercer, nu), "scikit-learn": partial(_sklearn, nu)},
            rows=4_000,
            columns=20,
            scale=scale,
        )
        for nu in (1.5, 2.5)
    ]


JOB = Job("gram_matern", "Matérn Gram matrix, ν = 1.5 and 2.5, 4,000 × 20", _cases)
