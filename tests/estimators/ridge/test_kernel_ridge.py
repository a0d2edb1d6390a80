"""Kernel ridge regression: against scikit-learn, closed forms, brute force, and bad input."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from mercer import RBF, BagOfWords, KernelRidge, Linear, Matern, certify, load, save
from mercer.exceptions import InvalidInput, InvalidParameter
from mercer.gram.computed import Gram
from mercer.linalg.cholesky import Cholesky, factor_with_jitter
from mercer.linalg.pivoted import pivoted_cholesky
from mercer.solvers import ridge_systems as ridge

X, y = load_diabetes(return_X_y=True)
X, y = X[:150] * 20, y[:150] - 150
Y = np.c_[y, np.sin(y / 30)]
WEIGHTS = np.random.default_rng(0).uniform(0.1, 2, len(y))
NEW = np.random.default_rng(1).standard_normal((20, X.shape[1]))
X.flags.writeable = y.flags.writeable = Y.flags.writeable = False


@pytest.mark.parametrize("weights", [None, WEIGHTS, 2.0])
@pytest.mark.parametrize("alpha", [0.3, [0.3, 20.0]])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly", "laplacian", "cosine"])
def test_same_as_scikit_learn(kernel, alpha, weights):
    ours = KernelRidge(alpha, kernel=kernel).fit(X, Y, weights)
    theirs = kernel_ridge.KernelRidge(alpha=alpha, kernel=kernel).fit(X, Y, weights)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("parameters", [
    {"gamma": 0.02, "kernel": "rbf"}, {"gamma": 0.1, "degree": 2, "coef0": 3, "kernel": "poly"},
    {"kernel": lambda a, b, power=1: (a @ b) ** power, "kernel_params": {"power": 2}},
])  # fmt: skip
def test_parameters_of_kernels(parameters):
    ours = KernelRidge(0.5, **parameters).fit(X, y)
    theirs = kernel_ridge.KernelRidge(alpha=0.5, **parameters).fit(X, y)
    np.testing.assert_allclose(ours.predict(NEW), theirs.predict(NEW), rtol=1e-7)
    assert certify(theirs, X, y).relative_gap < 1e-10
    assert certify(ours, X, y).relative_gap < 1e-10


def test_kernels_of_mercer_sparse_data_and_precomputed_matrices():
    kernel = RBF(gamma=0.05) + 0.5 * Matern(nu=1.5, length_scale=3.0)
    ours = KernelRidge(0.5, kernel=kernel).fit(X, y)
    K = kernel(X)
    expected = kernel(NEW, X) @ np.linalg.solve(K + 0.5 * np.eye(len(y)), y)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8)
    matrix = KernelRidge(0.5, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(matrix.predict(kernel(NEW, X)), expected, rtol=1e-8)
    few = np.where(np.abs(X) > 1, X, 0.0)
    dense = KernelRidge(0.5, kernel="rbf").fit(few, y)
    thin = KernelRidge(0.5, kernel="rbf").fit(sparse.csc_array(few), y)
    np.testing.assert_allclose(thin.predict(NEW), dense.predict(sparse.csr_array(NEW)), rtol=1e-9)


def test_texts():
    texts = ["good film", "bad film", "a good day", "a bad day", "bad", "good good"]
    stars = np.array([4.0, 1.0, 5.0, 2.0, 1.0, 5.0])
    model = KernelRidge(0.1, kernel=BagOfWords()).fit(texts, stars)
    good, bad = model.predict(["good", "bad"])
    assert good > bad + 1
    K = BagOfWords()(texts)
    np.testing.assert_allclose(K @ model.dual_coef_ + 0.1 * model.dual_coef_, stars, rtol=1e-9)


@pytest.mark.parametrize("weights", [np.ones(len(y)), WEIGHTS])
def test_leave_one_out_is_brute_force(weights):
    model = KernelRidge([0.2, 3.0], kernel=RBF(gamma=0.02)).fit(X, Y, weights)
    closed = model.leave_one_out()
    path = model.path(X, Y, [0.2, 1.0, 3.0], weights)
    for i in range(0, len(y), 15):
        rest = np.delete(np.arange(len(y)), i)
        without = clone(model).fit(X[rest], Y[rest], weights[rest])
        residual = Y[i] - without.predict(X[i : i + 1])[0]
        np.testing.assert_allclose(closed[i], residual, atol=1e-8)
        np.testing.assert_allclose([path.residuals[0, i, 0], path.residuals[2, i, 1]], residual,
                                   atol=1e-8)  # fmt: skip
    np.testing.assert_allclose(path.coefficients[0, :, 0], model.dual_coef_[:, 0], rtol=1e-7)
    np.testing.assert_allclose(path.errors[2, 1], np.average(closed[:, 1] ** 2, weights=weights))


@pytest.mark.parametrize("weights", [np.ones(len(y)), WEIGHTS])
@pytest.mark.parametrize("method", ["cholesky", "mixed", "cg", "eigen"])
def test_a_constant_costs_nothing(method, weights):
    shifted = Y + np.array([1000.0, -7.0])
    model = KernelRidge([0.2, 3.0], kernel=RBF(gamma=0.02), fit_intercept=True, solver=method)
    model.fit(X, shifted, weights)
    # The conditions of the optimum: no residual, and weights of the constant that add up to 0.
    K = RBF(gamma=0.02)(X)
    c, b = model.dual_coef_, model.intercept_
    rest = shifted - K @ c - b - np.array([0.2, 3.0]) * c / weights[:, None]
    np.testing.assert_allclose(rest, 0.0, atol=1e-8)
    np.testing.assert_allclose(c.sum(axis=0), 0.0, atol=1e-8)
    for certificate in (model.certificate_, certify(model, X, shifted, weights)):
        assert certificate.relative_gap < 1e-10
        assert certificate.dual_feasibility < 1e-8
    centred = clone(model).fit(X, Y, weights)
    np.testing.assert_allclose(model.predict(NEW) - [1000, -7], centred.predict(NEW), atol=1e-7)


@pytest.mark.parametrize("weights", [np.ones(len(y)), WEIGHTS])
def test_leave_one_out_with_a_constant_is_brute_force(weights):
    model = KernelRidge(0.2, kernel=RBF(gamma=0.02), fit_intercept=True).fit(X, y + 50, weights)
    closed = model.leave_one_out()
    path = model.path(X, y + 50, [0.2, 1.0], weights)
    np.testing.assert_allclose(path.intercepts[0], model.intercept_, rtol=1e-8)
    np.testing.assert_allclose(path.coefficients[0], model.dual_coef_, atol=1e-7)
    for i in range(0, len(y), 15):
        rest = np.delete(np.arange(len(y)), i)
        without = clone(model).fit(X[rest], y[rest] + 50, weights[rest])
        residual = y[i] + 50 - without.predict(X[i : i + 1])[0]
        assert closed[i] == pytest.approx(residual, abs=1e-8)
        assert path.residuals[0, i] == pytest.approx(residual, abs=1e-8)
    # The trace of the matrix that makes predictions of targets.
    rows, few = X[:30], weights[:30]
    short = clone(model).set_params(alpha=1.0).fit(rows, np.eye(30), few)
    small = model.path(rows, y[:30], [1.0], few)
    assert small.freedoms[0] == pytest.approx(np.trace(short.predict(rows)), rel=1e-8)


def test_path_counts_degrees_of_freedom():
    path = KernelRidge(kernel="linear").path(X, y, [1e-5, 1e9])
    np.testing.assert_allclose(path.freedoms, [X.shape[1], 0], atol=1e-4)
    assert path.coefficients.shape == path.residuals.shape == (2, len(y))


def test_auto_finds_the_best_of_all():
    model = KernelRidge("auto", kernel=RBF("auto")).fit(X, y)
    error = np.mean(model.leave_one_out() ** 2)
    for gamma in model.kernel_.gamma * np.array([0.25, 1.0, 4.0]):
        path = KernelRidge(kernel=RBF(gamma=gamma)).path(
            X, y, model.alpha_ * np.array([0.5, 1.0, 2.0])
        )
        # The grid is coarse: a finer one may be better by little.
        assert error <= path.errors.min() * 1.01
    assert np.mean(model.leave_one_out() ** 2) == pytest.approx(model.path_.errors.min())
    above = KernelRidge("auto", kernel=RBF("auto"), fit_intercept=True).fit(X, y + 500)
    assert np.mean(above.leave_one_out() ** 2) == pytest.approx(above.path_.errors.min())
    below = clone(above).fit(X, y)
    assert below.alpha_ == pytest.approx(above.alpha_)
    np.testing.assert_allclose(above.predict(NEW) - 500, below.predict(NEW), atol=1e-4)
    several = KernelRidge("auto", kernel="rbf").fit(X, Y)
    assert several.alpha_.shape == (2,)
    alone = KernelRidge("auto", kernel="rbf").fit(X, Y[:, 1])
    assert alone.alpha_ == pytest.approx(several.alpha_[1])


@pytest.mark.parametrize("alpha", [1.0, 1e-5])
@pytest.mark.parametrize("method", ["cholesky", "mixed", "cg", "eigen"])
def test_all_solvers_agree_and_prove_it(method, alpha):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 3))
    B = np.c_[np.sin(A[:, 0]), A[:, 1] * A[:, 2]] + 0.1 * rng.standard_normal((400, 2))
    weights = rng.uniform(0.5, 2, 400)
    model = KernelRidge(alpha, kernel=RBF(gamma=0.5), solver=method).fit(A, B, weights)
    K = RBF(gamma=0.5)(A) + alpha * np.diag(1 / weights)
    size = np.linalg.norm(B) + np.linalg.norm(K, 2) * np.linalg.norm(model.dual_coef_)
    assert np.linalg.norm(B - K @ model.dual_coef_) < 1e-13 * size
    assert model.solver_ == method
    judged = certify(model, A, B, weights)
    for certificate in (model.certificate_, judged):
        assert abs(certificate.relative_gap) < 1e-12
        assert certificate.stationarity < 1e-8
    assert judged.primal == pytest.approx(model.certificate_.primal, rel=1e-9)


def test_certificate_of_a_wrong_answer_is_true():
    model = kernel_ridge.KernelRidge(alpha=0.5, kernel="rbf").fit(X, y)
    best = certify(model, X, y)
    model.dual_coef_ = model.dual_coef_ * 1.01
    worse = certify(model, X, y)
    assert worse.dual < best.primal < worse.primal
    K = RBF(gamma=1 / X.shape[1])(X)
    c = model.dual_coef_
    value = 0.5 * np.sum((y - K @ c) ** 2) + 0.25 * c @ K @ c
    assert worse.primal == pytest.approx(value)
    with pytest.raises(InvalidInput, match="Pass the training data"):
        certify(model, X[:-1], y[:-1])


def test_few_features_are_used_instead_of_a_matrix():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((3000, 5))
    b = A @ np.arange(5.0) + rng.standard_normal(3000)
    model = KernelRidge(0.1, kernel=Linear()).fit(A, b)
    assert model.solver_ == "cg"
    assert model.n_iter_ < 10
    w = np.linalg.solve(A.T @ A + 0.1 * np.eye(5), A.T @ b)
    np.testing.assert_allclose(model.predict(A[:9]), A[:9] @ w, rtol=1e-9)
    assert abs(model.certificate_.relative_gap) < 1e-9


def test_pivoted_factor_is_exact_at_full_rank_and_close_below():
    K = Gram(RBF(gamma=0.5), NEW[:, :2])
    F = pivoted_cholesky(K, 20, np.random.default_rng(0)).F
    np.testing.assert_allclose(F @ F.T, K.dense(), atol=1e-5)
    A = np.random.default_rng(2).standard_normal((500, 2))
    K = Gram(RBF(gamma=0.1), A)
    F = pivoted_cholesky(K, 60, np.random.default_rng(0)).F
    assert F.shape == (500, 60)
    assert np.trace(K.dense() - F @ F.T) < 1e-2


def test_iterations_that_end_early_say_so():
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = KernelRidge(1e-9, kernel=RBF(gamma=0.5), solver="cg", max_iter=2).fit(X, y)
    assert model.certificate_.status == "max_iter"
    assert model.certificate_.gap > 0


def test_choice_of_the_method():
    assert ridge.choose(1000, 1.0, True, False) == "cholesky"
    assert ridge.choose(5000, 1.0, True, False) == "mixed"
    assert ridge.choose(5000, 0.0, True, False) == "cholesky"
    assert ridge.choose(5000, 1.0, True, True) == "cg"
    assert ridge.choose(10**7, 1.0, True, False) == "cg"


def test_singular_matrices():
    twice = np.vstack([X, X])
    targets = np.r_[y, y + 10]
    with pytest.warns(LinAlgWarning, match="least norm"):
        model = KernelRidge(0, kernel="rbf").fit(twice, targets)
    # Two targets at one place: the best answer is in their middle.
    np.testing.assert_allclose(model.predict(X), y + 5, atol=1e-5)
    proof = model.certificate_
    assert 0 <= proof.gap < 1e-8 * proof.primal + proof.rounding
    with pytest.raises(InvalidParameter, match="alpha > 0"):
        model.leave_one_out()
    with pytest.raises(InvalidParameter, match="singular"):
        KernelRidge(kernel="rbf").path(twice, targets, [0.0, 1.0])


def test_rows_without_weight_are_left_out():
    weights = np.where(np.arange(len(y)) % 3 == 0, 0.0, WEIGHTS)
    used = weights > 0
    model = KernelRidge(0.5, kernel=RBF(gamma=0.1)).fit(X, y, weights)
    alone = KernelRidge(0.5, kernel=RBF(gamma=0.1)).fit(X[used], y[used], weights[used])
    np.testing.assert_allclose(model.predict(NEW), alone.predict(NEW), rtol=1e-8)
    assert not model.dual_coef_[~used].any()
    assert np.isnan(model.leave_one_out()[~used]).all()
    assert certify(model, X, y, weights).relative_gap < 1e-10


def test_constant_targets():
    model = KernelRidge("auto", kernel="rbf").fit(X, np.full(len(y), 7.0))
    assert np.isfinite(model.predict(NEW)).all()
    zero = KernelRidge(1.0, kernel="rbf").fit(X, np.zeros(len(y)))
    assert not zero.predict(NEW).any()
    assert zero.certificate_.gap == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": [1.0, -1.0]}, "≥ 0"),
        ({"alpha": [1.0, 2.0]}, "2 values for 1 targets"),
        ({"alpha": float("nan")}, "alpha"),
        ({"kernel": "rbff"}, "There is no kernel"),
        ({"kernel": 3}, "kernel"),
        ({"solver": "qr"}, "solver"),
        ({"alpha": 0.0, "fit_intercept": True}, "alpha > 0"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelRidge(**parameters).fit(X, y)


def test_bad_data():
    with pytest.raises(InvalidInput, match="row 3"):
        KernelRidge().fit(X, y, np.where(np.arange(len(y)) == 3, -1.0, 1.0))
    with pytest.raises(ValueError, match="not 0 everywhere"):
        KernelRidge().fit(X, y, 0.0)
    with pytest.raises(ValueError, match="inconsistent"):
        KernelRidge().fit(X, y[:-1])
    with pytest.raises(InvalidInput, match="2 rows"):
        KernelRidge("auto").fit(X[:1], y[:1])


def test_a_saved_model_answers_the_same(tmp_path):
    model = KernelRidge([0.5, 1.0], kernel=RBF(gamma=0.1)).fit(X, Y)
    save(model, tmp_path / "ridge.mercer")
    again = load(tmp_path / "ridge.mercer")
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    np.testing.assert_array_equal(again.leave_one_out(), model.leave_one_out())
    chosen = KernelRidge("auto", kernel=RBF("median"), fit_intercept=True).fit(X, Y)
    save(chosen, tmp_path / "chosen.mercer")
    again = load(tmp_path / "chosen.mercer")
    np.testing.assert_array_equal(again.path_.errors, chosen.path_.errors)
    np.testing.assert_array_equal(again.predict(NEW), chosen.predict(NEW))
    assert certify(again, X, Y).relative_gap < 1e-10


def test_cholesky_keeps_the_matrix_beside_its_factor():
    K = RBF(gamma=0.1)(X)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
        factor = Cholesky(K.astype(dtype), 0.5)
        A = K + 0.5 * np.eye(len(K))
        np.testing.assert_allclose(A @ factor.solve(Y), Y, atol=tolerance * 1e3)
        np.testing.assert_allclose(factor.multiply(Y), K @ Y, atol=tolerance * 1e4)
        assert factor.log_determinant() == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-5)
        np.testing.assert_allclose(factor.lower() @ factor.lower().T, A, atol=tolerance)
        inverse = np.linalg.inv(A)
        diagonal = Cholesky(K.astype(dtype), 0.5).inverse_diagonal()
        np.testing.assert_allclose(diagonal, np.diag(inverse), rtol=1e-4)
        np.testing.assert_allclose(factor.inverse(), inverse, atol=tolerance * 1e2)


def test_jitter_is_told_and_has_a_limit():
    factor, jitter = factor_with_jitter(np.eye(3))
    assert jitter == 0
    ones = np.ones((30, 30))
    factor, jitter = factor_with_jitter(ones)
    assert 0 < jitter < 1e-10
    np.testing.assert_allclose(factor.multiply(np.eye(30)), 1.0, atol=1e-9)
    with pytest.raises(ValueError, match="not by rounding"):
        factor_with_jitter(np.array([[1.0, 2.0], [2.0, 1.0]]))
