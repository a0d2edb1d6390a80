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
    model = KernelDiscriminant(RBF(gamma=0.05), reg=0.01, priors=priors).fit(X, y)
    K = RBF(gamma=0.05)(X)
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
    assert cross_val_score(KernelDiscriminant(RBF(gamma=1.0)), X, y).mean() > 0.97
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


def test_no_spread_within_classes_is_the_limit_of_little_regularisation(wine):
    X, y = wine
    X = X / X.std(axis=0)
    without = KernelDiscriminant(RBF(gamma=10.0), reg=0).fit(X, y)
    assert np.isinf(without.separation_).all()
    T = without.transform(X)
    # Each class is a point.
    centres = np.array([T[y == c].mean(axis=0) for c in range(3)])
    assert np.abs(T - centres[y]).max() < 1e-6 * np.abs(T).max()
    little = KernelDiscriminant(RBF(gamma=10.0), reg=1e-8).fit(X, y)
    assert (little.separation_ > 1e4).all()
    new = X + 0.02 * np.random.default_rng(0).normal(size=X.shape)
    np.testing.assert_array_equal(without.predict(new), little.predict(new))
    np.testing.assert_array_equal(without.predict(X), y)
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
    exact = KernelDiscriminant(RBF(gamma=0.05), reg=reg).fit(X, y)
    whole = KernelDiscriminant(RBF(gamma=0.05), reg=reg, approximation=len(X)).fit(X, y)
    np.testing.assert_allclose(whole.separation_, exact.separation_, rtol=1e-7)
    np.testing.assert_allclose(
        whole.transform(X[:9] + 0.1), exact.transform(X[:9] + 0.1), atol=1e-6
    )
    np.testing.assert_allclose(whole.means_, exact.means_, atol=1e-6)
    assert whole.residual_trace_ < 1e-8
    few = KernelDiscriminant(RBF(gamma=0.05), reg=reg, approximation=60).fit(X, y)
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


def flat_direction(classes, columns=4, rows=200, seed=0):
    """Data that one direction separates without spread: class 0 from the others."""
    random = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    Z = random.normal(size=(rows, columns))
    Z[:, 1] = 1e-2 * (y == 0)
    Z[:, 2] += 3 * (y == 1)
    return Z, y


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_a_direction_of_infinite_quotient_comes_first(solver, classes, turned):
    Z, y = flat_direction(classes)
    turn = np.eye(4)
    if turned:
        turn = linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    X = Z @ turn
    model = LinearDiscriminantAnalysis(solver).fit(X, y)
    at_once = model.predict(X)
    np.testing.assert_array_equal(at_once == 0, y == 0)  # scikit-learn's class has 0.5 to 0.7
    # It is the limit of S_w + εI, which is well posed.
    S_b, S_w = _scatters(X, y)
    eps = 1e-9
    values, W = linalg.eigh(S_b, S_w + eps * np.eye(4))
    W = W[:, ::-1][:, : classes - 1]
    scores = X @ W @ W.T @ np.array([X[y == c].mean(axis=0) for c in range(classes)]).T
    means = np.array([X[y == c].mean(axis=0) for c in range(classes)]) @ W
    limit = (scores - (means**2).sum(axis=1) / 2 + np.log(np.bincount(y) / len(y))).argmax(axis=1)
    assert (at_once == limit).mean() > 0.99
    if solver != "lsqr":
        assert np.isinf(model.separation_[0])
        w = model.scalings_[:, 0] / np.linalg.norm(model.scalings_[:, 0])
        assert abs(w @ turn[1]) > 1 - 1e-6
        if classes == 3:
            np.testing.assert_allclose(model.separation_[1], values[-2], rtol=1e-4)
            assert model.transform(X).shape == (200, 2)
        assert np.isfinite(model.predict_proba(X)).all()
    kernel = KernelDiscriminant("linear", reg=0).fit(X, y)
    assert np.isinf(kernel.separation_[0])
    np.testing.assert_array_equal(kernel.predict(X), at_once)


def test_of_few_rows_only_whole_columns_separate_without_spread():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 60)), np.arange(30) % 2
    X[:, :10] += y[:, None]
    theirs = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y)
    ours = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    assert np.isfinite(ours.separation_).all()
    X[:, 5] = 7.0 + y
    model = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    assert np.abs(model.coef_[0]).argmax() == 5


def test_scatters_and_quotients_can_be_read(wine, tmp_path):
    X, y = wine
    S_b, S_w = _scatters(X, y)
    for model in (
        LinearDiscriminantAnalysis(store_covariance=True),
        LinearDiscriminantAnalysis("eigen"),
    ):
        model.fit(X, y)
        np.testing.assert_allclose(model.between_, S_b, rtol=1e-9)
        np.testing.assert_allclose(model.covariance_, S_w, rtol=1e-8, atol=1e-12)
        found = [model.quotient(w) for w in model.scalings_[:, :2].T]
        np.testing.assert_allclose(found, model.separation_, rtol=1e-7)
        save(model, tmp_path / "lda.mercer")
        again = load(tmp_path / "lda.mercer")
        np.testing.assert_array_equal(again.separation_, model.separation_)
        assert again.quotient(np.ones(13)) == model.quotient(np.ones(13))
    # No direction has a larger quotient.
    for w in np.random.default_rng(0).normal(size=(50, 13)):
        assert model.quotient(w) <= model.separation_[0]
    with pytest.raises(InvalidInput, match="store_covariance=True"):
        LinearDiscriminantAnalysis().fit(X, y).quotient(np.ones(13))
    with pytest.raises(InvalidInput, match="13 entries"):
        model.quotient([1.0, 2.0])


def test_distances_of_pairs_against_all_pairs(wine):
    X, y = wine
    for model in (LinearDiscriminantAnalysis(), KernelDiscriminant(reg=0.1)):
        T = model.fit(StandardScaler().fit_transform(X), y).transform(
            StandardScaler().fit_transform(X)
        )
        squares = ((T[:, None] - T[None]) ** 2).sum(axis=2)
        same = y[:, None] == y[None]
        found = model.class_distances(StandardScaler().fit_transform(X), y)
        assert found.inter == pytest.approx(squares[~same].sum())
        assert found.intra == pytest.approx(squares[same].sum())
    with pytest.raises(ValueError, match="inconsistent"):
        model.class_distances(X, y[:5])
