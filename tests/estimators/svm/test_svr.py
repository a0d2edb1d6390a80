"""SVR, NuSVR and OneClassSVM against scikit-learn and against theory."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import svm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from mercer import RBF, SVC, SVR, FunctionKernel, NuSVR, OneClassSVM, certify
from mercer.exceptions import IndefiniteKernelWarning, InvalidInput, NotPositiveDefinite
from tests.estimators.cases import ODD, odd, regression, two_classes


def compare(mine, theirs, X, y=None, decisions=1e-4, **fit):
    mine.fit(X, y, **fit)
    theirs.fit(X, y, **fit)
    one, two = certify(mine, X, y, **fit), certify(theirs, X, y, **fit)
    assert_allclose(one.dual, two.dual, rtol=1e-6)
    assert_allclose(mine.certificate_.dual, one.dual, rtol=1e-9)
    assert_allclose(mine.certificate_.primal, one.primal, rtol=1e-6)
    answer = "decision_function" if isinstance(mine, OneClassSVM) else "predict"
    expected = getattr(theirs, answer)(X)
    scale = decisions * max(1.0, np.abs(expected).max())
    assert_allclose(getattr(mine, answer)(X), expected, atol=scale)
    assert mine.dual_coef_.shape[0] == 1
    assert mine.n_support_.shape == theirs.n_support_.shape
    assert isinstance(mine.n_iter_, int)
    assert mine.fit_status_ == theirs.fit_status_ == 0


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_regression_against_scikit_learn(kernel):
    X, y = regression()
    for choice in ({"C": 1.0}, {"C": 10.0, "epsilon": 0.3}, {"epsilon": 0.0, "C": 0.1}):
        choice |= {"kernel": kernel, "tol": 1e-6}
        compare(SVR(**choice), svm.SVR(**choice), X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_nu_regression_against_scikit_learn(kernel):
    X, y = regression()
    for choice in ({"nu": 0.2}, {"nu": 0.7, "C": 5.0}):
        choice |= {"kernel": kernel, "tol": 1e-6}
        compare(NuSVR(**choice), svm.NuSVR(**choice), X, y, decisions=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_one_class_against_scikit_learn(kernel):
    X = two_classes()[0] + 4.0  # away from the origin, which a linear machine cannot leave out
    for nu in (0.05, 0.5):
        choice = {"kernel": kernel, "nu": nu, "tol": 1e-5}  # less, and scikit-learn never ends
        mine, theirs = OneClassSVM(**choice), svm.OneClassSVM(**choice)
        compare(mine, theirs, X, decisions=1e-4)
        assert_allclose(mine.offset_, theirs.offset_, rtol=1e-4)
        assert_allclose(mine.score_samples(X), theirs.score_samples(X), rtol=1e-3)
        sure = np.abs(theirs.decision_function(X)) > 1e-3
        assert_array_equal(mine.predict(X)[sure], theirs.predict(X)[sure])


@pytest.mark.parametrize("name", ODD)
def test_odd_data_against_scikit_learn(name):
    X, y = odd(name)
    target = X[:, 0] / np.abs(X[:, 0]).max() + y
    choice = {"C": 10.0, "tol": 1e-6}
    compare(SVR(**choice), svm.SVR(**choice), X, target, decisions=1e-3)
    compare(OneClassSVM(tol=1e-5), svm.OneClassSVM(tol=1e-5), X, decisions=1e-3)


def test_the_same_support_vectors():
    X, y = regression()
    for mine, theirs in (
        (SVR(tol=1e-6).fit(X, y), svm.SVR(tol=1e-6).fit(X, y)),
        (OneClassSVM(tol=1e-6).fit(X), svm.OneClassSVM(tol=1e-6).fit(X)),
    ):
        assert_array_equal(mine.support_, theirs.support_)
        assert_allclose(mine.support_vectors_, theirs.support_vectors_)
        assert_allclose(mine.dual_coef_, theirs.dual_coef_, atol=1e-3)
        assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-5)
    mine, theirs = (c(kernel="linear", tol=1e-6).fit(X, y) for c in (SVR, svm.SVR))
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)


@pytest.mark.parametrize("machine", [SVR, NuSVR, OneClassSVM])
def test_weights_against_scikit_learn(machine):
    X, y = regression()
    target = None if machine is OneClassSVM else y
    weights = np.random.default_rng(0).exponential(size=len(X))
    mine, theirs = machine(tol=1e-5), getattr(svm, machine.__name__)(tol=1e-5)
    compare(mine, theirs, X, target, decisions=1e-3, sample_weight=weights)
    zero = weights * (np.arange(len(X)) % 2)
    mine = machine(tol=1e-8).fit(X, target, zero)
    kept = zero > 0
    part = machine(tol=1e-8, gamma=mine.kernel_.gamma)
    part.fit(X[kept], None if target is None else target[kept], zero[kept])
    assert_allclose(mine.expansion_(X), part.expansion_(X), atol=1e-5 * zero.sum())
    assert set(mine.support_) <= set(np.flatnonzero(kept))
    assert_allclose(certify(mine, X, target, zero).dual, mine.certificate_.dual)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([SVR, NuSVR, OneClassSVM]))
def test_weight_k_is_the_row_k_times(seed, machine):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(20, 2)), random.normal(size=20)
    times = random.integers(1, 4, size=20)
    model = machine(gamma=0.7, tol=1e-9)
    weighted = clone(model).fit(X, y, times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.certificate_.dual, repeated.certificate_.dual, rtol=1e-7)
    assert_allclose(weighted.expansion_(X), repeated.expansion_(X), atol=1e-5)


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([SVR, NuSVR, OneClassSVM]))
def test_invariances(seed, machine):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(50, 3)), random.normal(size=50)
    model = machine(gamma=0.4, tol=1e-9).fit(X, y)
    expected = model.expansion_(X)
    order = random.permutation(50)
    other = clone(model).fit(X[order], y[order])
    assert_allclose(other.expansion_(X), expected, atol=1e-5)
    assert_allclose(other.certificate_.dual, model.certificate_.dual, rtol=1e-7)
    Q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    other = clone(model).fit(X @ Q - 20, y)
    assert_allclose(other.expansion_(X @ Q - 20), expected, atol=1e-5)
    if machine is not OneClassSVM:
        # A shifted target shifts the bias; a turned one turns the function.
        other = clone(model).fit(X, y + 100)
        assert_allclose(other.expansion_(X), expected, atol=1e-5)
        assert_allclose(other.intercept_, model.intercept_ + 100, atol=1e-5)
        other = clone(model).fit(X, -y)
        assert_allclose(other.predict(X), -model.predict(X), atol=1e-5)


def test_the_dead_zone():
    X, y = regression()
    model = SVR(C=5.0, epsilon=0.2, tol=1e-7).fit(X, y)
    residual = y - model.predict(X)
    beta = model.multipliers_
    inside = np.abs(residual) < 0.2 - 1e-5
    assert (beta[inside] == 0).all()
    free = (beta != 0) & (np.abs(beta) < 5)
    assert_allclose(residual[free], np.sign(beta[free]) * 0.2, atol=1e-5)
    assert_allclose(beta.sum(), 0, atol=1e-9)
    loss = np.maximum(0, np.abs(residual) - 0.2).sum()
    norm = model.expansion_.norm()
    assert model.certificate_.primal == pytest.approx(norm**2 / 2 + 5 * loss, rel=1e-6)
    assert_allclose(model.expansion_(X) + model.intercept_, model.predict(X), atol=1e-9)


def test_a_wide_tube_needs_no_support():
    X, y = regression()
    model = SVR(epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0
    assert_allclose(model.predict(X[:5]), model.intercept_[0])
    assert model.certificate_.primal == model.certificate_.dual == 0


def test_nu_bounds_the_shares():
    X, y = regression()
    for nu in (0.1, 0.3, 0.6):
        model = NuSVR(nu=nu, C=10.0, tol=1e-6).fit(X, y)
        outside = np.abs(y - model.predict(X)) > model.epsilon_ + 1e-4
        assert outside.mean() <= nu
        assert len(model.support_) / len(X) >= nu - 1e-9
        # With the width that was found, ε-SVR has the same answer.
        same = SVR(epsilon=model.epsilon_, C=10.0, tol=1e-6).fit(X, y)
        assert_allclose(same.predict(X), model.predict(X), atol=1e-3)
        one = OneClassSVM(nu=nu, tol=1e-6).fit(X)
        assert (one.decision_function(X) < -1e-4).mean() <= nu
        assert len(one.support_) / len(X) >= nu - 1e-9


@pytest.mark.parametrize("machine", [SVR, NuSVR, OneClassSVM])
def test_kernels_of_every_kind_agree(machine):
    X, y = regression(120)

    def rbf(A, B):
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    sharp = {"tol": 1e-8}
    model = machine(gamma=0.5, **sharp).fit(X, y)
    answer = "decision_function" if machine is OneClassSVM else "predict"
    expected = getattr(model, answer)(X)
    for other in (
        machine(RBF(gamma=0.5), **sharp).fit(X, y),
        machine(rbf, **sharp).fit(X, y),
        machine(FunctionKernel(rbf, vectorized=True), **sharp).fit(X, y),
    ):
        assert_allclose(getattr(other, answer)(X), expected, atol=1e-5)
    matrix = machine("precomputed", **sharp).fit(rbf(X, X), y)
    assert_allclose(getattr(matrix, answer)(rbf(X, X)), expected, atol=1e-5)
    thin = machine(gamma=0.5, **sharp).fit(sparse.csr_array(X), y)
    assert_allclose(getattr(thin, answer)(sparse.csr_array(X)), expected, atol=1e-5)
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = machine(RBF(gamma=0.5).on("a", "b"), **sharp).fit(frame, y)
    assert_allclose(getattr(named, answer)(frame), expected, atol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(getattr(again, answer)(X), expected)


def test_searches():
    X, y = regression()
    search = GridSearchCV(SVR(RBF(gamma=1.0)), {"kernel__gamma": [1e-4, 0.5], "C": [1.0]}, cv=3)
    assert search.fit(X, y).best_params_["kernel__gamma"] == 0.5
    K = RBF(gamma=0.5)(X)
    assert_allclose(
        cross_val_score(SVR("precomputed"), K, y, cv=3),
        cross_val_score(SVR(RBF(gamma=0.5)), X, y, cv=3),
        atol=1e-3,
    )  # fmt: skip


@pytest.mark.parametrize("machine", [SVR, NuSVR, OneClassSVM])
def test_stopping_early_and_indefinite_kernels(machine):
    X, y = regression(150)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3.*within .* of the optimum"):
        model = machine(max_iter=3, **({} if machine is OneClassSVM else {"C": 100.0})).fit(X, y)
    assert model.fit_status_ == 1
    assert model.certificate_.status == "max_iter"
    with (
        pytest.warns(IndefiniteKernelWarning),
        pytest.warns(ConvergenceWarning, match="negative curvature"),
    ):
        model = machine("sigmoid", gamma=5.0, coef0=-1.0).fit(X, y)
    assert model.certificate_.status == "stationary point, no bound"
    with pytest.raises(NotPositiveDefinite):
        machine("sigmoid", strict=True).fit(X, y)


def test_errors():
    X, y = regression(20)
    with pytest.raises(ValueError, match="all samples have zero or negative"):
        SVR().fit(X, y, np.zeros(20))
    with pytest.raises(ValueError, match="incompatible shapes"):
        OneClassSVM().fit(X, sample_weight=np.ones(3))
    for wrong in (SVR(C=0), SVR(epsilon=-1), NuSVR(nu=0), NuSVR(nu=1.5), OneClassSVM(nu=0)):
        with pytest.raises(ValueError, match="parameter of"):
            wrong.fit(X, y)
    with pytest.raises(ValueError, match="no rows"):
        OneClassSVM(FunctionKernel(lambda a, b: 1.0)).fit([])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SVR().fit(X, y[:5])


def test_one_hard_tube():
    """C = inf: the flattest function that keeps within ε of every target."""
    X, y = regression(40)
    model = SVR(C=np.inf, epsilon=0.5, gamma=1.0, tol=1e-6).fit(X, y)
    assert np.abs(y - model.predict(X)).max() <= 0.5 + 1e-5
    large = SVR(C=1e6, epsilon=0.5, gamma=1.0, tol=1e-6).fit(X, y)
    assert_allclose(model.predict(X), large.predict(X), atol=1e-4)
    assert model.certificate_.relative_gap < 1e-4


CHANGES = {
    SVR: ({"C": 1.2}, {"C": 0.5}, {"epsilon": 0.05}, {"epsilon": 0.2, "C": 2.0}),
    NuSVR: ({"C": 1.2}, {"nu": 0.45}, {"nu": 0.6, "C": 0.7}),
    OneClassSVM: ({"nu": 0.45}, {"nu": 0.6}),
}


@pytest.mark.parametrize("machine", CHANGES)
def test_a_start_is_taken_up(machine):
    X, y = regression(400)
    first = machine(tol=1e-5).fit(X, y)
    assert first.n_iter_ > 50
    again = machine(tol=1e-5).fit(X, y, start=first)
    assert again.n_iter_ <= first.n_iter_ // 50
    assert_allclose(again.certificate_.dual, first.certificate_.dual, rtol=1e-6)
    for change in CHANGES[machine]:
        cold = machine(tol=1e-5, **change).fit(X, y)
        warm = machine(tol=1e-5, **change).fit(X, y, start=first)
        assert abs(warm.certificate_.dual - cold.certificate_.dual) <= max(
            warm.certificate_.gap, cold.certificate_.gap
        )
        assert warm.certificate_.dual_feasibility < 1e-10
        if change == {"C": 1.2}:
            assert warm.n_iter_ < cold.n_iter_


def test_a_start_without_a_bound():
    X, y = regression(60)
    machine = SVR(RBF(gamma=1.0), C=np.inf, epsilon=0.5, tol=1e-4)
    first = clone(machine).fit(X, y)
    assert first.certificate_.primal_feasibility < 1e-3
    again = clone(machine).fit(X, y, start=first)
    assert again.n_iter_ <= first.n_iter_ // 50
    assert_allclose(again.predict(X), first.predict(X), atol=1e-3)


@pytest.mark.parametrize("machine", CHANGES)
def test_a_start_of_another_machine_is_refused(machine):
    X, y = regression(60)
    strangers = [other().fit(X, y) for other in CHANGES if other is not machine]
    strangers += [SVC().fit(X, y > 0), machine().fit(X[:50], y[:50])]
    for stranger in strangers:
        with pytest.raises(InvalidInput, match="the same kind, fitted on the same rows"):
            machine().fit(X, y, start=stranger)
    with pytest.raises(NotFittedError):
        machine().fit(X, y, start=machine())
