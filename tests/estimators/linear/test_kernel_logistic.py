"""Kernel logistic regression: against the linear one, naive objectives and its own dual."""

import warnings

import numpy as np
import pytest
from scipy import optimize
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    RBF,
    IndefiniteKernelWarning,
    InvalidInput,
    KernelLogisticRegression,
    Laplacian,
    Linear,
    LogisticRegression,
    NotPositiveDefinite,
    Spectrum,
    certify,
    load,
    save,
)
from mercer.gram.computed import Gram
from mercer.problems.logistic import LogisticProblem
from mercer.solvers.base import Budget
from mercer.solvers.linear.logistic_newton import KernelLogisticNewton
from tests.estimators import cases


@pytest.mark.parametrize("data", [cases.heart, cases.iris, cases.wine])
@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_linear_kernel_is_the_linear_machine(data, C, intercept):
    X, y = data()
    options = {"C": C, "fit_intercept": intercept, "tol": 1e-8}
    linear = LogisticRegression(**options).fit(X, y)
    dual = KernelLogisticRegression(kernel=Linear(), **options).fit(X, y)
    np.testing.assert_allclose(dual.dual_coef_ @ X, linear.coef_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dual.predict_proba(X), linear.predict_proba(X), atol=1e-5)
    assert dual.certificate_.primal == pytest.approx(linear.certificate_.primal, rel=1e-8)
    assert dual.certificate_.dual == pytest.approx(linear.certificate_.dual, rel=1e-8)


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("data", [cases.heart, cases.iris, cases.digits])
def test_the_gap_is_small_at_the_default_tolerance(data, C):
    X, y = data()
    model = KernelLogisticRegression(C=C).fit(X, y)
    assert model.certificate_.status == "optimal"
    assert -1e-10 <= model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.dual_feasibility <= 1e-9 * C * len(y)


def test_coefficients_are_the_errors_of_the_probabilities():
    X, y = cases.iris()
    model = KernelLogisticRegression(C=3.0, tol=1e-9).fit(X, y)
    pulls = 3.0 * (np.eye(3)[y] - model.predict_proba(X))
    np.testing.assert_allclose(model.dual_coef_.T, pulls, atol=1e-6)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=0), 0, atol=1e-7)


def test_it_is_the_minimum_that_scipy_finds():
    X, y = cases.two_classes(40)
    kernel = RBF(gamma=0.3)
    K, signs = kernel(X), 2.0 * y - 1

    def value(v):
        f = K @ v[:-1]
        return v[:-1] @ f / 2 + 2.0 * np.logaddexp(0, -signs * (f + v[-1])).sum()

    found = optimize.minimize(value, np.zeros(41), method="BFGS", options={"gtol": 1e-7})
    model = KernelLogisticRegression(C=2.0, kernel=kernel).fit(X, y)
    assert model.certificate_.primal == pytest.approx(found.fun, rel=1e-7)
    assert model.certificate_.dual <= found.fun


@pytest.mark.parametrize("data", [cases.heart, cases.iris])
def test_certify_judges_it_from_the_data(data):
    X, y = data()
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    model = KernelLogisticRegression(C=2.0, class_weight="balanced").fit(X, y, weights)
    judged = certify(model, X, y, weights)
    assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert judged.dual == pytest.approx(model.certificate_.dual, rel=1e-12)
    model.dual_coef_ = model.dual_coef_ * 0.9
    assert certify(model, X, y, weights).gap > 1e-4
    with pytest.raises(InvalidInput, match="fitted on"):
        certify(model, X[:-1], y[:-1], weights[:-1])


def test_factorisation_and_conjugate_gradients_agree():
    X, y = cases.heart()
    direct = KernelLogisticRegression(C=10.0, tol=1e-8).fit(X, y)
    problem = LogisticProblem(np.searchsorted(direct.classes_, y), np.full(len(X), 10.0), 2)
    iterative = KernelLogisticNewton(most_factored=0).solve(
        problem, Gram(direct.kernel_, X), Budget(1e-8)
    )
    np.testing.assert_allclose(iterative.value.coef.T, direct.dual_coef_, atol=1e-5)


def test_matrices_functions_and_strings(tmp_path):
    X, y = cases.iris()
    kernel = RBF(gamma=0.5)
    plain = KernelLogisticRegression(kernel=kernel).fit(X, y)
    matrix = KernelLogisticRegression(kernel="precomputed").fit(kernel(X), y)
    function = KernelLogisticRegression(kernel=lambda A, B: kernel(A, B)).fit(X, y)
    np.testing.assert_allclose(matrix.predict_proba(kernel(X)), plain.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(function.predict_proba(X), plain.predict_proba(X), atol=1e-8)
    assert certify(matrix, kernel(X), y).relative_gap < 1e-8
    words = ["banana", "ananas", "bandana", "cabana", "kernel", "mercer", "merger", "kerning"]
    kinds = ["fruit"] * 4 + ["name"] * 4
    strings = KernelLogisticRegression(C=10.0, kernel=Spectrum(2)).fit(words, kinds)
    assert list(strings.predict(["anana", "merker"])) == ["fruit", "name"]
    for model, data in ((plain, X), (matrix, kernel(X)), (strings, words)):
        save(model, tmp_path / "model.mercer")
        again = load(tmp_path / "model.mercer")
        np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
        assert repr(again.certificate_) == repr(model.certificate_)


def test_bad_input_and_limits():
    X, y = cases.heart()
    with pytest.raises(InvalidInput, match="one class"):
        KernelLogisticRegression().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="'C' parameter"):
        KernelLogisticRegression(C=0).fit(X, y)
    with pytest.raises(NotPositiveDefinite, match="Sigmoid"):
        KernelLogisticRegression(kernel="sigmoid", strict=True).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        KernelLogisticRegression(C=100.0, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        KernelLogisticRegression(C=100.0, time_limit=1e-9).fit(X, y)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_a_kernel_without_an_optimum_is_refused(classes, gamma):
    random = np.random.default_rng(0)
    X, y = 3 * random.normal(size=(60, 2)), random.integers(0, classes, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        with pytest.raises(NotPositiveDefinite, match=r"cᵀKc = -.*repair"):
            KernelLogisticRegression(10.0, kernel="sigmoid", gamma=gamma, coef0=-1.0).fit(X, y)


@pytest.mark.parametrize(("rows", "classes"), [(40, 3), (88, 4), (200, 10)])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_rough_kernels_and_several_classes_need_few_steps(rows, classes, C):
    """Each row is nearly alone under a Laplacian: such a fit did not end once."""
    random = np.random.default_rng(rows)
    X = random.normal(size=(rows, 6))
    noisy = X[:, 0] + 0.5 * random.normal(size=rows)
    y = np.argsort(np.argsort(noisy)) * classes // rows
    model = KernelLogisticRegression(kernel=Laplacian(), C=C).fit(X, y)
    assert model.certificate_.optimal
    assert np.max(model.n_iter_) <= 20
