"""PCA and whitening against LAPACK, scikit-learn and their own definitions."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn import decomposition
from sklearn.datasets import load_digits, load_wine

from mercer import PCA, Whitening

SOLVERS = ("full", "covariance_eigh", "arpack", "lanczos", "randomized")


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("whiten", [False, True])
def test_every_solver_agrees_with_the_eigenvectors_of_the_covariance(wine, solver, whiten):
    pca = PCA(4, svd_solver=solver, whiten=whiten, random_state=0).fit(wine)
    values, U = linalg.eigh(np.cov(wine.T))
    values, U = values[::-1][:4], U[:, ::-1][:, :4]
    np.testing.assert_allclose(pca.explained_variance_, values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(np.sum(pca.components_.T * U, axis=0)), 1, atol=1e-9)
    reference = decomposition.PCA(4, svd_solver="full", whiten=whiten).fit(wine)
    np.testing.assert_allclose(pca.transform(wine), reference.transform(wine), atol=1e-6)
    np.testing.assert_allclose(pca.fit_transform(wine), pca.transform(wine), atol=1e-6)
    np.testing.assert_allclose(
        pca.inverse_transform(pca.transform(wine)),
        reference.inverse_transform(reference.transform(wine)),
        atol=1e-6,
    )
    np.testing.assert_allclose(pca.noise_variance_, reference.noise_variance_, rtol=1e-6)
    # Whitening scales the projections; the model of the data stays what it was.
    plain = decomposition.PCA(4, svd_solver="full").fit(wine)
    np.testing.assert_allclose(pca.score(wine), plain.score(wine), rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "count", "solver"),
    [((2000, 20), 3, "covariance_eigh"), ((600, 150), 5, "gram"), ((100, 50), 3, "full"),
     ((600, 550), 5, "gram"), ((850, 800), 1, "lanczos"), ((3_000, 800), 1, "gram"),
     ((600, 550), None, "full"), ((600, 550), 400, "full"), ((40, 900), 2, "gram"),
     ((1100, 1050), 2, "lanczos")],
)  # fmt: skip
def test_the_method_is_chosen_by_cost_and_said_in_words(shape, count, solver):
    X = np.random.default_rng(0).normal(size=shape) * np.linspace(1, 2, shape[1])
    pca = PCA(count).fit(X)
    assert pca._fit_svd_solver == solver
    assert pca.choice_.endswith(".")
    assert len(pca.choice_) > 40
    exact = np.linalg.eigvalsh(np.cov(X.T))[::-1][: pca.n_components_]
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=1e-9, atol=1e-10)


def test_a_large_mean_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(3000, 5)) * [5, 4, 3, 2, 1]
    near, far = PCA().fit(X), PCA().fit(X + 1e7)
    assert far._fit_svd_solver == "covariance_eigh"
    np.testing.assert_allclose(far.explained_variance_, near.explained_variance_, rtol=1e-7)


def test_sparse_data_are_centred_without_filling_them():
    X = sparse.random(400, 120, density=0.05, random_state=1, format="csr")
    thin, dense = PCA(5, random_state=0).fit(X), PCA(5).fit(X.toarray())
    np.testing.assert_allclose(thin.explained_variance_, dense.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(thin.transform(X)), np.abs(dense.transform(X.toarray())),
                               atol=1e-8)  # fmt: skip


def test_components_beyond_the_rank_are_orthogonal_and_have_no_variance(wine):
    X = np.hstack([wine[:, :3], wine[:, :3] @ np.ones((3, 2)), np.ones((len(wine), 1))])
    for solver in ("full", "covariance_eigh", "lanczos", "randomized"):
        pca = PCA(5, svd_solver=solver, random_state=0).fit(X)
        C = pca.components_
        np.testing.assert_allclose(C @ C.T, np.eye(5), atol=1e-6)
        assert (pca.explained_variance_[3:] < 1e-9 * pca.explained_variance_[0]).all()
        assert np.isfinite(pca.transform(X)).all()


def test_constant_data_have_no_variance():
    pca = PCA(1).fit(np.full((6, 3), 2.5))
    assert pca.explained_variance_[0] == 0
    assert pca.explained_variance_ratio_[0] == 0


@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "lanczos", "randomized"])
def test_more_components_than_columns_are_refused(wine, solver):
    with pytest.raises(ValueError, match="n_components=14 must be between"):
        PCA(14, svd_solver=solver).fit(wine)


@pytest.mark.parametrize("method", ["pca", "zca"])
def test_whitening_gives_the_identity_even_for_a_bad_condition(wine, method):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(13, 13)))[0]
    X = (wine - wine.mean(axis=0)) / wine.std(axis=0) * np.logspace(0, -4, 13) @ Q
    model = Whitening(method=method).fit(X)
    Z = model.transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(13), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-10)


def test_zca_is_the_symmetric_root(wine):
    model = Whitening(method="zca").fit(wine)
    root = np.real(linalg.sqrtm(np.linalg.inv(np.cov(wine.T))))
    np.testing.assert_allclose(model.components_, root, atol=1e-8 * np.abs(root).max())


def test_whitening_leaves_out_what_does_not_vary(wine):
    X = np.hstack([wine[:, :4], wine[:, :1] - wine[:, 1:2], np.full((len(wine), 1), 0.1)])
    model = Whitening().fit(X)
    assert model.rank_ == 4
    np.testing.assert_allclose(np.cov(model.transform(X).T), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-9)
    with pytest.raises(ValueError, match="vary in 4 directions"):
        Whitening(5).fit(X)
    with pytest.raises(ValueError, match="no column of X varies"):
        Whitening().fit(np.ones((5, 2)))


def test_the_picture_shows_every_component():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pca = PCA(7).fit(load_digits().data)
    ax = pca.plot_variance()
    assert len(ax.patches) == 7
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), np.cumsum(pca.explained_variance_ratio_), rtol=1e-12
    )
    pyplot.close(ax.figure)
