"""SVC and NuSVC against scikit-learn, and what must not change anything."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import svm
from sklearn.base import clone

from mercer import RBF, SVC, NuSVC, certify
from tests.estimators.agreement import check_same_support, compare
from tests.estimators.cases import ODD, digits, heart, iris, odd, two_classes, wine


def test_heart_has_the_published_values():
    X, y = heart()
    model = SVC(C=1, gamma=1 / 13, tol=1e-5).fit(X, y)
    assert model.certificate_.dual == pytest.approx(100.87729, abs=1e-5)
    assert model.n_support_.sum() == 132
    assert model.bound_.sum() == 107
    assert model.free_.sum() == 25
    assert (model.predict(X) == y).sum() == 234
    check_same_support(model, svm.SVC(C=1, gamma=1 / 13, tol=1e-5).fit(X, y), 1e-4)


@pytest.mark.parametrize("data", [heart, iris, wine, digits, two_classes])
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_against_scikit_learn(data, kernel):
    X, y = data()
    for C in (0.1, 1.0 if kernel == "linear" else 10.0):  # more, and scikit-learn never ends
        choice = {"kernel": kernel, "C": C, "tol": 1e-6}
        compare(SVC(**choice), svm.SVC(**choice), X, y)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", ODD)
def test_odd_data_against_scikit_learn(name, kernel):
    X, y = odd(name)
    choice = {"kernel": kernel, "tol": 1e-6, "C": 0.01 if kernel == "linear" else 10.0}
    compare(SVC(**choice), svm.SVC(**choice), X, y, decisions=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("data", [heart, wine])
def test_nu_against_scikit_learn(data, kernel):
    X, y = data()
    for nu in (0.4, 0.6):
        choice = {"kernel": kernel, "nu": nu, "tol": 1e-5, "decision_function_shape": "ovo"}
        mine, theirs = NuSVC(**choice), svm.NuSVC(**choice)
        compare(mine, theirs, X, y, decisions=5e-3)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_the_layout_of_several_classes(machine):
    X, y = wine()
    mine = machine(tol=1e-8).fit(X, y)
    theirs = getattr(svm, machine.__name__)(tol=1e-8).fit(X, y)
    check_same_support(mine, theirs, 1e-4)
    assert mine.dual_coef_.shape == (2, len(mine.support_))
    linear = {"kernel": "linear", "tol": 1e-8}
    mine, theirs = machine(**linear).fit(X, y), getattr(svm, machine.__name__)(**linear).fit(X, y)
    assert_allclose(mine.coef_, theirs.coef_, atol=1e-4)
    assert mine.coef_.shape == (3, X.shape[1])


def test_shapes_of_decisions():
    X, y = digits()
    for shape, columns in (("ovo", 45), ("ovr", 10)):
        choice = {"decision_function_shape": shape, "tol": 1e-6}
        mine, theirs = SVC(**choice).fit(X, y), svm.SVC(**choice).fit(X, y)
        assert mine.decision_function(X).shape == (len(X), columns)
        assert_allclose(mine.decision_function(X), theirs.decision_function(X), atol=1e-4)
    assert SVC().fit(X, y % 2).decision_function(X).shape == (len(X),)


def test_ties_are_broken_as_in_scikit_learn():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(90, 2)), np.arange(90) % 3
    grid = random.uniform(-3, 3, size=(2000, 2))
    for breaks in (True, False):
        choice = {"break_ties": breaks, "tol": 1e-8, "gamma": 1.0}
        mine, theirs = SVC(**choice).fit(X, y), svm.SVC(**choice).fit(X, y)
        assert (mine.predict(grid) == theirs.predict(grid)).mean() > 0.995
        argmax = mine.decision_function(grid).argmax(axis=1)
        if breaks:
            assert_array_equal(mine.predict(grid), argmax)
        else:
            assert (mine.predict(grid) != argmax).any()
    with pytest.raises(ValueError, match="break_ties must be False"):
        SVC(break_ties=True, decision_function_shape="ovo").fit(X, y).predict(X)


@pytest.mark.parametrize("machine", [SVC, NuSVC])
def test_one_against_the_rest(machine):
    X, y = wine()
    model = machine(multi_class="ovr", tol=1e-7).fit(X, y)
    assert len(model.machines_) == 3
    for c, one in enumerate(model.machines_):
        theirs = getattr(svm, machine.__name__)(tol=1e-7).fit(X, y == c)
        values = one.expansion_(X) + one.intercept_
        assert_allclose(values, theirs.decision_function(X), atol=1e-3)
        assert_allclose(model.decision_function(X)[:, c], values, atol=1e-9)
        assert one.classes == ("rest", c)
    assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))
    assert certify(model, X, y).relative_gap < 1e-5


def test_weights_of_classes_and_rows():
    X, y = two_classes()
    weights = np.random.default_rng(0).exponential(size=len(X))
    for choice, fit in (
        ({"class_weight": {0: 3.0, 1: 0.2}}, {}),
        ({"class_weight": "balanced"}, {}),
        ({}, {"sample_weight": weights}),
        ({"class_weight": {1: 5.0}}, {"sample_weight": weights}),
    ):
        choice["tol"] = 1e-6
        compare(SVC(**choice), svm.SVC(**choice), X, y, **fit)
    zero = weights * (np.arange(len(X)) % 3 > 0)
    model = SVC(tol=1e-8).fit(X, y, zero)
    part = SVC(tol=1e-8, gamma=model.kernel_.gamma).fit(X[zero > 0], y[zero > 0], zero[zero > 0])
    assert_allclose(model.decision_function(X), part.decision_function(X), atol=1e-6)
    assert not np.isin(model.support_, np.flatnonzero(zero == 0)).any()
    assert_allclose(certify(model, X, y, zero).dual, model.certificate_.dual)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from(["rbf", "linear"]))
def test_weight_k_is_the_row_k_times(seed, kernel):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(25, 2)), np.arange(25) % 2
    times = random.integers(1, 5, size=25)
    choice = {"kernel": kernel, "gamma": 0.7, "tol": 1e-9}
    weighted = SVC(**choice).fit(X, y, times)
    repeated = SVC(**choice).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert_allclose(weighted.certificate_.dual, repeated.certificate_.dual, rtol=1e-7)
    assert_allclose(weighted.expansion_(X), repeated.expansion_(X), atol=1e-5)
    assert_allclose(weighted.norm_, repeated.norm_, rtol=1e-5, atol=1e-5)


@settings(max_examples=15)
@given(st.integers(0, 10**6))
@example(9718)  # linear: all vectors are at a bound, one of them but for rounding
def test_invariances(seed):
    random = np.random.default_rng(seed)
    X, y = random.normal(size=(60, 3)), np.arange(60) % 2
    new = random.normal(size=(20, 3))
    model = SVC(gamma=0.4, tol=1e-8).fit(X, y)
    expected = model.decision_function(new)

    def check(other, at, sign=1):
        assert_allclose(other.certificate_.dual, model.certificate_.dual, rtol=1e-6)
        assert_allclose(sign * other.decision_function(at), expected, atol=1e-5)

    order = random.permutation(60)
    check(clone(model).fit(X[order], y[order]), new)
    Q, _ = np.linalg.qr(random.normal(size=(3, 3)))
    check(clone(model).fit(X @ Q + 30.0, y), new @ Q + 30.0)
    check(clone(model).fit(X, 1 - y), new, -1)
    check(clone(model).fit(X, np.where(y == 0, "no", "yes")), new)
    # k → ck with C → C/c: the multipliers shrink by c, the decisions stay.
    scaled = SVC(7.0 * RBF(gamma=0.4), C=1 / 7, tol=1e-8).fit(X, y)
    assert_allclose(scaled.decision_function(new), expected, atol=1e-5)
    assert_allclose(7 * scaled.certificate_.dual, model.certificate_.dual, rtol=1e-6)
    # Linear: X → cX with C → C/c².
    one = SVC("linear", tol=1e-8, C=0.3).fit(X, y)
    two = SVC("linear", tol=1e-8, C=0.3 / 100).fit(10 * X, y)
    assert_allclose(two.decision_function(10 * new), one.decision_function(new), atol=1e-5)
