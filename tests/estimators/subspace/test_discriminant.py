"""Linear and kernel discriminants against SciPy's generalised eigenvectors and scikit-learn."""

import re
import warnings

import numpy as np
import pytest
from scipy import linalg
from sklearn import discriminant_analysis
from sklearn.datasets import load_iris, load_wine, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from mercer import (
    DTW,
    RBF,
    KernelDiscriminant,
    LinearDiscriminantAnalysis,
    NystromKernel,
    Spectrum,
    load,
    save,
)
from mercer.exceptions import IndefiniteKernelWarning, InvalidInput, NotPositiveDefinite


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def _scatters(X, y):
    shares = np.array([np.mean(y == c) for c in np.unique(y)])
    means = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    groups = zip(shares, np.unique(y), strict=True)
    within = sum(p * np.cov(X[y == c].T, bias=True) for p, c in groups)
    off = means - shares @ means
    return (off * shares[:, None]).T @ off, within


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_directions_maximise_the_rayleigh_quotient(wine, solver):
    X, y = wine
    S_b, S_w = _scatters(X, y)
    values = linalg.eigh(S_b, S_w, eigvals_only=True)
    model = LinearDiscriminantAnalysis(solver).fit(X, y)
    W = model.scalings_[:, :2]
    quotients = np.diagonal(W.T @ S_b @ W) / np.diagonal(W.T @ S_w @ W)
    np.testing.assert_allclose(quotients, values[::-1][:2], rtol=1e-8)
    np.testing.assert_allclose(W.T @ S_w @ W, np.eye(2), atol=1e-8)
    shares = values[::-1][:2] / values[::-1][:2].sum()
    np.testing.assert_allclose(model.explained_variance_ratio_, shares, rtol=1e-7)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
@pytest.mark.parametrize("shrinkage", [None, "auto", 0.3])
def test_scores_are_scikit_learns(wine, solver, shrinkage):
    if solver == "svd" and shrinkage is not None:
        pytest.skip("shrinkage needs a matrix of covariance")
    given = {"solver": solver, "shrinkage": shrinkage, "priors": [0.5, 0.3, 0.2]}
    X, y = wine
    ours = LinearDiscriminantAnalysis(**given).fit(X, y)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis(**given).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_collinear_and_constant_columns_change_nothing(wine, solver):
    X, y = wine
    plain = LinearDiscriminantAnalysis(solver).fit(X, y)
    more = np.hstack([X, X[:, :2] @ [[1.0], [2.0]], np.full((len(X), 1), 3.0), X[:, 4:5]])
    model = LinearDiscriminantAnalysis(solver).fit(more, y)
    np.testing.assert_allclose(
        model.decision_function(more), plain.decision_function(X), rtol=1e-5, atol=1e-5
    )
    if solver == "eigen":
        with pytest.raises(np.linalg.LinAlgError):
            discriminant_analysis.LinearDiscriminantAnalysis("eigen").fit(more, y)


def test_products_and_data_give_the_same_factor(wine):
    X, y = wine
    by_products = LinearDiscriminantAnalysis(tol=1e-5).fit(X, y)
    by_data = LinearDiscriminantAnalysis(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(
        by_products.decision_function(X), by_data.decision_function(X), atol=1e-8
    )


def test_scalar_products_of_pairs_give_the_same_direction_for_balanced_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) @ random.normal(size=(3, 3))
    y = np.repeat([0, 1], 30)
    X[y == 1] += [1.0, 0.5, -1.0]
    pairs = (X[:, None] - X)[..., None] * (X[:, None] - X)[:, :, None, :]
    same = (y[:, None] == y)[..., None, None]
    vectors = linalg.eigh((pairs * ~same).sum((0, 1)), (pairs * same).sum((0, 1)))[1]
    w = LinearDiscriminantAnalysis().fit(X, y).scalings_[:, 0]
    v = vectors[:, -1]
    assert abs(w @ v) / np.linalg.norm(w) / np.linalg.norm(v) > 1 - 1e-9


@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_kernel_gives_the_linear_discriminant(wine, classes):
    X, y = wine
    X, y = X[y < classes], y[y < classes]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = KernelDiscriminant("linear", reg=0).fit(X, y)
    plain = LinearDiscriminantAnalysis("eigen").fit(X, y)
    np.testing.assert_allclose(kernel.decision_function(X), plain.decision_function(X), atol=1e-7)
    T = LinearDiscriminantAnalysis().fit(X, y).transform(X)
    np.testing.assert_allclose(np.abs(kernel.transform(X)), np.abs(T), atol=1e-7)
    S_b, S_w = _scatters(X, y)
    values = linalg.eigh(S_b, S_w, eigvals_only=True)[::-1][: classes - 1]
    np.testing.assert_allclose(kernel.separation_, values, rtol=1e-7)


@pytest.mark.parametrize("priors", [None, [0.6, 0.1, 0.3]])
def test_separation_is_the_quotient_in_feature_space(wine, priors):
    X, y = wine
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelDiscriminant(RBF(0.05), reg=0.01, priors=priors).fit(X, y)
    K = RBF(0.05)(X)
    H = np.eye(len(K)) - 1 / len(K)
    mu = 0.01 * np.trace(H @ K @ H) / len(K)
    T, pi = model.transform(X), model.priors_
    means = np.array([T[y == c].mean(axis=0) for c in range(3)])
    between = (means - pi @ means).T * pi @ (means - pi @ means)
    within = sum(p * np.cov(T[y == c].T, bias=True) for c, p in enumerate(pi))
    within += mu * model.dual_coef_.T @ K @ model.dual_coef_
    np.testing.assert_allclose(within, np.eye(2), atol=1e-8)
    np.testing.assert_allclose(between, np.diag(model.separation_), atol=1e-7)
    np.testing.assert_allclose(model.means_, means, atol=1e-9)


def test_it_separates_rings_and_strings():
    X, y = make_circles(200, noise=0.08, factor=0.4, random_state=0)
    assert cross_val_score(LinearDiscriminantAnalysis(), X, y).mean() < 0.7
    assert cross_val_score(KernelDiscriminant(RBF(1.0)), X, y).mean() > 0.97
    words, kinds = ["ACAC", "ACACA", "CACAC", "GTGT", "GTGTG", "TGTGT"], [0, 0, 0, 1, 1, 1]
    model = KernelDiscriminant(Spectrum(2)).fit(words, kinds)
    np.testing.assert_array_equal(model.predict(["ACACAC", "TGTG"]), [0, 1])


@pytest.mark.parametrize("machine", [LinearDiscriminantAnalysis(), KernelDiscriminant()])
def test_bad_input_is_refused(wine, machine):
    X, _ = wine
    with pytest.raises(ValueError, match="one class"):
        machine.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="more than the number of classes"):
        machine.fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match="n_components"):
        type(machine)(n_components=2).fit(X[:60], np.arange(60) % 2)


def test_no_spread_within_classes_needs_regularisation(wine):
    X, y = wine
    with pytest.raises(InvalidInput, match="reg above 0"):
        KernelDiscriminant(RBF(10.0), reg=0).fit(X, y)
    with pytest.raises(InvalidInput, match="same image"):
        KernelDiscriminant("rbf", gamma=1.0).fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])


def test_a_time_limit_that_is_missed_is_said(wine):
    X, y = wine
    with pytest.warns(ConvergenceWarning, match="time_limit"):
        late = KernelDiscriminant(time_limit=1e-9).fit(X, y)
    np.testing.assert_array_equal(late.dual_coef_, KernelDiscriminant().fit(X, y).dual_coef_)


@pytest.mark.parametrize("reg", [0.01, 1e-4])
def test_all_rows_as_landmarks_give_the_exact_discriminant(reg, tmp_path):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    exact = KernelDiscriminant(RBF(0.05), reg=reg).fit(X, y)
    whole = KernelDiscriminant(RBF(0.05), reg=reg, approximation=len(X)).fit(X, y)
    np.testing.assert_allclose(whole.separation_, exact.separation_, rtol=1e-7)
    np.testing.assert_allclose(
        whole.transform(X[:9] + 0.1), exact.transform(X[:9] + 0.1), atol=1e-6
    )
    np.testing.assert_allclose(whole.means_, exact.means_, atol=1e-6)
    assert whole.residual_trace_ < 1e-8
    few = KernelDiscriminant(RBF(0.05), reg=reg, approximation=60).fit(X, y)
    assert isinstance(few.kernel_, NystromKernel)
    assert (few.predict(X) == exact.predict(X)).mean() > 0.95
    # The same as the machine of the matrix on landmarks.
    K = few.kernel_(X)
    other = KernelDiscriminant("precomputed", reg=reg).fit(K, y)
    np.testing.assert_allclose(few.transform(X), other.transform(K), atol=1e-6)
    save(few, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").transform(X), few.transform(X))
    assert not hasattr(few.set_params(approximation=None).fit(X, y), "residual_trace_")


def test_a_linear_discriminant_on_landmarks_needs_no_ridge():
    X, y = load_iris(return_X_y=True)
    exact = KernelDiscriminant("linear", reg=0).fit(X, y)
    on = KernelDiscriminant("linear", reg=0, approximation=10).fit(X, y)
    np.testing.assert_allclose(on.separation_, exact.separation_, rtol=1e-6)
    np.testing.assert_allclose(on.transform(X), exact.transform(X), atol=1e-5)


@pytest.mark.parametrize("reg", [0, 1e-3])
@pytest.mark.parametrize("kernel", ["sigmoid", DTW(), "precomputed"])
def test_an_indefinite_kernel_is_refused_with_the_ridge_that_it_needs(kernel, reg):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 6))
    y = (X[:, 0] > 0).astype(int)
    if kernel == "precomputed":
        X = X @ np.diag([1.0, 1.0, 1.0, 1.0, -0.5, -0.5]) @ X.T
    model = KernelDiscriminant(kernel, reg=reg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        with pytest.raises(NotPositiveDefinite, match="Take reg above") as caught:
            model.fit(X, y)
        # What it asks for is enough.
        needed = float(re.search(r"reg above (\S+), a", str(caught.value)).group(1))
        fitted = model.set_params(reg=1.1 * needed).fit(X, y)
    assert np.isfinite(fitted.transform(X)).all()


def test_a_kernel_of_negative_lengths_is_refused():
    K = -np.eye(6)
    with pytest.raises(NotPositiveDefinite, match="Take a positive definite kernel"):
        KernelDiscriminant("precomputed").fit(K, [0, 0, 0, 1, 1, 1])
