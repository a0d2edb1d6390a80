"""Dense rational quadratic Gram matrix."""

from benchmarks.gram_cases import dense_gram
from benchmarks.job import Job

PARAMETERS = {"length_scale": 3.0, "alpha": 1.5}


def _mercer():
    from mercer import RationalQuadratic

    return RationalQuadratic(**PARAMETERS)


def _sklearn():
    from sklearn.gaussian_process.kernels import RationalQuadratic

    return RationalQuadratic(**PARAMETERS)


def _cases(scale):
    contenders = {"mercer": _mercer, "scikit-learn": _sklearn}
    return [dense_gram("rational quadratic", contenders, rows=4_000, columns=20, scale=scale)]


JOB = Job("gram_rational_quadratic", "Rational quadratic Gram matrix, 4,000 × 20", _cases)
