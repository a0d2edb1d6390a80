"""The judge: mercer's answers and scikit-learn's, from their multipliers and the data alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import svm
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier

import mercer
from mercer import RBF, SVC, Certificate, certify
from mercer.exceptions import InvalidInput, InvalidType
from tests.estimators.cases import heart, regression, two_classes, wine

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


def data(name):
    """Return rows away from the origin, and classes that a line tells apart but for some."""
    X, y = regression()
    if not name.endswith("R"):
        y = (y > np.median(y)).astype(int)
    return X + 4.0, None if name == "OneClassSVM" else y


def both(name, **choice):
    return getattr(mercer, name)(**choice), getattr(svm, name)(**choice)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("name", NAMES)
def test_every_machine_of_both_libraries(name, kernel):
    X, y = data(name)
    for model in both(name, kernel=kernel, tol=1e-4):
        certificate = certify(model.fit(X, y), X, y)
        assert isinstance(certificate, Certificate)
        assert certificate.stationarity < 1e-3
        assert certificate.dual_feasibility < 1e-9
        assert certificate.primal_feasibility == 0
        assert -1e-12 <= certificate.relative_gap < 1e-2
    own = getattr(mercer, name)(kernel=kernel, tol=1e-4).fit(X, y)
    judged = certify(own, X, y)
    assert_allclose(judged.dual, own.certificate_.dual, rtol=1e-8)
    assert_allclose(judged.primal, own.certificate_.primal, rtol=1e-5)
    assert judged.problem == own.certificate_.problem


@pytest.mark.parametrize("name", NAMES)
def test_a_loose_tolerance_shows(name):
    X, y = data(name)
    for tight, loose in zip(both(name, tol=1e-6), both(name, tol=0.3), strict=True):
        sharp = certify(tight.fit(X, y), X, y)
        blunt = certify(loose.fit(X, y), X, y)
        assert blunt.gap > 10 * sharp.gap
        assert blunt.stationarity > 10 * sharp.stationarity
        assert blunt.dual <= sharp.primal
        assert blunt.primal >= sharp.dual


def test_the_objectives_are_those_of_the_books():
    X, y = heart()
    model = svm.SVC(C=1, gamma=1 / 13, tol=1e-6).fit(X, y)
    certificate = certify(model, X, y)
    assert certificate.dual == pytest.approx(100.87729, abs=1e-5)
    alpha = np.zeros(len(X))
    alpha[model.support_] = model.dual_coef_[0]
    K = RBF(gamma=1 / 13)(X)
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    slack = np.maximum(0, 1 - signs * model.decision_function(X)).sum()
    assert certificate.primal == pytest.approx(alpha @ K @ alpha / 2 + slack)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("name", ["SVC", "NuSVC"])
def test_several_classes(name, multi_class):
    X, y = wine()
    model = getattr(mercer, name)(multi_class=multi_class, tol=1e-6).fit(X, y)
    certificate = certify(model, X, y)
    assert_allclose(certificate.dual, model.certificate_.dual, rtol=1e-8)
    assert certificate.relative_gap < 1e-4
    assert certificate.problem.startswith("3 problems")
    if multi_class == "ovo":
        theirs = certify(getattr(svm, name)(tol=1e-6).fit(X, y), X, y)
        assert_allclose(theirs.dual, certificate.dual, rtol=1e-5)
        assert theirs.relative_gap < 1e-4


@pytest.mark.parametrize("multi_class", ["weston_watkins", "crammer_singer"])
def test_joint_problems(multi_class):
    X, y = wine()
    model = SVC(multi_class=multi_class, tol=1e-5).fit(X, y)
    certificate = certify(model, X, y)
    assert_allclose(certificate.dual, model.certificate_.dual, rtol=1e-8)
    assert certificate.relative_gap < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_weights(name):
    X, y = data(name)
    weights = np.random.default_rng(0).exponential(size=len(X))
    weights[::7] = 0
    choice = {"tol": 1e-5}
    if name == "SVC":
        choice["class_weight"] = {0: 2.0}
    if name == "NuSVC":
        choice["nu"] = 0.3
    for model in both(name, **choice):
        model.fit(X, y, sample_weight=weights)
        certificate = certify(model, X, y, weights)
        assert certificate.relative_gap < 1e-3
        assert certificate.stationarity < 1e-4
        assert certificate.dual_feasibility < 1e-9
        # Judged with weights that it was not fitted with, it is not optimal.
        wrong = certify(model, X, y)
        assert wrong.relative_gap > 1e-2 or wrong.dual_feasibility > 1e-3


def matrix(A, B):
    return np.exp(-0.3 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("name", NAMES)
def test_precomputed_callable_and_sparse(name):
    X, y = data(name)
    K = matrix(X, X)
    expected = certify(getattr(mercer, name)(gamma=0.3, tol=1e-6).fit(X, y), X, y)
    for kernel, given in (("precomputed", K), (matrix, X), ("rbf", sparse.csr_matrix(X))):
        gamma = 0.3 if kernel == "rbf" else "scale"
        for model in both(name, kernel=kernel, gamma=gamma, tol=1e-6):
            certificate = certify(model.fit(given, y), given, y)
            assert_allclose(certificate.dual, expected.dual, rtol=1e-5)
            assert certificate.relative_gap < 1e-3


def test_multipliers_that_were_tampered_with():
    X, y = two_classes()
    model = SVC(tol=1e-6).fit(X, y)
    before = certify(model, X, y)
    model.dual_coef_ = model.dual_coef_ * 0.9
    after = certify(model, X, y)
    assert after.gap > 100 * before.gap
    assert after.dual < before.dual
    model.intercept_ = model.intercept_ + 0.2
    assert certify(model, X, y).gap > after.gap


def test_other_data_are_not_optimal():
    X, y = two_classes()
    model = SVC().fit(X, y)
    other = np.random.default_rng(0).normal(size=X.shape)
    assert certify(model, other, y).relative_gap > 0.1
    assert certify(model, X, 1 - y).relative_gap > 0.1


def test_errors():
    X, y = two_classes()
    model = SVC().fit(X, y)
    with pytest.raises(InvalidInput, match="fitted on 200 rows, and X has 50"):
        certify(model, X[:50], y[:50])
    with pytest.raises(InvalidInput, match="y has to hold the 200 classes"):
        certify(model, X, y[:50])
    with pytest.raises(InvalidInput, match="y has to hold the 200 classes"):
        certify(model, X, y + 5)
    with pytest.raises(InvalidInput, match="y has to hold the 200 classes"):
        certify(model, X)
    with pytest.raises(InvalidInput, match="sample_weight has shape"):
        certify(model, X, y, np.ones(3))
    with pytest.raises(InvalidInput, match="y has to hold the 200 targets"):
        certify(mercer.SVR().fit(X, y), X, y[:5])
    with pytest.raises(NotFittedError):
        certify(SVC(), X, y)
    with pytest.raises(InvalidType, match="RidgeClassifier is not a machine"):
        certify(RidgeClassifier().fit(X, y), X, y)


def test_subclasses_are_judged_too():
    class Mine(svm.SVC):
        pass

    X, y = two_classes()
    assert certify(Mine(tol=1e-5).fit(X, y), X, y).relative_gap < 1e-3
