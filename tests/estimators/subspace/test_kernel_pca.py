"""Kernel PCA against LAPACK on the centred matrix, PCA and scikit-learn."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import linalg
from sklearn import decomposition
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning

from mercer import (
    PCA,
    RBF,
    Gram,
    KernelPCA,
    Matern,
    NegativeDistance,
    Polynomial,
    Sigmoid,
    Spectrum,
)
from mercer.exceptions import IndefiniteKernelWarning, InvalidInput, NotPositiveDefinite
from mercer.solvers import centred_spectrum

SOLVERS = ("dense", "arpack", "lanczos", "randomized")


@pytest.fixture(scope="module")
def cloud():
    random = np.random.default_rng(3)
    return random.normal(size=(700, 6)) * [3, 2, 1, 1, 0.5, 0.5]


def _eigen(K, count):
    H = np.eye(len(K)) - 1 / len(K)
    values, vectors = linalg.eigh(H @ K @ H)
    return values[::-1][:count], vectors[:, ::-1][:, :count]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_agrees_with_lapack_on_the_centred_matrix(cloud, solver):
    model = KernelPCA(6, kernel=RBF(gamma=0.1), eigen_solver=solver, random_state=0).fit(cloud)
    values, vectors = _eigen(RBF(gamma=0.1)(cloud), 6)
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    overlap = np.abs(np.sum(model.eigenvectors_ * vectors, axis=0))
    np.testing.assert_allclose(overlap, 1, atol=1e-6)
    assert (model.residuals_ < 1e-3 * values).all()


@pytest.mark.parametrize("solver", ["dense", "lanczos"])
def test_the_linear_kernel_gives_pca(cloud, solver):
    kernel, plain = KernelPCA(4, eigen_solver=solver).fit(cloud), PCA(4).fit(cloud)
    n = len(cloud)
    np.testing.assert_allclose(kernel.eigenvalues_ / (n - 1), plain.explained_variance_, rtol=1e-10)
    new = np.random.default_rng(0).normal(size=(20, 6)) + 2
    np.testing.assert_allclose(
        np.abs(kernel.transform(new)), np.abs(plain.transform(new)), atol=1e-8
    )


@pytest.mark.parametrize(
    "given",
    [{"kernel": "rbf"}, {"kernel": "poly", "degree": 2}, {"kernel": "cosine"},
     {"kernel": "sigmoid", "gamma": 0.001}],
    ids=lambda given: given["kernel"],
)  # fmt: skip
def test_names_and_new_points_are_as_in_scikit_learn(cloud, given):
    theirs = decomposition.KernelPCA(3, eigen_solver="dense", **given).fit(cloud[:400])
    indefinite = given["kernel"] == "sigmoid"
    with pytest.warns(IndefiniteKernelWarning) if indefinite else nullcontext():
        ours = KernelPCA(3, **given).fit(cloud[:400])
    assert ours.gamma_ == theirs.gamma_
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(ours.transform(cloud[400:])), np.abs(theirs.transform(cloud[400:])), atol=1e-7
    )


def test_fit_transform_is_transform_and_components_have_unit_norm(cloud):
    model = KernelPCA(5, kernel="rbf")
    T = model.fit_transform(cloud)
    np.testing.assert_allclose(T, model.transform(cloud), atol=1e-8)
    K = Gram(model.kernel_, cloud).dense()
    A = model._coefficients
    np.testing.assert_allclose(A.T @ K @ A, np.eye(5), atol=1e-8)
    np.testing.assert_allclose(T.T @ T, np.diag(model.eigenvalues_), atol=1e-6)


@pytest.mark.parametrize("held", [np.float32, None], ids=["float32", "computed anew"])
def test_short_memory_changes_the_way_and_not_the_answer(cloud, held, monkeypatch):
    exact = KernelPCA(5, kernel=RBF(gamma=0.1), eigen_solver="dense").fit(cloud)
    monkeypatch.setattr(centred_spectrum, "holdable", lambda n, fine: held and np.dtype(held))
    model = KernelPCA(5, kernel=RBF(gamma=0.1)).fit(cloud)
    assert ("float32" if held else "anew") in model.choice_
    np.testing.assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(model.transform(cloud), exact.transform(cloud), atol=1e-4)
    assert (model.residuals_ <= 1e-5 * exact.eigenvalues_[0]).all()


def test_a_time_limit_gives_the_components_so_far():
    X = np.random.default_rng(0).normal(size=(1200, 8))
    model = KernelPCA(40, kernel=RBF(gamma=2.0), random_state=0, time_limit=1e-9)
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        model.fit(X)
    assert np.isfinite(model.transform(X[:5])).all()
    assert model.residuals_.max() > 1e-6 * model.eigenvalues_[0]


def test_a_fine_tolerance_is_kept_for_many_rows_too():
    X = np.random.default_rng(0).normal(size=(2600, 3))
    coarse = KernelPCA(3, kernel=RBF(gamma=0.1), random_state=0).fit(X)
    fine = KernelPCA(3, kernel=RBF(gamma=0.1), random_state=0, tol=1e-11).fit(X)
    assert "float32" in coarse.choice_
    assert "float64" in fine.choice_
    assert (coarse.residuals_ <= 1e-6 * coarse.eigenvalues_[0]).all()
    assert (fine.residuals_ <= 1e-11 * fine.eigenvalues_[0]).all()
    np.testing.assert_allclose(coarse.eigenvalues_, fine.eigenvalues_, rtol=1e-12)
    np.testing.assert_allclose(coarse.transform(X[:9]), fine.transform(X[:9]), atol=1e-5)


@pytest.mark.parametrize(
    "kernel",
    [RBF(gamma=1e-7), Polynomial(14, gamma=1e4)],
    ids=["nearly constant", "beyond float32"],
)
def test_float64_is_taken_where_float32_is_too_coarse(kernel):
    X = np.random.default_rng(0).normal(size=(2600, 6))
    model = KernelPCA(3, kernel=kernel, random_state=0).fit(X)
    assert "float64" in model.choice_
    assert (model.residuals_ <= 1e-9 * model.eigenvalues_[0]).all()


def test_conditionally_positive_kernels_and_strings():
    X = load_wine().data[:, :4]
    model = KernelPCA(2, kernel=NegativeDistance()).fit(X)
    assert (model.eigenvalues_ > 0).all()
    words = ["ACGTACGT", "ACGTTCGT", "TTTTTTTA", "TTTTTTAA", "CGCGCGCG", "CGCGCGAG"]
    T = KernelPCA(2, kernel=Spectrum(2)).fit_transform(words)
    apart = np.linalg.norm(T[:, None] - T, axis=2)
    assert apart[2, 3] < apart[2, 0]
    assert apart[0, 1] < apart[0, 4]


def test_pre_images_take_noise_away():
    X = load_digits().data / 16
    train, clean = X[:900], X[900:960]
    noisy = clean + 0.25 * np.random.default_rng(0).normal(size=clean.shape)
    model = KernelPCA(40, kernel=RBF(gamma=0.03), fit_inverse_transform=True, alpha=1e-2).fit(train)
    T = model.transform(noisy)
    before = np.linalg.norm(noisy - clean)
    assert np.linalg.norm(model.pre_image(T) - clean) < 0.75 * before
    assert np.linalg.norm(model.inverse_transform(T) - clean) < 0.75 * before


@pytest.mark.parametrize("kernel", [RBF(gamma=0.05), Matern(nu=2.5, length_scale=5.0)], ids=str)
def test_pre_images_are_stationary_points_of_the_distance(cloud, kernel):
    model = KernelPCA(3, kernel=kernel).fit(cloud)
    T = model.transform(cloud[:5])
    Z = model.pre_image(T, max_iter=3000, tol=1e-12)
    g = T @ model._coefficients.T + 1 / len(cloud)

    def value(z, row):
        return -2 * float(kernel(z[None], cloud)[0] @ g[row])

    for row in range(5):
        for step in np.eye(6) * 1e-4:
            slope = (value(Z[row] + step, row) - value(Z[row] - step, row)) / 2e-4
            assert abs(slope) < 1e-5


def test_bad_input_is_refused_with_a_remedy(cloud):
    with pytest.raises(InvalidInput, match="fit_inverse_transform=True"):
        KernelPCA(2, kernel="linear").fit(cloud).pre_image(np.zeros((1, 2)))
    with pytest.raises(InvalidInput, match="3 coordinates for 2"):
        KernelPCA(2, kernel="rbf").fit(cloud).pre_image(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="precomputed"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(np.eye(3))
    with pytest.raises(InvalidInput, match="not vectors"):
        KernelPCA(1, kernel=Spectrum(2), fit_inverse_transform=True).fit(["abc", "abd", "xyz"])


def test_more_components_than_rank_and_constant_data():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KernelPCA(5, eigen_solver="lanczos").fit(X)
    assert (model.eigenvalues_[2:] == 0).all()
    assert np.isfinite(model.transform(X)).all()
    assert KernelPCA(5, remove_zero_eig=True).fit(X).eigenvalues_.shape == (2,)
    flat = KernelPCA(2, kernel="rbf").fit(np.ones((5, 2)))
    np.testing.assert_allclose(flat.transform(np.ones((1, 2))), 0, atol=1e-12)


@pytest.mark.parametrize("rows", [600, 2600])
def test_few_distinct_objects_among_many(rows):
    X = np.arange(rows)[:, None] % 4 * np.array([1.0, -2.0])
    model = KernelPCA(6, kernel=RBF(gamma=0.1), random_state=0).fit(X)
    exact = KernelPCA(3, kernel=RBF(gamma=0.1), eigen_solver="dense").fit(X[:600])
    np.testing.assert_allclose(model.eigenvalues_[:3] / rows, exact.eigenvalues_ / 600, rtol=1e-9)
    assert (model.eigenvalues_[3:] <= 1e-9 * model.eigenvalues_[0]).all()
    assert np.isfinite(model.transform(X[:4])).all()
    flat = KernelPCA(2, kernel=RBF(gamma=0.1), random_state=0).fit(np.ones((rows, 2)))
    np.testing.assert_allclose(flat.transform(np.ones((1, 2))), 0, atol=1e-6)


@pytest.mark.parametrize("solver", ["dense", "lanczos", "randomized"])
def test_an_indefinite_kernel_is_not_passed_over_in_silence(cloud, solver):
    X = np.asarray(cloud)[:80]
    kernel = Sigmoid(2.0, 1.0)
    K = kernel(X)
    H = np.eye(len(K)) - 1 / len(K)
    values = np.linalg.eigvalsh(H @ K @ H)
    share = -values[0] / values[-1]
    assert share > 0.01
    with pytest.warns(IndefiniteKernelWarning, match="negative eigenvalue of") as caught:
        model = KernelPCA(2, kernel=kernel, eigen_solver=solver, random_state=0).fit(X)
    (message,) = [str(w.message) for w in caught]
    said = float(message.split("negative eigenvalue of ")[1].split()[0])
    assert said == pytest.approx(share, rel=0.1)
    np.testing.assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-5)
    # Asked for, a component of negative variance is refused, and the remedy is one.
    with pytest.raises(NotPositiveDefinite, match="significant negative eigenvalues") as refused:
        KernelPCA(kernel=kernel).fit(X)
    most = int(str(refused.value).split("Set n_components to ")[1].split()[0])
    with pytest.warns(IndefiniteKernelWarning):
        assert KernelPCA(most, kernel=kernel).fit(X).eigenvalues_.min() > 0


def test_a_given_matrix_that_is_definite_gets_no_warning(cloud):
    K = RBF(gamma=0.1)(np.asarray(cloud)[:60])
    KernelPCA(2, kernel="precomputed").fit(K)


@pytest.mark.parametrize("solver", SOLVERS)
def test_numbers_of_whole_rows_and_columns_go_with_the_means(cloud, solver):
    K = RBF(gamma=0.3)(cloud[:30])
    shifted = K + np.arange(30.0)[:, None] - np.arange(30.0)[None] ** 2 / 100
    settings = {"kernel": "precomputed", "eigen_solver": solver, "random_state": 0}
    plain, moved = (KernelPCA(3, **settings).fit(matrix) for matrix in (K, shifted))
    np.testing.assert_allclose(moved.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    with pytest.raises(ValueError, match="differ by"):
        KernelPCA(3, **settings).fit(K + np.triu(np.ones((30, 30))))
