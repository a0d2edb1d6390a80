"""Nothing hangs: odd data with extreme parameters end with an answer or with a clear error."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM, certify
from mercer.exceptions import IndefiniteKernelWarning, MercerError, NotSeparable, NumericalOverflow
from tests.stopwatch import stopwatch

SECONDS = 20.0
"""Of the processor; more than any of these takes, by far, and none is given a limit of its own."""


def rows(n=60, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


def halves(n):
    return (np.arange(n) % 2).astype(int)


def noisy(X):
    return (X[:, 0] + 0.5 * np.random.default_rng(1).normal(size=len(X)) > 0).astype(int)


def constant(X, columns):
    X = X.copy()
    X[:, columns] = 7.0
    return X


BINARY = np.random.default_rng(2).integers(0, 2, size=(300, 2)).astype(float)
SETS = {
    "all points equal": (np.full((30, 3), 3.0), halves(30)),
    "constant features": (constant(rows(), [1, 2]), noisy(rows())),
    "no feature varies but one value": (np.eye(40)[:, :1] * 1.0, halves(40)),
    "features to 1e6": (rows() * [1e6, 1.0, 1e-6], noisy(rows())),
    "all at 1e6": (rows() * 1e6, noisy(rows())),
    "all at 1e-6": (rows() * 1e-6, noisy(rows())),
    "far from the origin": (rows() + 1e8, noisy(rows())),
    "one class of one point": (rows(), (np.arange(60) == 7).astype(int)),
    "two points": (rows(2), np.array([0, 1])),
    "two equal points": (np.zeros((2, 2)), np.array([0, 1])),
    "one feature": (rows(60, 1), noisy(rows(60, 1))),
    "opposite labels": (np.concatenate([rows(30)] * 2), np.repeat([0, 1], 30)),
    "few distinct rows": (BINARY, np.random.default_rng(3).integers(0, 2, 300)),
    "past the small sizes": (rows(1100) * [1e6, 1.0, 1.0], halves(1100)),
}
CHOICES = (
    {},
    {"C": 1e10},
    {"C": 1e10, "kernel": "linear"},
    {"tol": 1e-12, "C": 1e10},
    {"tol": 1e-12},
    {"C": 1e-10},
    {"gamma": 1e10},
    {"gamma": 1e-10, "C": 1e10},
    {"kernel": "poly", "C": 1e6},
    {"kernel": "sigmoid"},
    {"C": np.inf},
    {"C": np.inf, "kernel": "linear"},
)


def finishes(model, X, y):
    """Fit; return the model, or None where it refused with a clear error."""
    message = ""
    with stopwatch() as watch, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        try:
            model.fit(X, y)
        except (MercerError, ValueError) as error:
            model, message = None, str(error)
    assert watch.seconds < SECONDS
    assert model is not None or len(message) > 20
    return model


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("name", SETS)
def test_classifiers_end(name, choice):
    X, y = SETS[name]
    model = finishes(SVC(**choice), X, y)
    if model is None:
        overflow = name == "far from the origin" and choice.get("kernel") == "poly"
        assert overflow or choice.get("C") == np.inf
        return
    assert np.isfinite(model.decision_function(X)).all()
    certificate = model.certificate_
    assert np.isfinite([certificate.primal, certificate.dual]).all()
    if certificate.status == "optimal" and choice.get("C") != np.inf:
        assert certificate.stationarity <= choice.get("tol", 1e-3) * (1 + 1e-6)
    if certificate.curvature == "proven" and choice.get("C") != np.inf:
        assert certificate.gap >= -1e-9 * (1 + abs(certificate.primal))
        again = certify(model, X, y)
        # α to 1e10 lose digits in αᵀKα, whoever computes it.
        lost = 1e-12 * model.alpha_.sum() ** 2 * np.abs(model.kernel_.diag(X)).max()
        assert again.dual == pytest.approx(certificate.dual, rel=1e-6, abs=lost)


OTHERS = (
    NuSVC(nu=0.01),
    NuSVC(nu=0.5, tol=1e-12),
    SVR(C=1e10),
    SVR("linear", C=1e10, epsilon=0.0),
    SVR(tol=1e-12),
    NuSVR(C=1e6),
    NuSVR(tol=1e-12, nu=1.0),
    OneClassSVM(nu=1e-6),
    OneClassSVM(nu=1.0, tol=1e-12),
    OneClassSVM("linear"),
)


@pytest.mark.parametrize("machine", OTHERS, ids=repr)
@pytest.mark.parametrize("name", SETS)
def test_other_machines_end(name, machine):
    X, y = SETS[name]
    target = X[:, 0] / max(1.0, np.abs(X[:, 0]).max()) + y if isinstance(machine, SVR) else y
    model = finishes(machine, X, target)
    if model is None:
        assert isinstance(machine, NuSVC)
        assert name == "one class of one point"
        return
    assert np.isfinite([model.certificate_.primal, model.certificate_.dual]).all()
    assert np.isfinite(np.asarray(model.intercept_)).all()


def test_opposite_labels_are_never_separable():
    X, y = SETS["opposite labels"]
    for kernel in ("linear", "rbf", "poly"):
        with pytest.raises(NotSeparable):
            SVC(kernel, C=np.inf).fit(X, y)


def test_two_points_have_the_answer_of_the_book():
    model = SVC("linear", C=np.inf).fit([[0.0], [4.0]], [0, 1])
    assert model.margin_ == pytest.approx(4.0)
    assert model.decision_function([[0.0], [2.0], [4.0]]) == pytest.approx([-1, 0, 1])


def test_equal_points_get_the_majority():
    X = np.zeros((30, 2))
    model = SVC().fit(X, np.arange(30) < 20)
    assert model.predict(X).all()
    assert model.margin_ == np.inf
    assert model.certificate_.gap == pytest.approx(0, abs=1e-9)


def test_values_past_float32_are_refused():
    X, y = SETS["far from the origin"]
    with pytest.raises(NumericalOverflow, match=r"values as large as .* Scale the data"):
        SVC("poly", gamma=1.0).fit(X, y)


def test_zero_gamma_is_the_constant_kernel():
    X, y = SETS["one class of one point"]
    assert not SVC(gamma=0).fit(X, y).predict(X).any()
